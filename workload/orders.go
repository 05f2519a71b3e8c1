package workload

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/leasehold-checker/leasehold/histories"
)

// orders is what the parent has told the worker to do at its code points.
type orders struct {
	mu     sync.Mutex
	armed  histories.Point
	awake  *sync.Cond // signalled when a self-stop is over
	going  bool       // about to stop itself, or stopped
	parked histories.Point
	free   chan struct{} // closed by DoGo and DoStop
	ended  bool
}

func newOrders() *orders {
	o := &orders{}
	o.awake = sync.NewCond(&o.mu)
	return o
}

// take obeys commands until there are no more, which means stop, as DoStop does. It
// calls then for each when it has certainly taken effect.
func (o *orders) take(commands <-chan json.RawMessage, stop context.CancelFunc, then func(Command)) {
	defer o.end(stop)
	for raw := range commands {
		var c Command
		if json.Unmarshal(raw, &c) != nil {
			continue
		}
		if c.Do == DoStop {
			return
		}
		o.obey(c)
		then(c)
	}
}

func (o *orders) obey(c Command) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch c.Do {
	case DoArm:
		o.armed = c.Point
	case DoDisarm:
		o.armed = ""
		for o.going {
			o.awake.Wait()
		}
	case DoPark:
		o.parked = c.Point
		if o.free == nil {
			o.free = make(chan struct{})
		}
	case DoGo:
		o.release()
	}
}

func (o *orders) release() {
	o.parked = ""
	if o.free != nil {
		close(o.free)
		o.free = nil
	}
}

func (o *orders) end(stop context.CancelFunc) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
	o.armed = ""
	o.release()
	stop()
}

// armedAt tells whether the worker is to stop itself here, and disarms it.
func (o *orders) armedAt(p histories.Point) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.armed == "" || o.armed != p {
		return false
	}
	o.armed, o.going = "", true
	return true
}

// wentOn says that a self-stop is over.
func (o *orders) wentOn() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.going = false
	o.awake.Broadcast()
}

// parkedAt returns what to wait for here, nil if nothing.
func (o *orders) parkedAt(p histories.Point) <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended || o.parked == "" || o.parked != p {
		return nil
	}
	return o.free
}
