"""Seven mixes of reads and writes over three placements of the log, each in a cluster of three servers, in turn.

    shared log   one log for all of a server's partitions, on a disk of its own; private logs are written lazily for learners
    one home     private logs, all in one directory on a disk of its own (log_placement = home)
    data disks   private logs beside their data (the shipped default)

Twice: on this machine's disk, where a flush is cheap and all directories share it, and on emulated disks, four a server, each with
flushes of its own of 1 ms (bench/wal/emulated_disk.h; only logs are slowed). The servers are bench/cluster/replica_variant: the
shipped server with another log, or other disks, behind the same facade. Records of 1000 bytes, durable on all three members.
SPDX-License-Identifier: Apache-2.0
"""

import os
import statistics

import harness
import measuring

# reads : writes, and how many operations three clients have under way in sum
MIXES = {(0, 1): 45, (1, 0): 150, (1, 1): 90, (1, 3): 45, (1, 30): 45, (3, 1): 90, (30, 1): 150}
PLACEMENTS = ("shared log", "one home", "data disks")
COMPARED = (("data disks", "shared log"), ("one home", "shared log"), ("data disks", "one home"))
GOALS = {"qps": "1.2", "average read": "below 1", "average update": "below 1"}  # of data disks : shared log
CLIENTS = 3
DISKS = 4
FLUSH_US = 1000
PARTITIONS = 16
COLUMNS = ("avg", "min", "max", "p95", "p99", "p99.9", "p99.99")


class Target:
    """A cluster of one placement, filled."""

    def __init__(self, run, placement, flush_us, records):
        self.run, self.records, self.placement = run, records, placement
        log = "shared:shared_log" if placement == "shared log" else "private"
        # The disk that the log has for itself is one of the four.
        disks = DISKS if placement == "data disks" else DISKS - 1
        settings = {"block_cache_size": "256 MiB"}
        if placement == "one home":
            settings.update(log_placement="home", log_home_directory="{directory}/home")
        variant = os.path.join(run.build, "bench", "replica_variant")
        self.cluster = harness.Cluster(data_dirs=disks, replica_settings=settings, replica_command=[variant, log, str(flush_us)],
                                       replica_threads=harness.SHARED_LOOPS)
        self.cluster.start()
        self.cluster.create_table("temp", PARTITIONS)
        self.load("load", "--threads=64")

    def load(self, command, *flags):
        return measuring.arion_load(self.run, self.cluster, command, "-p", f"recordcount={self.records}", "-p", "fieldcount=1",
                                    "-p", "fieldlength=1000", *flags)

    def mix(self, reads, writes, seconds):
        """{"qps": .., "READ": latencies in us, "UPDATE": ..} of a closed loop."""
        phase = self.load("run", f"--clients={CLIENTS}", f"--threads={MIXES[reads, writes]}", f"--seconds={seconds}",
                          f"--warmup={seconds / 4}", "-p", f"readproportion={reads / (reads + writes):.6f}", "-p",
                          f"updateproportion={1 - round(reads / (reads + writes), 6):.6f}", "-p", "requestdistribution=uniform")
        assert not phase["errors"], phase  # what fails at once would look quick
        row = {"placement": self.placement, "mix": f"{reads}:{writes}", "qps": phase["ops_per_second"]}
        row.update({kind["operation"]: kind["service_us"] for kind in phase["kinds"] if kind["succeeded"]})
        self.run.keep(row)
        return row


def measure(run):
    for target in ("cluster_programs", "replica_variant", "arion_load_bin"):
        run.binary(target, target)
    figures = {}
    for name, flush_us in (("this disk", 0), (f"{DISKS} emulated disks, flush {FLUSH_US} us", FLUSH_US)):
        figures["real" if flush_us == 0 else "emulated"] = measure_disks(run, name, flush_us)
    return figures


def measure_disks(run, name, flush_us):
    records, seconds, repeats = (2000, 0.4, 1) if run.quick else (100000, 3, 5)
    targets = {placement: Target(run, placement, flush_us, records) for placement in PLACEMENTS}
    pids = [pid for target in targets.values() for pid in target.cluster.replica_pids()]
    figures, rows, compared, bars = {}, [], [], {placement: [] for placement in PLACEMENTS}
    for reads, writes in MIXES:
        mix = f"{reads}:{writes}"
        results = measuring.in_turn({placement: lambda t=target: t.mix(reads, writes, seconds)
                                     for placement, target in targets.items()}, repeats, before=lambda: run.settle(pids))
        qps = {placement: [row["qps"] for row in results[placement]] for placement in PLACEMENTS}
        for placement in PLACEMENTS:
            bars[placement].append(statistics.median(qps[placement]))
            for kind in ("READ", "UPDATE"):
                if kind not in results[placement][0]:
                    continue
                latencies = [[row[kind][column] for row in results[placement]] for column in COLUMNS]
                rows.append((mix, MIXES[reads, writes], placement, measuring.spread(qps[placement], 0), kind.lower(),
                             *(f"{statistics.median(values):.0f}" for values in latencies)))
        comparisons = compare(results)
        compared += [(mix, what, *of.values(), GOALS[what]) for what, of in comparisons.items()]
        figures[mix] = {"qps": {placement: round(statistics.median(qps[placement])) for placement in PLACEMENTS},
                        "compared": {what: {pair: {"ratio": round(one.ratio, 3), "p": round(one.chance, 3)} for pair, one in of.items()}
                                     for what, of in comparisons.items()}}
    run.table(f"Mixes on {name}", ["reads:writes", "threads", "log", "qps", "of", *(f"{column} us" for column in COLUMNS)], rows)
    run.table(f"Mixes on {name}, compared",
              ["reads:writes", "of", *(f"{a} : {b}" for a, b in COMPARED), "goal (data disks : shared log)"], compared)
    run.plot(f"Operations a second, {name}", [f"{r}:{w}" for r, w in MIXES], bars)
    for target in targets.values():
        target.cluster.destroy()
    return figures


def compare(results):
    """{"qps" or "average read" or "average update": {"one placement : another": Comparison}} of {placement: rows of mix}."""
    values = {"qps": {placement: [row["qps"] for row in rows] for placement, rows in results.items()}}
    for kind in ("READ", "UPDATE"):
        if kind in results["shared log"][0]:
            values[f"average {kind.lower()}"] = {placement: [row[kind]["avg"] for row in rows] for placement, rows in results.items()}
    return {what: {f"{a} : {b}": measuring.Comparison(of[a], of[b]) for a, b in COMPARED} for what, of in values.items()}
