package timeline_test

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/leasehold-checker/leasehold/checker"
	"github.com/leasehold-checker/leasehold/histories"
)

const ms = int64(1e6)

// builder puts a history together, line by line.
type builder struct{ h histories.History }

func (b *builder) add(op histories.Operation) {
	if op.Type == "" {
		op.Type = histories.OK
	}
	op.ID = int64(len(b.h.Ops))
	b.h.Ops = append(b.h.Ops, op)
}

// done sorts the operations and returns the place of each as it was added.
func (b *builder) done() (*histories.History, []int) {
	slices.SortStableFunc(b.h.Ops, func(p, q histories.Operation) int { return int(min(max(p.Invoke-q.Invoke, -1), 1)) })
	places := make([]int, len(b.h.Ops))
	for i := range b.h.Ops {
		places[b.h.Ops[i].ID] = i
	}
	return &b.h, places
}

func some[T comparable](v T) histories.Option[T] { return histories.Some(v) }

// oneTrial is the trial that the package's documentation tells: worker 1 is
// stopped between its check and its write, worker 2 takes over and writes, and
// worker 1 writes when it goes on. With the fence, that write is refused.
func oneTrial(fence histories.Fence) (*histories.History, checker.Result) {
	b := &builder{}
	b.h.Header = histories.Header{Fence: fence, Cell: "etcd-mutex/register/check/" + string(fence) + "/pause-checked", Seed: some(int64(7)),
		Guards: []histories.Guard{{Lock: "L", Resource: "R"}}, Versions: map[string]string{"etcd": "3.7.3", "leasehold": "0.1"}}
	late := histories.Operation{Process: "1", F: histories.Write, Invoke: 4002 * ms, Return: 4004 * ms, Lock: "L", Resource: "R", Value: some("a1"), Token: some(int64(33)), Seq: some(int64(3))}
	if fence != histories.FenceOff {
		late.Type, late.Error = histories.Fail, histories.ErrFenced
	}
	for _, op := range []histories.Operation{
		{Process: "1", F: histories.Acquire, Invoke: 0, Return: 2 * ms, Lock: "L", TTLAsked: 2000, Token: some(int64(33))},
		{Process: "1", F: histories.Read, Invoke: 30 * ms, Return: 31 * ms, Lock: "L", Resource: "R", Value: some("a0"), Token: some(int64(33)), Seq: some(int64(1))},
		{Process: "2", F: histories.Acquire, Invoke: 110 * ms, Return: 2610 * ms, Lock: "L", TTLAsked: 2000, Token: some(int64(34))},
		{Process: "1", F: histories.Check, Invoke: 480 * ms, Return: 481 * ms, Lock: "L", Held: some(true)},
		{Process: histories.Nemesis, F: histories.Pause, Invoke: 490 * ms, Return: 500 * ms, Target: "1", Point: histories.PointChecked},
		{Process: histories.Store, F: histories.Expire, Invoke: 2605 * ms, Return: 2605 * ms, Lock: "L", Target: "1"},
		{Process: "2", F: histories.Write, Invoke: 2640 * ms, Return: 2642 * ms, Lock: "L", Resource: "R", Value: some("b1"), Token: some(int64(34)), Seq: some(int64(2))},
		{Process: histories.Nemesis, F: histories.Resume, Invoke: 4000 * ms, Return: 4001 * ms, Target: "1"},
		late,
	} {
		b.add(op)
	}
	h, _ := b.done()
	r := checker.Result{Version: 1, Verdict: checker.Valid, Coverage: checker.Coverage{Workers: 2, Locks: 1, Grants: 2, Pauses: 1, Takeovers: 1, Conclusive: 1, StaleAttempted: 1, StaleRefused: 1}}
	trial := checker.Trial{Lock: "L", Resource: "R", Process: "1", Point: histories.PointChecked, Grant: "1.1", Successor: "2.1", Pause: 4, Resume: 7, Write: 8,
		StoppedNS: 500 * ms, ContinuedNS: 4000 * ms, Takeover: true, Conclusive: true, Attempted: 1, Refused: 1}
	if fence == histories.FenceOff {
		trial.Refused, trial.Accepted = 0, 1
		r.Verdict, r.Coverage.StaleAccepted, r.Coverage.StaleRefused, r.Coverage.LostUpdates = checker.Invalid, 1, 0, 1
		r.Properties = []checker.PropertyResult{
			{Property: checker.StaleWrite, Verdict: checker.Invalid, Role: checker.Gate, Checked: 2, Violations: 1, Cause: histories.CausePaused, Witnesses: []checker.Witness{oneWitness("a stale write was accepted")}},
			{Property: checker.LostUpdate, Verdict: checker.Invalid, Role: checker.Gate, Checked: 2, Violations: 1, Cause: histories.CausePaused, Witnesses: []checker.Witness{oneWitness("an acknowledged update was lost")}},
		}
	}
	r.Coverage.Trials = []checker.Trial{trial}
	return h, r
}

func oneWitness(title string) checker.Witness {
	return checker.Witness{
		Lock: "L", Resource: "R", Cause: histories.CausePaused, Title: title, Core: []int{6, 8}, Ops: []int{0, 2, 4, 5, 6, 7, 8}, Stale: 8, BeginNS: 0, EndNS: 4004 * ms,
		Story: []checker.Sentence{
			{Text: "Worker 1 held the lock under token 33, checked that it did, and was stopped right after the check (0.500 s).", Op: 4, TimeNS: 500 * ms},
			{Text: "Its lease ran out by 2.605 s: the store did the right thing.", Mood: checker.Right, Op: 5, TimeNS: 2605 * ms},
			{Text: "Worker 2 had been waiting and was granted token 34 at 2.610 s.", Op: 2, TimeNS: 2610 * ms},
			{Text: "It wrote b1; the resource took it as number 2.", Op: 6, TimeNS: 2642 * ms},
			{Text: "Worker 1 went on at 4.000 s, still believed that it held the lock, and wrote a1 under token 33: accepted as number 3, and b1 is gone.", Mood: checker.Wrong, Op: 8, TimeNS: 4004 * ms},
		},
	}
}

// campaign is like a recorded cell: many locks with two workers each, hundreds of
// quick operations between the trials. It is the same for the same arguments.
func campaign(locks, trials, quick int) (*histories.History, checker.Result) {
	b := &builder{}
	b.h.Header = histories.Header{Fence: histories.FenceOff, Cell: "etcd-mutex/register/check/off/pause-checked", Seed: some(int64(1)),
		Versions: map[string]string{"leasehold": "0.1", "etcd server": "3.7.3", "etcd client": "3.7.3", "go": "1.26.0"}}
	rnd := rand.New(rand.NewPCG(1, 2))
	token := int64(100)
	type found struct{ acquire, pause, expire, grant, wrote, resume, late int }
	var all []found
	for l := range locks {
		c := &cell{b: b, rnd: rnd, lock: fmt.Sprintf("lock-%d", l+1), resource: fmt.Sprintf("r-%d", l+1), token: &token, now: int64(rnd.IntN(300)) * ms}
		c.workers = [2]string{fmt.Sprint(2*l + 1), fmt.Sprint(2*l + 2)}
		b.h.Header.Guards = append(b.h.Header.Guards, histories.Guard{Lock: c.lock, Resource: c.resource})
		for range trials {
			all = append(all, found(c.trial(quick)))
		}
	}
	h, places := b.done()
	r := checker.Result{Version: 1, Verdict: checker.Invalid}
	stale := checker.PropertyResult{Property: checker.StaleWrite, Verdict: checker.Invalid, Role: checker.Gate, Checked: len(all), Violations: len(all), Cause: histories.CausePaused}
	for _, f := range all {
		op := func(i int) (int, *histories.Operation) { return places[i], &h.Ops[places[i]] }
		pause, p := op(f.pause)
		expire, e := op(f.expire)
		grant, g := op(f.grant)
		wrote, v := op(f.wrote)
		late, w := op(f.late)
		acquire, a := op(f.acquire)
		sec := func(ns int64) string { return fmt.Sprintf("%.3f s", float64(ns)/1e9) }
		tok := func(o *histories.Operation) string { return fmt.Sprint(o.Token.Or(0)) }
		stale.Witnesses = append(stale.Witnesses, checker.Witness{
			Lock: w.Lock, Resource: w.Resource, Cause: histories.CausePaused, Title: "a stale write was accepted", Core: []int{wrote, late},
			Ops: []int{acquire, pause, expire, grant, wrote, places[f.resume], late}, Stale: late, BeginNS: a.Return, EndNS: w.Return,
			Story: []checker.Sentence{
				{Text: "Worker " + w.Process + " held " + w.Lock + " under token " + tok(a) + ", checked that it did, and was stopped right after the check (" + sec(p.Return) + ").", Op: pause, TimeNS: p.Return},
				{Text: "Its lease ran out by " + sec(e.Invoke) + ": the store did the right thing.", Mood: checker.Right, Op: expire, TimeNS: e.Invoke},
				{Text: "Worker " + g.Process + " had been waiting and was granted token " + tok(g) + " at " + sec(g.Return) + ".", Op: grant, TimeNS: g.Return},
				{Text: "It wrote " + v.Value.Or("") + "; the resource took it as number " + fmt.Sprint(v.Seq.Or(0)) + ".", Op: wrote, TimeNS: v.Return},
				{Text: "Worker " + w.Process + " went on, still believed that it held the lock, and wrote " + w.Value.Or("") + " under token " + tok(w) + ": accepted as number " + fmt.Sprint(w.Seq.Or(0)) + ".", Mood: checker.Wrong, Op: late, TimeNS: w.Return},
			}})
	}
	r.Properties = []checker.PropertyResult{stale, {Property: checker.LostUpdate, Verdict: checker.Valid, Role: checker.Gate, Checked: len(h.Ops)}}
	r.Coverage = checker.Coverage{Pauses: len(all), Takeovers: len(all), Conclusive: len(all), StaleAttempted: len(all), StaleAccepted: len(all), Exposures: 3}
	return h, r
}

// cell is one lock with two workers, while its lines are written.
type cell struct {
	b              *builder
	rnd            *rand.Rand
	lock, resource string
	workers        [2]string
	token          *int64
	now, seq       int64
	value          int
	last           string // what the resource holds
}

func (c *cell) step(process string, f histories.F, token int64) histories.Operation {
	took := int64(200+c.rnd.IntN(900)) * 1000
	op := histories.Operation{Process: process, F: f, Invoke: c.now, Return: c.now + took, Lock: c.lock, Token: some(token)}
	c.now += took + int64(c.rnd.IntN(2000))*1000
	return op
}

func (c *cell) access(process string, f histories.F, token int64) int {
	op := c.step(process, f, token)
	c.seq++
	op.Resource, op.Seq = c.resource, some(c.seq)
	if f == histories.Write {
		c.value++
		c.last = fmt.Sprintf("%s.%d", process, c.value)
	}
	op.Value = some(c.last)
	return c.put(op)
}

func (c *cell) put(op histories.Operation) int {
	c.b.add(op)
	return len(c.b.h.Ops) - 1
}

// trial writes the quick operations of one hold, a pause in it, the takeover, and
// the late write. It returns the places of the seven lines that a story names.
func (c *cell) trial(quick int) (f struct{ acquire, pause, expire, grant, wrote, resume, late int }) {
	old, next := c.workers[0], c.workers[1]
	*c.token += 3
	token := *c.token
	acquire := c.step(old, histories.Acquire, token)
	acquire.TTLAsked = 1000
	f.acquire = c.put(acquire)
	asked := c.now
	for range quick {
		c.access(old, histories.Read, token)
		c.access(old, histories.Write, token)
	}
	renew := c.step(old, histories.Renew, token)
	renew.Token, renew.TTL = histories.Option[int64]{}, 1000
	c.put(renew)
	check := c.step(old, histories.Check, token)
	check.Held, check.Token = some(true), histories.Option[int64]{}
	c.put(check)
	f.pause = c.put(histories.Operation{Process: histories.Nemesis, F: histories.Pause, Invoke: c.now, Return: c.now + ms, Target: old, Point: histories.PointChecked})
	c.now += 1400 * ms
	f.expire = c.put(histories.Operation{Process: histories.Store, F: histories.Expire, Invoke: c.now, Return: c.now, Lock: c.lock, Target: old})
	*c.token += 3
	c.now += 3 * ms
	f.grant = c.put(histories.Operation{Process: next, F: histories.Acquire, Invoke: asked, Return: c.now, Lock: c.lock, TTLAsked: 1000, TTL: 5000, Token: some(*c.token)})
	c.now += ms
	c.access(next, histories.Read, *c.token)
	f.wrote = c.access(next, histories.Write, *c.token)
	for range quick {
		c.access(next, histories.Read, *c.token)
		c.access(next, histories.Write, *c.token)
	}
	f.resume = c.put(histories.Operation{Process: histories.Nemesis, F: histories.Resume, Invoke: c.now, Return: c.now + ms, Target: old})
	c.now += 2 * ms
	f.late = c.access(old, histories.Write, token)
	c.access(next, histories.Read, *c.token)
	for _, w := range [2]struct {
		process string
		token   int64
	}{{old, token}, {next, *c.token}} {
		release := c.step(w.process, histories.Release, w.token)
		release.Token = histories.Option[int64]{}
		c.put(release)
	}
	c.workers[0], c.workers[1] = next, old
	c.now += 20 * ms
	return f
}
