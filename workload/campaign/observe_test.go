package campaign

import (
	"fmt"
	"slices"
	"testing"

	"github.com/leasehold-checker/leasehold/histories"
)

// An entry that went away from the store is an expiry only if nobody of ours had
// asked for it.
func TestNameExpiries(t *testing.T) {
	t.Parallel()
	acquire := func(process, grant string, token int64) histories.Operation {
		return histories.Operation{Process: process, F: histories.Acquire, Type: histories.OK, Lock: "L", Grant: grant, Token: histories.Some(token), Return: 1}
	}
	release := func(process, grant string, at int64, typ histories.Type) histories.Operation {
		return histories.Operation{Process: process, F: histories.Release, Type: typ, Lock: "L", Grant: grant, Invoke: at}
	}
	ended := func(lock, token string, at int64) histories.Operation {
		return histories.Operation{Process: histories.Store, F: fEnded, Type: histories.OK, Lock: lock, Text: token, Invoke: at, Return: at}
	}
	for name, c := range map[string]struct {
		ops  []histories.Operation
		want []string // the store's lines that are left
	}{
		"it ran out":                         {[]histories.Operation{acquire("1", "1.1", 33), ended("L", "33", 50)}, []string{"expire L of 1"}},
		"it was released":                    {[]histories.Operation{acquire("1", "1.1", 33), release("1", "1.1", 40, histories.OK), ended("L", "33", 50)}, nil},
		"a release without an answer":        {[]histories.Operation{acquire("1", "1.1", 33), release("1", "1.1", 40, histories.Info), ended("L", "33", 50)}, nil},
		"released only after it had run out": {[]histories.Operation{acquire("1", "1.1", 33), ended("L", "33", 50), release("1", "1.1", 60, histories.Fail)}, []string{"expire L of 1"}},
		"another grant of its was released":  {[]histories.Operation{acquire("1", "1.1", 33), acquire("1", "1.2", 35), release("1", "1.1", 40, histories.OK), ended("L", "35", 50)}, []string{"expire L of 1"}},
		"a waiter's entry":                   {[]histories.Operation{acquire("1", "1.1", 33), ended("L", "34", 50)}, nil},
		"the same number on another lock":    {[]histories.Operation{acquire("1", "1.1", 33), ended("M", "33", 50)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, o := range nameExpiries(slices.Clone(c.ops)) {
				if o.Process == histories.Store {
					got = append(got, fmt.Sprintf("%s %s of %s%s", o.F, o.Lock, o.Target, o.Text))
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
