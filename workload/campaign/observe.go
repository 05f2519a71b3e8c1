package campaign

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/histories/monotonic"
)

// fEnded is the function under which the observer notes that a grant's entry has
// gone from the store; Text is its token. Only when all processes' files are at
// hand can it be told whether that was an expiry.
const fEnded = histories.F("ended")

// observer writes down what the store is seen to do.
type observer struct {
	cancel context.CancelFunc
	done   chan error
	file   *os.File

	mu  sync.Mutex
	err error // the first failure to write
}

func (o *observer) note(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.err = err
	}
}

// observe starts an observer and returns when nothing from then on can escape it.
// It is nil where the store can't tell which grant ended.
func (c *cellRun) observe(ctx context.Context) (*observer, error) {
	if c.storeKind.Watch == nil {
		return nil, nil
	}
	file, err := os.Create(filepath.Join(c.dir, folderEvents, histories.Store+".jsonl"))
	if err != nil {
		return nil, fmt.Errorf("observe store: %w", err)
	}
	rec := histories.NewRecorder(file, histories.Store, c.clock)
	ctx, cancel := context.WithCancel(ctx)
	o := &observer{cancel: cancel, done: make(chan error, 1), file: file}
	ready := make(chan struct{})
	go func() {
		o.done <- c.storeKind.Watch(ctx, c.store.Endpoints(), c.prefix, func() { close(ready) }, func(e Ended) {
			o.note(rec.Instant(histories.Operation{F: fEnded, Lock: e.LockName, Text: strconv.FormatInt(e.Token, 10)}))
		})
	}()
	late := time.NewTimer(startLimit)
	defer late.Stop()
	select {
	case <-ready:
		return o, nil
	case err = <-o.done:
	case <-late.C:
		err = errors.New("it does not answer")
	}
	cancel()
	file.Close()
	return nil, fmt.Errorf("observe store: %w", errors.Join(err, causeOf(ctx)))
}

// end stops the observer. That it had stopped before, by itself, is an error: what
// the store did since is not on record.
func (o *observer) end() error {
	if o == nil {
		return nil
	}
	defer o.file.Close()
	select {
	case err := <-o.done:
		if err == nil { // its context had ended: the campaign was cut short, and says so itself
			return nil
		}
		return fmt.Errorf("observe store: ended early: %w", err)
	default:
	}
	o.cancel()
	<-o.done
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return fmt.Errorf("observe store: %w", o.err)
	}
	return nil
}

// nameExpiries turns the observer's notes into expiries: an entry that went away
// was an expiry only if our own side had not invoked a release of that grant.
// Whatever concerns no grant of ours (a waiter's entry, an acquire that was given
// up) is dropped.
func nameExpiries(ops []histories.Operation) []histories.Operation {
	type key struct{ lock, token string }
	type holder struct{ process, grant string }
	holders := map[key]holder{}
	released := map[holder]int64{} // first invocation of a release
	for i := range ops {
		o := &ops[i]
		switch o.F {
		case histories.Acquire:
			if token, ok := o.Token.Get(); ok && o.Type == histories.OK {
				holders[key{o.Lock, strconv.FormatInt(token, 10)}] = holder{o.Process, o.Grant}
			}
		case histories.Release:
			h := holder{o.Process, o.Grant}
			if at, ok := released[h]; !ok || o.Invoke < at {
				released[h] = o.Invoke
			}
		}
	}
	kept := ops[:0]
	for _, o := range ops {
		if o.Process == histories.Store && o.F == fEnded {
			h, ours := holders[key{o.Lock, o.Text}]
			at, ended := released[h]
			if !ours || ended && at <= o.Invoke {
				continue
			}
			o.F, o.Target, o.Text = histories.Expire, h.process, ""
		}
		kept = append(kept, o)
	}
	return kept
}

// renumbered gives the operations of the store numbers without gaps, as the text
// notation counts them.
func renumbered(ops []histories.Operation) []histories.Operation {
	next := int64(0)
	for i := range ops {
		if ops[i].Process == histories.Store {
			ops[i].ID = next
			next++
		}
	}
	return ops
}

// clock is the time of the cell, in ns since it began.
func (c *cellRun) clock() int64 { return monotonic.Now() - c.origin }
