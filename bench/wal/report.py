#!/usr/bin/env python3
"""Runs the log benchmarks interleaved and writes what they say as a section for bench/RESULTS.md.

    bench/wal/report.py --build /tmp/build-x [--quick] [--output section.md]

What is compared runs side by side: one process of bench_wal a shape, its benchmarks interleaved at random, five
repetitions. A figure is the median; a ratio is the median of the ratios within each repetition, with the smallest and the
largest behind it. Refuses to run while something else uses the machine (--force runs nevertheless). TMPDIR chooses the disk. --json keeps or reuses what
the runs gave.

SPDX-License-Identifier: Apache-2.0
"""

import argparse
import datetime
import json
import math
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RING = "RawRing, RawMethod::kRingSharedFlush"

# Part -> (regular expression of its benchmarks, what --quick keeps of it).
PARTS = {
    "closed": (r"^BM_Closed<|^BM_Method<", r"^BM_(Closed|Method)<.*logs:(1|64)/.*bytes:1024/(durable:1/loops:1|iter)"),
    "slow_flush": (r"^BM_SlowFlush<", r"^BM_SlowFlush<.*logs:64/"),
    "open": (r"^BM_OpenLoop", r"^BM_OpenLoop.*logs:(1|64)/bytes:1024/durable:1/loops:1/"),
    "one_disk": (r"^BM_OneDisk<", r"^BM_OneDisk<.*partitions:64/outstanding:(64|512|2048)/"),
    "disks": (r"^BM_EmulatedDisks<", r"^BM_EmulatedDisks<.*partitions:64/outstanding:512/"),
    "replay": (r"^BM_Replay", r"^BM_Replay(RawLoop|LogReader|Open)/1000/64/"),
}


# ---- running ----

def fail(message):
    sys.exit(f"report.py: {message}")


def busy_share(seconds=2.0):
    """Share of the machine's CPUs in use."""
    def read():
        with open("/proc/stat") as f:
            fields = [int(x) for x in f.readline().split()[1:9]]
        return sum(fields), fields[3] + fields[4]
    total, idle = read()
    time.sleep(seconds)
    total2, idle2 = read()
    return 1 - (idle2 - idle) / max(1, total2 - total)


def build(directory):
    binary = os.path.join(directory, "bench", "bench_wal")
    cache = os.path.join(directory, "CMakeCache.txt")
    if not os.path.exists(cache):
        configure = ["cmake", "-S", ROOT, "-B", directory, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
                     "-DARION_BENCH=ON"]
    elif "ARION_BENCH:BOOL=ON" not in open(cache).read():
        configure = ["cmake", "-B", directory, "-DARION_BENCH=ON"]
    else:
        configure = ["cmake", "-B", directory]
    for command in (configure, ["cmake", "--build", directory, "--target", "bench_wal"]):
        print("+", " ".join(command), file=sys.stderr)
        if subprocess.run(command, stdout=subprocess.DEVNULL).returncode != 0:
            fail(f"can't build; try by hand: {' '.join(command)}")
    return binary


def split_name(name):
    """A benchmark's name as Google Benchmark prints it -> (name, arguments)."""
    head, *arguments = re.sub(r"/(iterations:\d+|real_time)", "", name).split("/")
    return head, tuple(arguments)


def shapes_of(binary, pattern):
    """The benchmarks that match, those of a shape together: minutes apart a machine that is shared is another one."""
    listed = subprocess.run([binary, "--benchmark_list_tests=true", f"--benchmark_filter={pattern}"], capture_output=True,
                            text=True, check=True).stdout.split("\n")
    shapes = {}
    for name in filter(None, listed):
        head, arguments = split_name(name)
        if head == f"BM_Method<{RING}>":
            arguments += ("durable:1", "loops:1")
        shapes.setdefault(arguments, []).append(name)
    return list(shapes.values())


def run_part(binary, pattern, repetitions, seconds, results):
    """Adds to `results`, shape by shape, so that what was measured is there when one fails."""
    for names in shapes_of(binary, pattern):
        results += run_shape(binary, "|".join(f"^{name}$" for name in names), repetitions, seconds)


def run_shape(binary, pattern, repetitions, seconds):
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        command = [binary, f"--benchmark_filter={pattern}", f"--benchmark_repetitions={repetitions}",
                   "--benchmark_enable_random_interleaving=true", f"--benchmark_min_time={seconds}",
                   f"--benchmark_out={out.name}", "--benchmark_out_format=json"]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              env=dict(os.environ, ARION_BENCH_SECONDS=str(seconds)))
        if done.returncode != 0:
            fail(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr[-3000:]}")
        text = open(out.name).read()
    return json.loads(text)["benchmarks"] if text.strip() else []


def machine():
    with open("/proc/cpuinfo") as f:
        model = re.search(r"model name\s*: (.*)", f.read())
    with open("/proc/meminfo") as f:
        memory = int(re.search(r"MemTotal:\s*(\d+)", f.read()).group(1)) / 2**20
    disk = tempfile.gettempdir()
    mount = subprocess.run(["findmnt", "-n", "-o", "SOURCE,FSTYPE,OPTIONS", "-T", disk], capture_output=True,
                           text=True).stdout.split()
    name = os.path.basename(mount[0]) if mount else "?"
    try:
        with open(f"/sys/block/{name}/queue/write_cache") as f:
            cache = f.read().strip()
    except OSError:
        cache = "cache unknown"
    return (f"{os.cpu_count()} × {model.group(1) if model else platform.machine()}, {memory:.0f} GiB, "
            f"Linux {platform.release()}, {' '.join(mount[:2])} ({mount[2] if len(mount) > 2 else ''}; {cache})")


# ---- reading ----

class Runs:
    """What a part's benchmarks gave: (name, arguments) -> repetitions of counters."""

    def __init__(self, benchmarks):
        self.rows = {}
        for b in benchmarks:
            if b.get("run_type") != "iteration":
                continue
            if b.get("error_occurred"):
                fail(f"{b['name']}: {b.get('error_message')}")
            self.rows.setdefault(split_name(b["run_name"]), []).append(dict(b, order=b.get("repetition_index", 0)))
        for repetitions in self.rows.values():
            repetitions.sort(key=lambda b: b["order"])

    def arguments(self, name):
        def order(arguments):
            values = [a.rsplit(":", 1)[-1] for a in arguments]
            return [int(v) if v.isdigit() else 0 for v in values]
        return sorted((a for n, a in self.rows if n == name), key=order)

    def names(self):
        return sorted({n for n, _ in self.rows})

    def values(self, name, arguments, counter):
        return [r[counter] for r in self.rows.get((name, tuple(arguments)), []) if counter in r]

    def median(self, name, arguments, counter):
        values = self.values(name, arguments, counter)
        return statistics.median(values) if values else None

    def label(self, name, arguments):
        return self.rows[(name, tuple(arguments))][0].get("label", "")

    def ratio(self, counter, name, arguments, other, other_arguments=None):
        """Median, smallest and largest of name's counter over other's, repetition by repetition."""
        a = self.values(name, arguments, counter)
        b = self.values(other, arguments if other_arguments is None else other_arguments, counter)
        ratios = [x / y for x, y in zip(a, b) if y > 0]
        return (statistics.median(ratios), min(ratios), max(ratios)) if ratios else None


def number(value):
    if value is None:
        return "–"
    if value >= 1e5:
        return f"{value / 1e3:,.0f} k"
    if value >= 1e4:
        return f"{value / 1e3:.1f} k"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def times(ratio, at_least=None, at_most=None):
    """A ratio as text; in bold when it misses its goal."""
    if ratio is None:
        return "–"
    middle, low, high = ratio
    text = f"{middle:.2f} ({low:.2f}–{high:.2f})"
    return text if meets(ratio, at_least, at_most) else f"**{text}**"


def meets(ratio, at_least=None, at_most=None):
    return ((at_least is None or round(ratio[0], 2) >= at_least) and
            (at_most is None or round(ratio[0], 2) <= at_most))


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |",
             "|" + "|".join("--:" if i else "---" for i in range(len(header))) + "|"]
    return lines + ["| " + " | ".join(row) + " |" for row in rows] + [""]


class Goals:
    """Goals of issue 4, each with the ratios that were held to it."""

    def __init__(self):
        self.held = {}

    def hold(self, goal, where, ratio, at_least=None, at_most=None):
        if ratio is not None:
            self.held.setdefault(goal, []).append((where, ratio[0], meets(ratio, at_least, at_most), at_least))

    def lines(self):
        rows = []
        for goal, held in self.held.items():
            missed = [h for h in held if not h[2]]
            pick = min if held[0][3] is not None else max
            worst = pick(held, key=lambda h: h[1])
            verdict = "met" if not missed else f"**missed in {len(missed)} of {len(held)}**"
            rows.append([goal, verdict, f"{worst[1]:.2f} ({worst[0]})"])
        return table(["goal", "", "worst row"], rows)


def shape(arguments):
    return ", ".join(a.replace(":", " ") for a in arguments)


# ---- parts ----

def closed(runs, goals):
    ours, raw, ring = "BM_Closed<PrivateLogLoop>", "BM_Closed<RawLoop>", f"BM_Method<{RING}>"
    durable = [a for a in runs.arguments(ours) if "durable:0" not in a]
    rows = []
    for a in durable:
        of_ring = tuple(x for x in a if not x.startswith(("durable", "loops")))
        where = shape(x for x in a if not x.startswith("durable"))
        row = [where, number(runs.median(ours, a, "items_per_second")),
               number(runs.median(ours, a, "p99_us")), number(runs.median(ours, a, "cpu_us"))]
        for name, other, arguments in (("raw loop on our device", raw, a), ("raw ring", ring, of_ring)):
            speed = runs.ratio("items_per_second", ours, a, other, arguments)
            p99 = runs.ratio("p99_us", ours, a, other, arguments)
            cpu = runs.ratio("cpu_us", ours, a, other, arguments)
            if name == "raw ring" and "loops:1" not in a:
                row += ["", "", ""]
                continue
            goals.hold(f"closed loop: ≥ 0.8 of the {name}", where, speed, at_least=0.8)
            goals.hold(f"closed loop: p99 ≤ 1.3 × the {name}'s", where, p99, at_most=1.3)
            goals.hold(f"closed loop: CPU ≤ 1.3 × the {name}'s", where, cpu, at_most=1.3)
            row += [times(speed, at_least=0.8), times(p99, at_most=1.3), times(cpu, at_most=1.3)]
        rows.append(row)
    out = ["### Closed loop, durable", "",
           "Private log; then its ratios to the raw loop through the same device and as many event loops, and to the bare "
           "ring: one thread with one io_uring, so it stands beside one loop, which serves the log's ring itself. p99 and CPU "
           "(of the machine, a record) in µs.", ""]
    out += table(["", "records/s", "p99", "CPU", "× loop", "p99 ×", "CPU ×", "× ring", "p99 ×", "CPU ×"], rows)
    out += page_cache(runs, ours, raw) + methods(runs)
    return out


def page_cache(runs, ours, raw):
    cached = [a for a in runs.arguments(ours) if "durable:0" in a]
    if not cached:
        return []
    rows = [[shape(x for x in a if not x.startswith("durable")), number(runs.median(ours, a, "items_per_second")),
             number(runs.median(ours, a, "p99_us")), number(runs.median(ours, a, "cpu_us")),
             times(runs.ratio("items_per_second", ours, a, raw))] for a in cached]
    return (["### Closed loop, page cache only (reported, no goal)", ""] +
            table(["", "records/s", "p99 µs", "CPU µs", "× loop"], rows))


def methods(runs):
    names = [n for n in runs.names() if n.startswith("BM_Method<")]
    if not names:
        return []
    shapes = runs.arguments(names[0])
    rows = [[shape(a)] + [" · ".join(number(runs.median(n, a, c)) for c in ("items_per_second", "p99_us", "cpu_us"))
                          for n in names] for a in shapes]
    return (["### Methods beside", "", "Raw loops: records/s · p99 µs · CPU µs a record.", ""] +
            table([""] + [runs.label(n, shapes[0]) for n in names], rows))


def slow_flush(runs, goals):
    ours, raw = "BM_SlowFlush<PrivateLogLoop>", "BM_SlowFlush<RawLoop>"
    rows = []
    for a in runs.arguments(ours):
        ratios = [runs.ratio(c, ours, a, raw) for c in ("items_per_second", "p99_us", "cpu_us")]
        goals.hold("1 ms flush: ≥ 0.8 of the raw loop on our device", shape(a), ratios[0], at_least=0.8)
        goals.hold("1 ms flush: p99 ≤ 1.3 × the raw loop's", shape(a), ratios[1], at_most=1.3)
        goals.hold("1 ms flush: CPU ≤ 1.3 × the raw loop's", shape(a), ratios[2], at_most=1.3)
        rows.append([shape(a)] + [number(runs.median(n, a, "items_per_second")) for n in (ours, raw)] +
                    [times(ratios[0], at_least=0.8), times(ratios[1], at_most=1.3), times(ratios[2], at_most=1.3),
                     " · ".join(number(runs.median(n, a, "emulation_cpu_us")) for n in (ours, raw))])
    return (["### With an emulated flush of 1 ms", "",
             "One disk of `emulated_disk.h`. The emulation's own CPU (µs a record, last column) is in both sides' CPU.", ""] +
            table(["", "private log", "raw loop", "×", "p99 ×", "CPU ×", "emulation"], rows))


def open_loop(runs, goals):
    ours, minimal = "BM_OpenLoop<BenchLog>", "BM_OpenLoop<MinimalLog>"
    ring, nothing = "BM_OpenLoopRawRing", "BM_OpenLoop<NoLog>"
    rows = []
    for a in (a for a in runs.arguments(ours) if "durable:0" not in a):
        where = shape(x for x in a if not x.startswith("durable"))
        row = [where, number(runs.median(ours, a, "rate"))]
        row += [" · ".join(number(runs.median(n, a, c)) for c in ("p50_us", "p99_us", "cpu_us"))
                for n in (ours, minimal, ring)] + [number(runs.median(nothing, a, "cpu_us"))]
        for name, other in (("raw loop on our device", minimal), ("raw ring", ring)):
            p99, cpu = (runs.ratio(c, ours, a, other) for c in ("p99_us", "cpu_us"))
            goals.hold(f"open loop: p99 ≤ 1.3 × the {name}'s", where, p99, at_most=1.3)
            goals.hold(f"open loop: CPU ≤ 1.3 × the {name}'s", where, cpu, at_most=1.3)
            row += [times(p99, at_most=1.3), times(cpu, at_most=1.3)]
        rows.append(row)
    cached = [[shape(a[:2])] + [number(runs.median(ours, a, c)) for c in ("rate", "p50_us", "p99_us", "cpu_us")]
              for a in runs.arguments(ours) if "durable:0" in a]
    if cached:
        cached = table(["page cache only (no goal)", "records/s", "p50 µs", "p99 µs", "CPU µs"], cached)
    return (["### Open loop at half of capacity", "",
             "Poisson arrivals fixed beforehand, latency from when a record was due. p50 · p99 µs · CPU µs a record. "
             "*Load*: CPU of the arrivals alone, in all three (the ring's are cheaper).", ""] +
            table(["", "records/s", "private log", "raw loop on our device", "raw ring", "load", "p99 × loop", "CPU ×",
                   "p99 × ring", "CPU ×"], rows) + cached)


def break_even(points):
    """Records per write at which the ratio reaches 1, between two measured points."""
    points = sorted(points)
    if points[0][1] >= 1:
        return f"below {points[0][0]:.1f} records per write"
    for (b0, r0), (b1, r1) in zip(points, points[1:]):
        if r0 < 1 <= r1:
            part = (1 - r0) / (r1 - r0)
            return f"{math.exp(math.log(b0) + part * (math.log(b1) - math.log(b0))):.1f} records per write"
    return f"not reached at {points[-1][0]:.1f} records per write"


SHARED = (("append + fdatasync, as the old versions", "SharedAppend"), ("our method", "SharedPrewritten"))


def one_disk(runs, goals):
    ours = "BM_OneDisk<PrivateLogs>"
    rows, points = [], {}
    for a in runs.arguments(ours):
        batch = runs.median(ours, a, "records_per_write")
        row = [shape(a), number(runs.median(ours, a, "items_per_second")), number(batch),
               number(runs.median(ours, a, "mean_us")), number(runs.median(ours, a, "cpu_us"))]
        for _, shared in SHARED:
            other = f"BM_OneDisk<{shared}>"
            ratio = runs.ratio("items_per_second", ours, a, other)
            if "partitions:64" in a and ratio:
                points.setdefault(shared, []).append((batch, ratio[0]))
            row += [number(runs.median(other, a, "items_per_second")),
                    number(runs.median(other, a, "records_per_write")), number(runs.median(other, a, "cpu_us")),
                    times(ratio)]
        rows.append(row)
    out = ["### Private logs against one shared log, this disk", "",
           "*Batch*: records per write. Mean latency and CPU in µs. The shared log's private logs are "
           "written lazily beside it (`shared_log_baseline.h`).", ""]
    out += table(["", "private/s", "batch", "mean", "CPU"] +
                 [x for how, _ in SHARED for x in (f"shared ({how})/s", "batch", "CPU", "private ×")], rows)
    for how, shared in SHARED:
        if shared in points:
            out.append(f"Break-even with 64 partitions against the shared log ({how}): {break_even(points[shared])}.")
    return out + [""]


def disks(runs, goals):
    ours = "BM_EmulatedDisks<PrivateLogs>"
    rows = []
    for a in runs.arguments(ours):
        count = int(next(x for x in a if x.startswith("disks")).split(":")[1])
        wanted = 1.2 if count == 2 else 2.0
        row = [shape(a), number(runs.median(ours, a, "items_per_second")),
               number(runs.median(ours, a, "records_per_write")), number(runs.median(ours, a, "mean_us")),
               number(runs.median(ours, a, "emulation_cpu_us"))]
        for how, shared in SHARED:
            other = f"BM_EmulatedDisks<{shared}>"
            speed = runs.ratio("items_per_second", ours, a, other)
            mean = runs.ratio("mean_us", ours, a, other)
            goals.hold(f"{count} disks: ≥ {wanted} × the shared log ({how})", shape(a), speed, at_least=wanted)
            goals.hold(f"{count} disks: lower mean latency than the shared log ({how})", shape(a), mean, at_most=0.99)
            row += [number(runs.median(other, a, "items_per_second")),
                    number(runs.median(other, a, "records_per_write")),
                    times(speed, at_least=wanted), times(mean, at_most=0.99)]
        rows.append(row)
    return (["### Private logs against one shared log, emulated disks", "",
             "Each disk: one flush in flight, 1 ms and, where *mbps* is not 0, that many MB/s (`emulated_disk.h` says what "
             "is emulated). As many disks on both sides; the shared log has one for itself. Mean latency and the "
             "emulation's CPU in µs. Without a bandwidth limit a closed loop is outstanding records / latency, and "
             "latency is one to two flushes however many disks there are: only a disk that has enough to write can be "
             "relieved by others.", ""] +
            table(["", "private/s", "batch", "mean", "emulation"] +
                  [x for how, _ in SHARED for x in (f"shared ({how})/s", "batch", "private ×", "mean ×")], rows))


def replay(runs, goals):
    raw = "BM_ReplayRawLoop"
    others = [n for n in runs.names() if n != raw]
    rows = []
    for a in runs.arguments(raw):
        record, block, cold = a
        where = f"{record} B records, {block} KiB blocks, {'cold' if cold == '1' else 'hot'}"
        row = [where, number(runs.median(raw, a, "bytes_per_second") / 1e6)]
        for name in others:
            ratio = runs.ratio("bytes_per_second", name, a, raw)
            wanted = 0.8 if name in ("BM_ReplayLogReader", "BM_ReplayOpen") else None
            if wanted:
                goals.hold(f"replay without apply, {name[9:]}: ≥ 0.8 of the raw loop", where, ratio, at_least=wanted)
            row += [number((runs.median(name, a, "bytes_per_second") or 0) / 1e6), times(ratio, at_least=wanted)]
        rows.append(row)
    return (["### Replay without apply", "", "MB/s, and its ratio to a raw loop that reads, checksums and walks the "
             "headers. `log_replay_bench.cc` says what each builds.", ""] +
            table(["", "raw loop"] + [x for n in others for x in (n[9:], "×")], rows))


WRITERS = {"closed": closed, "slow_flush": slow_flush, "open": open_loop, "one_disk": one_disk, "disks": disks,
           "replay": replay}


def report(results, facts):
    goals = Goals()
    body = []
    for part, benchmarks in results.items():
        runs = Runs(benchmarks)
        if runs.rows:
            body += WRITERS[part](runs, goals)
    head = ["## Private log", "", facts, "", "    " + " ".join(["bench/wal/report.py"] + sys.argv[1:]), "",
            "Ratios: median (smallest–largest) within the run; bold misses its goal.", ""]
    return "\n".join(head + goals.lines() + body)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build"), help="build directory, made when missing")
    parser.add_argument("--quick", action="store_true", help="1 KiB and a few shapes: about two minutes")
    parser.add_argument("--part", action="append", choices=PARTS, help="only this part; may be repeated")
    parser.add_argument("--repetitions", type=int)
    parser.add_argument("--seconds", type=float, help="of one measured run")
    parser.add_argument("--force", action="store_true", help="run on a busy machine")
    parser.add_argument("--output", help="where the section goes; default: standard output")
    parser.add_argument("--json", help="keep the raw results here; if it exists, only report from it")
    options = parser.parse_args()
    repetitions = options.repetitions or (3 if options.quick else 5)
    seconds = options.seconds or (0.25 if options.quick else 0.4)
    if options.json and os.path.exists(options.json):
        with open(options.json) as f:
            kept = json.load(f)
    else:
        binary = build(options.build)
        busy = busy_share()
        if busy > 0.1 and not options.force:
            fail(f"{busy:.0%} of this machine's CPUs are in use: figures would say nothing (--force runs nevertheless)")
        load = os.getloadavg()[0]
        commit = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True,
                                text=True).stdout.strip()
        started = time.time()
        results = {}
        for part in options.part or PARTS:
            begun = time.time()
            results[part] = []
            run_part(binary, PARTS[part][1 if options.quick else 0], repetitions, seconds, results[part])
            print(f"{part}: {len(results[part])} results, {time.time() - begun:.0f} s", file=sys.stderr)
        facts = (f"{datetime.date.today()}, commit {commit}, {machine()}. CPUs in use before: {busy:.0%} (load average "
                 f"{load:.2f}). {repetitions} interleaved repetitions of {seconds} s, {time.time() - started:.0f} s in all.")
        if busy > 0.1:
            facts += " **The machine was busy: only ratios mean something, if anything does.**"
        kept = {"facts": facts, "results": results}
        if options.json:
            with open(options.json, "w") as f:
                json.dump(kept, f)
    text = report(kept["results"], kept["facts"])
    if options.output:
        with open(options.output, "w") as f:
            f.write(text + "\n")
    else:
        print(text)


if __name__ == "__main__":
    main()
