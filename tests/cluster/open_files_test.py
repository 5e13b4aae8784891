#!/usr/bin/env python3
"""Servers with few descriptors: what a limit of open files does not carry goes elsewhere, and is called by its name.

SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import re
import resource
import subprocess
import unittest
import urllib.request

import harness

LIMIT = 400
CARRIES = 12  # open_file_budget.h: (400 - 96 - 100) / 16


def limited_to(files):
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))


class OpenFiles(unittest.TestCase):
    def cluster(self, **options):
        cluster = harness.Cluster(**options)
        self.addCleanup(cluster.destroy)
        return cluster

    def shell(self, cluster, commands):
        return subprocess.run(
            [os.path.join(harness.BUILD, "arion_shell"), "--meta", cluster.meta.address, "-e", commands],
            capture_output=True, text=True, timeout=60 * harness.PATIENCE).stdout

    def start(self, cluster, few):
        for server in cluster.servers():
            server.start(preexec=limited_to(few) if server is cluster.replicas[0] else None)
        for server in cluster.servers():
            cluster.wait_listening(server)
        harness.wait_for("all servers are heard", lambda: cluster.alive() == len(cluster.replicas), 30)

    def write_everywhere(self, cluster, table, count=2000, size=100):
        """Writes that reach every partition; each must be answered."""
        harness.run([os.path.join(harness.BUILD, "arion_load"), "load", "--workload", "a", f"--meta={cluster.meta.address}",
                     f"--table={table}", "-p", f"recordcount={count}", "-p", "fieldcount=1", "-p", f"fieldlength={size}"])

    def copies_on(self, cluster, table, server):
        return sum(server.address in (p["primary"], *p["secondaries"]) for p in cluster.partitions(table))

    def members(self, cluster, table):
        return [len(p["secondaries"]) + bool(p["primary"]) for p in cluster.partitions(table)]

    def overview(self, cluster):
        request = urllib.request.Request(f"http://{cluster.meta.address}/ui/cluster.json", headers={"Accept": "application/json"})
        with urllib.request.urlopen(request, timeout=10 * harness.PATIENCE) as answer:
            return json.load(answer)

    def test_what_the_limit_does_not_carry_goes_elsewhere_until_there_is_room(self):
        cluster = self.cluster(servers=3)
        few = cluster.replicas[0]
        self.start(cluster, LIMIT)
        harness.thft.create_table(cluster.meta.address, "few", 60, 3)
        harness.wait_for("each partition has two members or three",
                         lambda: len(self.members(cluster, "few")) == 60 and min(self.members(cluster, "few")) >= 2, 120)
        harness.wait_for("it is full", lambda: self.copies_on(cluster, "few", few) == CARRIES, 60)
        self.write_everywhere(cluster, "few")
        # It is told by its name, with the limit, wherever one looks; no disk is to blame.
        harness.wait_for("status says it", lambda: re.search(rf"(?i)open files.*{LIMIT}|{LIMIT}.*open files",
                                                             self.shell(cluster, "status")), 30)
        server = next(s for s in self.overview(cluster)["servers"] if s["server"] == few.address)
        self.assertTrue(server["lacks_open_files"])
        self.assertIn(f"its limit of {LIMIT} carries {CARRIES} copies", self.overview(cluster)["wrong"])
        self.assertNotIn("lacks space", few.logged() + self.shell(cluster, "status"))
        self.assertEqual(harness.value_of(harness.metrics(few), "arion_replicas_max"), CARRIES)
        self.assertLess(len(os.listdir(f"/proc/{few.process.pid}/fd")), LIMIT - 16)
        # There is room: another table takes it where one goes, and all find some under a higher limit.
        self.shell(cluster, "drop few -y")
        harness.thft.create_table(cluster.meta.address, "next", 60, 3)
        harness.wait_for("what the dropped table had is used", lambda: self.copies_on(cluster, "next", few) == CARRIES, 120)
        self.assertEqual(few.stop(), 0)
        few.start()
        cluster.wait_listening(few)
        cluster.wait_healthy("next", seconds=120)
        harness.wait_for("status says no more", lambda: "open files" not in self.shell(cluster, "status"), 30)
        for each in cluster.servers():
            self.assertEqual(each.stop(), 0)

    def test_more_than_it_carries_is_served_on_when_it_starts_again_with_less(self):
        cluster = self.cluster(servers=3, replica_settings={"log_segment_size": "1 MiB"})
        few = cluster.replicas[0]
        self.start(cluster, 4096)
        cluster.create_table("few", partitions=40)
        self.assertEqual(few.stop(), 0)
        few.start(preexec=limited_to(80 + 5 * 40))
        cluster.wait_listening(few)
        cluster.wait_healthy("few")
        # Each log goes through some files; none waits.
        self.write_everywhere(cluster, "few", count=3000, size=60000)
        self.assertNotRegex(few.logged(), "lacks space|wait for|waits for")
        self.assertIn("no new ones are taken", few.logged())
        self.assertEqual(few.stop(), 0)
        # And with too few for what is here it says how many it needs.
        few.start(preexec=limited_to(200))
        self.assertNotEqual(few.process.wait(timeout=30 * harness.PATIENCE), 0)
        self.assertRegex(few.logged(), r"limit of open files is 200, at least 280 are needed with the 40 replicas here.*LimitNOFILE=")

    def test_a_limit_that_is_too_low_to_start_is_refused_with_the_figure(self):
        cluster = self.cluster(servers=1)
        for server in cluster.servers():
            server.start(preexec=limited_to(100))
            self.assertNotEqual(server.process.wait(timeout=30 * harness.PATIENCE), 0, server.name)
            self.assertRegex(server.logged(), r"limit of open files is 100, at least 128 are needed.*LimitNOFILE=")


if __name__ == "__main__":
    unittest.main()
