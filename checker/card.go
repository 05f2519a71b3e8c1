package checker

import (
	"cmp"
	"slices"

	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

// Card is how a lock behaved around the losses of leases in one history: facts about
// it, and no judgement.
type Card struct {
	Version     int              `json:"version"`
	Cell        string           `json:"cell,omitempty"`
	Tokens      histories.Tokens `json:"tokens"`
	TokenOrder  Verdict          `json:"token_order,omitempty"` // "" if there are no tokens
	TTLAskedMS  int64            `json:"ttl_asked_ms"`
	TTLMS       int64            `json:"ttl_ms"`    // effective; 0: leases do not end by time
	Takeovers   int              `json:"takeovers"` // grants after a lease that nobody released
	LateMS      Spread           `json:"late_ms"`   // from the end of the last promise to the answer of the next grant
	Losses      int              `json:"losses"`    // stopped holders whose lease had ended when they went on
	Told        int              `json:"told"`      // of these, so many were told by their client
	ToldAfterMS Spread           `json:"told_after_ms"`
	ReleaseOK   int              `json:"release_ok"` // releases of a lease that had ended, answered ok
	ReleaseNo   int              `json:"release_no"`
	RenewOK     int              `json:"renew_ok"`
	RenewNo     int              `json:"renew_no"`
}

// Spread is the least, the middle and the largest of some measured times.
type Spread struct {
	N      int     `json:"n"`
	Min    float64 `json:"min"`
	Median float64 `json:"median"`
	Max    float64 `json:"max"`
}

// CardOf reads a lock's card off a history. The result is that of Check for the same
// history.
func CardOf(h *histories.History, r Result) (Card, error) {
	b, err := model.Resolve(h)
	if err != nil {
		return Card{}, err
	}
	c := Card{Version: 1, Cell: h.Header.Cell, Tokens: h.Header.Tokens}
	if p := r.Property(TokenOrder); p != nil && p.Checked > 0 {
		c.TokenOrder = p.Verdict
	}
	for i := range h.Ops {
		if o := &h.Ops[i]; o.F == histories.Acquire && o.Type == histories.OK {
			c.TTLAskedMS, c.TTLMS = max(c.TTLAskedMS, o.TTLAsked), max(c.TTLMS, o.EffectiveTTL())
		}
	}
	var late, told []float64
	for i := range r.Coverage.Trials {
		t := &r.Coverage.Trials[i]
		next, g := grantNamed(b, t.Lock, t.Successor), grantNamed(b, t.Lock, t.Grant)
		if !t.Takeover || next == nil || g == nil {
			continue
		}
		c.Takeovers++
		if end, timed := promised(b, g, next.Return); timed {
			late = append(late, ms(next.Return-end))
		}
		c.Losses++
		after(b, g, t.ContinuedNS, &c, &told)
	}
	c.LateMS, c.ToldAfterMS = spread(late), spread(told)
	c.Told = len(told)
	return c, nil
}

func grantNamed(b *model.Book, lock, id string) *model.Grant {
	for _, g := range b.Grants {
		if g.Lock == lock && g.ID == id {
			return g
		}
	}
	return nil
}

// promised is when the last promise to the grant that was asked for before the time
// ran out; false if its lease does not end by time.
func promised(b *model.Book, g *model.Grant, before int64) (end int64, timed bool) {
	ttl := int64(0)
	for i := range b.History.Ops {
		o := &b.History.Ops[i]
		if b.Own(i) != g || o.Type != histories.OK || o.F != histories.Acquire && o.F != histories.Renew || o.Invoke > before {
			continue
		}
		if t := o.EffectiveTTL() * 1e6; t > 0 {
			ttl = t
		}
		end = max(end, o.Invoke+ttl)
	}
	return end, ttl > 0
}

// after notes what the worker was told about a lease that had ended when it went on.
func after(b *model.Book, g *model.Grant, resumed int64, c *Card, told *[]float64) {
	count := func(o *histories.Operation, yes, no *int) {
		switch o.Type {
		case histories.OK:
			*yes++
		case histories.Fail:
			*no++
		}
	}
	for i := range b.History.Ops {
		o := &b.History.Ops[i]
		if b.Own(i) != g || o.Invoke < resumed {
			continue
		}
		switch o.F {
		case histories.Lost:
			*told = append(*told, ms(o.Invoke-resumed))
		case histories.Release:
			count(o, &c.ReleaseOK, &c.ReleaseNo)
		case histories.Renew:
			count(o, &c.RenewOK, &c.RenewNo)
		}
	}
}

func ms(ns int64) float64 { return float64(ns/1000) / 1000 }

func spread(times []float64) Spread {
	if len(times) == 0 {
		return Spread{}
	}
	slices.SortFunc(times, cmp.Compare)
	return Spread{N: len(times), Min: times[0], Median: times[len(times)/2], Max: times[len(times)-1]}
}
