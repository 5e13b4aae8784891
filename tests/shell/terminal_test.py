"""arion_shell on a terminal and as scripts see it: one cluster of three servers for all of it.

SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "cluster"))
import harness  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
SHELL = os.path.join(harness.BUILD, "arion_shell")
# command: {field: type, list: {column: type}}; everything a script may rely on.
SCHEMA = {
    "cluster_info": {"cluster_name": str, "meta_servers": str, "meta_function_level": str},
    "meta_leader": {"leader": str, "since": str, "meta_servers": {"address": str, "role": str}},
    "nodes": {"nodes": {"address": str, "state": str, "primary": int, "secondary": int}},
    "nodes -d": {"details": {"address": str, "status": str, "replica_count": int, "primary_count": int,
                             "secondary_count": int}},
    "ls": {"tables": {"id": int, "name": str}},
    "ls -a -p em -m anywhere": {"tables": {"id": int, "name": str, "status": str, "partitions": int, "replicas": int,
                                           "healthy": int}},
    "ls -d -s available": {"tables": {}, "general_info": {"app_id": int, "app_name": str, "partition_count": int,
                                                          "replica_count": int, "fully_healthy": int, "unhealthy": int,
                                                          "write_unhealthy": int, "read_unhealthy": int}},
    "nodes -s alive -u -q -i 50": {"no_answer_from": list, "nodes": {"address": str, "memory_mb": int, "cpu_percent": int,
                                                                     "disk_total_mb": int, "disk_available_mb": int,
                                                                     "get_qps": int, "put_qps": int, "put_p99_us": int}},
    "server_stat -i 50": {"succeed_count": int, "failed_count": int,
                          "servers": {"address": str, "role": str, "answer": str, "memory_mb": int, "open_files": int,
                                      "primary_replicas": int, "get_qps": int}},
    "app_stat -i 50": {"no_answer_from": list, "app_stat": {"app_name": str, "app_id": int, "pcount": int, "get": int,
                                                            "mget": int, "put": int, "scan": int, "rcu": int,
                                                            "wcu": int, "expire": int, "filter": int, "abnormal": int, "delay": int,
                                                            "reject": int}},
    "app_stat -a temp -q -i 50": {"no_answer_from": list, "app_stat": {"pidx": str, "get": int, "cam": int}},
    "app_disk temp -d": {"app_name": str, "partition_count": int, "disk_used_for_primary_replicas_mb": (int, float),
                         "disk_used_for_all_replicas_mb": (int, float), "files_of_all_replicas": int,
                         "replicas_not_known": int,
                         "details": {"pidx": int, "ballot": int, "role": str, "server": str}},
    "version": {"version": str, "commit": str},
    "timeout": {"timeout_ms": int},
    "escape_all": {"escape_all": str},
    "use temp; hash k s": {"key_hash": str, "app_name": str, "partition_index": int, "primary": str, "secondaries": list},
    "use temp; exist k1 s": {"hash_key": str, "sort_key": str, "exists": str},
    "use temp; count_data": {"count": int},
    "use temp; clear_data --dry-run": {"table": str, "filter": str, "records": int},
    "use temp; multi_get_sortkeys k1": {"count": int, "complete": str, "records": {"sort_key": str}},
    "use temp; full_scan -n 3": {"count": int, "complete": str, "records": {"hash_key": str, "sort_key": str,
                                                                            "value": str}},
    "get_atomic_idempotent temp": {"name": str, "atomic_idempotent": str},
    "app temp -d": {"partitions": {"primary": str, "secondaries": list, "ballot": int}},
    "indexes temp": {"table": str, "indexes": {"name": str, "definition": str, "state": str, "percent": int,
                                               "mean_percent": float, "entries": int, "left_out": int,
                                               "seconds_left": int}},
    "get_meta_level": {"level": str},
    "get_replica_count temp": {"max_replica_count": int},
    "status": {"state": str, "servers_alive": int, "servers": int, "partitions_healthy": int, "partitions": int,
               "problems": {}, "jobs": {}},
    "jobs": {"jobs": {}},
    "disks": {"disks": {"server": str, "disk": str, "state": str, "used_percent": int, "available_mb": int,
                        "capacity_mb": int, "slow": str, "sync_p99_us": int, "log_mb": int, "io_errors": int,
                        "failed_replicas": int}},
    "slow": {"no_answer_from": list, "slow": {"at": str, "server": str, "table": str, "partition": str,
                                              "operation": str, "from": str, "took_us": int, "asked_bytes": int,
                                              "answered_bytes": int, "error": str}},
    "hotkeys": {"no_answer_from": list, "hotkeys": {"table": str, "partition": str, "server": str, "use": str,
                                                    "per_second": int, "share_percent": int, "hash_key": str}},
    "use temp; trace k s": {"table": str, "hash": str, "partition": str, "ballot": int, "primary": str,
                            "secondaries": list, "healthy": str, "slow": {}},
    "recovery": {"servers": {"address": str, "state": str}},
    "stuck": {"servers": {"address": str, "state": str}},
    "ddd_diagnose": {"dead": int, "proposed": int, "partitions": {}},
    "server_info": {"succeed_count": int, "failed_count": int,
                    "servers": {"address": str, "role": str, "answer": str}},
    "remote_command -t meta-server help": {"succeed_count": int, "failed_count": int,
                                           "servers": {"address": str, "role": str, "answer": str}},
    "config": {"no_answer_from": list, "settings": {"server": str, "key": str, "value": str, "at_start": str,
                                                    "default": str, "changeable": str, "origin": str}},
    "config set slow_request_after 1ms -t replica": {"key": str, "value": str, "changed": int,
                                                     "servers": {"address": str, "role": str, "result": str}},
    "disk-capacity": {"no_answer_from": list, "disks": {"node": str, "disk": str, "capacity_mb": int,
                                                        "available_mb": int, "ratio_percent": int}},
    "disk-replica": {"no_answer_from": list, "disks": {"node": str, "disk": str, "primary": int, "secondary": int,
                                                       "total": int}},
    "detect_hotkey -a 1 -p 0 -t read -c stop": {"server": str, "hint": str, "hot_key": str},
    "manual-compaction start -a temp --wait": {"table": str, "progress": int},
    "manual-compaction query -a temp": {"table": str, "progress": int},
    "split query temp": {"table": str, "state": str, "partition_count": int, "completed": int, "splitting": int,
                         "paused": int, "seconds_left": int, "partitions": {}},
    "split start temp 16 --dry-run": {"table": str, "partition_count": int, "new_partition_count": int, "no_answer_from": list,
                                      "lacking_room": {}},
    "use temp; table-partitions": {"partitions": {"primary": str, "secondaries": list, "ballot": int}},
    "use temp; data-version": {"table": str, "no_answer_from": list, "servers": {"server": str, "replicas": int, "data_versions": list}},
    "rdb_key_str2hex k s": {"hash_key": str, "sort_key": str, "rdb_key": str},
    "rdb_key_hex2str 00016B73": {"hash_key": str, "sort_key": str},
    "rdb_value_hex2str 00000000000000000000000076": {"expires": str, "written": str, "cluster_id": int, "user_data": str},
    "cluster-info": {"cluster_name": str, "meta_servers": str, "meta_function_level": str},
    "help": {"commands": {"command": str, "what_it_does": str}},
}


class TerminalTest(harness.ClusterTest):
    # Every request is kept as a slow one.
    replica_settings = {"slow_request_after": "1ms"}

    def shell(self, command, *options, exit_codes=(0,)):
        done = subprocess.run([SHELL, "--meta", self.cluster.meta.address, *options, "-e", command],
                              capture_output=True, text=True, timeout=60 * harness.PATIENCE)
        self.assertIn(done.returncode, exit_codes, done.stdout + done.stderr)
        return done.stdout

    def test_a_person_at_a_terminal(self):
        with tempfile.TemporaryDirectory() as home:
            done = subprocess.run([harness.python_with_packages(), os.path.join(HERE, "terminal_check.py"), SHELL,
                                   self.cluster.meta.address, home, str(harness.PATIENCE)],
                                  capture_output=True, text=True, timeout=300 * harness.PATIENCE)
        self.assertEqual((done.stdout.strip(), done.returncode), ("ok", 0), done.stdout + done.stderr)

    def test_every_answer_as_json_has_what_scripts_rely_on(self):
        self.shell("use temp; " + "; ".join(f"set k{i} s v" for i in range(40)))
        for command, schema in SCHEMA.items():
            answer = json.loads(self.shell(command, "-j", exit_codes=(0, 4)).splitlines()[-1])
            for name, kind in schema.items():
                self.assertIn(name, answer, command)
                if not isinstance(kind, dict):
                    self.assertIsInstance(answer[name], kind, f"{command}: {name}")
                    continue
                for row in answer[name]:
                    for column, cell in kind.items():
                        self.assertIsInstance(row.get(column), cell, f"{command}: {name}: {column}: {row}")
        slow = json.loads(self.shell("slow -n 5", "-j"))["slow"]
        self.assertGreater(len(slow), 0)
        stages = ["queue_us", "log_append_us", "log_sync_us", "replicate_us", "apply_us", "reply_us"]
        put = next(row for row in slow if row["operation"] == "put")
        self.assertLess(abs(sum(put[stage] for stage in stages) - put["took_us"]), 10)
        self.assertEqual(json.loads(self.shell("nodes -j"))["nodes"][0]["state"], "alive")

    def test_what_people_see_is_what_it_was(self):
        def plain(text):
            return re.sub(r" +", " ", re.sub(r"127\.0\.0\.1:\d+", "SERVER", text)).splitlines()
        harness.wait_for("nothing is under way", lambda: not json.loads(self.shell("jobs", "-j"))["jobs"])
        self.assertEqual(plain(self.shell("status")),
                         ["state healthy", "servers_alive 3", "servers 3", "partitions_healthy 8", "partitions 8",
                          "WHAT PROBLEM BEING_DONE", "JOB OF PROGRESS"])
        self.assertEqual(plain(self.shell("nodes"))[0], "ADDRESS STATE PRIMARY SECONDARY")
        self.assertEqual(plain(self.shell("get_meta_level")), ["current level: steady"])
        self.assertEqual(plain(self.shell("disks"))[1].split()[:3], ["SERVER", "d0", "normal"])

    def test_an_answer_goes_to_a_file(self):
        with tempfile.TemporaryDirectory() as home:
            path = os.path.join(home, "nodes")
            self.assertEqual(self.shell(f"nodes -j -o {path}"), "")
            with open(path) as file:
                self.assertEqual(len(json.load(file)["nodes"]), 3)
        self.shell("nodes -o /nonexistent/nodes", exit_codes=(1,))
        self.shell("nodes --watch 0", exit_codes=(2,))

    def test_drain_refuses_what_would_leave_too_few_members(self):
        server = self.cluster.replicas[0].address
        done = self.shell(f"drain {server} -y", "-j", exit_codes=(1,))
        self.assertIn("nothing was done", json.loads(done)["error"])
        self.shell("drain 127.0.0.1:1 -y", exit_codes=(1,))
        self.shell("drain", exit_codes=(2,))

    def test_bad_input_has_an_answer(self):
        def error(command, code=None):
            return json.loads(self.shell(command, "-j", exit_codes=(code,) if code else (1, 2)).splitlines()[-1])["error"]
        for count in (0, -1, 100000, "many"):
            error(f"create bad -p {count}")
        for name in (r"'a\'b'", r"'a\nb'", "''", "x" * 100000):
            error(f"create {name} -p 4")
        error("drop nothing_of_that_name -y")
        error("app nothing_of_that_name")
        error("set_app_envs x")
        self.shell("create three -p 3 -r 3")
        self.cluster.wait_healthy("three")
        self.shell("drop three -y")
        # Two admins at once: one makes it, the other hears that it is there.
        both = [subprocess.Popen([SHELL, "--meta", self.cluster.meta.address, "-e", "create twins -p 4"],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(2)]
        self.assertEqual(sorted(one.wait(timeout=60 * harness.PATIENCE) for one in both), [0, 1])
        self.shell("drop twins -y")

    def test_without_a_meta_server_every_command_says_so_in_time(self):
        port = harness.free_ports(1)[0]
        commands = ("status", "nodes", "drop temp -y", "drain 127.0.0.1:1 -y", "rolling-restart -c true -y")
        started = [subprocess.Popen([SHELL, "--meta", f"127.0.0.1:{port}", "-e", command], stderr=subprocess.PIPE, text=True)
                   for command in commands]
        for command, shell in zip(commands, started):
            error = shell.communicate(timeout=60 * harness.PATIENCE)[1]
            self.assertEqual(shell.returncode, 3, f"{command}: {error}")
            self.assertIn("error: ", error)

    def test_primaries_are_drained_and_servers_restarted_one_by_one(self):
        victim = self.cluster.replicas[0]
        plan = json.loads(self.shell(f"drain {victim.address} --primaries --dry-run", "-j"))
        done = json.loads(self.shell(f"drain {victim.address} --primaries -y", "-j"))
        self.assertEqual(done["result"], "done") if plan["to_move"] else None
        nodes = json.loads(self.shell("nodes", "-j"))["nodes"]
        self.assertEqual([row["primary"] for row in nodes if row["address"] == victim.address], [0])
        self.shell("rolling-restart -y", exit_codes=(2,))
        planned = json.loads(self.shell("rolling-restart -c 'restart {host} {port}' --dry-run", "-j"))["restarts"]
        self.assertEqual(len(planned), 3)
        self.assertEqual(planned[0]["command"], "restart " + planned[0]["server"].replace(":", " "))
        self.shell(f"rolling-restart -c false -y {victim.address}", exit_codes=(1,))
        # The supervisor: a program that asks this test to restart the server.
        with tempfile.TemporaryDirectory() as home:
            asked = os.path.join(home, "asked")
            shell = subprocess.Popen([SHELL, "--meta", self.cluster.meta.address, "-j", "-e",
                                      f"rolling-restart -y -c 'touch {asked}' {victim.address}"],
                                     stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            harness.wait_for("the command ran", lambda: os.path.exists(asked), 60)
            self.assertEqual(victim.stop(), 0)
            victim.start()
            answer = json.loads(shell.communicate(timeout=120 * harness.PATIENCE)[0])
        self.assertEqual((shell.returncode, answer["restarted"], answer["result"], answer["left"]), (0, 1, "done", []))
        # Ctrl-C while it waits for a server that does not restart.
        servers = [server.address for server in self.cluster.replicas[1:]]
        with tempfile.TemporaryDirectory() as home:
            asked = os.path.join(home, "asked")
            shell = subprocess.Popen([SHELL, "--meta", self.cluster.meta.address, "-j", "-e",
                                      f"rolling-restart -y -c 'touch {asked}' {' '.join(servers)}"],
                                     stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            harness.wait_for("the command ran", lambda: os.path.exists(asked), 60)
            for _ in range(10):  # while the command itself runs nobody hears it
                shell.send_signal(signal.SIGINT)
                try:
                    answer = json.loads(shell.communicate(timeout=3 * harness.PATIENCE)[0])
                    break
                except subprocess.TimeoutExpired:
                    pass
        self.assertEqual((shell.returncode, answer["restarted"], answer["left"]), (1, 0, servers))


if __name__ == "__main__":
    unittest.main(verbosity=2)
