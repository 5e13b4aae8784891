#!/usr/bin/env python3
"""How fast a wiped server gets its replicas back, alone and under load, and what those who read and write notice of it.

    cmake -S . -B build-bench -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DARION_BENCH=ON
    ninja -C build-bench arion_meta_bin arion_replica_bin arion_load_bin
    ARION_BUILD=build-bench bench/cluster/learning.py [--gb 2] [--rate 1000] [--repeats 1] [--json FILE]

One meta and three replica servers on this machine, one disk, 8 partitions x 3 replicas, durable, records of 10 x 1000 random
bytes. One server is killed and its directory emptied; its replicas come back from the two others, as files or
from their logs, as is cheaper. The load is an open loop
at that rate, half reads, half writes; its latencies count from when an operation was meant to start. "before" is measured with
all three members, right before the kill; a write waits for the learner too. Beside them the p99 of each stage of a write in the servers, so
that it shows which of them a copy makes slow. At the end a closed loop, with all three servers and with one killed, says what
rate is left without it (bench/RESULTS.md G14: 0.8); here the three share one machine, so that the two gain its part of the processor.
SPDX-License-Identifier: Apache-2.0
"""

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "cluster"))
import harness  # noqa: E402

VALUE_BYTES = 10000
REST_SECONDS = 20  # what was written before goes to the disk, tables are merged
BEFORE_SECONDS = 20
DURING_SECONDS_MIN = 4  # the load's warm-up takes one of them
CLOSED_SECONDS, CLOSED_THREADS = 10, 32


def load_command(cluster, *more):
    return [os.path.join(harness.BUILD, "arion_load"), *more, f"--meta={cluster.meta.address}", "--table=temp",
            "--workload=a", "-p", "fieldcount=10", "-p", f"fieldlength={VALUE_BYTES // 10}"]


def fill(cluster, gigabytes):
    records = int(gigabytes * 1e9 / VALUE_BYTES)
    harness.run(load_command(cluster, "load", "--threads=64") + ["-p", f"recordcount={records}"], timeout=7200)
    return records


STAGES = ("queue", "log_append", "log_sync", "replicate", "apply", "reply")


def stage_counts(cluster):
    """{server: {stage: {upper bound in seconds: writes}}}, cumulative, of the servers that answer."""
    found = {}
    for server in cluster.replicas:
        try:
            samples = harness.metrics(server)
        except OSError:
            continue
        stages = found.setdefault(server.name, {})
        for name, has, value in samples:
            if name == "arion_write_stage_seconds_bucket" and has.get("table") == "temp":
                bounds = stages.setdefault(has["stage"], {})
                bounds[float(has["le"])] = bounds.get(float(has["le"]), 0) + value
    return found


def stage_p99(before, after):
    """{stage: its p99 in milliseconds} of the writes between two stage_counts, over all primaries."""
    p99 = {}
    for stage in STAGES:
        sums = {}
        for server, stages in after.items():
            earlier = before.get(server, {}).get(stage, {})
            for bound, count in stages.get(stage, {}).items():
                sums[bound] = sums.get(bound, 0) + count - earlier.get(bound, 0)
        total = max(sums.values(), default=0)
        p99[stage] = 1000 * next((bound for bound in sorted(sums) if sums[bound] >= 0.99 * total), 0) if total > 0 else 0
    return p99


class Load:
    """The foreground, in the background, until it is stopped."""

    def __init__(self, cluster, records, rate):
        self.cluster = cluster
        self.stages = stage_counts(cluster)
        self.report = tempfile.NamedTemporaryFile(suffix=".json")
        self.process = subprocess.Popen(
            load_command(cluster, "run", f"--rate={rate}", "--seconds=3600", "--warmup=1", f"--json={self.report.name}")
            + ["-p", f"recordcount={records}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def stop(self):
        """Of the whole run: {"p99_ms": {operation: ..}, "rate": operations a second, "errors": .., "stages": their p99}."""
        self.process.send_signal(signal.SIGINT)
        self.process.wait(timeout=120)
        phase = json.load(open(self.report.name))["phases"][-1]
        found = {kind["operation"]: kind["intended_us"]["p99"] / 1000 for kind in phase["kinds"] if kind["count"]}
        return {"p99_ms": found, "rate": phase["ops_per_second"], "errors": phase["errors"],
                "stages": stage_p99(self.stages, stage_counts(self.cluster))}


def closed_loop_rate(cluster, records):
    """Operations a second, as many as there can be."""
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        harness.run(load_command(cluster, "run", f"--threads={CLOSED_THREADS}", f"--seconds={CLOSED_SECONDS}", "--warmup=2",
                                 f"--json={report.name}") + ["-p", f"recordcount={records}"], timeout=120)
        return json.load(open(report.name))["phases"][-1]["ops_per_second"]


def received(server):
    try:
        return sum(value for name, _, value in harness.metrics(server) if name == "arion_disk_copy_received_bytes_total")
    except OSError:
        return 0


def is_whole(cluster):
    partitions = cluster.partitions("temp")
    return partitions and all(p["primary"] and len(p["secondaries"]) == 2 for p in partitions)


def kill(cluster, victim):
    victim.kill()
    harness.wait_for("every partition goes on without it", lambda: all(
        p["primary"] and victim.address not in [p["primary"], *p["secondaries"]] for p in cluster.partitions("temp")))


def lose_one(cluster, victim, records):
    """The rate with all servers, and with one of them killed."""
    rates = {"all": closed_loop_rate(cluster, records)}
    kill(cluster, victim)
    rates["one_down"] = closed_loop_rate(cluster, records)
    victim.start()
    cluster.wait_healthy("temp")
    return rates


def learn_once(cluster, victim, records, rate):
    """One server's replicas from nothing, counted from when the empty server listens; with `rate` > 0 under load."""
    before = None
    if rate:
        time.sleep(REST_SECONDS)
        load = Load(cluster, records, rate)
        time.sleep(BEFORE_SECONDS)
        before = load.stop()
    kill(cluster, victim)
    for path in victim.data_directories():
        shutil.rmtree(path)
        os.makedirs(path)
    victim.start()
    cluster.wait_listening(victim)
    begin = time.monotonic()
    load = Load(cluster, records, rate) if rate else None
    harness.wait_for("every partition is whole", lambda: is_whole(cluster), 3600)
    seconds = time.monotonic() - begin
    gigabytes = records * VALUE_BYTES / 1e9
    result = {"gigabytes": gigabytes, "as_files_gb": received(victim) / 1e9, "seconds": seconds,
              "mb_per_second": gigabytes * 1000 / seconds}
    if load:
        # A quick one is over before the load's first second is: then what follows counts as well.
        time.sleep(max(0, DURING_SECONDS_MIN - seconds))
        result.update(before=before, during=load.stop())
    return result


def show(name, results):
    for result in results:
        line = (f"{name}: {result['gigabytes']:.2f} GB in {result['seconds']:.1f} s, {result['mb_per_second']:.0f} MB/s, "
                f"{result['as_files_gb']:.2f} GB of it as files of checkpoints, the rest from logs")
        if "before" in result:
            for kind, was in sorted(result["before"]["p99_ms"].items()):
                now = result["during"]["p99_ms"][kind]
                line += f"; {kind} p99 {was:.1f} -> {now:.1f} ms ({now / was:.2f}x)"
            line += f"; rate {result['during']['rate'] / result['before']['rate']:.2f} of before; stages of a write, p99"
            for stage in STAGES:
                line += f" {stage} {result['before']['stages'][stage]:.1f} -> {result['during']['stages'][stage]:.1f}"
        print(line, flush=True)
    print(f"{name}: median {statistics.median(r['mb_per_second'] for r in results):.0f} MB/s", flush=True)


def measure(gigabytes, rate, repeats, settings, figures):
    """Fills `figures` as it goes, so that what was measured is there when it fails."""
    cluster = harness.Cluster(replica_settings=settings)
    try:
        cluster.start()
        cluster.create_table("temp")
        records = fill(cluster, gigabytes)
        figures.update(alone=[], under_load=[], closed_loop=[], written_gb=gigabytes, rate=rate)
        for i in range(repeats):
            for name, at_rate in (("alone", 0), ("under_load", rate)):
                figures[name].append(learn_once(cluster, cluster.replicas[i % 3], records, at_rate))
                cluster.wait_healthy("temp")
        for i in range(repeats):
            figures["closed_loop"].append(lose_one(cluster, cluster.replicas[i % 3], records))
    finally:
        cluster.destroy()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gb", type=float, default=2)
    parser.add_argument("--rate", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], help="key=value of [arion.replica], as copy_rate_per_disk=50MiB")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    figures = {}
    measure(arguments.gb, arguments.rate, arguments.repeats, dict(pair.split("=", 1) for pair in arguments.set), figures)
    show("alone", figures["alone"])
    show("under load", figures["under_load"])
    for rates in figures["closed_loop"]:
        print(f"closed loop: {rates['all']:.0f} operations/s, with one of three servers down {rates['one_down']:.0f} "
              f"({rates['one_down'] / rates['all']:.2f}x)", flush=True)
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(figures, file, indent=1)


if __name__ == "__main__":
    main()
