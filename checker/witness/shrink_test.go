package witness

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

func TestShrink(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		hist string
		want []int // lines, from 1
	}{
		{"Two overlapping writes, and reads that see them in both orders.", `0..9 A write R x -> ok
0..9 B write R y -> ok
10 C read R -> ok value=x
11 C read R -> ok value=y
12 C read R -> ok value=y
13 A write R z -> ok`, []int{1, 2, 3, 4}},
		// Without its second read, A's write would be based on the first one, and B's
		// write would lie between: another fault than the one that was there.
		{"No write gets another base than it had.", `0 A acquire L -> ok token=1
1 A read R -> ok value=v0
2 B write R y -> ok
3 A read R -> ok value=y
4 A write R x -> ok
5 C read R -> ok value=y`, []int{3, 5, 6}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h, err := histories.ParseText(strings.NewReader("guards: L -> R\ninitial: R = v0\n"+test.hist+"\n"), "test")
			if err != nil {
				t.Fatal(err)
			}
			b, err := model.Resolve(h)
			if err != nil {
				t.Fatal(err)
			}
			r := b.Resources()[0]
			got := Shrink(context.Background(), r, r.Ops, func(r *model.Resource) bool {
				return r.Decide(context.Background(), model.Question{Values: true, Bases: true}, model.Limits{}) == model.Illegal
			})
			for i := range got {
				got[i]++
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("lines %v, want %v", got, test.want)
			}
		})
	}
}
