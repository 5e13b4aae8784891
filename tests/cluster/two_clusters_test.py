#!/usr/bin/env python3
"""A table is duplicated from one cluster to another, by the shell's commands, while clients write and servers of both are killed. At
last both hold the same.

SPDX-License-Identifier: Apache-2.0
"""

import os
import random
import time
import unittest

import data_api
import harness
import kill_test
import thft
from split_test import run_shell

PARTITIONS = 4
IDS = {"c1": 1, "c2": 2}


def start_two(**settings):
    """Two clusters that know each other, by name; `settings` are those of harness.Cluster."""
    clusters = {name: harness.Cluster(**settings) for name in IDS}
    for name, cluster in clusters.items():
        for server in cluster.servers():
            server.write_config()
            with open(server.config) as file:
                text = file.read().replace("cluster_name = test", f"cluster_name = {name}")
            with open(server.config, "w") as file:
                file.write(text + "[duplication-group]\n" + "".join(f"{n} = {i}\n" for n, i in IDS.items()) + "[pegasus.clusters]\n" +
                           "".join(f"{n} = localhost:{c.meta.address.split(':')[1]}\n" for n, c in clusters.items()))
        cluster.start()
    for cluster in clusters.values():
        harness.wait_for("all servers are known", lambda c=cluster: c.alive() == len(c.replicas))
    return clusters


class TwoClusters(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.clusters = start_two(servers=2, replica_settings={"checkpoint_interval": "5s"})
        cls.source, cls.target = cls.clusters.values()

    @classmethod
    def tearDownClass(cls):
        for cluster in cls.clusters.values():
            cluster.destroy()

    def run(self, result=None):
        failures = len(result.failures) + len(result.errors)
        super().run(result)
        if len(result.failures) + len(result.errors) > failures:
            for cluster in self.clusters.values():
                cluster.print_logs()
        return result

    def shell(self, command, of=None):
        code, answer = run_shell(of or self.source, command)
        self.assertEqual(code, 0, (command, answer))
        return answer

    def state_of(self, table):
        duplications = self.shell(f"query_dup {table}")["duplications"]
        return duplications[0] if len(duplications) == 1 else {}

    def partitions_of(self, table):
        return self.shell(f"query_dup {table} -d")["partitions"]

    def wait_begun(self, table, seconds=60):
        harness.wait_for("it sends", lambda: self.state_of(table).get("status") == "DS_LOG" and
                         all(row["confirmed_decree"] >= 0 for row in self.partitions_of(table)), seconds)

    def content(self, cluster, table):
        client = data_api.DataApi(cluster.meta.address, table, header_version=1, timeout=60)
        try:
            return client.scan_table()
        finally:
            client.close()

    def wait_equal(self, table):
        def equal():
            try:
                here, there = (self.content(cluster, table) for cluster in (self.source, self.target))
            except (OSError, AssertionError):
                return False
            return len(here) > 0 and here == there
        harness.wait_for("both hold the same", equal, 90)

    def writer(self, table, threads=8):
        writer = kill_test.Writer([os.path.join(harness.BUILD, "tests", "cluster", "kill_writer"),
                                   f"--meta={self.source.meta.address}", f"--table={table}", f"--threads={threads}"], [])
        self.addCleanup(writer.process.kill)
        harness.wait_for("writes are acknowledged", lambda: len(writer.keys) > 100)
        return writer

    def kill_and_start(self, server):
        server.kill()
        time.sleep(random.uniform(0, 2))
        server.start()

    def test_from_now_on_beside_kills(self):
        for cluster in self.clusters.values():
            cluster.create_table("now", partitions=PARTITIONS, replicas=2)
        self.shell("add_dup now c2")
        self.wait_begun("now")
        writer = self.writer("now")
        for cluster in (self.target, self.source):
            self.kill_and_start(random.choice(cluster.replicas))
            before = len(writer.keys)
            harness.wait_for("writes are acknowledged again", lambda before=before: len(writer.keys) > before + 500, 60)
        self.kill_and_start(self.target.meta)
        self.kill_and_start(self.source.meta)
        time.sleep(3)
        writer.stop()
        for cluster in self.clusters.values():
            harness.wait_for("healthy", lambda c=cluster: c.alive() == 2, 60)
        self.wait_equal("now")
        self.assertGreaterEqual(len(self.content(self.target, "now")), len(writer.keys))
        dupid = self.state_of("now")["dup_id"]
        self.shell(f"remove_dup now {dupid}")
        self.assertEqual(self.shell("query_dup now")["duplications"], [])

    def test_what_is_there_comes_by_checkpoints(self):
        self.source.create_table("whole", partitions=PARTITIONS, replicas=2)
        client = data_api.DataApi(self.source.meta.address, "whole", header_version=1)
        self.addCleanup(client.close)
        for i in range(500):
            client.set(b"k%d" % i, b"s", random.randbytes(300))
        self.shell("add_dup whole c2 -s")
        writer = self.writer("whole")
        self.wait_begun("whole", 120)
        before = len(writer.keys)
        harness.wait_for("writes go on", lambda: len(writer.keys) > before + 500, 60)
        writer.stop()
        self.wait_equal("whole")
        pause = self.state_of("whole")["dup_id"]
        self.shell(f"pause_dup whole {pause}")
        time.sleep(4)  # until its servers have heard of it
        client.set(b"behind the pause", b"s", b"1")
        time.sleep(3)
        self.assertNotEqual(self.content(self.source, "whole"), self.content(self.target, "whole"))
        self.shell(f"start_dup whole {pause}")
        self.wait_equal("whole")

    def lag(self, table):
        """What the source's primaries have to send yet: mutations, and whether one has stopped."""
        samples = [sample for server in self.source.replicas for sample in harness.metrics(server)]
        return tuple(sum(value for known, has, value in samples if known == name and has.get("table") == table)
                     for name in ("arion_duplication_lag_decrees", "arion_duplication_stopped"))

    def test_who_learned_during_a_pause_sends_what_came_before(self):
        for cluster in self.clusters.values():
            cluster.create_table("gap", partitions=PARTITIONS, replicas=2)
        self.shell("add_dup gap c2")
        self.wait_begun("gap")
        dupid = self.state_of("gap")["dup_id"]
        self.shell(f"pause_dup gap {dupid}")
        time.sleep(4)  # until its servers have heard of it
        writer = self.writer("gap")
        # By the end each member has learned what it has from one that had learned it.
        for server in self.source.replicas + self.source.replicas[:1]:
            before = len(writer.keys)
            harness.wait_for("writes go on", lambda before=before: len(writer.keys) > before + 1000, 60)
            server.kill()
            server.start()
            self.source.wait_listening(server)
            self.source.wait_healthy("gap", replicas=2)
        writer.stop()
        # Of those who have come to lead, too.
        harness.wait_for("what the other cluster lacks is shown", lambda: self.lag("gap")[0] >= len(writer.keys) // 2, 10)
        self.assertEqual(self.lag("gap")[1], 0)
        self.shell(f"start_dup gap {dupid}")
        self.wait_equal("gap")
        harness.wait_for("nothing is left to send", lambda: self.lag("gap") == (0, 0), 10)


if __name__ == "__main__":
    unittest.main(verbosity=2)
