package workload

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"sync"
	"time"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload/lock"
)

// keptSessions bounds how many sessions a worker remembers.
const keptSessions = 1000

// journal is a worker's own page of the history. It knows which grant each
// session of the client library carries, so that renewals which the library does
// on its own are written down under the right one.
type journal struct {
	rec  *histories.Recorder
	lock string

	mu      sync.Mutex
	current string            // grant of the acquire that is open, or of the hold
	grants  map[string]string // session -> grant
	err     error             // the first failure to write; a worker without a journal must stop
}

var _ lock.Listener = (*journal)(nil)

func newJournal(rec *histories.Recorder, lockName string) *journal {
	return &journal{rec: rec, lock: lockName, grants: map[string]string{}}
}

// Began ties the session to the acquire that is open.
func (j *journal) Began(session string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.grants) >= keptSessions { // the library renews nothing that old any more
		clear(j.grants)
	}
	j.grants[session] = j.current
}

// Renewing writes the renewal's invocation. A renewal of a session that carries
// no acquire of ours is a promise about nothing, and is left out.
func (j *journal) Renewing(session string) func(time.Duration, error) {
	j.mu.Lock()
	grant := j.grants[session]
	j.mu.Unlock()
	if grant == "" {
		return func(time.Duration, error) {}
	}
	id, ok := j.invoke(histories.Operation{F: histories.Renew, Lock: j.lock, Grant: grant})
	if !ok { // the renewal can't be held back, but without a journal the cell is not judged
		return func(time.Duration, error) {}
	}
	return func(ttl time.Duration, failure error) {
		answer := outcome(failure)
		answer.TTL = ttl.Milliseconds()
		if answer.Type != histories.OK {
			answer.TTL = 0
		}
		j.check(j.rec.Answer(id, answer))
	}
}

// closed forgets the sessions of a grant whose release was answered: whatever the
// library may still send for them is no promise about the lock any more.
func (j *journal) closed(grant string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	maps.DeleteFunc(j.grants, func(_, g string) bool { return g == grant })
}

// opened says under which grant the next acquire will hold the lock.
func (j *journal) opened(grant string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.current = grant
}

// invoke writes an invocation. If it could not be written nothing must be sent:
// what is not on file can't be told from what never was.
func (j *journal) invoke(op histories.Operation) (id int64, ok bool) {
	id, err := j.rec.Invoke(op)
	j.check(err)
	return id, err == nil
}

func (j *journal) answer(id int64, a histories.Operation) { j.check(j.rec.Answer(id, a)) }

func (j *journal) instant(op histories.Operation) { j.check(j.rec.Instant(op)) }

func (j *journal) check(err error) {
	if err == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err == nil {
		j.err = fmt.Errorf("write history: %w", err)
	}
}

// failed is the first failure to write.
func (j *journal) failed() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err
}

// outcome classes an error of the lock: nil is ok, a definite error fail, all else info.
func outcome(err error) histories.Operation {
	if err == nil {
		return histories.Operation{Type: histories.OK}
	}
	if word, ok := lock.IsDefinite(err); ok {
		return histories.Operation{Type: histories.Fail, Error: described(word, err)}
	}
	return unanswered(err)
}

// unanswered is the outcome of what got no definite answer.
func unanswered(err error) histories.Operation {
	word := histories.ErrUnanswered
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		word = histories.ErrTimeout
	case errors.Is(err, context.Canceled):
		word = histories.ErrCancelled
	}
	return histories.Operation{Type: histories.Info, Error: described(word, err)}
}

// described begins with the word, and says it once.
func described(word string, err error) string {
	text := err.Error()
	if len(text) >= len(word) && text[:len(word)] == word {
		return text
	}
	return word + ": " + text
}
