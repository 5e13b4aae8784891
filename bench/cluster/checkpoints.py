#!/usr/bin/env python3
"""What those who read and write notice when all replicas make checkpoints at once.

    ninja -C build-bench arion_meta_bin arion_replica_bin arion_load_bin
    ARION_BUILD=build-bench bench/cluster/checkpoints.py [--rounds 3] [--gb 0.4] [--rate 300]

One meta and three replica servers on this machine, one disk, 16 partitions x 3 replicas, durable, records of 10 x 1000 random
bytes. A round fills memtables, then has an open loop at that rate, half reads, half writes, first alone, then with a checkpoint of every replica
asked for while it goes on. Latencies count from when an operation was meant to start; of the whole ten seconds.
SPDX-License-Identifier: Apache-2.0
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "cluster"))
import harness  # noqa: E402
import learning  # noqa: E402

PARTITIONS = 16
SECONDS = 10
ASK_AFTER_SECONDS = 3


def ask_for_checkpoints(cluster):
    for server in cluster.replicas:
        request = urllib.request.Request(f"http://{server.address}/checkpoint", method="POST", data=b"")
        urllib.request.urlopen(request, timeout=60).close()


def latencies(cluster, records, rate, meanwhile):
    """{operation: (p99, max) in ms} of a load beside which `meanwhile()` is called once."""
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        command = learning.load_command(cluster, "run", f"--rate={rate}", f"--seconds={SECONDS}", "--warmup=1", f"--json={report.name}")
        load = subprocess.Popen(command + ["-p", f"recordcount={records}"], stdout=subprocess.DEVNULL)
        time.sleep(ASK_AFTER_SECONDS)
        meanwhile()
        if load.wait(timeout=120) != 0:
            sys.exit(f"the load ended with {load.returncode}")
        kinds = json.load(open(report.name, encoding="utf-8"))["phases"][-1]["kinds"]
    return {kind["operation"]: (kind["intended_us"]["p99"] / 1000, kind["intended_us"]["max"] / 1000) for kind in kinds if kind["count"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--gb", type=float, default=0.4)
    parser.add_argument("--rate", type=int, default=300)
    arguments = parser.parse_args()
    cluster = harness.Cluster(replica_settings={"checkpoint_interval": "3600s"})  # none but those asked for
    try:
        cluster.start()
        cluster.create_table("temp", PARTITIONS)
        for _ in range(arguments.rounds):
            records = learning.fill(cluster, arguments.gb)
            time.sleep(ASK_AFTER_SECONDS)
            alone = latencies(cluster, records, arguments.rate, lambda: None)
            beside = latencies(cluster, records, arguments.rate, lambda: ask_for_checkpoints(cluster))
            for operation, (p99, longest) in sorted(alone.items()):
                now, longest_now = beside[operation]
                print(f"{operation}: p99 {p99:.1f} ms, {now:.1f} with checkpoints; at most {longest:.1f} ms, {longest_now:.1f}", flush=True)
    finally:
        cluster.destroy()


if __name__ == "__main__":
    main()
