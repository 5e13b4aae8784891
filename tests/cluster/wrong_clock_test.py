#!/usr/bin/env python3
"""One server's wall clock is wrong for a while, ahead or behind, or several are. It is shown, leads nothing that others can lead,
and nothing is destroyed: when all clocks are right again every record is served.

    tests/cluster/wrong_clock_test.py
SPDX-License-Identifier: Apache-2.0
"""

import os
import struct
import subprocess
import tempfile
import time
import unittest

import data_api
import harness
import records

DAY = 86400
RECORDS = 60


class WrongClock(records.RecordsTest):
    partitions = 4

    @classmethod
    def make_cluster(cls):
        cls.directory = tempfile.TemporaryDirectory()
        library = os.path.join(cls.directory.name, "wrong_clock.so")
        harness.run(["cc", "-shared", "-fPIC", "-o", library, os.path.join(harness.HERE, "wrong_clock.c")])
        command = ["/usr/bin/env", f"LD_PRELOAD={library}"]
        cluster = harness.Cluster(replica_command=[*command, os.path.join(harness.BUILD, "arion_replica")],
                                  meta_command=[*command, os.path.join(harness.BUILD, "arion_meta")])
        for server in (cluster.meta, *cluster.replicas):
            cls.set_clock(server, 0)
        return cluster

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls.directory.cleanup()

    def setUp(self):
        super().setUp()
        harness.wait_for("no clock is wrong", lambda: not any(map(self.is_wrong, self.cluster.replicas)))
        self.cluster.wait_healthy(self.table)  # the test before may have ended with servers that start

    @staticmethod
    def set_clock(server, offset):
        with open(os.path.join(server.directory, "clock_offset"), "r+b" if server.is_running() else "wb") as file:
            file.write(struct.pack("<q", offset))

    def shell(self, commands):
        return subprocess.run([os.path.join(harness.BUILD, "arion_shell"), "--meta", self.cluster.meta.address, "-e", commands],
                              capture_output=True, text=True, check=False, timeout=60 * harness.PATIENCE).stdout

    def put_with_ttl(self, prefix, seconds):
        expiry = int(time.time()) - data_api.EPOCH + seconds
        for i in range(RECORDS):
            key = data_api.raw_key(b"%s%d" % (prefix, i), b"s")
            answer = self.again(lambda table: table.put(key=key, value=b"v", expire_ts_seconds=expiry), time.monotonic() + 60)
            self.assertEqual(answer["error"], data_api.OK)

    def count(self, prefix):
        until = time.monotonic() + 60 * harness.PATIENCE
        return sum(self.again(lambda table: table.get(data_api.raw_key(b"%s%d" % (prefix, i), b"s")), until)["error"] == data_api.OK
                   for i in range(RECORDS))

    def is_wrong(self, server):
        return harness.value_of(harness.metrics(self.cluster.meta), "arion_server_clock_wrong", server=server.address) == 1

    def leads_nothing(self, server):
        return all(p["primary"] and p["primary"] != server.address for p in self.cluster.partitions(self.table))

    def leads_all(self, server):
        return not self.cluster.lacks_primary(self.table) and all(p["primary"] == server.address
                                                                  for p in self.cluster.partitions(self.table))

    def wrong_for_a_while(self, victim, offset, prefix):
        """The victim leads all, its clock jumps, everything is compacted, the clock is set right."""
        self.addCleanup(self.set_clock, victim, 0)
        self.put_with_ttl(prefix, 10 * DAY)
        self.lead(victim, time.monotonic() + 60)
        self.set_clock(victim, offset)
        harness.wait_for("it is found", lambda: self.is_wrong(victim))
        for said in (self.shell("status"), self.shell("nodes")):
            self.assertRegex(said, f"server {victim.address} +its wall clock is wrong: [+-]")
        self.assertRegex(self.shell("server_info"), "wall clock WRONG")
        self.assertIn("the wall clock of this server is", victim.logged())
        harness.wait_for("it leads nothing", lambda: self.leads_nothing(victim))
        self.assertIn("compacted: 100 %", self.shell(f"use {self.table}; manual-compaction start -b --wait"))
        self.assertEqual(self.count(prefix), RECORDS)
        self.set_clock(victim, 0)
        harness.wait_for("it is right again", lambda: not self.is_wrong(victim))
        self.lead(victim, time.monotonic() + 60)
        self.assertEqual(self.count(prefix), RECORDS, "destroyed by a wrong clock")

    def test_a_clock_that_is_ahead_destroys_nothing(self):
        self.wrong_for_a_while(self.cluster.replicas[2], 30 * DAY, b"ahead")

    def test_a_clock_that_is_behind_destroys_nothing(self):
        self.wrong_for_a_while(self.cluster.replicas[1], -30 * DAY, b"behind")

    def test_a_clock_that_is_wrong_from_the_start_destroys_nothing(self):
        victim = self.cluster.replicas[0]
        self.addCleanup(self.set_clock, victim, 0)
        self.put_with_ttl(b"start", 10 * DAY)
        self.assertEqual(victim.stop(), 0)
        self.set_clock(victim, 30 * DAY)
        victim.start()
        self.cluster.wait_healthy(self.table)
        harness.wait_for("it is found", lambda: self.is_wrong(victim))
        self.assertIn("compacted: 100 %", self.shell(f"use {self.table}; manual-compaction start -b --wait"))
        self.set_clock(victim, 0)
        harness.wait_for("it is right again", lambda: not self.is_wrong(victim))
        self.lead(victim, time.monotonic() + 60)
        self.assertEqual(self.count(b"start"), RECORDS)

    def test_a_server_is_drained_to_others_than_the_one_whose_clock_is_wrong(self):
        first, _, victim = self.cluster.replicas
        self.addCleanup(self.set_clock, victim, 0)
        self.lead(first, time.monotonic() + 60)
        self.set_clock(victim, 30 * DAY)
        harness.wait_for("it is found", lambda: self.is_wrong(victim))
        self.assertIn("done", self.shell(f"drain {first.address} --primaries -y"))
        self.assertTrue(self.leads_nothing(victim))

    def test_a_clock_that_is_wrong_leads_where_nobody_else_is_left(self):
        """The two right servers are stopped cleanly one after the other; each hands over what it leads."""
        first, second, victim = self.cluster.replicas
        self.addCleanup(self.set_clock, victim, 0)
        self.addCleanup(lambda: [server.start() for server in (first, second) if not server.is_running()])
        self.put_with_ttl(b"left", 10 * DAY)
        self.set_clock(victim, 30 * DAY)
        harness.wait_for("it is found", lambda: self.is_wrong(victim))
        harness.wait_for("it leads nothing", lambda: self.leads_nothing(victim))
        self.assertEqual(first.stop(), 0)
        harness.wait_for("two are left", lambda: self.cluster.alive() == 2)
        harness.wait_for("the other right one leads", lambda: self.leads_all(second))
        self.assertEqual(second.stop(), 0)
        harness.wait_for("the last one leads", lambda: self.leads_all(victim), 20)
        self.assertEqual(self.count(b"left"), RECORDS)
        harness.wait_for("it is said", lambda: "most of them do not agree" in self.shell("status"))
        first.start()
        harness.wait_for("it leads nothing that another can lead", lambda: self.leads_nothing(victim))
        self.assertEqual(self.count(b"left"), RECORDS)

    def are_wrong_together(self, servers, offset, prefix, said):
        """Everything is compacted meanwhile."""
        for server in servers:
            self.addCleanup(self.set_clock, server, 0)
        self.put_with_ttl(prefix, 10 * DAY)
        for server in servers:
            self.set_clock(server, offset)
        harness.wait_for("it is said", lambda: said in self.shell("status"))
        self.assertIn("compacted: 100 %", self.shell(f"use {self.table}; manual-compaction start -b --wait"))
        for server in servers:
            self.set_clock(server, 0)
        harness.wait_for("it is said no more", lambda: said not in self.shell("status"))
        self.assertEqual(self.count(prefix), RECORDS)

    def test_where_two_of_three_are_ahead_alike_nobody_destroys_anything(self):
        self.are_wrong_together(self.cluster.replicas[:2], 30 * DAY, b"two", "most of them do not agree")

    def test_the_meta_servers_own_counts_no_more_than_another(self):
        for offset in (30 * DAY, -30 * DAY):
            self.are_wrong_together([self.cluster.meta], offset, b"meta", f"meta server {self.cluster.meta.address}")

    def test_what_has_expired_goes_when_all_clocks_are_right(self):
        self.put_with_ttl(b"short", 1)
        harness.wait_for("they have expired", lambda: self.count(b"short") == 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
