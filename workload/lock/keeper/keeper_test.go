package keeper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload/lock"
)

// diary writes down what the listener is told, with the time since its beginning.
type diary struct {
	began time.Time
	lines []string
}

func (d *diary) add(format string, args ...any) {
	d.lines = append(d.lines, fmt.Sprintf("%v ", time.Since(d.began))+fmt.Sprintf(format, args...))
}

func (*diary) Began(string) {}

func (d *diary) Renewing(session string) func(time.Duration, error) {
	d.add("renewing %s", session)
	return func(ttl time.Duration, err error) {
		if word, definite := lock.IsDefinite(err); definite {
			d.add("%s", word)
		} else if err != nil {
			d.add("%v", err)
		} else {
			d.add("ok %v", ttl)
		}
	}
}

// Time in these tests is that of synctest's bubble, and exact.
func TestRenewals(t *testing.T) {
	const ttl = 3 * time.Second
	gone := lock.Definite(histories.ErrLost, ErrNotHeld)
	unsure := errors.New("unsure")
	for _, c := range []struct {
		name    string
		answers []error       // to the renewals in turn
		takes   time.Duration // for each
		until   time.Duration // when the test ends
		lost    bool
		want    []string
	}{
		// Every third of the ttl.
		{"ok", []error{nil, nil}, 0, 2500 * time.Millisecond, false,
			[]string{"1s renewing S", "1s ok 3s", "2s renewing S", "2s ok 3s"}},
		// The store says no: lost at once.
		{"refused", []error{nil, gone}, 0, 9 * time.Second, true,
			[]string{"1s renewing S", "1s ok 3s", "2s renewing S", "2s lost"}},
		// No answers: it goes on until its own clock says that the time is over, to the
		// instant, and sends no more then.
		{"unsure", []error{nil, unsure, unsure, unsure}, 0, 4 * time.Second, true,
			[]string{"1s renewing S", "1s ok 3s", "2s renewing S", "2s unsure", "3s renewing S", "3s unsure"}},
		// One that is late is given up when the next is due.
		{"slow", []error{unsure, unsure}, time.Hour, 3 * time.Second, true,
			[]string{"1s renewing S", "2s context deadline exceeded"}},
		// After a doubt it may be well again.
		{"again", []error{unsure, nil, nil}, 0, 3500 * time.Millisecond, false,
			[]string{"1s renewing S", "1s unsure", "2s renewing S", "2s ok 3s", "3s renewing S", "3s ok 3s"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &diary{began: time.Now()}
				k := Start(t.Context(), Config{
					Session: "S", TTL: ttl, Until: time.Now().Add(ttl), Listener: d,
					Renew: func(ctx context.Context) (time.Time, error) {
						sent := time.Now()
						select {
						case <-time.After(c.takes):
						case <-ctx.Done():
							return time.Time{}, ctx.Err()
						}
						err := c.answers[0]
						c.answers = c.answers[1:]
						return sent.Add(ttl), err
					},
				})
				defer k.Stop()
				if !k.Held() {
					t.Error("not held at first")
				}
				time.Sleep(c.until)
				synctest.Wait()
				lost := false
				select {
				case <-k.Lost():
					lost = true
				default:
				}
				if lost != c.lost || k.Held() == c.lost {
					t.Errorf("lost %t, held %t", lost, k.Held())
				}
				if lines := d.lines[:min(len(d.lines), len(c.want))]; !slices.Equal(lines, c.want) {
					t.Errorf("got  %q\nwant %q", d.lines, c.want)
				}
			})
		})
	}
}

// After Stop, and after the client is gone, nothing is renewed and nothing is a loss.
func TestEnds(t *testing.T) {
	for name, byStop := range map[string]bool{"stop": true, "close": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &diary{began: time.Now()}
				ctx, cancel := context.WithCancel(t.Context())
				k := Start(ctx, Config{
					Session: "S", TTL: time.Second, Until: time.Now().Add(time.Second), Listener: d,
					Renew: func(context.Context) (time.Time, error) { return time.Now().Add(time.Second), nil },
				})
				if byStop {
					k.Stop()
				}
				cancel()
				time.Sleep(time.Minute)
				synctest.Wait()
				if len(d.lines) != 0 || k.Held() {
					t.Errorf("%q, held %t", d.lines, k.Held())
				}
				select {
				case <-k.Lost():
					t.Error("lost")
				default:
				}
			})
		})
	}
}

// A refusal that comes after Stop is the release's doing: told as an answer, and no loss.
func TestRefusedByTheRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &diary{began: time.Now()}
		free := make(chan struct{})
		k := Start(t.Context(), Config{
			Session: "S", TTL: 3 * time.Second, Until: time.Now().Add(3 * time.Second), Listener: d,
			Renew: func(context.Context) (time.Time, error) {
				<-free
				return time.Time{}, lock.Definite(histories.ErrLost, ErrNotHeld)
			},
		})
		time.Sleep(time.Second)
		synctest.Wait()
		k.Stop()
		close(free)
		synctest.Wait()
		if want := []string{"1s renewing S", "1s lost"}; !slices.Equal(d.lines, want) {
			t.Errorf("got %q, want %q", d.lines, want)
		}
		select {
		case <-k.Lost():
			t.Error("lost")
		default:
		}
	})
}
