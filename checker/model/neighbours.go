package model

// Neighbours says which grants of its lock are parted from a grant and newer (see
// [Parted]), by places in the lock's order (see [Book.Orders]).
//
// With usable tokens, these are the grants from Newer on. Without, they are the
// grants of other workers from Newer on, and those of its own worker from Nested on,
// but for grants with its own token.
type Neighbours struct {
	ByToken bool // the tokens of the lock are usable
	Pos     int  // the grant's own place
	Newer   int
	Nested  int // of no meaning with usable tokens
}

// Neighbours are the grant's neighbours in its lock's order.
func (g *Grant) Neighbours() Neighbours {
	p := &g.place
	return Neighbours{ByToken: p.order.tokens, Pos: p.pos, Newer: p.newer, Nested: p.nested}
}
