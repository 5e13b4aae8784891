#!/usr/bin/env python3
"""The meta server's own disk is full: it says so at once, refuses changes of tables, and carries failovers on by its reserve.

The disk is a small ext4 in a loop-mounted file, which somebody else fills again and again.
SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import subprocess
import threading
import unittest
import urllib.request

import harness
from disk_faults_test import MIB, SmallDisk, missing_for_loop

SHELL = os.path.join(harness.BUILD, "arion_shell")
SAID_SECONDS = 5


@unittest.skipIf(missing_for_loop(), f"not run: needs {missing_for_loop()}")
class MetaDisk(unittest.TestCase):
    def start(self, size):
        self.cluster = harness.Cluster(servers=3)
        self.addCleanup(self.cluster.destroy)
        self.meta, self.replicas = self.cluster.meta, self.cluster.replicas
        self.meta.write_config()
        self.disk = SmallDisk(self.meta.data_directories()[0], size)
        self.addCleanup(self.disk.remove)
        self.addCleanup(lambda: [server.kill() for server in self.cluster.servers()])
        self.cluster.start()
        harness.wait_for("all servers live", lambda: self.cluster.alive() == 3)
        self.cluster.create_table("temp", partitions=4)

    def run(self, result=None):
        before = len(result.failures) + len(result.errors)
        self.addCleanup(lambda: self.cluster.print_logs() if len(result.failures) + len(result.errors) > before else None)
        return super().run(result)

    def shell(self, command, *flags):
        """Exit code and output."""
        done = subprocess.run([SHELL, "--meta", self.meta.address, *flags, "-e", command], capture_output=True, text=True,
                              timeout=60 * harness.PATIENCE, stdin=subprocess.DEVNULL, check=False)
        return done.returncode, done.stdout + (done.stderr if not flags else "")

    def status(self):
        return json.loads(self.shell("status", "-j")[1])

    def said_of_meta(self):
        return [problem["problem"] for problem in self.status()["problems"] if problem["what"] == "meta server"]

    def metric(self, name, **labels):
        try:
            return harness.value_of(harness.metrics(self.meta), name, **labels)
        except (OSError, AssertionError):
            return None

    def writes(self, prefix):
        """A write to every partition; what the shell said when one failed."""
        code, said = self.shell("; ".join(["use temp", *(f"set {prefix}{i} s v" for i in range(16))]))
        return None if code == 0 else said.strip()

    def wait_reserve(self, what, wanted):
        harness.wait_for(what, lambda: wanted(self.metric("arion_meta_disk_reserve_bytes") or 0))

    def wait_whole(self):
        harness.wait_for("the reserve is whole", lambda: (self.metric("arion_meta_disk_reserve_bytes") or 0) > 0
                         and self.metric("arion_meta_disk_reserve_bytes") == self.metric("arion_meta_disk_reserve_wanted_bytes"))

    def fill_on_and_on(self):
        """Somebody takes every block that comes free, until what is returned is called."""
        is_over = threading.Event()

        def fill():
            while not is_over.wait(0.01):
                self.disk.fill()
        thread = threading.Thread(target=fill, daemon=True)
        thread.start()

        def end():
            is_over.set()
            thread.join()
        self.addCleanup(end)
        return end

    def fail_over(self, server, name):
        """One replica server dies: writes go on; and it comes back."""
        server.kill()
        harness.wait_for(f"writes go on without {server.name}", lambda: self.writes(name) is None)
        self.assertNotIn(server.address, [p["primary"] for p in self.cluster.partitions("temp")])
        server.start()
        self.cluster.wait_listening(server)
        self.cluster.wait_healthy("temp")

    def test_failovers_go_on_tables_are_refused_and_it_heals(self):
        self.start(96 * MIB)
        self.wait_whole()
        self.assertEqual(self.status()["state"], "healthy")
        self.disk.fill()
        harness.wait_for("status says so", self.said_of_meta, SAID_SECONDS)
        self.assertIn("disk is full", self.said_of_meta()[0])
        self.assertEqual(self.status()["state"], "unhealthy")
        self.assertEqual(self.metric("arion_cluster_warnings", kind="meta_disk_full"), 1)
        self.assertEqual(self.metric("arion_meta_disk_full"), 1)
        with urllib.request.urlopen(f"http://{self.meta.address}/ui/cluster.json", timeout=10 * harness.PATIENCE) as answer:
            page = json.load(answer)
        self.assertEqual(page["health"], "reduced")
        self.assertIn("disk is full", page["wrong"])
        for command in ("create other -p 2 -r 3", "drop temp -y", "rename temp other", "set_app_envs default_ttl 1000"):
            code, said = self.shell(f"use temp; {command}")
            self.assertNotEqual(code, 0, command)
            self.assertIn("disk is full", said, command)
        end = self.fill_on_and_on()
        for round_ in range(2):
            for server in self.replicas:
                self.fail_over(server, f"r{round_}-{server.name}-")
        self.meta.kill()
        self.meta.start()
        self.cluster.wait_listening(self.meta)
        harness.wait_for("all servers live", lambda: self.cluster.alive() == 3)
        self.fail_over(self.replicas[0], "again-")
        harness.wait_for("a new meta server says so too", self.said_of_meta, SAID_SECONDS)
        end()
        self.disk.free()
        harness.wait_for("it heals", lambda: self.status()["state"] == "healthy")
        self.wait_whole()
        self.assertEqual(self.metric("arion_meta_disk_full"), 0)
        self.assertEqual(self.shell("create other -p 2 -r 3")[0], 0)
        self.meta.kill()
        self.meta.start()
        self.cluster.wait_listening(self.meta)
        self.cluster.wait_healthy("other")

    def test_who_can_store_nothing_claims_of_no_dead_primary_that_it_serves(self):
        self.start(96 * MIB)
        self.wait_whole()
        self.disk.fill()
        self.meta.kill()
        os.remove(os.path.join(self.disk.path, ".arion-reserve"))
        self.fill_on_and_on()
        # A server that starts before somebody else has taken what the reserve left makes a new one.
        harness.wait_for("no room is left", lambda: self.disk.available() < MIB)
        self.meta.start()
        self.cluster.wait_listening(self.meta)
        harness.wait_for("all servers live", lambda: self.cluster.alive() == 3)
        self.assertEqual(self.metric("arion_meta_disk_reserve_bytes"), 0)
        self.fill_journal()
        leader = self.cluster.partitions("temp")[0]["primary"]
        next(server for server in self.replicas if server.address == leader).kill()
        harness.wait_for("it is dead", lambda: self.cluster.alive() == 2)
        harness.wait_for("partitions are said to have no primary",
                         lambda: (self.metric("arion_unreadable_partitions", table="temp") or 0) > 0)
        status = self.status()
        self.assertNotIn("others serve in its place", json.dumps(status))
        self.assertIn("no failover", json.dumps(status))

    def fill_journal(self):
        """What is left of the journal's last block: changes of a configuration until one is not stored."""
        def is_refused():
            for name in ("lively", "steady"):
                if self.shell(f"set_meta_level {name}")[0] != 0:
                    return True
            return False
        harness.wait_for("nothing is stored any more", is_refused, 60)


if __name__ == "__main__":
    unittest.main(verbosity=2)
