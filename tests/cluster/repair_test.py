#!/usr/bin/env python3
"""A cluster repairs itself while it is written to: a server frozen for longer than the grace, a wiped data directory, a meta
server that dies in the middle of reconfigurations, all servers killed at once. Nothing acknowledged is lost, and every
partition has three members again within 60 s.

    tests/cluster/repair_test.py [--times N]      # how often everything is killed at once; by hand 20

The cases share one cluster: each begins with what the one before has left.
SPDX-License-Identifier: Apache-2.0
"""

import argparse
import os
import shutil
import signal
import sys
import threading
import time
import unittest

import data_api
import harness
import thft
from kill_test import Writer

TIMES = 1
ACKNOWLEDGED_MIN = 100  # of a case; with less it proves nothing


def value_of(key):
    return f"{key}|{'x' * (50 + len(key) * 7 % 200)}".encode()


class Repair(harness.ClusterTest):
    def setUp(self):
        self.keys = []
        self.writer = Writer([os.path.join(harness.BUILD, "tests", "cluster", "kill_writer"),
                              f"--meta={self.cluster.meta.address}", f"--prefix={self._testMethodName}", "--threads=4"],
                             self.keys)
        self.addCleanup(self.writer.process.kill)
        self.await_writes()

    def await_writes(self):
        before = len(self.keys)
        harness.wait_for("writes are acknowledged", lambda: len(self.keys) > before + 50)

    def primaries(self):
        return {p["index"]: p["primary"] for p in self.cluster.partitions("temp")}

    def server_at(self, address):
        return next(server for server in self.cluster.replicas if server.address == address)

    def check_all_is_well(self):
        self.await_writes()
        self.writer.stop()
        self.check_all_alive()
        self.cluster.wait_healthy("temp", seconds=60)
        table = data_api.DataApi(self.cluster.meta.address, "temp")
        self.addCleanup(table.close)
        lost = [key for key in self.keys if table.value(key.encode(), b"s") != value_of(key)]
        print(f"{self._testMethodName}: {len(self.keys)} writes acknowledged, {len(lost)} lost", flush=True)
        self.assertEqual(lost[:10], [])
        self.assertGreaterEqual(len(self.keys), ACKNOWLEDGED_MIN, "too little for a verdict")

    def test_1_a_primary_frozen_beyond_the_grace_is_replaced_and_answers_no_old_value(self):
        table = data_api.DataApi(self.cluster.meta.address, "temp")
        self.addCleanup(table.close)
        table.set(b"frozen", b"s", b"old")
        partition = table.partition_of(b"frozen")
        victim = self.server_at(self.primaries()[partition])
        victim.process.send_signal(signal.SIGSTOP)
        try:
            harness.wait_for("its partitions have other primaries",
                             lambda: all(p and p != victim.address for p in self.primaries().values()), 20)
            self.await_writes()
            data_api.DataApi(self.cluster.meta.address, "temp").set(b"frozen", b"s", b"new")
            waiting = thft.connect(victim.address, timeout=20)
            self.addCleanup(waiting.close)
            waiting.sendall(thft.get(table.app_id, partition, b"frozen", b"s"))
        finally:
            victim.process.send_signal(signal.SIGCONT)
        error, _, _, answer = thft.read_reply(waiting)
        self.assertFalse(error == "ERR_OK" and b"old" in answer, "it answered what was overwritten meanwhile")
        self.check_all_is_well()

    def test_2_a_wiped_data_directory_is_filled_again(self):
        victim = self.cluster.replicas[0]
        victim.kill()
        for path in victim.data_directories():
            shutil.rmtree(path)
            os.makedirs(path)
        victim.start()
        self.cluster.wait_listening(victim)
        harness.wait_for("it holds replicas again", lambda: any(
            victim.address in [p["primary"], *p["secondaries"]] for p in self.cluster.partitions("temp")), 60)
        self.check_all_is_well()

    def test_3_a_meta_server_that_dies_in_the_middle_goes_on_where_it_was(self):
        for delay in (0, 0.01, 0.05):
            self.cluster.wait_healthy("temp", seconds=60)
            ballots = {p["index"]: p["ballot"] for p in self.cluster.partitions("temp")}
            victim = self.server_at(next(iter(self.primaries().values())))
            victim.kill()
            harness.wait_for("a configuration changes", lambda: any(
                p["ballot"] > ballots[p["index"]] for p in self.cluster.partitions("temp")), 20)
            time.sleep(delay)  # how far it gets is part of the fault
            self.cluster.meta.kill()
            self.cluster.meta.start()
            victim.start()
            for server in (self.cluster.meta, victim):
                self.cluster.wait_listening(server)
            self.await_writes()
        self.check_all_is_well()

    def test_4_everything_killed_at_once(self):
        for _ in range(TIMES):
            killers = [threading.Thread(target=server.kill) for server in self.cluster.servers()]
            for killer in killers:
                killer.start()
            for killer in killers:
                killer.join()
            self.cluster.start()
            self.await_writes()
            self.cluster.wait_healthy("temp", seconds=60)
        self.check_all_is_well()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=TIMES)
    arguments, rest = parser.parse_known_args()
    TIMES = arguments.times
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
