"""Does an operation cost more where there is more? Server CPU of a get and of a durable put in tables of 10^4, 10^6 and 10^7
records, and of 8, 64 and 512 partitions, in one cluster of three servers, in turn; and the engine's own get beside, alone in a
process, as its trees get deeper with their size whoever asks.

Records of 100 bytes, a hundred a hash key. CPU is utime + stime of the three servers, of a fixed number of operations.
"""

import json
import os
import statistics

import cpu_time
import harness
import measuring

VALUE_BYTES = 100
ROWS = 100  # records of a hash key
PARTITIONS = 8
SMALLEST_PARTITIONED = 1000  # hash keys of the tables that differ in partitions
GOAL = 1.5
OUTSTANDING = {"get": 50, "put": 45}


def bench(run, cluster, table, op, hash_keys, operations):
    return run.command([os.path.join(run.build, "bench", "client_bench"), f"--meta={cluster.meta.address}", f"--table={table}",
                        f"--op={op}", f"--keys={hash_keys}", f"--rows={ROWS}", f"--size={VALUE_BYTES}", f"--ops={operations}",
                        f"--outstanding={OUTSTANDING.get(op, 8)}"])


def cost(run, cluster, table, op, hash_keys, operations):
    pids = cluster.replica_pids()
    run.settle(pids)
    before = cpu_time.cpu_seconds(pids)
    bench(run, cluster, table, op, hash_keys, operations)
    us = (cpu_time.cpu_seconds(pids) - before) * 1e6 / operations
    run.keep({"table": table, "operation": op, "server us": us})
    return us


def engine_us(run, records, seconds, repeats):
    """{records: CPU of the engine's get, of each repeat}, by its own benchmark, which interleaves them."""
    out = run.command([os.path.join(run.build, "bench", "bench_engine"),
                       f"--benchmark_filter=^BM_GetOf<.*/({'|'.join(map(str, records))})$", f"--benchmark_min_time={seconds}",
                       f"--benchmark_repetitions={repeats}", "--benchmark_enable_random_interleaving=true", "--benchmark_format=json"])
    repetitions = [one for one in json.loads(out)["benchmarks"] if one["run_type"] == "iteration"]
    us = {count: [one["cpu_time"] / 1e3 for one in repetitions if one["run_name"].endswith(f"/{count}")] for count in records}
    run.keep({"engine us": us})
    return us


def of_first(values):
    """Of {size: values measured in turn}, each size beside the first."""
    first, *others = values
    return {size: measuring.Comparison(values[size], values[first]) for size in others}


def measure(run):
    for target in ("cluster_programs", "client_bench", "bench_engine"):
        run.binary(target, target)
    records, partitions = ((10**4, 10**5), (8, 16)) if run.quick else ((10**4, 10**6, 10**7), (8, 64, 512))
    operations, repeats = (5000, 1) if run.quick else (100000, 5)
    # files are read from memory
    cluster = harness.Cluster(replica_settings={"block_cache_size": "2 GiB"}, replica_threads=harness.SHARED_LOOPS)
    cluster.start()
    tables = {f"records{count}": (PARTITIONS, count // ROWS) for count in records}
    tables.update({f"partitions{count}": (count, SMALLEST_PARTITIONED // (10 if run.quick else 1)) for count in partitions})
    for table, (count, hash_keys) in tables.items():
        cluster.create_table(table, count)
        bench(run, cluster, table, "fill", hash_keys, 0)
    figures = {}
    for op in OUTSTANDING:
        results = measuring.in_turn({table: lambda t=table, k=hash_keys: cost(run, cluster, t, op, k, operations)
                                     for table, (_, hash_keys) in tables.items()}, repeats)
        medians = {table: statistics.median(values) for table, values in results.items()}
        rows = []
        for kind, counts in (("records", records), ("partitions", partitions)):
            values = {count: results[f"{kind}{count}"] for count in counts}
            compared = of_first(values)
            rows += [(f"{count:,} {kind}", measuring.spread(us, 1), compared.get(count, 1)) for count, us in values.items()]
            figures[f"{op}_by_{kind}"] = round(max(1, *(one.ratio for one in compared.values())), 2)
        run.table(f"A {op}'s CPU in the three servers (goal: within {GOAL})", ["size", "server us", "of the smallest"], rows)
        run.plot(f"Server CPU of a {op}, us", [row[0] for row in rows], {op: [medians[table] for table in tables]})
    cluster.destroy()
    # Four: ten million records take a minute to write, each time.
    own = engine_us(run, records, *((0.05, 1) if run.quick else (1, measuring.FEWEST_ROUNDS)))
    compared = of_first(own)
    run.table("The engine's own get, alone in a process, flushed and cached", ["records", "us", "of the smallest"],
              [(f"{count:,}", measuring.spread(us), compared.get(count, 1)) for count, us in own.items()])
    figures["engine_get_by_records"] = round(max(1, *(one.ratio for one in compared.values())), 2)
    return figures
