#!/usr/bin/env python3
"""A table of many partitions on one box: how long it takes to make, what it costs when nothing happens, how it heals.

    ninja -C build-bench arion_meta_bin arion_replica_bin
    ARION_BUILD=build-bench bench/cluster/many_partitions.py [--partitions 1000] [--idle 30] [--json FILE]

One meta and three replica servers, three replicas a partition, durable; lease 2 s and grace 3 s, so beacons each 0.5 s and a
config sync each 3 s, a tenth of the default intervals. CPU is utime + stime of a process over the idle time.
SPDX-License-Identifier: Apache-2.0
"""

import argparse
import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "cluster"))
import cpu_time  # noqa: E402
import harness  # noqa: E402
import thft  # noqa: E402

META_CPU_GOAL = 0.10


def idle_cpu(cluster, seconds):
    """Cores each server needs while nothing happens."""
    def spent():
        return {server.name: cpu_time.cpu_seconds([server.process.pid]) for server in cluster.servers()}
    before = spent()
    begin = time.monotonic()
    time.sleep(seconds)
    took = time.monotonic() - begin
    return {name: (seconds - before[name]) / took for name, seconds in spent().items()}


def until(condition, seconds=1800):
    begin = time.monotonic()
    harness.wait_for("the cluster gets there", condition, seconds)
    return time.monotonic() - begin


def measure(partitions, idle):
    figures = {"partitions": partitions}
    cluster = harness.Cluster()
    try:
        cluster.start()
        begin = time.monotonic()
        harness.wait_for("the table is taken", lambda: thft.create_table(cluster.meta.address, "temp", partitions, 3)
                         == "ERR_OK", 60)

        def members(least, without=None):
            found = cluster.partitions("temp")
            return len(found) == partitions and all(
                p["primary"] not in ("", without) and len(p["secondaries"]) + 1 >= least for p in found) \
                and not cluster.lacks_primary("temp")
        until(lambda: members(3))
        figures["made_seconds"] = time.monotonic() - begin
        time.sleep(10)
        figures["idle_cores"] = idle_cpu(cluster, idle)
        figures["resident_mb"] = {server.name: server.resident_bytes() / 1e6 for server in cluster.servers()}

        victim = cluster.replicas[0]
        victim.kill()
        figures["primaries_again_seconds"] = until(lambda: members(2, victim.address))
        begin = time.monotonic()
        victim.start()
        cluster.wait_listening(victim)
        until(lambda: members(3))
        figures["whole_again_seconds"] = time.monotonic() - begin
        return figures
    finally:
        cluster.destroy()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--partitions", type=int, default=1000)
    parser.add_argument("--idle", type=float, default=30)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    figures = measure(arguments.partitions, arguments.idle)
    for name, value in figures.items():
        text = ", ".join(f"{who} {what:.3g}" for who, what in value.items()) if isinstance(value, dict) else f"{value:.4g}"
        print(f"{name}: {text}", flush=True)
    print(f"meta server idle: {100 * figures['idle_cores']['meta1']:.1f} % of a core (goal {100 * META_CPU_GOAL:.0f} %)")
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(figures, file, indent=1)


if __name__ == "__main__":
    main()
