package witness

import (
	"context"
	"slices"

	"github.com/leasehold-checker/leasehold/checker/model"
)

// Limits of Shrink, in work that does not depend on the machine.
const (
	maxTries = 400
	maxWork  = 3_000_000 // operations handed to the judge in all
)

// shrinker leaves out operations while the judge still says that the rest is
// illegal.
type shrinker struct {
	ctx     context.Context
	r       *model.Resource
	illegal func(*model.Resource) bool
	bases   map[int]int
	needs   map[int][]int // by read: the writes that it may have seen
	tries   int
	work    int
}

// Shrink finds a small part of some of a resource's operations (places in
// History.Ops, ascending) that is illegal by itself; they have to be. Leaving out operations keeps a legal order
// legal, with two things to look after: a read brings the writes that it may have
// seen, and no write may get another base than it had. All grants stay. What is found when the
// context ends is illegal, too, and only larger.
func Shrink(ctx context.Context, r *model.Resource, from []int, illegal func(*model.Resource) bool) []int {
	s := &shrinker{ctx: ctx, r: r, illegal: illegal, bases: r.Bases(), needs: explained(r, from)}
	keep := s.prefix(from)
	for size := max(1, (len(keep)+1)/2); ; {
		before := len(keep)
		keep = s.pass(keep, size)
		if size == 1 && len(keep) == before || s.spent() {
			return keep
		}
		size = max(1, size/2)
	}
}

// pass tries to leave out blocks of a size, from the end.
func (s *shrinker) pass(keep []int, size int) []int {
	for at := len(keep); at > 0 && !s.spent(); {
		from := max(0, at-size)
		if rest, ok := s.try(append(keep[:from:from], keep[at:]...)); ok {
			keep = rest
		}
		at = min(from, len(keep))
	}
	return keep
}

// prefix is the shortest beginning that is illegal.
func (s *shrinker) prefix(ops []int) []int {
	best := ops
	low, high := 0, len(ops) // the first low operations are legal, the first high are not
	for high-low > 1 {
		middle := (low + high) / 2
		if rest, ok := s.try(ops[:middle]); ok {
			best, high = rest, middle
		} else {
			low = middle
		}
	}
	return best
}

func (s *shrinker) spent() bool {
	return s.tries > maxTries || s.work > maxWork || s.ctx.Err() != nil
}

func (s *shrinker) try(ops []int) ([]int, bool) {
	rest := s.close(ops)
	s.tries++
	s.work += len(rest)
	if len(rest) == 0 || s.spent() {
		return nil, false
	}
	part := s.r.Only(rest)
	for w, b := range part.Bases() {
		if s.bases[w] != b {
			return nil, false
		}
	}
	return rest, s.illegal(part)
}

// explained lists, for every read, the writes that it may have seen.
func explained(r *model.Resource, from []int) map[int][]int {
	explainers, needs := r.Explainers(), map[int][]int{}
	for _, i := range from {
		if writes := explainers.At(i); len(writes) > 0 {
			needs[i] = writes
		}
	}
	return needs
}

// close drops the reads that have lost a write which they may have seen.
func (s *shrinker) close(ops []int) []int {
	in := make(map[int]bool, len(ops))
	for _, i := range ops {
		in[i] = true
	}
	var rest []int
	for _, i := range ops {
		if !slices.ContainsFunc(s.needs[i], func(w int) bool { return !in[w] }) {
			rest = append(rest, i)
		}
	}
	return rest
}
