#!/usr/bin/env python3
"""A table is duplicated from one cluster to another, and the disk of either is full for a while: it is said, nothing dies, and at last
both hold the same. As disk_faults_test.py, whose small disks these are.

SPDX-License-Identifier: Apache-2.0
"""

import atexit
import unittest

import disk_faults_test
import harness
import two_clusters

TABLE = "both"
WRITES = 2000


@unittest.skipIf(disk_faults_test.missing_for_loop(), f"not run: needs {disk_faults_test.missing_for_loop()}")
class FullDiskBetweenClusters(two_clusters.TwoClusters):
    @classmethod
    def setUpClass(cls):
        cls.disks = []
        atexit.register(cls.remove_disks)  # also when a signal ends us

        def mount(cluster):
            cls.disks.append(disk_faults_test.SmallDisk(cluster.replicas[0].data_directories()[0], 512 * disk_faults_test.MIB))
        cls.clusters = two_clusters.start_two(prepare=mount, servers=1, replica_settings={"checkpoint_interval": "5s"})
        cls.source, cls.target = cls.clusters.values()

    @classmethod
    def remove_disks(cls):
        for disk in cls.disks:
            disk.remove()
        cls.disks = []

    @classmethod
    def tearDownClass(cls):
        for cluster in cls.clusters.values():
            for server in cluster.servers():
                server.kill()
        cls.remove_disks()
        atexit.unregister(cls.remove_disks)
        super().tearDownClass()

    def fill(self, cluster, disk):
        disk.fill()
        harness.wait_for("its server says so", lambda: harness.value_of(
            harness.metrics(cluster.replicas[0]), "arion_disk_state", disk="d0", state="space_insufficient") == 1, 60)
        disk.fill()  # what the reserve gave back

    def wait_acknowledged(self, writer, more):
        goal = len(writer.keys) + more
        harness.wait_for(f"{more} more writes are acknowledged", lambda: len(writer.keys) >= goal, 60)

    def test_either_side_may_be_full_for_a_while(self):
        pids = [server.process.pid for cluster in self.clusters.values() for server in cluster.servers()]
        for cluster in self.clusters.values():
            cluster.create_table(TABLE, partitions=2, replicas=1)
        self.shell(f"add_dup {TABLE} c2")
        self.wait_begun(TABLE)
        writer = self.writer(TABLE)
        # The receiver's: clients of the source do not notice, and it is said why nothing goes on.
        self.fill(self.target, self.disks[1])
        harness.wait_for("the sender says why", lambda: any(row.get("trouble") for row in self.partitions_of(TABLE)), 30)
        print([row.get("trouble") for row in self.partitions_of(TABLE)])
        self.wait_acknowledged(writer, WRITES)
        self.assertGreater(self.lag(TABLE)[0], WRITES // 2)
        self.assertEqual(self.lag(TABLE)[1], 0, "it has not stopped")
        self.disks[1].free()
        harness.wait_for("it goes on", lambda: self.lag(TABLE)[0] < 100 and not any(row.get("trouble") for row in self.partitions_of(TABLE)), 60)
        # The sender's: its clients are refused, and what was acknowledged is sent.
        self.fill(self.source, self.disks[0])
        harness.wait_for("all that is acknowledged is sent", lambda: self.lag(TABLE) == (0, 0), 30)
        self.disks[0].free()
        self.wait_acknowledged(writer, WRITES)
        writer.stop()
        self.wait_equal(TABLE)
        self.assertGreaterEqual(len(self.content(self.target, TABLE)), len(writer.keys))
        self.assertEqual(pids, [server.process.pid for cluster in self.clusters.values() for server in cluster.servers()])
        self.assertTrue(all(server.is_running() for cluster in self.clusters.values() for server in cluster.servers()))


if __name__ == "__main__":
    unittest.main(verbosity=2)
