package exact

// sorted lists the operations by the component of their zone: by the first key, then
// the second, and so on; those of one component of the last key as the order at hand
// has them. Keys are by node.
func (l *lost) sorted(keys ...[]int32) []int32 {
	var list []int32
	for v, r := range l.role {
		if r != absent {
			list = append(list, int32(v))
		}
	}
	for k := len(keys) - 1; k >= 0; k-- {
		list = sortBy(list, keys[k])
	}
	last := keys[len(keys)-1]
	group := make([]int32, l.n+1) // by zone
	for k, v := range list[1:] {
		before := list[k]
		group[v] = group[before]
		if last[v] != last[before] {
			group[v]++
		}
	}
	key := make([]int32, l.n) // by operation
	for _, i := range l.order {
		key[i] = group[l.zone[i]]
	}
	return sortBy(l.order, key)
}

// sortBy sorts by key, stably: a counting sort. Keys are small numbers from 0, by
// element.
func sortBy(list, key []int32) []int32 {
	most := int32(0)
	for _, x := range list {
		most = max(most, key[x])
	}
	at := make([]int32, most+2)
	for _, x := range list {
		at[key[x]+1]++
	}
	for k := range most {
		at[k+1] += at[k]
	}
	sorted := make([]int32, len(list))
	for _, x := range list {
		sorted[at[key[x]]] = x
		at[key[x]]++
	}
	return sorted
}

// replays checks an order against the rule itself: every read returns the last value
// written, and no other worker's acknowledged write lies between a write and its base.
// It knows nothing of cells. That the order holds everything and is true to the
// history's own order is left to model.Resource.Confirm.
func (l *lost) replays(order []int32) bool {
	at := make([]int32, l.n) // of the bases: place in order + 1
	value := l.r.InitialValue()
	last, other, by := int32(0), int32(0), int32(-1) // places + 1 of the latest acknowledged writes: of worker by, and of anybody else
	for k, i := range order {
		o, place := &l.ops[i], int32(k)+1
		if o.Read {
			if o.Value >= 0 && o.Value != value {
				return false
			}
			at[i] = place
		}
		if !o.Write {
			continue
		}
		if o.Base >= 0 {
			foreign := last
			if by == o.Worker {
				foreign = other
			}
			if at[o.Base] == 0 || foreign > at[o.Base] {
				return false
			}
		}
		value = o.Value
		if !o.Acked {
			continue
		}
		if by != o.Worker {
			other, by = last, o.Worker
		}
		last = place
	}
	return true
}
