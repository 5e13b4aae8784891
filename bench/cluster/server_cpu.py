#!/usr/bin/env python3
"""CPU of the three replica servers an operation (utime + stime), by Arion's C++ client and by the official Go client:
GET, PUT, CHECK_AND_SET, MULTI_GET of 10 and of 1000, and a scan of a whole table beside RocksDB's own iterator.

    cmake -S . -B build-bench -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DARION_BENCH=ON
    ninja -C build-bench cluster_programs client_bench iterator_floor
    ARION_BUILD=build-bench bench/cluster/server_cpu.py                 # --quick: a tenth of the operations, one round
    ARION_BUILD=build-bench bench/cluster/server_cpu.py --perf get      # where the servers' time goes meanwhile

One meta and three replica servers on this machine, 8 partitions x 3 replicas, durable, 1000-byte values, 100,000 rows.
Servers that share a machine's cores share its event loops too, at least one each; ARION_THREADS=N gives each N, 0 their default.
A fixed number of operations each, rounds interleaved, medians (smallest-largest). Peer: measured apart.
SPDX-License-Identifier: Apache-2.0
"""

import argparse
import os
import re
import resource
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "cluster"))
import cpu_time  # noqa: E402
import harness  # noqa: E402

ROWS = 100000
PEER_US = {"get": 41, "put": 284}      # Apache Pegasus 2.5.0's server CPU; its puts were not synced
GOALS = {"get": 1 / 3, "scan": 0.3}    # of the peer's CPU; of the iterator's speed
# operation: (table, hash keys, rows a key, operations, at a time)
OPERATIONS = {
    "get": ("single", ROWS, 1, 200000, 50),
    "put": ("single", ROWS, 1, 100000, 45),
    "check_and_set": ("single", ROWS, 1, 50000, 45),
    "multi_get 10": ("tens", 2000, 10, 50000, 50),
    "multi_get 1000": ("thousands", 50, 1000, 1000, 10),
    "scan": ("scanned", ROWS, 1, 10, 1),  # written once, as the floor's rows
}


def figures(out):
    return {name: float(value) for name, value in re.findall(r"([\w/]+)=([\d.]+)", out)}


def command(cluster, client, op, operations):
    table, keys, rows, count, at_a_time = OPERATIONS[op]
    if operations is not None and op != "scan":
        count = operations
    name = op.split()[0]
    if client == "C++":
        return [os.path.join(harness.BUILD, "bench", "client_bench"), f"--meta={cluster.meta.address}", f"--table={table}",
                f"--op={name}", f"--keys={keys}", f"--rows={rows}", f"--ops={count}", f"--outstanding={at_a_time}"]
    return [harness.go_client("xiaomi"), "-meta", cluster.meta.address, "-table", table, "-op", name, "-keys", str(keys),
            "-rows", str(rows), "-ops", str(count), "-threads", str(at_a_time), "-timeout", "60s", "bench"]


def measure(cluster, client, op, operations=None):
    pids = cluster.replica_pids()
    cpu_time.settle(pids)
    before, client_before = cpu_time.cpu_seconds(pids), resource.getrusage(resource.RUSAGE_CHILDREN)
    row = figures(harness.run(command(cluster, client, op, operations), timeout=600, cwd="/tmp"))
    assert row["errors"] == 0, row
    row["cpu"] = cpu_time.cpu_seconds(pids) - before
    row["us"] = row["cpu"] * 1e6 / row["ops"]
    client = resource.getrusage(resource.RUSAGE_CHILDREN)  # only what has ended: the servers have not
    row["client user us"] = (client.ru_utime - client_before.ru_utime) * 1e6 / row["ops"]
    row["client kernel us"] = (client.ru_stime - client_before.ru_stime) * 1e6 / row["ops"]
    if op == "scan":  # bytes of keys and values, which the Go driver does not count
        assert row["ops"] % ROWS == 0, row
        row["MB/s"] = row["ops"] * (22 + 1 + 1000) / row["cpu"] / 1e6
    return row


def fill(cluster):
    for table, keys, rows in sorted({of[:3] for of in OPERATIONS.values()}):
        cluster.create_table(table)
        how = ["--op=put", f"--ops={keys}", "--outstanding=45"] if rows == 1 else ["--op=fill", "--outstanding=4"]
        harness.run([os.path.join(harness.BUILD, "bench", "client_bench"), f"--meta={cluster.meta.address}",
                     f"--table={table}", f"--keys={keys}", f"--rows={rows}", *how], timeout=600)


def median(values):
    text = f"{statistics.median(values):.1f}"
    return text if len(values) == 1 else f"{text} ({min(values):.1f}-{max(values):.1f})"


def profile(cluster, client, op):
    pids = cluster.replica_pids()
    data = os.path.join(cluster.directory, "perf.data")
    cpu_time.settle(pids)
    with subprocess.Popen(["perf", "record", "-q", "-g", "-F", "499", "-p", ",".join(map(str, pids)), "-o", data]) as recorder:
        measure(cluster, client, op)
        recorder.send_signal(2)
    print(harness.run(["perf", "report", "-i", data, "--no-children", "-g", "none", "--percent-limit", "0.7", "--stdio"]))
    print(harness.run(["perf", "report", "-i", data, "--children", "-g", "none", "--percent-limit", "3", "--stdio",
                       "--sort", "symbol"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--perf", choices=list(OPERATIONS))
    options = parser.parse_args()
    cluster = harness.Cluster(replica_settings={"block_cache_size": "512 MiB"}, replica_threads=harness.SHARED_LOOPS)  # reads are from memory, as the floor's
    cluster.start()
    fill(cluster)
    if options.perf:
        profile(cluster, "C++", options.perf)
        cluster.destroy()
        return
    rounds = 1 if options.quick else options.rounds
    rows, floors = {}, []
    for _ in range(rounds):
        floors.append(figures(harness.run([os.path.join(harness.BUILD, "bench", "iterator_floor"), f"--rows={ROWS}"])))
        for op, (_, _, _, count, _) in OPERATIONS.items():
            for client in ("C++", "Go"):
                rows.setdefault((op, client), []).append(measure(cluster, client, op, count // 10 if options.quick else None))
    floor = statistics.median(one["MB/s"] for one in floors)
    print(f"RocksDB's iterator: {floor:.0f} MB/s, {statistics.median(one['us_per_row'] for one in floors):.2f} us a row\n")
    print("| operation | client | ops/s | server us/op | of the peer's | scan MB/s of server CPU | of the iterator's |")
    print("|---|---|--:|--:|--:|--:|--:|")
    for (op, client), runs in rows.items():
        us = [run["us"] for run in runs]
        cells = [op, client, f"{statistics.median(run['ops/s'] for run in runs):,.0f}", median(us), "", "", ""]
        if op in PEER_US:
            ratio = statistics.median(us) / PEER_US[op]
            goal = f" (goal {GOALS[op]:.2f}: {'met' if ratio <= GOALS[op] else 'missed'})" if op in GOALS else ""
            cells[4] = f"{ratio:.2f}{goal}"
        if op == "scan":
            speed = statistics.median(run["MB/s"] for run in runs)
            goal = f" (goal {GOALS[op]}: {'met' if speed / floor >= GOALS[op] else 'missed'})" if client == "C++" else ""
            cells[5:] = [f"{speed:.0f}", f"{speed / floor:.2f}{goal}"]
        print("| " + " | ".join(cells) + " |")
    cluster.destroy()


if __name__ == "__main__":
    main()
