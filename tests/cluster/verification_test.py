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

    def shell(self, *command):
        """(exit code, answer)"""
        shell = subprocess.run([os.path.join(harness.BUILD, "arion_shell"), "--meta", self.cluster.meta.address, "-j", "-e",
                                " ".join(command)],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120 * harness.PATIENCE)
        return shell.returncode, json.loads(shell.stdout.splitlines()[-1])

    def verify(self, *options):
        return self.shell("verify_replicas", "temp", *options)

    def directories(self, server, suffix):
        return glob.glob(os.path.join(server.directory, "data*", "replica", "reps", f"*{suffix}"))

    def change(self, how, key, table="temp", replicas=3):
        """Of the partition's first secondary; that server."""
        partition = self.table.partition_of(key)
        members = next(p for p in self.cluster.partitions(table) if p["index"] == partition)
        victim = next(server for server in self.cluster.replicas if server.address == members["secondaries"][0])
        self.assertEqual(victim.stop(), 0)
        directory = self.directories(victim, f"{self.table.app_id}.{partition}.pegasus")[0]
        subprocess.run([CHANGER, os.path.join(directory, "data"), how, key.decode(), "s"], check=True)
        victim.start()
        self.cluster.wait_listening(victim)
        self.cluster.wait_healthy(table, replicas)
        self.cluster.wait_healthy("temp")
        return victim, partition

    def open_table(self, name="temp"):
        self.table = data_api.DataApi(self.cluster.meta.address, name)
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

    def test_of_two_copies_that_differ_none_is_set_aside_and_it_is_said(self):
        self.cluster.create_table("two", partitions=1, replicas=2)
        self.open_table("two")
        self.table.set(b"changed", b"s", b"as it was written")
        set_aside = {server.name: len(self.directories(server, ".err")) for server in self.cluster.replicas}
        self.assertEqual(self.shell("verify_replicas", "two")[0], 0)  # and what is written is applied everywhere
        self.change("change", b"changed", "two", replicas=2)
        code, answer = self.shell("verify_replicas", "two")
        self.assertEqual((code, answer["undecided"], answer["differing"]), (4, 1, 0), answer)
        self.assertIn("what_to_do", answer)

        def is_said():
            code, answer = self.shell("status")
            return code == 4 and "differ and no majority" in json.dumps(answer)
        harness.wait_for("status says it", is_said)
        # Figures are drawn up once a second: they follow what status says.
        harness.wait_for("the figures say it", lambda: harness.value_of(
            harness.metrics(self.cluster.meta), "arion_differing_partitions", table="two") == 1)
        undecided = [harness.value_of(harness.metrics(server), "arion_undecided_partitions") for server in self.cluster.replicas]
        self.assertEqual(sum(undecided), 1, undecided)
        for server in self.cluster.replicas:
            self.assertEqual(len(self.directories(server, ".err")), set_aside[server.name])


if __name__ == "__main__":
    unittest.main(argv=sys.argv, verbosity=2)
