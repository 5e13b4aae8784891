#!/usr/bin/env python3
"""/metrics of real servers: text for Prometheus, JSON for older collectors, and numbers that move with writes.

SPDX-License-Identifier: Apache-2.0
"""

import http.client
import json
import os
import re
import shutil
import subprocess
import unittest
import urllib.request

import harness


class Metrics(harness.ClusterTest):
    def ask(self, server, path="/metrics", accept="text/plain", method="GET"):
        connection = http.client.HTTPConnection(server.address, timeout=10 * harness.PATIENCE)
        connection.request(method, path, headers={"Accept": accept} if accept else {})
        answer = connection.getresponse()
        body = answer.read().decode()
        connection.close()
        return answer, body

    def write(self, count):
        for i in range(count):
            harness.run([os.path.join(harness.BUILD, "arion_shell"), "--meta", self.cluster.meta.address, "-e",
                         f"use temp; set key{i} s value"])

    def test_every_server_answers_prometheus(self):
        for server in self.cluster.servers():
            answer, body = self.ask(server)
            self.assertEqual(answer.status, 200)
            self.assertTrue(answer.getheader("Content-Type").startswith("text/plain; version=0.0.4"))
            self.assertIn("# TYPE arion_build_info gauge", body)
            samples = harness.samples_of(body)
            self.assertGreater(harness.value_of(samples, "arion_process_resident_memory_bytes"), 1 << 20)
            self.assertGreater(harness.value_of(samples, "arion_process_open_fds"), 3)

    def test_prometheus_own_parser_likes_it(self):
        self.write(1)
        python = harness.python_with_packages()
        for server in self.cluster.servers():
            _, body = self.ask(server)
            found = harness.run([python, os.path.join(harness.HERE, "metrics_check.py")], input=body)
            self.assertEqual(found, "", f"{server.name}:\n{found}")

    def test_the_logs_numbers_move_with_writes(self):
        before = [harness.metrics(server) for server in self.cluster.replicas]
        self.write(8)
        for server, old in zip(self.cluster.replicas, before):
            new = harness.metrics(server)
            for name in ["arion_log_writes_total", "arion_log_syncs_total", "arion_log_written_bytes_total",
                         "arion_log_sync_seconds_count", "arion_log_append_seconds_count"]:
                self.assertGreater(harness.value_of(new, name, disk="d0"), harness.value_of(old, name, disk="d0"),
                                   f"{server.name} {name}")
            self.assertGreater(harness.value_of(new, "arion_log_files", disk="d0"), 0)
            self.assertGreater(harness.value_of(new, "arion_log_bytes", disk="d0"), 0)
            self.assertEqual(harness.value_of(new, "arion_log_failures_total", disk="d0"), 0)
            self.assertGreater(harness.value_of(new, "arion_engine_written_bytes_total", disk="d0"), 0)
            self.assertEqual(harness.value_of(new, "arion_engine_file_failures_total", disk="d0"), 0)
            self.assertEqual(harness.value_of(new, "arion_disk_state", disk="d0", state="normal"), 1)
            self.assertGreater(harness.value_of(new, "arion_disk_available_bytes", disk="d0"), 0)
            info = [labels for name, labels, _ in new if name == "arion_log_info"]
            self.assertEqual(len(info), 1)
            self.assertIn(f"log: {info[0]['method']}", "\n".join(server.last_lines(1000)),
                          "the banner names the same method")

    def test_requests_and_what_their_time_went_into(self):
        def sum_of(name, **labels):
            return sum(value for server in self.cluster.replicas for found, has, value in harness.metrics(server)
                       if found == name and labels.items() <= has.items())
        puts = {"table": "temp", "operation": "put"}
        before = sum_of("arion_requests_total", **puts)
        self.write(8)
        # A reading serves the next 100 ms too.
        harness.wait_for("the puts to be counted", lambda: sum_of("arion_requests_total", **puts) >= before + 8)
        self.assertEqual(sum_of("arion_request_seconds_count", **puts), sum_of("arion_requests_total", **puts))
        self.assertGreater(sum_of("arion_request_bytes_total", **puts), 8 * len("value"))
        stages = {has["stage"]: value for server in self.cluster.replicas for name, has, value in harness.metrics(server)
                  if name == "arion_write_stage_seconds_sum" and has["table"] == "temp"}
        self.assertEqual(set(stages), {"queue", "log_append", "log_sync", "replicate", "apply", "reply"})
        whole = sum_of("arion_request_seconds_sum", **puts)
        self.assertAlmostEqual(sum_of("arion_write_stage_seconds_sum", table="temp"), whole, delta=whole / 10)
        bodies = [self.ask(server, path="/metrics?level=partition")[1] for server in self.cluster.replicas]
        self.assertIn('arion_requests_total{table="temp",partition="1.', "".join(bodies))
        old = json.loads(self.ask(self.cluster.replicas[0], accept=None, path="/metrics?types=replica")[1])
        names = {m["name"] for e in old["entities"] for m in e["metrics"]}
        self.assertLessEqual({"put_requests", "put_latency_ns"}, names)
        self.assertTrue(old["entities"][0]["id"].startswith("replica@1."))
        for page in ("/slow", "/hotkeys"):
            self.assertIsInstance(json.loads(self.ask(self.cluster.replicas[0], path=page)[1]), list)
            self.assertEqual(self.ask(self.cluster.replicas[0], path=page + "?limit=x")[0].status, 400)

    def test_the_meta_server_counts_servers_and_partitions(self):
        samples = harness.metrics(self.cluster.meta)
        self.assertEqual(harness.value_of(samples, "arion_alive_replica_servers"), 3)
        self.assertEqual(harness.value_of(samples, "arion_healthy_partitions", table="temp"), 8)
        self.assertEqual(harness.value_of(samples, "arion_dead_partitions", table="temp"), 0)
        self.assertEqual(harness.value_of(samples, "arion_meta_function_level", level="steady"), 1)
        self.assertLess(harness.value_of(samples, "arion_cluster_figures_age_seconds"), 10)
        self.assertGreaterEqual(harness.value_of(samples, "arion_partition_configuration_changes_total"), 3 * 8)

    def test_the_metrics_an_operator_watches_have_their_old_names(self):
        """What older collectors ask for, but for features Arion does not have."""
        harness.run([os.path.join(harness.BUILD, "arion_shell"), "--meta", self.cluster.meta.address, "-e", "use temp; set h s v; get h s"])

        def names_of(server):
            entities = json.loads(self.ask(server, accept=None)[1])["entities"]
            return {(entity["type"], metric["name"]) for entity in entities for metric in entity["metrics"]}
        wanted = {
            "server": "beacon_failed_count total_replicas primary_replicas learning_replicas learning_replicas_max_duration_ms error_replicas "
                      "replica_error_dirs replica_garbage_dirs replica_tmp_dirs replica_origin_dirs nfs_client_copy_failed_requests "
                      "read_failed_requests write_failed_requests read_busy_requests write_busy_requests "
                      "resident_mem_usage_mb rdb_block_cache_mem_usage_bytes rdb_wbm_total_mem_usage_bytes nfs_client_copy_bytes "
                      "network_server_sessions lease_remaining_seconds",
            "replica": "learn_count learn_failed_count learn_resets prepare_failed_requests group_check_failed_requests private_log_size_mb "
                       "rdb_total_sst_size_mb rdb_total_sst_files rdb_estimated_keys rdb_memtable_mem_usage_bytes put_requests put_latency_ns "
                       "throttling_rejected_read_requests throttling_rejected_write_requests read_capacity_units write_capacity_units "
                       "rdb_changed_stopped_writes rdb_changed_delayed_writes rdb_compaction_input_bytes rdb_compaction_output_bytes "
                       "rdb_block_cache_hit_count rdb_block_cache_total_count rdb_memtable_hit_count rdb_l0_hit_count "
                       "rdb_bloom_filter_point_lookup_negatives read_expired_values abnormal_read_requests "
                       "write_size_exceed_threshold_requests rdb_write_amplification",
            "disk": "disk_capacity_avail_mb disk_capacity_total_mb",
            "profiler": "profiler_server_rpc_latency_ns profiler_queue_latency_ns profiler_dropped_timeout_rpcs",
            "queue": "queue_length"}
        expected = {(kind, name) for kind, names in wanted.items() for name in names.split()}
        harness.wait_for("every name is there", lambda: expected <= set().union(*(names_of(server) for server in self.cluster.replicas)) or None)
        meta = names_of(self.cluster.meta)
        self.assertLessEqual({("server", "unalive_replica_servers"), ("server", "alive_replica_servers"), ("server", "replica_server_disconnections"),
                              ("server", "partition_configuration_changes"), ("server", "choose_primary_failed_operations"), ("table", "dead_partitions"), ("table", "unreadable_partitions"),
                              ("table", "unwritable_partitions"), ("table", "writable_ill_partitions")}, meta)
        text = self.ask(self.cluster.replicas[0])[1] + self.ask(self.cluster.meta)[1]
        self.assertNotIn("profiler_", text, "what is there for older collectors alone")
        self.assertNotIn("table_id", text)

    def test_figures_of_engines_and_replicas_move(self):
        self.write(4)

        def sum_of(name, **labels):
            return sum(value for server in self.cluster.replicas for known, has, value in harness.metrics(server)
                       if known == name and labels.items() <= has.items())
        harness.wait_for("keys are counted on all three members", lambda: sum_of("arion_engine_keys", table="temp") >= 3 * 4)
        self.assertGreater(sum_of("arion_engine_memory_bytes", table="temp"), 0)
        self.assertGreaterEqual(sum_of("arion_capacity_units_total", table="temp", use="write"), 4)
        self.assertEqual(sum_of("arion_replicas", status="primary"), self.partitions)
        for server in self.cluster.replicas:
            samples = harness.metrics(server)
            self.assertGreater(harness.value_of(samples, "arion_lease_remaining_seconds"), 0)
            self.assertGreater(harness.value_of(samples, "arion_process_threads"), 3)
            self.assertGreater(harness.value_of(samples, "arion_received_bytes_total"), 0)
            harness.wait_for("what a secondary has gathered is applied a second later", lambda server=server: harness.value_of(
                harness.metrics(server), "arion_replica_unapplied_mutations_max") == 0, 2)

    def test_every_name_in_rules_and_dashboard_exists(self):
        known = set()
        for server in self.cluster.servers():
            for name, kind in re.findall(r"^# TYPE (\S+) (\S+)$", self.ask(server)[1], re.MULTILINE):
                known |= {name + end for end in ("_bucket", "_sum", "_count")} if kind == "histogram" else {name}
        for file in ("alerts.yml", "dashboard.json"):
            with open(os.path.join(harness.ROOT, "tools", "monitoring", file)) as text:
                named = set(re.findall(r"\barion_[a-z_0-9]+", text.read())) - {"arion_shell", "arion_log"}
            self.assertGreater(len(named), 10)
            self.assertEqual(sorted(named - known), [], file)

    def test_promtool_runs_the_alert_rules(self):
        promtool = shutil.which("promtool")
        if promtool is None:
            self.skipTest("not run: needs promtool (Debian package prometheus)")
        harness.run([promtool, "test", "rules", os.path.join(harness.ROOT, "tools", "monitoring", "alerts_test.yml")])

    def test_a_restart_shows_what_replay_read(self):
        victim = self.cluster.replicas[1]
        self.write(4)
        victim.kill()
        victim.start()
        self.cluster.wait_listening(victim)
        harness.wait_for("replay shows", lambda: harness.value_of(
            harness.metrics(victim), "arion_log_replayed_mutations_total") >= 4)
        samples = harness.metrics(victim)
        self.assertGreater(harness.value_of(samples, "arion_log_replayed_bytes_total"), 0)
        self.assertGreater(harness.value_of(samples, "arion_log_replay_bytes_per_second"), 0)
        self.cluster.wait_healthy("temp")

    def test_older_collectors_get_json_under_the_old_names(self):
        for accept in (None, "application/json"):
            answer, body = self.ask(self.cluster.replicas[0], accept=accept)
            self.assertEqual(answer.getheader("Content-Type"), "application/json")
            data = json.loads(body)
            self.assertEqual(data["role"], "replica")
            disks = [e for e in data["entities"] if e["id"] == "disk@d0"]
            names = {m["name"] for e in disks for m in e["metrics"]}
            self.assertLessEqual({"disk_capacity_total_mb", "disk_capacity_avail_mb"}, names)
        answer, body = self.ask(self.cluster.replicas[0], accept=None,
                                path="/metrics?with_metric_fields=name,value&types=server&metrics=resident_mem_usage_mb")
        self.assertEqual([m["name"] for e in json.loads(body)["entities"] for m in e["metrics"]],
                         ["resident_mem_usage_mb"])

    def test_promtool_finds_nothing_to_say(self):
        promtool = shutil.which("promtool")
        if promtool is None:
            self.skipTest("not run: needs promtool (Debian package prometheus)")
        for server in self.cluster.servers():
            _, body = self.ask(server)
            done = subprocess.run([promtool, "check", "metrics"], input=body, text=True, capture_output=True, timeout=30)
            self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))

    def test_prometheus_itself_scrapes_it(self):
        prometheus = shutil.which("prometheus")
        if prometheus is None:
            self.skipTest("not run: needs prometheus (Debian package)")
        monitoring = os.path.join(harness.ROOT, "tools", "monitoring")
        directory = os.path.join(self.cluster.directory, "prometheus")
        shutil.copytree(monitoring, directory)
        with open(os.path.join(directory, "prometheus.yml"), "r+") as file:
            text = re.sub(r"targets: \[.*\]", "targets: " + json.dumps([server.address for server in self.cluster.servers()]), file.read())
            file.seek(0)
            file.write(text.replace("scrape_interval: 10s", "scrape_interval: 1s"))
            file.truncate()
        own = f"127.0.0.1:{harness.free_ports(1)[0]}"
        process = subprocess.Popen([prometheus, f"--config.file={directory}/prometheus.yml", f"--storage.tsdb.path={directory}/data",
                                    f"--web.listen-address={own}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)

        def asked(what):
            try:
                with urllib.request.urlopen(f"http://{own}/api/v1/{what}", timeout=5) as answer:
                    return json.load(answer)["data"]
            except OSError:
                return None
        def all_up():
            targets = (asked("targets?state=active") or {}).get("activeTargets", [])
            return len(targets) == 4 and all(target["health"] == "up" and not target["lastError"] for target in targets)
        harness.wait_for("Prometheus has scraped all servers", all_up, 60)
        result = harness.wait_for("the query answers", lambda: asked("query?query=sum(arion_healthy_partitions)")["result"])
        self.assertEqual(float(result[0]["value"][1]), self.partitions)
        rules = [rule["name"] for group in asked("rules")["groups"] for rule in group["rules"]]
        self.assertIn("ArionPartitionsDead", rules)

    def test_other_paths_and_methods(self):
        server = self.cluster.meta
        self.assertIn("/metrics", self.ask(server, "/")[1])
        answer, body = self.ask(server, "/nothing")
        self.assertEqual((answer.status, body), (404, 'service not found for "/nothing"\n'))
        answer, body = self.ask(server, method="HEAD")
        self.assertEqual((answer.status, body), (200, ""))
        self.assertEqual(self.ask(server, method="DELETE")[0].status, 405)

    def test_a_collector_that_asks_all_the_time_harms_nobody(self):
        server = self.cluster.replicas[0]
        connection = http.client.HTTPConnection(server.address, timeout=10 * harness.PATIENCE)
        for _ in range(200):
            connection.request("GET", "/metrics", headers={"Accept": "*/*"})
            self.assertEqual(connection.getresponse().read()[:1], b"#")
        connection.close()
        self.write(1)
        self.check_all_alive()


if __name__ == "__main__":
    unittest.main(verbosity=2)
