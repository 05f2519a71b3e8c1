#!/usr/bin/python3
"""redis-py's own Lock, as its documentation shows it. It issues no tokens."""

import redis
from redis.exceptions import LockNotOwnedError, LockError

from leasehold_driver import No, serve

client = None
locks = {}


def init(request):
    global client
    host, port = request["endpoints"][0].rsplit(":", 1)
    client = redis.Redis(host=host, port=int(port), retry_on_timeout=False)
    client.ping()


def acquire(request):
    key = request["key"]
    lock = client.lock(key, timeout=request["ttl_ms"] / 1000, sleep=0.05, thread_local=False)
    if not lock.acquire(blocking=True, blocking_timeout=request["wait_ms"] / 1000):
        raise No("held")
    locks[key] = lock
    return {"ttl_ms": request["ttl_ms"]}


def check(request):
    """The library keeps no time: it believes that it holds what it took."""
    lock = locks.get(request["key"])
    return {"held": lock is not None and lock.local.token is not None}


def ask(request):
    lock = locks.get(request["key"])
    return {"held": lock is not None and lock.owned()}


def release(request):
    lock = locks.pop(request["key"], None)
    if lock is None:
        raise No("lost", "nothing was taken")
    try:
        lock.release()
    except LockNotOwnedError as gone:
        raise No("lost", str(gone))
    except LockError as gone:
        raise No("lost", str(gone))


serve(
    {"protocol": 1, "driver": "redis-py/" + redis.__version__, "store": "redis", "can_ask": True, "late_ms": 200},
    {"init": init, "acquire": acquire, "check": check, "ask": ask, "release": release},
)
