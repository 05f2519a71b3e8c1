package campaign

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/leasehold-checker/leasehold/checker/floor"
	"github.com/leasehold-checker/leasehold/histories"
)

// spotEvery is how often the files of the workers are read on: often enough that a
// violation is told within the second, and seldom enough to cost nothing.
const spotEvery = 250 * time.Millisecond

// errFailFast ends a cell in which a violation was seen that was not expected.
var errFailFast = errors.New("a stale operation was accepted")

// spotter reads what the workers write down while they are at it, and looks for the
// first accepted operation of an older grant. What it says is for whoever looks on,
// and for --fail-fast; the judgement is made later, of all there is.
type spotter struct {
	files []*tail
	watch *floor.Watch
	reads bool // the fence counts reads, too
}

// spot looks on until ctx ends, and calls found once, with the first stale operation.
// A file that can't be read is nobody's violation: it is looked at again when the
// history is collected.
func (c *cellRun) spot(ctx context.Context, found func(*floor.Stale)) {
	s := &spotter{watch: floor.New(c.cell.Fence), reads: c.cell.Fence == histories.FenceAll}
	for _, w := range c.workers {
		s.files = append(s.files, &tail{path: c.eventFile("worker-" + w.Name())})
	}
	defer s.close()
	tick := time.NewTicker(spotEvery)
	defer tick.Stop()
	for {
		over := false
		look, cancel := ctx, func() {}
		select {
		case <-tick.C:
		case <-ctx.Done(): // what happened last is looked at as well, if that is soon done
			over = true
			look, cancel = context.WithTimeout(context.WithoutCancel(ctx), spotEvery)
		}
		stale := s.look(look)
		cancel()
		if stale != nil {
			found(stale)
		}
		if over || stale != nil {
			return
		}
	}
}

// look reads every file as far as it has grown. It ends with ctx: workers that write
// faster than this process gets to read would keep it here for ever.
func (s *spotter) look(ctx context.Context) *floor.Stale {
	for _, f := range s.files {
		for _, o := range f.more(ctx, s.reads) {
			if stale := s.watch.Add(o); stale != nil {
				return stale
			}
		}
	}
	return nil
}

func (s *spotter) close() {
	for _, f := range s.files {
		if f.file != nil {
			f.file.Close()
		}
	}
}

// tail is the file of one worker, read as far as it has grown.
type tail struct {
	path string
	file *os.File
	rest []byte // the beginning of a line that is still being written
	open map[int64]event
}

// event is what has to be known of a line of a worker's file.
type event struct {
	Time     int64       `json:"time_ns"`
	Process  string      `json:"process"`
	Op       int64       `json:"op"`
	Type     string      `json:"type"`
	F        histories.F `json:"f"`
	Lock     string      `json:"lock"`
	Grant    string      `json:"grant"`
	Token    *int64      `json:"token"`
	Resource string      `json:"resource"`
	Value    *string     `json:"value"`
	Seq      *int64      `json:"seq"`
}

// chunk is how much of a file is read at once.
const chunk = 256 << 10

// more returns the operations that were completed since it was last asked.
func (t *tail) more(ctx context.Context, reads bool) (done []histories.Operation) {
	if t.file == nil {
		f, err := os.Open(t.path)
		if err != nil {
			return nil
		}
		t.file, t.open = f, map[int64]event{}
	}
	for ctx.Err() == nil {
		grown := make([]byte, chunk)
		n, err := t.file.Read(grown)
		t.rest = append(t.rest, grown[:n]...)
		for {
			line, rest, whole := bytes.Cut(t.rest, []byte("\n"))
			if !whole {
				break
			}
			t.rest = rest
			if o, ok := t.line(line, reads); ok {
				done = append(done, o)
			}
		}
		if n < chunk || err != nil {
			break
		}
	}
	return done
}

// line takes a line, and returns the operation that it completes. Most lines are of
// no interest: those cost a search in them, and no more.
func (t *tail) line(line []byte, reads bool) (histories.Operation, bool) {
	var e event
	if !watched(line, reads) || json.Unmarshal(line, &e) != nil {
		return histories.Operation{}, false
	}
	if e.Type == string(histories.Invoke) {
		t.open[e.Op] = e
		return histories.Operation{}, false
	}
	asked, known := t.open[e.Op]
	delete(t.open, e.Op)
	if !known || e.Type != string(histories.OK) {
		return histories.Operation{}, false
	}
	return joined(asked, e), true
}

func watched(line []byte, reads bool) bool {
	has := func(f histories.F) bool { return bytes.Contains(line, []byte(`"f":"`+f+`"`)) }
	return has(histories.Write) || has(histories.Acquire) || reads && (has(histories.Read) || has(histories.Open))
}

// joined makes one operation of its two lines. What the answer says wins.
func joined(asked, answer event) histories.Operation {
	o := histories.Operation{
		Process: asked.Process, ID: asked.Op, Type: histories.OK, F: asked.F, Invoke: asked.Time, Return: answer.Time,
		Lock: asked.Lock, Grant: asked.Grant, Resource: asked.Resource,
	}
	if answer.Grant != "" {
		o.Grant = answer.Grant
	}
	for _, e := range []event{asked, answer} {
		if e.Token != nil {
			o.Token = histories.Some(*e.Token)
		}
		if e.Value != nil {
			o.Value = histories.Some(*e.Value)
		}
		if e.Seq != nil {
			o.Seq = histories.Some(*e.Seq)
		}
	}
	return o
}

// spotted tells whoever looks on, and ends the cell if nothing more is to be learned
// from it.
func (c *cellRun) spotted(stale *floor.Stale, stop func()) {
	after := time.Duration(c.clock() - stale.Late.Return)
	c.progress.Stale(c.name)
	c.progress.Note(fmt.Sprintf("%s: first stale %s at %.3f s, seen %.1f s later: worker %s under grant %s, after worker %s under grant %s",
		c.name, stale.Late.F, float64(stale.Late.Return)/1e9, after.Seconds(),
		stale.Late.Process, stale.Late.Grant, stale.Newer.Process, stale.Newer.Grant))
	if c.plan.Config.FailFast && c.cell.Expect == ExpectClean {
		stop()
	}
}
