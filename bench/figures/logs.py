"""How private logs scale: 1, 8 and 64 of them, records of 128 bytes to 16 KiB, beside a raw loop of the same method.

Closed loop, 64 records outstanding, durable. Everything else of the log: bench/wal/report.py.
SPDX-License-Identifier: Apache-2.0
"""

import statistics

import measuring

OURS, RAW = "BM_Closed<PrivateLogLoop>", "BM_Closed<RawLoop>"
DURABLE = r"^BM_Closed<.*/durable:1/loops:2"
QUICK = r"^BM_Closed<.*logs:[18]/.*bytes:1024/durable:1/loops:2"  # the files of 64 logs alone are 512 MiB


def measure(run):
    report = measuring.script("bench/wal/report.py")
    binary = run.binary("bench_wal", "bench/bench_wal")
    kept = []
    run.keep(kept)
    report.run_part(binary, QUICK if run.quick else DURABLE, 1 if run.quick else 5, 0.1 if run.quick else 0.4, kept)
    runs = report.Runs(kept)
    figures, rows, bars = {}, [], {"private logs": [], "raw loop": []}
    shapes = [a for a in runs.arguments(OURS)]
    for arguments in shapes:
        ours, raw = ({key: runs.values(name, arguments, key) for key in ("items_per_second", "p99_us", "cpu_us")} for name in (OURS, RAW))
        compared = {key: measuring.Comparison(ours[key], raw[key]) for key in ours}
        name = report.shape(a for a in arguments if not a.startswith(("durable", "outstanding", "loops")))
        rows.append((name, measuring.spread(ours["items_per_second"], 0), measuring.spread(ours["p99_us"], 0),
                     measuring.spread(ours["cpu_us"]), *compared.values()))
        figures[name] = {key: round(comparison.ratio, 3) for key, comparison in compared.items()}
        for label, values in (("private logs", ours), ("raw loop", raw)):
            bars[label].append(statistics.median(values["items_per_second"]))
    run.table("Private logs, closed loop, durable",
              ["logs", "records/s", "p99 us", "CPU us", "of the loop's records/s (goal 0.8)", "p99 (goal 1.3)", "CPU (goal 1.3)"], rows)
    run.plot("Records a second", [row[0] for row in rows], bars)
    return figures
