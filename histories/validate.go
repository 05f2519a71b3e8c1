package histories

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"unicode/utf8"
)

// Times and lengths are bounded so that no sum of the two overflows. A time may
// be nanoseconds since 1970 up to the year 2043, a lease as long as 146 years.
const (
	maxTime = int64(1) << 61
	maxTTL  = math.MaxInt64 / 2 / 1_000_000 // ms
)

// Validate tells the first reason why a history cannot be judged, with file and
// line. A history that passes it can be written in JSON Lines. No operation at
// all is no reason: such a history is well formed, and inconclusive.
//
// The order of events is checked within a process only: the events of two
// processes may come in any order at equal times. A worker has one operation
// open at a time, but for renew and lost, which a thread of their own may see.
func Validate(h *History) error {
	return validate(h, func(o *Operation) string { return h.Source })
}

// validate takes the file of each operation from source.
func validate(h *History, source func(*Operation) string) error {
	if err := checkHeader(&h.Header); err != nil {
		return atLine(h.Source, 0, fmt.Errorf("header: %w", err))
	}
	v := validator{h: h, guards: NewGuards(h), workers: map[string]*worker{}}
	at, err := v.checkAlone()
	for i := range h.Ops[:at] { // what is wrong comes first in the order of the file
		if overlap := v.overlap(&h.Ops[i]); overlap != nil {
			at, err = i, overlap
			break
		}
	}
	if err == nil {
		return nil
	}
	o := &h.Ops[at]
	if o.Line == 0 {
		err = fmt.Errorf("op %d of process %s: %w", o.ID, o.Process, err)
	}
	return atLine(source(o), o.Line, err)
}

type validator struct {
	h       *History
	guards  *Guards
	workers map[string]*worker
}

// worker is what is known of a process, the nemesis and the store included.
type worker struct {
	ids  idTable
	open *Operation // the operation that was answered last, of those that must not overlap
}

// checkAlone finds the first operation that is wrong whatever the others of its
// process are, and what is wrong; else the number of operations. The operations are
// parted among the processors.
func (v *validator) checkAlone() (at int, err error) {
	const least = 10_000 // fewer are not worth a goroutine
	ops := v.h.Ops
	parts := max(1, min(runtime.GOMAXPROCS(0), len(ops)/least))
	found, errs := make([]int, parts), make([]error, parts)
	var all sync.WaitGroup
	for p := range parts {
		all.Go(func() { found[p], errs[p] = v.checkPart(len(ops)*p/parts, len(ops)*(p+1)/parts) })
	}
	all.Wait()
	for p := range parts {
		if errs[p] != nil {
			return found[p], errs[p]
		}
	}
	return len(ops), nil
}

func (v *validator) checkPart(from, to int) (at int, err error) {
	for i := from; i < to; i++ {
		o := &v.h.Ops[i]
		for _, check := range [...]func(*Operation) error{checkWords, checkTimes, checkAttributes, checkNeeded, v.tokens, v.guard} {
			if err := check(o); err != nil {
				return i, err
			}
		}
		if err := v.order(i); err != nil {
			return i, err
		}
	}
	return to, nil
}

func checkWords(o *Operation) error {
	if err := checkFunction(o.Process, o.F); err != nil {
		return err
	}
	switch o.Type {
	case OK, Fail, Info:
	default:
		return fmt.Errorf("unknown type %.40q", o.Type)
	}
	if o.Mode != "" && o.Mode != "shared" {
		return fmt.Errorf("unknown mode %.40q, want shared or none", o.Mode)
	}
	if o.F == Lost && o.ByWorker() && o.Type == Fail {
		return errors.New("lost cannot fail: it is something that the worker was told")
	}
	for _, s := range [...]string{
		o.Process, string(o.F), o.Lock, o.Grant, o.Session, o.Resource, o.Value.Or(""), o.Under, o.Error, o.Target, string(o.Point), o.Text,
	} {
		if s != "" && !utf8.ValidString(s) {
			return fmt.Errorf("invalid UTF-8 in %.40q", s)
		}
	}
	return nil
}

func checkTimes(o *Operation) error {
	switch {
	case o.Invoke < 0:
		return fmt.Errorf("time %d ns is negative", o.Invoke)
	case o.Return < o.Invoke:
		return fmt.Errorf("answered at %d ns, before its invocation at %d ns", o.Return, o.Invoke)
	case o.Invoke > maxTime || o.Return > maxTime && o.Return != Never:
		return fmt.Errorf("time beyond %d ns", maxTime)
	case o.Return == Never && o.Type != Info:
		return fmt.Errorf("%s without an answer", o.Type)
	case o.Return == Never && o.Error != "":
		return errors.New("a reason, but no answer that could have brought it")
	}
	return nil
}

func checkAttributes(o *Operation) error {
	if err := checkKeys(o.Process, o.F, Invoke, askedKeys(o)); err != nil {
		return err
	}
	if err := checkKeys(o.Process, o.F, o.Type, answeredKeys(o)); err != nil {
		return err
	}
	switch {
	case o.GrantLate && o.Grant == "":
		return errors.New("a grant named by the answer, but no name")
	case o.TTL < 0 || o.TTLAsked < 0:
		return errors.New("a ttl that is negative")
	case o.TTL > maxTTL || o.TTLAsked > maxTTL:
		return fmt.Errorf("a ttl beyond %d ms", maxTTL)
	case o.HoldsLeft.Or(0) < 0:
		return errors.New("a count that is negative")
	}
	return nil
}

// checkNeeded looks for what an operation cannot do without.
func checkNeeded(o *Operation) error {
	needs := func(what string, there bool) error {
		if there {
			return nil
		}
		return fmt.Errorf("%s without a %s", o.F, what)
	}
	switch {
	case o.Process == Nemesis:
		return needs("target", o.Target != "" || !targeted(o.F))
	case o.Process == Store && (o.F == Expire || o.F == Revoke):
		return errors.Join(needs("lock", o.Lock != ""), needs("target", o.Target != ""))
	case o.Process == Store:
		return nil
	case o.F.OnLock():
		return needs("lock", o.Lock != "")
	case o.F == Write && !o.Value.Known():
		return needs("value", false)
	}
	return needs("resource", o.Resource != "")
}

// targeted tells whether f is a function of the nemesis that is done to somebody.
func targeted(f F) bool {
	switch f {
	case Pause, Resume, Kill, Restart, Partition, Heal:
		return true
	}
	return false
}

func (v *validator) tokens(o *Operation) error {
	none := v.h.Header.Tokens == TokensNone
	switch {
	case none && o.Token.Known():
		return errors.New("a token, but the lock issues none (tokens: none)")
	case !none && o.ByWorker() && o.F == Acquire && o.Type == OK && !o.Token.Known():
		return errors.New("acquire ok without a token, but the lock issues tokens (tokens: ordered)")
	}
	return nil
}

func (v *validator) guard(o *Operation) error {
	if !o.ByWorker() || !o.F.OnResource() || o.Lock != "" || v.guards.Unguarded() || v.guards.Of(o.Resource) != "" {
		return nil
	}
	return fmt.Errorf("no lock is known to guard resource %.40q; the header's guards or lock on the operation must name it", o.Resource)
}

func (v *validator) order(i int) error {
	o := &v.h.Ops[i]
	if i > 0 && o.Invoke < v.h.Ops[i-1].Invoke {
		return fmt.Errorf("out of order: invoked at %d ns, after an operation at %d ns", o.Invoke, v.h.Ops[i-1].Invoke)
	}
	end, known := v.h.Header.End.Get()
	if known && (o.Invoke > end || o.Return > end && o.Return != Never) {
		return fmt.Errorf("after the end of the history at %d ns", end)
	}
	return nil
}

func (v *validator) overlap(o *Operation) error {
	w := v.workers[o.Process]
	if w == nil {
		w = &worker{}
		v.workers[o.Process] = w
	}
	if _, twice := w.ids.get(o.ID); twice {
		return fmt.Errorf("op %d stands twice in process %s", o.ID, o.Process)
	}
	w.ids.put(o.ID, 0)
	if !o.ByWorker() || o.F == Renew || o.F == Lost {
		return nil
	}
	if w.open != nil && o.Invoke < w.open.Return {
		return fmt.Errorf("worker %s has two open operations: %s, and %s of %s", o.Process, o.F, w.open.F, v.place(w.open))
	}
	w.open = o
	return nil
}

func (v *validator) place(o *Operation) string {
	if o.Line > 0 {
		return fmt.Sprintf("line %d", o.Line)
	}
	return fmt.Sprintf("op %d", o.ID)
}
