"""A wiped server gets its replicas back, alone and under load: MB/s, and the p99 of those who read and write meanwhile.

SPDX-License-Identifier: Apache-2.0
"""

import statistics

import measuring


def measure(run):
    for target in ("cluster_programs", "arion_load_bin"):
        run.binary(target, target)
    bench = measuring.script("bench/cluster/learning.py")
    gigabytes, rate, repeats = (0.05, 200, 1) if run.quick else (2, 1000, 4)
    if run.quick:
        bench.BEFORE_SECONDS = bench.CLOSED_SECONDS = 2
    results = {}
    run.keep(results)
    bench.measure(gigabytes, rate, repeats, {}, results)
    rows, figures = [], {}
    for name in ("alone", "under_load"):
        rates = [result["mb_per_second"] for result in results[name]]
        figures[f"{name}_mb_per_s"] = round(statistics.median(rates), 1)
        rows.append((name.replace("_", " "), measuring.spread(rates, 0)))
    run.table(f"A wiped server's replicas, {gigabytes} GB written", ["learning", "MB/s"], rows)
    rows = []
    for kind in sorted(results["under_load"][0]["before"]["p99_ms"]):
        before, during = ([result[when]["p99_ms"][kind] for result in results["under_load"]] for when in ("before", "during"))
        ratio = measuring.Comparison(during, before)
        figures[f"{kind.lower()}_p99_ratio"] = round(ratio.ratio, 2)
        rows.append((kind.lower(), measuring.spread(before), measuring.spread(during), ratio))
    run.table(f"p99 at {rate} operations/s", ["operation", "before ms", "while learning ms", "ratio (goal 2)"], rows)
    whole, rest = ([rates[when] for rates in results["closed_loop"]] for when in ("all", "one_down"))
    left = measuring.Comparison(rest, whole)
    figures["rate_with_one_down"] = round(left.ratio, 2)
    run.table("With one of three servers down, as fast as clients can", ["", "all servers", "one down", "ratio (goal 0.8)"],
              [("operations/s", measuring.spread(whole, 0), measuring.spread(rest, 0), left)])
    return figures
