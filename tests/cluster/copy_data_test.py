#!/usr/bin/env python3
"""copy_data of the shell between two clusters: everything arrives, to the second of its expiry, while servers of both are killed, the
source is split, the shell itself is killed and given its command again; and what can't be is refused by name.

SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import random
import signal
import struct
import subprocess
import tempfile
import time
import unittest

import data_api
import harness
from split_test import run_shell
from two_clusters import TwoClusters

PARTITIONS = 4
RECORDS = 20_000


class CopyData(TwoClusters):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        super().setUpClass()
        # What three of the tests copy.
        cls.source.create_table("full", partitions=PARTITIONS, replicas=2)
        harness.run([os.path.join(harness.BUILD, "arion_load"), "load", "--meta", cls.source.meta.address, "--table", "full",
                     "-p", f"recordcount={RECORDS}", "-p", "fieldcount=1", "-p", "fieldlength=100", "--workload", "a"])

    @classmethod
    def tearDownClass(cls):
        cls.directory.cleanup()
        super().tearDownClass()

    def create(self, cluster, name, partitions=PARTITIONS):
        cluster.create_table(name, partitions=partitions, replicas=2)
        client = data_api.DataApi(cluster.meta.address, name, header_version=1, timeout=60)
        self.addCleanup(client.close)
        return client

    def copy(self, words, source="t", exit_code=0):
        code, answer = run_shell(self.source, f"use {source}", f"copy_data {words} -f")
        self.assertEqual(code, exit_code, (words, answer))
        return answer

    def begin(self, words, source="full"):
        """A shell that copies; killed at the end of the test if it lives."""
        command = [os.path.join(harness.BUILD, "arion_shell"), "--meta", self.source.meta.address, "-j", "-e",
                   f"use {source}; copy_data {words} -f"]
        shell = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(shell.communicate)
        self.addCleanup(shell.kill)
        return shell

    def end_of(self, shell):
        out, errors = shell.communicate(timeout=200 * harness.PATIENCE)
        self.assertEqual(shell.returncode, 0, out + errors)
        return json.loads(out.splitlines()[-1])

    def path(self, name):
        return os.path.join(self.directory.name, name)

    def counted(self, path):
        """What a file says was copied; -1: there is none yet."""
        try:
            with open(path) as file:
                return next(int(line.split()[1]) for line in file if line.startswith("counts "))
        except FileNotFoundError:
            return -1

    @staticmethod
    def leader(cluster, table):
        """Of the first partition: another server may lead none."""
        def found():
            partitions = cluster.partitions(table)
            return partitions and next((one for one in cluster.replicas if one.address == partitions[0]["primary"]), None)
        return harness.wait_for("there is a primary", found)

    @staticmethod
    def read(path):
        with open(path) as file:
            return file.read()

    @staticmethod
    def content(client):
        """{raw key: (value, expiry)}"""
        found = {}
        for partition in range(len(client.partitions)):
            kvs, _ = client.scan_all(partition, start_key=b"\0\0", stop_key=b"\xff\xff", start_inclusive=True, batch_size=1000,
                                     full_scan=True, return_expire_ts=True)
            found.update({kv["key"]: (kv["value"], kv["expire_ts_seconds"]) for kv in kvs})
        return found

    def count(self, cluster, table):
        code, answer = run_shell(cluster, f"use {table}", "count_data")
        self.assertEqual(code, 0, answer)
        return answer["count"]

    def test_all_kinds_of_records_arrive(self):
        source, target = self.create(self.source, "t"), self.create(self.target, "t", partitions=8)
        for i in range(300):
            source.set(b"k%d" % i, b"s", random.randbytes(random.randrange(200)))
            source.set(b"mortal%d" % i, b"s", b"v", expire_ts_seconds=data_api.expiry(1000 + i))
        for i in range(12):
            source.set(b"large%d" % i, b"s", random.randbytes(700_000))
        for i in range(5):
            source.fill(b"many%d" % i, *(b"%05d" % j for j in range(500)))
        source.set(b"\0\xff;\"#", b"\n", b"\0")
        source.set(b"", b"no hash key", b"v")
        source.set(b"gone", b"s", b"v", expire_ts_seconds=data_api.expiry(1))
        harness.wait_for("it has expired", lambda: source.value(b"gone", b"s") is None)
        expected = self.content(source)
        self.assertEqual(len(expected), 300 * 2 + 12 + 5 * 500 + 2)

        answer = self.copy("-c c2 -a t --verify")
        self.assertEqual((answer["copied"], answer["equal"], answer["errors"]), (len(expected), "yes", 0))
        self.assertEqual(sum(row["target_records"] for row in answer["partitions"]), len(expected))
        self.assertEqual(self.content(target), expected)

        # Together, into a table of two partitions; and by the servers' addresses.
        together = self.create(self.target, "together", partitions=2)
        self.copy(f"-c {self.target.meta.address} -a together -u -b 100")
        self.assertEqual(self.content(together), expected)

        # What is there is kept, and one record more is written; then it is seen that they differ.
        together.set(b"k1", b"s", b"ours")
        together.remove(data_api.raw_key(b"k2", b"s"))
        answer = self.copy("-c c2 -a together -n", exit_code=4)
        self.assertEqual((answer["copied"], answer["skipped"], answer["not_copied"]), (1, len(expected) - 2, 1))
        self.assertEqual(together.value(b"k1", b"s"), b"ours")
        self.copy("-c c2 -a together")
        together.set(b"extra", b"s", b"v")
        answer = self.copy("-c c2 -a together --verify", exit_code=4)
        self.assertEqual([row["equal"] for row in answer["partitions"]].count("no"), 1)

        # Some of them: of one partition, of some keys, of some values; without times, without values.
        some = self.create(self.target, "some")
        answer = self.copy("-c c2 -a some -p 2 --verify")
        self.assertEqual((len(answer["partitions"]), answer["equal"]), (1, "yes"))
        self.assertEqual(self.content(some), {key: found for key, found in expected.items() if
                                              data_api.crc64(self.hashed(key)) % PARTITIONS == 2})
        few = self.create(self.target, "few")
        self.copy("-c c2 -a few -h prefix -x mortal -e")
        self.assertEqual({expiry for _, expiry in self.content(few).values()}, {0})
        self.copy("-c c2 -a few -v postfix -z 00499")
        self.assertEqual(sum(key.endswith(b"00499") for key in self.content(few)), 5)
        self.copy("-c c2 -a few -i -h prefix -x large")
        self.assertEqual([value for key, (value, _) in self.content(few).items() if b"large" in key], [b""] * 12)

    @staticmethod
    def hashed(key):
        length = struct.unpack(">H", key[:2])[0]
        return key[2:2 + length] or key[2:]

    def test_servers_of_both_are_killed_meanwhile(self):
        self.create(self.target, "killed")
        path = self.path("killed")
        shell = self.begin(f"-c c2 -a killed --rate {RECORDS // 15} --resume {path} -t 1000 --verify")
        for cluster, table, part in ((self.source, "full", 0.1), (self.target, "killed", 0.4)):
            harness.wait_for("a part is copied", lambda p=part: self.counted(path) > p * RECORDS, 60)
            self.assertIsNone(shell.poll())
            server = self.leader(cluster, table)
            server.kill()
            time.sleep(random.uniform(0, 2))
            server.start()
        answer = self.end_of(shell)
        self.assertEqual((answer["copied"], answer["equal"]), (RECORDS, "yes"))
        for cluster in self.clusters.values():
            harness.wait_for("healthy", lambda c=cluster: c.alive() == 2, 60)

    def test_a_shell_that_is_killed_goes_on(self):
        self.create(self.target, "resumed", partitions=8)
        path = self.path("resumed")
        words = f"-c c2 -a resumed --resume {path}"
        copied = -1
        for part in (0.1, 0.4):
            shell = self.begin(f"{words} --rate {RECORDS // 5}")
            harness.wait_for("a part is copied", lambda p=part: self.counted(path) > p * RECORDS, 60)
            shell.kill()
            shell.wait()
            self.assertGreater(self.counted(path), copied)
            copied = self.counted(path)
        self.assertLess(copied, RECORDS)
        self.assertGreaterEqual(self.count(self.target, "resumed"), copied)

        # A file of another copy is refused, and stays as it is.
        before = self.read(path)
        self.create(self.target, "elsewhere")
        for others, why in (("-c c2 -a elsewhere", "its target is table resumed"), ("-c c2 -a resumed -e", "its options are all")):
            self.assertIn(why, self.copy(f"{others} --resume {path}", source="full", exit_code=1)["error"])
        self.create(self.source, "another")
        self.assertIn("its source is table full", self.copy(words, source="another", exit_code=1)["error"])
        self.assertEqual(self.count(self.target, "elsewhere"), 0)
        self.assertEqual(self.read(path), before)

        answer = self.copy(words + " --verify", source="full")
        self.assertEqual((answer["copied"], answer["equal"]), (RECORDS, "yes"))
        self.assertEqual(answer["copied_before"], copied)
        # Ended is ended: nothing is read again.
        again = self.copy(words, source="full")
        self.assertEqual((again["copied"], again["records_per_second"]), (RECORDS, 0))

    def test_ctrl_c_says_how_far_it_is(self):
        self.create(self.target, "stopped")
        path = self.path("stopped")
        shell = self.begin(f"-c c2 -a stopped --rate 1000 --resume {path}")
        harness.wait_for("it copies", lambda: self.counted(path) > 100, 60)
        shell.send_signal(signal.SIGINT)
        out, errors = shell.communicate(timeout=60)
        self.assertEqual(shell.returncode, 1, out + errors)
        self.assertIn("stopped by Ctrl-C", json.loads(out.splitlines()[-1])["error"])
        self.assertIn("goes on there", out)

    def test_the_source_is_split_meanwhile(self):
        table = self.create(self.source, "split")
        for i in range(40):
            table.fill(b"h%d" % i, *(b"%05d" % j for j in range(500)))
        self.create(self.target, "split")
        path = self.path("split")
        shell = self.begin(f"-c c2 -a split --rate 250 -o 100 --resume {path}", source="split")
        harness.wait_for("it copies", lambda: self.counted(path) > 200, 60)
        code, answer = run_shell(self.source, f"split start split {2 * PARTITIONS} -y --wait")
        self.assertEqual(code, 0, answer)
        harness.wait_for("it copies on", lambda c=self.counted(path): self.counted(path) > c, 60)
        # A scan that is open sees what was there when it began. Where its server is gone, it is begun anew, in both halves; and what
        # it has got to is told of those.
        server = self.leader(self.source, "split")
        server.kill()
        server.start()
        harness.wait_for("the new partitions are in the file", lambda: "partition 7 8 " in self.read(path), 60)
        harness.wait_for("it copies on", lambda c=self.counted(path): self.counted(path) > c, 60)
        shell.kill()
        shell.wait()
        self.assertLess(self.counted(path), 20_000)
        answer = self.copy(f"-c c2 -a split --resume {path} --verify", source="split")
        self.assertEqual((answer["copied"], answer["equal"]), (20_000, "yes"))

    def test_a_target_that_is_dropped_ends_it(self):
        self.create(self.target, "dropped")
        path = self.path("dropped")
        shell = self.begin(f"-c c2 -a dropped --rate 1000 --resume {path} --patience 15")
        harness.wait_for("it copies", lambda: self.counted(path) > 100, 60)
        self.assertEqual(run_shell(self.target, "drop dropped -y")[0], 0)
        out, errors = shell.communicate(timeout=120 * harness.PATIENCE)
        self.assertEqual(shell.returncode, 1, out + errors)
        self.assertIn("dropped", out)

    def test_what_cant_be_is_refused_by_name(self):
        self.create(self.source, "small").set(b"k", b"s", b"v")
        garbage = self.path("garbage")
        with open(garbage, "w") as file:
            file.write("precious\n")
        for words, code, why in (
                ("-c c2 -a nobodys", 1, "nobodys of c2"),
                ("-c nowhere -a small", 1, "known are: c1, c2"),
                (f"-c {self.target.meta.address} -a small -p 4", 2, "has 4 partitions"),
                ("-c c2 -a small -g", 2, "geo data"),
                ("-c c2 -a small -n -u", 2, "-u has no place"),
                ("-c c2 -a small -n --verify", 2, "--verify would"),
                ("-c c2 -a small -v prefix", 2, "-v needs -z"),
                ("-c c2 -a small -h exact -x k", 2, "-h is anywhere, prefix or postfix"),
                ("-c c2 -a small -m 0", 2, "-m takes a number"),
                ("-c c2 -a small -b 1001", 2, "-b takes a number, 1 to 1000"),
                ("-c c2 -a small --rate fast", 2, "not fast"),
                ('-c c2 -a small --resume ""', 2, "--resume needs a value"),
                (f"-c c2 -a small --resume {garbage}", 1, "is no file of copy_data"),
                ("-c c2 -a small --resume /nowhere/file", 1, "/nowhere/file"),
                ("-a small", 2, "the table in use"),
                (f"-c {self.source.meta.address} -a small", 2, "the table in use"),
                ("-c c2", 2, "-a names")):
            if "nobodys" not in words and not self.target.partitions("small"):
                self.create(self.target, "small")
            self.assertIn(why, self.copy(words, source="small", exit_code=code)["error"], words)
        self.assertEqual(self.read(garbage), "precious\n")
        self.assertEqual(self.count(self.target, "small"), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
