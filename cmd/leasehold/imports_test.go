package main

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
)

const module = "github.com/leasehold-checker/leasehold/"

// rules say, for every package below a folder, what it must never reach, directly
// or through others. The first rule is the design: three wings that can each be
// understood alone.
var rules = []struct {
	why    string
	below  string
	except []string // folders below it to which the rule does not apply
	never  []string // prefixes of import paths; "!" before one lifts an earlier one
}{
	{"the judge needs no worker and no nemesis", "checker", nil, []string{module, "!" + module + "checker", "!" + module + "histories"}},
	{"the judge stands on Porcupine and the standard library", "checker", []string{"checker/report"} /* it colours */, []string{"go.etcd.io", "google.golang.org", "github.com/spf13", "github.com/klauspost", "golang.org/x", "olympos.io"}},
	{"the nemesis knows its targets only through interfaces", "nemesis", nil, []string{module, "!" + module + "nemesis", "!" + module + "histories"}},
	{"the worker neither judges nor breaks anything", "workload", []string{"workload/campaign", "workload/catalog", "workload/locktest"}, []string{module + "checker", module + "nemesis"}},
	{"a lock's author builds no server of ours", "workload/locktest", nil, []string{"go.etcd.io", "github.com/nats-io", "github.com/testcontainers", "github.com/moby", "k8s.io", module + "workload/catalog"}},
	{"histories know nobody", "histories", nil, []string{module, "!" + module + "histories"}},
	{"histories need only the standard library", "histories", []string{"histories/monotonic", "histories/edn", "histories/zstd"}, []string{"github.com", "!" + module, "go.etcd.io", "golang.org", "google.golang.org", "olympos.io"}},
	{"only the catalog knows which locks and stores there are", "workload/campaign", nil, []string{"go.etcd.io", module + "workload/catalog", module + "workload/lock/", module + "workload/store/"}},
	{"containers are one package's matter", "workload", []string{"workload/catalog", "workload/store/container"}, []string{"github.com/testcontainers", "github.com/moby"}},
	{"a server is linked in only where it is run", "workload/lock", nil, []string{"go.etcd.io/etcd/server"}},
	{"model <- exact <- witness <- checker", "checker/model", nil, []string{module + "checker/exact", module + "checker/witness", module + "checker/report", module + "checker/timeline"}},
	{"model <- exact <- witness <- checker", "checker/exact", nil, []string{module + "checker/witness", module + "checker/report", module + "checker/timeline"}},
	{"model <- exact <- witness <- checker", "checker/witness", nil, []string{module + "checker/report", module + "checker/timeline"}},
}

func TestImports(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-json=ImportPath,Deps", "../../...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	checked := make([]int, len(rules))
	for decoder := json.NewDecoder(strings.NewReader(string(out))); decoder.More(); {
		var p struct {
			ImportPath string
			Deps       []string
		}
		if err := decoder.Decode(&p); err != nil {
			t.Fatal(err)
		}
		for i, r := range rules {
			if !under(p.ImportPath, r.below) || anyUnder(p.ImportPath, r.except) {
				continue
			}
			checked[i]++
			for _, dep := range p.Deps {
				if forbidden(dep, r.never) {
					t.Errorf("%s reaches %s: %s", p.ImportPath, dep, r.why)
				}
			}
		}
	}
	for i, n := range checked {
		if n == 0 {
			t.Errorf("the rule for %s was applied to no package", rules[i].below)
		}
	}
}

func under(path, folder string) bool {
	return path == module+folder || strings.HasPrefix(path, module+folder+"/")
}

func anyUnder(path string, folders []string) bool {
	for _, f := range folders {
		if under(path, f) {
			return true
		}
	}
	return false
}

// forbidden applies the rules in order; the last one that fits decides.
func forbidden(dep string, never []string) bool {
	bad := false
	for _, rule := range never {
		prefix, lifted := strings.CutPrefix(rule, "!")
		if strings.HasPrefix(dep, prefix) {
			bad = !lifted
		}
	}
	return bad
}
