package nats

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload/lock"
	"github.com/leasehold-checker/leasehold/workload/lock/keeper"
)

// attempt is a value that is to be, or is, in the lock key.
type attempt struct {
	*bucket
	key   string
	value string // of this attempt alone
	ttl   time.Duration

	mu       sync.Mutex // one write to the key at a time
	revision uint64     // of the key, as far as we know; 0: never granted
	doubtful bool       // a write without an answer may have raised the revision
}

// create tries to take the key, and returns its revision.
//
// Create of the library is up to three requests: a write that requires that there is
// no such key; if that is refused, a look; and if what is there is the marker of a
// deletion, a write that requires that very marker. All under one deadline: if the
// first write gets no answer, its deadline has passed for the others, too. So one
// write at most is ever in doubt.
func (a *attempt) create(ctx context.Context) (uint64, error) {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerLimit)
	defer cancel()
	a.mu.Lock()
	defer a.mu.Unlock()
	revision, err := a.kv.Create(limited, a.key, []byte(a.value))
	if err == nil {
		a.revision = revision
	}
	return revision, err
}

// failed classes the error of create: nil means that it may be tried again.
func (a *attempt) failed(err error) error {
	var answer jetstream.JetStreamError
	switch {
	case errors.Is(err, jetstream.ErrKeyExists), notSent(err):
		return nil
	case errors.Is(err, jetstream.ErrInvalidKey), errors.As(err, &answer) && answer.APIError() != nil:
		return lock.Definite(errRefused, err)
	}
	return &lock.Unsettled{Err: err, Settle: a.settle}
}

// notSent tells whether the message certainly reached no stream.
func notSent(err error) bool {
	return errors.Is(err, nats.ErrReconnectBufExceeded) || errors.Is(err, jetstream.ErrNoStreamResponse)
}

// renew writes the value again, which makes it young again. Once in doubt about the
// revision, "wrong last sequence" does not mean that the lease is lost: a renewal
// whose answer got lost may have raised it.
func (a *attempt) renew(ctx context.Context) (time.Time, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	sent := time.Now()
	err := a.write(ctx, func(revision uint64) error {
		raised, err := a.kv.Update(ctx, a.key, []byte(a.value), revision)
		if err == nil {
			a.revision, a.doubtful = raised, false
		}
		return err
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("renew: %w", err)
	}
	return sent.Add(a.ttl), nil
}

// remove deletes the key if it is ours.
func (a *attempt) remove(ctx context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	err := a.write(ctx, func(revision uint64) error {
		return a.kv.Delete(ctx, a.key, jetstream.LastRevision(revision))
	})
	if err != nil {
		return fmt.Errorf("release: %w", err)
	}
	return nil
}

// write does a write that requires that the key has the revision that we know, and
// looks which it has if we can't know. The loss of the key is lock.Definite. It needs
// mu.
func (a *attempt) write(ctx context.Context, write func(revision uint64) error) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := write(a.revision)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, jetstream.ErrKeyRevisionMismatch):
			a.doubtful = a.doubtful || !notSent(err)
			return err
		case !a.doubtful:
			return lock.Definite(histories.ErrLost, err)
		}
		found, err := a.look(ctx, a.key)
		if err != nil {
			return err
		}
		if !found.has(a.value) {
			return lock.Definite(histories.ErrLost, keeper.ErrNotHeld)
		}
		a.revision = found.revision
	}
}

// settle makes sure that a create without an answer does not hold the key, now or
// later. Its writes required that the key is not there, or is a certain marker. So
// where the key is not ours a marker goes on top of what is there: after that they
// are refused, unless they come so late that this marker is too old itself.
func (a *attempt) settle(ctx context.Context) error {
	for {
		found, err := a.look(ctx, a.key)
		if err != nil {
			return fmt.Errorf("settle: %w", err)
		}
		if found.live && !found.has(a.value) {
			return lock.Definite(histories.ErrLost, keeper.ErrNotHeld)
		}
		err = a.mark(ctx, a.key, found.revision)
		switch {
		case err == nil && found.live:
			return nil
		case err == nil:
			return lock.Definite(histories.ErrLost, keeper.ErrNotHeld)
		case !errors.Is(err, jetstream.ErrKeyExists): // the code for "wrong last sequence"
			return fmt.Errorf("settle: %w", err)
		}
	}
}
