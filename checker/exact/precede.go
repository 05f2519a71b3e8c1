package exact

// zoning says which node stands for an operation in a graph: by operation, -1 if it
// is left out. Each may have a node of its own; or the operations of a cluster share
// one, which then comes before whatever one of them comes before. What a relation says
// inside of such a zone leads from its node to added nodes and back to it.
type zoning = []int32

// addBefore adds the order that the history itself gives (see [model.Precedes]): a
// path from zone x to zone y through added nodes alone exists if and only if an
// operation of x precedes one of y.
//
// It takes real time, the resource's own numbers and the workers' own order one by
// one. Where two operations both have a number, nothing else counts; so numbered
// operations are a source of their own in real time, and it leads to unnumbered ones
// only. One chain for all would use real time between numbered operations.
func (s *Solver) addBefore(g *graph, zone zoning) {
	if s.numbers < s.n { // else nothing in real time counts
		t := newTimes(s, zone, g.nodes)
		t.add(g, false)
		if s.numbers > 0 {
			t.add(g, true)
		}
	}
	s.addNumbers(g, zone)
	s.addWorkers(g, zone)
}

// times adds real time: x before y if x was answered before y was invoked. A zone
// comes before everything that was invoked after the earliest answer in it, and
// after everything that was answered before the latest invocation in it. The
// operations, which are sorted by invocation, are the line of places.
type times struct {
	s     *Solver
	zone  zoning
	first []int32 // by node: the source that was answered first, -1: none
	last  []int32 // by node: the target that was invoked last, -1: none
}

func newTimes(s *Solver, zone zoning, nodes int32) *times {
	return &times{s: s, zone: zone, first: make([]int32, nodes), last: make([]int32, nodes)}
}

// add adds the numbered sources, which lead to unnumbered targets, or the unnumbered
// ones, which lead to all.
func (t *times) add(g *graph, numbered bool) {
	for v := range t.first {
		t.first[v], t.last[v] = -1, -1
	}
	targets := make([]int32, t.s.n)
	count := 0
	for i := range t.s.n {
		v, hasNumber := t.zone[i], t.s.is(i, isNumbered)
		targets[i] = -1
		if v < 0 {
			continue
		}
		if t.s.is(i, isAcked) && hasNumber == numbered {
			if f := t.first[v]; f < 0 {
				t.first[v] = i
				count++
			} else if t.s.answer[i] < t.s.answer[f] {
				t.first[v] = i
			}
		}
		if !numbered || !hasNumber {
			if l := t.last[v]; l >= 0 {
				targets[l] = -1
			}
			targets[i], t.last[v] = v, i
		}
	}
	sources, enter := make([]int32, 0, count), make([]int32, 0, count)
	for v, f := range t.first {
		if f >= 0 {
			sources = append(sources, int32(v))
			enter = append(enter, t.after(f))
		}
	}
	if count > 0 {
		g.chain(targets, sources, enter)
	}
}

// after is the first operation that was invoked after i was answered. Mostly it is
// near, so the steps of the search grow from i on.
func (t *times) after(i int32) int32 {
	answer, invoke := t.s.answer[i], t.s.invoke
	lo, step := i+1, int32(1) // everything before lo was invoked by then
	hi := lo
	for hi < t.s.n && invoke[hi] <= answer {
		lo, hi = hi+1, hi+step
		step *= 2
	}
	hi = min(hi, t.s.n)
	for lo < hi {
		if mid := lo + (hi-lo)/2; invoke[mid] <= answer {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}
