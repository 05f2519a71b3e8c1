//go:build linux

package child

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// maxLine bounds one line of either direction, in bytes.
const maxLine = 4 << 20

// queue hands lines from a reader to a channel and never makes the reader wait: a
// peer that writes much faster than anybody reads must not be held up by a full
// pipe, since whether it runs is what is measured.
type queue struct {
	out chan json.RawMessage

	mu     sync.Mutex
	lines  []json.RawMessage
	ended  bool
	signal chan struct{} // capacity 1: something changed
}

func newQueue() *queue {
	q := &queue{out: make(chan json.RawMessage), signal: make(chan struct{}, 1)}
	go q.pump()
	return q
}

// fill reads lines until the end of r and drains r in any case. It returns what was
// wrong with the lines; an end of r, however it came, is no error.
func (q *queue) fill(r io.Reader) error {
	defer q.end()
	scanner := bufio.NewScanner(r)
	scanner.Buffer(make([]byte, 0, 4096), maxLine)
	for scanner.Scan() {
		line := append(json.RawMessage(nil), scanner.Bytes()...)
		if len(line) == 0 {
			continue
		}
		if !json.Valid(line) {
			io.Copy(io.Discard, r)
			return fmt.Errorf("read line %.80q: not JSON", line)
		}
		q.put(line)
	}
	if errors.Is(scanner.Err(), bufio.ErrTooLong) {
		io.Copy(io.Discard, r)
		return fmt.Errorf("read line: longer than %d bytes", maxLine)
	}
	return nil
}

func (q *queue) put(line json.RawMessage) {
	q.mu.Lock()
	q.lines = append(q.lines, line)
	q.mu.Unlock()
	q.wake()
}

func (q *queue) end() {
	q.mu.Lock()
	q.ended = true
	q.mu.Unlock()
	q.wake()
}

func (q *queue) wake() {
	select {
	case q.signal <- struct{}{}:
	default:
	}
}

// pump closes out when everything was handed over. If nobody reads, it waits for
// as long as the process lives.
func (q *queue) pump() {
	defer close(q.out)
	for range q.signal {
		q.mu.Lock()
		lines, ended := q.lines, q.ended
		q.lines = nil
		q.mu.Unlock()
		for _, line := range lines {
			q.out <- line
		}
		if ended {
			return
		}
	}
}
