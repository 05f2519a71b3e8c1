package exact

import (
	"cmp"
	"slices"
)

// sortByKey sorts items by their keys, and leaves items of equal keys as they are.
// Long lists are sorted digit by digit, which takes a few passes where a comparison
// sort of a million takes twenty.
func sortByKey(items []int32, keys []uint64) {
	const short = 512
	type keyed struct {
		key  uint64
		item int32
	}
	list := make([]keyed, len(items))
	sorted, differ := true, uint64(0)
	for k, item := range items {
		list[k] = keyed{keys[k], item}
		sorted = sorted && (k == 0 || keys[k-1] <= keys[k])
		differ |= keys[k] ^ keys[0]
	}
	switch {
	case sorted:
		return
	case len(list) < short:
		slices.SortStableFunc(list, func(a, b keyed) int { return cmp.Compare(a.key, b.key) })
	default:
		next := make([]keyed, len(list))
		for shift := 0; shift < 64 && differ>>shift != 0; shift += digitBits {
			if differ>>shift%digits == 0 {
				continue
			}
			var at [digits]int32
			for _, x := range list {
				at[x.key>>shift%digits]++
			}
			sum := int32(0)
			for d, n := range at {
				at[d], sum = sum, sum+n
			}
			for _, x := range list {
				d := x.key >> shift % digits
				next[at[d]] = x
				at[d]++
			}
			list, next = next, list
		}
	}
	for k, x := range list {
		items[k], keys[k] = x.item, x.key
	}
}

const (
	digitBits = 11
	digits    = 1 << digitBits
)

// ascending maps a signed number to a key with the same order.
func ascending(n int64) uint64 { return uint64(n) ^ 1<<63 }
