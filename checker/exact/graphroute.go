package exact

import "slices"

// route finds a path from a to b (a cycle through a, if they are equal) inside the
// nodes that in allows, with as few operations (nodes below ops) as there can be:
// breadth first, where added nodes count nothing. It returns the operations on it in
// the order of the path, a and b among them if they are operations (a once if they
// are equal); nil if there is none.
func (g *graph) route(a, b, ops int32, in func(int32) bool) []int32 {
	g.close()
	const unseen = -1
	back := make([]int32, g.nodes)
	for v := range back {
		back[v] = unseen
	}
	layer, next := []int32{a}, []int32(nil)
	for len(layer) > 0 {
		for i := 0; i < len(layer); i++ {
			v := layer[i]
			for k := range g.layers {
				at, end := g.layers[k].row(v)
				for _, w := range g.layers[k].adj[at:end] {
					if back[w] != unseen || !in(w) {
						continue
					}
					back[w] = v
					switch {
					case w == b:
						return path(back, a, b, ops)
					case w < ops:
						next = append(next, w)
					default:
						layer = append(layer, w)
					}
				}
			}
		}
		layer, next = next, layer[:0]
	}
	return nil
}

func path(back []int32, a, b, ops int32) []int32 {
	found := []int32{}
	for v := b; ; {
		if v < ops {
			found = append(found, v)
		}
		if v = back[v]; v == a {
			break
		}
	}
	if a < ops && a != b {
		found = append(found, a)
	}
	slices.Reverse(found)
	return found
}
