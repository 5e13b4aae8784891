"""Requests as they were captured from real clients (rpc/PROTOCOL.md 2, 5 and 6), and what a server must make of them.

    captured_frames.run(table)     # rows as data_api_cases.run; `table` says which header version carries them

Hash key h1, sort keys s1 to s4. Each answer is also written anew from its fields and must be the same bytes: no field
is missing, unknown, or of another order than the clients were seen to accept.
SPDX-License-Identifier: Apache-2.0
"""

import data_api
import thft
from data_api import NOT_FOUND, OK, TRY_AGAIN

RAW = "00000006 000268317331"
PUT_S1 = f"0c0001 0c0001 {RAW} 0c0002 00000002 7631 080003 "
MULTI_REMOVE = "0c0001 0c0001 00000002 6831 0f0002 0c 00000002 00000002 7331 00000002 7332 "
V1, S1, S2, S3, S4 = b"v1", b"s1", b"s2", b"s3", b"s4"


def pairs(answer):
    return [(kv["key"], kv["value"]) for kv in answer["kvs"]]


def raw(*sort_keys):
    return [(b"\0\2h1" + key, V1 if key == S1 else b"v2") for key in sort_keys]


# (clients, request, its argument, what the answer must show). In order: each finds what the ones before it left.
REQUESTS = [
    ("all", "remove", f"0c0001 {RAW} 00", lambda a: a["error"] == OK),
    ("all", "get", f"0c0001 {RAW} 00", lambda a: (a["error"], a["value"]) == (NOT_FOUND, b"")),
    ("all", "ttl", f"0c0001 {RAW} 00", lambda a: (a["error"], a["ttl_seconds"]) == (NOT_FOUND, 0)),
    ("all", "put", PUT_S1 + "00000000 00 00", lambda a: a["error"] == OK and a["decree"] > 0),
    ("all", "get", f"0c0001 {RAW} 00", lambda a: (a["error"], a["value"]) == (OK, V1)),
    ("all", "ttl", f"0c0001 {RAW} 00", lambda a: (a["error"], a["ttl_seconds"]) == (OK, -1)),
    ("Node", "put", PUT_S1 + "00000064 00 00", lambda a: a["error"] == OK),  # 100 s after 2016 began
    ("all", "get", f"0c0001 {RAW} 00", lambda a: (a["error"], a["value"]) == (NOT_FOUND, b"")),
    ("Go, Java", "incr", f"0c0001 0c0001 {RAW} 0a0002 0000000000000005 080003 00000000 00 00",
     lambda a: (a["error"], a["new_value"]) == (OK, 5)),
    ("Go, Python", "multi_put",
     "0c0001 0c0001 00000002 6831 0f0002 0c 00000002 0c0001 00000002 7331 0c0002 00000002 7631 00 "
     "0c0001 00000002 7332 0c0002 00000002 7632 00 080003 00000000 00 00", lambda a: a["error"] == OK),
    ("all", "sortkey_count", "0c0001 00000002 6831 00", lambda a: (a["error"], a["count"]) == (OK, 2)),
    ("Go", "multi_get",
     "0c0001 0c0001 00000002 6831 0f0002 0c 00000002 00000002 7331 00000002 7332 080003 00000064 080004 000186a0 "
     "020005 00 0c0006 00000000 0c0007 00000000 020008 01 020009 00 08000a 00000000 0c000b 00000000 02000c 00 00 00",
     lambda a: (a["error"], pairs(a)) == (OK, [(S1, V1), (S2, b"v2")])),
    ("Java", "multi_get",
     "0c0001 0c0001 00000002 6831 080003 0000000a 080004 00000064 020005 00 0c0006 00000002 7331 020008 01 020009 00 "
     "08000a 00000000 02000c 00 00 00", lambda a: (a["error"], pairs(a)) == (OK, [(S1, V1), (S2, b"v2")])),
    ("pypegasus", "multi_get",
     "0c0001 0c0001 00000002 6831 0f0002 0c 00000000 080003 00000064 080004 000f4240 020005 00 00 00",
     lambda a: (a["error"], pairs(a)) == (OK, [(S1, V1), (S2, b"v2")])),
    ("Node", "multi_get", "0c0001 0c0001 00000002 6831 080003 0000000a 080004 000003e8 020005 00 00 00",
     lambda a: (a["error"], pairs(a)) == (OK, [(S1, V1), (S2, b"v2")])),
    ("Java", "batch_get",
     "0c0001 0f0001 0c 00000002 0c0001 00000002 6831 0c0002 00000002 7331 00 0c0001 00000002 6831 "
     "0c0002 00000002 7332 00 00 00",
     lambda a: (a["error"], [(row["sort_key"], row["value"]) for row in a["data"]]) == (OK, [(S1, V1), (S2, b"v2")])),
    ("Go", "get_scanner",
     "0c0001 0c0001 00000004 00026831 0c0002 00000006 00026831ffff 020003 01 020004 00 080005 000003e8 020006 00 "
     "080007 00000000 0c0008 00000000 080009 00000000 0c000a 00000000 02000b 00 00 00",
     lambda a: (a["error"], a["context_id"], pairs(a)) == (OK, -1, raw(S1, S2))),
    ("Java", "get_scanner",
     "0c0001 0c0001 00000004 00026831 0c0002 00000004 00026832 020003 01 020004 00 080005 00000064 020006 00 "
     "080007 00000000 080009 00000000 00 00",
     lambda a: (a["error"], a["context_id"], pairs(a)) == (OK, -1, raw(S1, S2))),
    ("pypegasus3", "get_scanner",
     "0c0001 0c0001 00000002 0000 0c0002 00000004 c3bfc3bf 020003 01 020004 00 080005 000003e8 00 00",
     lambda a: a["error"] == OK),
    ("all", "scan", "0c0001 0a0001 000000000000004d 00 00", lambda a: a["error"] == NOT_FOUND),
    ("all", "clear_scanner", "0a0001 000000000000004d 00", None),
    ("Java", "check_and_set",
     "0c0001 0c0001 00000002 6831 0c0002 00000002 7331 080003 00000001 020005 01 0c0006 00000002 7332 "
     "0c0007 00000002 7631 080008 00000000 020009 01 00 00",
     lambda a: (a["error"], a["check_value_exist"], a["check_value"], a["decree"]) == (TRY_AGAIN, True, V1, -1)),
    ("Java", "check_and_mutate",
     "0c0001 0c0001 00000002 6831 0c0002 00000002 7331 080003 00000003 0f0005 0c 00000002 080001 00000000 "
     "0c0002 00000002 7333 0c0003 00000002 7631 080004 747b53a9 00 080001 00000001 0c0002 00000002 7334 "
     "080004 00000000 00 020006 00 00 00", lambda a: a["error"] == OK),
    ("Go", "multi_remove", MULTI_REMOVE + "0a0003 0000000000000000 00 00", lambda a: (a["error"], a["count"]) == (OK, 2)),
    ("Java", "multi_remove", MULTI_REMOVE + "0a0003 0000000000000064 00 00",
     lambda a: (a["error"], a["count"]) == (OK, 2)),
    ("Python", "multi_remove", MULTI_REMOVE + "00 00", lambda a: (a["error"], a["count"]) == (OK, 2)),
    ("Java", "check_and_set",
     "0c0001 0c0001 00000002 6831 0c0002 00000002 7331 080003 00000001 020005 01 0c0006 00000002 7332 "
     "0c0007 00000002 7631 080008 00000000 020009 01 00 00",
     lambda a: (a["error"], a["check_value_exist"], a["check_value"]) == (OK, False, b"")),
    ("Java", "multi_get",  # what is left: s2 by the check, s3 by the mutation
     "0c0001 0c0001 00000002 6831 080003 0000000a 080004 00000064 020005 00 0c0006 00000002 7331 020008 01 020009 00 "
     "08000a 00000000 02000c 00 00 00", lambda a: (a["error"], pairs(a)) == (OK, [(S2, V1), (S3, V1)])),
]


def ask(table, request, argument):
    """The bytes of the answer to one captured argument, sent to h1's partition."""
    index = table.partition_of(b"h1")
    name = "RPC_RRDB_RRDB_" + request.upper()
    frame = thft.frame if table.header_version == 0 else thft.frame_v1
    connection = table.connection(table.partitions[index]["primary"])
    connection.sendall(frame(thft.body(name, bytes.fromhex(argument), 7), table.app_id, index, 1500,
                             data_api.crc64(b"h1")))
    if request == "clear_scanner":
        return None
    error, got, sequence, result = thft.read_reply(connection)
    if (error, got, sequence) != ("ERR_OK", name + "_ACK", 7):
        raise AssertionError(f"answered by {error} {got} {sequence}")
    return result


def check(table, request, argument, shows):
    result = ask(table, request, argument)
    if result is None:
        return
    form = data_api.REQUESTS[request][1]
    answer = data_api.decode(form, thft.Reader(result[3:]))
    if result != b"\x0c\0\0" + data_api.encode(form, answer) + thft.STOP:
        raise AssertionError(f"other bytes than its fields: {result.hex()}")
    # Fields from 1000 on are Arion's, and are sent to who asked for them.
    missing = {name for number, name, _ in data_api.STRUCTS[form] if int(number) < 1000} - answer.keys() - {"kv_count"}
    if missing:
        raise AssertionError(f"lacks {missing}")
    index = table.partition_of(b"h1")
    told = (answer["app_id"], answer["partition_index"], answer["server"].decode())
    if told != (table.app_id, index, table.partitions[index]["primary"]):
        raise AssertionError(f"says it comes from {told}")
    if not shows(answer):
        raise AssertionError(f"answered {answer}")


def run(table):
    table.multi_remove(hash_key=b"h1", sort_keys=[S1, S2, S3, S4])
    rows = []
    for clients, request, argument, shows in REQUESTS:
        try:
            check(table, request, argument, shows)
            wrong = None
        except Exception as error:  # a row says it, and the rest still run
            wrong = f"{type(error).__name__}: {error}"
        rows.append((request.upper(), f"as captured from {clients}", wrong))
    return rows
