#!/usr/bin/env python3
"""Two meta servers, of two clusters: a table is duplicated from one to the other, by the shell's commands. Replica servers are played:
they say that their checkpoints are prepared, and how far they are.

SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import struct
import subprocess
import unittest

import harness
import rdsn
import thft


def confirmations(node, app_id, by_partition):
    """duplication_sync_request; by_partition: index -> (duplication, decree, is the checkpoint prepared)"""
    entries = b""
    for index, (dupid, decree, is_prepared) in by_partition.items():
        entry = thft.i32_field(1, dupid) + rdsn.i64_field(2, decree) + rdsn.bool_field(3, is_prepared) + thft.STOP
        entries += struct.pack(">ii", index, app_id) + struct.pack(">bi", 12, 1) + entry
    return rdsn.wrapped(rdsn.address_field(1, node) + b"\x0d" + struct.pack(">hbbi", 2, 12, 15, len(by_partition)) + entries)


class Duplication(unittest.TestCase):
    def setUp(self):
        # Of the same names each in its own: the name in the file is that of the process.
        self.clusters = {name: harness.Cluster(servers=0) for name in ("c1", "c2")}
        self.metas = {name: cluster.meta for name, cluster in self.clusters.items()}
        self.servers = {}
        for name, cluster in self.clusters.items():
            self.addCleanup(cluster.destroy)
            meta = cluster.meta
            meta.write_config()
            with open(meta.config) as file:
                text = file.read().replace("cluster_name = test", f"cluster_name = {name}\njoin_pegasus_cluster = {name}")
            with open(meta.config, "w") as file:
                file.write(text + "[duplication-group]\nc1 = 1\nc2 = 2\nc3 = 3\n[pegasus.clusters]\n" +
                           "".join(f"{other} = localhost:{server.address.split(':')[1]}\n" for other, server in self.metas.items()))
            meta.start()
            cluster.wait_listening(meta)
            server = self.servers[name] = rdsn.OldReplicaServer(meta.address)
            server.table = "t"
            self.addCleanup(server.stop)
            harness.wait_for("it is let in", lambda cluster=cluster: cluster.alive() == 1)
        self.assertEqual(thft.create_table(self.metas["c1"].address, "t", 2, 1), "ERR_OK")
        harness.wait_for("c1 serves", lambda: self.serves("c1"))

    def serves(self, name):
        partitions = self.clusters[name].partitions("t")
        return len(partitions) == 2 and all(partition["primary"] for partition in partitions)

    def shell(self, command, exit_code=0, of="c1"):
        done = subprocess.run([os.path.join(harness.BUILD, "arion_shell"), "--meta", self.metas[of].address, "-j", "-e", command],
                              capture_output=True, text=True, check=False, timeout=60 * harness.PATIENCE)
        self.assertEqual(done.returncode, exit_code, done.stdout + done.stderr)
        return json.loads(done.stdout.splitlines()[-1]) if done.stdout else done.stderr

    def only(self):
        duplications = self.shell("query_dup t")["duplications"]
        self.assertEqual(len(duplications), 1)
        return duplications[0]

    def say(self, dupid, decree, is_prepared=True):
        node = self.servers["c1"].address
        said = confirmations(node, 1, {index: (dupid, decree, is_prepared) for index in (0, 1)})
        error, answer = rdsn.call(self.metas["c1"].address, "RPC_CM_DUPLICATION_SYNC", said, node)
        self.assertEqual(error, "ERR_OK")
        return answer

    def progress(self):
        return [row["confirmed_decree"] for row in self.shell("query_dup t -d")["partitions"]]

    def test_the_other_cluster_makes_the_table_and_progress_outlives_the_meta_server(self):
        dupid = first = self.shell("add_dup t c2 -s")["dup_id"]
        self.assertEqual(self.shell("add_dup t c2 -s")["dup_id"], dupid)
        self.assertEqual(self.only()["status"], "DS_PREPARE")
        self.assertEqual(self.shell("ls", of="c2")["tables"], [])
        def goes_on():
            self.say(dupid, 7 if dupid == first else 8)
            return self.only()["status"] == "DS_LOG"
        harness.wait_for("c2 has the table", goes_on, 60)
        self.assertTrue(self.serves("c2"))
        environments = json.dumps(self.shell("get_app_envs t", of="c2"))
        self.assertIn("duplication.master_cluster", environments)
        self.assertIn(self.metas["c1"].address, environments)
        self.assertEqual(self.progress(), [7, 7])
        self.shell(f"pause_dup t {dupid}")
        self.shell(f"set_dup_fail_mode t {dupid} skip")
        self.assertEqual((self.only()["status"], self.only()["fail_mode"]), ("DS_PAUSE", "FAIL_SKIP"))
        self.shell(f"start_dup t {dupid}")
        self.shell(f"remove_dup t {dupid}")
        self.assertEqual(self.shell("query_dup t")["duplications"], [])
        # What that one left behind lacks what was written since.
        dupid = self.shell("add_dup t c2 -s")["dup_id"]
        def is_refused():
            self.say(dupid, 8)
            return "drop it there" in self.only()["trouble"]
        harness.wait_for("it is refused", is_refused, 60)
        self.shell("drop t -y", of="c2")
        harness.wait_for("c2 makes it anew", goes_on, 60)
        self.assertEqual(self.progress(), [8, 8])
        self.metas["c1"].kill()
        self.metas["c1"].start()
        self.clusters["c1"].wait_listening(self.metas["c1"])
        # Each life of a meta server lets older servers in by their beacons.
        harness.wait_for("its server is back", lambda: self.servers["c1"].say_beacon() == "ERR_OK")
        self.say(dupid, 3)
        self.assertEqual(self.only()["status"], "DS_LOG")
        self.assertEqual(self.progress(), [8, 8])

    def test_what_is_not_configured_is_refused_with_the_reason(self):
        for cluster, why in (("c1", "to itself"), ("c4", "duplication-group"), ("c3", "pegasus.clusters")):
            self.assertIn(why, self.shell(f"add_dup t {cluster}", exit_code=2)["error"])
        dupid = self.shell("add_dup t c2")["dup_id"]
        self.assertEqual(self.only()["status"], "DS_LOG")
        self.assertEqual(self.progress(), [-1, -1])
        self.shell("drop t -y")
        self.shell("query_dup t", exit_code=1)
        self.shell(f"remove_dup t {dupid}", exit_code=1)


if __name__ == "__main__":
    unittest.main()
