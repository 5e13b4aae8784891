"""What a split costs: how long it takes a table of gigabytes, how long each partition's writes wait, how late clients are beside it,
and what lies on the disks before, after, and when the other half's records are gone.

SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import re
import statistics
import subprocess
import tempfile
import time

import harness
import measuring

GOAL_HELD_MS = 100
TABLE = "temp"  # measuring.arion_load's


def shell(run, cluster, command):
    return json.loads(run.command([os.path.join(run.build, "arion_shell"), f"--meta={cluster.meta.address}", "-j", "-e", command]).splitlines()[-1])


def disk_bytes(cluster):
    """Each file once, however many names it has."""
    files = {}
    for server in cluster.replicas:
        for data in server.data_directories():
            for directory, _, names in os.walk(data):
                for name in names:
                    try:
                        status = os.lstat(os.path.join(directory, name))
                    except FileNotFoundError:
                        continue
                    files[status.st_dev, status.st_ino] = status.st_blocks * 512
    return sum(files.values())


def to_compact(cluster):
    return sum(harness.value_of(harness.metrics(server), "arion_replicas_to_compact_after_split") for server in cluster.replicas)


def held_ms(cluster):
    """How long the writes of each partition that was split waited, as its server says."""
    found = []
    for server in cluster.replicas:
        found += [float(ms) for ms in re.findall(r"is split: .* waited for ([0-9.e+]+) ms", server.logged())]
    return found


def p99(run, cluster, records, rate, seconds, beside=lambda: None):
    """ms, by operation, of an open loop; `beside` begins when it has warmed up."""
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        load = subprocess.Popen(
            [os.path.join(run.build, "arion_load"), "run", f"--meta={cluster.meta.address}", f"--table={TABLE}", "--workload=a",
             f"-p=recordcount={records}", f"--rate={rate}", "--warmup=1", f"--seconds={seconds}", f"--json={report.name}"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(2)
        beside()
        load.wait()
        phase = json.load(report)["phases"][-1]
    return {kind["operation"].lower(): kind["intended_us"]["p99"] / 1000 for kind in phase["kinds"] if kind["count"]}


def wait_split(run, cluster):
    harness.wait_for("it is split", lambda: shell(run, cluster, f"split query {TABLE}")["state"] == "not being split", 600)
    cluster.wait_healthy(TABLE, seconds=120)


def measure(run):
    run.binary("cluster_programs", "cluster_programs")
    records, rate, seconds, counts = (1000, 200, 2, [16]) if run.quick else (500_000, 1000, 20, [16, 32])
    cluster = harness.Cluster(replica_threads=harness.SHARED_LOOPS)
    cluster.start()
    cluster.create_table(TABLE, partitions=8)
    measuring.arion_load(run, cluster, "load", f"-p=recordcount={records}", "--threads=16")
    before = disk_bytes(cluster)
    alone, during, took, after = [], [], [], []
    for count in counts:
        alone.append(p99(run, cluster, records, rate, seconds))

        def split(count=count):
            begin = time.monotonic()
            shell(run, cluster, f"split start {TABLE} {count} -y")
            wait_split(run, cluster)
            took.append(time.monotonic() - begin)
            after.append(disk_bytes(cluster))
        during.append(p99(run, cluster, records, rate, seconds, split))
    held = sorted(held_ms(cluster))
    run.keep({"alone": alone, "during": during, "took s": took, "held ms": held})
    gigabytes = before / 1e9 / 3
    run.table(f"{gigabytes:.1f} GB a copy, three copies, beside {rate} operations/s", ["split into", "s", "s a GB"],
              [(count, round(seconds, 2), round(seconds / gigabytes, 2)) for count, seconds in zip(counts, took)])
    worst = held[max(0, int(len(held) * 0.99) - 1)] if held else float("nan")
    run.table(f"How long the writes of each of {len(held)} partitions waited", ["", "ms"],
              [("median", round(statistics.median(held), 1)), (f"p99 (goal {GOAL_HELD_MS})", round(worst, 1)), ("longest", round(held[-1], 1))])
    rows, figures = [], {}
    for kind in ("read", "update"):
        ratio = measuring.Comparison([one[kind] for one in during], [one[kind] for one in alone])
        figures[f"{kind}_p99_ratio"] = round(ratio.ratio, 2)
        rows.append((kind, measuring.spread([one[kind] for one in alone]), measuring.spread([one[kind] for one in during]), ratio))
    run.table("p99, splits and the compactions behind them in it", ["operation", "alone ms", "beside ms", "ratio"], rows)
    # Both halves let go of the other's records by themselves, at a pace that clients don't feel.
    begin = time.monotonic()
    harness.wait_for("the other halves are gone", lambda: to_compact(cluster) == 0, 3600)
    run.table("What lies on the disks", ["", "MB"], [
        ("before", before // 10**6), *((f"right after {count}", size // 10**6) for count, size in zip(counts, after)),
        (f"{time.monotonic() - begin:.0f} s later, compacted", disk_bytes(cluster) // 10**6)])
    cluster.destroy()
    return {"held_p99_ms": round(worst, 1), "split_s": round(took[0], 2), **figures}
