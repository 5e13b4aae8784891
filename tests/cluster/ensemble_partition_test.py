#!/usr/bin/env python3
"""Three meta servers, ZooKeeper and three replica servers, each in a network namespace of its own (network.py): what breaks around the
leader while Go clients write and read. Their history is linearizable, writes never stop, and soon somebody leads again.

Needs root, network namespaces, ZooKeeper and Go; where one is missing: "not run: needs ...".
SPDX-License-Identifier: Apache-2.0
"""

import os
import signal
import threading
import time
import unittest

import harness
import kill_test
import network
import register_history
import thft
import zookeeper

SESSION = 2.0 * harness.PATIENCE
LEASE = 9
BEACON_INTERVAL = 0.5
# A session ends within its timeout and a tick; then the next leader loads the state.
OUTAGE_SECONDS = SESSION + 3 * harness.PATIENCE
GAP_SECONDS = 1 * harness.PATIENCE
LENGTH_SECONDS = 60 * harness.PATIENCE
OPERATIONS_MIN = 5000
DISK_BYTES = 16 << 20
LARGE = 860 << 10  # a value of the largest node that is taken, nearly
TOO_LARGE = 1 << 20


def missing():
    return " and ".join(what for what in (network.missing(), zookeeper.missing()) if what)


@unittest.skipIf(missing(), f"not run: needs {missing()}")
class EnsemblePartition(unittest.TestCase):
    def setUp(self):
        go = harness.go_client("apache")  # from outside, as long as there is one
        self.network = network.Network()
        self.addCleanup(self.network.remove)
        self.zookeeper = zookeeper.ZooKeeperServer(network=self.network)
        self.addCleanup(self.zookeeper.close)
        harness.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", self.zookeeper.data])
        self.addCleanup(lambda: (self.zookeeper.kill(), harness.run(["umount", self.zookeeper.data])))
        self.zookeeper.start()
        self.zookeeper.wait_ready()
        self.cluster = harness.Cluster(servers=3, metas=3, lease=LEASE, network=self.network, meta_settings={
            "state": "zookeeper", "zookeeper_hosts": self.zookeeper.hosts, "zookeeper_session_timeout": f"{SESSION:g}s"})
        self.addCleanup(self.cluster.destroy)
        self.cluster.start()
        self.leader_within(30)
        harness.wait_for("all servers are heard", lambda: self.cluster.alive() == 3, 30)
        self.cluster.create_table("temp", partitions=4)
        self.tables = 0
        self.operations = []
        self.clients = kill_test.Writer([go, "-meta", self.cluster.meta_addresses(), "-threads", "8", "-prefix", "reg", "-timeout", "5s",
                                         "history"], self.operations)
        self.addCleanup(self.clients.process.kill)
        harness.wait_for("the clients are answered", lambda: len(self.operations) > 200)

    def tearDown(self):
        # Before the cluster goes.
        if self._outcome.result and any(test is self for test, _ in self._outcome.result.failures + self._outcome.result.errors):
            self.cluster.print_logs()

    def leader_within(self, seconds):
        harness.wait_for("one leads", lambda: self.cluster.leader() is not None, seconds)
        return self.cluster.leader()

    def is_administered(self, by=None):
        """A table is created, by whoever of these leads."""
        name = f"t{self.tables}"
        for server in by or self.cluster.metas:
            try:
                if thft.create_table(server.address, name, 1, 3) in ("ERR_OK", "ERR_APP_EXIST"):
                    self.tables += 1
                    return True
            except OSError:
                pass
        return False

    def meanwhile(self, is_over, seconds):
        """(how long it took, the longest time in which no operation was answered) until something is over."""
        begin = since = time.monotonic()
        longest, last = 0, len(self.operations)
        while True:
            over = is_over()
            now = time.monotonic()
            if len(self.operations) != last:
                last, since = len(self.operations), now
            longest = max(longest, now - since)
            if over or now > begin + seconds:
                return now - begin, longest
            time.sleep(0.02)

    def administered_again(self, what, by=None, outage=OUTAGE_SECONDS):
        """And all servers are heard; operations were answered all the while."""
        took, gap = self.meanwhile(lambda: self.is_administered(by), 6 * outage)
        _, later = self.meanwhile(lambda: self.cluster.alive() == 3, LEASE)
        print(f"{what}: administered again after {took:.1f} s; longest time without an answer to a client {max(gap, later):.2f} s",
              flush=True)
        self.assertLess(took, outage, what)
        self.assertLess(max(gap, later), GAP_SECONDS, what)

    def others(self, than):
        return [server for server in self.cluster.metas if server is not than]

    def wait_whole(self):
        self.leader_within(30)
        harness.wait_for("all servers are heard", lambda: self.cluster.alive() == 3, 30)
        # A new leader takes them for alive; by then it has heard them, and their leases are as long as they can be.
        time.sleep(4 * BEACON_INTERVAL)

    # What happens to the leader.

    def killed(self):
        leader = self.cluster.leader()
        leader.kill()
        self.administered_again("the leader was killed")
        leader.start()
        self.cluster.wait_listening(leader)

    def stopped(self):
        leader = self.cluster.leader()
        leader.process.send_signal(signal.SIGSTOP)
        self.administered_again("the leader was stopped", self.others(leader))
        time.sleep(1)
        leader.process.send_signal(signal.SIGCONT)

    def cut_off_from_zookeeper(self):
        leader = self.cluster.leader()
        self.network.cut_both(leader.name, self.zookeeper.name)
        self.administered_again("the leader was cut off from ZooKeeper")
        self.assertIsNot(self.cluster.leader(), leader)
        self.network.heal()

    def cut_off_from_zookeeper_one_way(self):
        """What it says arrives; it hears nothing."""
        leader = self.cluster.leader()
        self.network.cut(self.zookeeper.name, leader.name)
        self.administered_again("the leader heard nothing of ZooKeeper")
        self.network.heal()

    def cut_off_from_replica_servers(self):
        leader = self.cluster.leader()
        for server in self.cluster.replicas:
            self.network.cut_both(leader.name, server.name)
        self.administered_again("the leader was cut off from the replica servers", self.others(leader), LEASE)
        self.network.heal()

    # What happens to ZooKeeper.

    def zookeeper_restarted(self):
        self.zookeeper.kill()
        _, gap = self.meanwhile(lambda: self.cluster.leader() is None, SESSION)
        self.zookeeper.start()
        self.administered_again("ZooKeeper was killed and started")
        self.assertLess(gap, GAP_SECONDS)

    def zookeepers_disk_is_full(self):
        """It ends, and is started once there is room."""
        ballast = os.path.join(self.zookeeper.data, "ballast")
        with open(ballast, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(64 << 10))
            except OSError:
                pass
        # Its log is made larger in pieces: what fills one. Whoever asks for that is not answered.
        threading.Thread(target=self.fill_its_log, daemon=True).start()
        harness.wait_for("ZooKeeper has ended", lambda: self.zookeeper.process.poll() is not None, 10)
        os.remove(ballast)
        self.zookeeper.start()
        self.administered_again("ZooKeeper's disk was full")

    def fill_its_log(self):
        for number in range(20):
            try:
                thft.create_table(self.cluster.meta.address, f"filler{number}", 1, 1, {"user.filler": "x" * (400 << 10)})
            except OSError:
                return

    def a_large_node(self):
        leader = self.cluster.leader()
        self.assertEqual(thft.create_table(leader.address, "too_large", 1, 3, {"user.large": "x" * TOO_LARGE}), "ERR_INVALID_PARAMETERS")
        self.assertEqual(thft.create_table(leader.address, "large", 1, 3, {"user.large": "x" * LARGE}), "ERR_OK")
        self.assertIs(self.cluster.leader(), leader)
        leader.kill()
        self.administered_again("a node was large")
        # It is there, with another partition count.
        self.assertEqual(thft.create_table(self.cluster.meta.address, "large", 2, 3), "ERR_INVALID_PARAMETERS")
        leader.start()
        self.cluster.wait_listening(leader)

    def test_what_breaks_around_the_leader(self):
        begin = time.monotonic()
        faults = [self.killed, self.cut_off_from_zookeeper, self.stopped, self.cut_off_from_zookeeper_one_way, self.zookeeper_restarted,
                  self.cut_off_from_replica_servers, self.a_large_node, self.zookeepers_disk_is_full]
        # Of ctest's run every second one, the others with the next commit.
        some = harness.some_will_do()
        for fault in faults[harness.commits() % 2::2] if some else faults:
            self.wait_whole()
            fault()
        self.wait_whole()
        self.meanwhile(lambda: some or time.monotonic() > begin + LENGTH_SECONDS, LENGTH_SECONDS)
        self.clients.stop()
        count, records, undecided, wrong = register_history.check_lines(self.operations)
        print(f"Go's history: {count} operations on {records} records in {time.monotonic() - begin:.0f} s, {undecided} writes without an "
              f"answer, {len(wrong)} violations", flush=True)
        self.assertEqual(wrong[:10], [])
        self.assertGreaterEqual(count, OPERATIONS_MIN, "too little for a verdict")
        for server in self.cluster.servers():
            self.assertTrue(server.is_running(), f"{server.name} ended")


if __name__ == "__main__":
    unittest.main(verbosity=2)
