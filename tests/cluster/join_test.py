#!/usr/bin/env python3
"""A cluster of Apache Pegasus 2.5.0 is joined, or joins: who is let in, what is said of it, and how it ends. The servers of
2.5.0 are played by rdsn.py.

SPDX-License-Identifier: Apache-2.0
"""

import os
import subprocess
import time
import unittest
import urllib.request

import harness
import rdsn
import thft

JOIN = "--join_pegasus_cluster=test"


class Join(unittest.TestCase):
    def setUp(self):
        self.cluster = harness.Cluster(servers=1)
        self.addCleanup(self.cluster.destroy)
        self.meta, (self.replica,) = self.cluster.meta, self.cluster.replicas

    def start(self, server, *flags):
        server.start(flags)
        self.cluster.wait_listening(server)

    def shell(self, command, exit_code=0, meta=None):
        done = subprocess.run([os.path.join(harness.BUILD, "arion_shell"), "--meta", meta or self.meta.address, "-e", command],
                              capture_output=True, text=True, timeout=60 * harness.PATIENCE)
        if exit_code is not None:
            self.assertEqual(done.returncode, exit_code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def metric(self, server, name):
        return harness.value_of(harness.metrics(server), name)

    def page(self, server, path):
        with urllib.request.urlopen(f"http://{server.address}{path}", timeout=10 * harness.PATIENCE) as answer:
            return answer.read().decode()

    def expect_logged(self, server, text):
        harness.wait_for(f"{server.name} logs: {text}", lambda: text in server.logged())

    def old_server(self, tables=()):
        old = rdsn.OldReplicaServer(self.meta.address, list(tables))
        self.addCleanup(old.stop)
        return old

    # ---- servers of 2.5.0 join Arion's meta server ----

    def test_nobody_is_let_in_unless_the_operator_says_so(self):
        self.start(self.meta)
        old = self.old_server()
        self.assertEqual(old.say_beacon(), "ERR_CLUSTER_NOT_FOUND")
        self.expect_logged(self.meta, "join_pegasus_cluster would let")
        self.assertEqual(self.metric(self.meta, "arion_alive_replica_servers"), 0)
        self.assertEqual(self.metric(self.meta, "arion_older_servers_let_in"), 0)

    def test_a_name_that_is_not_the_clusters_is_refused_at_the_start(self):
        self.meta.start(["--join_pegasus_cluster=other"])
        self.assertEqual(self.meta.process.wait(timeout=30 * harness.PATIENCE), 2)
        self.expect_logged(self.meta, "join_pegasus_cluster = other is not this server's cluster_name = test")

    def test_older_servers_join_are_shown_and_the_end_is_said_once_they_are_gone(self):
        self.start(self.meta, JOIN)
        self.start(self.replica)
        old = self.old_server()
        stranger = "127.0.0.1:%d" % harness.free_ports(1)[0]
        # Whom nobody introduced, or who says it is another, is not heard.
        self.assertEqual(rdsn.call(self.meta.address, "RPC_CM_CONFIG_SYNC", rdsn.config_sync(stranger), stranger)[0],
                         "ERR_CLUSTER_NOT_FOUND")
        self.assertEqual(rdsn.call(self.meta.address, "RPC_FD_FAILURE_DETECTOR_PING", rdsn.beacon(stranger, self.meta.address),
                                   old.address)[0], "ERR_CLUSTER_NOT_FOUND")
        harness.wait_for("both are alive", lambda: self.metric(self.meta, "arion_alive_replica_servers") == 2)
        error, answer = rdsn.call(self.meta.address, "RPC_CM_CONFIG_SYNC", rdsn.config_sync(old.address), old.address)
        self.assertEqual((error, b"ERR_OK" in answer), ("ERR_OK", True))
        # An Arion server that nobody told to is asked by nobody either.
        self.assertEqual(rdsn.call(self.replica.address, "RPC_CONFIG_PROPOSAL", b"", old.address)[0], "ERR_CLUSTER_NOT_FOUND")

        self.assertEqual(self.metric(self.meta, "arion_older_servers_let_in"), 1)
        self.assertEqual(self.metric(self.meta, "arion_older_servers"), 1)
        self.assertIn("lets in servers that name no cluster (join_pegasus_cluster = test)", self.shell("nodes"))
        self.assertIn(old.address, self.shell("status"))
        self.assertIn('"older":true', self.page(self.meta, "/ui/cluster.json"))
        self.assertIn("lets in servers that name no cluster", self.page(self.meta, "/ui/cluster.json"))
        self.expect_logged(self.meta, "are let in, since join_pegasus_cluster = test")

        self.assertIn(f"{self.meta.address} heard 1 of an older version", self.shell("end_join -y", exit_code=1))
        self.assertEqual(old.say_beacon(), "ERR_OK")
        old.stop()
        harness.wait_for("it is forgotten", lambda: self.metric(self.meta, "arion_older_servers") == 0, 60)
        ended = self.shell("end_join -y")
        self.assertIn("ended", ended)
        self.assertIn("--join_pegasus_cluster", ended)  # where it is written
        self.assertEqual(old.say_beacon(), "ERR_CLUSTER_NOT_FOUND")
        self.assertEqual(self.metric(self.meta, "arion_older_servers_let_in"), 0)
        self.assertEqual(self.metric(self.meta, "arion_alive_replica_servers"), 1)

    def test_a_table_with_an_older_member_is_shown_as_its_page_cache_is(self):
        self.start(self.meta, JOIN)
        self.start(self.replica)
        # Who sends beacons and has not said yet what it holds would lead nothing.
        self.cluster.create_table("first", 1, 1)
        old = self.old_server()
        harness.wait_for("both are alive", lambda: self.metric(self.meta, "arion_alive_replica_servers") == 2)
        rdsn.call(self.meta.address, "RPC_CM_CONFIG_SYNC", rdsn.config_sync(old.address), old.address)
        self.assertEqual(thft.create_table(self.meta.address, "temp", 8, 1), "ERR_OK")

        def leaders():
            return {partition["primary"] for partition in thft.ask_config(self.meta.address, "temp")[2]}
        harness.wait_for("both lead some of it", lambda: leaders() == {old.address, self.replica.address})
        why = f"members of an older version acknowledge what is in their page cache: {old.address}"
        for command in ("ls", "app temp", "status"):
            self.assertIn(why, self.shell(command))
        self.assertIn(f'"older_servers":["{old.address}"]', self.page(self.meta, "/ui/cluster.json"))

    def test_an_older_server_that_leads_longer_than_the_meta_server_waits_is_shown(self):
        self.start(self.meta, JOIN)
        old = self.old_server()
        harness.wait_for("it is alive", lambda: self.metric(self.meta, "arion_alive_replica_servers") == 1)
        started = time.monotonic()
        self.assertNotIn("two could lead", self.shell("status"))
        self.assertLess(time.monotonic() - started, 2 * harness.PATIENCE, "it waited for a connection to end")
        old.lease = 20
        told = self.shell("status", exit_code=4)
        self.assertRegex(told, rf"{old.address} +serves 20s after its last beacon, .* after [0-9.]+s: two could lead")

    def test_what_an_older_server_has_no_page_for_is_no_fault_of_it(self):
        self.start(self.meta, JOIN)
        old = self.old_server()
        harness.wait_for("it is alive", lambda: self.metric(self.meta, "arion_alive_replica_servers") == 1)
        for command in ("recovery", "stuck", "pools", "disks"):
            self.assertRegex(self.shell(command), f"{old.address}.* of an older version")
        self.assertIn("fd_lease_seconds", self.shell("config"))
        self.assertNotIn("fd_lease_seconds", self.shell("config --diff"))  # it tells no default

    def test_a_server_with_another_clusters_tables_is_not_let_in(self):
        self.start(self.meta, JOIN)
        self.start(self.replica)
        self.cluster.create_table("temp", 2, 1)
        app_id = thft.ask_config(self.meta.address, "temp")[1]
        old = self.old_server(tables=[rdsn.app_info(app_id, "another")])
        harness.wait_for("it is refused", lambda: "is of another cluster and not let in" in self.meta.logged())
        self.assertEqual(self.metric(self.meta, "arion_alive_replica_servers"), 1)
        self.assertIn("another cluster's tables", self.shell("status", exit_code=4))
        # It was the name only: what it holds is asked again.
        old.tables = [rdsn.app_info(app_id, "temp")]
        harness.wait_for("it is let in", lambda: self.metric(self.meta, "arion_alive_replica_servers") == 2)

    # ---- Arion's replica server joins a meta server of 2.5.0 ----

    def start_under(self, meta, *flags):
        self.replica.write_config()
        self.start(self.replica, f"--meta_servers={meta.address}", *flags)

    def test_a_replica_server_does_not_follow_an_older_meta_server_unless_told_to(self):
        with rdsn.OldMetaServer("test") as old:
            self.start_under(old)
            harness.wait_for("beacons are sent", lambda: old.heard.get("RPC_FD_FAILURE_DETECTOR_PING", 0) >= 2)
            self.assertEqual(self.metric(self.replica, "arion_lease_remaining_seconds"), 0)
            self.expect_logged(self.replica, "is of an older version, which can't say of which cluster it is: not followed")
            self.assertNotIn("RPC_CM_CONFIG_SYNC", old.heard)

    def test_a_replica_server_joins_no_cluster_of_another_name(self):
        with rdsn.OldMetaServer("other") as old:
            self.start_under(old, JOIN)
            harness.wait_for("it says why", lambda: 'is of cluster "other"' in self.page(self.replica, "/join"))
            self.assertNotIn("RPC_FD_FAILURE_DETECTOR_PING", old.heard)

    def test_a_replica_server_joins_and_serves(self):
        with rdsn.OldMetaServer("test") as old:
            old.duplicating = True
            self.start_under(old, JOIN)
            harness.wait_for("it waits", lambda: 'waits: table "temp" (id 2) is duplicated' in self.page(self.replica, "/join"))
            self.assertNotIn("RPC_FD_FAILURE_DETECTOR_PING", old.heard)
            self.assertEqual(self.metric(self.replica, "arion_join_obstacles"), 1)
            old.duplicating = False
            harness.wait_for("it has its lease", lambda: self.metric(self.replica, "arion_lease_remaining_seconds") > 0, 30)
            self.assertEqual(self.metric(self.replica, "arion_older_servers_let_in"), 1)
            stranger = "127.0.0.1:%d" % harness.free_ports(1)[0]
            self.assertEqual(rdsn.call(self.replica.address, "RPC_CONFIG_PROPOSAL", b"", stranger)[0], "ERR_CLUSTER_NOT_FOUND")

            def leads():
                old.propose_primary(self.replica.address)
                return old.primary
            harness.wait_for("it is made primary", leads)

            def is_served():
                with thft.connect(self.replica.address) as connection:
                    connection.sendall(thft.get(2, 0, b"h", b"s", sequence=42))
                    return thft.read_reply(connection)[0] == "ERR_OK"
            harness.wait_for("it serves", is_served)
            # Its meta server has no page that says how durable a table is: its members are asked.
            self.assertNotIn("page cache", self.shell("ls", meta=old.address))
            other = rdsn.OldReplicaServer(old.address)
            self.addCleanup(other.stop)
            old.shown = [other.address]
            self.assertIn(f"page cache: {other.address}", self.shell("ls", meta=old.address, exit_code=None))
            self.assertIn(f"{other.address}  is of an older version", self.shell("nodes", meta=old.address, exit_code=None))
            self.assertIn(f"{old.address} is of an older version", self.shell("end_join -y", meta=old.address, exit_code=1))
            old.shown = []
            # The table is gone from the meta server: it would end if it were told of it.
            old.app_id = 9
            harness.wait_for("it is not reported", lambda: "not reported: 2.0" in self.page(self.replica, "/join"))
            reports = old.heard["RPC_CM_CONFIG_SYNC"]
            harness.wait_for("a report follows", lambda: old.heard["RPC_CM_CONFIG_SYNC"] > reports)
            self.assertNotIn(b"pegasus", old.stored)


if __name__ == "__main__":
    unittest.main(verbosity=2)
