"""arion_shell administers a cluster of four real servers: environments act, tables change, replicas move.

SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
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

    def test_indexes_are_environments_and_bounded(self):
        def envs():
            return {row["key"]: (row["value"], row["acts"]) for row in self.shell("use t", "get_app_envs")[-1]["app_envs"]}
        self.assertEqual(self.one("create_index t city on $.city, head on bytes(0, 8)")["created"], ["city", "head"])
        self.assertEqual(envs(), {"index.city": ("$.city", "yes"), "index.head": ("bytes(0,8)", "yes")})
        self.one("create_index t city on $.town", exit_code=1)
        self.one("pause_index t city")
        self.one("rebuild_index t city")
        self.assertEqual(self.one("create_index t city on $.city")["existed"], ["city"])
        with tempfile.TemporaryDirectory() as home:
            saved = os.path.join(home, "tables")
            self.shell(f"save_tables -o {saved}", "drop_index t city", "drop_index t head")
            self.assertEqual(envs(), {})
            self.shell(f"restore_tables {saved} -y")
        self.assertEqual(envs(), {"index.city": ("$.city;generation=1;paused", "yes"), "index.head": ("bytes(0,8)", "yes")})
        # As an older tool says it; what is no definition is refused.
        self.shell("use t", "del_app_envs index.head index.city", "set_app_envs index.all value")
        self.shell("use t", "set_app_envs index.all everything", exit_code=1)
        begun = time.monotonic()
        many = ", ".join(f"i{i} on $.f{i}" for i in range(10000))
        done = subprocess.run([os.path.join(harness.BUILD, "arion_shell"), "--meta", self.cluster.meta.address],
                              input=f"create_index t {many}\n", capture_output=True, text=True,
                              timeout=60 * harness.PATIENCE)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("the table would have 10001 indexes; at most 64", done.stderr)
        self.assertLess(time.monotonic() - begun, 10 * harness.PATIENCE)
        self.assertEqual(list(envs()), ["index.all"])
        self.shell("use t", "clear_app_envs -a")

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

    # The last by its name: what it leaves on the emptied server is removed only later, and others count it.
    def test_when_a_drain_is_interrupted_it_goes_on_as_it_is_said_again(self):
        victim = self.rows()[0]["primary"]
        planned = self.one(f"drain {victim} --dry-run")
        self.assertEqual(planned["to_move"], len(planned["moves"]))
        with subprocess.Popen([os.path.join(harness.BUILD, "arion_shell"), "--meta", self.cluster.meta.address, "-j", "-e",
                               f"drain {victim} -y"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as first:
            harness.wait_for("a primary to move", lambda: all(row["primary"] != victim for row in self.rows()))
            first.send_signal(signal.SIGINT)
            detached = json.loads(first.communicate(timeout=60 * harness.PATIENCE)[0])
        self.assertRegex(detached["result"], "^(detached: what was proposed is carried out|done)")
        self.assertEqual(first.returncode, 0 if detached["result"] == "done" else 1)
        self.assertEqual(self.one(f"drain {victim} -y")["result"], "done")
        self.assertFalse(any(victim in [row["primary"], *row["secondaries"]] for row in self.rows()))
        self.assertEqual(self.one(f"drain {victim} -y")["to_move"], 0)
        self.cluster.wait_healthy("t")

    def test_servers_are_asked_and_told_one_by_one(self):
        info = self.one("server_info")
        self.assertEqual((info["succeed_count"], info["failed_count"]), (5, 0))
        self.assertEqual({row["role"] for row in info["servers"]}, {"meta-server", "replica-server"})
        told = self.one("remote_command -t meta-server meta.live_percentage 40")
        self.assertIn("OK", told["servers"][0]["answer"])
        self.assertIn("unknown command", self.one("remote_command -t replica-server nonsense")["servers"][0]["answer"])
        self.one("remote-command replica help")
        self.one("remote_command -t nobody help", exit_code=2)
        self.one('remote_command -l "" help', exit_code=2)
        self.one('config set slow_request_after 7ms -n ""', exit_code=2)
        differing = self.one("config --diff -t meta")["settings"]
        changed = [row for row in differing if row["key"] == "live_servers_percent_min"]
        self.assertEqual([(row["value"], row["at_start"], row["origin"]) for row in changed],
                         [("40", "50", "changed in operation")])
        self.assertEqual(self.one("config set slow_request_after 7ms -t replica")["changed"], 4)
        self.assertEqual({row["value"] for row in self.one("config slow_request_after -t replica")["settings"]}, {"7ms"})
        self.assertEqual(self.one("config set slow_request_after DEFAULT")["changed"], 4)
        self.assertIn("can't be changed", self.one("config set durability os", exit_code=1)["error"])
        self.assertIn("did you mean text_log_level?", self.one("config set text_log_levle info", exit_code=1)["error"])
        self.assertIn("write info, warning or error", self.one("config set text_log_level loud", exit_code=1)["error"])
        self.shell("server-config meta live_servers_percent_min set DEFAULT")
        self.assertEqual(self.one("server-config meta live_servers_percent_min get")["settings"][0]["value"],
                         "50")

    def test_what_tables_and_servers_do_is_counted(self):
        self.shell("use t", "multi_set counted " + " ".join(f"s{i} v" for i in range(20)))
        self.shell("create fresh -p 4")
        self.cluster.wait_healthy("fresh")
        self.assertEqual(self.one("app_disk fresh")["replicas_not_known"], 0, "opened since the last sample of engines")
        self.shell("drop fresh -y")
        disk = self.one("app_disk t -d")
        self.assertEqual(len(disk["details"]), 12)
        self.assertEqual([row["role"] for row in disk["details"]].count("primary"), 4)
        # A write goes on while it is counted.
        with tempfile.TemporaryFile("w+") as script:
            script.write("use t\n" + "set counted s v\n" * 100_000)
            script.seek(0)
            writer = subprocess.Popen([os.path.join(harness.BUILD, "arion_shell"), "--meta", self.cluster.meta.address],
                                      stdin=script, stdout=subprocess.DEVNULL)
            self.addCleanup(writer.wait)
            self.addCleanup(writer.kill)
            stat, partitions, nodes, servers = (self.one(f"{command} -i 500") for command in
                                                ("app_stat", "app_stat -a t -q", "nodes -q", "server_stat"))
        self.assertIsNone(writer.poll(), "it should still have been writing")
        self.assertEqual([row["app_name"] for row in stat["app_stat"]], ["t", "(total:1)"])
        for counted in (stat["app_stat"][0]["put"], sum(row["put"] for row in partitions["app_stat"][:-1]),
                        sum(row["put_qps"] for row in nodes["nodes"]), sum(row["put_qps"] for row in servers["servers"])):
            self.assertGreater(counted, 0)
        self.assertEqual([row["pidx"] for row in partitions["app_stat"]], ["0", "1", "2", "3", "(total:4)"])
        self.one("app_stat -i 1", exit_code=2)
        self.one("app_stat -a nobodys", exit_code=1)
        self.one("nodes -s sleepy", exit_code=2)

    def test_records_are_counted_copied_and_cleared(self):
        def count(*filters):
            return self.shell("use t", "count_data " + " ".join(filters))[-1]["count"]
        self.shell("use t", "clear_data -f", *(f"set a{i} s v{i}" for i in range(30)), "set mortal s v 1000",
                   r"set \x00\xff s v")
        self.assertEqual((count(), count("-h prefix -x a1")), (32, 11))
        self.assertIn("-x needs -h", self.shell("use t", "clear_data -f -x a", exit_code=2)[-1]["error"])
        # As from a script whose variable is not set.
        self.shell("use t", 'clear_data -f -x ""', exit_code=2)
        self.shell("use t", 'clear_data -f -h "" -x ""', exit_code=2)
        self.assertEqual(count(), 32)
        plan = self.shell("use t", "clear_data -h prefix -x a --dry-run")[-1]
        self.assertEqual((plan["records"], plan["filter"]), (30, 'hash key prefix "a"'))
        self.assertIn("nothing was removed", self.shell("use t", "clear_data", exit_code=1)[-1]["error"])
        self.assertEqual(count(), 32)
        self.shell("create copy -p 2")
        self.cluster.wait_healthy("copy")
        self.assertIn("the table in use", self.shell("use t", "copy_data -a t -f", exit_code=2)[-1]["error"])
        self.shell("use t", "copy_data -a nobodys -f", exit_code=1)
        self.assertEqual(self.shell("use t", "copy_data -a copy --dry-run")[-1]["records"], 32)
        self.assertEqual(self.shell("use t", "copy_data -a copy -f")[-1]["copied"], 32)
        kept = self.shell("use copy", "set a1 s ours", "use t", f"copy_data -c {self.cluster.meta.address} -a copy -n -f")[-1]
        self.assertEqual((kept["copied"], kept["skipped"]), (0, 32))
        self.assertEqual(self.shell("use copy", "get a1 s")[-1]["value"], "ours")
        self.shell("use t", 'set "" s v')
        kept = self.shell("use t", "copy_data -a copy -n -f", exit_code=4)[-1]
        self.assertEqual((kept["copied"], kept["skipped"], kept["not_copied"]), (0, 32, 1))
        self.shell("use t", 'del "" s')
        self.assertIn(self.shell("use copy", "ttl mortal s")[-1]["ttl_seconds"], range(900, 1001))
        self.shell("use copy", r"exist \x00\xff s")
        self.assertEqual(self.shell("use copy", "clear_data -h prefix -x a -f")[-1]["removed"], 30)
        self.assertEqual(self.shell("use copy", "count_data")[-1]["count"], 2)
        self.shell("drop copy -y")

    def test_names_mean_the_tables_that_have_them_now(self):
        self.shell("create once -p 1")
        self.cluster.wait_healthy("once")
        with subprocess.Popen([os.path.join(harness.BUILD, "arion_shell"), "--meta", self.cluster.meta.address, "-j"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first:
            def say(command):
                print(command, file=first.stdin, flush=True)
                return json.loads(first.stdout.readline())
            say("use once")
            say("set k s v")
            self.shell("rename once once_mine", "create once -p 1")
            self.cluster.wait_healthy("once")
            self.assertEqual(say("clear_data -f")["removed"], 0)
            self.assertEqual(say("multi_del_range k '' ''")["removed"], 0)
            self.assertEqual(say("use once")["table"], "once")
            say("set k s ours")
            first.stdin.close()
        self.assertEqual([self.shell(f"use {name}", "get k s")[-1]["value"] for name in ("once_mine", "once")], ["v", "ours"])
        self.shell("drop once -y", "drop once_mine -y")

    def test_the_commands_of_the_older_shells(self):
        self.shell("use t", "multi_set r a 1 b 2 c 3 d 4")
        self.assertEqual([row["sort_key"] for row in self.shell("use t", "multi_get_sortkeys r")[-1]["records"]],
                         ["a", "b", "c", "d"])
        self.shell("use t", 'multi_del_range r b d -y ""', exit_code=2)
        self.assertEqual(self.shell("use t", "multi_del_range r b d")[-1]["removed"], 2)
        self.shell("use t", 'check_and_set r -t exist -c a -s "" -v ""', 'get r ""')
        self.assertEqual([self.shell("use t", f"exist r {key}")[-1]["exists"] for key in "abcd"], ["yes", "no", "no", "yes"])
        shown = self.shell("use t", "escape_all true", "get r a")[-1]
        self.assertEqual((shown["hash_key"], shown["value"]), (r"\x72", r"\x31"))
        self.assertEqual(self.one("hash r a")["key_hash"], self.shell("use t", "trace r a")[-1]["hash"])
        self.assertEqual(self.shell("timeout 7000", "timeout")[-1]["timeout_ms"], 7000)
        self.assertIn("stays as it was", self.shell("cc 127.0.0.1:9", exit_code=1)[-1]["error"])
        self.assertEqual(self.shell("use t", f"cc {self.cluster.meta.address}", "nodes --status alive")[-1]["nodes"][0]["state"],
                         "alive")
        self.assertEqual(self.one("ls --status dropped --app_name_pattern t")["tables"], [])
        self.assertEqual([row["app_name"] for row in self.one("ls -p t -m exact -d")["general_info"]], ["t"])
        self.assertEqual(self.one("ls -p x")["tables"], [])
        self.assertEqual(self.one("get_atomic_idempotent t")["atomic_idempotent"], "true")
        self.one("enable_atomic_idempotent t")
        self.assertIn("always idempotent", self.one("disable_atomic_idempotent t", exit_code=1)["error"])
        self.assertIn("localhost:", self.one("nodes -r")["nodes"][0]["address"])
        for absent, feature in (("dup", "duplication"), ("start_bulk_load", "bulk load"), ("backup", "backup"),
                                ("local_partition_split", "split start"), ("sst_dump", "arion_log")):
            self.assertIn(feature, self.one(absent, exit_code=1)["error"])
        self.assertEqual(self.one(r"rdb_key_str2hex h\xff ''")["rdb_key"], "000268FF")
        self.assertEqual(self.one("rdb_key_hex2str 0x00016b73"), {"hash_key": "k", "sort_key": "s"})
        self.assertEqual(self.one("rdb_value_hex2str 0000000100000000000000007600"),
                         {"expires": time.strftime("%Y-%m-%d_%H:%M:%S.000", time.localtime(1451606401)), "written": "not known",
                          "cluster_id": 0, "user_data": r"v\x00"})
        self.assertEqual(self.one("rdb_value_hex2str 0000000076 0")["user_data"], "v")
        for wrong, code in (("rdb_key_hex2str 0", 2), ("rdb_key_hex2str xx", 2), ("rdb_key_hex2str 000561", 1), ("rdb_value_hex2str 00", 1),
                            ("rdb_value_hex2str 00 2", 2), ("data-version", 1)):
            self.one(wrong, exit_code=code)
        versions = self.shell("use t", "data-version")[-1]
        self.assertEqual({tuple(row["data_versions"]) for row in versions["servers"]}, {("1",)})
        self.assertGreaterEqual(sum(row["replicas"] for row in versions["servers"]), 12, "and those that are not members any more")
        self.shell("create with_envs -p 1 -e default_ttl=100,business.info=a=b")
        self.assertEqual([(row["key"], row["value"]) for row in self.shell("get_app_envs with_envs")[-1]["app_envs"]],
                         [("business.info", "a=b"), ("default_ttl", "100")])
        self.shell("drop with_envs -y")

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
