"""Two clusters that know each other, for tests and figures of what goes from one to the other.

SPDX-License-Identifier: Apache-2.0
"""

import os
import random
import time
import unittest

import data_api
import harness
import kill_test
from split_test import run_shell

IDS = {"c1": 1, "c2": 2}


def start_two(prepare=None, **settings):
    """Two clusters that know each other, by name; `settings` are those of harness.Cluster. `prepare(cluster)` comes before its start."""
    clusters = {name: harness.Cluster(**settings) for name in IDS}
    for name, cluster in clusters.items():
        for server in cluster.servers():
            server.write_config()
            with open(server.config) as file:
                text = file.read().replace("cluster_name = test", f"cluster_name = {name}")
            with open(server.config, "w") as file:
                file.write(text + "[duplication-group]\n" + "".join(f"{n} = {i}\n" for n, i in IDS.items()) + "[pegasus.clusters]\n" +
                           "".join(f"{n} = localhost:{c.meta.address.split(':')[1]}\n" for n, c in clusters.items()))
        if prepare is not None:
            prepare(cluster)
        cluster.start()
    for cluster in clusters.values():
        harness.wait_for("all servers are known", lambda c=cluster: c.alive() == len(c.replicas))
    return clusters


class TwoClusters(unittest.TestCase):
    """What tests of two clusters share: a table of `source` is duplicated to `target`. It has no test of its own."""

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

    def lag(self, table):
        """What the source's primaries have to send yet: mutations, and whether one has stopped."""
        samples = [sample for server in self.source.replicas for sample in harness.metrics(server)]
        return tuple(sum(value for known, has, value in samples if known == name and has.get("table") == table)
                     for name in ("arion_duplication_lag_decrees", "arion_duplication_stopped"))

    def wait_paused(self, table):
        """Until its primaries have heard that nothing is to be sent."""
        def paused():
            active = [value for server in self.source.replicas for name, has, value in harness.metrics(server)
                      if name == "arion_duplication_active" and has["table"] == table]
            return active and not any(active)
        harness.wait_for("it is paused", paused)

    def kill_and_start(self, server):
        server.kill()
        time.sleep(random.uniform(0, 2))
        server.start()
