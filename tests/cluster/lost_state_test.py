#!/usr/bin/env python3
"""A meta server whose state is lost, damaged or older says so, and what is done about it works.

SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import shutil
import subprocess
import unittest
import urllib.request

import harness

SHELL = os.path.join(harness.BUILD, "arion_shell")


class LostState(unittest.TestCase):
    def setUp(self):
        self.cluster = harness.Cluster(servers=3)
        self.addCleanup(self.cluster.destroy)
        self.meta, self.replicas = self.cluster.meta, self.cluster.replicas
        self.cluster.start()
        harness.wait_for("all servers live", lambda: self.cluster.alive() == 3)
        self.cluster.create_table("first", 2)

    def shell(self, command, seconds=60):
        """Exit code and output."""
        done = subprocess.run([SHELL, "--meta", self.meta.address, "-e", command], capture_output=True, text=True,
                              timeout=seconds * harness.PATIENCE, stdin=subprocess.DEVNULL)
        return done.returncode, done.stdout + done.stderr

    def status(self):
        done = subprocess.run([SHELL, "--meta", self.meta.address, "-j", "-e", "status"], capture_output=True, text=True,
                              timeout=60 * harness.PATIENCE, stdin=subprocess.DEVNULL)
        return json.loads(done.stdout)

    def warnings(self, kind):
        try:
            return harness.value_of(harness.metrics(self.meta), "arion_cluster_warnings", kind=kind)
        except (OSError, AssertionError):
            return 0

    def put(self, table, value):
        code, said = self.shell(f"use {table}; set k s {value}")
        self.assertEqual(code, 0, said)

    def get(self, table):
        return self.shell(f"use {table}; get k s")[1]

    def restart_meta(self):
        self.meta.start()
        self.cluster.wait_listening(self.meta)

    def recover(self, command):
        """The shell asks again when an attempt is not answered in time; one that arrives just behind the end is told that there are
        tables now. What matters is asked afterwards: are they served, with their records?"""
        code, said = self.shell(command + " -y", 100)
        self.assertTrue(code in (0, 4) or "ERR_SERVICE_ALREADY_RUNNING" in said, said)

    def command_in(self, status, what):
        """The way that `status` names for a problem of the meta server, from `recover` on."""
        ways = [problem["being_done"] for problem in status["problems"] if what in problem["problem"]]
        self.assertEqual(len(ways), 1, status)
        return ways[0][ways[0].index("recover "):]

    def test_a_lost_directory_is_said_with_the_command_that_learns_the_state_back(self):
        self.put("first", "kept")
        self.meta.stop()
        shutil.rmtree(self.meta.data_directories()[0])
        os.makedirs(self.meta.data_directories()[0])
        self.restart_meta()
        harness.wait_for("all three knock", lambda: self.warnings("other_cluster_knocks") == 3)
        status = self.status()
        self.assertEqual(status["state"], "unhealthy")
        command = self.command_in(status, "may be lost")
        for server in self.replicas:
            self.assertIn(server.address, command)
        with urllib.request.urlopen(f"http://{self.meta.address}/ui/cluster.json", timeout=10 * harness.PATIENCE) as answer:
            page = json.load(answer)
        self.assertIn("may be lost", page["wrong"])
        self.assertIn(command, page["doing"])
        self.assertRegex(self.meta.logged(), f"{self.replicas[0].address} is of a cluster .* with another id .* recover -s")
        self.recover(command)
        self.cluster.wait_healthy("first")
        self.assertIn("kept", self.get("first"))
        self.assertEqual(self.warnings("other_cluster_knocks"), 0)
        self.meta.stop()
        self.restart_meta()
        self.cluster.wait_healthy("first")
        harness.wait_for("they are known after a restart", lambda: self.cluster.alive() == 3)

    def test_a_server_whose_address_changed_for_good_can_be_forgotten(self):
        moved = self.replicas[2]
        code, said = self.shell(f"forget_server {moved.address} -y")
        self.assertNotEqual(code, 0)
        self.assertIn("alive", said)
        former = moved.address
        moved.stop()
        code, said = self.shell("forget_server 127.0.0.1:1 -y")
        self.assertNotEqual(code, 0)
        self.assertIn("no such server", said)
        harness.wait_for("it is dead", lambda: self.cluster.alive() == 2)
        moved.address = f"127.0.0.1:{harness.free_ports(1)[0]}"
        os.remove(os.path.join(moved.data_directories()[0], "replica", "reps", ".arion-server"))
        moved.write_config()
        moved.start()
        self.cluster.wait_listening(moved)
        self.cluster.wait_healthy("first")
        status = self.status()
        self.assertEqual([problem["what"] for problem in status["problems"]], [f"server {former}"])
        self.assertIn("forget_server", status["problems"][0]["being_done"])
        code, said = self.shell(f"forget_server {former} -y")
        self.assertEqual(code, 0, said)
        self.assertEqual(self.status()["state"], "healthy")
        self.meta.stop()
        self.restart_meta()
        harness.wait_for("all servers live", lambda: self.cluster.alive() == 3)
        self.assertEqual(self.status()["servers"], 3)

    def test_a_damaged_journal_names_the_way_back(self):
        self.put("first", "kept")
        self.meta.stop()
        journal = os.path.join(self.meta.data_directories()[0], "meta.journal")
        with open(journal, "r+b") as file:
            file.seek(12)
            file.write(b"damage")
        self.meta.start()
        self.assertEqual(self.meta.process.wait(timeout=30 * harness.PATIENCE), 1)
        self.assertRegex(self.meta.logged(), "meta.journal: damaged.*move it aside.*recover -s SERVER")
        os.rename(journal, journal + ".damaged")
        self.restart_meta()
        harness.wait_for("all servers live", lambda: self.cluster.alive() == 3)
        servers = ",".join(server.address for server in self.replicas)
        self.recover(f"recover -s {servers}")
        self.cluster.wait_healthy("first")
        self.assertIn("kept", self.get("first"))

    def older_state(self, change):
        """The meta server's directory becomes what it was before `change`; servers run all the while, but for what that does."""
        self.meta.stop()
        data = self.meta.data_directories()[0]
        shutil.copytree(data, data + ".older")
        self.restart_meta()
        harness.wait_for("all servers live", lambda: self.cluster.alive() == 3)
        self.cluster.wait_healthy("first")
        change()
        self.meta.stop()
        os.rename(data, data + ".newer")
        os.rename(data + ".older", data)
        self.restart_meta()

    def test_an_older_copy_put_back_is_said_where_ballots_show_it(self):
        self.put("first", "kept")

        def fail_over():
            self.replicas[0].kill()
            harness.wait_for("it is dead", lambda: self.cluster.alive() == 2)
            harness.wait_for("others lead", lambda: not self.cluster.lacks_primary("first"))
            self.replicas[0].start()
            self.cluster.wait_healthy("first")
        self.older_state(fail_over)
        harness.wait_for("it is said", lambda: self.warnings("state_went_back") == 1)
        self.cluster.wait_healthy("first")
        self.assertIn("kept", self.get("first"))
        harness.wait_for("only that is left", lambda: len(self.status()["problems"]) == 1)
        status = self.status()
        self.assertEqual(status["state"], "unhealthy")
        self.assertRegex(status["problems"][0]["problem"], "older state: servers knew larger ballots of 1[.].*environments")
        self.assertIn("get_app_envs", status["problems"][0]["being_done"])
        with urllib.request.urlopen(f"http://{self.meta.address}/ui/cluster.json", timeout=10 * harness.PATIENCE) as answer:
            self.assertIn("older state", json.load(answer)["wrong"])

    def test_an_older_copy_put_back_is_said_where_environments_show_it(self):
        def set_environment():
            code, said = self.shell("use first; set_app_envs replica.slow_query_threshold 100")
            self.assertEqual(code, 0, said)
        self.older_state(set_environment)
        harness.wait_for("it is said", lambda: self.warnings("state_went_back") == 1)
        self.assertRegex(self.status()["problems"][0]["problem"], "later descriptions of first")

    def test_an_older_copy_put_back_is_said_of_the_table_it_does_not_know(self):
        self.meta.stop()
        data = self.meta.data_directories()[0]
        shutil.copytree(data, data + ".older")
        self.restart_meta()
        harness.wait_for("all servers live", lambda: self.cluster.alive() == 3)
        self.cluster.create_table("second", 2)
        self.put("second", "kept")
        self.meta.stop()
        os.rename(data, data + ".newer")
        os.rename(data + ".older", data)
        self.restart_meta()
        harness.wait_for("the table is said", lambda: self.warnings("unknown_tables") == 1)
        status = self.status()
        self.assertEqual(status["state"], "unhealthy")
        self.assertIn("recover -s SERVER,...", self.command_in(status, "does not know a table"))
        self.assertRegex(self.meta.logged(), "holds . copies of table 2, which is not stored")
        self.meta.stop()
        os.rename(os.path.join(data, "meta.journal"), os.path.join(self.meta.directory, "aside"))
        self.restart_meta()
        harness.wait_for("all servers live", lambda: self.cluster.alive() == 3)
        servers = ",".join(server.address for server in self.replicas)
        self.recover(f"recover -s {servers}")
        self.cluster.wait_healthy("second")
        self.assertIn("kept", self.get("second"))
        self.assertEqual(self.warnings("state_learned_back"), 1)
        harness.wait_for("nothing is unknown", lambda: self.warnings("unknown_tables") == 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
