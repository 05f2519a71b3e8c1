package postgres_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload/point"
	"github.com/leasehold-checker/leasehold/workload/resource"
	"github.com/leasehold-checker/leasehold/workload/resource/conformance"
	"github.com/leasehold-checker/leasehold/workload/resource/postgres"
)

// space prepares a fresh one.
func space(t *testing.T, server string, fence histories.Fence, initial map[string]string) string {
	t.Helper()
	endpoint := postgres.Endpoint(server, fmt.Sprintf("%s/%d", t.Name(), time.Now().UnixNano()))
	if err := postgres.Prepare(t.Context(), endpoint, resource.ServerOptions{Fence: fence, Initial: initial}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := postgres.Remove(context.Background(), endpoint); err != nil {
			t.Error(err)
		}
	})
	return endpoint
}

func dial(t *testing.T, endpoint string) resource.Resource {
	t.Helper()
	r, err := postgres.Dial(t.Context(), endpoint)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func TestConformance(t *testing.T) {
	t.Parallel()
	server := startPostgres(t)
	conformance.Run(t, conformance.Suite{
		Start: func(t *testing.T, fence histories.Fence) string {
			initial := map[string]string{}
			for _, name := range conformance.Names() {
				initial[name] = conformance.Initial
			}
			return space(t, server, fence, initial)
		},
		Dial:    postgres.Dial,
		Numbers: true, NumbersRefusals: true,
	})
}

// Many clients at once, reads, opens, writes and refusals: the numbers are dense and
// unique, and in their order the fence never goes back.
func TestManyClients(t *testing.T) {
	t.Parallel()
	const clients, each = 12, 80
	endpoint := space(t, startPostgres(t), histories.FenceAll, nil)
	type step struct{ seq, token int64 }
	var mu sync.Mutex
	var seqs []int64
	var accepted []step
	var wg sync.WaitGroup
	for client := range clients {
		r := dial(t, endpoint)
		wg.Go(func() {
			for i := range each {
				token := int64(i*clients/3 + client)
				var a resource.Answer
				var err error
				switch i % 3 {
				case 0:
					a, err = r.Write(t.Context(), "R", histories.Some(token), "v")
				case 1:
					a, err = r.Read(t.Context(), "R", histories.Some(token))
				default:
					a, err = r.Open(t.Context(), "R", histories.Some(token))
				}
				refused, isRefused := resource.AsRefused(err)
				if err != nil && !isRefused {
					t.Error(err)
					return
				}
				mu.Lock()
				if isRefused {
					seqs = append(seqs, refused.Seq.Or(0))
				} else {
					seqs = append(seqs, a.Seq.Or(0))
					accepted = append(accepted, step{a.Seq.Or(0), token})
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	slices.Sort(seqs)
	for i, seq := range seqs {
		if seq != int64(i+1) {
			t.Fatalf("number %d in place %d", seq, i+1)
		}
	}
	slices.SortFunc(accepted, func(a, b step) int { return int(a.seq - b.seq) })
	for i := 1; i < len(accepted); i++ {
		if accepted[i].token < accepted[i-1].token {
			t.Fatalf("token %d accepted after %d", accepted[i].token, accepted[i-1].token)
		}
	}
	if len(accepted) == len(seqs) || len(accepted) == 0 {
		t.Errorf("%d of %d accepted: nothing was shown", len(accepted), len(seqs))
	}
}

// A write waits for the row while another raises the fence: it is judged by the row
// as it then is.
func TestWriteThatWaitsIsJudgedAnew(t *testing.T) {
	t.Parallel()
	server := startPostgres(t)
	for name, c := range map[string]struct {
		end     string
		refused bool
	}{
		// The fence was raised to 34 meanwhile.
		"committed": {"COMMIT", true},
		// It was not, after all.
		"rolled back": {"ROLLBACK", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			endpoint := space(t, server, histories.FenceWrites, map[string]string{"R": "0"})
			_, spaceName, _ := strings.Cut(endpoint, "#")
			other, look := connect(t, server), connect(t, server)
			exec(t, other, "BEGIN")
			exec(t, other, `UPDATE leasehold_resource SET highest = 34, seq = seq + 1 WHERE space = $1 AND name = 'R'`, spaceName)
			r := dial(t, endpoint)
			answered := make(chan error, 1)
			go func() {
				_, err := r.Write(t.Context(), "R", histories.Some(int64(33)), "late")
				answered <- err
			}()
			for waits := false; !waits; {
				err := look.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_stat_activity
					WHERE pg_blocking_pids(pid) @> ARRAY[$1::int])`, other.PgConn().PID()).Scan(&waits)
				if err != nil {
					t.Fatal(err)
				}
			}
			exec(t, other, c.end)
			err := <-answered
			if refused, ok := resource.AsRefused(err); ok != c.refused || ok && refused.Highest != 34 || !ok && err != nil {
				t.Errorf("%v", err)
			}
		})
	}
}

// At "sent" the request can't be taken back: the client's process stands still for
// good, and the write is done.
func TestSentIsSent(t *testing.T) {
	t.Parallel()
	endpoint := space(t, startPostgres(t), histories.FenceOff, map[string]string{"R": "0"})
	stopped, observer := dial(t, endpoint), dial(t, endpoint)
	free := make(chan struct{})
	ctx := point.With(t.Context(), func(histories.Point) { <-free })
	done := make(chan error, 1)
	go func() {
		_, err := stopped.Write(ctx, "R", resource.Token{}, "1")
		done <- err
	}()
	for value := "0"; value != "1"; {
		a, err := observer.Read(t.Context(), "R", resource.Token{})
		if err != nil {
			t.Fatal(err)
		}
		value = a.Value
	}
	close(free)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// A space is prepared once, with a fence that exists, and is not dialled before.
func TestPrepare(t *testing.T) {
	t.Parallel()
	server := startPostgres(t)
	endpoint := space(t, server, "", nil)
	if err := postgres.Prepare(t.Context(), endpoint, resource.ServerOptions{}); err == nil {
		t.Error("prepared twice")
	}
	if err := postgres.Prepare(t.Context(), endpoint+"2", resource.ServerOptions{Fence: "reads"}); err == nil {
		t.Error("prepared with an unknown fence")
	}
	for _, wrong := range []string{server, server + "#", endpoint + "3", "postgres://127.0.0.1:1/x#a", "://#a"} {
		if _, err := postgres.Dial(t.Context(), wrong); err == nil {
			t.Errorf("dialled %q", wrong)
		}
	}
}

func connect(t *testing.T, server string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func exec(t *testing.T, conn *pgx.Conn, sql string, args ...any) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}
