package edn

import (
	"fmt"

	"olympos.io/encoding/edn"

	"github.com/leasehold-checker/leasehold/histories"
)

// onlyLock is the lock of a file that names none.
const onlyLock = "L"

// lockCalls makes the operations on locks.
func (b *builder) lockCalls(calls []*call) error {
	if len(calls) == 0 {
		return nil
	}
	if err := b.nameLocks(calls); err != nil {
		return err
	}
	tokens, err := b.tokens(calls)
	if err != nil {
		return err
	}
	if tokens != nil {
		b.h.Header.Tokens = histories.TokensOrdered
	}
	for i, c := range calls {
		o := b.operation(c, histories.F(c.f))
		o.Lock = c.lock
		if tokens != nil && o.F == histories.Acquire && o.Type == histories.OK {
			o.Token = histories.Some(tokens[i])
		}
		b.add(o, c.at)
	}
	b.retire()
	return nil
}

// nameLocks finds the lock of each call. What the acquires say decides how.
func (b *builder) nameLocks(calls []*call) error {
	values := make([]any, len(calls))
	silent, tuples, acquires := 0, 0, 0
	for i, c := range calls {
		v, err := b.parse(c, c.asked)
		if err != nil {
			return err
		}
		if values[i] = v; c.f != "acquire" {
			continue
		}
		acquires++
		if _, isTuple := tuple(v); isTuple {
			tuples++
		} else if v == nil {
			silent++
		}
	}
	switch acquires {
	case silent:
		for _, c := range calls {
			c.lock = onlyLock
		}
		return nil
	case tuples:
		for i, c := range calls {
			pair, isTuple := tuple(values[i])
			if !isTuple {
				return b.at(c, "its value does not name a lock, as [lock x] does elsewhere")
			}
			c.lock = keyName(pair[0])
		}
		return nil
	}
	if silent+tuples > 0 {
		return b.at(calls[0], "some acquires have a value, and others none: it can't be told which lock they mean")
	}
	return b.valuesAsNames(calls, values)
}

// valuesAsNames: a value that acquire and release have in common is a lock's name. A
// value that no two acquires have in common, and no release repeats, names the
// operation, as in Jepsen's tests of Hazelcast: then there is one lock. Whoever
// takes names for one lock finds two holders where there are none.
func (b *builder) valuesAsNames(calls []*call, values []any) error {
	type taken struct {
		process int64
		name    string
	}
	seen, acquired := map[string]bool{}, map[taken]bool{}
	distinct, repeated := true, true
	for i, c := range calls {
		c.lock = keyName(values[i])
		switch k := (taken{c.process, c.lock}); {
		case c.f == "acquire":
			distinct = distinct && !seen[c.lock]
			seen[c.lock], acquired[k] = true, true
		case c.kind != histories.Fail:
			repeated = repeated && acquired[k]
		}
	}
	if repeated {
		return nil
	}
	if !distinct {
		return b.at(calls[0], "it can't be told whether the values of acquire and release name locks")
	}
	for _, c := range calls {
		c.lock = onlyLock
	}
	return nil
}

// tokens finds the token of each acknowledged acquire; nil: the lock issues none.
func (b *builder) tokens(calls []*call) ([]int64, error) {
	found, missing := 0, 0
	tokens := make([]int64, len(calls))
	for i, c := range calls {
		if c.f != "acquire" || c.kind != histories.OK {
			continue
		}
		v, err := b.parse(c, c.got)
		if err != nil {
			return nil, err
		}
		token, there := tokenOf(v)
		if !there || c.got == c.asked {
			missing++
			continue
		}
		tokens[i] = token
		found++
	}
	if found == 0 {
		return nil, nil
	}
	if missing > 0 {
		b.warn("%d acquires brought a token and %d did not: tokens are not looked at", found, missing)
		return nil, nil
	}
	return tokens, nil
}

// tokenOf finds a fencing token in what an acquire brought.
func tokenOf(v any) (int64, bool) {
	if pair, isTuple := tuple(v); isTuple {
		v = pair[1]
	}
	switch v := v.(type) {
	case int64:
		return v, true
	case map[any]any:
		if fence, ok := v[edn.Keyword("fence")].(int64); ok {
			return fence, fence != 0
		}
		token, ok := v[edn.Keyword("token")].(int64)
		return token, ok
	}
	return 0, false
}

// retire releases what processes hold when they are retired: Jepsen closes the
// client of a process that got no definite answer, and goes on with another one.
// Whether, and when, that frees the lock is unknown. Without this, the next holder
// would be taken for a second one.
func (b *builder) retire() {
	held := map[int64][]string{} // process -> locks, in the order of its acquires
	for i := range b.calls {
		c := &b.calls[i]
		switch {
		case c.f == "acquire" && c.kind == histories.OK:
			held[c.process] = append(held[c.process], c.lock)
		case c.f == "release" && c.kind == histories.OK:
			held[c.process] = without(held[c.process], c.lock)
		}
		if c.process == byNemesis || c.kind != histories.Info {
			continue
		}
		for _, lock := range held[c.process] {
			b.add(histories.Operation{
				Process: worker(c.process), F: histories.Release, Type: histories.Info, Lock: lock,
				Invoke: c.to, Return: c.to, Line: c.line, Error: "client closed: the process is retired",
			}, c.done)
		}
		delete(held, c.process)
	}
}

func without(locks []string, lock string) []string {
	var left []string
	for _, l := range locks {
		if l != lock {
			left = append(left, l)
		}
	}
	return left
}

func (b *builder) at(c *call, what string) error {
	return atLine(b.name, c.line, fmt.Errorf(":%s of process %s: %s", c.f, worker(c.process), what))
}

// tuple is a pair such as [key value].
func tuple(v any) ([]any, bool) {
	pair, ok := v.([]any)
	return pair, ok && len(pair) == 2
}

// keyName makes a name of a key; nil is a key, too.
func keyName(key any) string {
	if s := text(key); s != "" {
		return s
	}
	return "nil"
}
