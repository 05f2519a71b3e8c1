package histories

// opList grows without copying what is in it, which is large: doubled step by step, a
// slice of operations takes three times their size for a while. What was reserved
// comes first, then blocks.
type opList struct {
	first  []Operation
	blocks [][]Operation
	len    int
}

const opBlock = 4096 // operations

// reserve makes room for so many, once, before anything is added.
func (l *opList) reserve(n int) { l.first = make([]Operation, 0, n) }

func (l *opList) at(i int) *Operation {
	if i < len(l.first) {
		return &l.first[i]
	}
	i -= len(l.first)
	return &l.blocks[i/opBlock][i%opBlock]
}

// add gives the place of one more operation, which is empty.
func (l *opList) add() *Operation {
	l.len++
	if len(l.first) < cap(l.first) {
		l.first = l.first[:len(l.first)+1]
		return &l.first[len(l.first)-1]
	}
	last := len(l.blocks) - 1
	if last < 0 || len(l.blocks[last]) == opBlock {
		l.blocks = append(l.blocks, make([]Operation, 0, opBlock))
		last++
	}
	b := &l.blocks[last]
	*b = (*b)[:len(*b)+1]
	return &(*b)[len(*b)-1]
}

// join puts all in one slice, and leaves the list empty.
func (l *opList) join() []Operation {
	all := l.first
	if len(l.blocks) > 0 {
		all = append(make([]Operation, 0, l.len), l.first...)
		for i, b := range l.blocks {
			all = append(all, b...)
			l.blocks[i] = nil
		}
	}
	*l = opList{}
	return all
}
