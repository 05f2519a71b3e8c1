package simulate

import "github.com/leasehold-checker/leasehold/histories"

// Plant is a violation that is put into a large history.
type Plant int

// What can be planted.
const (
	Nothing    Plant = iota
	StaleWrite       // a write of the older grant is accepted after one of the newer
	LostUpdate       // a write overwrites one that came after its read
)

// script is the violation: two workers of their own who, at nine tenths of the history,
// take the first lock that is free. An operator takes it from the first of them, who
// does not notice. Their times are apart, so that nothing else can explain what is seen.
type script struct {
	steps []step
	place int32
	first int32 // hand
}

// step is what one of the two does.
type step struct {
	second bool
	what   histories.F
}

// director is the script's place among those who have moments.
const director = int32(1<<31 - 1)

func (f *field) writeScript() {
	var steps []step
	switch f.Plant {
	case Nothing:
		return
	case StaleWrite:
		steps = []step{
			{false, histories.Acquire}, {false, histories.Revoke}, {true, histories.Acquire},
			{true, histories.Write}, {false, histories.Write}, {true, histories.Read}, {true, histories.Release},
		}
	case LostUpdate:
		steps = []step{
			{false, histories.Acquire}, {false, histories.Read}, {false, histories.Revoke}, {true, histories.Acquire}, {true, histories.Read},
			{false, histories.Write}, {true, histories.Write}, {true, histories.Read}, {true, histories.Release},
		}
	}
	f.script = &script{steps: steps, place: -1, first: int32(len(f.hands))}
	f.hands = append(f.hands, hand{name: "P1"}, hand{name: "P2"})
}

// cue begins the script on a free lock, if it is time.
func (f *field) cue(place int32, now int64) bool {
	p := &f.places[place]
	if f.script == nil || f.script.place >= 0 || f.asked < f.Operations/10*9 {
		return false
	}
	f.script.place = place
	p.holder, p.ends = f.script.first, 0
	f.hands[f.script.first].place, f.hands[f.script.first+1].place = place, place
	f.queue.add(moment{now, director})
	return true
}

// waitsForScript: in a short history the lock may not have been free in time.
func (f *field) waitsForScript() bool { return f.script != nil && f.script.place < 0 }

// play lets one of the two act: asked, landed and answered with nothing between.
func (f *field) play(now int64) {
	s := f.script
	do := s.steps[0]
	s.steps = s.steps[1:]
	who := s.first
	if do.second {
		who++
	}
	h, p := &f.hands[who], &f.places[s.place]
	if len(s.steps) > 0 {
		f.queue.add(moment{now + 1000, director})
	}
	if do.what == histories.Revoke {
		f.endOnRecord(p, h, do.what, now)
		return
	}
	f.begin(h, p, do.what, now)
	o := &f.ops[h.op]
	o.Type, o.Return = histories.OK, now+1
	switch do.what {
	case histories.Acquire:
		p.lease++
		p.token++
		h.lease, h.token = p.lease, p.token
		if !f.NoTokens {
			o.Token = histories.Some(h.token)
		}
	case histories.Release:
		p.holder = -1
		f.grant(s.place, now)
	default:
		f.apply(who, h, p, o)
	}
}
