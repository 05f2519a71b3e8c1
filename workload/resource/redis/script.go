package redis

import (
	"context"
	"fmt"
	"strconv"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload/point"
	"github.com/leasehold-checker/leasehold/workload/resource"
)

// script is one operation. KEYS: the fence mode, the resource. ARGV: open, read or
// write; the token in decimal, or "" for none; the value of a write. It answers
// {accepted, seq, value} or {refused, seq, highest}, all of it text.
//
// Numbers of Lua are doubles: 2^53 and 2^53+1 are one number there, and a fence that
// compared them would let the older token pass. So a token is compared in two parts,
// each well below 2^53: the digits before the last fifteen (four at most), and the last
// fifteen. (Comparing as text would do for digits, but Lua's text order is that of the
// server's locale.)
//
// An equal token passes: a holder acts many times under one token. Without a token
// nobody can write past a fence, but an observer may look, and raises nothing.
//
// The first write of the script is the one that can be refused as a whole (out of
// memory, read-only replica); what follows it is not.
const script = `
local fence = redis.call("get", KEYS[1])
if not fence then
	return redis.error_reply("UNPREPARED the resource does not know its fence mode")
end
local op, token = ARGV[1], ARGV[2]

local function parts(t)
	local sign, digits = 1, t
	if string.sub(t, 1, 1) == "-" then
		sign, digits = -1, string.sub(t, 2)
	end
	digits = string.rep("0", 19 - #digits) .. digits
	return sign * tonumber(string.sub(digits, 1, 4), 10), sign * tonumber(string.sub(digits, 5), 10)
end
local function below(a, b)
	local ahigh, alow = parts(a)
	local bhigh, blow = parts(b)
	return ahigh < bhigh or ahigh == bhigh and alow < blow
end

redis.call("hincrby", KEYS[2], "seq", 1)
local seq = redis.call("hget", KEYS[2], "seq")
if fence == "all" or fence == "writes" and op == "write" then
	local highest = redis.call("hget", KEYS[2], "highest")
	if token == "" then
		if op == "write" then
			return {"refused", seq, highest or "0"}
		end
	elseif highest and below(token, highest) then
		return {"refused", seq, highest}
	else
		redis.call("hset", KEYS[2], "highest", token)
	end
end
if op == "write" then
	redis.call("hset", KEYS[2], "value", ARGV[3])
elseif op == "read" then
	return {"accepted", seq, redis.call("hget", KEYS[2], "value") or ""}
end
return {"accepted", seq, ""}`

// do sends one operation with EVAL, never EVALSHA: after a restart the server would not
// know the digest, and one operation is one request.
func (c *Client) do(ctx context.Context, verb, name string, token resource.Token, value string) (resource.Answer, error) {
	select {
	case <-c.slot:
		defer func() { c.slot <- struct{}{} }()
	case <-ctx.Done():
		return resource.Answer{}, fmt.Errorf("%s redis resource %s: %w", verb, name, ctx.Err())
	}
	answer, err := c.roundTrip(ctx, verb, name, token, value)
	if err != nil {
		return resource.Answer{}, fmt.Errorf("%s redis resource %s: %w", verb, name, err)
	}
	return parse(answer, verb, name)
}

func (c *Client) roundTrip(ctx context.Context, verb, name string, token resource.Token, value string) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	text := ""
	if n, known := token.Get(); known {
		text = strconv.FormatInt(n, 10)
	}
	// go-redis itself only looks at deadlines.
	stop := context.AfterFunc(ctx, c.wire.hangUp)
	defer stop()
	if verb == "write" {
		defer c.wire.watch(func() { point.Reach(ctx, histories.PointSent) })()
	}
	keys := []string{fenceKey(c.prefix), resourceKey(c.prefix, name)}
	answer, err := c.client.Eval(ctx, script, keys, verb, text, value).StringSlice()
	if cause := ctx.Err(); err != nil && cause != nil {
		err = fmt.Errorf("%w (%w)", cause, err)
	}
	return answer, err
}

func parse(answer []string, verb, name string) (resource.Answer, error) {
	if len(answer) != 3 {
		return resource.Answer{}, fmt.Errorf("%s redis resource %s: answer of %d parts", verb, name, len(answer))
	}
	seq, err := strconv.ParseInt(answer[1], 10, 64)
	if err != nil {
		return resource.Answer{}, fmt.Errorf("%s redis resource %s: parse commit number: %w", verb, name, err)
	}
	if answer[0] == "accepted" {
		return resource.Answer{Value: answer[2], Seq: histories.Some(seq)}, nil
	}
	highest, err := strconv.ParseInt(answer[2], 10, 64)
	if err != nil {
		return resource.Answer{}, fmt.Errorf("%s redis resource %s: parse highest token: %w", verb, name, err)
	}
	return resource.Answer{}, &resource.Refused{Seq: histories.Some(seq), Highest: highest}
}
