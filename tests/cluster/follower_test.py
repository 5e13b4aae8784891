#!/usr/bin/env python3
"""A table of one cluster that follows one of another: each of its partitions begins with a checkpoint of its master's primary, also
where servers are killed in the middle of the copies, and where the master's address is wrong at first.

SPDX-License-Identifier: Apache-2.0
"""

import collections
import glob
import os
import random
import unittest
import urllib.request

import data_api
import harness
import thft
from split_test import run_shell

PARTITIONS = 4
MASTER, FOLLOWER = "duplication.master_cluster", "duplication.master_metas"


def environments(metas):
    return {MASTER: "source", FOLLOWER: metas, "rocksdb.unknown_to_arion": "7"}


class Follower(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.source = harness.Cluster(servers=2)
        cls.target = harness.Cluster(servers=2)
        for cluster in (cls.source, cls.target):
            cluster.start()
        for cluster in (cls.source, cls.target):
            harness.wait_for("all servers are known", lambda c=cluster: c.alive() == 2)

    @classmethod
    def tearDownClass(cls):
        cls.source.destroy()
        cls.target.destroy()

    def run(self, result=None):
        failures = len(result.failures) + len(result.errors)
        super().run(result)
        if len(result.failures) + len(result.errors) > failures:
            self.source.print_logs()
            self.target.print_logs()
        return result

    def load(self, name, records, value_bytes):
        """Records in all partitions but the last one."""
        self.source.create_table(name, partitions=PARTITIONS, replicas=2)
        table = data_api.DataApi(self.source.meta.address, name, header_version=1)
        self.addCleanup(table.close)
        values = {}
        for i in range(records):
            key = (b"k%d" % i, b"s")
            if table.partition_of(*key) == PARTITIONS - 1:
                continue
            values[key] = random.randbytes(value_bytes)
            table.set(*key, values[key])
        counts = collections.Counter(table.partition_of(*key) for key in values)

        def has_checkpoints():
            """Each record was a decree of its own."""
            run_shell(self.source, "remote_command -t replica-server replica.trigger-checkpoint")
            return all(self.newest_checkpoint(server, f"{table.app_id}.{partition}.pegasus") >= count
                       for partition, count in counts.items() for server in self.source.replicas)
        harness.wait_for("there are checkpoints", has_checkpoints)
        return values

    def newest_checkpoint(self, server, replica):
        decrees = [int(name.rsplit(".", 1)[1]) for directory in server.data_directories()
                   for name in glob.glob(os.path.join(directory, "**", replica, "data", "checkpoint.[0-9]*"), recursive=True)]
        return max(decrees, default=0)

    def create(self, name, metas):
        self.assertEqual(thft.create_table(self.target.meta.address, name, PARTITIONS, 2, environments(metas)), "ERR_OK")

    def check(self, name, values):
        self.target.wait_healthy(name, replicas=2)
        table = data_api.DataApi(self.target.meta.address, name, header_version=1, timeout=60)
        self.addCleanup(table.close)
        found = table.scan_table()
        self.assertEqual(len(found), len(values))
        lost = [key for key, value in values.items() if table.value(*key) != value]
        self.assertEqual(lost[:5], [], f"{len(lost)} of {len(values)}")
        code, copies = run_shell(self.target, f"verify_replicas {name}")
        self.assertEqual((code, copies.get("equal")), (0, PARTITIONS), copies)
        # It is a table as any.
        for i in range(20):
            table.set(b"own%d" % i, b"s", b"1")
            self.assertEqual(table.value(b"own%d" % i, b"s"), b"1")

    def test_everything_is_there_and_the_source_goes_on(self):
        values = self.load("plain", 400, 100)
        self.create("plain", self.source.meta.address)
        self.check("plain", values)
        code, answer = run_shell(self.target, "use plain", "get_app_envs")
        self.assertEqual(code, 0)
        self.assertIn(self.source.meta.address, str(answer))
        logs = "".join(server.logged() for server in self.target.replicas)
        self.assertIn("of cluster 'source' gives ", logs)
        self.assertIn("is empty: so is its follower", logs)

    def test_a_wrong_address_is_said_and_a_right_one_works(self):
        values = self.load("late", 100, 50)
        # The master's meta server is away.
        self.source.meta.kill()
        self.addCleanup(lambda: self.source.meta.is_running() or self.source.meta.start())
        self.create("late", f"localhost:{self.source.meta.address.split(':')[1]}")

        def is_said():
            return any("does not get its first content, and is tried again: table 'late' of cluster 'source': its meta servers" in
                       server.logged() for server in self.target.replicas)
        harness.wait_for("it is said", is_said, 40)
        self.assertEqual(self.replicas("late"), [])
        self.source.meta.start()
        self.source.wait_listening(self.source.meta)
        self.check("late", values)

    def test_killed_in_mid_copy(self):
        values = self.load("killed", 600, 60_000)
        for server in self.target.replicas:  # slow enough to be killed meanwhile
            with urllib.request.urlopen(f"http://{server.address}/updateConfig?copy_rate_per_disk=1MiB") as answer:
                self.assertIn("ERR_OK", answer.read().decode())
        self.create("killed", self.source.meta.address)
        harness.wait_for("copies are under way", lambda: sum(len(self.scratch(server)) for server in self.target.replicas) >= 2)
        harness.wait_for("files come", lambda: any(os.listdir(name) for server in self.target.replicas for name in self.scratch(server)))
        self.assertEqual([name for name in self.replicas("killed") if not name.endswith(f".{PARTITIONS - 1}.pegasus")], [],
                         "only the empty partition is there")
        for server in self.target.replicas:
            server.kill()
        self.assertGreaterEqual(sum(len(self.scratch(server)) for server in self.target.replicas), 2)
        for server in self.target.replicas:
            server.start()  # without a limit
        self.check("killed", values)

    def replicas(self, name):
        """Directories of the follower's replicas, each of which is whole."""
        _, app_id, _ = thft.ask_config(self.target.meta.address, name)
        return [found for server in self.target.replicas for directory in server.data_directories()
                for found in glob.glob(os.path.join(directory, "**", f"{app_id}.*.pegasus"), recursive=True)]

    def scratch(self, server):
        return [name for directory in server.data_directories()
                for name in glob.glob(os.path.join(directory, "**", "*.first.tmp"), recursive=True)]


if __name__ == "__main__":
    unittest.main(verbosity=2)
