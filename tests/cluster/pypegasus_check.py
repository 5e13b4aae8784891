"""pypegasus3 against a live cluster: all it can, a line "row<tab>operation<tab>edge<tab>ok or what is wrong" for each
case. Run by clients_test.py with the meta server and a table of its own.

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
CASES = []
exit_code = 1


def case(operation, edge):
    def register(function):
        CASES.append((operation, edge, inlineCallbacks(function)))
        return function
    return register


def pause(seconds):
    done = Deferred()
    reactor.callLater(seconds, done.callback, None)
    return done


def expect(what, got, want):
    if got != want:
        raise AssertionError(f"{what}: got {str(got)[:200]}, want {str(want)[:200]}")


# The client makes texts of what it is given in sets and dictionaries; what it gives back are bytes.
def as_bytes(records):
    return {key.encode(): value.encode() for key, value in records.items()}


@inlineCallbacks
def filled(client, hash_key, count):
    records = {f"s{i}": f"v{i}" for i in range(count)}
    code, _ = yield client.multi_set(hash_key, records, 0, 5000)
    expect("multi_set", code, OK)
    return records


@inlineCallbacks
def drain(scanner):
    found = {}
    while True:
        record = yield scanner.get_next()
        if record is None:
            return found
        (hash_key, sort_key), value = record
        found[(hash_key, sort_key)] = value


# Scans come first: later there are keys that aren't UTF-8, which the client can't scan; nor can it without a stop key.

@case("GET_SCANNER", "one hash key, in batches")
def _(client, hash_key):
    records = yield filled(client, hash_key, 25)
    wanted = {(hash_key, key): value.encode() for key, value in records.items()}
    for batch_size in (1, 7, 25, 1000):
        options = ScanOptions()
        options.batch_size = batch_size
        got = yield drain(client.get_scanner(hash_key, "", "t", options))
        expect(f"scan in batches of {batch_size}", got, wanted)


@case("SCAN", "all partitions, by pypegasus' stop key")
def _(client, hash_key):
    yield filled(client, hash_key, 25)
    options = ScanOptions()
    options.batch_size = 10
    everything = {}
    for scanner in client.get_unordered_scanners(3, options):
        got = yield drain(scanner)
        everything.update(got)
    mine = {key for key in everything if key[0] == hash_key}
    expect("records", len(mine), 25)


@case("CLEAR_SCANNER", "the connection goes on working")
def _(client, hash_key):
    yield filled(client, hash_key, 3)
    options = ScanOptions()
    options.batch_size = 1
    scanner = client.get_scanner(hash_key, "", "t", options)
    yield scanner.get_next()
    scanner.close()  # is never answered
    code, got = yield client.get(hash_key, "s1", 5000)
    expect("get after close", (code, got), (OK, b"v1"))


@case("PUT", "new and overwritten: value and expiry are replaced")
def _(client, hash_key):
    for value, ttl in ((b"one", 1000), (b"two", 0)):
        code, _ = yield client.set(hash_key, b"s", value, ttl, 5000)
        expect("set", code, OK)
        code, got = yield client.get(hash_key, b"s", 5000)
        expect("get", (code, got), (OK, value))
    code, seconds = yield client.ttl(hash_key, b"s", 5000)
    expect("ttl", (code, seconds), (OK, -1))


@case("PUT", "values of 1 byte to 1 MB")
def _(client, hash_key):
    for size in (1, 1000, 100000, 1000000):
        value = (b"\x00\xff\n" * size)[:size]
        code, _ = yield client.set(hash_key, str(size).encode(), value, 0, 5000)
        expect(f"set of {size} bytes", code, OK)
        code, got = yield client.get(hash_key, str(size).encode(), 5000)
        expect(f"get of {size} bytes: code", code, OK)
        expect(f"get of {size} bytes", got, value)


@case("PUT", "keys of any bytes")
def _(client, hash_key):
    for hashed, sort_key in ((b"py\x00zero", b"\x00\x00"), (b"py-lonely", b""), (bytes(range(256)), bytes(range(256)))):
        code, _ = yield client.set(hashed, sort_key, b"binary", 0, 5000)
        expect("set of a binary key", code, OK)
        code, got = yield client.get(hashed, sort_key, 5000)
        expect("get of a binary key", (code, got), (OK, b"binary"))


@case("PUT", "an empty hash key with a sort key")
def _(client, hash_key):
    code, _ = yield client.set(b"", hash_key.encode(), b"v", 0, 5000)
    expect("set", code, OK)
    code, got = yield client.get(b"", hash_key.encode(), 5000)
    expect("get", (code, got), (OK, b"v"))


@case("PUT", "200 records, each read back")
def _(client, hash_key):
    for i in range(200):
        code, _ = yield client.set(f"{hash_key}{i}".encode(), b"s", f"value {i}".encode(), 0, 5000)
        expect(f"set {i}", code, OK)
    for i in range(200):
        code, got = yield client.get(f"{hash_key}{i}".encode(), b"s", 5000)
        expect(f"get {i}", (code, got), (OK, f"value {i}".encode()))


@case("REMOVE", "present and absent")
def _(client, hash_key):
    yield filled(client, hash_key, 1)
    for _ in range(2):
        code, _ = yield client.remove(hash_key, b"s0", 5000)
        expect("remove", code, OK)
    code, _ = yield client.get(hash_key, b"s0", 5000)
    if code == OK:
        raise AssertionError("a removed record is still there")


@case("TTL", "none, some, and of a missing record")
def _(client, hash_key):
    yield client.set(hash_key, b"a", b"v", 0, 5000)
    yield client.set(hash_key, b"b", b"v", 1000, 5000)
    code, seconds = yield client.ttl(hash_key, b"a", 5000)
    expect("ttl without expiry", (code, seconds), (OK, -1))
    code, seconds = yield client.ttl(hash_key, b"b", 5000)
    expect("ttl", (code, 990 <= seconds <= 1000), (OK, True))
    code, _ = yield client.ttl(hash_key, b"c", 5000)
    expect("ttl of a missing record is an error", code != OK, True)


@case("TTL", "a record that expires is gone for every operation")
def _(client, hash_key):
    yield client.set(hash_key, b"s", b"v", 2, 5000)
    for _ in range(80):
        code, _ = yield client.get(hash_key, b"s", 5000)
        if code != OK:
            break
        yield pause(0.1)
    else:
        raise AssertionError("a record with a ttl of 2 s is still there after 8 s")
    code, count = yield client.sort_key_count(hash_key, 5000)
    expect("sort_key_count", (code, count), (OK, 0))


@case("MULTI_PUT", "with a TTL for all")
def _(client, hash_key):
    code, _ = yield client.multi_set(hash_key, {"a": "1", "b": "2"}, 1000, 5000)
    expect("multi_set", code, OK)
    code, seconds = yield client.ttl(hash_key, b"b", 5000)
    expect("ttl", (code, 990 <= seconds <= 1000), (OK, True))


@case("MULTI_GET", "points, and a whole hash key")
def _(client, hash_key):
    records = yield filled(client, hash_key, 10)
    code, got = yield client.multi_get(hash_key, {"s1", "s7", "none"}, 100, 1000000, False, 5000)
    expect("multi_get of points", (code, dict(got)), (OK, {b"s1": b"v1", b"s7": b"v7"}))
    code, got = yield client.multi_get(hash_key, set(), 100, 1000000, False, 5000)
    expect("multi_get of all", (code, dict(got)), (OK, as_bytes(records)))


@case("MULTI_GET", "limits by count and size; the record that crosses is still returned")
def _(client, hash_key):
    yield filled(client, hash_key, 10)
    code, got = yield client.multi_get(hash_key, set(), 3, 1000000, True, 5000)
    expect("multi_get cut by its count", (code, dict(got)), (INCOMPLETE, {b"s0": b"", b"s1": b"", b"s2": b""}))
    code, got = yield client.multi_get(hash_key, set(), 100, 5, False, 5000)
    expect("multi_get cut by its size", (code, dict(got)), (INCOMPLETE, {b"s0": b"v0", b"s1": b"v1"}))


@case("MULTI_GET", "negative limits are the server's")
def _(client, hash_key):
    records = yield filled(client, hash_key, 10)
    code, got = yield client.multi_get(hash_key, set(), -1, -1, False, 5000)
    expect("multi_get", (code, dict(got)), (OK, as_bytes(records)))


@case("MULTI_GET", "a whole hash key with an empty sort key")
def _(client, hash_key):
    yield filled(client, hash_key, 2)
    yield client.set(hash_key, b"", b"empty", 0, 5000)
    # It is left out of a range that does not say that its start is inclusive.
    code, got = yield client.multi_get(hash_key, set(), 100, 1000000, False, 5000)
    expect("multi_get", (code, len(got)), (OK, 2))


@case("MULTI_REMOVE", "existing and missing keys")
def _(client, hash_key):
    yield filled(client, hash_key, 10)
    code, count = yield client.multi_del(hash_key, {"s1", "s2", "none"}, 5000)
    expect("multi_del", (code, count), (OK, 3))
    code, count = yield client.sort_key_count(hash_key, 5000)
    expect("sort_key_count after multi_del", (code, count), (OK, 8))


@case("SORTKEY_COUNT", "some and none")
def _(client, hash_key):
    code, count = yield client.sort_key_count(hash_key, 5000)
    expect("of nothing", (code, count), (OK, 0))
    yield filled(client, hash_key, 10)
    code, count = yield client.sort_key_count(hash_key, 5000)
    expect("of ten", (code, count), (OK, 10))


@inlineCallbacks
def main():
    global exit_code
    failed = 0
    client = Pegasus([sys.argv[1]], sys.argv[2], 5000)
    if not (yield client.init()):
        print("row\tinit\topens the table\tfailed")
        reactor.stop()
        return
    for number, (operation, edge, run) in enumerate(CASES):
        verdict = "ok"
        try:
            yield run(client, f"py-{time.time_ns()}-{number}")
        except Exception as error:  # a row says it, and the rest still run
            verdict, failed = repr(error).replace("\t", " ").replace("\n", " "), failed + 1
        print(f"row\t{operation}\t{edge}\t{verdict}", flush=True)
    exit_code = 1 if failed else 0
    reactor.stop()


reactor.callWhenRunning(main)
reactor.callLater(90, reactor.stop)
reactor.run()
sys.exit(exit_code)
