package jit

import "math/bits"

// mask is a set of slots. Every open operation that is not optional has one.
type mask [4]uint64

const slots = 4 * 64

func (m mask) has(slot int32) bool { return m[slot/64]>>(slot%64)&1 == 1 }

func (m mask) with(slot int32) mask {
	m[slot/64] |= 1 << (slot % 64)
	return m
}

func (m mask) without(slot int32) mask {
	m[slot/64] &^= 1 << (slot % 64)
	return m
}

// minus are the slots of m that are not in o.
func (m mask) minus(o mask) mask {
	for w := range m {
		m[w] &^= o[w]
	}
	return m
}

// next is the lowest slot from the given one on; false if there is none.
func (m *mask) next(from int32) (slot int32, found bool) {
	for w := from / 64; w < int32(len(m)); w++ {
		word := m[w]
		if w == from/64 {
			word &= ^uint64(0) << (from % 64)
		}
		if word != 0 {
			return 64*w + int32(bits.TrailingZeros64(word)), true
		}
	}
	return 0, false
}
