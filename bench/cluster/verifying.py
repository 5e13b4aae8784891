#!/usr/bin/env python3
"""What those who read and write notice while the copies of their table are compared (`verify_replicas`), in interleaved pairs.

    ninja -C build arion_meta_bin arion_replica_bin arion_load_bin arion_shell_bin
    bench/cluster/verifying.py [--gb 0.2] [--rate 1000] [--pairs 5] [--seconds 8]

One meta and three replica servers on this machine, one disk, 8 partitions x 3 replicas, durable, records of 10 x 100 random
bytes; an open loop at that rate, half reads, half writes. Of each pair one run is beside verifications, one behind the other,
at the default pace; which of the two comes first alternates.
SPDX-License-Identifier: Apache-2.0
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "cluster"))
import harness  # noqa: E402

VALUE_BYTES = 1000


def load_command(cluster, *more):
    return [os.path.join(harness.BUILD, "arion_load"), *more, f"--meta={cluster.meta.address}", "--table=temp",
            "--workload=a", "-p", "fieldcount=10", "-p", f"fieldlength={VALUE_BYTES // 10}"]


class Verifying:
    """Again and again, until it is stopped."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.ended = threading.Event()
        self.times = 0
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.ended.is_set():
            subprocess.run([os.path.join(harness.BUILD, "arion_shell"), "--meta", self.cluster.meta.address, "-e",
                            "verify_replicas temp"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.times += 1

    def stop(self):
        self.ended.set()
        self.thread.join()
        return self.times


def measure(cluster, records, rate, seconds):
    """{operation: (p50, p99) in ms}"""
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        harness.run(load_command(cluster, "run", f"--rate={rate}", f"--seconds={seconds}", "--warmup=1", f"--json={report.name}")
                    + ["-p", f"recordcount={records}"], timeout=300)
        phase = json.load(open(report.name))["phases"][-1]
    assert phase["errors"] == 0, phase["errors"]
    return {kind["operation"]: (kind["intended_us"]["p50"] / 1000, kind["intended_us"]["p99"] / 1000)
            for kind in phase["kinds"] if kind["count"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gb", type=float, default=0.2)
    parser.add_argument("--rate", type=int, default=1000)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=8)
    arguments = parser.parse_args()
    cluster = harness.Cluster(replica_threads=harness.SHARED_LOOPS)
    cluster.start()
    cluster.create_table("temp", 8)
    records = int(arguments.gb * 1e9 / VALUE_BYTES)
    harness.run(load_command(cluster, "load", "--threads=64") + ["-p", f"recordcount={records}"], timeout=7200)
    figures, times = {"alone": [], "beside": []}, 0
    for pair in range(arguments.pairs):
        for which in ("alone", "beside") if pair % 2 == 0 else ("beside", "alone"):
            verifying = Verifying(cluster) if which == "beside" else None
            figures[which].append(measure(cluster, records, arguments.rate, arguments.seconds))
            times += verifying.stop() if verifying else 0
    print(f"{records} records, {arguments.rate}/s, {arguments.pairs} pairs of {arguments.seconds} s, {times} verifications")
    for operation in sorted(figures["alone"][0]):
        for at, name in ((0, "p50"), (1, "p99")):
            both = {which: [one[operation][at] for one in runs] for which, runs in figures.items()}
            print(f"{operation} {name}: " + ", ".join(
                f"{which} {statistics.median(values):.2f} ms ({min(values):.2f}-{max(values):.2f})" for which, values in both.items()))
    cluster.destroy()


if __name__ == "__main__":
    main()
