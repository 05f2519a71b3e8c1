package model

import "github.com/leasehold-checker/leasehold/histories"

// Stop is a time for which a worker certainly stood still: from the kernel's word
// that it is stopped until somebody may have let it go on (a resume that was answered
// ok or info), killed it, or restarted it. A pause of a worker that stands still
// already is a part of the same stop.
type Stop struct {
	Worker   string
	Pause    int // place in History.Ops
	Resume   int // place in History.Ops; -1 if nobody let it go on
	From, To int64
}

// Overlaps tells whether some moment of a span of time lies in the stop.
func (s *Stop) Overlaps(from, to int64) bool { return s.From <= to && from <= s.To }

// Stops lists the stops of all workers, in the order of their pauses.
func (b *Book) Stops() []*Stop { return b.stops }

// StopsOf lists the stops of one worker, in the order of their pauses.
func (b *Book) StopsOf(worker string) []*Stop { return b.stopsOf[worker] }

func (b *Book) findStops() {
	b.stopsOf = map[string][]*Stop{}
	standing := map[string]*Stop{}
	for i := range b.History.Ops {
		o := &b.History.Ops[i]
		if o.Process != histories.Nemesis || o.Type == histories.Fail {
			continue
		}
		s := standing[o.Target]
		switch o.F {
		case histories.Pause:
			switch {
			case o.Type != histories.OK:
			case s != nil:
				s.From = min(s.From, o.Return)
			default:
				s = &Stop{Worker: o.Target, Pause: i, Resume: -1, From: o.Return, To: histories.Never}
				standing[o.Target] = s
				b.stops = append(b.stops, s)
				b.stopsOf[o.Target] = append(b.stopsOf[o.Target], s)
			}
		case histories.Resume, histories.Kill, histories.Restart:
			if s == nil {
				continue
			}
			if s.To = o.Invoke; o.F == histories.Resume {
				s.Resume = i
			}
			delete(standing, o.Target)
		}
	}
}
