package edn

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/leasehold-checker/leasehold/histories"
)

// Encode writes a valid history as a history.edn, one operation a line, and tells
// what stayed behind: Jepsen's locks and registers know no ttl, renewal, check or
// refusal by a fence, no names of grants, and nothing of what the store did.
//
//   - A worker becomes a process: the number that is its name, if all workers have
//     one. After an info it goes on as another process, as Jepsen demands.
//   - :acquire and :release have the value [lock nil]; an acknowledged :acquire
//     brings its token. :read and :write have [resource value]. The names L of a
//     single lock and R of a single resource are left out.
//   - The nemesis says :info twice.
//
// A value that would be read back as another one is an error.
func Encode(w io.Writer, h *histories.History) (leftOut []string, err error) {
	if err := histories.Validate(h); err != nil {
		return nil, fmt.Errorf("encode history: %w", err)
	}
	e := encoder{h: h, lost: map[string]int{}}
	e.survey()
	if f := h.Header.Fence; f != "" && f != histories.FenceOff {
		e.lose("fence: " + string(f))
	}
	lines, err := e.lines()
	if err != nil {
		return nil, fmt.Errorf("encode history: %w", err)
	}
	out := bufio.NewWriter(w) // keeps its first error for Flush
	for i, l := range lines {
		fmt.Fprintf(out, "{:index %d, :type :%s, :process %s, :f %s, :value %s, :time %d%s}\n", i, l.kind, l.process, l.f, l.value, l.time, l.err)
	}
	if err := out.Flush(); err != nil {
		return nil, fmt.Errorf("write history: %w", err)
	}
	return e.leftOut(), nil
}

type encoder struct {
	h *histories.History
	// A key is written unless there is one only, which has the name that it is given
	// on reading. A pair as a value needs one, or would be taken for key and value.
	keyedLocks, keyedResources bool

	processes map[string]int64 // worker -> present process
	step      int64            // from one process of a worker to its next
	lost      map[string]int   // what stayed behind -> how often
}

// line is an event to be written.
type line struct {
	time                   int64
	kind                   histories.Type
	process, f, value, err string
	rank                   int // at equal times; the answer to something older comes first
}

// survey finds what there is to be named.
func (e *encoder) survey() {
	e.processes = map[string]int64{}
	var workers []string
	numbers := true
	for i := range e.h.Ops {
		o := &e.h.Ops[i]
		if !o.ByWorker() {
			continue
		}
		if _, known := e.processes[o.Process]; !known {
			n, err := strconv.ParseInt(o.Process, 10, 32)
			numbers = numbers && err == nil && n >= 0 && strconv.FormatInt(n, 10) == o.Process
			e.processes[o.Process] = n
			workers = append(workers, o.Process)
		}
		switch {
		case o.F == histories.Acquire || o.F == histories.Release:
			e.keyedLocks = e.keyedLocks || o.Lock != onlyLock
		case o.F.OnResource():
			e.keyedResources = e.keyedResources || o.Resource != onlyRegister || o.Value.Known() && o.Value.Or("") != "" && o.Value.Or("")[0] == '['
		}
	}
	for i, w := range workers {
		if !numbers {
			e.processes[w] = int64(i)
		}
		e.step = max(e.step, e.processes[w]+1)
	}
}

func (e *encoder) lines() ([]line, error) {
	var lines []line
	infoAt := map[string]int64{} // worker -> when it was last retired
	for i := range e.h.Ops {
		o := &e.h.Ops[i]
		at, retired := infoAt[o.Process]
		if retired && o.F == histories.Release && o.Type == histories.Info && o.Instant() && o.Invoke == at {
			continue // what retiring a process means in Jepsen
		}
		say := e.call
		if o.Process == histories.Nemesis {
			say = e.fault
		} else if !e.carries(o) {
			continue
		}
		pair, err := say(o)
		if err != nil {
			return nil, fmt.Errorf("op %d of process %s: %w", o.ID, o.Process, err)
		}
		lines = append(lines, pair...)
		if o.ByWorker() && o.Type == histories.Info && o.Return != histories.Never {
			infoAt[o.Process] = o.Return
			e.processes[o.Process] += e.step
		}
	}
	slices.SortStableFunc(lines, byTime)
	return lines, nil
}

func byTime(a, b line) int {
	return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.rank, b.rank))
}

// carries tells whether Jepsen has a word for the operation.
func (e *encoder) carries(o *histories.Operation) bool {
	switch o.F {
	case histories.Acquire, histories.Release, histories.Read, histories.Write:
	default:
		e.lose("operations of the kind " + string(o.F))
		return false
	}
	for _, key := range unsaid {
		if key.there(o) {
			e.lose(key.what)
		}
	}
	return true
}

// unsaid is what an operation can have and Jepsen has no word for.
var unsaid = []struct {
	what  string
	there func(*histories.Operation) bool
}{
	{"counts of holds", func(o *histories.Operation) bool { return o.HoldsLeft.Known() }},
	{"modes of locks", func(o *histories.Operation) bool { return o.Mode != "" }},
	{"names of grants", func(o *histories.Operation) bool { return o.Grant != "" || o.Under != "" }},
	{"numbers of the resource", func(o *histories.Operation) bool { return o.Seq.Known() }},
	{"sessions", func(o *histories.Operation) bool { return o.Session != "" }},
	{"tokens sent", func(o *histories.Operation) bool { return o.F != histories.Acquire && o.Token.Known() }},
	{"ttls", func(o *histories.Operation) bool { return o.TTL != 0 || o.TTLAsked != 0 }},
}

func (e *encoder) lose(what string) { e.lost[what]++ }

func (e *encoder) leftOut() []string {
	var said []string
	for what, n := range e.lost {
		said = append(said, fmt.Sprintf("%s: %d", what, n))
	}
	slices.Sort(said)
	return said
}

// call makes the two lines of a worker's operation.
func (e *encoder) call(o *histories.Operation) ([]line, error) {
	asked, got, err := e.values(o)
	if err != nil {
		return nil, err
	}
	l := line{time: o.Invoke, kind: histories.Invoke, process: strconv.FormatInt(e.processes[o.Process], 10), f: ":" + string(o.F), value: asked}
	lines := []line{l}
	if o.Return == histories.Never {
		return lines, nil
	}
	l.time, l.kind, l.value, l.rank = o.Return, o.Type, got, rank(o)
	if o.Error != "" {
		l.err = ", :error " + quote(o.Error)
	}
	return append(lines, l), nil
}

// values are those of an invocation and of its answer.
func (e *encoder) values(o *histories.Operation) (asked, got string, err error) {
	asked = "nil"
	if v, known := o.Value.Get(); known && o.F == histories.Write {
		if asked, err = say(v); err != nil {
			return "", "", err
		}
	}
	got = asked
	switch {
	case o.F == histories.Acquire && o.Token.Known():
		got = strconv.FormatInt(o.Token.Or(0), 10)
	case o.F == histories.Read && o.Type == histories.OK:
		if got, err = say(o.Value.Or("")); err != nil {
			return "", "", err
		}
	}
	key, keyed := o.Lock, e.keyedLocks
	if o.F.OnResource() {
		key, keyed = o.Resource, e.keyedResources
	}
	if !keyed {
		return asked, got, nil
	}
	name, err := say(key)
	return "[" + name + " " + asked + "]", "[" + name + " " + got + "]", err
}

// say writes a value or a name so that it is read back as the same.
func say(v string) (string, error) {
	switch {
	case v == "":
		return "nil", nil
	case isForm(v):
		return v, nil
	case v[0] == '\'' && symbol(v[1:]):
		return v[1:], nil
	case plain(v):
		return quote(v), nil
	}
	return "", fmt.Errorf("EDN cannot say the value %.40q so that it is read back", v)
}

// symbol: text says a symbol with a mark before it.
func symbol(s string) bool {
	v, err := parse(s)
	return err == nil && text(v) == "'"+s
}

// isForm tells whether a text is what the value that it denotes is read as.
func isForm(s string) bool {
	v, err := parse(s)
	return err == nil && text(v) == s
}

// rank of an answer. An invocation has 0, and so has the answer to an instant, which
// follows it.
func rank(o *histories.Operation) int {
	if o.Instant() {
		return 0
	}
	return -1
}

// fault makes the two lines of an operation of the nemesis.
func (e *encoder) fault(o *histories.Operation) ([]line, error) {
	value := "nil"
	if said := strings.TrimSpace(o.Target + " " + o.Text); isForm(said) {
		value = said
	} else if said != "" {
		value = quote(said)
	}
	if !isForm(":" + string(o.F)) {
		return nil, fmt.Errorf("EDN cannot say the function %.40q", o.F)
	}
	l := line{time: o.Invoke, kind: histories.Info, process: ":nemesis", f: ":" + string(o.F), value: value}
	if o.Return == histories.Never {
		return []line{l}, nil
	}
	answer := l
	answer.time, answer.rank = o.Return, rank(o)
	if o.Error != "" {
		answer.err = ", :error " + quote(o.Error)
	}
	return []line{l, answer}, nil
}
