package exact

import "github.com/leasehold-checker/leasehold/checker/model"

// columns are what walks over all operations look at, one list for each thing, by
// operation. An operation itself is wide, and most of the time of a walk over a
// million of them goes into waiting for memory.
type columns struct {
	traits []traits
	value  []int32 // -1: none
	worker []int32
	invoke []int64
	answer []int64
}

// traits of an operation, as bits.
type traits uint8

const (
	isWrite traits = 1 << iota
	isRead
	isAcked
	isNumbered
	isCounted
)

func newColumns(ops []model.Operation) columns {
	n := len(ops)
	c := columns{make([]traits, n), make([]int32, n), make([]int32, n), make([]int64, n), make([]int64, n)}
	for i := range ops {
		o := &ops[i]
		c.value[i], c.worker[i], c.invoke[i], c.answer[i] = o.Value, o.Worker, o.Invoke, o.Answer
		for _, t := range [...]struct {
			has bool
			bit traits
		}{{o.Write, isWrite}, {o.Read, isRead}, {o.Acked, isAcked}, {o.Numbered, isNumbered}, {o.Counted, isCounted}} {
			if t.has {
				c.traits[i] |= t.bit
			}
		}
	}
	return c
}

// is tells whether operation i has a trait.
func (c *columns) is(i int32, t traits) bool { return c.traits[i]&t != 0 }
