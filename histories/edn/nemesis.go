package edn

import (
	"strings"

	"github.com/leasehold-checker/leasehold/histories"
)

// nemesis keeps an operation of the nemesis. What it did is said by its name; the
// value only tells to whom, in a form of its own for each kind of nemesis.
func (b *builder) nemesis(c *call) {
	o := b.operation(c, nemesisName(c.f))
	o.Process = histories.Nemesis
	if c.kind == histories.Info && c.err == "" {
		o.Type = histories.OK // :info is how Jepsen's nemesis says that it has done it
	}
	value := c.got
	if value == "" || value == ":done" {
		value = c.asked
	}
	if v, err := parse(value); err == nil {
		value = words(v)
	}
	o.Text = strings.Join(strings.Fields(value), " ")
	b.add(o, c.at)
}

// nemesisName: what Jepsen pauses or kills are the nodes of a database. In a history
// of leasehold, pause is what is done to a worker, and a kill may end what it held.
func nemesisName(f string) histories.F {
	switch word := histories.F(f); word {
	case histories.Pause, histories.Resume, histories.Kill, histories.Restart, histories.Partition, histories.Heal:
		return word + "-nodes"
	default:
		if word.OnLock() || word.OnResource() {
			return word + "-nodes"
		}
		return word
	}
}
