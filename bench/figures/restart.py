"""A restart that replays: a raw harness beside a server, one replica at a time and in parallel, in turn.

SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import statistics
import tempfile

import measuring

THREADS = 2


def measure(run):
    bench = run.binary("restart_bench", "bench/restart_bench")
    replicas, mebibytes, rounds = (8, 8, 1) if run.quick else (64, 64, 5)
    with tempfile.TemporaryDirectory(prefix="arion_figures_") as directory:
        lines = run.command([bench, f"--replicas={replicas}", f"--log_mib={mebibytes}", f"--threads={THREADS}",
                             f"--rounds={rounds}"], env=dict(os.environ, TMPDIR=directory)).splitlines()
    runs = [json.loads(line) for line in lines if line.startswith("{")]
    for one in runs:
        run.keep(one)
    seconds = {name: [r["seconds"] for r in runs if r["run"] == name] for name in dict.fromkeys(r["run"] for r in runs)}
    megabytes = runs[0]["bytes"] / 1e6
    run.table(["run", "s", "MB/s"], [(name, measuring.spread(values), f"{megabytes / statistics.median(values):.0f}")
                                     for name, values in seconds.items()])
    raw_speedup = measuring.Comparison(seconds["raw_1"], seconds["raw_n"])
    speedup = measuring.Comparison(seconds["sequential"], seconds["parallel"])
    rate = measuring.Comparison(seconds["raw_n"], seconds["parallel"])
    run.table(["ratio", "", "goal"], [("speed-up of the raw harness", raw_speedup, ""),
                                      ("speed-up of the server", speedup, "0.9 of the harness's"),
                                      ("server's rate to the harness's", rate, "0.8")])
    return {"parallel_speedup": round(speedup.ratio, 3), "raw_speedup": round(raw_speedup.ratio, 3),
            "speedup_of_raw": round(speedup.ratio / raw_speedup.ratio, 3), "rate_of_raw": round(rate.ratio, 3),
            "first_served_seconds": statistics.median(r["first_seconds"] for r in runs if r["run"] == "parallel")}
