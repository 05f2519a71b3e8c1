package histories

import (
	"errors"
	"fmt"
	"io"
)

// decoder reads JSON Lines: blocks of lines are scanned on all processors, and
// joined in their order, so that errors are those of one pass.
type decoder struct {
	blocks *blockReader
	limits Limits
	size   int64  // bytes of the whole input, 0 if unknown
	first  *block // what the header was read from
}

// header reads the first line that is not blank, and leaves the rest of its block.
func (d *decoder) header() (Header, error) {
	b := &block{}
	for {
		switch err := d.blocks.next(b); {
		case err == io.EOF:
			return Header{}, atLine(d.blocks.name, 0, errors.New("empty file"))
		case err != nil:
			return Header{}, err
		}
		for len(b.text) > 0 {
			line, err := b.cutLine()
			if err == nil && len(line) == 0 {
				continue
			}
			var h Header
			if err == nil {
				h, err = decodeHeader(line)
			}
			if err == nil {
				if err = checkHeader(&h); err != nil {
					err = fmt.Errorf("header: %w", err)
				}
			}
			if err != nil {
				return Header{}, atLine(d.blocks.name, b.line, err)
			}
			d.first = b
			return h, nil
		}
	}
}

// events reads event lines to the end.
func (d *decoder) events() ([]Operation, []string, error) {
	queue := scanQueue{next: d.nextBlock}
	defer queue.stop()
	j := newJoiner()
	var warnings []string
	text := int64(0)
	for {
		b, err := queue.take()
		if err == io.EOF {
			return j.finish(), warnings, nil
		}
		if err != nil {
			return nil, nil, err
		}
		if j.ops.len == 0 {
			j.ops.reserve(d.expected(b))
		}
		for i := range b.events {
			if err := j.add(&b.events[i]); err != nil {
				return nil, nil, atLine(d.blocks.name, b.events[i].line, err)
			}
		}
		text += b.fresh
		if b.err == nil {
			b.err = d.limits.Allow(j.ops.len, text)
		}
		if b.err != nil {
			return nil, nil, atLine(d.blocks.name, b.line, b.err)
		}
		if b.torn {
			warnings = append(warnings, atLine(d.blocks.name, b.line, errors.New("dropped the last line, which is torn")).Error())
		}
		queue.recycle(b)
	}
}

// expected is how many operations the file will have, judged by its first block. A
// file may claim any size, but no more than the limit is held.
func (d *decoder) expected(first *block) int {
	invoked := 0
	for i := range first.events {
		if first.events[i].kind == Invoke {
			invoked++
		}
	}
	if d.size <= first.size {
		return invoked
	}
	whole := float64(invoked) * float64(d.size) / float64(first.size) * 1.05
	return int(min(whole, float64(d.limits.memory()/operationSize)))
}

// nextBlock gives what the header left, then the next blocks.
func (d *decoder) nextBlock(b *block) (*block, error) {
	if d.first != nil {
		b, d.first = d.first, nil
		return b, nil
	}
	return b, d.blocks.next(b)
}
