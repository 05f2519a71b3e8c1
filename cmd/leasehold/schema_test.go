//go:build linux

package main

import (
	"encoding/json"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"go.yaml.in/yaml/v3"

	"github.com/leasehold-checker/leasehold/checker"
	"github.com/leasehold-checker/leasehold/checker/report"
	"github.com/leasehold-checker/leasehold/histories/corpus"
)

func resolved(t *testing.T, name string) *jsonschema.Resolved {
	t.Helper()
	s, err := schemaOf(name)
	if err != nil {
		t.Fatal(err)
	}
	// As somebody else would read it.
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var read jsonschema.Schema
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	r, err := read.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// fits turns a value into what a validator gets, and validates it.
func fits(t *testing.T, schema *jsonschema.Resolved, v any) error {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var plain any
	if err := json.Unmarshal(text, &plain); err != nil {
		t.Fatal(err)
	}
	return schema.Validate(plain)
}

// TestResultsFitTheirSchema: every result of the corpus does, and a broken one does not.
func TestResultsFitTheirSchema(t *testing.T) {
	t.Parallel()
	schema := resolved(t, "result")
	entries, err := corpus.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		r, err := checker.Check(t.Context(), e.History, checker.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := fits(t, schema, r); err != nil {
			t.Fatalf("%s: %v", e.Name, err)
		}
		r.Verdict = "perhaps"
		if fits(t, schema, r) == nil {
			t.Fatal("a verdict that there is not fits")
		}
	}
}

// TestSummariesFitTheirSchema: one with all its fields does, one without cells as well.
func TestSummariesFitTheirSchema(t *testing.T) {
	t.Parallel()
	schema := resolved(t, "summary")
	full := report.Summary{
		Version: report.SummaryVersion, Name: "n", Seed: 1, Verdict: checker.Invalid, Versions: map[string]string{"go": "1"},
		Cells: []report.Cell{{Cell: "a/b/c/off/pause", Fence: "off", Verdict: checker.Invalid, Violation: &checker.Witness{Story: []checker.Sentence{{Text: "x"}}, Core: []int{1}, Ops: []int{1}}}},
	}
	if err := fits(t, schema, full); err != nil {
		t.Error(err)
	}
	full.Cells = []report.Cell{}
	if err := fits(t, schema, full); err != nil {
		t.Error(err)
	}
	full.Version = report.SummaryVersion + 1
	if fits(t, schema, full) == nil {
		t.Error("another version fits")
	}
}

// TestCampaignsFitTheirSchema: what config init writes does, what validate refuses
// because of its form does not.
func TestCampaignsFitTheirSchema(t *testing.T) {
	t.Parallel()
	schema := resolved(t, "config")
	for name, c := range map[string]struct {
		text string
		want bool
	}{
		"init":            {exampleCampaign, true},
		"off, bare":       {"version: 1\nfences: [off]\ncells: [{fences: [off, all], floors: {conclusive: 3}}]\n", true},
		"an unknown key":  {"version: 1\nttll: 2s\n", false},
		"a wrong word":    {"version: 1\nguards: [shrug]\n", false},
		"another version": {"version: 2\n", false},
		"no duration":     {"version: 1\nttl: soon\n", false},
	} {
		var v any
		if err := yaml.Unmarshal([]byte(c.text), &v); err != nil {
			t.Fatal(err)
		}
		if err := fits(t, schema, v); (err == nil) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
