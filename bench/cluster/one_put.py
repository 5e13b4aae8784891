#!/usr/bin/env python3
"""One put at a time beside the sum of its parts: does a write wait for anything but the network and the log?

    cmake -S . -B build-bench -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DARION_BENCH=ON
    ninja -C build-bench cluster_programs client_bench
    ARION_BUILD=build-bench bench/cluster/one_put.py [--rounds N]

Three replica servers and one client on this machine, durable, records of 1000 bytes, gets and puts in turn, one at a time. A put
is a way to the primary and back, and meanwhile the slower of two: the primary's log write, or a way to a member and back with
the log write there. So its parts are two ways and one log write. A way is what a get takes that finds its record in
memory; a log write is what the servers say of theirs during these puts (arion_log_append_seconds: from its submission until it is
durable, with the two others' flushes at the same disk). Means, since only those may be added; medians of the rounds.
SPDX-License-Identifier: Apache-2.0
"""

import argparse
import os
import statistics
import sys

import server_cpu
from server_cpu import harness

STAGES = ("queue", "log_append", "log_sync", "replicate", "apply", "reply")


def seconds_of(cluster, name, **labels):
    """(sum, count) of a histogram, over all servers."""
    samples = [sample for server in cluster.replicas for sample in harness.metrics(server)]
    return [sum(value for known, has, value in samples if known == f"arion_{name}_{part}" and labels.items() <= has.items())
            for part in ("sum", "count")]


class Mean:
    """Of a histogram, from its making until micros()."""

    def __init__(self, cluster, name, **labels):
        self.of = cluster, name, labels
        self.before = seconds_of(cluster, name, **labels)

    def micros(self):
        cluster, name, labels = self.of
        total, count = (now - then for now, then in zip(seconds_of(cluster, name, **labels), self.before))
        return total / count * 1e6 if count else 0.0


def micros_each(cluster, op, operations):
    row = server_cpu.figures(harness.run(
        [os.path.join(harness.BUILD, "bench", "client_bench"), f"--meta={cluster.meta.address}", "--table=single", f"--op={op}",
         "--keys=1000", f"--ops={operations}", "--outstanding=1"], timeout=300))
    assert row["errors"] == 0, row
    return 1e6 / row["ops/s"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    cluster = harness.Cluster(replica_settings={"block_cache_size": "512 MiB"}, replica_threads=harness.SHARED_LOOPS)
    cluster.start()
    cluster.create_table("single")
    micros_each(cluster, "put", 2000)
    rows = []
    for _ in range(rounds):
        way = micros_each(cluster, "get", 5000)
        log = Mean(cluster, "log_append_seconds")
        stages = [Mean(cluster, "write_stage_seconds", stage=stage) for stage in STAGES]
        put = micros_each(cluster, "put", 3000)
        rows.append([put, way, log.micros(), put / (2 * way + log.micros())] + [stage.micros() for stage in stages])
    put, way, log, ratio, *stages = (statistics.median(column) for column in zip(*rows))
    print(f"put {put:.0f} us; way and back {way:.0f}, log write {log:.0f}: parts {2 * way + log:.0f} us, ratio {ratio:.2f} "
          f"({min(row[3] for row in rows):.2f} to {max(row[3] for row in rows):.2f}, goal 1.15)")
    print("at the primary: " + ", ".join(f"{name} {value:.0f}" for name, value in zip(STAGES, stages)) + " us")
    cluster.destroy()


if __name__ == "__main__":
    sys.exit(main())
