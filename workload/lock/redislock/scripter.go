package redislock

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/bsm/redislock"
	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-checker/leasehold/workload/lock/redis"
)

// scripter is the client as the library sees it, and remembers how its newest request
// went. Until the lock is granted, a request that has begun is ended by its answer, or
// by redis.AnswerLimit, and not by the end of its context: so there is hardly ever a
// doubt about it.
type scripter struct {
	redislock.RedisClient
	last atomic.Pointer[request]
	held atomic.Bool
}

// request is what was seen of one.
type request struct {
	sent time.Time
	err  error // nil: the script was carried out
}

// Eval is the second request of a script that the server did not know.
func (s *scripter) Eval(ctx context.Context, script string, keys []string, args ...any) *goredis.Cmd {
	return s.do(ctx, func(ctx context.Context) *goredis.Cmd { return s.RedisClient.Eval(ctx, script, keys, args...) })
}

// EvalSha is the first request of every script.
func (s *scripter) EvalSha(ctx context.Context, digest string, keys []string, args ...any) *goredis.Cmd {
	return s.do(ctx, func(ctx context.Context) *goredis.Cmd { return s.RedisClient.EvalSha(ctx, digest, keys, args...) })
}

func (s *scripter) do(ctx context.Context, send func(context.Context) *goredis.Cmd) *goredis.Cmd {
	if err := ctx.Err(); err != nil {
		cmd := goredis.NewCmd(ctx)
		cmd.SetErr(err) // not sent, and so not remembered
		return cmd
	}
	if s.held.Load() {
		return send(ctx)
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), redis.AnswerLimit)
	defer cancel()
	r := &request{sent: time.Now()}
	cmd := send(limited)
	if err := cmd.Err(); !errors.Is(err, goredis.Nil) && !unknownScript(err) {
		r.err = err
	}
	s.last.Store(r)
	return cmd
}

// unknownScript is the answer after which the library sends the script itself.
func unknownScript(err error) bool {
	return errors.Is(err, goredis.ErrNoScript) || goredis.HasErrorPrefix(err, "NOSCRIPT")
}

// granted ends the watch and tells when the request was sent that was granted.
func (s *scripter) granted() time.Time {
	s.held.Store(true)
	return s.last.Load().sent
}

// lastError is why the newest request has no answer, or the server's refusal.
func (s *scripter) lastError() error {
	if r := s.last.Load(); r != nil {
		return r.err
	}
	return nil
}
