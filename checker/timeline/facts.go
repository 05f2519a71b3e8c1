package timeline

import (
	"fmt"
	"maps"
	"slices"

	"github.com/leasehold-checker/leasehold/checker/internal/show"
	"github.com/leasehold-checker/leasehold/histories"
)

// buildFacts says in short pieces which run this is.
func buildFacts(h *histories.History) []string {
	var facts []string
	if h.Header.Cell != "" {
		facts = append(facts, show.Cut(h.Header.Cell, maxText))
	} else if h.Source != "" {
		facts = append(facts, show.Cut(h.Source, maxText))
	}
	fence := h.Header.Fence
	if fence == "" {
		fence = histories.FenceOff
	}
	facts = append(facts, "fence "+show.Cut(string(fence), maxText))
	if seed, ok := h.Header.Seed.Get(); ok {
		facts = append(facts, fmt.Sprintf("seed %d", seed))
	}
	for i, name := range slices.Sorted(maps.Keys(h.Header.Versions)) {
		if i == 12 {
			facts = append(facts, "…")
			break
		}
		facts = append(facts, show.Cut(name, 40)+" "+show.Cut(h.Header.Versions[name], 60))
	}
	return facts
}
