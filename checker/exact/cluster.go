package exact

// Where the value that a read returned came from, if not from one write.
const (
	fromNowhere int32 = -1 - iota // it returned none, or is no read
	fromInitial                   // it was there at the start
	fromNobody                    // nobody wrote it, and it was not there at the start
	fromSeveral                   // two writes, or a write and the start: which one is not known
)

// origins names the write behind each read. A write and the reads of its value are
// a cluster: in every order that explains the values, no other write lies between
// them.
type origins struct {
	of      []int32 // by operation: of a read, the write of its value, or from...
	orphan  int32   // the first read of a value from nobody; -1 if there is none
	several int32   // the first read of a value that several wrote; -1 if there is none

	start   []int32 // the reads of write w's value are list[start[w]:start[w+1]]
	list    []int32
	initial []int32 // reads of the initial value
}

// readers lists the reads of the value that write w wrote, if they can come from
// no other write; ascending.
func (o *origins) readers(w int32) []int32 { return o.list[o.start[w]:o.start[w+1]] }

// traceValues finds the origin of every value that was read.
func (s *Solver) traceValues() {
	o := &origins{of: make([]int32, s.n), orphan: -1, several: -1, start: make([]int32, s.n+1)}
	writer := make([]int32, s.r.NumberOfValues()) // by value: its write, or from...
	for v := range writer {
		writer[v] = fromNobody
	}
	writer[s.r.InitialValue()] = fromInitial
	for i, v := range s.value {
		switch {
		case v < 0 || !s.is(int32(i), isWrite):
		case writer[v] == fromNobody:
			writer[v] = int32(i)
		default:
			writer[v] = fromSeveral
		}
	}
	for i, v := range s.value {
		o.of[i] = fromNowhere
		if v >= 0 && s.is(int32(i), isRead) {
			o.add(int32(i), writer[v])
		}
	}
	o.listReaders()
	s.origin = o
}

func (o *origins) add(read, from int32) {
	o.of[read] = from
	switch {
	case from >= 0:
		o.start[from+1]++
	case from == fromInitial:
		o.initial = append(o.initial, read)
	case from == fromNobody && o.orphan < 0:
		o.orphan = read
	case from == fromSeveral && o.several < 0:
		o.several = read
	}
}

func (o *origins) listReaders() {
	for w := 1; w < len(o.start); w++ {
		o.start[w] += o.start[w-1]
	}
	o.list = make([]int32, o.start[len(o.start)-1])
	next := make([]int32, len(o.of))
	copy(next, o.start)
	for i, w := range o.of {
		if w >= 0 {
			o.list[next[w]] = int32(i)
			next[w]++
		}
	}
}

// addValues puts each write before the reads of its value, and the reads of the
// initial value before every write, for operations that are in and have a node of
// their own; begun is a node for the initial value.
func (s *Solver) addValues(g *graph, in []bool, begun int32) {
	for i, from := range s.origin.of {
		switch me := int32(i); {
		case !in[i]:
		case from >= 0 && in[from]:
			g.edge(from, me)
		case from == fromInitial:
			g.edge(me, begun)
		case s.is(me, isWrite):
			g.edge(begun, me)
		}
	}
}

// addClusters makes each cluster one component, by an edge from every read back to
// its write: the same as contracting it. The initial value needs none: whatever is
// to lie between its reads has to come before all writes already.
func (s *Solver) addClusters(g *graph, in []bool) {
	for i, from := range s.origin.of {
		if from >= 0 && in[i] && in[from] {
			g.edge(int32(i), from)
		}
	}
}
