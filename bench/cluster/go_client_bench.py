#!/usr/bin/env python3
"""Puts and gets of 1000-byte values through the official Go client, against one meta and three replica servers on
this machine (45 and 50 client threads, as the peer was measured), durable (fsync) unless --durability says otherwise.

Prints each run and the medians: operations a second, latency, and CPU a operation of the three replica servers
(utime + stime) and of the whole machine (/proc/stat, kernel workers included).

    ARION_BUILD=build bench/cluster/go_client_bench.py --rounds 3 --seconds 15

SPDX-License-Identifier: Apache-2.0
"""

import argparse
import os
import re
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "cluster"))
import cpu_time  # noqa: E402
import harness  # noqa: E402


def run(cluster, client, op, threads, seconds, keys, operations=0):
    pids = cluster.replica_pids()
    servers, machine = cpu_time.cpu_seconds(pids), cpu_time.machine_seconds()
    out = harness.run([harness.go_client(client), "-meta", cluster.meta.address, "-threads", str(threads), "-seconds",
                       str(seconds), "-keys", str(keys), "-op", op, "-ops", str(operations), "bench"],
                      timeout=seconds + 120)
    row = {k: float(v) for k, v in re.findall(r"(\w+(?:/s)?)=([\d.]+)", out)}
    row["server_us"] = (cpu_time.cpu_seconds(pids) - servers) * 1e6 / row["ops"]
    row["machine_us"] = (cpu_time.machine_seconds() - machine) * 1e6 / row["ops"]
    assert row["errors"] == 0, out
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=15)
    parser.add_argument("--keys", type=int, default=100000)
    parser.add_argument("--client", default="xiaomi", choices=["xiaomi", "apache"])
    options = parser.parse_args()
    cluster = harness.Cluster()
    cluster.start()
    cluster.create_table("temp")
    columns = ["ops/s", "avg_us", "p50_us", "p99_us", "p999_us", "max_us", "server_us", "machine_us"]
    print(f"{'':14}" + "".join(f"{c:>12}" for c in columns))
    rows = {"put": [], "get": []}
    run(cluster, options.client, "put", 45, 0, options.keys, options.keys)  # every key exists, files are warm
    for _ in range(options.rounds):
        for op, threads in (("put", 45), ("get", 50)):
            rows[op].append(run(cluster, options.client, op, threads, options.seconds, options.keys))
            print(f"{op:3} x {threads:<8}" + "".join(f"{rows[op][-1][c]:12.0f}" for c in columns), flush=True)
    for op, all_rows in rows.items():
        print(f"{op:3} median   " + "".join(f"{statistics.median(r[c] for r in all_rows):12.0f}" for c in columns))
    cluster.destroy()


if __name__ == "__main__":
    main()
