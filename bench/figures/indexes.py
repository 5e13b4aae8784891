"""What indexes cost: how long they take to be built (one after the other; all of a table in one walk; that for all partitions
concurrently), what a put costs with 0, 1 and 4 of them, how late clients are beside a build, and whether a start waits for one.

SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time

import cpu_time
import data_api
import harness
import measuring

GOAL_BUILD, GOAL_PUT, GOAL_P99 = 4, {1: 1.3, 4: 2}, 1.5
CORES = 24  # of the machine that the issue asks about
OUTSTANDING = 45


def build(run, objects, repeats):
    """All indexes of several tables: runs of the same program, which does the three ways in turn."""
    program = run.binary("index_build_bench", os.path.join("bench", "index_build_bench"))
    results = [json.loads(run.command([program, f"--objects={objects}"])) for _ in range(repeats)]
    run.keep({"build": results})
    of = {name: [result[name] for result in results] for name in results[0] if name != "put_us"}
    speedup = measuring.Comparison(of["one_by_one_s"], of["concurrent_s"])
    one_walk = measuring.Comparison(of["one_by_one_s"], of["one_walk_s"])
    # The work that was counted, spread over so many cores: partitions are independent of each other.
    ideal = CORES * statistics.median(of["one_by_one_cpu_s"]) / statistics.median(of["concurrent_cpu_s"])
    run.table(f"{objects:,} JSON objects of 1 KB in {results[0]['tables']} tables, {results[0]['indexes']} indexes, "
              f"{results[0]['threads']} threads", ["building", "s", "CPU s", f"faster (goal {GOAL_BUILD})"],
              [("one after the other", measuring.spread(of["one_by_one_s"]), measuring.spread(of["one_by_one_cpu_s"]), 1),
               ("one walk a partition", measuring.spread(of["one_walk_s"]), measuring.spread(of["one_walk_cpu_s"]), one_walk),
               ("concurrently", measuring.spread(of["concurrent_s"]), measuring.spread(of["concurrent_cpu_s"]), speedup),
               (f"computed: {CORES} cores", "", "", round(ideal, 1)),
               ("copied, as a learner gets them", measuring.spread(of["copied_s"]), measuring.spread(of["copied_cpu_s"]),
                measuring.Comparison(of["one_by_one_s"], of["copied_s"]))])
    run.table("What lies on disk", ["", "MB"], [(what, round(statistics.median(of[f"{what}_bytes"]) / 1e6)) for what in ("data", "store")])
    put = {count: [result["put_us"][str(count)] for result in results] for count in (0, 1, 4)}
    run.table("The engine's own put, flushes and compactions included", ["indexes", "CPU us", "of none"],
              [(count, measuring.spread(put[count]), measuring.Comparison(put[count], put[0])) for count in put])
    figures = {f"engine_put_with_{count}": round(measuring.Comparison(put[count], put[0]).ratio, 2) for count in (1, 4)}
    return {"build_speedup": round(speedup.ratio, 2), "one_walk_speedup": round(one_walk.ratio, 2),
            "speedup_on_24_cores": round(ideal, 1), **figures}


def shell(run, cluster, command):
    return run.command([os.path.join(run.build, "arion_shell"), f"--meta={cluster.meta.address}", "-j", "-e", command])


def states(run, cluster, table):
    return {index["state"] for index in json.loads(shell(run, cluster, f"indexes {table}").splitlines()[-1])["indexes"]}


def puts(run, cluster, operations, repeats):
    """Server CPU of a durable put into tables with 0, 1 and 4 indexes, in turn."""
    def cost(table):
        pids = cluster.replica_pids()
        run.settle(pids)
        before = cpu_time.cpu_seconds(pids)
        run.command([os.path.join(run.build, "bench", "client_bench"), f"--meta={cluster.meta.address}", f"--table={table}", "--op=put",
                     "--json", "--keys=20000", f"--ops={operations}", f"--outstanding={OUTSTANDING}"])
        return (cpu_time.cpu_seconds(pids) - before) * 1e6 / operations
    for count in (0, 1, 4):
        cluster.create_table(f"with{count}")
        if count:
            shell(run, cluster, f"create_index with{count} " + ", ".join(f"f{i} on $.f{i}" for i in range(count)))
            harness.wait_for("whole", lambda count=count: states(run, cluster, f"with{count}") == {"whole"}, 60)
    us = measuring.in_turn({count: lambda count=count: cost(f"with{count}") for count in (0, 1, 4)}, repeats)
    run.keep({"put server us": us})
    compared = {count: measuring.Comparison(us[count], us[0]) for count in us}
    run.table(f"A durable put of 1 KB of JSON, {OUTSTANDING} callers, 8 partitions: CPU in the three servers",
              ["indexes", "server us", "of none", "goal"],
              [(count, measuring.spread(us[count], 1), compared[count], GOAL_PUT.get(count, "")) for count in us])
    return {f"put_with_{count}": round(compared[count].ratio, 2) for count in (1, 4)}


def beside_a_build(run, cluster, records, rate, seconds, repeats):
    """p99 of those who read and write, alone and while four indexes are built again and again."""
    cluster.create_table("temp")
    measuring.arion_load(run, cluster, "load", f"-p=recordcount={records}", "--threads=16")
    names = [f"b{i}" for i in range(4)]

    def p99(builds):
        with tempfile.NamedTemporaryFile(suffix=".json") as report:
            load = subprocess.Popen(
                [os.path.join(run.build, "arion_load"), "run", f"--meta={cluster.meta.address}", "--table=temp", "--workload=a",
                 f"-p=recordcount={records}", f"--rate={rate}", "--warmup=1", f"--seconds={seconds}", f"--json={report.name}"],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while load.poll() is None:
                if builds and states(run, cluster, "temp") == {"whole"}:
                    for name in names:
                        shell(run, cluster, f"rebuild_index temp {name}")
                time.sleep(1)  # the shell needs a processor too
            phase = json.load(report)["phases"][-1]
        return {kind["operation"].lower(): kind["intended_us"]["p99"] / 1000 for kind in phase["kinds"] if kind["count"]}
    alone = [p99(False) for _ in range(repeats)]
    shell(run, cluster, "create_index temp " + ", ".join(f"{name} on bytes({8 * i},8)" for i, name in enumerate(names)))
    building = [p99(True) for _ in range(repeats)]
    run.keep({"p99 ms": {"alone": alone, "building": building}})
    rows, figures = [], {}
    for kind in ("read", "update"):
        before, during = ([one[kind] for one in what] for what in (alone, building))
        ratio = measuring.Comparison(during, before)
        figures[f"{kind}_p99_ratio"] = round(ratio.ratio, 2)
        rows.append((kind, measuring.spread(before), measuring.spread(during), ratio))
    run.table(f"p99 at {rate} operations/s, {records:,} records", ["operation", "alone ms", "beside builds ms", f"ratio (goal {GOAL_P99})"], rows)
    return figures


def first_write(cluster):
    """Seconds from the start of all servers to the first write that is accepted."""
    for server in cluster.replicas:
        server.start()
    begin = time.monotonic()
    while True:
        try:
            table = data_api.DataApi(cluster.meta.address, "temp", header_version=1, timeout=5)
            if table.put(key=data_api.raw_key(b"first", b"s"), value=b"v")["error"] == data_api.OK:
                return time.monotonic() - begin
        except (OSError, data_api.Refused, AttributeError):
            pass
        time.sleep(0.01)


def starts(run, cluster, repeats):
    def start(loses):
        for server in cluster.replicas:
            server.stop()
        for server in cluster.replicas if loses else ():
            for directory, names, _ in os.walk(server.data_directories()[0]):
                if os.path.basename(directory) == "index":
                    shutil.rmtree(directory)
                    names.clear()
        seconds = first_write(cluster)
        cluster.wait_healthy("temp")
        harness.wait_for("whole", lambda: states(run, cluster, "temp") == {"whole"}, 300)
        return seconds
    harness.wait_for("whole", lambda: states(run, cluster, "temp") == {"whole"}, 300)
    results = measuring.in_turn({"whole": lambda: start(False), "lost": lambda: start(True)}, repeats)
    run.keep({"first write s": results})
    ratio = measuring.Comparison(results["lost"], results["whole"])
    run.table("From the servers' start to the first write", ["indexes", "s", "ratio"],
              [("whole", measuring.spread(results["whole"]), 1), ("lost, built anew meanwhile", measuring.spread(results["lost"]), ratio)])
    return {"first_write_ratio": round(ratio.ratio, 2)}


def measure(run):
    for target in ("cluster_programs", "client_bench"):
        run.binary(target, target)
    figures = build(run, 12_000 if run.quick else 4_000_000, 1 if run.quick else 2)
    cluster = harness.Cluster(replica_threads=harness.SHARED_LOOPS)
    cluster.start()
    figures |= puts(run, cluster, *((2000, 1) if run.quick else (60_000, 4)))
    figures |= beside_a_build(run, cluster, *((3000, 200, 2, 1) if run.quick else (1_000_000, 1000, 20, 4)))
    figures |= starts(run, cluster, 1 if run.quick else 4)
    cluster.destroy()
    return figures
