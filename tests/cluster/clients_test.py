#!/usr/bin/env python3
"""Official clients, unchanged, against real servers: both versions of the Go client and pypegasus3.

SPDX-License-Identifier: Apache-2.0
"""

import os
import subprocess
import sys
import tempfile
import unittest

import harness


class GoClients(harness.ClusterTest):
    data_dirs = 2

    def client(self, version, mode, *options, timeout=180):
        with tempfile.TemporaryDirectory() as scratch:
            return harness.run([harness.go_client(version), "-meta", self.cluster.meta.address, *options, mode],
                               timeout=timeout, cwd=scratch)

    def test_xiaomi_client_does_all_it_can(self):
        self.assertIn("check: ok", self.client("xiaomi", "check"))

    def test_apache_client_does_all_it_can(self):
        self.assertIn("check: ok", self.client("apache", "check"))

    def test_xiaomi_client_meets_every_edge_of_the_data_api(self):
        self.assertIn("api: ok", self.client("xiaomi", "api"))

    def test_apache_client_meets_every_edge_of_the_data_api(self):
        self.assertIn("api: ok", self.client("apache", "api"))

    def test_apache_client_administers_tables(self):
        self.assertIn("admin: ok", self.client("apache", "admin"))

    def test_a_hundred_thousand_keys_are_read_back(self):
        self.assertIn("many: ok, 100000 keys", self.client("xiaomi", "many", "-keys", "100000", timeout=300))

    def test_bench_mode_prints_figures(self):
        out = self.client("apache", "bench", "-seconds", "2", "-threads", "8", "-keys", "1000")
        self.assertRegex(out, r"ops/s=[1-9]\d* avg_us=\d+ .*p99_us=\d+")

    def test_everything_is_there_after_a_clean_restart(self):
        with subprocess.Popen([harness.go_client("xiaomi"), "-meta", self.cluster.meta.address, "write"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                              cwd=tempfile.gettempdir()) as writer:
            keys = [writer.stdout.readline().strip() for _ in range(2000)]
            rest, _ = writer.communicate()
        keys += rest.split()
        for server in self.cluster.replicas:
            self.assertEqual(server.stop(), 0, f"{server.name}: not a clean stop")
        self.assertEqual(self.cluster.meta.stop(), 0)
        self.cluster.start()
        self.cluster.wait_healthy("temp")
        verified = harness.run([harness.go_client("xiaomi"), "-meta", self.cluster.meta.address, "verify"],
                               input="\n".join(keys), cwd=tempfile.gettempdir())
        self.assertIn(f"{len(keys)} acknowledged writes, 0 lost", verified)


class PythonClient(harness.ClusterTest):
    REQUIREMENTS = ["pypegasus3==0.0.1.1"]  # pins Twisted, thrift and cryptography itself

    def python(self):
        """A virtual environment with the client, made once a build directory."""
        home = os.path.join(harness.BUILD, "tests", "cluster", "pypegasus3")
        python = os.path.join(home, "bin", "python")
        done = os.path.join(home, "complete")
        if not os.path.exists(done):
            harness.run([sys.executable, "-m", "venv", "--clear", home])
            harness.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *self.REQUIREMENTS],
                        timeout=300)
            with open(done, "w"):
                pass
        return python

    def test_pypegasus3_does_all_it_can(self):
        program = os.path.join(harness.HERE, "pypegasus_check.py")
        with tempfile.TemporaryDirectory() as scratch:  # the client writes its log into the current directory
            out = harness.run([self.python(), program, self.cluster.meta.address], timeout=120, cwd=scratch)
        self.assertIn("check: ok", out)


if __name__ == "__main__":
    unittest.main(verbosity=2)
