package redis

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"net"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/leasehold-checker/leasehold/workload/lock"
)

const (
	// dialTimeout bounds a connection attempt, and the first answer.
	dialTimeout = 5 * time.Second
	// AnswerLimit bounds the wait for an answer that has no other bound.
	AnswerLimit = 2 * time.Second
	// ErrRefused is the error word for a request that the server would not carry out.
	ErrRefused = "refused"
)

// Options are those of every go-redis client of ours: each request is sent once, and
// only its context bounds it.
//
// go-redis's own deadline, of five seconds, would have passed for every request in
// whose middle the process was stopped for longer, though its answer is there. So
// every request must come with a context that ends.
func Options(endpoint string) *goredis.Options {
	return &goredis.Options{
		Addr:                     endpoint,
		Protocol:                 2,  // nothing is pushed between request and answer
		MaxRetries:               -1, // 0 would mean 3
		DialerRetries:            1,
		DialTimeout:              dialTimeout,
		ReadTimeout:              -1,
		WriteTimeout:             -1,
		ContextTimeoutEnabled:    true,
		ConnMaxIdleTime:          -1,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		Dialer:                   dial,
	}
}

// Connect makes a client for the server at the endpoint, "host:port", and makes sure
// that it answers.
func Connect(ctx context.Context, endpoint string) (*goredis.Client, error) {
	client := goredis.NewClient(Options(endpoint))
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if err := client.Ping(ctx).Err(); err != nil {
		client.Close()
		return nil, fmt.Errorf("connect to redis at %s: %w", endpoint, err)
	}
	return client, nil
}

// notSent marks an error of dialling.
type notSent struct{ err error }

func (e *notSent) Error() string { return e.err.Error() }
func (e *notSent) Unwrap() error { return e.err }

func dial(ctx context.Context, network, address string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, &notSent{err}
	}
	return conn, nil
}

// NotSent tells whether the request certainly never left: there was no connection.
func NotSent(err error) bool {
	var n *notSent
	return errors.As(err, &n)
}

// refusals are the error codes with which a server tells that it did not carry out a
// request. The plain "ERR" is not among them: proxies say it, too, when they lost the
// server behind them.
var refusals = [...]string{"BUSY", "LOADING", "MASTERDOWN", "MISCONF", "NOAUTH", "NOPERM", "NOREPLICAS", "OOM", "READONLY", "WRONGTYPE"}

// Refused tells whether err is the server's definite no to a request.
func Refused(err error) bool {
	var reply goredis.Error
	if !errors.As(err, &reply) {
		return false
	}
	code, _, _ := strings.Cut(reply.Error(), " ")
	for _, r := range refusals {
		if code == r {
			return true
		}
	}
	return false
}

// NewValue is a fresh owner value: 20 random bytes, as the Redis documentation has it.
func NewValue() string {
	b := make([]byte, 20)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// WholeMS is the ttl as it is set: in whole milliseconds, never less than was asked for.
func WholeMS(ttl time.Duration) (time.Duration, error) {
	if ttl <= 0 || ttl > math.MaxInt64-time.Millisecond {
		return 0, lock.Definite(ErrRefused, fmt.Errorf("ttl of %v", ttl))
	}
	const whole = int64(time.Millisecond)
	return time.Duration((int64(ttl)-1)/whole+1) * time.Millisecond, nil
}

// Empty proves that no key of any of the servers has the prefix. Anything else is an
// error.
func Empty(ctx context.Context, endpoints []string, prefix string) error {
	for _, endpoint := range endpoints {
		if err := empty(ctx, endpoint, prefix); err != nil {
			return fmt.Errorf("look at prefix %s at %s: %w", prefix, endpoint, err)
		}
	}
	return nil
}

func empty(ctx context.Context, endpoint, prefix string) error {
	client, err := Connect(ctx, endpoint)
	if err != nil {
		return err
	}
	defer client.Close()
	// A glob's own signs in the prefix stand for themselves.
	pattern := strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(prefix) + "*"
	keys := client.Scan(ctx, 0, pattern, 1000).Iterator()
	if keys.Next(ctx) {
		return fmt.Errorf("not fresh: there is key %s", keys.Val())
	}
	return keys.Err()
}
