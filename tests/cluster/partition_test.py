#!/usr/bin/env python3
"""Networks that break between real processes (network.py), under a load whose history is checked: every record is a
linearizable register, nothing acknowledged is lost, writes go on within 15 s where a fault leaves enough servers connected,
and every partition has all its members within 60 s of the last fault.

    tests/cluster/partition_test.py [--all] [--rounds N]

Without --all only what a build server has time for. Needs root and network namespaces; where they are missing: "not run: needs ...".
SPDX-License-Identifier: Apache-2.0
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import data_api
import harness
import network
import register_history

ROUNDS = 3
RESUMES_SECONDS = 15  # judged by hand only, a build server may be busy
HEALS_SECONDS = 60
OPERATIONS_MIN = 1000  # of a case; with less it proves nothing
SEED = int(os.environ.get("ARION_SEED", random.randrange(1 << 30)))
RECORDS = 64


def by_hand(test):
    return unittest.skipUnless("--all" in sys.argv, "by hand: --all")(test)


class Load:
    """Half reads, half writes of few records, each operation with its begin and end."""

    def __init__(self, cluster):
        self.directory = tempfile.TemporaryDirectory()
        self.history, self.report = (os.path.join(self.directory.name, name) for name in ("history", "report"))
        self.process = subprocess.Popen(
            [os.path.join(harness.BUILD, "arion_load"), f"--meta={cluster.meta.address}", "--table=temp", "--workload=a",
             "-p", f"recordcount={RECORDS}", "-p", "requestdistribution=uniform", "-p", "fieldlength=10", "--rate=400",
             "--seconds=3600", "--give_up=300", f"--history={self.history}", f"--json={self.report}"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        harness.wait_for("the load runs", lambda: os.path.exists(self.history) and os.path.getsize(self.history) > 30000)

    def stop(self):
        """(operations, undecided writes, what is wrong)"""
        self.process.send_signal(signal.SIGINT)
        self.process.wait(timeout=60 * harness.PATIENCE)
        count, _, undecided, wrong = register_history.check(self.history)
        with open(self.report) as file:
            verdict = json.load(file).get("verify", {})
        wrong += [f"{what}: {verdict[what]}" for what in ("lost", "stale", "mixed") if verdict.get(what)]
        self.directory.cleanup()
        return count, undecided, wrong


class RegisterHistory(unittest.TestCase):
    """The net holds."""

    def test_what_no_register_does_is_found(self):
        wrong = {
            "a stale read": [("write", "a", 0, 1), ("write", "b", 2, 3), ("read", "a", 4, 5)],
            "a lost write": [("write", "a", 0, 1), ("read", None, 2, 3)],
            "an undecided write that comes back": [("write", "a", 0, None), ("read", "a", 5, 6), ("write", "b", 7, 8),
                                                   ("read", "a", 9, 10)],
            "two orders at once": [("write", "a", 0, 10), ("write", "b", 0, 10), ("read", "a", 11, 12), ("read", "b", 13, 14)],
            "a value from nowhere": [("read", "z", 0, 1)],
            "a read of the future": [("write", "a", 5, 6), ("read", "a", 1, 2)],
        }
        for what, operations in wrong.items():
            self.assertTrue(register_history.violations(operations), what)

    def test_what_a_register_may_do_is_no_violation(self):
        right = {
            "one after the other": [("write", "a", 0, 1), ("read", "a", 2, 3), ("write", "b", 4, 5), ("read", "b", 6, 7)],
            "an undecided write that happens late": [("write", "a", 0, None), ("write", "b", 1, 2), ("read", "b", 3, 4),
                                                     ("read", "a", 5, 6)],
            "an undecided write that never happens": [("write", "a", 0, None), ("read", None, 5, 6)],
            "either of two at once": [("write", "a", 0, 10), ("write", "b", 0, 10), ("read", "b", 11, 12)],
        }
        for what, operations in right.items():
            self.assertEqual(register_history.violations(operations), [], what)


@unittest.skipIf(network.missing(), f"not run: needs {network.missing()}")
class Partition(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.network = network.Network()
        cls.addClassCleanup(cls.network.remove)
        cls.cluster = harness.Cluster(servers=3, network=cls.network)
        cls.addClassCleanup(cls.cluster.destroy)
        cls.cluster.start()
        cls.cluster.create_table("temp")

    def setUp(self):
        self.cluster.wait_healthy("temp")
        self.load = Load(self.cluster)
        self.addCleanup(self.load.process.kill)
        self.addCleanup(self.network.heal)

    def run(self, result=None):
        before = len(result.failures) + len(result.errors)
        super().run(result)
        if len(result.failures) + len(result.errors) > before and hasattr(self, "cluster"):
            self.cluster.print_logs()
        return result

    # What the cases are made of.

    def primary_with_partitions(self):
        counts = {}
        for partition in self.cluster.partitions("temp"):
            counts[partition["primary"]] = counts.get(partition["primary"], 0) + 1
        address = max(counts, key=counts.get)
        return next(server for server in self.cluster.replicas if server.address == address)

    def others(self, victim):
        return [server for server in self.cluster.replicas if server is not victim]

    def is_writable(self):
        """A write to every partition is acknowledged."""
        try:
            table = data_api.DataApi(self.cluster.meta.address, "temp", timeout=3)
        except (OSError, AssertionError, KeyError):
            return False
        try:
            wanted, number = set(range(8)), 0
            while wanted:
                key = b"probe%d" % number
                number += 1
                if table.partition_of(key) in wanted:
                    table.set(key, b"s", b"v")
                    wanted.remove(table.partition_of(key))
            return True
        except (OSError, data_api.Refused, AssertionError, KeyError):
            return False
        finally:
            table.close()

    def resumes(self, since):
        harness.wait_for("every partition takes writes", self.is_writable, 60)
        took = time.monotonic() - since
        print(f"{self._testMethodName}: every partition took writes {took:.1f} s after the fault", flush=True)
        if "--all" in sys.argv:
            self.assertLess(took, RESUMES_SECONDS * harness.PATIENCE)

    def heals(self):
        told = self.network.heal()
        begin = time.monotonic()
        self.cluster.wait_healthy("temp", seconds=HEALS_SECONDS)
        print(f"{self._testMethodName}: whole {time.monotonic() - begin:.1f} s after the last fault {told}", flush=True)

    def check_history(self):
        self.assertTrue(self.is_writable() or self.is_writable())
        count, undecided, wrong = self.load.stop()
        print(f"{self._testMethodName}: {count} operations on {RECORDS} records, {undecided} writes undecided, "
              f"{len(wrong)} violations", flush=True)
        self.assertEqual(wrong[:10], [])
        self.assertGreaterEqual(count, OPERATIONS_MIN, "too little for a verdict")
        for server in self.cluster.servers():
            self.assertTrue(server.is_running(), f"{server.name} ended")

    # What a build server runs.

    def test_1_a_primary_whose_prepares_reach_one_secondary_no_more(self):
        """tests/sim/known_bugs.md F10: what comes back passes."""
        victim = self.primary_with_partitions()
        begin = time.monotonic()
        self.network.cut(victim.name, self.others(victim)[0].name)
        self.resumes(begin)
        self.heals()
        self.check_history()

    def test_2_a_server_that_answers_pings_and_nothing_else(self):
        victim = self.primary_with_partitions()
        begin = time.monotonic()
        for name in [server.name for server in self.others(victim)] + ["client"]:
            self.network.cut_both(victim.name, name)
        self.resumes(begin)
        self.heals()
        self.check_history()

    # By hand.

    @by_hand
    def test_3_a_primary_cut_off_from_the_meta_server_alone(self):
        """tests/sim/known_bugs.md F8: clients and secondaries still reach it."""
        victim = self.primary_with_partitions()
        begin = time.monotonic()
        self.network.cut_both(victim.name, "meta1")
        harness.wait_for("its partitions have other primaries", lambda: all(
            p["primary"] not in ("", victim.address) for p in self.cluster.partitions("temp")), 30)
        self.resumes(begin)
        self.heals()
        self.check_history()

    @by_hand
    def test_4_a_primary_and_one_secondary_cut_off_from_each_other(self):
        """tests/sim/known_bugs.md F9."""
        victim = self.primary_with_partitions()
        begin = time.monotonic()
        self.network.cut_both(victim.name, self.others(victim)[0].name)
        self.resumes(begin)
        self.heals()
        self.check_history()

    @by_hand
    def test_5_two_servers_cut_off_from_the_rest_again_and_again(self):
        """tests/sim/known_bugs.md F12: meta and one server on one side, the two others and the client on the other."""
        for _ in range(ROUNDS):
            left = self.primary_with_partitions()
            for server in self.others(left):
                for name in (left.name, "meta1"):
                    self.network.cut_both(server.name, name)
            time.sleep(8 * harness.PATIENCE)
            self.heals()
        self.check_history()

    @by_hand
    def test_6_links_cut_one_after_the_other_and_healed(self):
        """tests/sim/known_bugs.md F13."""
        chance = random.Random(SEED)
        print(f"ARION_SEED={SEED}", flush=True)
        names = [server.name for server in self.cluster.servers()]
        for _ in range(ROUNDS):
            for _ in range(3):
                self.network.cut(*chance.sample(names, 2))
                time.sleep(chance.random() * 3)
            self.heals()
        self.check_history()

    @by_hand
    def test_7_bad_weather(self):
        """tests/sim/known_bugs.md F11: 5 % lost, 2 % twice, 5 % out of order, 20 ms later, on every link."""
        self.network.disturb(loss=0.05, double=0.02, reorder=0.05, delay=0.02)
        time.sleep(30 * harness.PATIENCE)
        self.resumes(time.monotonic())
        self.heals()
        self.check_history()

    @by_hand
    def test_8_a_wiped_server_is_replaced_by_an_empty_one_elsewhere(self):
        """Its data and its address are gone for good."""
        victim = self.primary_with_partitions()
        victim.kill()
        shutil.rmtree(victim.directory)
        fresh = harness.Server(self.cluster, "replica", len(self.cluster.replicas) + 1, victim.address.split(":")[1])
        os.makedirs(fresh.directory)
        begin = time.monotonic()
        fresh.start()
        self.cluster.wait_listening(fresh)
        self.cluster.replicas[self.cluster.replicas.index(victim)] = fresh
        self.resumes(begin)
        self.heals()
        self.check_history()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    arguments, rest = parser.parse_known_args()
    ROUNDS = arguments.rounds
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
