package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-checker/leasehold/histories"
)

// The scripts go with EVAL, not EVALSHA: a server that was restarted does not know
// the digest, and one attempt shall be one request.
const (
	compareAndDelete = `if redis.call("get", KEYS[1]) == ARGV[1] then
	return redis.call("del", KEYS[1])
else
	return 0
end`

	compareAndExpire = `if redis.call("get", KEYS[1]) == ARGV[1] then
	return redis.call("pexpire", KEYS[1], ARGV[2])
else
	return 0
end`

	// The counter comes first: should it fail (it is no number), nothing was done. It
	// is read back as text, because numbers of Lua are exact up to 2^53 only.
	setAndCount = `if redis.call("exists", KEYS[1]) == 1 then
	return false
end
redis.call("incr", KEYS[2])
redis.call("set", KEYS[1], ARGV[1], "NX", "PX", ARGV[2])
return redis.call("get", KEYS[2])`
)

// takeSet is the textbook's SET NX PX.
func takeSet(ctx context.Context, client *goredis.Client, k keys, value string, ttl time.Duration) (grant, error) {
	granted, err := client.SetNX(ctx, k.lock, value, ttl).Result()
	return grant{granted: granted}, err
}

// takeCounter is the same and a counter, in one script.
func takeCounter(ctx context.Context, client *goredis.Client, k keys, value string, ttl time.Duration) (grant, error) {
	text, err := client.Eval(ctx, setAndCount, []string{k.lock, k.counter}, value, ttl.Milliseconds()).Text()
	if errors.Is(err, goredis.Nil) {
		return grant{}, nil
	}
	if err != nil {
		return grant{}, err
	}
	token, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return grant{}, fmt.Errorf("parse token: %w", err)
	}
	return grant{granted: true, token: histories.Some(token)}, nil
}

func drawCounter(ctx context.Context, client *goredis.Client, k keys) (int64, error) {
	return client.Incr(ctx, k.counter).Result()
}

// CompareAndDelete deletes the key if it has the value, and tells whether it had.
func CompareAndDelete(ctx context.Context, client goredis.Scripter, key, value string) (bool, error) {
	n, err := client.Eval(ctx, compareAndDelete, []string{key}, value).Int64()
	return n == 1, err
}

// CompareAndExpire lets the key expire after the ttl from now if it has the value, and
// tells whether it had.
func CompareAndExpire(ctx context.Context, client goredis.Scripter, key, value string, ttl time.Duration) (bool, error) {
	n, err := client.Eval(ctx, compareAndExpire, []string{key}, value, ttl.Milliseconds()).Int64()
	return n == 1, err
}
