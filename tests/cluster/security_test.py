#!/usr/bin/env python3
"""Who may change something, and which servers belong together: address lists, tokens, clusters' names and ids.

SPDX-License-Identifier: Apache-2.0
"""

import glob
import http.client
import os
import subprocess
import unittest

import harness
import thft

TOKEN = "0123456789abcdef0123456789abcdef"


def refused(server, why):
    return harness.value_of(harness.metrics(server), "arion_refused_requests_total", why=why)


class Security(unittest.TestCase):
    def setUp(self):
        self.cluster = harness.Cluster(servers=2)
        self.addCleanup(self.cluster.destroy)
        self.meta, (self.replica, self.other) = self.cluster.meta, self.cluster.replicas

    def start(self, *servers, flags=()):
        for server in servers:
            server.start(flags)
            self.cluster.wait_listening(server)

    def alive(self, meta=None):
        samples = harness.metrics(meta or self.meta)
        return harness.value_of(samples, "arion_alive_replica_servers")

    def shell(self, command, *flags, exit_code=0):
        done = subprocess.run([os.path.join(harness.BUILD, "arion_shell"), "--meta", self.meta.address, *flags, "-e", command], capture_output=True,
                              text=True, timeout=60 * harness.PATIENCE)
        self.assertEqual(done.returncode, exit_code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def post(self, server, **headers):
        connection = http.client.HTTPConnection(server.address, timeout=10 * harness.PATIENCE)
        connection.request("POST", "/checkpoint", headers=headers)
        answer = connection.getresponse()
        answer.read()
        connection.close()
        return answer.status

    def token_file(self, mode=0o600):
        path = os.path.join(self.cluster.directory, "token")
        with open(path, "w") as file:
            file.write(TOKEN + "\n")
        os.chmod(path, mode)
        return path

    def test_changes_need_the_token_and_questions_do_not(self):
        flag = f"--admin_token_file={self.token_file()}"
        self.start(self.meta, self.replica, flags=[flag])
        harness.wait_for("the server is known", lambda: self.alive() == 1)
        self.assertIn("--token_file", self.shell("create temp -p 2 -r 1", exit_code=1))
        self.assertEqual(thft.create_table(self.meta.address, "temp", 2, 1), "ERR_ACL_DENY")
        self.shell("nodes; ls")
        self.shell("create temp -p 2 -r 1", f"--token_file={self.token_file()}")
        self.cluster.wait_healthy("temp", 1)
        self.shell("use temp; set k s v; get k s")
        self.assertEqual(self.post(self.replica), 401)
        self.assertEqual(self.post(self.replica, Authorization=f"Bearer {TOKEN[:-1]}x"), 401)
        self.assertEqual(self.post(self.replica, Authorization=f"Bearer {TOKEN}"), 200)
        self.assertEqual(refused(self.meta, "not_permitted"), 2)
        self.assertEqual(refused(self.replica, "not_permitted"), 2)
        for server in (self.meta, self.replica):
            self.assertNotIn(TOKEN[:8], server.logged())

    def test_a_token_that_everybody_may_read_is_refused_at_the_start(self):
        self.meta.start([f"--admin_token_file={self.token_file(0o644)}"])
        self.assertEqual(self.meta.process.wait(timeout=30 * harness.PATIENCE), 2)
        self.assertIn("chmod 640", self.meta.logged())

    def test_changes_come_from_the_addresses_listed(self):
        self.start(self.meta, self.replica, flags=["--admin_addresses=10.0.0.0/8"])
        harness.wait_for("the server is known", lambda: self.alive() == 1)
        self.assertIn("admin_addresses", self.shell("create temp -p 2 -r 1", exit_code=1))
        self.assertEqual(self.post(self.replica), 403)
        self.meta.stop()
        self.start(self.meta, flags=["--admin_addresses=10.0.0.0/8,127.0.0.0/8"])
        harness.wait_for("the server is known", lambda: self.alive() == 1)
        self.shell("create temp -p 2 -r 1")

    def test_a_server_of_another_cluster_is_not_let_in(self):
        self.start(self.meta, self.replica)
        self.start(self.other, flags=["--cluster_name=another"])
        harness.wait_for("the stranger is refused", lambda: refused(self.meta, "other_cluster") >= 2)
        self.assertEqual(self.alive(), 1)
        self.assertRegex(self.meta.logged(), f'RPC_FD_FAILURE_DETECTOR_PING of {self.other.address} refused: that server is not of cluster "test"')
        self.assertRegex(self.other.logged(), f'{self.meta.address} refused: that server is not of cluster "another"')

    def test_data_stay_with_the_cluster_whose_they_are(self):
        self.start(self.meta, self.replica)
        self.cluster.create_table("temp", 2, 1)
        self.assertEqual(len(glob.glob(f"{self.replica.directory}/data0/.arion-cluster")), 1)
        self.replica.stop()
        namesake = harness.Cluster(servers=0)  # another cluster of the same name
        self.addCleanup(namesake.destroy)
        namesake.start()
        held = sorted(os.listdir(f"{self.replica.directory}/data0/replica/reps"))
        self.start(self.replica, flags=[f"--meta_servers={namesake.meta.address}"])
        harness.wait_for("the namesake refuses", lambda: refused(namesake.meta, "other_cluster") >= 2)
        self.assertEqual(self.alive(namesake.meta), 0)
        self.assertIn("its cluster's id is another", self.replica.logged())
        self.assertEqual(sorted(os.listdir(f"{self.replica.directory}/data0/replica/reps")), held)
        self.replica.stop()
        self.start(self.replica)
        self.cluster.wait_healthy("temp", 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
