#!/usr/bin/env python3
"""A server of Apache Pegasus 2.5.0, in another cluster, duplicates a table to this one: its batches are sent as it sends them, also
twice, while servers are killed. What was acknowledged is there, all copies are equal, and no bytes end a server.

SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import random
import struct
import subprocess
import time
import unittest

import data_api
import harness
import rdsn
import thft

DUPLICATE = "RPC_RRDB_RRDB_DUPLICATE"
THERE = 2


class InAGroup(harness.Server):
    def arguments(self):
        return [*super().arguments(), "--duplication_group=test:1,there:2"]


def i8_field(number, value):
    return b"\x03" + struct.pack(">hb", number, value)


def blob_field(number, data):
    return thft.struct_field(number, thft.string(data))


def entry(request, cluster=THERE, **fields):
    """A write in the other cluster's log; of `remove` the field is its key."""
    form = data_api.REQUESTS[request][0]
    raw = rdsn_argument(form, fields["key"] if form == "blob" else fields)
    return (rdsn.i64_field(1, int(time.time() * 1e6)) + blob_field(2, "RPC_RRDB_RRDB_" + request.upper()) +
            blob_field(3, raw) + i8_field(4, cluster) + thft.STOP)


def rdsn_argument(form, value):
    """Wrapped under id 0, as C++ clients do it."""
    wrapped = data_api.argument(form, value)
    return wrapped[:1] + b"\0\0" + wrapped[3:]


def batch(*entries):
    return rdsn.wrapped(rdsn.list_field(1, 12, entries))


class Duplication(harness.ClusterTest):
    partitions = 4

    @classmethod
    def make_cluster(cls):
        return harness.Cluster(servers=cls.servers, replica_class=InAGroup)

    def open_table(self):
        self.data = data_api.DataApi(self.cluster.meta.address, "temp")
        self.addCleanup(self.data.close)

    def send(self, body, partition, partition_hash=0):
        """(RPC error, error, hint) of the partition's primary."""
        primary = self.cluster.partitions("temp")[partition]["primary"]
        with thft.connect(primary, 20) as connection:
            connection.sendall(rdsn.frame(DUPLICATE, body, "127.0.0.1:1", app_id=self.data.app_id, partition=partition,
                                          partition_hash=partition_hash))
            answer = rdsn.read_frame(connection)
        if answer.error != "ERR_OK":
            return answer.error, None, None
        reader = thft.Reader(answer.body)
        self.assertEqual((reader.take(">b"), reader.take(">h")), (12, 0))
        fields = reader.fields({1: lambda r: r.take(">i"), 2: lambda r: r.text().decode()})
        return answer.error, fields[1], fields.get(2)

    def send_until_taken(self, body, partition, partition_hash):
        """As a sender does: the same again after anything but success."""
        def is_taken():
            try:
                return self.send(body, partition, partition_hash)[:2] == ("ERR_OK", 0)
            except OSError:
                return False
        harness.wait_for("a batch is taken", is_taken, 60)

    def read(self, key):
        """As soon as the key's partition is served again."""
        def answered():
            try:
                return [self.data.value(key, b"s")]
            except (data_api.Refused, OSError):
                self.open_table()
                return None
        return harness.wait_for("the partition is served", answered, 60)[0]

    def verify(self):
        shell = subprocess.run([os.path.join(harness.BUILD, "arion_shell"), "--meta", self.cluster.meta.address, "-j", "-e",
                                "verify_replicas temp"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120 * harness.PATIENCE)
        return shell.returncode, json.loads(shell.stdout.splitlines()[-1])

    def test_batches_are_there_after_kills_and_all_copies_are_equal(self):
        self.open_table()
        expected = {}
        for round_number in range(40):
            by_partition = {}
            for i in range(20):
                key = f"k{(round_number * 7 + i) % 100}".encode()
                by_partition.setdefault(self.data.partition_of(key), []).append((key, i))
            for partition, keys in by_partition.items():
                entries = []
                for key, i in keys:
                    value = f"{round_number}.{i}".encode()
                    raw = data_api.raw_key(key, b"s")
                    if i % 5 == 4:
                        entries.append(entry("remove", key=raw))
                        expected[key] = None
                    elif i % 5 == 3:
                        entries.append(entry("multi_put", hash_key=key, kvs=[{"key": b"s", "value": value}]))
                        expected[key] = value
                    else:
                        entries.append(entry("put", key=raw, value=value, expire_ts_seconds=0))
                        expected[key] = value
                body, last = batch(*entries), data_api.crc64(keys[-1][0])
                self.send_until_taken(body, partition, last)
                if round_number % 3 == 0:
                    self.send_until_taken(body, partition, last)  # its answer may have been lost
            if round_number in (10, 25):
                victim = self.cluster.replicas[round_number % 3]
                victim.kill()
                victim.start()
        self.cluster.wait_healthy("temp")
        self.open_table()
        for key, value in expected.items():
            if value is None:
                self.assertEqual(self.data.get(data_api.raw_key(key, b"s"))["error"], data_api.NOT_FOUND, key)
            else:
                self.assertEqual(self.data.value(key, b"s"), value)

        def equal():
            code, answer = self.verify()
            return code == 0 and answer["equal"] == self.partitions
        harness.wait_for("all copies are equal", equal, 60)
        for server in self.cluster.replicas:
            server.kill()
        self.cluster.start()
        for key, value in expected.items():
            if value is not None:
                self.assertEqual(self.read(key), value)
        self.check_all_alive()

    def test_refusals_are_those_that_a_sender_knows_and_no_bytes_end_a_server(self):
        self.open_table()
        raw = data_api.raw_key(b"refused", b"s")
        partition = self.data.partition_of(b"refused")
        put = entry("put", key=raw, value=b"v", expire_ts_seconds=0)
        for other, hint in ((entry("put", 1, key=raw, value=b"v"), "self-duplicating"),
                            (entry("put", 3, key=raw, value=b"v"), "request cluster id is unconfigured"),
                            (entry("incr", key=raw, increment=1), "unrecognized task code RPC_RRDB_RRDB_INCR")):
            self.assertEqual(self.send(batch(put, other), partition), ("ERR_OK", 4, hint))
        self.assertEqual(self.send(batch(), partition), ("ERR_OK", 0, None))
        self.assertEqual(self.send(batch(put, entry("put", key=b"", value=b"v")), partition)[0], "ERR_INVALID_DATA")
        body = batch(put, entry("multi_put", hash_key=b"h", kvs=[{"key": b"s", "value": b"v"}]))
        chance = random.Random(7)
        for i in range(300):
            damaged = bytearray(body)
            for _ in range(1 + i % 4):
                damaged[chance.randrange(len(damaged))] = chance.choice((0, 1, 0x7f, 0xff, chance.randrange(256)))
            self.send(bytes(damaged[:len(damaged) - (i % 3 == 0) * chance.randrange(len(damaged))]), partition)
        self.check_all_alive()
        self.assertEqual(self.send(body, partition), ("ERR_OK", 0, None))
        self.assertEqual(self.data.value(b"refused", b"s"), b"v")
        primary = self.cluster.partitions("temp")[partition]["primary"]
        samples = harness.metrics(next(server for server in self.cluster.replicas if server.address == primary))
        for name, labels in (("arion_duplicate_lag_seconds_count", {}), ("arion_requests_total", {"operation": "duplicate"})):
            found = [value for known, has, value in samples if known == name and labels.items() <= has.items()]
            self.assertGreater(sum(found), 0, name)


if __name__ == "__main__":
    unittest.main()
