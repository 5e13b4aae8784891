#!/usr/bin/env python3
"""Ten thousand idle connections and two hundred that never read their answers, beside fifty that work.

How much the others cost those is measured by tools/figures --section connections, on a quiet machine: here only that they
are served, that memory is bounded and that nothing is left behind.
SPDX-License-Identifier: Apache-2.0
"""

import os
import resource
import time
import unittest
import urllib.request

import harness
import many_connections

# A client and a server need one descriptor each a connection; the server keeps nine sixteenths for them.
IDLE = min(10000, resource.getrlimit(resource.RLIMIT_NOFILE)[1] // 2)
SLOW = 200
IDLE_BYTES_MAX = 8 << 10


class ConnectionsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.target = many_connections.Target(harness.Cluster(servers=1))

    @classmethod
    def tearDownClass(cls):
        cls.target.cluster.destroy()

    def metric(self, name):
        return harness.value_of(harness.metrics(self.target.server), name)

    def shell(self, commands):
        return harness.run([os.path.join(harness.BUILD, "arion_shell"), f"--meta={self.target.cluster.meta.address}", "-e", commands])

    def test_idle_and_slow_connections_cost_little_and_stop_nobody(self):
        alone = self.target.get(connections=50, seconds=1)
        before = self.target.server.resident_bytes()
        with self.target.hold(idle=IDLE):
            idle_bytes = (self.target.server.resident_bytes() - before) / IDLE
            self.assertGreaterEqual(self.metric("arion_connections"), IDLE)
        harness.wait_for("they are gone", lambda: self.metric("arion_connections") < 100)
        with self.target.hold(idle=IDLE, slow=SLOW):
            harness.wait_for("slow ones are paused", lambda: self.metric("arion_connection_pauses_total") > 0)
            beside = self.target.get(connections=50, seconds=2)
            # 256 MiB, and what was under way when that was reached.
            self.assertLess(self.metric("arion_connection_backlog_bytes"), 600 << 20)
        print(f"{IDLE} idle: {idle_bytes:.0f} bytes each; p99 of 50 active {alone['p99_us']} us alone, {beside['p99_us']} us beside them")
        self.assertLess(idle_bytes, IDLE_BYTES_MAX)
        self.assertEqual(beside["failed"], 0)
        harness.wait_for("they are gone", lambda: self.metric("arion_connections") < 100)
        harness.wait_for("nothing is queued", lambda: self.metric("arion_connection_backlog_bytes") == 0)
        self.assertTrue(self.target.server.is_running())

    def test_the_shell_shows_pools_and_loops(self):
        lines = self.shell(f"pools {self.target.server.address}")
        self.assertRegex(lines, r"event loops: lag p50 .* connections")
        for pool in ("pool", "bulk pool", "flush pool"):
            self.assertRegex(lines, rf"(?m)^{pool} of d0: \d+ threads, \d+ busy, \d+ queued; waited p50 .*; worked p50 ")
        samples = harness.metrics(self.target.server)
        for name in ("arion_disk_pool_threads", "arion_bulk_pool_threads", "arion_flush_pool_threads"):
            self.assertGreater(harness.value_of(samples, name, disk="d0"), 0)

    def test_checkpoints_are_made_in_a_pool_that_no_read_waits_for(self):
        made = self.metric("arion_flush_pool_service_seconds_count")
        self.shell(f"use {many_connections.TABLE}; set key sort value")
        request = urllib.request.Request(f"http://{self.target.server.address}/checkpoint", method="POST", data=b"")
        urllib.request.urlopen(request, timeout=10 * harness.PATIENCE).close()
        harness.wait_for("a checkpoint in the flush pool", lambda: self.metric("arion_flush_pool_service_seconds_count") > made)

    def test_a_storm_of_connections_is_accepted(self):
        begun = time.monotonic()
        with self.target.hold(idle=2000):
            pass
        self.assertLess(time.monotonic() - begun, 20 * harness.PATIENCE)


if __name__ == "__main__":
    unittest.main(verbosity=2)
