//go:build linux

package driver

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/leasehold-checker/leasehold/workload/child"
	"github.com/leasehold-checker/leasehold/workload/lock"
)

func TestMain(m *testing.M) {
	if child.Role() == Role {
		if err := child.Serve(Keep); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// say answers describe and init as a good driver does, and then does what the test wants.
const say = `read x; echo '{"id":1,"ok":true,"protocol":1,"driver":"t/1"}'; read x; echo '{"id":2,"ok":true}'; read x; `

func connect(t *testing.T, script string) (lock.Lock, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "driver.sh")
	if err := os.WriteFile(file, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	l, err := Connect("exec bash "+file, "w1")(t.Context(), lock.Options{Prefix: "p/"})
	if err == nil {
		t.Cleanup(func() { l.Close() })
	}
	return l, err
}

// TestBadDrivers: whatever a driver does wrong, its author gets a sentence that shows the
// line, and nothing of it is left running.
func TestBadDrivers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ script, want string }{
		"noise":              {say + `echo hello world; sleep 60`, `the line "hello world": it is no JSON object`},
		"half JSON":          {say + `echo '{"id":3,"ok":tr'; sleep 60`, "it can't be read"},
		"an unknown key":     {say + `echo '{"id":3,"ok":true,"tokn":"1"}'; sleep 60`, `unknown field "tokn"`},
		"no ok":              {say + `echo '{"id":3}'; sleep 60`, `does not say "ok"`},
		"no err":             {say + `echo '{"id":3,"ok":false}'; sleep 60`, `does not say why in "err"`},
		"neither":            {say + `echo '{}'; sleep 60`, "neither an id nor an event"},
		"two in a line":      {say + `echo '{"id":3,"ok":true} {"id":3,"ok":true}'; sleep 60`, "more than one JSON object"},
		"a wrong id":         {say + `echo '{"id":77,"ok":true}'; sleep 60`, `"{\"id\":77,\"ok\":true}" answers a request that was never made: the last one was 3`},
		"an answer twice":    {say + `echo '{"id":2,"ok":true}'; sleep 60`, "answers request 2, which has its answer already"},
		"dies at once":       {`exit 1`, "the driver has ended"},
		"dies in the middle": {say + `exit 3`, "the driver has ended"},
		"no such program":    {`exec /does/not/exist`, "the driver has ended"},
		"a long line":        {say + `head -c 200000 /dev/zero | tr '\0' x; sleep 60`, "a line of more than 65536 bytes, which begins with"},
		"a flood of lines":   {say + `while :; do echo '{"event":"lost","key":"p/L"}'; done`, "more than 1000 events without an answer"},
		"an odd event":       {say + `echo '{"event":"bored"}'; sleep 60`, `there is no event "bored"`},
		"an odd token":       {say + `echo '{"id":3,"ok":true,"token":"0x1f"}'; sleep 60`, `the token "0x1f" is no decimal number`},
		"another protocol":   {`read x; echo '{"id":1,"ok":true,"protocol":2,"driver":"t/1"}'; sleep 60`, `says "protocol": 2`},
		"no name":            {`read x; echo '{"id":1,"ok":true,"protocol":1}'; sleep 60`, "does not name the driver"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mark := fmt.Sprintf("leasehold-driver-test-%d-%s", os.Getpid(), strings.ReplaceAll(name, " ", "-"))
			l, err := connect(t, "export MARK="+mark+"\n"+c.script)
			if err == nil {
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				_, err = l.Acquire(ctx, "L", time.Second)
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if l != nil {
				if f := l.(lock.Companion).Failed(); f == nil {
					t.Error("the worker is not told that its driver is of no more use")
				}
				if err := l.Close(); err != nil {
					t.Logf("close: %v", err)
				}
			}
			awaitNone(t, mark)
		})
	}
}

// awaitNone waits until no process has the mark in its environment.
func awaitNone(t *testing.T, mark string) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		files, _ := filepath.Glob("/proc/[0-9]*/environ")
		left := ""
		for _, file := range files {
			if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), mark) {
				left = file
			}
		}
		if left == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is still there", left)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// TestStubbornDriver ignores the end of its input and SIGTERM, and has a child: all of it
// goes.
func TestStubbornDriver(t *testing.T) {
	t.Parallel()
	mark := fmt.Sprintf("leasehold-driver-test-%d-stubborn", os.Getpid())
	l, err := connect(t, "export MARK="+mark+"\ntrap '' TERM\nsleep 1000 &\n"+say+`while :; do sleep 1; done`)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	awaitNone(t, mark)
}

// TestHaltStopsTheWholeGroup: a child of the driver as well, and it goes on after it.
func TestHaltStopsTheWholeGroup(t *testing.T) {
	t.Parallel()
	count := filepath.Join(t.TempDir(), "count")
	l, err := connect(t, fmt.Sprintf(`(while :; do echo x >> %s; sleep 0.01; done) &
%s sleep 1000`, count, say))
	if err != nil {
		t.Fatal(err)
	}
	size := func() int64 {
		info, err := os.Stat(count)
		if err != nil {
			return 0
		}
		return info.Size()
	}
	grows := func(from int64) {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); size() <= from; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("the child does nothing")
			}
		}
	}
	grows(0)
	for range 20 {
		c := l.(lock.Companion)
		if err := c.Halt(t.Context()); err != nil {
			t.Fatal(err)
		}
		before := size()
		time.Sleep(30 * time.Millisecond) // three of the child's turns
		if after := size(); after != before {
			t.Fatalf("it wrote %d bytes while it was stopped", after-before)
		}
		if err := c.Resume(); err != nil {
			t.Fatal(err)
		}
		grows(before)
	}
}

// TestExamplesSpeakTheProtocol: flock needs nothing but bash, so it is always tested.
func TestExamplesSpeakTheProtocol(t *testing.T) {
	t.Parallel()
	findings, err := Check(t.Context(), child.NewStarter(), "./examples/flock.sh", []string{t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		if f.Problem != "" {
			t.Errorf("%s: %s", f.Rule, f.Problem)
		}
	}
	if len(findings) < 10 {
		t.Errorf("only %d rules were tried", len(findings))
	}
}

// TestCheckFindsMistakes: a driver with a mistake is told which rule it breaks, and what
// to change.
func TestCheckFindsMistakes(t *testing.T) {
	t.Parallel()
	good, err := os.ReadFile("examples/flock.sh")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ old, new, want string }{
		"excludes nobody":   {`if flock -w "$(awk "BEGIN{print $(field wait_ms) / 1000}")" "$fd"; then`, "if true; then", "the lock excludes nobody"},
		"never released":    {`exec {fd}>&-` + "\n        unset", `unset`, "the lock is free"},
		"release is fine":   {`answer '"ok":false,"err":"lost","definite":true'`, `answer '"ok":true'`, "there was nothing to release"},
		"held is not said":  {`answer '"ok":true,"held":true'`, `answer '"ok":true'`, `does not say "held"`},
		"tokens not given":  {`"store":"none"`, `"store":"none","tokens":true`, "the answer has none"},
		"sings":             {`answer '"ok":false,"err":"not-supported","definite":true'`, `answer '"ok":true'`, "does not exist"},
		"indefinite refuse": {`"err":"held","definite":true`, `"err":"busy"`, `say "held" and true`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := strings.Replace(string(good), c.old, c.new, 1)
			if script == string(good) {
				t.Fatal("the example has changed: the mistake can't be made")
			}
			file := filepath.Join(t.TempDir(), "driver.sh")
			if err := os.WriteFile(file, []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
			findings, err := Check(t.Context(), child.NewStarter(), "exec bash "+file, []string{t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			var problems []string
			for _, f := range findings {
				problems = append(problems, f.Problem)
			}
			if !strings.Contains(strings.Join(problems, "\n"), c.want) {
				t.Errorf("problems %q, want %q", problems, c.want)
			}
		})
	}
}

// TestLinesFitTheSchema: the lines of a good dialogue do, those of bad ones do not.
func TestLinesFitTheSchema(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("protocol.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	schema, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]bool{
		`{"id":1,"ok":true,"protocol":1,"driver":"a/1","tokens":true}`: true,
		`{"id":2,"ok":false,"err":"held","definite":true}`:             true,
		`{"event":"lost","key":"k","mono_ns":5}`:                       true,
		`{"id":2,"ok":true,"token":5}`:                                 false,
		`{"id":2,"ok":true,"tokn":"5"}`:                                false,
		`{"id":2,"ok":false}`:                                          false,
		`{"event":"bored","key":"k"}`:                                  false,
		`{}`:                                                           false,
	}
	for _, r := range []Request{
		{ID: 1, Op: OpDescribe, Protocol: Version}, {ID: 2, Op: OpInit, Worker: "w", Endpoints: []string{"h:1"}, Prefix: "p/"},
		{ID: 3, Op: OpAcquire, Key: "p/L", TTLMS: 2000, WaitMS: 500}, {ID: 4, Op: OpRelease, Key: "p/L"}, {ID: 5, Op: OpShutdown},
	} {
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		lines[string(text)] = true
	}
	for line, want := range lines {
		var v any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); (err == nil) != want {
			t.Errorf("%s: %v", line, err)
		}
	}
}
