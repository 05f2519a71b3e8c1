package exact

import "context"

// pace lets a judge that looks at pairs one by one end with its context. It looks at
// the context seldom, so that a history of ordinary size is decided whatever the
// context says, and the same on every machine.
type pace struct {
	ctx  context.Context
	work int  // pairs looked at, and whatever else takes as long
	over bool // the context has ended
}

// patience is the work between two looks at the context.
const patience = 1 << 20

// spend counts work, and tells whether there is time for more.
func (p *pace) spend(work int) bool {
	if before := p.work; before/patience != (before+work)/patience && p.ctx.Err() != nil {
		p.over = true
	}
	p.work += work
	return !p.over
}
