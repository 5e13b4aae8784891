"""copy_data between two clusters of one server each: how near it comes to what the slower side can do alone. That is the source's full
scan (the same reading, of which nothing passes a filter of values), and puts to the target by arion_load.

SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import statistics

import harness
import measuring

TABLE = "temp"  # measuring.arion_load's
PARTITIONS = 8
PUTS_AT_ONCE = 256  # as copy_data has


def shell(run, cluster, command):
    return json.loads(run.command([os.path.join(run.build, "arion_shell"), f"--meta={cluster.meta.address}", "-j", "-e", command]).splitlines()[-1])


def measure(run):
    for target, path in (("arion_shell_bin", "arion_shell"), ("arion_load_bin", "arion_load"), ("arion_replica_bin", "arion_replica"),
                         ("arion_meta_bin", "arion_meta")):
        run.binary(target, path)
    records, rounds = (2000, 1) if run.quick else (300_000, 5)
    source, target = (harness.Cluster(servers=1, replica_threads=harness.SHARED_LOOPS) for _ in range(2))
    for cluster in (source, target):
        cluster.start()
        for name in (TABLE, "grouped"):
            cluster.create_table(name, partitions=PARTITIONS, replicas=1)
    fields = ["-p=fieldcount=1", "-p=fieldlength=100"]
    measuring.arion_load(run, source, "load", f"-p=recordcount={records}", *fields, "--threads=64")
    # A hundred records a hash key: where the mix has scans.
    measuring.arion_load(run, source, "load", f"-p=recordcount={records}", *fields, "--threads=64", "--table=grouped", "--workload=e")

    def copy(table, words):
        answer = shell(run, source, f"use {table}; copy_data -c {target.meta.address} -a {table} -f {words}")
        run.keep(answer)
        return answer["records_per_second"]

    def puts():
        phase = measuring.arion_load(run, target, "load", f"-p=recordcount={records}", *fields, f"--threads={PUTS_AT_ONCE}")
        run.keep(phase)
        return phase["operations"] / phase["seconds"]

    in_turn = measuring.in_turn({"full scan of the source": lambda: copy(TABLE, "-v exact -z none"),
                                 "puts to the target": puts,
                                 "copy_data": lambda: copy(TABLE, ""),
                                 "copy_data -u, 100 records a hash key": lambda: copy("grouped", "-u")},
                                rounds, before=lambda: run.settle(source.replica_pids() + target.replica_pids()))
    slower = [min(pair) for pair in zip(in_turn["full scan of the source"], in_turn["puts to the target"])]
    equal = shell(run, source, f"use {TABLE}; copy_data -c {target.meta.address} -a {TABLE} -f --verify")["equal"]
    assert equal == "yes"
    for cluster in (source, target):
        cluster.destroy()
    run.table(f"{records:,} records of 100 bytes, {PARTITIONS} partitions", ["", "records/s", "of the slower side"],
              [(name, measuring.spread(rates, 0), measuring.Comparison(rates, slower)) for name, rates in in_turn.items()])
    return {"scan_per_s": statistics.median(in_turn["full scan of the source"]), "puts_per_s": statistics.median(in_turn["puts to the target"]),
            "copy_per_s": statistics.median(in_turn["copy_data"]),
            "copy_of_slower_side": round(measuring.Comparison(in_turn["copy_data"], slower).ratio, 3),
            "grouped_of_slower_side": round(measuring.Comparison(in_turn["copy_data -u, 100 records a hash key"], slower).ratio, 3)}
