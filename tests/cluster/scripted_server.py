"""A server that answers what a script says: meta server and every replica server in one, for what no real server of
ours can be brought to say on demand.

    with ScriptedServer(lambda request: "ERR_BUSY") as server: ...      # server.address; server.asked lists all requests

A script answers a data request by the name of an error, a storage error (a number), CLOSE, SILENCE or OK. It is called
in the order the requests came in.
SPDX-License-Identifier: Apache-2.0
"""

import collections
import socket
import struct
import threading
import time

import data_api
import thft

OK, CLOSE, SILENCE = "ERR_OK", "close", "silence"
APP_ID = 2
QUERY = "RPC_CM_QUERY_PARTITION_CONFIG_BY_INDEX"

Request = collections.namedtuple("Request", "name partition partition_hash at server")


def address_bits(address):
    host, port = address.split(":")
    return struct.pack(">4BHH", *map(int, host.split(".")), int(port), 1)


def partition_configuration(index, primary, ballot):
    return (b"\x0c\0\x01" + struct.pack(">ii", index, APP_ID) + b"\x0a\0\x02" + struct.pack(">q", ballot) +
            thft.i32_field(3, 3) + b"\x0c\0\x04" + address_bits(primary) + b"\x0f\0\x05" + struct.pack(">bi", 12, 0) +
            b"\x0f\0\x06" + struct.pack(">bi", 12, 0) + b"\x0a\0\x07" + bytes(8) + thft.i32_field(8, 0) + thft.STOP)


def configuration(primaries, ballots):
    """What the meta server says of a table with these primaries."""
    listed = b"".join(partition_configuration(i, *both) for i, both in enumerate(zip(primaries, ballots)))
    return thft.struct_field(0, thft.struct_field(1, thft.string("ERR_OK")) + thft.i32_field(2, APP_ID) +
                             thft.i32_field(3, len(primaries)) + b"\x02\0\x04\x01" + b"\x0f\0\x05" +
                             struct.pack(">bi", 12, len(primaries)) + listed + thft.STOP) + thft.STOP


def reply(error, name, sequence, result=b""):
    rest = thft.string(error) + thft.body(name + "_ACK", result, sequence, thft.REPLY)
    return struct.pack(">I", len(rest) + 4) + rest


def data_result(name, partition, error, server):
    """An answer of the right type with that storage error."""
    form = data_api.REQUESTS[name.removeprefix("RPC_RRDB_RRDB_").lower()][1]
    empty = {"i32": 0, "i64": 0, "bool": False, "blob": b"", "string": server}
    answer = {field: empty.get(kind, []) for _, field, kind in data_api.STRUCTS[form]}
    answer |= {"error": error, "app_id": APP_ID, "partition_index": partition}
    return thft.struct_field(0, data_api.encode(form, answer)) + thft.STOP


class ScriptedServer:
    def __init__(self, script, partitions=4):
        self.script = script
        self.asked = []     # data requests; those about the table are only counted
        self.lookups = 0
        self.lock = threading.Lock()
        self.connections = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        self.primaries = [self.address] * partitions
        self.ballots = [3] * partitions
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        with self.lock:
            for connection in self.connections:
                connection.close()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with self.lock:
                self.connections.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        try:
            while True:
                header = thft.read_exactly(connection, 48)
                length, partition = struct.unpack(">I", header[16:20])[0], struct.unpack(">i", header[28:32])[0]
                partition_hash = struct.unpack(">Q", header[40:])[0]
                body = thft.read_exactly(connection, length)
                end = 8 + struct.unpack(">i", body[4:8])[0]
                name, sequence = body[8:end].decode(), struct.unpack(">i", body[end:end + 4])[0]
                answer = self._answer(name, sequence, partition, partition_hash)
                if answer == CLOSE:
                    connection.close()
                    return
                if answer != SILENCE:
                    connection.sendall(answer)
        except OSError:
            return  # the client went, or the test is over

    def _answer(self, name, sequence, partition, partition_hash):
        with self.lock:
            if name == QUERY:
                self.lookups += 1
                return reply(OK, name, sequence, configuration(self.primaries, self.ballots))
            request = Request(name, partition, partition_hash, time.monotonic(), self)
            self.asked.append(request)
            said = self.script(request)
        if said in (CLOSE, SILENCE):
            return said
        if isinstance(said, str) and said != OK:
            return reply(said, name, sequence)
        return reply(OK, name, sequence, data_result(name, partition, said if isinstance(said, int) else 0, self.address))
