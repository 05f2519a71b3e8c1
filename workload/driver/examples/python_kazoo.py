#!/usr/bin/python3
"""kazoo's Lock recipe on ZooKeeper. The token is the czxid of the lock's own node.

It is read in a second step: it counts only if the node is our session's, and is still
there."""

import kazoo
from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import LockTimeout, NoNodeError

from leasehold_driver import No, serve

clients = {}
locks = {}
hosts, prefix = "", ""


def init(request):
    """A client for the first connection; its session is the lease, so that every hold
    gets one of its own, with the ttl that it asks for."""
    global hosts, prefix
    hosts, prefix = ",".join(request["endpoints"]), request["prefix"]
    connect(10000).stop()


def connect(ttl_ms):
    client = KazooClient(hosts=hosts, timeout=ttl_ms / 1000, connection_retry=None, command_retry=None)
    client.start(timeout=10)
    return client


def path(key):
    return "/" + key.replace("/", "_")


def acquire(request):
    key = request["key"]
    client = connect(request["ttl_ms"])
    lock = client.Lock(path(key), "leasehold")
    try:
        if not lock.acquire(timeout=max(request["wait_ms"] / 1000, 0.05)):
            raise No("held")
    except LockTimeout:
        stop(client)
        raise No("held")
    try:
        _, stat = client.get(lock.path + "/" + lock.node)
    except NoNodeError:
        stop(client)
        raise No("lost", "the node was gone when its number was read")
    if stat.ephemeralOwner != client.client_id[0]:
        stop(client)
        raise No("lost", "the node is another session's")
    clients[key], locks[key] = client, lock
    # What the server made of the timeout that was asked for.
    ttl = client._session_timeout if hasattr(client, "_session_timeout") else request["ttl_ms"]
    return {"token": str(stat.czxid), "ttl_ms": int(ttl), "session": "%x" % client.client_id[0]}


def stop(client):
    client.stop()
    client.close()


def check(request):
    client, lock = clients.get(request["key"]), locks.get(request["key"])
    return {"held": lock is not None and lock.is_acquired and client.state == KazooState.CONNECTED}


def release(request):
    client, lock = clients.pop(request["key"], None), locks.pop(request["key"], None)
    if lock is None:
        raise No("lost", "nothing was taken")
    try:
        if not lock.release():
            raise No("lost", "the lock was not acquired any more")
    finally:
        stop(client)


serve(
    {"protocol": 1, "driver": "kazoo/" + kazoo.__version__, "store": "zookeeper", "tokens": True, "least_ttl_ms": 400, "late_ms": 1000},
    {"init": init, "acquire": acquire, "check": check, "release": release},
)
