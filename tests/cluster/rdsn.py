"""RDSN frames, and servers that speak them as Apache Pegasus 2.5.0 does: without a cluster's name in any message.

SPDX-License-Identifier: Apache-2.0
"""

import collections
import itertools
import json
import socket
import struct
import threading
import time

import thft
from scripted_server import address_bits

HEADER = 192
REQUEST, REPLY = 0x441, 0x440
IDS = itertools.count(1)


def from_bits(address):
    return struct.unpack(">Q", address_bits(address))[0]


def frame(name, body, sender, context=REQUEST, identity=None, error="", app_id=0, partition=0, partition_hash=0):
    return (b"RDSN" + struct.pack("<IIIIIQQ", 0, HEADER, 0, len(body), 0, identity or next(IDS), 9) +
            name.encode().ljust(48, b"\0") +
            struct.pack("<IIiiQQiiQ", 0, 0, app_id, partition, context, from_bits(sender), 5000,
                        app_id * 7919 + partition, partition_hash) +
            error.encode().ljust(48, b"\0") + bytes(8) + body)


Frame = collections.namedtuple("Frame", "name identity context error thread_hash body")


def read_frame(connection):
    header = thft.read_exactly(connection, HEADER)
    length, = struct.unpack("<I", header[16:20])
    identity, = struct.unpack("<Q", header[24:32])
    context, = struct.unpack("<Q", header[104:112])
    thread_hash, = struct.unpack("<i", header[124:128])
    name, error = (header[at:at + 48].split(b"\0")[0].decode() for at in (40, 136))
    return Frame(name, identity, context, error, thread_hash, thft.read_exactly(connection, length))


def wrapped(struct_bytes):
    return thft.struct_field(0, struct_bytes + thft.STOP) + thft.STOP


def i64_field(number, value):
    return b"\x0a" + struct.pack(">hq", number, value)


def bool_field(number, value):
    return b"\x02" + struct.pack(">h?", number, value)


def address_field(number, address):
    return thft.struct_field(number, address_bits(address) if address else bytes(8))


def error_field(error):
    return thft.struct_field(1, thft.string(error))


def list_field(number, kind, items):
    return b"\x0f" + struct.pack(">hbi", number, kind, len(items)) + b"".join(items)


def app_info(app_id, table, partitions=1, duplicating=False, envs=(), dropped_until=0, made=0):
    """`dropped_until`: not 0 of one that is dropped."""
    pairs = b"".join(thft.string(text) for pair in dict(envs).items() for text in pair)
    return (thft.i32_field(1, 6 if dropped_until else 1) + thft.string_field(2, "pegasus") + thft.string_field(3, table) +
            thft.i32_field(4, app_id) + thft.i32_field(5, partitions) +
            b"\x0d" + struct.pack(">hbbi", 6, 11, 11, len(envs)) + pairs + bool_field(7, True) +
            thft.i32_field(8, 1) + i64_field(9, dropped_until) + i64_field(10, made) + i64_field(11, 0) +
            bool_field(12, duplicating) + thft.i32_field(13, partitions) + bool_field(14, False) + thft.STOP)


def configuration(app_id, index, primary, ballot, secondaries=()):
    """Of a table with one copy, as it says."""
    return (thft.struct_field(1, struct.pack(">ii", index, app_id)) + i64_field(2, ballot) + thft.i32_field(3, 1) +
            address_field(4, primary) + list_field(5, 12, list(map(address_bits, secondaries))) +
            list_field(6, 12, []) + i64_field(7, 0) +
            thft.i32_field(8, 0) + thft.STOP)


ASSIGN_PRIMARY = 1
INACTIVE, PRIMARY, SECONDARY = 1, 3, 4


def replica_info(app_id, index, status):
    return (thft.struct_field(1, struct.pack(">ii", index, app_id)) + i64_field(2, 1) + thft.i32_field(3, status) +
            i64_field(4, 0) + i64_field(5, 0) + i64_field(6, 0) + thft.string_field(7, "pegasus") +
            thft.string_field(8, "disk") + thft.STOP)


def update(info, config, kind, node):
    """configuration_update_request, without its end."""
    return (thft.struct_field(1, info) + thft.struct_field(2, config) + thft.i32_field(3, kind) + address_field(4, node) +
            address_field(5, None))


def call(to, name, body, sender):
    """(RPC-level error, body) of the answer; `sender`: what the request says it is from."""
    with thft.connect(to) as connection:
        connection.sendall(frame(name, body, sender))
        answer = read_frame(connection)
        return answer.error, answer.body


def beacon(node, meta, start_time=1):
    return wrapped(i64_field(1, 77) + address_field(2, node) + address_field(3, meta) + i64_field(4, start_time))


def config_sync(node):
    return wrapped(address_field(1, node) + list_field(2, 12, []))


def serve(listener, each):
    """Each connection on a thread of its own, until the listener is closed."""
    def run(connection):
        with connection:
            try:
                each(connection)
            except (OSError, ConnectionError):
                pass  # the other end went
    def accept():
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=run, args=(connection,), daemon=True).start()
    threading.Thread(target=accept, daemon=True).start()


def answer_page(connection, lease=1, started="2026-11-26 00:00:00"):
    """As 2.5.0 does: it has pages with its version, its settings and its start, and none of ours; and it keeps the connection,
    whatever was asked."""
    setting = {"name": "fd_lease_seconds", "section": "replication", "type": "FV_INT32", "tags": "",
               "description": "lease (seconds) get from remote FD master", "value": str(lease)}
    pages = {"/version": {"Version": "2.5.0", "GitCommit": "0"}, "/recentStartTime": {"RecentStartTime": started},
             "/configs": {"fd_lease_seconds": setting}}
    while said := connection.recv(65536):
        path = said.split(b" ")[1].decode()
        body = json.dumps(pages[path]) if path in pages else f'service not found for "{path[1:]}"'
        status = "200 OK" if path in pages else "404 Not Found"
        connection.sendall(f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())


class OldReplicaServer:
    """Sends beacons and reports as a replica server of 2.5.0, shows its version, and takes the offices of new partitions of `table` that
    it is offered; it has nothing of them, and answers nobody. `tables`: what it says that it holds; `roles`: as what, by
    (table, partition)."""

    table = "temp"

    def __init__(self, meta, tables=()):
        self.meta = meta
        self.tables = list(tables)
        self.lease = 1  # seconds; shorter than harness.py's grace
        self.roles = {}
        self.started = "2026-11-26 00:00:00"
        self.heard = collections.Counter()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        self.is_up = True
        serve(self.listener, self._hear)
        threading.Thread(target=self._beacons, daemon=True).start()

    def say_beacon(self):
        return call(self.meta, "RPC_FD_FAILURE_DETECTOR_PING", beacon(self.address, self.meta), self.address)[0]

    def _hear(self, connection):
        while True:
            first = connection.recv(4, socket.MSG_PEEK | socket.MSG_WAITALL)
            if first[:3] == b"GET":
                return answer_page(connection, self.lease, self.started)
            said = read_frame(connection)
            self.heard[said.name] += 1
            if said.name == "RPC_CONFIG_PROPOSAL":
                self._take_office(*divmod(said.thread_hash, 7919))
            if said.name == "RPC_QUERY_APP_INFO":
                self._answer(connection, said, self.tables)
            if said.name == "RPC_QUERY_REPLICA_INFO":
                self._answer(connection, said, [replica_info(*pid, role) for pid, role in self.roles.items()])

    def _answer(self, connection, said, rows):
        answer = wrapped(error_field("ERR_OK") + list_field(2, 12, rows))
        connection.sendall(frame(said.name + "_ACK", answer, self.address, said.context & ~1, said.identity, "ERR_OK"))

    def _take_office(self, app_id, index):
        request = update(app_info(app_id, self.table), configuration(app_id, index, self.address, 1), ASSIGN_PRIMARY,
                         self.address)
        call(self.meta, "RPC_CM_UPDATE_PARTITION_CONFIGURATION", wrapped(request), self.address)

    def _beacons(self):
        while self.is_up:
            try:
                if self.say_beacon() == "ERR_OK":
                    call(self.meta, "RPC_CM_CONFIG_SYNC", config_sync(self.address), self.address)
            except OSError:
                pass  # the meta server restarts
            time.sleep(0.3)

    def stop(self):
        self.is_up = False
        self.listener.close()


class OldMetaServer:
    """A meta server of 2.5.0 with one table of one partition: says what its cluster is like, grants leases, accepts each
    update; a proposal moves the primary to the first of those `shown`. `heard` counts requests by name; answers carry the bits
    of the questions back, as 2.5.0 does."""

    def __init__(self, cluster, table="temp", app_id=2):
        self.cluster, self.table, self.app_id = cluster, table, app_id
        self.duplicating = False
        self.envs, self.made = {}, 0
        self.dropped = []       # app_info of tables that are
        self.ballot, self.primary = 0, None
        self.shown = []         # secondaries, to those who look
        self.heard = {}
        self.stored = b""       # the last config sync
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        serve(self.listener, self._serve)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def _serve(self, connection):
        while True:
            if connection.recv(4, socket.MSG_PEEK | socket.MSG_WAITALL)[:3] == b"GET":
                return answer_page(connection)
            asked = read_frame(connection)
            self.heard[asked.name] = self.heard.get(asked.name, 0) + 1
            answer = self._answer(asked.name, asked.body)
            error = "ERR_OK" if answer is not None else "ERR_HANDLER_NOT_FOUND"
            connection.sendall(frame(asked.name + "_ACK", answer or b"", self.address, asked.context & ~1, asked.identity,
                                     error))

    def app_info(self):
        return app_info(self.app_id, self.table, duplicating=self.duplicating, envs=self.envs, made=self.made)

    def update(self, kind, node):
        return update(self.app_info(), configuration(self.app_id, 0, self.primary, self.ballot), kind, node)

    def propose_primary(self, server):
        """CT_ASSIGN_PRIMARY; once it is accepted the configuration has it."""
        body = wrapped(self.update(ASSIGN_PRIMARY, server))
        self.wanted = server
        with thft.connect(server) as connection:
            connection.sendall(frame("RPC_CONFIG_PROPOSAL", body, self.address))

    def _answer(self, name, body):
        if name == "RPC_CM_CLUSTER_INFO":
            keys = ["meta_servers", "meta_function_level", "cluster_name"]
            values = [self.address, "lively", self.cluster]
            return wrapped(error_field("ERR_OK") + list_field(2, 11, list(map(thft.string, keys))) +
                           list_field(3, 11, list(map(thft.string, values))))
        if name == "RPC_CM_LIST_APPS":
            return wrapped(error_field("ERR_OK") + list_field(2, 12, [self.app_info(), *self.dropped]))
        if name == "RPC_CM_PROPOSE_BALANCER":
            self.ballot += 1
            self.primary, self.shown = self.shown[0], [*self.shown[1:], self.primary]
            return wrapped(error_field("ERR_OK"))
        if name == "RPC_CM_LIST_NODES":
            alive = [thft.i32_field(1, 1) + address_field(2, server) + thft.STOP
                     for server in [*([self.primary] if self.primary else []), *self.shown]]
            return wrapped(error_field("ERR_OK") + list_field(2, 12, alive))
        if name == "RPC_CM_QUERY_PARTITION_CONFIG_BY_INDEX":
            partition = configuration(self.app_id, 0, self.primary, self.ballot, self.shown)
            return wrapped(error_field("ERR_OK") + thft.i32_field(2, self.app_id) + thft.i32_field(3, 1) +
                           bool_field(4, True) + list_field(5, 12, [partition]))
        if name == "RPC_FD_FAILURE_DETECTOR_PING":
            return wrapped(i64_field(1, 0) + address_field(2, self.address) + address_field(3, self.address) +
                           bool_field(4, True) + bool_field(5, True))
        if name == "RPC_CM_CONFIG_SYNC":
            self.stored = body
            entries = [self.update(0, None) + thft.STOP] if self.primary else []
            return wrapped(error_field("ERR_OK") + list_field(2, 12, entries))
        if name == "RPC_CM_UPDATE_PARTITION_CONFIGURATION":
            if not self.primary:
                self.ballot, self.primary = self.ballot + 1, self.wanted
            return wrapped(error_field("ERR_OK") + thft.struct_field(
                2, configuration(self.app_id, 0, self.primary, self.ballot)))
        return None

