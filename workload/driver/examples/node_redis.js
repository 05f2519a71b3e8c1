#!/usr/bin/env node
// The textbook lock on Redis through Debian's node-redis: SET NX PX, a script that
// compares and deletes, and a counter raised in the same script, which is the token.
"use strict";

const readline = require("readline");
const crypto = require("crypto");
const { createClient } = require("redis");

const TAKE = `if redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then
  return tostring(redis.call("INCR", KEYS[1] .. ":token"))
end
return false`;
const GIVE = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end
return 0`;

let client;
const holds = new Map(); // key -> {owner, until}

class No extends Error {
  constructor(err, text) {
    super(text);
    this.err = err;
  }
}

const operations = {
  describe: async () => ({ protocol: 1, driver: "node-redis/4", store: "redis", tokens: true, can_ask: true, late_ms: 200 }),
  init: async (r) => {
    client = createClient({ url: "redis://" + r.endpoints[0], socket: { reconnectStrategy: false } });
    client.on("error", (e) => console.error(e));
    await client.connect();
  },
  acquire: async (r) => {
    const owner = crypto.randomUUID();
    const end = performance.now() + r.wait_ms;
    for (;;) {
      const asked = performance.now();
      const token = await client.eval(TAKE, { keys: [r.key], arguments: [owner, String(r.ttl_ms)] });
      if (token) {
        holds.set(r.key, { owner, until: asked + r.ttl_ms });
        return { token, ttl_ms: r.ttl_ms };
      }
      if (performance.now() >= end) throw new No("held");
      await new Promise((done) => setTimeout(done, 50));
    }
  },
  check: async (r) => ({ held: holds.has(r.key) && performance.now() < holds.get(r.key).until }),
  ask: async (r) => ({ held: holds.has(r.key) && (await client.get(r.key)) === holds.get(r.key).owner }),
  release: async (r) => {
    const hold = holds.get(r.key);
    holds.delete(r.key);
    if (!hold || !(await client.eval(GIVE, { keys: [r.key], arguments: [hold.owner] }))) throw new No("lost");
    return {};
  },
  shutdown: async () => ({}),
};

// One request at a time, in their order.
(async () => {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const r = JSON.parse(line);
    let answer;
    try {
      if (!operations[r.op]) throw new No("not-supported", r.op);
      answer = { id: r.id, ok: true, ...(await operations[r.op](r)) };
    } catch (e) {
      answer = { id: r.id, ok: false, err: e.err || "unavailable", text: String(e.message || e), definite: e instanceof No };
    }
    process.stdout.write(JSON.stringify(answer) + "\n");
    if (r.op === "shutdown") break;
  }
  process.exit(0);
})();
