"""The data API in plain frames, for what no client at hand says: every field of every request, both header versions.

    table = data_api.DataApi(meta_address, "temp", header_version=1)
    table.put(key=data_api.raw_key(b"h", b"s"), value=b"v")["error"]       # 0

Requests are named as in the protocol, in small letters; a field that is not given is not sent. Answers are dictionaries
of their fields. A refusal of the whole request raises Refused with the error's name; clear_scanner answers nothing.
SPDX-License-Identifier: Apache-2.0
"""

import socket
import struct
import time

import thft

EPOCH = 1451606400  # expiry times count from 2016-01-01
OK, NOT_FOUND, INVALID, INCOMPLETE, TRY_AGAIN = 0, 1, 4, 7, 13

# "id name type" of each field. A blob is bytes behind a length, without fields of its own.
STRUCTS = {name: [field.split() for field in fields.split(", ")] for name, fields in {
    "key_value": "1 key blob, 2 value blob, 3 expire_ts_seconds i32",
    "full_key": "1 hash_key blob, 2 sort_key blob",
    "full_data": "1 hash_key blob, 2 sort_key blob, 3 value blob",
    "mutate": "1 operation i32, 2 sort_key blob, 3 value blob, 4 set_expire_ts_seconds i32",
    "put": "1 key blob, 2 value blob, 3 expire_ts_seconds i32",
    "multi_put": "1 hash_key blob, 2 kvs list<key_value>, 3 expire_ts_seconds i32",
    "multi_remove": "1 hash_key blob, 2 sort_keys list<blob>, 3 max_count i64",
    "incr": "1 key blob, 2 increment i64, 3 expire_ts_seconds i32",
    "check_and_set": "1 hash_key blob, 2 check_sort_key blob, 3 check_type i32, 4 check_operand blob, "
                     "5 set_diff_sort_key bool, 6 set_sort_key blob, 7 set_value blob, 8 set_expire_ts_seconds i32, "
                     "9 return_check_value bool",
    "check_and_mutate": "1 hash_key blob, 2 check_sort_key blob, 3 check_type i32, 4 check_operand blob, "
                        "5 mutate_list list<mutate>, 6 return_check_value bool",
    "multi_get": "1 hash_key blob, 2 sort_keys list<blob>, 3 max_kv_count i32, 4 max_kv_size i32, 5 no_value bool, "
                 "6 start_sortkey blob, 7 stop_sortkey blob, 8 start_inclusive bool, 9 stop_inclusive bool, "
                 "10 sort_key_filter_type i32, 11 sort_key_filter_pattern blob, 12 reverse bool",
    "batch_get": "1 keys list<full_key>",
    "get_scanner": "1 start_key blob, 2 stop_key blob, 3 start_inclusive bool, 4 stop_inclusive bool, 5 batch_size i32, "
                   "6 no_value bool, 7 hash_key_filter_type i32, 8 hash_key_filter_pattern blob, "
                   "9 sort_key_filter_type i32, 10 sort_key_filter_pattern blob, 11 validate_partition_hash bool, "
                   "12 return_expire_ts bool, 13 full_scan bool, 14 only_return_count bool, 1000 only_return_sum bool",
    "scan": "1 context_id i64",
    "update_response": "1 error i32, 2 app_id i32, 3 partition_index i32, 4 decree i64, 5 server string",
    "read_response": "1 error i32, 2 value blob, 3 app_id i32, 4 partition_index i32, 6 server string",
    "ttl_response": "1 error i32, 2 ttl_seconds i32, 3 app_id i32, 4 partition_index i32, 6 server string",
    "count_response": "1 error i32, 2 count i64, 3 app_id i32, 4 partition_index i32, 6 server string",
    "multi_get_response": "1 error i32, 2 kvs list<key_value>, 3 app_id i32, 4 partition_index i32, 6 server string",
    "batch_get_response": "1 error i32, 2 data list<full_data>, 3 app_id i32, 4 partition_index i32, 6 server string",
    "multi_remove_response": "1 error i32, 2 count i64, 3 app_id i32, 4 partition_index i32, 5 decree i64, 6 server string",
    "incr_response": "1 error i32, 2 new_value i64, 3 app_id i32, 4 partition_index i32, 5 decree i64, 6 server string",
    "check_response": "1 error i32, 2 check_value_returned bool, 3 check_value_exist bool, 4 check_value blob, "
                      "5 app_id i32, 6 partition_index i32, 7 decree i64, 8 server string",
    "scan_response": "1 error i32, 2 kvs list<key_value>, 3 context_id i64, 4 app_id i32, 5 partition_index i32, "
                     "6 server string, 7 kv_count i32, 1000 sum i64, 1001 next_key blob",
}.items()}

# request: (type of its argument, type of its answer)
REQUESTS = {
    "put": ("put", "update_response"), "remove": ("blob", "update_response"),
    "multi_put": ("multi_put", "update_response"), "multi_remove": ("multi_remove", "multi_remove_response"),
    "incr": ("incr", "incr_response"), "check_and_set": ("check_and_set", "check_response"),
    "check_and_mutate": ("check_and_mutate", "check_response"), "get": ("blob", "read_response"),
    "ttl": ("blob", "ttl_response"), "multi_get": ("multi_get", "multi_get_response"),
    "batch_get": ("batch_get", "batch_get_response"), "sortkey_count": ("blob", "count_response"),
    "get_scanner": ("get_scanner", "scan_response"), "scan": ("scan", "scan_response"),
    "clear_scanner": ("i64", None),
}

KINDS = {"bool": 2, "i32": 8, "i64": 10, "string": 11}  # lists: 15; blobs and structs: 12
FORMS = {"bool": ">?", "i32": ">i", "i64": ">q"}


def kind_of(form):
    return 15 if form.startswith("list<") else KINDS.get(form, 12)


def encode(form, value):
    if form in FORMS:
        return struct.pack(FORMS[form], value)
    if form in ("blob", "string"):
        return thft.string(value)
    if form.startswith("list<"):
        inner = form[5:-1]
        return struct.pack(">bi", kind_of(inner), len(value)) + b"".join(encode(inner, item) for item in value)
    unknown = value.keys() - {name for _, name, _ in STRUCTS[form]}
    if unknown:
        raise KeyError(f"{form} has no {unknown}")
    return b"".join(struct.pack(">bh", kind_of(inner), int(number)) + encode(inner, value[name])
                    for number, name, inner in STRUCTS[form] if name in value) + thft.STOP


def decode(form, reader):
    if form in FORMS:
        return reader.take(FORMS[form])
    if form in ("blob", "string"):
        return reader.text()
    if form.startswith("list<"):
        if reader.take(">b") != kind_of(form[5:-1]):
            raise ValueError(f"{form} of something else")
        return [decode(form[5:-1], reader) for _ in range(reader.take(">i"))]
    fields = {int(number): (name, inner) for number, name, inner in STRUCTS[form]}
    found = {}
    while (kind := reader.take(">b")) != 0:
        name, inner = fields[reader.take(">h")]
        if kind != kind_of(inner):
            raise ValueError(f"{form}.{name} has type {kind}")
        found[name] = decode(inner, reader)
    return found


def argument(form, value):
    """The request's arguments: one field 1, and the end."""
    return struct.pack(">bh", kind_of(form), 1) + encode(form, value) + thft.STOP


def _crc_table():
    table = []
    for entry in range(256):
        for _ in range(8):
            entry = entry >> 1 ^ (0x9a6c9329ac4bc9b5 if entry & 1 else 0)
        table.append(entry)
    return table


CRC_TABLE = _crc_table()


def crc64(data):
    crc = (1 << 64) - 1
    for byte in data:
        crc = CRC_TABLE[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ (1 << 64) - 1


def raw_key(hash_key, sort_key):
    return thft.raw_key(hash_key, sort_key)


def next_key(hash_key, prefix=b""):
    """Behind every record of the hash key whose sort key begins with `prefix`."""
    key = bytearray(raw_key(hash_key, prefix))
    while key[-1] == 255:
        del key[-1]
    key[-1] += 1
    return bytes(key)


def expiry(seconds):
    """That many seconds from now, as requests tell it."""
    return int(time.time()) - EPOCH + seconds


class Refused(Exception):
    """The error name that came instead of an answer."""


class DataApi:
    def __init__(self, meta, table, header_version=0, timeout=20):
        self.meta, self.table = meta, table
        error, self.app_id, self.partitions = thft.ask_config(meta, table)
        if error != "ERR_OK":
            raise Refused(error)
        self.header_version = header_version
        self.timeout = timeout
        self.connections = {}
        self.sequence = 0

    def close(self):
        for connection in self.connections.values():
            connection.close()

    def partition_of(self, hash_key, sort_key=b""):
        return self.owner(crc64(hash_key or sort_key))

    def owner(self, partition_hash):
        """Until a split has made a partition, its parent."""
        partition = partition_hash % len(self.partitions)
        return partition if self.partitions[partition]["ballot"] >= 0 else partition - len(self.partitions) // 2

    def __getattr__(self, request):
        if request not in REQUESTS:
            raise AttributeError(request)
        return lambda *value, **options: self.call(request, *value, **options)

    def call(self, request, *bare, partition=None, partition_hash=None, address=None, backup=False, **fields):
        """`bare`: the argument of a request that has no fields. Without `partition` the keys tell it; without `partition_hash` the
        header has the partition's index."""
        value = bare[0] if bare else fields
        if partition is None:
            hashed = self.hashed(request, value)
            partition, partition_hash = self.owner(crc64(hashed)), crc64(hashed)
        self.sequence += 1
        name = "RPC_RRDB_RRDB_" + request.upper()
        body = thft.body(name, argument(REQUESTS[request][0], value), self.sequence)
        frame = thft.frame if self.header_version == 0 else thft.frame_v1
        options = {} if self.header_version == 0 else {"backup": backup}
        connection = self.connection(address or self.partitions[partition]["primary"])
        header_hash = partition if partition_hash is None else partition_hash
        connection.sendall(frame(body, self.app_id, partition, 5000, header_hash, **options))
        if REQUESTS[request][1] is None:
            return None
        error, got, sequence, result = thft.read_reply(connection)
        if (got, sequence) != (name + "_ACK", self.sequence):
            raise ValueError(f"{name} {self.sequence} was answered by {got} {sequence}")
        if error != "ERR_OK":
            raise Refused(error)
        reader = thft.Reader(result)
        if (reader.take(">b"), reader.take(">h")) != (12, 0):
            raise ValueError(f"{got} has no field 0")
        return decode(REQUESTS[request][1], reader)

    def hashed(self, request, value):
        """The bytes whose hash chooses the partition."""
        if request == "sortkey_count":
            return value
        if request == "batch_get":
            return value["keys"][0]["hash_key"] if value["keys"] else b""
        raw = value if isinstance(value, bytes) else value.get("key", value.get("start_key"))
        if raw is None:
            return value["hash_key"]
        length = struct.unpack(">H", raw[:2])[0]
        return raw[2:2 + length] or raw[2:]

    def connection(self, address):
        if address not in self.connections:
            self.connections[address] = thft.connect(address, self.timeout)
            self.connections[address].setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self.connections[address]

    # What most cases need.

    def fill(self, hash_key, *sort_keys, **options):
        kvs = [{"key": key, "value": b"v" + key} for key in sort_keys]
        if self.multi_put(hash_key=hash_key, kvs=kvs, **options)["error"] != OK:
            raise ValueError("multi_put failed")

    def set(self, hash_key, sort_key, value, expire_ts_seconds=0):
        answer = self.put(key=raw_key(hash_key, sort_key), value=value, expire_ts_seconds=expire_ts_seconds)
        if answer["error"] != OK:
            raise ValueError(f"put: {answer}")

    def value(self, hash_key, sort_key):
        """None where there is no such record."""
        answer = self.get(raw_key(hash_key, sort_key))
        if answer["error"] not in (OK, NOT_FOUND):
            raise ValueError(f"get: {answer}")
        return answer["value"] if answer["error"] == OK else None

    def all(self, hash_key):
        """{sort key: value} of everything under a hash key."""
        answer = self.multi_get(hash_key=hash_key, start_inclusive=True)
        if answer["error"] != OK:
            raise ValueError(f"multi_get: {answer}")
        return {kv["key"]: kv["value"] for kv in answer["kvs"]}

    def scan_all(self, partition, **request):
        """Every record of a scan of one partition, and the number of answers it took."""
        answer = self.get_scanner(partition=partition, **request)
        kvs, answers = answer["kvs"], 1
        while answer["context_id"] != -1:  # others may be negative
            answer = self.scan(context_id=answer["context_id"], partition=partition)
            if answer["error"] != OK:
                raise ValueError(f"scan: {answer}")
            kvs, answers = kvs + answer["kvs"], answers + 1
        return kvs, answers

    def scan_table(self):
        """{(hash key, sort key): value} of the whole table."""
        found = {}
        for partition in range(len(self.partitions)):
            kvs, _ = self.scan_all(partition, start_key=b"\0\0", stop_key=b"\xff\xff", start_inclusive=True,
                                   batch_size=1000, full_scan=True)
            for kv in kvs:
                length = struct.unpack(">H", kv["key"][:2])[0]
                found[kv["key"][2:2 + length], kv["key"][2 + length:]] = kv["value"]
        return found
