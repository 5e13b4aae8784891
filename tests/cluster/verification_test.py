#!/usr/bin/env python3
"""Copies that differ under equal decrees: a record of one member changes on its disk while its server is down. `verify_replicas`
finds it while clients write, that member alone sets itself aside and learns anew, and then all are equal.

SPDX-License-Identifier: Apache-2.0
"""

import glob
import json
import os
import subprocess
import sys
import unittest

import data_api
import harness
from kill_test import Writer
from repair_test import value_of

CHANGER = os.path.join(harness.BUILD, "tests", "cluster", "change_record")


class Verification(harness.ClusterTest):
    partitions = 4

    def verify(self, *options):
        """(exit code, answer)"""
        shell = subprocess.run([os.path.join(harness.BUILD, "arion_shell"), "--meta", self.cluster.meta.address, "-j", "-e",
                                " ".join(["verify_replicas temp", *options])],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120 * harness.PATIENCE)
        return shell.returncode, json.loads(shell.stdout.splitlines()[-1])

    def directories(self, server, suffix):
        return glob.glob(os.path.join(server.directory, "data*", "replica", "reps", f"*{suffix}"))

    def change(self, how, key):
        """Of the partition's first secondary; that server."""
        partition = self.table.partition_of(key)
        members = next(p for p in self.cluster.partitions("temp") if p["index"] == partition)
        victim = next(server for server in self.cluster.replicas if server.address == members["secondaries"][0])
        self.assertEqual(victim.stop(), 0)
        directory = self.directories(victim, f"{self.table.app_id}.{partition}.pegasus")[0]
        subprocess.run([CHANGER, os.path.join(directory, "data"), how, key.decode(), "s"], check=True)
        victim.start()
        self.cluster.wait_listening(victim)
        self.cluster.wait_healthy("temp")
        return victim, partition

    def open_table(self):
        self.table = data_api.DataApi(self.cluster.meta.address, "temp")
        self.addCleanup(self.table.close)

    def check_is_found_and_mended(self, how, key):
        self.open_table()
        self.table.set(key, b"s", b"as it was written")
        before = len(self.keys)
        harness.wait_for("writes are acknowledged", lambda: len(self.keys) > before + 200)
        set_aside = {server.name: len(self.directories(server, ".err")) for server in self.cluster.replicas}
        victim, partition = self.change(how, key)
        before = len(self.keys)
        code, answer = self.verify()
        self.assertGreater(len(self.keys), before, "writes went on meanwhile")
        self.assertEqual(code, 4, answer)
        self.assertEqual((answer["equal"], answer["differing"], answer["undecided"]), (3, 1, 0), answer)
        differing = [copy for copy in answer["copies"] if copy["verdict"] != "ok"]
        self.assertEqual([(copy["partition"], copy["node"]) for copy in differing],
                         [(f"{self.table.app_id}.{partition}", victim.address)], answer)
        self.assertEqual(len(answer["ranges"]), 1, answer)
        self.assertEqual(answer["ranges"][0]["partition"], f"{self.table.app_id}.{partition}")

        harness.wait_for("it is set aside", lambda: len(self.directories(victim, ".err")) > set_aside[victim.name])
        for server in self.cluster.replicas:
            if server is not victim:
                self.assertEqual(len(self.directories(server, ".err")), set_aside[server.name], "never the majority")
        self.cluster.wait_healthy("temp")

        def equal():
            code, answer = self.verify()
            return code == 0 and answer["equal"] == 4
        harness.wait_for("all are equal", equal, 60)
        self.open_table()
        self.assertEqual(self.table.value(key, b"s"), b"as it was written")

    def test_a_copy_that_differs_is_found_set_aside_and_learned_anew_while_clients_write(self):
        self.keys = []
        writer = Writer([os.path.join(harness.BUILD, "tests", "cluster", "kill_writer"),
                         f"--meta={self.cluster.meta.address}", "--prefix=verified", "--threads=4"], self.keys)
        self.addCleanup(writer.process.kill)
        self.check_is_found_and_mended("change", b"changed")
        self.check_is_found_and_mended("remove", b"removed")

        writer.stop()
        self.check_all_alive()
        self.open_table()
        lost = [key for key in self.keys if self.table.value(key.encode(), b"s") != value_of(key)]
        print(f"{len(self.keys)} writes acknowledged, {len(lost)} lost", flush=True)
        self.assertEqual(lost[:10], [])
        code, answer = self.verify("-p", "0")
        self.assertEqual((code, answer["equal"]), (0, 1), answer)


if __name__ == "__main__":
    unittest.main(argv=sys.argv, verbosity=2)
