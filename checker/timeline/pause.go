package timeline

import (
	"github.com/leasehold-checker/leasehold/histories"
)

// Pause is the time for which a worker stood still.
type Pause struct {
	Op      int    `json:"op"` // place in History.Ops
	Process string `json:"process"`
	Begin   int64  `json:"begin"`
	End     int64  `json:"end"`             // the end of the history if nobody continued it
	Point   string `json:"point,omitempty"` // the code point
	Seen    bool   `json:"seen"`            // the kernel confirmed that it stood still
	Open    bool   `json:"open,omitempty"`  // nobody continued it
}

func (p Pause) span() (string, int64, int64) { return "", p.Begin, p.End }

// buildPauses pairs the pauses with what ended them. A pause that was asked for
// and did not happen has no band.
func buildPauses(x *index) []Pause {
	var pauses []Pause
	standing := map[string]int{} // process -> place in pauses
	for i := range x.h.Ops {
		op := &x.h.Ops[i]
		if op.Process != histories.Nemesis || op.Type == histories.Fail {
			continue
		}
		at, open := standing[op.Target]
		switch op.F {
		case histories.Pause:
			if open {
				continue
			}
			standing[op.Target] = len(pauses)
			begin := op.Invoke
			if op.Type == histories.OK {
				begin = op.Return // the kernel was seen to have stopped it: not before
			}
			pauses = append(pauses, Pause{Op: i, Process: text(op.Target), Begin: begin, End: max(x.end, begin),
				Point: text(string(op.Point)), Seen: op.Type == histories.OK, Open: true})
		case histories.Resume, histories.Kill:
			if open {
				pauses[at].End, pauses[at].Open = max(op.Invoke, pauses[at].Begin), false
				delete(standing, op.Target)
			}
		}
	}
	return pauses
}
