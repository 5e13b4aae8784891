#!/usr/bin/env python3
"""A restart seen from outside: what is served and answered while one disk's replicas can't be opened.

One server with two data directories; the first one's disk is faulty_fs.py and lets every read of an engine's file hang.
Needs what disk_faults_test.py needs for FUSE; without it: "not run: needs ...".
SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import threading
import time
import unittest
import urllib.request

import harness
from disk_faults_test import FaultyDisk, missing_for_fuse

PARTITIONS = 8
ANSWER_SECONDS = 0.1


def ask(server, page, accept):
    request = urllib.request.Request(f"http://{server.address}{page}", headers={"Accept": accept})
    with urllib.request.urlopen(request, timeout=10 * harness.PATIENCE) as answer:
        return answer.read().decode()


def recovery_of(server):
    """What /recovery says; None before the server listens."""
    try:
        return json.loads(ask(server, "/recovery", "application/json"))
    except OSError:
        return None


class Poller(threading.Thread):
    """Asks for a page every 10 ms and keeps the longest time an answer took."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server = server
        self.ended = threading.Event()
        self.times = []
        self.failures = 0

    def run(self):
        while not self.ended.wait(0.01):
            begun = time.monotonic()
            try:
                ask(self.server, "/recovery", "text/plain")
            except OSError:
                self.failures += 1
                continue
            self.times.append(time.monotonic() - begun)

    def end(self):
        self.ended.set()
        self.join()


@unittest.skipIf(missing_for_fuse(), f"not run: needs {missing_for_fuse()}")
class HangingDisk(unittest.TestCase):
    def setUp(self):
        self.cluster = harness.Cluster(servers=1, data_dirs=2)
        self.addCleanup(self.cluster.destroy)
        self.server = self.cluster.replicas[0]
        self.server.write_config()
        # In this order at the end, backwards: a process that waits for FUSE ends only once that has ended.
        self.addCleanup(self.server.kill)
        self.disk = FaultyDisk(self.server.data_directories()[0])
        self.addCleanup(self.disk.remove)
        self.cluster.start()
        self.cluster.create_table("temp", partitions=PARTITIONS, replicas=1)

    def shell(self, commands):
        return harness.run([os.path.join(harness.BUILD, "arion_shell"), f"--meta={self.cluster.meta.address}", "-e", commands])

    def served(self):
        return sum(1 for p in self.cluster.partitions("temp") if p["primary"])

    def test_the_other_disks_replicas_serve_and_questions_are_answered(self):
        keys = [f"key{i}" for i in range(40)]
        self.shell("; ".join(["use temp", *(f"set {key} s value" for key in keys)]))
        self.server.kill()
        self.disk.rules({"op": "read", "path": "/data/", "seconds": 600})
        self.server.start(["--stuck_after=1s", "--stop_time_max=2s"])
        self.cluster.wait_listening(self.server)
        poller = Poller(self.server)
        poller.start()

        def other_disk_serves():
            said = recovery_of(self.server)
            if said is None or said["phase"] != "recovering":
                return None
            disks = {disk["tag"]: disk for disk in said["disks"]}
            return said if disks["d1"]["replicas_done"] == disks["d1"]["replicas_total"] > 0 else None
        said = harness.wait_for("the healthy disk's replicas are open", other_disk_serves)
        disks = {disk["tag"]: disk for disk in said["disks"]}
        self.assertEqual(disks["d0"]["replicas_done"], 0)
        self.assertGreater(disks["d0"]["replicas_under_way"], 0)
        self.assertEqual(said["slowest"]["disk"], "d0")
        expected = disks["d1"]["replicas_done"]
        harness.wait_for("meta has heard of each, and they are primaries", lambda: self.served() >= expected)
        read = 0
        for key in keys:
            try:
                read += "value" in self.shell(f"use temp; get {key} s")
            except AssertionError:
                pass  # on the disk that hangs
            if read >= 5:
                break
        self.assertGreaterEqual(read, 5, "reads are answered from the healthy disk")
        self.check_what_it_tells()
        poller.end()
        times = sorted(poller.times)
        print(f"{len(times)} questions, the slowest answer {times[-1] * 1000:.1f} ms, p99 "
              f"{times[len(times) * 99 // 100] * 1000:.1f} ms", flush=True)
        self.assertEqual(poller.failures, 0)
        self.assertLess(times[len(times) * 99 // 100], ANSWER_SECONDS * harness.PATIENCE)
        self.check_stop_is_bounded()

    def check_what_it_tells(self):
        text = ask(self.server, "/recovery", "text/plain")
        self.assertIn("recovery: recovering", text)
        self.assertIn("opening_engine", text)
        said = self.shell("recovery")
        self.assertIn("recovery: recovering", said)
        self.assertIn(self.server.address, said)
        self.assertIn("disk d0: ", self.shell(f"recovery {self.server.address}"))
        harness.wait_for("the watchdog names the call", lambda: ": read " in ask(self.server, "/stuck", "text/plain"))
        self.assertIn("/data0, thread", self.shell(f"stuck {self.server.address}"))
        samples = harness.metrics(self.server)
        self.assertGreater(harness.value_of(samples, "arion_recovery_replicas", disk="d0", state="under_way"), 0)
        self.assertEqual(harness.value_of(samples, "arion_recovery_done"), 0)
        self.assertGreater(harness.value_of(samples, "arion_stuck"), 0)
        self.assertGreater(harness.value_of(samples, "arion_disk_pool_busy", disk="d0"), 0)
        self.assertEqual(harness.value_of(samples, "arion_disk_pool_queued", disk="d1"), 0)
        self.assertEqual(harness.value_of(samples, "arion_loop_blocking_calls_total"), 0)

    def check_stop_is_bounded(self):
        begun = time.monotonic()
        self.server.process.terminate()
        harness.wait_for("the stop is given up", lambda: any(
            "did not stop within stop_time_max = 2s" in line for line in self.server.last_lines()))
        self.assertLess(time.monotonic() - begun, 10 * harness.PATIENCE)
        self.disk.process.kill()
        self.assertEqual(self.server.process.wait(timeout=30 * harness.PATIENCE), 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
