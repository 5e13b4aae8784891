"""The protocol's frames in a few lines, for tests that must say things no client says.

SPDX-License-Identifier: Apache-2.0
"""

import socket
import struct

CALL, REPLY = 1, 2


def string(text):
    data = text if isinstance(text, bytes) else text.encode()
    return struct.pack(">i", len(data)) + data


def body(name, argument, sequence=1, kind=CALL):
    """Message begin, and the argument (the bytes of a struct with its fields and stop) as field 1 of the args."""
    return struct.pack(">I", 0x80010000 | kind) + string(name) + struct.pack(">i", sequence) + argument


def frame(payload, app_id=0, partition=0, timeout=1000, partition_hash=0, length=None, header_length=48):
    """A header of version 0 with its body; `length` lies about the body's."""
    return b"THFT" + struct.pack(">IIIIIiiiiQ", 0, header_length, 0, len(payload) if length is None else length, 0,
                                 app_id, partition, timeout, app_id * 7919 + partition, partition_hash) + payload


def frame_v1(payload, app_id=0, partition=0, timeout=1000, partition_hash=0, backup=False):
    """A header of version 1, as Java's client sends it."""
    meta = (i32_field(1, app_id) + i32_field(2, partition) + i32_field(3, timeout) +
            b"\x0a" + struct.pack(">hQ", 4, partition_hash) + b"\x02" + struct.pack(">h?", 5, backup) + STOP)
    return b"THFT" + struct.pack(">III", 1, len(meta), len(payload)) + meta + payload


def struct_field(number, inner):
    return b"\x0c" + struct.pack(">h", number) + inner


def string_field(number, text):
    return b"\x0b" + struct.pack(">h", number) + string(text)


def i32_field(number, value):
    return b"\x08" + struct.pack(">hi", number, value)


STOP = b"\0"


def query_config(table, sequence=1):
    request = string_field(1, table) + b"\x0f" + struct.pack(">hbi", 2, 8, 0) + STOP
    return frame(body("RPC_CM_QUERY_PARTITION_CONFIG_BY_INDEX", struct_field(1, request) + STOP, sequence))


def raw_key(hash_key, sort_key):
    return struct.pack(">H", len(hash_key)) + hash_key + sort_key


def get(app_id, partition, hash_key, sort_key, sequence=1):
    argument = struct_field(1, string(raw_key(hash_key, sort_key))) + STOP
    return frame(body("RPC_RRDB_RRDB_GET", argument, sequence), app_id, partition)


def connect(address, timeout=5):
    host, port = address.split(":")
    return socket.create_connection((host, int(port)), timeout=timeout)


def read_exactly(connection, count):
    data = b""
    while len(data) < count:
        more = connection.recv(count - len(data))
        if not more:
            raise ConnectionError(f"closed after {len(data)} of {count} bytes")
        data += more
    return data


def read_reply(connection):
    """(error name, reply's name, sequence, result's bytes) of the next answer."""
    total = struct.unpack(">I", read_exactly(connection, 4))[0]
    data = read_exactly(connection, total - 4)
    length = struct.unpack(">i", data[:4])[0]
    error = data[4:4 + length].decode()
    data = data[4 + length:]
    name_length = struct.unpack(">i", data[4:8])[0]
    name = data[8:8 + name_length].decode()
    sequence = struct.unpack(">i", data[8 + name_length:12 + name_length])[0]
    return error, name, sequence, data[12 + name_length:]


class Reader:
    """Reads a struct of which one knows the fields: raw (primitive) structs are named in `raw`."""

    def __init__(self, data):
        self.data = data
        self.at = 0

    def take(self, form):
        size = struct.calcsize(form)
        value = struct.unpack(form, self.data[self.at:self.at + size])[0]
        self.at += size
        return value

    def text(self):
        length = self.take(">i")
        self.at += length
        return self.data[self.at - length:self.at]

    def fields(self, readers):
        """{id: value} by the readers given for the ids; fields arrive in any order."""
        found = {}
        while True:
            kind = self.take(">b")
            if kind == 0:
                return found
            number = self.take(">h")
            found[number] = readers[number](self)

    def list_of(self, read):
        self.take(">b")
        return [read(self) for _ in range(self.take(">i"))]


def _i32(reader):
    return reader.take(">i")


def _i64(reader):
    return reader.take(">q")


def _address(reader):
    value = reader.take(">Q")
    if value == 0:
        return None
    return f"{value >> 56}.{value >> 48 & 255}.{value >> 40 & 255}.{value >> 32 & 255}:{value >> 16 & 65535}"


def _partition(reader):
    fields = reader.fields({1: _i64, 2: _i64, 3: _i32, 4: _address, 5: lambda r: r.list_of(_address),
                            6: lambda r: r.list_of(_address), 7: _i64, 8: _i32})
    return {"index": fields[1] >> 32, "ballot": fields[2], "primary": fields[4], "secondaries": fields[5]}


def ask_config(meta, table):
    """(error, app id, partitions) as the meta server tells."""
    with connect(meta) as connection:
        connection.sendall(query_config(table))
        error, _, _, result = read_reply(connection)
    if error != "ERR_OK":
        return error, 0, []
    reader = Reader(result)
    answer = reader.fields({0: lambda r: r.fields({1: lambda r: r.text().decode(), 2: _i32, 3: _i32,
                                                   4: lambda r: r.take(">b") != 0,
                                                   5: lambda r: r.list_of(_partition)})})[0]
    return answer.get(1, "ERR_OK"), answer.get(2, 0), answer.get(5, [])


def create_table(meta, table, partitions, replicas, environments=None):
    """The error name of the answer."""
    environments = environments or {}
    options = (i32_field(1, partitions) + i32_field(2, replicas) + b"\x02\x00\x03\x01" + string_field(4, "pegasus") +
               b"\x02\x00\x05\x01" + b"\x0d" + struct.pack(">hbbi", 6, 11, 11, len(environments)) +
               b"".join(string(text) for pair in environments.items() for text in pair) + STOP)
    request = string_field(1, table) + struct_field(2, options) + STOP
    with connect(meta, timeout=15) as connection:
        connection.sendall(frame(body("RPC_CM_CREATE_APP", struct_field(1, request) + STOP)))
        error, _, _, result = read_reply(connection)
    if error != "ERR_OK":
        return error
    return Reader(result).fields({0: lambda r: r.fields({1: lambda r: r.text().decode(), 2: _i32,
                                                          1000: lambda r: r.text().decode()})})[0].get(1, "ERR_OK")
