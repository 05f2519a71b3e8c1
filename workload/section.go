package workload

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload/lock"
	"github.com/leasehold-checker/leasehold/workload/point"
	"github.com/leasehold-checker/leasehold/workload/resource"
)

// hold is one grant, while the worker believes in it.
type hold struct {
	grant string
	lease lock.Lease
	token resource.Token
	over  chan struct{} // closed before the release is invoked
}

// tenure takes the lock once and does with it what t says.
func (w *Worker) tenure(ctx context.Context, t Tenure) {
	h := w.acquire(ctx)
	if h == nil {
		return
	}
	defer w.release(h)
	w.at(histories.PointAcquired, h.grant)
	if t.Open && !w.open(h) {
		return
	}
	for i := range t.Rounds {
		if i > 0 && ctx.Err() != nil {
			return
		}
		if t.Hold > 0 && i == t.Rounds-1 {
			w.wait(ctx, t.Hold)
		}
		if !w.round(ctx, h, t) {
			return
		}
	}
}

// acquire takes the lock, or returns nil.
func (w *Worker) acquire(ctx context.Context) *hold {
	w.grants++
	grant := fmt.Sprintf("%s.%d", w.cfg.Name, w.grants)
	w.journal.opened(grant)
	ctx = point.With(ctx, func(p histories.Point) { w.at(p, grant) })
	op := histories.Operation{F: histories.Acquire, Lock: w.cfg.LockName, Grant: grant}
	if !w.cfg.NoTTL {
		op.TTLAsked = w.cfg.TTLMS
	}
	id, ok := w.journal.invoke(op)
	if !ok {
		return nil
	}
	lease, err := w.lock.Acquire(ctx, w.cfg.LockName, time.Duration(w.cfg.TTLMS)*time.Millisecond)
	if err != nil {
		w.journal.answer(id, outcome(err))
		var open *lock.Unsettled
		if errors.As(err, &open) {
			w.settle(grant, open)
		}
		return nil
	}
	h := &hold{grant: grant, lease: lease, over: make(chan struct{})}
	session := lease.Session()
	w.session.Store(&session)
	answer := histories.Operation{Type: histories.OK, TTL: lease.TTL().Milliseconds()}
	if token, ok := lease.Token(); ok {
		h.token = histories.Some(token)
		answer.Token = h.token
	}
	w.journal.answer(id, answer)
	w.watchLoss(h)
	w.emit(Event{What: SawGranted, Grant: grant})
	return h
}

// settle ends what an unsettled acquire may have left behind. That is a release:
// it must be on file before it is sent, or the store's answer to it would look as
// if the store had ended a lease on its own.
func (w *Worker) settle(grant string, open *lock.Unsettled) {
	ctx, cancel := w.opContext()
	defer cancel()
	id, ok := w.journal.invoke(histories.Operation{F: histories.Release, Lock: w.cfg.LockName, Grant: grant})
	if ok {
		w.journal.answer(id, outcome(open.Settle(ctx)))
		w.journal.closed(grant)
	}
}

// watchLoss writes down when the client library tells of the loss.
func (w *Worker) watchLoss(h *hold) {
	lost := h.lease.Lost()
	if lost == nil {
		return
	}
	go func() {
		select {
		case <-h.over:
		case <-lost:
			select {
			case <-h.over: // we ended it ourselves
			default:
				w.journal.instant(histories.Operation{F: histories.Lost, Lock: w.cfg.LockName, Grant: h.grant})
			}
		}
	}()
}

func (w *Worker) release(h *hold) {
	w.at(histories.PointBeforeRelease, h.grant)
	ctx, cancel := w.opContext()
	defer cancel()
	close(h.over)
	id, ok := w.journal.invoke(histories.Operation{F: histories.Release, Lock: w.cfg.LockName, Grant: h.grant})
	if !ok {
		return
	}
	w.journal.answer(id, outcome(h.lease.Release(ctx)))
	w.journal.closed(h.grant)
	w.emit(Event{What: SawReleased, Grant: h.grant})
}

// round is one guarded write. It returns false when the grant is of no more use.
func (w *Worker) round(ctx context.Context, h *hold, t Tenure) bool {
	if !w.read(h) {
		return false
	}
	w.emit(Event{What: SawRead, Grant: h.grant})
	w.at(histories.PointRead, h.grant)
	w.wait(ctx, t.Think)
	if !w.guard(h) {
		w.emit(Event{What: SawGaveUp, Grant: h.grant})
		return false
	}
	w.at(histories.PointChecked, h.grant)
	pause(time.Duration(w.cfg.WorkUS) * time.Microsecond)
	return w.write(h) && w.read(h)
}

// guard is the holder's own check before it acts.
func (w *Worker) guard(h *hold) bool {
	op := histories.Operation{F: histories.Check, Lock: w.cfg.LockName, Grant: h.grant}
	if w.cfg.Guard == GuardNone {
		return true
	}
	id, ok := w.journal.invoke(op)
	if !ok {
		return false
	}
	switch w.cfg.Guard {
	case GuardCheck:
		held := h.lease.Held()
		w.journal.answer(id, histories.Operation{Type: histories.OK, Held: histories.Some(held)})
		return held
	case GuardAsk:
		ctx, cancel := w.opContext()
		defer cancel()
		held, err := h.lease.Ask(ctx)
		answer := outcome(err)
		if err == nil {
			answer.Held = histories.Some(held)
		}
		w.journal.answer(id, answer)
		return held && err == nil
	}
	return false
}

func (w *Worker) open(h *hold) bool {
	return w.onResource(h, histories.Operation{F: histories.Open}, func(ctx context.Context) (resource.Answer, error) {
		return w.resource.Open(ctx, w.cfg.ResourceName, h.token)
	})
}

func (w *Worker) read(h *hold) bool {
	return w.onResource(h, histories.Operation{F: histories.Read}, func(ctx context.Context) (resource.Answer, error) {
		return w.resource.Read(ctx, w.cfg.ResourceName, h.token)
	})
}

func (w *Worker) write(h *hold) bool {
	w.values++
	value := fmt.Sprintf("%s-%d", w.cfg.Name, w.values)
	return w.onResource(h, histories.Operation{F: histories.Write, Value: histories.Some(value)}, func(ctx context.Context) (resource.Answer, error) {
		w.at(histories.PointBeforeWrite, h.grant)
		ctx = point.With(ctx, func(p histories.Point) { w.at(p, h.grant) })
		return w.resource.Write(ctx, w.cfg.ResourceName, h.token, value)
	})
}

// onResource does one operation on the resource, under the grant's own token, and
// tells whether it was accepted. Its context is never derived from the lease's:
// a client that cancels its writes when the lease ends would hide what this tool
// is to show.
func (w *Worker) onResource(h *hold, op histories.Operation, do func(context.Context) (resource.Answer, error)) bool {
	ctx, cancel := w.opContext()
	defer cancel()
	if keyed, ok := h.lease.(lock.Keyed); ok {
		ctx = resource.WithKey(ctx, keyed.Key())
	}
	op.Resource, op.Grant, op.Token = w.cfg.ResourceName, h.grant, h.token
	id, ok := w.journal.invoke(op)
	if !ok {
		return false
	}
	got, err := do(ctx)
	answer := histories.Operation{Type: histories.OK, Seq: got.Seq}
	if err != nil {
		answer = unanswered(err)
		if refused, ok := resource.AsRefused(err); ok {
			answer = histories.Operation{Type: histories.Fail, Error: refused.Error(), Seq: refused.Seq}
		}
	} else if op.F == histories.Read {
		answer.Value = histories.Some(got.Value)
	}
	w.journal.answer(id, answer)
	switch {
	case answer.Type == histories.Fail:
		w.emit(Event{What: SawRefused, Grant: h.grant})
	case answer.Type == histories.Info:
		w.emit(Event{What: SawUnsure, Grant: h.grant, Text: answer.Error})
	case op.F == histories.Write:
		w.emit(Event{What: SawWrote, Grant: h.grant})
	}
	return answer.Type == histories.OK
}

// opContext bounds one operation.
func (w *Worker) opContext() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), time.Duration(w.cfg.OpLimitMS)*time.Millisecond)
}
