package zookeeper

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// Of ZooKeeper's protocol this file speaks two requests: one for a session that is
// there already, and its close. The library does both, and does not tell how they
// went.
const (
	passwordSize = 16
	answerSize   = 4 + 4 + 4 + 8 + 4 + passwordSize
	headerSize   = 4 + 8 + 4 // of an answer: xid, zxid, error
	closeRequest = -11
	codeExpired  = -112
)

// errGone says that the server does not know the session any more.
var errGone = errors.New("there is no such session any more")

// endLimit is how long one server may take, if there are others to ask.
const endLimit = 3 * time.Second

// end ends the session and returns when the server has confirmed that: no node of it
// is left, and none can come. errGone: it had ended before.
func (s *session) end(ctx context.Context) error {
	return endSession(ctx, s.servers, s.answer())
}

func endSession(ctx context.Context, servers []string, g granted) error {
	var errs []error
	for _, server := range servers {
		err := endAt(ctx, server, g)
		if err == nil || errors.Is(err, errGone) {
			return err
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func endAt(ctx context.Context, server string, g granted) error {
	ctx, cancel := context.WithTimeout(ctx, endLimit)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", server)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	err = closeOn(conn, g)
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

func closeOn(conn io.ReadWriter, g granted) error {
	if err := send(conn, sessionRequest(g)); err != nil {
		return err
	}
	answer, err := receive(conn, answerSize-4)
	if err != nil {
		return err
	}
	// A session that can't be had is answered with id 0.
	if binary.BigEndian.Uint64(answer[8:]) == 0 {
		return errGone
	}
	if err := send(conn, binary.BigEndian.AppendUint32([]byte{0, 0, 0, 1}, uint32(0xffff_ffff+1+closeRequest))); err != nil {
		return err
	}
	answer, err = receive(conn, headerSize)
	if err != nil {
		return err
	}
	switch code := int32(binary.BigEndian.Uint32(answer[12:])); code {
	case 0:
		return nil
	case codeExpired:
		return errGone
	default:
		return fmt.Errorf("the server answered with error %d", code)
	}
}

// sessionRequest asks for a session that is there: protocol version, last transaction
// seen, timeout, id, password.
func sessionRequest(g granted) []byte {
	b := binary.BigEndian.AppendUint32(nil, 0)
	b = binary.BigEndian.AppendUint64(b, 0)
	b = binary.BigEndian.AppendUint32(b, uint32(g.timeout.Milliseconds()))
	b = binary.BigEndian.AppendUint64(b, uint64(g.id))
	b = binary.BigEndian.AppendUint32(b, passwordSize)
	return append(b, g.password[:]...)
}

func send(w io.Writer, message []byte) error {
	_, err := w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(message))), message...))
	return err
}

// receive reads one message of at least the given size, and no more than a kilobyte.
func receive(r io.Reader, least int) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n < uint32(least) || n > 1024 {
		return nil, fmt.Errorf("the server answered with %d bytes", n)
	}
	message := make([]byte, n)
	_, err := io.ReadFull(r, message)
	return message, err
}
