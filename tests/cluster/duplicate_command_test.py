#!/usr/bin/env python3
"""One command duplicates a table to another cluster, while clients write, and comes back when both sides are equal. What is changed at
the other cluster behind its back is named, and nothing else.

SPDX-License-Identifier: Apache-2.0
"""

import os
import random
import signal
import subprocess
import threading
import unittest

import data_api
import harness
from split_test import run_shell
from two_clusters import TwoClusters

PARTITIONS = 4
RECORDS = 3000


@harness.others_with_each_commit
class DuplicateCommand(TwoClusters):
    def run_shell(self, command, exit_code=0):
        code, answer = run_shell(self.source, command)
        self.assertEqual(code, exit_code, (command, answer))
        return answer

    def fill(self, table, environments=None):
        self.source.create_table(table, partitions=PARTITIONS, replicas=2, environments=environments)
        client = data_api.DataApi(self.source.meta.address, table, header_version=1, timeout=60)
        self.addCleanup(client.close)
        for i in range(RECORDS):
            expires = data_api.expiry(10_000 + i) if i % 5 == 0 else 0
            client.set(b"" if i % 50 == 0 else b"k%d" % (i // 2), b"s%d" % i, random.randbytes(200), expires)
        return client

    def verify(self, table, different):
        """`different`: {(hash key, sort key): kind}, as the shell shows keys."""
        answer = self.run_shell(f"duplication verify {table}", exit_code=4 if different else 0)
        found = {(row["hash_key"], row["sort_key"]): row["difference"] for row in answer.get("differences", [])}
        self.assertEqual(found, different, answer)
        self.assertEqual((answer["verdict"], answer["different"], answer["changing"], answer["fetched_records"]),
                         ("different" if different else "equal", len(different), 0, 0))
        return answer

    def test_a_filled_table_beside_a_writer(self):
        self.fill("t")
        writer = self.writer("t")
        answer = self.run_shell("duplicate t to c2")
        self.assertEqual((answer["verdict"], answer["partitions"], answer["expiries"]), ("equal", PARTITIONS, "compared"))
        self.assertGreaterEqual(answer["records"], RECORDS)
        self.verify("t", {})
        there = data_api.DataApi(self.target.meta.address, "t", header_version=1, timeout=60)
        self.addCleanup(there.close)
        before = {key: there.value(*key) for key in ((b"k7", b"s14"), (b"k9", b"s19"))}
        there.set(b"k7", b"s14", b"changed behind its back")
        self.verify("t", {("k7", "s14"): "other value"})
        there.set(b"\0\xff", b"s", b"only there")
        there.remove(data_api.raw_key(b"k9", b"s19"))
        there.set(b"k8", b"s16", there.value(b"k8", b"s16"), data_api.expiry(77))
        self.verify("t", {("k7", "s14"): "other value", ("\\x00\\xff", "s"): "missing here", ("k9", "s19"): "missing there",
                          ("k8", "s16"): "other expiry"})
        for key, value in before.items():
            there.set(*key, value)
        there.set(b"k8", b"s16", there.value(b"k8", b"s16"))
        there.remove(data_api.raw_key(b"\0\xff", b"s"))
        self.verify("t", {})
        # Given again, it goes on with the duplication that is there.
        self.assertEqual(self.run_shell("duplicate t to c2")["verdict"], "equal")
        writer.stop()
        answer = self.verify("t", {})
        self.assertEqual(answer["records"], len(self.content(self.target, "t")))
        dupid = self.state_of("t")["dup_id"]
        self.shell(f"pause_dup t {dupid}")
        self.assertIn("start_dup", self.run_shell("duplication verify t", exit_code=1)["error"])
        self.shell(f"remove_dup t {dupid}")
        metas = f"--to-meta {self.target.meta.address}"
        self.assertEqual(self.run_shell(f"duplication verify t {metas}")["verdict"], "equal")

    def test_nothing_is_called_different_beside_kills(self):
        # What it gives is in the log, so that both sides have the same.
        self.fill("killed", environments={"default_ttl": "100000"})
        writer = self.writer("killed")
        self.assertEqual(self.run_shell("duplicate killed to c2")["verdict"], "equal")
        for victim in (self.source.replicas[0], self.target.replicas[1]):
            killer = threading.Thread(target=self.kill_and_start, args=(victim,))
            killer.start()
            code, answer = run_shell(self.source, "duplication verify killed")
            killer.join()
            # 1: what could not be compared in time; never 4.
            self.assertIn(code, (0, 1), answer)
        for cluster in self.clusters.values():
            harness.wait_for("healthy", lambda c=cluster: c.alive() == 2, 60)
        before = len(writer.keys)
        harness.wait_for("writes are acknowledged again", lambda: len(writer.keys) > before + 500, 60)
        self.verify("killed", {})
        writer.stop()

    def test_it_goes_on_after_ctrl_c(self):
        self.fill("stopped")
        command = [os.path.join(harness.BUILD, "arion_shell"), "--meta", self.source.meta.address, "-e", "duplicate stopped to c2"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as shell:
            self.addCleanup(shell.kill)
            for line in shell.stderr:
                if line.startswith("DS_"):
                    break
            shell.send_signal(signal.SIGINT)
            out, error = shell.communicate(timeout=60 * harness.PATIENCE)
        self.assertEqual(shell.returncode, 1, out + error)
        self.assertIn("goes on", error)
        self.assertEqual(self.run_shell("duplicate stopped to c2")["verdict"], "equal")

    def test_what_is_in_the_way_is_said(self):
        self.source.create_table("w", partitions=PARTITIONS, replicas=2)
        for command, why in (("duplicate w to c9", "[pegasus.clusters]"), ("duplicate w to c1", "is this one"),
                             ("duplicate none to c2", "there is no table none"),
                             ("duplicate w to c2 --from-now", f"create it there with {PARTITIONS} partitions")):
            self.assertIn(why, self.run_shell(command, exit_code=1)["error"])
        self.target.create_table("w", partitions=2 * PARTITIONS, replicas=2)
        self.assertIn(f"has {2 * PARTITIONS} partitions", self.run_shell("duplicate w to c2", exit_code=1)["error"])
        self.assertEqual(self.shell("query_dup w")["duplications"], [])
        self.target.meta.kill()
        self.assertIn("no meta server of cluster c2 answers", self.run_shell("duplicate w to c2", exit_code=1)["error"])
        self.target.meta.start()
        self.target.wait_listening(self.target.meta)
        harness.wait_for("all servers are known", lambda: self.target.alive() == 2, 60)


class OlderServers(unittest.TestCase):
    """The other cluster's servers, of 2.5.0 (their stand-in, ../older), can't add up: their records come to the shell."""

    def setUp(self):
        self.here = harness.Cluster(servers=1)
        self.there = harness.Cluster(servers=1, replica_class=harness.EitherServer)
        for cluster in (self.here, self.there):
            self.addCleanup(cluster.destroy)
        self.here.start()
        self.there.meta.start(["--join_pegasus_cluster=test"])
        self.there.wait_listening(self.there.meta)
        self.there.replicas[0].is_older = True
        self.there.replicas[0].start()
        self.there.wait_listening(self.there.replicas[0])
        harness.wait_for("both serve", lambda: self.here.alive() == self.there.alive() == 1)

    def test_what_they_hold_is_compared(self):
        sides = []
        for cluster in (self.here, self.there):
            cluster.create_table("t", partitions=2, replicas=1)
            sides.append(data_api.DataApi(cluster.meta.address, "t", header_version=1))
            self.addCleanup(sides[-1].close)
        for i in range(RECORDS):
            expires = data_api.expiry(10_000 + i) if i % 5 == 0 else 0
            for side in sides:
                side.set(b"" if i % 50 == 0 else b"k%d" % i, b"s", b"v%d" % i, expires)
        for asked, other in ((self.here, self.there), (self.there, self.here)):
            code, answer = run_shell(asked, f"duplication verify t --to-meta {other.meta.address}")
            # Of those with an empty hash key only one is left.
            count = len(sides[0].scan_table())
            self.assertEqual((code, answer["verdict"], answer["records"], answer["fetched_records"]), (0, "equal", count, count), answer)
        sides[1].set(b"k7", b"s", b"other")
        sides[1].remove(data_api.raw_key(b"k8", b"s"))
        code, answer = run_shell(self.here, f"duplication verify t --to-meta {self.there.meta.address}")
        self.assertEqual((code, {row["hash_key"]: row["difference"] for row in answer["differences"]}),
                         (4, {"k7": "other value", "k8": "missing there"}))



if __name__ == "__main__":
    unittest.main(verbosity=2)
