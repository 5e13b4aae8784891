#!/usr/bin/env python3
"""Servers of Apache Pegasus 2.5.0 (their stand-in, ../older) under Arion's meta server: Arion's replica server takes the place of
one, on its disk, and gives it back, after a clean stop and after a kill; each is killed in turn and learns from the others. A
client of ours writes all the while; every acknowledged record is there, from each server as the primary of all. By hand, what
happens to whom is drawn, for as long as is said:

    tests/cluster/mixed_test.py --minutes 10 [--seed N]
SPDX-License-Identifier: Apache-2.0
"""

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import time
import unittest

import data_api
import harness
import kill_test
import rdsn
import thft

JOIN = "--join_pegasus_cluster=test"
TABLE = "temp"
ACKNOWLEDGED_MIN = 1000
MINUTES = 0.0
SEED = random.randrange(1 << 30)


def value_of(key):
    """As kill_writer.cc."""
    return f"{key}|{'x' * (50 + len(key) * 7 % 200)}".encode()


class Mixed(unittest.TestCase):
    def setUp(self):
        self.cluster = harness.Cluster(replica_class=harness.EitherServer)  # run() ends it
        self.writer = None

    def run(self, result=None):
        before = len(result.failures) + len(result.errors)
        super().run(result)
        if len(result.failures) + len(result.errors) > before:
            self.cluster.print_logs()
        if self.writer is not None and self.writer.process.poll() is None:
            self.writer.stop()
        self.cluster.destroy()
        return result

    def begin(self):
        self.cluster.meta.start([JOIN])
        self.cluster.wait_listening(self.cluster.meta)
        for server in self.cluster.replicas:
            self.start(server)
        harness.wait_for("three are alive", lambda: self.cluster.alive() == 3)
        self.cluster.create_table(TABLE, partitions=4)
        self.app_id = thft.ask_config(self.cluster.meta.address, TABLE)[1]
        self.keys = []
        self.writer = kill_test.Writer([os.path.join(harness.BUILD, "tests", "cluster", "kill_writer"),
                                        f"--meta={self.cluster.meta.address}", "--threads=8"], self.keys)
        self.began = time.monotonic()

    def start(self, server, is_older=None):
        if is_older is not None:
            server.is_older = is_older
        server.start()
        self.cluster.wait_listening(server)

    def whole(self, what):
        """Whole again; and clients write."""
        self.cluster.wait_healthy(TABLE)
        count = len(self.keys)
        harness.wait_for(f"clients write: {what}", lambda: len(self.keys) > count + 100)
        print(f"[{time.monotonic() - self.began:5.1f} s] {what}: whole, {len(self.keys)} acknowledged", flush=True)
        for one in self.cluster.replicas:
            self.assertTrue(one.is_running(), f"{one.name} ended with {one.process.poll()}")

    def kill(self, server):
        """While it is away the others get ahead of it by more than they keep at hand."""
        server.kill()
        count = len(self.keys)
        harness.wait_for("writes go on", lambda: len(self.keys) > count + 500)

    def lose_replicas(self, server):
        for name in os.listdir(server.replica_directory()):
            if name.endswith(".pegasus"):
                shutil.rmtree(os.path.join(server.replica_directory(), name))

    def lead(self, server):
        def leads():
            moves = [f"balance -g {self.app_id}.{p['index']} -p move_pri -f {p['primary']} -t {server.address} -y"
                     for p in self.cluster.partitions(TABLE) if p["primary"] != server.address]
            for move in moves:
                subprocess.run([os.path.join(harness.BUILD, "arion_shell"), "--meta", self.cluster.meta.address, "-e", move],
                               capture_output=True, check=False, timeout=60 * harness.PATIENCE)
            return not moves
        harness.wait_for(f"{server.name} leads every partition", leads, 30)

    def records(self):
        def read():
            try:
                table = data_api.DataApi(self.cluster.meta.address, TABLE, header_version=1)
            except (OSError, data_api.Refused):
                return None
            try:
                return table.scan_table()
            except (OSError, data_api.Refused, AttributeError):
                return None
            finally:
                table.close()
        return harness.wait_for("the table is read", read)

    def check_records(self, server):
        self.lead(server)
        found = self.records()
        lost = [key for key in self.keys if found.get((key.encode(), b"s")) != value_of(key)]
        self.assertEqual(lost[:10], [], f"{len(lost)} of {len(self.keys)} acknowledged are lost, of {len(found)}: {server.name}")

    def check_disks(self):
        """No replica was given up for what lay on its disk, but that of a learner which was killed before it had a checkpoint."""
        for server in self.cluster.replicas:
            refused = [line for line in server.logged().splitlines()
                       if re.search(r"2\.5\.0: does not load|2\.5\.0: is not opened|pegasus can't be opened", line)
                       and not re.search(r"ERR_INCOMPLETE_DATA|the engine stands at decree", line)]
            self.assertEqual(refused, [], server.name)

    def check_all(self):
        self.writer.stop()
        self.assertGreaterEqual(len(self.keys), ACKNOWLEDGED_MIN, "too little for a verdict")
        for server in self.cluster.replicas:
            self.check_records(server)
        print(f"[{time.monotonic() - self.began:5.1f} s] {len(self.keys)} acknowledged records are there, from each", flush=True)
        self.check_disks()

    def roll_back(self, server):
        """What a killed server of ours left becomes what 2.5.0 opens."""
        harness.run([os.path.join(harness.BUILD, "arion_log"), "prepare-rollback", server.data_directories()[0], "--yes"])

    def test_there_and_back_again(self):
        self.begin()
        first, second, third = self.cluster.replicas
        self.whole("2.5.0 three times")
        self.kill(first)
        self.start(first, is_older=False)
        self.whole("the first is Arion's now")
        for server in (second, first):
            self.kill(server)
            self.start(server)
            self.whole(f"{server.name} was killed and is back")
        for server in (third, first):  # a checkpoint is all that it can learn by
            self.kill(server)
            self.lose_replicas(server)
            self.start(server)
            self.whole(f"{server.name} is back without its replicas")
        self.assertEqual(first.stop(), 0)
        self.start(first, is_older=True)
        self.whole("the first is 2.5.0 again, after a stop")
        self.kill(second)
        self.start(second, is_older=False)
        self.whole("the second is Arion's now")
        self.kill(second)
        self.roll_back(second)
        self.start(second, is_older=True)
        self.whole("the second is 2.5.0 again, after a kill")
        self.assertEqual(third.stop(), 0)
        self.start(third, is_older=False)
        self.whole("the third, which was stopped, is Arion's now")
        self.check_all()

    def test_by_chance(self):
        if MINUTES == 0:
            self.skipTest("by hand: --minutes N")
        chance = random.Random(SEED)
        print(f"seed {SEED}", flush=True)
        self.begin()
        while time.monotonic() - self.began < MINUTES * 60:
            server = chance.choice(self.cluster.replicas)
            was_older, is_stopped = server.is_older, chance.random() < 0.3
            if is_stopped:
                self.assertEqual(server.stop(), 0)
            elif chance.random() < 0.5:
                self.kill(server)
            else:
                server.kill()
            loses = chance.random() < 0.2
            if loses:
                self.lose_replicas(server)
            is_older = chance.random() < 0.5
            if is_older and not was_older and not is_stopped:
                self.roll_back(server)
            self.start(server, is_older)
            self.whole(f"{server.name}: {'2.5.0' if was_older else 'Arion'} {'stopped' if is_stopped else 'killed'}, "
                       f"{'2.5.0' if is_older else 'Arion'} starts{', its replicas were lost' if loses else ''}")
        self.check_all()

    def test_it_says_where_2_5_0_would_end(self):
        server = self.cluster.replicas[0]
        self.start(server)
        with thft.connect(server.address) as connection:
            connection.sendall(rdsn.frame("RPC_PREPARE", b"none", self.cluster.meta.address))
            self.assertEqual(server.process.wait(timeout=30 * harness.PATIENCE), server.OLDER_ENDS_WITH)
        self.assertIn(server.OLDER_ENDS + "replica/README.md A5", server.logged())
        self.assertEqual(len(self.cluster.reports()), 1)
        os.remove(server.log)  # this once


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=MINUTES)
    parser.add_argument("--seed", type=int, default=SEED)
    arguments, rest = parser.parse_known_args()
    MINUTES, SEED = arguments.minutes, arguments.seed
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
