"""pypegasus3 against a live cluster: all it can. Run by clients_test.py.

SPDX-License-Identifier: Apache-2.0
"""

import sys
import time

from pypegasus.pgclient import Pegasus
from pypegasus.utils.tools import ScanOptions
from twisted.internet import reactor
from twisted.internet.defer import Deferred, inlineCallbacks

OK = 0
INCOMPLETE = 38  # what the client makes of 7
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
    yield check_scans(client)
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
    yield check_several(client)


# The client makes texts of what it is given in sets and dictionaries; what it gives back are bytes.
def as_bytes(records):
    return {key.encode(): value.encode() for key, value in records.items()}


@inlineCallbacks
def check_several(client):
    hash_key = b"py-several-" + str(time.time_ns()).encode()
    records = {f"s{i}": f"v{i}" for i in range(10)}
    code, _ = yield client.multi_set(hash_key, records, 0, 5000)
    expect("multi_set", code, OK)
    code, got = yield client.multi_get(hash_key, {"s1", "s7", "none"}, 100, 1000000, False, 5000)
    expect("multi_get of points", (code, dict(got)), (OK, {b"s1": b"v1", b"s7": b"v7"}))
    code, got = yield client.multi_get(hash_key, set(), 100, 1000000, False, 5000)
    expect("multi_get of all", (code, dict(got)), (OK, as_bytes(records)))
    code, got = yield client.multi_get(hash_key, set(), 3, 1000000, True, 5000)
    expect("multi_get cut by its count", (code, dict(got)), (INCOMPLETE, {b"s0": b"", b"s1": b"", b"s2": b""}))
    code, count = yield client.sort_key_count(hash_key, 5000)
    expect("sort_key_count", (code, count), (OK, 10))
    code, count = yield client.multi_del(hash_key, {"s1", "s2", "none"}, 5000)
    expect("multi_del", (code, count), (OK, 3))
    code, count = yield client.sort_key_count(hash_key, 5000)
    expect("sort_key_count after multi_del", (code, count), (OK, 8))
    # The empty sort key is left out of a range that does not say that its start is inclusive.
    code, _ = yield client.set(hash_key, b"", b"empty", 0, 5000)
    expect("set of the empty sort key", code, OK)
    code, got = yield client.multi_get(hash_key, set(), 100, 1000000, False, 5000)
    expect("multi_get without the empty sort key", (code, len(got)), (OK, 8))


# Before there are keys that aren't UTF-8, which the client can't scan; nor can it without a stop key.
@inlineCallbacks
def check_scans(client):
    hash_key = "py-scan-" + str(time.time_ns())
    records = {f"s{i}": f"v{i}" for i in range(25)}
    code, _ = yield client.multi_set(hash_key, records, 0, 5000)
    expect("multi_set", code, OK)
    wanted = {(hash_key, key): value.encode() for key, value in records.items()}
    for batch_size in (1, 7, 25, 1000):
        options = ScanOptions()
        options.batch_size = batch_size
        got = yield drain(client.get_scanner(hash_key, "", "t", options))
        expect(f"scan in batches of {batch_size}", got, wanted)
    options = ScanOptions()
    options.batch_size = 10
    everything = {}
    for scanner in client.get_unordered_scanners(3, options):
        got = yield drain(scanner)
        everything.update(got)
    expect("scan of everything", everything, wanted)
    options = ScanOptions()
    options.batch_size = 1
    scanner = client.get_scanner(hash_key, "", "t", options)
    yield scanner.get_next()
    scanner.close()  # is never answered; the connection must go on working
    code, got = yield client.get(hash_key, "s1", 5000)
    expect("get after close", (code, got), (OK, b"v1"))


@inlineCallbacks
def drain(scanner):
    found = {}
    while True:
        record = yield scanner.get_next()
        if record is None:
            return found
        (hash_key, sort_key), value = record
        found[(hash_key, sort_key)] = value


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
