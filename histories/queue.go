package histories

import "runtime"

// scanQueue scans blocks on all processors, and gives them out in their order. All
// reading is done by the one who takes: nobody else touches the input, also after
// an error.
type scanQueue struct {
	next    func(*block) (*block, error)
	waiting []*block // read, and not given out
	spare   []*block
	err     error // io.EOF or what reading ended with; it comes after the blocks before it
	jobs    chan *block
	inline  scanner // for a file of one block, which is not worth a goroutine
}

// take gives the next block, scanned.
func (q *scanQueue) take() (*block, error) {
	for ahead := runtime.GOMAXPROCS(0) + 2; q.err == nil && len(q.waiting) < ahead; {
		q.read()
	}
	if len(q.waiting) == 0 {
		return nil, q.err
	}
	b := q.waiting[0]
	q.waiting = q.waiting[1:]
	<-b.done
	return b, nil
}

// read reads a block, and has it scanned.
func (q *scanQueue) read() {
	b := &block{}
	if n := len(q.spare); n > 0 {
		b, q.spare = q.spare[n-1], q.spare[:n-1]
	}
	if b, q.err = q.next(b); q.err != nil {
		return
	}
	b.done = make(chan struct{})
	q.waiting = append(q.waiting, b)
	if b.last && q.jobs == nil {
		b.scan(&q.inline)
		return
	}
	if q.jobs == nil {
		q.start()
	}
	q.jobs <- b
}

func (q *scanQueue) start() {
	workers := runtime.GOMAXPROCS(0)
	q.jobs = make(chan *block, workers+2) // all that can wait: sending never blocks
	for range workers {
		go func() {
			var s scanner
			for b := range q.jobs {
				b.scan(&s)
			}
		}()
	}
}

// stop ends the goroutines, each after the block that it has in hand.
func (q *scanQueue) stop() {
	if q.jobs != nil {
		close(q.jobs)
	}
}

func (q *scanQueue) recycle(b *block) { q.spare = append(q.spare, b) }
