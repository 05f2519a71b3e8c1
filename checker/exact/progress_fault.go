package exact

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"strings"
	"unicode"

	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

// troubles is what the nemesis did, as far as it can keep a worker from asking or the
// store from answering: spans of time that do not overlap, in their order.
type troubles struct {
	workers map[string][]span
	store   []span
	deaths  map[string][]death // by worker, in time
}

// death is a worker's certain end.
type death struct {
	at int64
	op int // place in History.Ops; -1: it did not die
}

// fault is one thing that the nemesis did, and until when it may have been in force.
type fault struct {
	span
	cure    histories.F // what undoes it; "": any cure
	words   string      // what it names, sorted
	victims []string    // workers that it names; none: it hit the store
	lasting bool        // in force until it is cured
	cured   bool
}

// findTroubles reads the nemesis's part of a history. A pause, a kill and a partition
// last until they are undone; any other word is over when it was done, unless something
// is said to heal that very thing later. What names workers troubles those alone, and
// all else the store. A cure without a fault ends one that nobody wrote down: it may
// have been in force from the beginning.
func findTroubles(b *model.Book) *troubles {
	t := &troubles{workers: map[string][]span{}, deaths: map[string][]death{}}
	r := &faultReader{h: b.History, open: map[string][]*fault{}}
	for i := range b.History.Ops {
		o := &b.History.Ops[i]
		if o.Process != histories.Nemesis || o.Type == histories.Fail || o.F == histories.Note {
			continue
		}
		r.read(o)
		if o.F == histories.Kill && o.Type == histories.OK {
			t.deaths[o.Target] = append(t.deaths[o.Target], death{o.Return, i})
		}
	}
	for _, f := range r.faults {
		for _, w := range f.victims {
			t.workers[w] = append(t.workers[w], span{f.from, r.over(f, w)})
		}
		if len(f.victims) == 0 {
			t.store = append(t.store, span{f.from, r.over(f, "")})
		}
	}
	for w, list := range t.workers {
		t.workers[w] = union(list)
	}
	for _, list := range t.deaths {
		slices.SortStableFunc(list, func(a, b death) int { return cmp.Compare(a.at, b.at) })
	}
	t.store = union(t.store)
	return t
}

// faultReader reads the nemesis's operations in their order.
type faultReader struct {
	h       *histories.History
	names   map[string]bool     // workers; filled when it is asked for
	invokes map[string][]int64  // by worker: when it invoked something; likewise
	open    map[string][]*fault // by what undoes it and what it names: not undone yet
	faults  []*fault
}

func (r *faultReader) isWorker(name string) bool {
	if r.names == nil {
		r.names = map[string]bool{}
		for i := range r.h.Ops {
			if o := &r.h.Ops[i]; o.ByWorker() {
				r.names[o.Process] = true
			}
		}
	}
	return r.names[name]
}

// revived is when a worker first invoked something after t: it was restarted.
func (r *faultReader) revived(worker string, t int64) int64 {
	if r.invokes == nil {
		r.invokes = map[string][]int64{}
		for i := range r.h.Ops {
			if o := &r.h.Ops[i]; o.ByWorker() {
				r.invokes[o.Process] = append(r.invokes[o.Process], o.Invoke)
			}
		}
	}
	list := r.invokes[worker]
	if k := sort.Search(len(list), func(k int) bool { return list[k] > t }); k < len(list) {
		return list[k]
	}
	return histories.Never
}

// cures says which word undoes which fault.
func cures(f histories.F) (cure histories.F, lasting bool) {
	switch f {
	case histories.Pause:
		return histories.Resume, true
	case histories.Partition:
		return histories.Heal, true
	case histories.Kill:
		return histories.Restart, true
	}
	return "", false
}

func (r *faultReader) read(o *histories.Operation) {
	words := Named(o)
	f := &fault{span: span{o.Invoke, o.Return}, words: strings.Join(words, " ")}
	for _, w := range words {
		if r.isWorker(w) {
			f.victims = append(f.victims, w)
		}
	}
	switch o.F {
	case histories.Resume, histories.Heal, histories.Restart:
		if o.Type == histories.OK {
			r.cure(o, f)
		}
		return
	}
	if o.Return == histories.Never {
		f.to = f.from
	}
	f.cure, f.lasting = cures(o.F)
	key := string(f.cure) + " " + f.words
	r.open[key] = append(r.open[key], f)
	r.faults = append(r.faults, f)
}

// cure undoes the open faults that name the same. f is in force until then.
func (r *faultReader) cure(o *histories.Operation, f *fault) {
	found := r.close(string(o.F)+" "+f.words, o.Return)
	found = r.close(" "+f.words, o.Return) || found
	found = found || r.close(" ", o.Return) // a word that names nothing
	if f.cured = true; !found {
		if f.from = math.MinInt64; o.F == histories.Restart {
			f.from = o.Invoke // whatever runs may be restarted
		}
		r.faults = append(r.faults, f)
	}
}

func (r *faultReader) close(key string, at int64) (found bool) {
	for _, f := range r.open[key] {
		f.to, f.cured, found = at, true, true
	}
	delete(r.open, key)
	return found
}

// over is when a fault was over, for a worker or for the store (""): a worker that
// does something was restarted.
func (r *faultReader) over(f *fault, worker string) int64 {
	switch {
	case f.cured || !f.lasting:
		return f.to
	case f.cure == histories.Restart && worker != "":
		if at := r.revived(worker, f.to); at != histories.Never {
			return at - 1
		}
	}
	return histories.Never
}

// Named are the words by which an event says whom or what it hit, sorted.
func Named(o *histories.Operation) []string {
	text := o.Target
	if text == "" {
		text = o.Text
	}
	words := strings.FieldsFunc(text, func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("-_.:", c)
	})
	slices.Sort(words)
	return slices.Compact(words)
}

// union makes spans that do not overlap of any list.
func union(list []span) []span {
	slices.SortFunc(list, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	var out []span
	for _, s := range list {
		if n := len(out); n > 0 && s.from <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, s.to)
			continue
		}
		out = append(out, s)
	}
	return out
}

// firstTrouble is the first of a worker's troubles that touches a span of time.
func (t *troubles) firstTrouble(worker string, from, to int64) (span, bool) {
	list := t.workers[worker]
	k := sort.Search(len(list), func(k int) bool { return list[k].to >= from })
	if k == len(list) || list[k].from > to {
		return span{}, false
	}
	return list[k], true
}

// before counts the worker's troubles that began before t.
func (t *troubles) before(worker string, at int64) int {
	list := t.workers[worker]
	return sort.Search(len(list), func(k int) bool { return list[k].from >= at })
}

// death is when a worker was first certainly dead, from t on.
func (t *troubles) death(worker string, from int64) death {
	list := t.deaths[worker]
	if k := sort.Search(len(list), func(k int) bool { return list[k].at >= from }); k < len(list) {
		return list[k]
	}
	return death{histories.Never, -1}
}
