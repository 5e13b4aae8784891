#!/usr/bin/env python3
"""A server that is far slower than the others, though never so slow that a prepare fails, loses its roles: it is stopped and
woken in turns, 200 ms each, as by a neighbour that takes its processor; longer where the machine makes everybody wait, so that it
still stands out (peer_pace.h compares the members' p99). By hand, about a minute.

    ninja -C build arion_meta_bin arion_replica_bin kill_writer
    tests/cluster/slow_member_test.py

Four servers, so that another can take its place; then its partitions have three members again without it, and writes are as
fast as before.
SPDX-License-Identifier: Apache-2.0
"""

import os
import signal
import statistics
import threading
import time
import unittest

import data_api
import harness
from kill_test import Writer

STOPPED, STOPPED_MAX, AWAKE = 0.2, 1.0, 0.2  # seconds; a prepare fails after 3
STANDS_OUT = 10  # so many times what a write takes without it: twice what peer_pace.h asks for
MEASURED = 6


class Limp:
    """A process that is stopped and woken in turns until it is told to end."""

    def __init__(self, process, stopped):
        self.process = process
        self.stopped = stopped
        self.ends = threading.Event()
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self):
        while not self.ends.is_set():
            self.process.send_signal(signal.SIGSTOP)
            time.sleep(self.stopped)
            self.process.send_signal(signal.SIGCONT)
            self.ends.wait(AWAKE)

    def end(self):
        self.ends.set()
        self.thread.join()


class SlowMember(harness.ClusterTest):
    servers = 4

    def writes_take(self):
        """Milliseconds of the p95 of writes to all partitions in turn, one at a time."""
        times = []
        end = time.monotonic() + MEASURED * harness.PATIENCE
        while time.monotonic() < end:
            begin = time.monotonic()
            self.table_of.set(b"k%d" % (len(times) % 97), b"s", b"v")
            times.append(1000 * (time.monotonic() - begin))
        return statistics.quantiles(times, n=20)[-1]

    def test_it_is_replaced_and_writes_are_fast_again(self):
        self.table_of = data_api.DataApi(self.cluster.meta.address, "temp")
        self.addCleanup(self.table_of.close)
        writer = Writer([os.path.join(harness.BUILD, "tests", "cluster", "kill_writer"),
                         f"--meta={self.cluster.meta.address}", "--prefix=slow", "--threads=16"], [])
        self.addCleanup(writer.process.kill)
        before = self.writes_take()
        victim = self.cluster.replicas[1]

        def roles():
            return sum(victim.address in [p["primary"], *p["secondaries"]] for p in self.cluster.partitions("temp"))

        self.assertGreater(roles(), 0)
        stopped = min(max(STOPPED, STANDS_OUT * before / 1000), STOPPED_MAX)
        limp = Limp(victim.process, stopped)
        self.addCleanup(limp.end)
        begin = time.monotonic()
        during = self.writes_take()
        harness.wait_for("it has no role any more", lambda: self.cluster.partitions("temp") and roles() == 0, 60)
        left = time.monotonic() - begin
        self.cluster.wait_healthy("temp", seconds=60)
        whole = time.monotonic() - begin
        self.table_of.close()
        self.table_of = data_api.DataApi(self.cluster.meta.address, "temp")
        after = self.writes_take()
        print(f"a write's p95: {before:.0f} ms before, {during:.0f} ms with a member stopped {1000 * stopped:.0f} ms at a time, "
              f"{after:.0f} ms without it; it lost its last role after {left:.0f} s, all partitions had three members again after {whole:.0f} s", flush=True)
        self.assertGreater(during, 1000 * stopped / 4, "it was not slow: nothing is proved")
        self.assertLess(after, during / 2)
        self.assertEqual(roles(), 0)
        self.check_all_alive()


if __name__ == "__main__":
    unittest.main(verbosity=2)
