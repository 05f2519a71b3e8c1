package exact

import "github.com/leasehold-checker/leasehold/checker/model"

// What tests ask of the rules word for word beside their answers.

func (p *Plain) Older(a, g *model.Grant) bool { return p.older(a, g) }

func (p *Plain) Before(a, g *model.Grant) bool { return p.before(a, g) }

func (p *Plain) Broken(a, g *model.Grant) bool { return p.broken(a, g) }

func (p *Plain) End(g *model.Grant, promise int) int64 { return p.end(g, promise) }

func (p *Plain) Excused(g *model.Grant, promise int, t int64) bool { return p.excused(g, promise, t) }

func (p *Plain) Released(g *model.Grant, promise int, t int64) bool { return p.released(g, promise, t) }

func (p *Plain) Lines(g *model.Grant) []int { return p.lines(g) }
