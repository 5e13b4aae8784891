"""pypegasus3 against a live cluster: put, get, remove, ttl, expiry, sizes, binary keys. Run by clients_test.py.

SPDX-License-Identifier: Apache-2.0
"""

import sys
import time

from pypegasus.pgclient import Pegasus
from twisted.internet import reactor
from twisted.internet.defer import Deferred, inlineCallbacks

OK = 0
exit_code = 1


def pause(seconds):
    done = Deferred()
    reactor.callLater(seconds, done.callback, None)
    return done


def expect(what, got, want):
    if got != want:
        raise AssertionError(f"{what}: got {str(got)[:200]}, want {str(want)[:200]}")


@inlineCallbacks
def check(meta):
    client = Pegasus([meta], "temp", 5000)
    if not (yield client.init()):
        raise AssertionError("init failed")
    for size in (1, 1000, 100000, 1000000):
        value = (b"\x00\xff\n" * size)[:size]
        code, _ = yield client.set(b"py-sizes", str(size).encode(), value, 0, 5000)
        expect(f"set of {size} bytes", code, OK)
        code, got = yield client.get(b"py-sizes", str(size).encode(), 5000)
        expect(f"get of {size} bytes: code", code, OK)
        expect(f"get of {size} bytes", got, value)
    for hash_key, sort_key in ((b"py\x00zero", b"\x00\x00"), (b"py-lonely", b""), (bytes(range(256)), bytes(range(256)))):
        code, _ = yield client.set(hash_key, sort_key, b"binary", 0, 5000)
        expect("set of a binary key", code, OK)
        code, got = yield client.get(hash_key, sort_key, 5000)
        expect("get of a binary key", (code, got), (OK, b"binary"))
    code, _ = yield client.set(b"py-life", b"s", b"v", 0, 5000)
    expect("set", code, OK)
    code, seconds = yield client.ttl(b"py-life", b"s", 5000)
    expect("ttl without expiry", (code, seconds), (OK, -1))
    code, _ = yield client.remove(b"py-life", b"s", 5000)
    expect("remove", code, OK)
    code, _ = yield client.get(b"py-life", b"s", 5000)
    if code == OK:
        raise AssertionError("a removed record is still there")
    code, _ = yield client.set(b"py-mortal", b"s", b"v", 2, 5000)
    expect("set with ttl", code, OK)
    for _ in range(80):
        code, _ = yield client.get(b"py-mortal", b"s", 5000)
        if code != OK:
            break
        yield pause(0.1)
    else:
        raise AssertionError("a record with a ttl of 2 s is still there after 8 s")
    for i in range(200):
        code, _ = yield client.set(f"py-{i}".encode(), b"s", f"value {i}".encode(), 0, 5000)
        expect(f"set {i}", code, OK)
    for i in range(200):
        code, got = yield client.get(f"py-{i}".encode(), b"s", 5000)
        expect(f"get {i}", (code, got), (OK, f"value {i}".encode()))


@inlineCallbacks
def main():
    global exit_code
    try:
        yield check(sys.argv[1])
        print("check: ok")
        exit_code = 0
    except Exception as error:  # printed, and the exit code says it
        print(f"check: {error!r}")
    reactor.stop()


reactor.callWhenRunning(main)
reactor.callLater(90, reactor.stop)
reactor.run()
sys.exit(exit_code)
