package corpus_test

import (
	"fmt"
	"testing"

	"github.com/leasehold-checker/leasehold/histories/corpus"
)

func TestEveryHistorySaysWhatItExpects(t *testing.T) {
	all, err := corpus.All()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 95 {
		t.Errorf("%d histories, want 95", len(all))
	}
	for _, e := range all {
		if len(e.History.Header.Expect) == 0 {
			t.Errorf("%s expects nothing", e.Name)
		}
		if len(e.History.Ops) == 0 {
			t.Errorf("%s is empty", e.Name)
		}
	}
}

func ExampleAll() {
	all, err := corpus.All()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range all {
		if e.Name == "t06-check-outside-transaction" {
			fmt.Println(len(e.History.Ops) > 0, e.History.Header.Expect["stale-write"])
		}
	}
	// Output: true invalid
}
