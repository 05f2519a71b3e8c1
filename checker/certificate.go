package checker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/leasehold-checker/leasehold/checker/model"
)

// certifier asks the engines in turn, the plainest first, and believes none: an
// answer counts once its proof is confirmed. What nobody decides is Undecided, with
// what would have been needed.
//
// Proofs are checked in the time that the scans have: that takes little, and what the
// scans found before the time limit is not lost.
type certifier struct {
	*court
	r       *model.Resource
	engines []engine
	audited bool // Porcupine is asked as well, as a whole
	decided map[model.Question]model.Decision
}

// plain is how many of the engines are asked about all rules at once. Most histories
// are sound, and a resource that numbers its operations answers both properties with
// one order; but where there is none, it takes the properties one by one to say
// which is broken.
const plain = 2

func newCertifier(ctx context.Context, c *court, s scan, audited bool) *certifier {
	r, t := s.r, c.turns
	return &certifier{
		court: c, r: r, audited: audited && len(r.Ops) <= maxAudit, decided: map[model.Question]model.Decision{},
		engines: []engine{s, newByNumber(ctx, r), newSolver(r), inTime{r, t}, authority{r, t}},
	}
}

// answer is a model.Decider.
func (c *certifier) answer(ctx context.Context, q model.Question) (model.Answer, error) {
	if d, known := c.decided[q]; known {
		return d.Answer, nil
	}
	d, err := c.decide(ctx, q)
	if err != nil {
		return d.Answer, fmt.Errorf("judge resource %q: %w", c.r.Name, err)
	}
	c.decided[q] = d
	return d.Answer, nil
}

func (c *certifier) decide(ctx context.Context, q model.Question) (model.Decision, error) {
	engines := c.engines
	if q.Grants && q.Bases {
		engines = engines[:plain]
	}
	var why []string
	for i, e := range engines {
		if i > 0 && ctx.Err() != nil {
			why = append(why, timeLimit)
			break
		}
		d := e.decide(ctx, q)
		if d.Answer == model.Undecided {
			why = append(why, d.Why)
			continue
		}
		err := c.confirm(q, d)
		_, guess := e.(guesser)
		switch {
		case errors.Is(err, model.ErrUnconfirmed):
			why = append(why, "a proof too large to be checked")
		case err != nil && !guess:
			return d, fmt.Errorf("%s: %w", e.name(), err)
		case err == nil:
			return d, c.audit(ctx, q, e, d)
		}
	}
	return model.Decision{Why: strings.Join(reasons(why), "; ")}, nil
}

// largeCore is the number of operations from which on a core may keep Porcupine busy.
const largeCore = 100

func (c *certifier) confirm(q model.Question, d model.Decision) error {
	if d.Answer == model.Illegal && len(d.Core) > largeCore {
		if !c.turns.take(c.scans) {
			return model.ErrUnconfirmed
		}
		defer c.turns.give()
	}
	return c.r.Confirm(c.scans, q, d)
}

const timeLimit = "the time limit"

// reasons are all of them, once.
func reasons(why []string) []string {
	var out []string
	for _, w := range why {
		if w != "" && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

// What is asked of Porcupine although the answer is known and proven: small
// resources, within a small budget, and not endlessly many.
const (
	maxAudit       = 60 // operations
	maxAudits      = 1000
	auditingMemory = 1 << 20
)

// audit holds a decision against Porcupine's own, for the resource as a whole.
func (c *certifier) audit(ctx context.Context, q model.Question, e engine, d model.Decision) error {
	if !c.audited {
		return nil
	}
	answer := c.r.Decide(ctx, q, model.Limits{Memory: auditingMemory})
	if answer != model.Undecided && answer != d.Answer {
		return fmt.Errorf("%s: %s, Porcupine: %s: %w", e.name(), d.Answer, answer, ErrDisagree)
	}
	return nil
}
