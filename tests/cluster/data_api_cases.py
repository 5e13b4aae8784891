"""Each operation of the data API and each of its edges (rpc/PROTOCOL.md 5 and 6), spoken in plain frames.

    data_api_cases.run(meta_address, "temp", header_version=1)    # rows of (operation, edge, what is wrong or None)

Each case has a hash key to itself. Where a case is a refusal it reads back that nothing was written.
SPDX-License-Identifier: Apache-2.0
"""

import itertools
import struct
import time
import traceback

from data_api import INCOMPLETE, INVALID, NOT_FOUND, OK, TRY_AGAIN, Refused, expiry, next_key, raw_key

CASES = []
PAST, FAR, NEGATIVE = 100, 0x7fffffff, -5  # expiry times: Node's "100 s from now", the last positive, u32
INT64_MAX, INT64_MIN = (1 << 63) - 1, -(1 << 63)


def case(operation, edge):
    def register(function):
        CASES.append((operation, edge, function))
        return function
    return register


def same(got, want):
    if got != want:
        raise AssertionError(f"got {str(got)[:300]}, want {str(want)[:300]}")


def refused(error, call, *arguments, **fields):
    try:
        answer = call(*arguments, **fields)
    except Refused as refusal:
        return same(str(refusal), error)
    raise AssertionError(f"was answered {str(answer)[:200]}, not refused with {error}")


def names(answer):
    return [kv["key"] for kv in answer["kvs"]]


# ---- PUT, REMOVE ----

@case("PUT", "new and overwritten: value and expiry are replaced")
def _(t, h):
    t.set(h, b"s", b"one", expiry(100))
    same(t.value(h, b"s"), b"one")
    t.set(h, b"s", b"two")
    same((t.value(h, b"s"), t.ttl(raw_key(h, b"s"))["ttl_seconds"]), (b"two", -1))


@case("PUT", "empty value and empty sort key are not missing")
def _(t, h):
    same(t.value(h, b""), None)
    t.set(h, b"", b"")
    same((t.value(h, b""), t.value(h, b"s")), (b"", None))


@case("PUT", "an empty hash key with a sort key")
def _(t, h):
    t.set(b"", h, b"by sort key")
    same(t.value(b"", h), b"by sort key")
    same(t.ttl(raw_key(b"", h))["ttl_seconds"], -1)
    same(t.incr(key=raw_key(b"", h + b"n"), increment=3)["new_value"], 3)
    same(t.remove(raw_key(b"", h))["error"], OK)
    same(t.value(b"", h), None)


@case("PUT", "an empty hash key and an empty sort key")
def _(t, h):
    t.set(b"", b"", b"nothing at all")
    same(t.value(b"", b""), b"nothing at all")
    same(t.remove(raw_key(b"", b""))["error"], OK)
    same(t.value(b"", b""), None)


@case("PUT", "without value and expiry: empty, for ever")
def _(t, h):
    same(t.put(key=raw_key(h, b"s"))["error"], OK)
    same((t.value(h, b"s"), t.ttl(raw_key(h, b"s"))["ttl_seconds"]), (b"", -1))


@case("PUT", "TTL in the past: stored, and at once missing")
def _(t, h):
    t.set(h, b"s", b"v", PAST)
    same((t.value(h, b"s"), t.ttl(raw_key(h, b"s"))["error"]), (None, NOT_FOUND))


@case("PUT", "TTL negative and at its edge: far in the future")
def _(t, h):
    for value in (NEGATIVE, FAR, -1, -(1 << 31)):
        t.set(h, b"s", b"v", value)
        same(t.value(h, b"s"), b"v")
        left = t.ttl(raw_key(h, b"s"))
        same(left["error"], OK)
        wanted = FAR - expiry(0)  # a stored time beyond 2084 would look like another value schema
        if abs(left["ttl_seconds"] - wanted) > 30:
            raise AssertionError(f"{value}: ttl {left['ttl_seconds']}, want {wanted}")


@case("PUT", "a key shorter than it says: 4")
def _(t, h):
    for key in (b"", b"\0", b"\0\5abc", b"\xff\xff" + h):
        same(t.put(key=key, value=b"v", partition=0)["error"], INVALID)
        same(t.put(value=b"v", partition=0)["error"], INVALID)


@case("PUT", "hash key of 65534 bytes; 65535 is refused")
def _(t, h):
    longest = h + b"x" * (65534 - len(h))
    t.set(longest, b"s", b"v")
    same(t.value(longest, b"s"), b"v")
    same(t.put(key=raw_key(longest + b"x", b"s"), value=b"v", partition=0)["error"], INVALID)
    same(t.get(raw_key(longest + b"x", b"s"), partition=0)["value"], b"")


@case("PUT", "sort key of 64 KiB")
def _(t, h):
    t.set(h, b"s" * 65536, b"v")
    same(t.all(h), {b"s" * 65536: b"v"})


@case("PUT", "a request of more than 1 MiB is refused")
def _(t, h):
    refused("ERR_INVALID_DATA", t.put, key=raw_key(h, b"s"), value=b"v" * (1 << 20))
    same(t.value(h, b"s"), None)
    t.set(h, b"s", b"v" * ((1 << 20) - 1000))
    same(len(t.value(h, b"s")), (1 << 20) - 1000)


@case("PUT", "decrees grow")
def _(t, h):
    first = t.put(key=raw_key(h, b"s"), value=b"v")["decree"]
    second = t.put(key=raw_key(h, b"s"), value=b"v")["decree"]
    same(0 < first < second, True)


@case("REMOVE", "present and absent")
def _(t, h):
    t.set(h, b"s", b"v")
    same([t.remove(raw_key(h, b"s"))["error"] for _ in range(2)], [OK, OK])
    same(t.value(h, b"s"), None)


@case("REMOVE", "a key shorter than it says: 4")
def _(t, h):
    same([t.remove(key, partition=0)["error"] for key in (b"", b"\0", b"\1\0ab")], [INVALID] * 3)


# ---- MULTI_PUT, MULTI_REMOVE ----

@case("MULTI_PUT", "several at once, the last of the same key wins")
def _(t, h):
    kvs = [{"key": b"a", "value": b"1"}, {"key": b"b", "value": b"2"}, {"key": b"a", "value": b"3"}]
    same(t.multi_put(hash_key=h, kvs=kvs)["error"], OK)
    same(t.all(h), {b"a": b"3", b"b": b"2"})


@case("MULTI_PUT", "with a TTL for all; each one's own is ignored")
def _(t, h):
    kvs = [{"key": b"a", "value": b"1", "expire_ts_seconds": PAST}, {"key": b"b", "value": b"2"}]
    same(t.multi_put(hash_key=h, kvs=kvs, expire_ts_seconds=expiry(1000))["error"], OK)
    for key in (b"a", b"b"):
        same(990 <= t.ttl(raw_key(h, key))["ttl_seconds"] <= 1000, True)


@case("MULTI_PUT", "an empty list: 4")
def _(t, h):
    same([t.multi_put(hash_key=h, kvs=[])["error"], t.multi_put(hash_key=h)["error"]], [INVALID] * 2)
    same(t.all(h), {})


@case("MULTI_PUT", "a hash key of 65535 bytes: 4")
def _(t, h):
    same(t.multi_put(hash_key=b"x" * 65535, kvs=[{"key": b"a", "value": b"1"}])["error"], INVALID)


@case("MULTI_PUT", "together more than 1 MiB is refused whole")
def _(t, h):
    kvs = [{"key": b"%d" % i, "value": b"v" * 100000} for i in range(11)]
    refused("ERR_INVALID_DATA", t.multi_put, hash_key=h, kvs=kvs)
    same(t.all(h), {})


@case("MULTI_REMOVE", "existing and missing keys")
def _(t, h):
    t.fill(h, b"a", b"b", b"c")
    answer = t.multi_remove(hash_key=h, sort_keys=[b"a", b"none", b"c"])
    same((answer["error"], answer["count"], t.all(h)), (OK, 3, {b"b": b"vb"}))


@case("MULTI_REMOVE", "its max_count means nothing")
def _(t, h):
    keys = [b"%03d" % i for i in range(150)]
    t.fill(h, *keys)
    same((t.multi_remove(hash_key=h, sort_keys=keys, max_count=100)["count"], t.all(h)), (150, {}))


@case("MULTI_REMOVE", "an empty list: 4, and nothing is removed")
def _(t, h):
    t.fill(h, b"a")
    same([t.multi_remove(hash_key=h, sort_keys=[])["error"], t.multi_remove(hash_key=h)["error"]], [INVALID] * 2)
    same(t.all(h), {b"a": b"va"})


# ---- INCR ----

@case("INCR", "from nothing, up and down")
def _(t, h):
    for step, want in ((5, 5), (0, 5), (-10, -5), (1 << 62, (1 << 62) - 5)):
        answer = t.incr(key=raw_key(h, b"n"), increment=step)
        same((answer["error"], answer["new_value"], t.value(h, b"n")), (OK, want, b"%d" % want))


@case("INCR", "from an expired record and from an empty value")
def _(t, h):
    t.set(h, b"n", b"7", PAST)
    same((t.incr(key=raw_key(h, b"n"), increment=1)["new_value"], t.ttl(raw_key(h, b"n"))["ttl_seconds"]), (1, -1))
    t.set(h, b"m", b"")
    same(t.incr(key=raw_key(h, b"m"), increment=-2)["new_value"], -2)


@case("INCR", "blanks, signs, hexadecimal and octal are numbers")
def _(t, h):
    for text, number in ((b" \t12", 12), (b"+12", 12), (b"-0x1F", -31), (b"0x7fffffffffffffff", INT64_MAX), (b"010", 8),
                         (b"0", 0), (b"-9223372036854775808", INT64_MIN)):
        t.set(h, b"n", text)
        answer = t.incr(key=raw_key(h, b"n"), increment=0)
        same((text, answer["error"], answer["new_value"], t.value(h, b"n")), (text, OK, number, b"%d" % number))


@case("INCR", "on text, and over the edge, writes nothing")
def _(t, h):
    for text in (b"text", b"12 ", b"1x", b"0x", b"08", b" ", b"-", b"12\0", b"\0", b"9223372036854775808",
                 b"-9223372036854775809", b"1.5", b"99999999999999999999999"):
        t.set(h, b"n", text)
        answer = t.incr(key=raw_key(h, b"n"), increment=1)
        same((text, answer["error"], answer["new_value"], answer["decree"]), (text, INVALID, 0, -1))
        same(t.value(h, b"n"), text)
    for old, by in ((INT64_MAX, 1), (INT64_MIN, -1), (1, INT64_MAX), (-2, INT64_MIN), (INT64_MIN, INT64_MIN)):
        t.set(h, b"n", b"%d" % old)
        answer = t.incr(key=raw_key(h, b"n"), increment=by)
        same((answer["error"], answer["new_value"], t.value(h, b"n")), (INVALID, old, b"%d" % old))


@case("INCR", "at the edges of int64")
def _(t, h):
    for old, by in ((INT64_MAX, 0), (INT64_MAX, INT64_MIN), (INT64_MIN, INT64_MAX), (0, INT64_MIN), (-1, INT64_MIN + 1)):
        t.set(h, b"n", b"%d" % old)
        answer = t.incr(key=raw_key(h, b"n"), increment=by)
        same((answer["error"], answer["new_value"], t.value(h, b"n")), (OK, old + by, b"%d" % (old + by)))


@case("INCR", "TTL 0 keeps, positive sets, negative removes")
def _(t, h):
    key = raw_key(h, b"n")
    ttl = lambda: t.ttl(key)["ttl_seconds"]
    t.incr(key=key, increment=1, expire_ts_seconds=-1)
    same(ttl(), -1)
    t.incr(key=key, increment=1, expire_ts_seconds=expiry(1000))
    same(990 <= ttl() <= 1000, True)
    t.incr(key=key, increment=1, expire_ts_seconds=0)
    same(990 <= ttl() <= 1000, True)
    t.incr(key=key, increment=1, expire_ts_seconds=NEGATIVE)
    same((ttl(), t.value(h, b"n")), (-1, b"4"))
    t.incr(key=key, increment=1, expire_ts_seconds=PAST)
    same(t.value(h, b"n"), None)


@case("INCR", "a key shorter than it says: 4")
def _(t, h):
    same(t.incr(key=b"\0\7abc", increment=1, partition=0)["error"], INVALID)


# ---- CHECK_AND_SET, CHECK_AND_MUTATE ----

CHECKS = [  # type, value (None: no record), operand, error
    (0, None, b"", OK), (0, b"x", b"", OK),
    (1, None, b"", OK), (1, b"", b"", TRY_AGAIN), (1, b"x", b"", TRY_AGAIN),
    (2, None, b"", OK), (2, b"", b"", OK), (2, b"x", b"", TRY_AGAIN),
    (3, None, b"", TRY_AGAIN), (3, b"", b"", OK), (3, b"x", b"", OK),
    (4, None, b"", TRY_AGAIN), (4, b"", b"", TRY_AGAIN), (4, b"x", b"", OK),
    (5, b"abc", b"b", OK), (5, b"abc", b"", OK), (5, b"abc", b"d", TRY_AGAIN), (5, b"a", b"aaa", TRY_AGAIN),
    (5, None, b"", TRY_AGAIN),
    (6, b"abc", b"ab", OK), (6, b"abc", b"b", TRY_AGAIN), (6, b"a", b"aaa", TRY_AGAIN), (6, None, b"", TRY_AGAIN),
    (7, b"abc", b"bc", OK), (7, b"abc", b"b", TRY_AGAIN), (7, b"a", b"aaa", TRY_AGAIN), (7, None, b"", TRY_AGAIN),
    (8, b"a", b"b", OK), (8, b"b", b"b", TRY_AGAIN), (8, b"a", b"aa", OK), (8, b"\x7f", b"\x80", OK),
    (8, None, b"x", TRY_AGAIN),
    (9, b"b", b"b", OK), (9, b"c", b"b", TRY_AGAIN), (9, None, b"x", TRY_AGAIN),
    (10, b"b", b"b", OK), (10, b"", b"", OK), (10, b"b", b"c", TRY_AGAIN), (10, None, b"", TRY_AGAIN),
    (11, b"b", b"b", OK), (11, b"a", b"b", TRY_AGAIN), (11, None, b"", TRY_AGAIN),
    (12, b"c", b"b", OK), (12, b"b", b"b", TRY_AGAIN), (12, b"\x80", b"\x7f", OK), (12, None, b"", TRY_AGAIN),
    (13, b"9", b"10", OK), (13, b"10", b"10", TRY_AGAIN), (13, b"-1", b"0", OK),
    (14, b"10", b"10", OK), (14, b"11", b"10", TRY_AGAIN),
    (15, b"0x0a", b"10", OK), (15, b"1", b"10", TRY_AGAIN),
    (16, b"10", b"10", OK), (16, b"9", b"10", TRY_AGAIN),
    (17, b"11", b"10", OK), (17, b"10", b"10", TRY_AGAIN), (17, b"9223372036854775807", b"-9223372036854775808", OK),
] + [(int_type, None, b"10", TRY_AGAIN) for int_type in range(13, 18)] + [
    (int_type, value, operand, INVALID) for int_type in range(13, 18)
    for value, operand in ((b"text", b"1"), (b"1", b"text"), (b"", b"1"), (b"1", b""), (b"9223372036854775808", b"1"))]


def checks(t, h):
    """CHECKS, each with a hash key of its own whose record `c` is as the check is to find it."""
    for number, (check_type, value, operand, error) in enumerate(CHECKS):
        key = h + b"-%d" % number
        if value is not None:
            t.set(key, b"c", value)
        yield key, check_type, value, operand, error


@case("CHECK_AND_SET", "every check type")
def _(t, h):
    for key, check_type, value, operand, error in checks(t, h):
        answer = t.check_and_set(hash_key=key, check_sort_key=b"c", check_type=check_type, check_operand=operand,
                                 set_diff_sort_key=True, set_sort_key=b"s", set_value=b"set", return_check_value=True)
        got = [answer[name] for name in ("error", "check_value_returned", "check_value_exist", "check_value")]
        same((check_type, value, operand, got),
             (check_type, value, operand, [error, True, value is not None, value or b""]))
        wanted = {} if value is None else {b"c": value}
        same(t.all(key), {**wanted, b"s": b"set"} if error == OK else wanted)


@case("CHECK_AND_SET", "an unknown check type: 4")
def _(t, h):
    for check_type in (18, -1, INT64_MAX >> 32, -(1 << 31)):
        answer = t.check_and_set(hash_key=h, check_sort_key=b"c", check_type=check_type, set_value=b"v",
                                 return_check_value=True)
        same((answer["error"], answer["check_value_returned"]), (INVALID, False))
    same(t.all(h), {})


@case("CHECK_AND_SET", "onto the checked key; what is there is told as it was")
def _(t, h):
    answer = t.check_and_set(hash_key=h, check_sort_key=b"c", check_type=0, set_sort_key=b"ignored", set_value=b"1",
                             return_check_value=True)
    same((answer["check_value_returned"], answer["check_value_exist"], answer["check_value"]), (True, False, b""))
    answer = t.check_and_set(hash_key=h, check_sort_key=b"c", check_type=10, check_operand=b"1", set_value=b"2",
                             return_check_value=True)
    same((answer["check_value_exist"], answer["check_value"], t.all(h)), (True, b"1", {b"c": b"2"}))
    answer = t.check_and_set(hash_key=h, check_sort_key=b"c", check_type=3, set_value=b"3")
    same([answer[name] for name in ("error", "check_value_returned", "check_value_exist", "check_value")],
         [OK, False, False, b""])


@case("CHECK_AND_SET", "with a TTL; without one the old TTL goes")
def _(t, h):
    ttl = lambda: t.ttl(raw_key(h, b"c"))["ttl_seconds"]
    t.check_and_set(hash_key=h, check_sort_key=b"c", check_type=0, set_value=b"1", set_expire_ts_seconds=expiry(1000))
    same(990 <= ttl() <= 1000, True)
    t.check_and_set(hash_key=h, check_sort_key=b"c", check_type=3, set_value=b"2")
    same(ttl(), -1)
    t.check_and_set(hash_key=h, check_sort_key=b"c", check_type=3, set_value=b"3", set_expire_ts_seconds=PAST)
    same(t.value(h, b"c"), None)


@case("CHECK_AND_SET", "an expired record is missing")
def _(t, h):
    t.set(h, b"c", b"v", PAST)
    answer = t.check_and_set(hash_key=h, check_sort_key=b"c", check_type=1, set_value=b"new", return_check_value=True)
    same((answer["error"], answer["check_value_exist"], t.value(h, b"c")), (OK, False, b"new"))


@case("CHECK_AND_SET", "without any field but the keys")
def _(t, h):
    same(t.check_and_set(hash_key=h)["error"], OK)  # no check, empty sort key, empty value
    same(t.all(h), {b"": b""})


@case("CHECK_AND_SET", "a hash key of 65535 bytes: 4")
def _(t, h):
    same(t.check_and_set(hash_key=b"x" * 65535, check_type=0)["error"], INVALID)


@case("CHECK_AND_MUTATE", "all in order, or nothing")
def _(t, h):
    t.fill(h, b"a", b"b", b"c")
    mutations = [{"operation": 0, "sort_key": b"d", "value": b"1"}, {"operation": 1, "sort_key": b"a"},
                 {"operation": 0, "sort_key": b"b", "value": b"2", "set_expire_ts_seconds": expiry(1000)},
                 {"operation": 1, "sort_key": b"none"}]
    answer = t.check_and_mutate(hash_key=h, check_sort_key=b"c", check_type=10, check_operand=b"other",
                                mutate_list=mutations, return_check_value=True)
    same((answer["error"], answer["check_value_exist"], answer["check_value"], answer["decree"]),
         (TRY_AGAIN, True, b"vc", -1))
    same(t.all(h), {b"a": b"va", b"b": b"vb", b"c": b"vc"})
    answer = t.check_and_mutate(hash_key=h, check_sort_key=b"c", check_type=10, check_operand=b"vc",
                                mutate_list=mutations, return_check_value=True)
    same((answer["error"], answer["check_value"]), (OK, b"vc"))
    same(t.all(h), {b"b": b"2", b"c": b"vc", b"d": b"1"})
    same(990 <= t.ttl(raw_key(h, b"b"))["ttl_seconds"] <= 1000, True)


@case("CHECK_AND_MUTATE", "put and delete of one key: the later wins")
def _(t, h):
    put, delete = {"operation": 0, "sort_key": b"a", "value": b"1"}, {"operation": 1, "sort_key": b"a"}
    t.check_and_mutate(hash_key=h, mutate_list=[put, delete])
    same(t.all(h), {})
    t.check_and_mutate(hash_key=h, mutate_list=[put, delete, {**put, "value": b"2"}])
    same(t.all(h), {b"a": b"2"})


@case("CHECK_AND_MUTATE", "the checked key itself is changed")
def _(t, h):
    t.fill(h, b"c")
    answer = t.check_and_mutate(hash_key=h, check_sort_key=b"c", check_type=4, return_check_value=True,
                                mutate_list=[{"operation": 1, "sort_key": b"c"}])
    same((answer["error"], answer["check_value"], t.all(h)), (OK, b"vc", {}))


@case("CHECK_AND_MUTATE", "what is not allowed together: 4, and nothing is written")
def _(t, h):
    good = {"operation": 0, "sort_key": b"a", "value": b"1"}
    bad = [{"mutate_list": []}, {}, {"mutate_list": [good, {"operation": 2, "sort_key": b"b"}]},
           {"mutate_list": [{"operation": -1, "sort_key": b"b"}, good]},
           {"mutate_list": [good], "check_type": 18}, {"mutate_list": [good], "check_type": -1}]
    for fields in bad:
        answer = t.check_and_mutate(hash_key=h, check_sort_key=b"c", return_check_value=True, **fields)
        same((fields, answer["error"], answer["check_value_returned"]), (fields, INVALID, False))
    same(t.all(h), {})


@case("CHECK_AND_MUTATE", "every check type")
def _(t, h):
    for key, check_type, value, operand, error in checks(t, h):
        answer = t.check_and_mutate(hash_key=key, check_sort_key=b"c", check_type=check_type, check_operand=operand,
                                    mutate_list=[{"operation": 0, "sort_key": b"s", "value": b"set"}])
        same((check_type, value, operand, answer["error"]), (check_type, value, operand, error))
        same(t.value(key, b"s"), b"set" if error == OK else None)


# ---- GET, TTL ----

@case("GET", "missing: 1, with an empty value")
def _(t, h):
    answer = t.get(raw_key(h, b"s"))
    same((answer["error"], answer["value"]), (NOT_FOUND, b""))


@case("GET", "a key shorter than it says: 4")
def _(t, h):
    for key in (b"", b"\0", b"\0\5abc", b"\xff\xff" + h):
        same((t.get(key, partition=0)["error"], t.ttl(key, partition=0)["error"]), (INVALID, INVALID))


@case("TTL", "none, some, and of a missing record")
def _(t, h):
    t.set(h, b"a", b"v")
    t.set(h, b"b", b"v", expiry(1000))
    answers = [t.ttl(raw_key(h, key)) for key in (b"a", b"b", b"c")]
    same([answer["error"] for answer in answers], [OK, OK, NOT_FOUND])
    same((answers[0]["ttl_seconds"], 990 <= answers[1]["ttl_seconds"] <= 1000, answers[2]["ttl_seconds"]), (-1, True, 0))


@case("TTL", "a record that expires is gone for every operation")
def _(t, h):
    t.fill(h, b"a")
    t.set(h, b"m", b"v", expiry(1))
    deadline = time.monotonic() + 10
    while t.value(h, b"m") is not None and time.monotonic() < deadline:
        time.sleep(0.05)
    same(t.value(h, b"m"), None)
    same(t.ttl(raw_key(h, b"m"))["error"], NOT_FOUND)
    same((names(t.multi_get(hash_key=h, start_inclusive=True)), names(t.multi_get(hash_key=h, sort_keys=[b"m", b"a"]))),
         ([b"a"], [b"a"]))
    same(t.sortkey_count(h)["count"], 1)
    same([row["sort_key"] for row in t.batch_get(keys=[{"hash_key": h, "sort_key": b"m"}])["data"]], [])
    same(names(t.get_scanner(start_key=raw_key(h, b""), stop_key=next_key(h), start_inclusive=True)), [raw_key(h, b"a")])
    same(t.check_and_set(hash_key=h, check_sort_key=b"m", check_type=3, set_value=b"x")["error"], TRY_AGAIN)


# ---- MULTI_GET ----

@case("MULTI_GET", "points in request order, duplicates twice")
def _(t, h):
    t.fill(h, b"a", b"b")
    answer = t.multi_get(hash_key=h, sort_keys=[b"b", b"none", b"a", b"b"])
    same((answer["error"], answer["kvs"]), (OK, [{"key": key, "value": b"v" + key} for key in (b"b", b"a", b"b")]))


@case("MULTI_GET", "points ignore bounds, filters and direction")
def _(t, h):
    t.fill(h, b"a", b"b")
    same(names(t.multi_get(hash_key=h, sort_keys=[b"b", b"a"], start_sortkey=b"x", stop_sortkey=b"c", reverse=True,
                           sort_key_filter_type=2, sort_key_filter_pattern=b"zz")), [b"b", b"a"])


@case("MULTI_GET", "points beyond count and size")
def _(t, h):
    t.fill(h, b"a", b"b")
    for limit, error in (({"max_kv_count": 1}, INCOMPLETE), ({"max_kv_count": 2}, OK), ({"max_kv_size": 1}, INCOMPLETE),
                         ({"max_kv_count": -1, "max_kv_size": -1}, OK), ({"max_kv_count": -(1 << 31)}, OK)):
        answer = t.multi_get(hash_key=h, sort_keys=[b"a", b"b"], **limit)
        same((limit, answer["error"], names(answer)), (limit, error, [b"a"] if error else [b"a", b"b"]))


@case("MULTI_GET", "nothing there")
def _(t, h):
    for fields in ({"sort_keys": [b"a"]}, {}, {"start_inclusive": True}):
        answer = t.multi_get(hash_key=h, **fields)
        same((answer["error"], answer["kvs"]), (OK, []))


@case("MULTI_GET", "a whole hash key with an empty sort key")
def _(t, h):
    t.fill(h, b"", b"a")
    same(names(t.multi_get(hash_key=h, start_inclusive=True)), [b"", b"a"])
    same(names(t.multi_get(hash_key=h)), [b"a"])  # as Python and Node ask: the start is not inclusive
    same(names(t.multi_get(hash_key=h, stop_sortkey=b"", stop_inclusive=True)), [b"a"])


@case("MULTI_GET", "bounds inclusive or not")
def _(t, h):
    t.fill(h, b"a", b"b", b"c", b"d")
    for start_inclusive, stop_inclusive, want in ((True, True, [b"b", b"c"]), (True, False, [b"b"]), (False, True, [b"c"]),
                                                  (False, False, [])):
        answer = t.multi_get(hash_key=h, start_sortkey=b"b", stop_sortkey=b"c", start_inclusive=start_inclusive,
                             stop_inclusive=stop_inclusive)
        same((answer["error"], names(answer)), (OK, want))


@case("MULTI_GET", "start after stop, and an empty range")
def _(t, h):
    t.fill(h, b"a", b"b", b"c")
    for start, stop, start_inclusive, stop_inclusive, want in (
            (b"c", b"a", True, True, []), (b"b", b"b", True, False, []), (b"b", b"b", False, True, []),
            (b"b", b"b", False, False, []), (b"b", b"b", True, True, [b"b"])):
        answer = t.multi_get(hash_key=h, start_sortkey=start, stop_sortkey=stop, start_inclusive=start_inclusive,
                             stop_inclusive=stop_inclusive)
        same((answer["error"], names(answer)), (OK, want))


@case("MULTI_GET", "every filter, with and without a pattern")
def _(t, h):
    t.fill(h, b"ab", b"abc", b"ba", b"cab")
    everything = [b"ab", b"abc", b"ba", b"cab"]
    for filter_type, want in enumerate((everything, [b"ab", b"abc", b"cab"], [b"ab", b"abc"], [b"ab", b"cab"])):
        for reverse in (False, True):
            filters = dict(start_inclusive=True, sort_key_filter_type=filter_type, reverse=reverse)
            same(names(t.multi_get(hash_key=h, sort_key_filter_pattern=b"ab", **filters)), want)
            same(names(t.multi_get(hash_key=h, sort_key_filter_pattern=b"", **filters)), everything)
            same(names(t.multi_get(hash_key=h, **filters)), everything)


@case("MULTI_GET", "a filter longer than the keys")
def _(t, h):
    t.fill(h, b"ab", b"abc")
    for filter_type in (1, 2, 3):
        answer = t.multi_get(hash_key=h, start_inclusive=True, sort_key_filter_type=filter_type,
                             sort_key_filter_pattern=b"abc" * 1000)
        same((answer["error"], names(answer)), (OK, []))


@case("MULTI_GET", "a prefix filter within bounds")
def _(t, h):
    t.fill(h, b"a", b"b1", b"b2", b"b3", b"c", b"\xff", b"\xff\xff")
    prefix = dict(sort_key_filter_type=2, sort_key_filter_pattern=b"b")
    for start, stop, want in ((b"b2", b"", [b"b2", b"b3"]), (b"", b"b2", [b"b1"]), (b"a", b"c", [b"b1", b"b2", b"b3"]),
                              (b"c", b"d", []), (b"", b"a", [])):
        same(names(t.multi_get(hash_key=h, start_sortkey=start, stop_sortkey=stop, start_inclusive=True, **prefix)), want)
    same(names(t.multi_get(hash_key=h, start_inclusive=True, sort_key_filter_type=2, sort_key_filter_pattern=b"\xff")),
         [b"\xff", b"\xff\xff"])


@case("MULTI_GET", "an unknown filter: 4")
def _(t, h):
    t.fill(h, b"a")
    for filter_type in (4, -1, 1 << 30):
        for points in ({}, {"sort_keys": [b"a"]}):
            answer = t.multi_get(hash_key=h, sort_key_filter_type=filter_type, **points)
            same((answer["error"], answer["kvs"]), (INVALID, []))


@case("MULTI_GET", "reverse takes the last, in order")
def _(t, h):
    t.fill(h, b"a", b"b", b"c", b"d")
    for fields, error, want in (({}, OK, [b"a", b"b", b"c", b"d"]), ({"max_kv_count": 2}, INCOMPLETE, [b"c", b"d"]),
                                ({"max_kv_size": 3}, INCOMPLETE, [b"d"]),
                                ({"max_kv_count": 1, "stop_sortkey": b"c"}, INCOMPLETE, [b"b"]),
                                ({"max_kv_count": 1, "stop_sortkey": b"c", "stop_inclusive": True}, INCOMPLETE, [b"c"]),
                                ({"start_sortkey": b"c", "max_kv_count": 2}, OK, [b"c", b"d"])):
        answer = t.multi_get(hash_key=h, start_inclusive=True, reverse=True, **fields)
        same((fields, answer["error"], names(answer)), (fields, error, want))


@case("MULTI_GET", "limits by count and size; the record that crosses is still returned")
def _(t, h):
    t.fill(h, b"a", b"b", b"c")  # three bytes each
    for limit, error, want in (({"max_kv_count": 3}, OK, b"abc"), ({"max_kv_count": 2}, INCOMPLETE, b"ab"),
                               ({"max_kv_size": 4}, INCOMPLETE, b"ab"), ({"max_kv_size": 3}, INCOMPLETE, b"a"),
                               ({"max_kv_size": 7}, OK, b"abc"), ({"max_kv_count": 1 << 30, "max_kv_size": 1 << 30}, OK, b"abc")):
        answer = t.multi_get(hash_key=h, start_inclusive=True, **limit)
        same((limit, answer["error"], b"".join(names(answer))), (limit, error, want))


@case("MULTI_GET", "negative limits are the server's")
def _(t, h):
    t.fill(h, b"a", b"b", b"c")
    for limit in (-1, -(1 << 31), 0):
        answer = t.multi_get(hash_key=h, start_inclusive=True, max_kv_count=limit, max_kv_size=limit)
        same((answer["error"], names(answer)), (OK, [b"a", b"b", b"c"]))


@case("MULTI_GET", "more than the server examines at once")
def _(t, h):
    for batch in range(4):
        t.fill(h, *[b"%d%03d" % (batch, i) for i in range(1000)])
    answer = t.multi_get(hash_key=h, start_inclusive=True)
    same((answer["error"], len(answer["kvs"]), answer["kvs"][-1]["key"]), (INCOMPLETE, 3000, b"2999"))
    answer = t.multi_get(hash_key=h, start_inclusive=True, reverse=True)
    same((answer["error"], len(answer["kvs"]), answer["kvs"][0]["key"]), (INCOMPLETE, 3000, b"1000"))
    answer = t.multi_get(hash_key=h, start_inclusive=True, sort_key_filter_type=3, sort_key_filter_pattern=b"nothing")
    same((answer["error"], names(answer)), (OK, []))  # goes on until it found one, or the end
    answer = t.multi_get(hash_key=h, start_inclusive=True, stop_sortkey=b"3000")
    same((answer["error"], len(answer["kvs"])), (OK, 3000))  # the limit and the end are one


@case("MULTI_GET", "without values")
def _(t, h):
    t.fill(h, b"a")
    for points in ({}, {"sort_keys": [b"a"]}):
        same(t.multi_get(hash_key=h, start_inclusive=True, no_value=True, **points)["kvs"], [{"key": b"a", "value": b""}])


@case("MULTI_GET", "a hash key of 65535 bytes: 4")
def _(t, h):
    same(t.multi_get(hash_key=b"x" * 65535)["error"], INVALID)


# ---- BATCH_GET, SORTKEY_COUNT ----

@case("BATCH_GET", "in request order, missing ones absent")
def _(t, h):
    t.fill(h, b"a", b"b")
    other = next(h + b"-%d" % i for i in itertools.count() if t.partition_of(h + b"-%d" % i) == t.partition_of(h))
    t.set(other, b"s", b"other")
    keys = [{"hash_key": h, "sort_key": b"b"}, {"hash_key": other, "sort_key": b"s"}, {"hash_key": h, "sort_key": b"none"},
            {"hash_key": h, "sort_key": b"a"}, {"hash_key": h, "sort_key": b"b"}]
    answer = t.batch_get(keys=keys)
    same((answer["error"], [(row["hash_key"], row["sort_key"], row["value"]) for row in answer["data"]]),
         (OK, [(h, b"b", b"vb"), (other, b"s", b"other"), (h, b"a", b"va"), (h, b"b", b"vb")]))


@case("BATCH_GET", "an empty list: 4")
def _(t, h):
    same([t.batch_get(keys=[])["error"], t.batch_get(keys=[{"hash_key": b"x" * 65535, "sort_key": b""}])["error"]],
         [INVALID, INVALID])


@case("SORTKEY_COUNT", "some and none")
def _(t, h):
    same((t.sortkey_count(h)["error"], t.sortkey_count(h)["count"]), (OK, 0))
    t.fill(h, b"a", b"b", b"")
    t.set(h, b"gone", b"v", PAST)
    t.set(h + b"x", b"other", b"v")
    same((t.sortkey_count(h)["error"], t.sortkey_count(h)["count"]), (OK, 3))


@case("SORTKEY_COUNT", "a hash key of 65535 bytes: 4")
def _(t, h):
    same(t.sortkey_count(b"x" * 65535)["error"], INVALID)


# ---- scanners ----

def hash_scan(h, **fields):
    return {"start_key": raw_key(h, b""), "stop_key": next_key(h), "start_inclusive": True, **fields}


@case("GET_SCANNER", "one hash key, in batches")
def _(t, h):
    keys = [b"a", b"b", b"c", b"d", b"e"]
    t.fill(h, *keys)
    for batch, answers in ((1, 5), (2, 3), (5, 1), (100, 1), (0, 1), (-1, 1), (-(1 << 31), 1)):
        kvs, asked = t.scan_all(t.partition_of(h), **hash_scan(h, batch_size=batch))
        same((batch, [kv["key"] for kv in kvs], asked), (batch, [raw_key(h, key) for key in keys], answers))


@case("GET_SCANNER", "bounds inclusive or not; raw keys in bytewise order")
def _(t, h):
    t.fill(h, b"a", b"b", b"c")
    for start, stop, want in ((True, True, [b"a", b"b", b"c"]), (True, False, [b"a", b"b"]), (False, True, [b"b", b"c"]),
                              (False, False, [b"b"])):
        answer = t.get_scanner(start_key=raw_key(h, b"a"), stop_key=raw_key(h, b"c"), start_inclusive=start,
                               stop_inclusive=stop)
        same((names(answer), answer["context_id"]), ([raw_key(h, key) for key in want], -1))


@case("GET_SCANNER", "an empty range, and start after stop")
def _(t, h):
    t.fill(h, b"a", b"b")
    for start, stop, inclusive in ((b"b", b"a", True), (b"a", b"a", False), (b"x", b"y", True)):
        answer = t.get_scanner(start_key=raw_key(h, start), stop_key=raw_key(h, stop), start_inclusive=True,
                               stop_inclusive=inclusive and start > stop, batch_size=1)
        same((answer["error"], answer["kvs"], answer["context_id"]), (OK, [], -1))
    answer = t.get_scanner(partition=0)  # neither start nor stop
    same((answer["error"], answer["kvs"], answer["context_id"]), (OK, [], -1))


@case("GET_SCANNER", "bounds, sort key filter, no values")
def _(t, h):
    t.fill(h, b"a1", b"b1", b"b2", b"c1")
    answer = t.get_scanner(**hash_scan(h, sort_key_filter_type=3, sort_key_filter_pattern=b"1", no_value=True))
    same(answer["kvs"], [{"key": raw_key(h, key), "value": b""} for key in (b"a1", b"b1", b"c1")])


@case("GET_SCANNER", "both filters must match; a filter longer than the keys; a hash key prefix")
def _(t, h):
    t.fill(h, b"a", b"b")
    whole = dict(start_key=b"\0\0", stop_key=b"\xff\xff", start_inclusive=True, full_scan=True)
    for filter_type in (1, 2, 3):
        both = dict(hash_key_filter_type=filter_type, hash_key_filter_pattern=h, sort_key_filter_type=filter_type)
        for pattern, want in ((b"b", [b"b"]), (b"", [b"a", b"b"]), (b"b" * 100, [])):
            kvs, _ = t.scan_all(t.partition_of(h), **whole, **both, sort_key_filter_pattern=pattern)
            same([kv["key"] for kv in kvs], [raw_key(h, key) for key in want])
        kvs, _ = t.scan_all(t.partition_of(h), **whole, hash_key_filter_type=filter_type,
                            hash_key_filter_pattern=h * 3000)
        same(kvs, [])


@case("GET_SCANNER", "an unknown filter: 4")
def _(t, h):
    for which in ("hash_key_filter_type", "sort_key_filter_type"):
        for filter_type in (4, -1):
            same(t.get_scanner(**hash_scan(h, **{which: filter_type}))["error"], INVALID)


@case("GET_SCANNER", "with expiry times")
def _(t, h):
    t.set(h, b"a", b"v")
    t.set(h, b"b", b"v", FAR)
    rows = t.get_scanner(**hash_scan(h, return_expire_ts=True))["kvs"]
    same([row["expire_ts_seconds"] for row in rows], [0, FAR])
    same(["expire_ts_seconds" in row for row in t.get_scanner(**hash_scan(h))["kvs"]], [False, False])


@case("GET_SCANNER", "only counting")
def _(t, h):
    t.fill(h, *[b"%d" % i for i in range(10)])
    counts, answer = [], t.get_scanner(**hash_scan(h, only_return_count=True, batch_size=4))
    while True:
        same(answer["kvs"], [])
        counts.append(answer["kv_count"])
        if answer["context_id"] < 0:
            break
        answer = t.scan(context_id=answer["context_id"], partition=t.partition_of(h))
    same(counts, [4, 4, 2])
    same("kv_count" in t.get_scanner(**hash_scan(h)), False)


@case("GET_SCANNER", "only sums: of parts they add up, and no scan is kept")
def _(t, h):
    t.fill(h, *[b"%d" % i for i in range(10)])
    whole = t.get_scanner(**hash_scan(h, only_return_sum=True))
    same([whole["kvs"], whole["context_id"], whole["kv_count"], "next_key" in whole], [[], -1, 10, False])
    counts, total, scan = [], 0, hash_scan(h, only_return_sum=True, batch_size=4)
    while True:
        answer = t.get_scanner(**scan)
        same([answer["kvs"], answer["context_id"]], [[], -1])
        counts.append(answer["kv_count"])
        total += answer["sum"]
        if "next_key" not in answer:
            break
        scan["start_key"] = answer["next_key"]
    same(counts, [4, 4, 2])
    same((total - whole["sum"]) % 2**64, 0)
    same("sum" in t.get_scanner(**hash_scan(h)), False)


@case("GET_SCANNER", "validating the partition's hash is without effect by default")
def _(t, h):
    t.fill(h, b"a")
    for fields in ({}, {"validate_partition_hash": True}, {"validate_partition_hash": False}):
        same(names(t.get_scanner(**hash_scan(h, **fields))), [raw_key(h, b"a")])


@case("GET_SCANNER", "pypegasus' stop key")
def _(t, h):
    t.fill(h, b"a")
    kvs, _ = t.scan_all(t.partition_of(h), start_key=b"\0\0", stop_key=b"\xc3\xbf\xc3\xbf", start_inclusive=True,
                        batch_size=1000)
    same(raw_key(h, b"a") in [kv["key"] for kv in kvs], True)


@case("GET_SCANNER", "stopped where enough was examined, with nothing found and a context")
def _(t, h):
    for batch in range(3):
        t.fill(h, *[b"%d%03d" % (batch, i) for i in range(700)])
    filters = dict(sort_key_filter_type=3, sort_key_filter_pattern=b"2699", batch_size=5000)
    answer = t.get_scanner(**hash_scan(h, **filters))
    same((answer["kvs"], answer["context_id"] >= 0), ([], True))
    kvs, asked = t.scan_all(t.partition_of(h), **hash_scan(h, **filters))
    same(([kv["key"] for kv in kvs], asked), ([raw_key(h, b"2699")], 3))


@case("SCAN", "each id is good once")
def _(t, h):
    t.fill(h, b"a", b"b", b"c", b"d")
    at = dict(partition=t.partition_of(h))
    first = t.get_scanner(**hash_scan(h, batch_size=1))["context_id"]
    answer = t.scan(context_id=first, **at)
    same((answer["error"], names(answer), answer["context_id"] not in (first, -1)), (OK, [raw_key(h, b"b")], True))
    same(t.scan(context_id=first, **at)["error"], NOT_FOUND)
    same(names(t.scan(context_id=answer["context_id"], **at)), [raw_key(h, b"c")])  # the used id did it no harm


@case("SCAN", "ids that nobody gave out")
def _(t, h):
    for context_id in (0, 77, -1, -2, INT64_MAX, INT64_MIN):
        answer = t.scan(context_id=context_id, partition=0)
        same((answer["error"], answer["kvs"]), (NOT_FOUND, []))


@case("SCAN", "an id of another partition")
def _(t, h):
    t.fill(h, b"a", b"b")
    here = t.partition_of(h)
    there = next(p["index"] for p in t.partitions if p["index"] != here)
    context_id = t.get_scanner(**hash_scan(h, batch_size=1))["context_id"]
    same(t.scan(context_id=context_id, partition=there)["error"], NOT_FOUND)
    same(names(t.scan(context_id=context_id, partition=here)), [raw_key(h, b"b")])


@case("SCAN", "sees the records of its beginning")
def _(t, h):
    t.fill(h, b"a", b"b", b"c")
    answer = t.get_scanner(**hash_scan(h, batch_size=1))
    t.multi_remove(hash_key=h, sort_keys=[b"b"])
    kvs = []
    while answer["context_id"] >= 0:
        answer = t.scan(context_id=answer["context_id"], partition=t.partition_of(h))
        kvs += names(answer)
    same(kvs, [raw_key(h, b"b"), raw_key(h, b"c")])


@case("SCAN", "all partitions, by a hash key filter")
def _(t, h):
    wanted = set()
    for i in range(40):
        t.fill(h + b"-%d" % i, b"a", b"b", b"c")
        wanted |= {raw_key(h + b"-%d" % i, key) for key in (b"a", b"b", b"c")}
    found = []
    for partition in range(len(t.partitions)):
        kvs, _ = t.scan_all(partition, start_key=b"\0\0", stop_key=b"\xff\xff", start_inclusive=True, batch_size=7,
                            hash_key_filter_type=2, hash_key_filter_pattern=h + b"-", full_scan=True)
        keys = [kv["key"] for kv in kvs]
        same(keys, sorted(keys))
        found += keys
    same((len(found), set(found)), (len(wanted), wanted))


@case("CLEAR_SCANNER", "the connection goes on working")
def _(t, h):
    t.fill(h, b"a", b"b")
    at = dict(partition=t.partition_of(h))
    context_id = t.get_scanner(**hash_scan(h, batch_size=1))["context_id"]
    t.clear_scanner(context_id, **at)
    same(t.scan(context_id=context_id, **at)["error"], NOT_FOUND)
    for unknown in (context_id, 12345, -1):
        t.clear_scanner(unknown, **at)
    same(t.all(h), {b"a": b"va", b"b": b"vb"})


@case("CLEAR_SCANNER", "two clients close one scanner")
def _(t, h):
    t.fill(h, b"a", b"b")
    at = dict(partition=t.partition_of(h))
    other = type(t)(t.meta, t.table, t.header_version)
    context_id = t.get_scanner(**hash_scan(h, batch_size=1))["context_id"]
    same(names(other.scan(context_id=context_id, **at)), [raw_key(h, b"b")])  # whose connection asks does not matter
    context_id = t.get_scanner(**hash_scan(h, batch_size=1))["context_id"]
    for client in (t, other, t, other):
        client.clear_scanner(context_id, **at)
    same([client.scan(context_id=context_id, **at)["error"] for client in (t, other)], [NOT_FOUND, NOT_FOUND])
    other.close()


# ---- what is refused whole ----

@case("any", "a partition that is not there, an app id that is none")
def _(t, h):
    refused("ERR_OBJECT_NOT_FOUND", t.get, raw_key(h, b"s"), partition=1000, address=t.partitions[0]["primary"])
    app_id = t.app_id
    try:
        for t.app_id, error in ((0, "ERR_HANDLER_NOT_FOUND"), (-1, "ERR_HANDLER_NOT_FOUND"), (9999, "ERR_OBJECT_NOT_FOUND")):
            refused(error, t.get, raw_key(h, b"s"), partition=0)
            refused(error, t.put, key=raw_key(h, b"s"), value=b"v", partition=0)
    finally:
        t.app_id = app_id
    same(t.value(h, b"s"), None)


@case("any", "a secondary refuses; a backup request it answers (header version 1)")
def _(t, h):
    t.set(h, b"s", b"v")
    partition = t.partitions[t.partition_of(h)]
    asked = dict(partition=partition["index"], address=partition["secondaries"][0])
    refused("ERR_INVALID_STATE", t.get, raw_key(h, b"s"), **asked)
    refused("ERR_INVALID_STATE", t.put, key=raw_key(h, b"s"), value=b"x", **asked)
    if t.header_version == 1:
        answer = t.get(raw_key(h, b"s"), backup=True, **asked)
        same(answer["error"] in (OK, NOT_FOUND), True)  # it may be behind
        refused("ERR_INVALID_STATE", t.put, key=raw_key(h, b"s"), value=b"x", backup=True, **asked)
    same(t.value(h, b"s"), b"v")


def run(table, name):
    """A row for each case: (operation, edge, None or what went wrong)."""
    rows = []
    for number, (operation, edge, function) in enumerate(CASES):
        hash_key = f"{name}.{time.time_ns()}.{number}".encode()
        try:
            function(table, hash_key)
            wrong = None
        except Exception as error:  # a row says it, and the rest still run
            where = traceback.extract_tb(error.__traceback__)
            line = next(frame.lineno for frame in reversed(where) if frame.filename == __file__ and frame.name == "_")
            wrong = f"{type(error).__name__}: {error} (line {line})"
        rows.append((operation, edge, wrong))
    return rows
