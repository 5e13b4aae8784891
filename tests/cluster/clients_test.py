#!/usr/bin/env python3
"""Official clients, unchanged, against real servers: two versions of the Go client, pypegasus3, go-ycsb with a third Go
client inside; and plain frames for what none of them says, Java's header among them.

SPDX-License-Identifier: Apache-2.0
"""

import base64
import concurrent.futures
import json
import os
import re
import subprocess
import tempfile
import unittest

import captured_frames
import data_api
import data_api_cases
import harness

def rows_of(output):
    """What a client's program printed of its cases: (operation, edge, None or what is wrong)."""
    rows = [line.split("\t")[1:] for line in output.splitlines() if line.startswith("row\t")]
    return [(operation, edge, None if verdict == "ok" else verdict) for operation, edge, verdict in rows]


def print_matrix(rows_by_client):
    """Operation and edge by client: ok, FAILED, or nothing where the client has no such case."""
    clients = list(rows_by_client)
    verdicts = {}
    for client, rows in rows_by_client.items():
        for operation, edge, wrong in rows:
            verdicts.setdefault((operation, edge), {})[client] = "FAILED" if wrong else "ok"
    print(f"\n{'':96}" + "".join(f"{client:>12}" for client in clients))
    for (operation, edge), of in sorted(verdicts.items()):
        print(f"{operation:17}{edge[:78]:79}" + "".join(f"{of.get(client, '-'):>12}" for client in clients))


class Clients(harness.ClusterTest):
    data_dirs = 2
    # The logs of both data directories in one place; the other tests' lie beside their data.
    replica_settings = {"log_placement": "home", "log_home_directory": "{directory}/logs"}

    def client(self, version, mode, *options, timeout=180, **kwargs):
        with tempfile.TemporaryDirectory() as scratch:
            return harness.run([harness.go_client(version), "-meta", self.cluster.meta.address, *options, mode],
                               timeout=timeout, cwd=scratch, **kwargs)

    def go_rows(self, version):
        with tempfile.TemporaryDirectory() as scratch:
            done = subprocess.run([harness.go_client(version), "-meta", self.cluster.meta.address, "api"], cwd=scratch,
                                  capture_output=True, text=True, timeout=180 * harness.PATIENCE)
        return rows_of(done.stdout) or [("api", "runs", done.stderr[-2000:])]

    def python_rows(self):
        self.cluster.create_table("python")  # of its own: that client can't scan keys that aren't UTF-8
        program = os.path.join(harness.HERE, "pypegasus_check.py")
        with tempfile.TemporaryDirectory() as scratch:  # the client writes its log into the current directory
            done = subprocess.run([harness.python_with_packages(), program, self.cluster.meta.address, "python"], cwd=scratch,
                                  capture_output=True, text=True, timeout=120 * harness.PATIENCE)
        return rows_of(done.stdout) or [("check", "runs", (done.stdout + done.stderr)[-2000:])]

    def frame_rows(self, header_version):
        table = data_api.DataApi(self.cluster.meta.address, "temp", header_version)
        rows = data_api_cases.run(table, f"v{header_version}") + captured_frames.run(table)
        table.close()
        return rows

    @staticmethod
    def log_files(directory):
        return [name for _, _, names in os.walk(directory) for name in names if re.fullmatch(r"log\.\d+\.\d+", name)]

    def test_every_operation_and_edge_by_every_client(self):
        harness.go_client("xiaomi"), harness.go_client("apache")  # built before anything is timed
        with concurrent.futures.ThreadPoolExecutor() as pool:
            running = {"xiaomi": pool.submit(self.go_rows, "xiaomi"), "apache": pool.submit(self.go_rows, "apache"),
                       "pypegasus3": pool.submit(self.python_rows)}
            rows = {"frames v0": self.frame_rows(0), "frames v1": self.frame_rows(1)}
            rows |= {client: future.result() for client, future in running.items()}
        print_matrix(rows)
        wrong = [f"{client}: {operation}, {edge}: {wrong}" for client, of in rows.items() for operation, edge, wrong in of
                 if wrong]
        self.assertEqual(wrong, [], "\n".join(wrong))
        least = {"xiaomi": 30, "apache": 30, "pypegasus3": 15, "frames v0": 110, "frames v1": 110}
        for client, count in least.items():
            self.assertGreaterEqual(len(rows[client]), count, f"{client} ran too few cases")

    def test_xiaomi_client_does_all_it_can(self):
        self.assertIn("check: ok", self.client("xiaomi", "check"))

    def test_apache_client_does_all_it_can(self):
        self.assertIn("check: ok", self.client("apache", "check"))

    def test_apache_client_administers_tables(self):
        self.assertIn("admin: ok, 30 calls", self.client("apache", "admin"))

    def test_a_hundred_thousand_keys_are_read_back(self):
        self.assertIn("many: ok, 100000 keys", self.client("xiaomi", "many", "-keys", "100000", timeout=300))

    def test_bench_mode_prints_figures(self):
        for op in ("put", "get", "multi_get", "check_and_set", "scan"):
            out = self.client("apache", "bench", "-ops", "200" if op != "scan" else "1", "-threads", "4", "-keys", "100",
                              "-size", "100", "-op", op)
            self.assertRegex(out, r"errors=0 ops/s=[1-9]\d* avg_us=\d+ .*p99_us=\d+", op)

    def test_everything_is_there_after_a_clean_restart(self):
        with subprocess.Popen([harness.go_client("xiaomi"), "-meta", self.cluster.meta.address, "write"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                              cwd=tempfile.gettempdir()) as writer:
            keys = [writer.stdout.readline().strip() for _ in range(2000)]
            rest, _ = writer.communicate()
        keys += rest.split()
        table = data_api.DataApi(self.cluster.meta.address, "temp")
        table.fill(b"scanned", b"a", b"b", b"c")
        scan = data_api_cases.hash_scan(b"scanned", batch_size=1)
        left_open = table.get_scanner(**scan)["context_id"]
        table.close()
        for server in self.cluster.replicas:
            self.assertEqual(server.stop(), 0, f"{server.name}: not a clean stop")
            self.assertGreater(len(self.log_files(os.path.join(server.directory, "logs"))), 0)
            for directory in server.data_directories():
                self.assertEqual(self.log_files(directory), [], "a log beside the data in spite of its home")
        self.assertEqual(self.cluster.meta.stop(), 0)
        self.cluster.start()
        self.cluster.wait_healthy("temp")
        self.assertIn(f"{len(keys)} acknowledged writes, 0 lost",
                      self.client("xiaomi", "verify", input="\n".join(keys)))
        # A scan of before the restart is unknown, and begins anew behind its last record.
        table = data_api.DataApi(self.cluster.meta.address, "temp")
        self.assertEqual(table.scan(context_id=left_open, partition=table.partition_of(b"scanned"))["error"],
                         data_api.NOT_FOUND)
        kvs, _ = table.scan_all(table.partition_of(b"scanned"), **scan)
        self.assertEqual(len(kvs), 3)
        table.close()


class Ycsb(harness.ClusterTest):
    """go-ycsb's workloads. Its values follow from key and field, so that each record can be judged (dataintegrity)."""

    RECORDS, OPERATIONS, FIELDS, FIELD_LENGTH = 1000, 2000, 10, 100

    def ycsb(self, command, workload, **settings):
        program = harness.go_program("ycsb")  # fetches the module
        module = harness.run(["go", "list", "-m", "-f", "{{.Dir}}", "github.com/pingcap/go-ycsb"],
                             cwd=os.path.join(harness.HERE, "go", "ycsb"), env=harness.GO_ENVIRONMENT).strip()
        with open(os.path.join(module, "workloads", f"workload{workload}")) as file:
            lines = [line.strip() for line in file]
        properties = dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
        properties |= {"meta_servers": self.cluster.meta.address, "table": "temp", "threadcount": 16,
                       "recordcount": self.RECORDS, "operationcount": self.OPERATIONS, "dataintegrity": "true",
                       "fieldlength": self.FIELD_LENGTH, **settings}
        with tempfile.TemporaryDirectory() as scratch:  # its client writes a log into the current directory
            out = harness.run([program, command, *(f"{k}={v}" for k, v in properties.items())],
                              cwd=scratch, timeout=120)
        self.assertNotIn("operation err", out)
        self.assertNotIn("_ERROR", out)  # go-ycsb counts failed operations under such names
        return out

    def value_of(self, key, field):
        """go-ycsb's deterministic value: key and field, then hashes of what is there so far."""
        value = f"{key}:{field}".encode()
        while len(value) < self.FIELD_LENGTH:
            value += b":"
            hashed = 0xcbf29ce484222325
            for byte in value:
                hashed = (hashed ^ byte) * 0x100000001b3 & (1 << 64) - 1
            value += b"%d" % hashed
        return value[:self.FIELD_LENGTH]

    def check_records(self, count):
        """Reads the whole table through a scan of ours; every field of every record must be what go-ycsb meant."""
        table = data_api.DataApi(self.cluster.meta.address, "temp")
        records = table.scan_table()
        table.close()
        fields = 0
        for (hash_key, sort_key), value in records.items():
            self.assertEqual((hash_key[:4], sort_key), (b"user", b""))
            for field, text in json.loads(value).items():
                self.assertEqual(base64.b64decode(text), self.value_of(hash_key.decode(), field))
                fields += 1
        self.assertEqual(len(records), count)
        return fields

    def test_workloads_a_to_d_and_f_end_without_errors_and_their_records_are_right(self):
        self.ycsb("load", "a")
        self.assertEqual(self.check_records(self.RECORDS), self.RECORDS * self.FIELDS)
        inserted = 0
        for workload in "abcdf":
            out = self.ycsb("run", workload)
            if workload == "d":  # the only one that inserts: "INSERT - Takes(s): 0.2, Count: 98, ..."
                inserted = int(out.split("INSERT", 1)[1].split("Count:", 1)[1].split(",")[0])
                self.assertGreater(inserted, 0)
            print(f"workload {workload}: {self.check_records(self.RECORDS + inserted)} fields are right", flush=True)


if __name__ == "__main__":
    unittest.main(verbosity=2)
