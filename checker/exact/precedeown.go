package exact

import (
	"math"

	"github.com/leasehold-checker/leasehold/checker/model"
)

// addNumbers adds the order of the resource's own numbers. Operations of one number
// follow its write, and are not ordered among themselves.
func (s *Solver) addNumbers(g *graph, zone zoning) {
	if s.numbers == 0 {
		return
	}
	list := s.numbered(zone)
	next := make([]int32, len(list)) // the first place in the list that place k comes before
	for k := len(list) - 1; k >= 0; k-- {
		next[k] = int32(k) + 1
		if k+1 < len(list) && !model.Precedes(&s.ops[list[k]], &s.ops[list[k+1]]) {
			next[k] = next[k+1]
		}
	}
	seen, last := make([]bool, g.nodes), make([]int32, g.nodes) // by node: has it a place, and the last one
	targets := make([]int32, len(list))
	var sources, enter []int32
	for k, i := range list {
		v := zone[i]
		if !seen[v] {
			seen[v] = true
			sources, enter = append(sources, v), append(enter, next[k])
		} else {
			targets[last[v]] = -1
		}
		targets[k], last[v] = v, int32(k)
	}
	g.chain(targets, sources, enter)
}

// numbered lists the numbered operations by number, the write of a number first.
func (s *Solver) numbered(zone zoning) []int32 {
	var list []int32
	var keys []uint64
	for _, writes := range []bool{true, false} {
		for i := range s.n {
			if s.is(i, isNumbered) && zone[i] >= 0 && s.is(i, isWrite) == writes {
				list, keys = append(list, i), append(keys, ascending(s.ops[i].Seq))
			}
		}
	}
	sortByKey(list, keys)
	return list
}

// run is what addWorkers knows of a worker: its present run of operations, each of
// which was invoked when not all earlier ones of the run were over.
type run struct {
	until   int64    // the latest answer in the run
	waiting int32    // its last operation that others have to come after, not yet in a chain; -1: none
	chain   [2]int32 // the last link for sources without and with a number; -1: none
}

// addWorkers adds the order in which each worker did its operations, where real
// time does not say it: answer and next invocation at one instant. As in real time,
// numbered operations lead to unnumbered ones only.
func (s *Solver) addWorkers(g *graph, zone zoning) {
	var workers []run
	for i := range s.n {
		for int(s.worker[i]) >= len(workers) {
			workers = append(workers, run{until: math.MinInt64, waiting: -1, chain: [2]int32{-1, -1}})
		}
		if zone[i] < 0 {
			continue
		}
		w := &workers[s.worker[i]]
		if s.invoke[i] > w.until {
			w.waiting, w.chain = -1, [2]int32{-1, -1}
		}
		if w.waiting >= 0 {
			s.extend(g, zone, w)
		}
		if w.chain[0] >= 0 {
			g.edge(w.chain[0], zone[i])
		}
		if w.chain[1] >= 0 && !s.is(i, isNumbered) {
			g.edge(w.chain[1], zone[i])
		}
		if s.is(i, isAcked) {
			w.until, w.waiting = max(w.until, s.answer[i]), i
		}
	}
}

// extend puts the worker's last operation into its chain.
func (s *Solver) extend(g *graph, zone zoning, w *run) {
	side := 0
	if s.is(w.waiting, isNumbered) {
		side = 1
	}
	link := g.node()
	if w.chain[side] >= 0 {
		g.edge(w.chain[side], link)
	}
	g.edge(zone[w.waiting], link)
	w.waiting, w.chain[side] = -1, link
}
