package register

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload/resource"
)

// The protocol: a client sends one request and waits for its answer. All numbers
// are little-endian.
//
//	request: length u32 | op u8 | flags u8 | token i64 | name length u16 | name | value
//	answer:  length u32 | flags u8 | seq i64 | highest i64 | value
//
// length counts what follows it. Neither side stamps anything.
const (
	opOpen  = byte('o')
	opRead  = byte('r')
	opWrite = byte('w')

	flagToken   = 1 // request: the token counts
	flagRefused = 1 // answer: the fence refused

	requestHead = 1 + 1 + 8 + 2
	answerHead  = 1 + 8 + 8

	maxFrame = 1 << 20 // bytes
	maxName  = 1<<16 - 1
)

// request is one operation. On the server name and value are borrowed from the
// connection's buffer.
type request struct {
	op    byte
	token resource.Token
	name  []byte
	value []byte
}

// answer is what the server says to a request.
type answer struct {
	refused bool
	seq     int64
	highest int64 // refused only
	value   string
}

func appendRequest(b []byte, req *request) ([]byte, error) {
	n := requestHead + len(req.name) + len(req.value)
	if n > maxFrame || len(req.name) > maxName {
		return b, fmt.Errorf("encode request: name of %d bytes, value of %d bytes: too long", len(req.name), len(req.value))
	}
	token, known := req.token.Get()
	var flags byte
	if known {
		flags = flagToken
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(n))
	b = append(b, req.op, flags)
	b = binary.LittleEndian.AppendUint64(b, uint64(token))
	b = binary.LittleEndian.AppendUint16(b, uint16(len(req.name)))
	b = append(b, req.name...)
	return append(b, req.value...), nil
}

func parseRequest(b []byte) (request, error) {
	if len(b) < requestHead {
		return request{}, errors.New("parse request: too short")
	}
	req := request{op: b[0]}
	switch req.op {
	case opOpen, opRead, opWrite:
	default:
		return request{}, fmt.Errorf("parse request: unknown operation %q", req.op)
	}
	if b[1]&flagToken != 0 {
		req.token = histories.Some(int64(binary.LittleEndian.Uint64(b[2:])))
	}
	name := int(binary.LittleEndian.Uint16(b[10:]))
	b = b[requestHead:]
	if name > len(b) {
		return request{}, errors.New("parse request: name too short")
	}
	req.name, req.value = b[:name], b[name:]
	return req, nil
}

func appendAnswer(b []byte, a answer) []byte {
	var flags byte
	if a.refused {
		flags = flagRefused
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(answerHead+len(a.value)))
	b = append(b, flags)
	b = binary.LittleEndian.AppendUint64(b, uint64(a.seq))
	b = binary.LittleEndian.AppendUint64(b, uint64(a.highest))
	return append(b, a.value...)
}

func parseAnswer(b []byte) (answer, error) {
	if len(b) < answerHead {
		return answer{}, errors.New("parse answer: too short")
	}
	return answer{
		refused: b[0]&flagRefused != 0,
		seq:     int64(binary.LittleEndian.Uint64(b[1:])),
		highest: int64(binary.LittleEndian.Uint64(b[9:])),
		value:   string(b[answerHead:]),
	}, nil
}

// readFrame reads one frame into buf, which grows as needed, and returns the frame.
func readFrame(r *bufio.Reader, buf []byte) ([]byte, error) {
	head, err := r.Peek(4)
	if err != nil {
		return buf[:0], err
	}
	n := int(binary.LittleEndian.Uint32(head))
	if n > maxFrame {
		return buf[:0], fmt.Errorf("read frame: %d bytes, more than %d", n, maxFrame)
	}
	if _, err := r.Discard(4); err != nil {
		return buf[:0], err
	}
	if cap(buf) < n {
		buf = make([]byte, n)
	}
	buf = buf[:n]
	_, err = io.ReadFull(r, buf)
	return buf, err
}
