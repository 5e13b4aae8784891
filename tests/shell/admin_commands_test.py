"""arion_shell administers a cluster of four real servers: environments act, tables change, replicas move.

SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "cluster"))
import harness  # noqa: E402


class AdminCommandsTest(harness.ClusterTest):
    servers = 4
    table = "t"
    partitions = 4

    def shell(self, *commands, exit_code=0):
        """The JSON answers, one a command."""
        binary = os.path.join(harness.BUILD, "arion_shell")
        done = subprocess.run([binary, "--meta", self.cluster.meta.address, "-j", "-e", "; ".join(commands)],
                              capture_output=True, text=True, timeout=60 * harness.PATIENCE)
        allowed = exit_code if isinstance(exit_code, tuple) else (exit_code,)
        self.assertIn(done.returncode, allowed, done.stdout + done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def one(self, command, exit_code=0):
        return self.shell(command, exit_code=exit_code)[-1]

    def rows(self):
        """The partitions as they are now; the shell says by 4 that one is not well, as in the middle of a move."""
        return self.one("app t -d", exit_code=(0, 4))["partitions"]

    def test_environments_are_checked_and_act_within_a_second(self):
        self.shell("use t", "set_app_envs default_ttl 100 business.info ours")
        time.sleep(1)
        self.shell("use t", "set k s v")
        self.assertIn(self.shell("use t", "ttl k s")[-1]["ttl_seconds"], range(90, 101))
        listed = self.shell("use t", "get_app_envs")[-1]["app_envs"]
        self.assertEqual([(row["key"], row["value"], row["acts"]) for row in listed],
                         [("business.info", "ours", "yes"), ("default_ttl", "100", "yes")])
        for words in ("nonsense 1", "default_ttl -1", "rocksdb.usage_scenario normal"):
            error = self.shell("use t", f"set_app_envs {words}", exit_code=1)[-1]["error"]
            self.assertIn(words.split()[0], error)
        self.shell("use t", "del_app_envs default_ttl", "clear_app_envs -a")
        self.assertEqual(self.shell("use t", "table-env list")[-1]["app_envs"], [])
        time.sleep(1)
        self.shell("use t", "set k s v")
        self.assertNotIn(self.shell("use t", "ttl k s")[-1].get("ttl_seconds"), range(0, 1000))

    def test_a_table_is_renamed_dropped_and_recalled_with_its_records(self):
        self.shell("use t", "set kept s v")
        self.shell("rename t u", "drop u --dry-run")
        self.assertEqual(self.one("ls")["tables"][0]["name"], "u")
        self.shell("drop u -y -r 1000")
        dropped = self.one("ls --drop")["tables"]
        self.assertEqual([(row["id"], row["name"]) for row in dropped], [(1, "u")])
        self.shell("recall 1 t")
        self.cluster.wait_healthy("t")
        self.assertIn("v", json.dumps(self.shell("use t", "get kept s")[-1]))

    def test_replicas_are_added_moved_and_counted(self):
        self.assertEqual(self.one("set_replica_count t 4 --dry-run")["old_max_replica_count"], 3)
        self.shell("set_replica_count t 4 -y")
        self.cluster.wait_healthy("t", replicas=4)
        self.shell("set_replica_count t 3 -y")
        harness.wait_for("three members", lambda: all(
            row["members"] == 3 for row in self.rows()))
        self.assertEqual(self.one("get_replica_count t")["max_replica_count"], 3)

        before = self.rows()[0]
        move = f"balance -g 1.0 -p move_pri -f {before['primary']} -t {before['secondaries'][0]}"
        self.assertEqual(len(self.one(move + " --dry-run")["steps"]), 2)
        self.assertEqual(self.rows()[0]["ballot"], before["ballot"])
        self.shell(move + " -y")
        harness.wait_for("another primary", lambda: self.rows()[0]["primary"] == before["secondaries"][0])
        self.one(move + " -y", exit_code=1)
        self.assertEqual(self.one("ddd_diagnose")["dead"], 0)
        nodes = self.one("nodes -d")["details"]
        self.assertEqual(sum(row["primary_count"] for row in nodes), 4)
        self.assertEqual(sum(row["replica_count"] for row in nodes), 12)

    def test_servers_are_asked_and_told_one_by_one(self):
        info = self.one("server_info")
        self.assertEqual((info["succeed_count"], info["failed_count"]), (5, 0))
        self.assertEqual({row["role"] for row in info["servers"]}, {"meta-server", "replica-server"})
        told = self.one("remote_command -t meta-server meta.live_percentage 40")
        self.assertIn("OK", told["servers"][0]["answer"])
        self.assertIn("unknown command", self.one("remote_command -t replica-server nonsense")["servers"][0]["answer"])
        self.one("remote-command replica help")
        self.one("remote_command -t nobody help", exit_code=2)
        differing = self.one("config --diff -t meta")["settings"]
        changed = [row for row in differing if row["key"] == "node_live_percentage_threshold_for_update"]
        self.assertEqual([(row["value"], row["at_start"], row["origin"]) for row in changed],
                         [("40", "50", "changed in operation")])
        self.assertEqual(self.one("config set slow_request_after 7ms -t replica")["changed"], 4)
        self.assertEqual({row["value"] for row in self.one("config slow_request_after -t replica")["settings"]}, {"7ms"})
        self.assertEqual(self.one("config set slow_request_after DEFAULT")["changed"], 4)
        self.assertIn("can't be changed", self.one("config set durability os", exit_code=1)["error"])
        self.assertIn("did you mean log_level?", self.one("config set log_levle info", exit_code=1)["error"])
        self.assertIn("write info, warning or error", self.one("config set log_level loud", exit_code=1)["error"])
        self.shell("server-config meta node_live_percentage_threshold_for_update set DEFAULT")
        self.assertEqual(self.one("server-config meta node_live_percentage_threshold_for_update get")["settings"][0]["value"],
                         "50")

    def test_disks_hot_keys_and_compactions(self):
        disks = self.one("disk-capacity -t t")["disks"]
        self.assertGreater(disks[0]["capacity_mb"], disks[0]["available_mb"])
        self.assertEqual(sum(row["total"] for row in self.one("disk-replica -t t")["disks"]), 12)
        self.assertEqual(self.one("disk-replica -t nobodys")["disks"], [])
        self.assertIn("starting", self.one("detect_hotkey -a 1 -p 0 -t read -c start")["hint"])
        self.assertIn("Can't get", self.one("detect_hotkey -a 1 -p 0 -t read -c query", exit_code=1)["error"])
        self.one("detect_hotkey -a 1 -p 0 -t read -c stop")
        self.one("detect_hotkey -a 1 -p 0 -t sideways -c stop", exit_code=2)
        self.assertEqual(self.one("manual-compaction start -a t -b --wait")["progress"], 100)
        self.assertEqual(self.one("manual-compaction query -a t")["progress"], 100)
        self.one("manual-compaction start -a nobodys", exit_code=1)
        self.one("manual-compaction start -a t -l 0", exit_code=1)
        self.shell("use t", "clear_app_envs -p manual_compact")

    def test_a_recovery_is_looked_at_before_it_is_done(self):
        servers = ",".join(server.address for server in self.cluster.replicas)
        seen = self.one(f"recover -s {servers} --dry-run")
        self.assertEqual(sum(row["replicas"] for row in seen["servers"]), 12)
        self.assertEqual([(row["id"], row["missing"]) for row in seen["tables"]], [(1, [])])
        self.assertEqual(self.one("recover -s 127.0.0.1:9 --dry-run", exit_code=4)["no_answer_from"], ["127.0.0.1:9"])
        self.assertIn("ERR_SERVICE_ALREADY_RUNNING", self.one(f"recover -s {servers} -y", exit_code=1)["error"])

    def test_the_level_is_asked_and_set(self):
        self.assertEqual(self.one("get_meta_level")["level"], "steady")
        self.assertEqual(self.one("set_meta_level lively")["old_level"], "steady")
        self.assertEqual(self.one("cluster_info")["meta_function_level"], "lively")
        self.assertEqual(self.one("set_meta_level steady")["level"], "steady")
        self.one("set_meta_level loud", exit_code=2)


if __name__ == "__main__":
    unittest.main()
