#!/usr/bin/env python3
"""A table is duplicated from one cluster to another, by the shell's commands, while clients write and servers of both are killed. At
last both hold the same.

SPDX-License-Identifier: Apache-2.0
"""

import random
import unittest

import data_api
import harness
from two_clusters import TwoClusters

PARTITIONS = 4


class DuplicatedTables(TwoClusters):
    def test_from_now_on_beside_kills(self):
        for cluster in self.clusters.values():
            cluster.create_table("now", partitions=PARTITIONS, replicas=2)
        self.shell("add_dup now c2")
        self.wait_begun("now")
        writer = self.writer("now")
        for cluster in (self.target, self.source):
            self.kill_and_start(random.choice(cluster.replicas))
            before = len(writer.keys)
            harness.wait_for("writes are acknowledged again", lambda before=before: len(writer.keys) > before + 500, 60)
        self.kill_and_start(self.target.meta)
        self.kill_and_start(self.source.meta)
        before = len(writer.keys)
        harness.wait_for("writes are acknowledged by both", lambda: len(writer.keys) > before + 500, 60)
        writer.stop()
        for cluster in self.clusters.values():
            harness.wait_for("healthy", lambda c=cluster: c.alive() == 2, 60)
        self.wait_equal("now")
        self.assertGreaterEqual(len(self.content(self.target, "now")), len(writer.keys))
        dupid = self.state_of("now")["dup_id"]
        self.shell(f"remove_dup now {dupid}")
        self.assertEqual(self.shell("query_dup now")["duplications"], [])

    def test_what_is_there_comes_by_checkpoints(self):
        self.source.create_table("whole", partitions=PARTITIONS, replicas=2)
        client = data_api.DataApi(self.source.meta.address, "whole", header_version=1)
        self.addCleanup(client.close)
        for i in range(500):
            client.set(b"k%d" % i, b"s", random.randbytes(300))
        self.shell("add_dup whole c2 -s")
        writer = self.writer("whole")
        self.wait_begun("whole", 120)
        before = len(writer.keys)
        harness.wait_for("writes go on", lambda: len(writer.keys) > before + 500, 60)
        writer.stop()
        self.wait_equal("whole")
        pause = self.state_of("whole")["dup_id"]
        self.shell(f"pause_dup whole {pause}")
        self.wait_paused("whole")
        client.set(b"behind the pause", b"s", b"1")
        harness.wait_for("it is shown to be lacking", lambda: self.lag("whole")[0] > 0)
        self.assertNotEqual(self.content(self.source, "whole"), self.content(self.target, "whole"))
        self.shell(f"start_dup whole {pause}")
        self.wait_equal("whole")

    def test_who_learned_during_a_pause_sends_what_came_before(self):
        for cluster in self.clusters.values():
            cluster.create_table("gap", partitions=PARTITIONS, replicas=2)
        self.shell("add_dup gap c2")
        self.wait_begun("gap")
        dupid = self.state_of("gap")["dup_id"]
        self.shell(f"pause_dup gap {dupid}")
        self.wait_paused("gap")
        writer = self.writer("gap")
        # By the end each member has learned what it has from one that had learned it.
        for server in self.source.replicas + self.source.replicas[:1]:
            before = len(writer.keys)
            harness.wait_for("writes go on", lambda before=before: len(writer.keys) > before + 1000, 60)
            server.kill()
            server.start()
            self.source.wait_listening(server)
            self.source.wait_healthy("gap", replicas=2)
        writer.stop()
        # Of those who have come to lead, too.
        harness.wait_for("what the other cluster lacks is shown", lambda: self.lag("gap")[0] >= len(writer.keys) // 2, 10)
        self.assertEqual(self.lag("gap")[1], 0)
        self.shell(f"start_dup gap {dupid}")
        self.wait_equal("gap")
        harness.wait_for("nothing is left to send", lambda: self.lag("gap") == (0, 0), 10)


if __name__ == "__main__":
    unittest.main(verbosity=2)
