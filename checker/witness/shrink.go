package witness

import (
	"context"

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
	sources *model.Sources
	tries   int
	work    int
}

// Shrink finds a small part of a resource's operations that is illegal by itself;
// the resource as a whole has to be. Leaving out operations keeps a legal order
// legal, with two things to look after: a read brings the writes of its value, and
// no write may get another base than it had. All grants stay. What is found when the
// context ends is illegal, too, and only larger.
func Shrink(ctx context.Context, r *model.Resource, illegal func(*model.Resource) bool) []int {
	s := &shrinker{ctx: ctx, r: r, illegal: illegal, bases: r.Bases(), sources: r.Sources()}
	keep := s.prefix(r.Ops)
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

// close drops the reads whose value has lost a writer.
func (s *shrinker) close(ops []int) []int {
	in := make(map[int]bool, len(ops))
	for _, i := range ops {
		in[i] = true
	}
	whole := map[int32]bool{} // by value: all its writes are in
	var rest []int
	for _, i := range ops {
		v, read := s.sources.Value(i)
		if _, known := whole[v]; read && !known {
			whole[v] = true
			for _, w := range s.sources.Writes(v) {
				whole[v] = whole[v] && in[w]
			}
		}
		if !read || whole[v] {
			rest = append(rest, i)
		}
	}
	return rest
}
