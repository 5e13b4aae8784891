"""What a duplication to another cluster costs, and how far behind that is: puts with and without, the lag while both are well, and
how soon it is back after the other cluster could not be reached for a while.

SPDX-License-Identifier: Apache-2.0
"""

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import threading
import time

import harness
import measuring
import two_clusters

TABLE = "temp"  # measuring.arion_load's
GOAL_P99_RATIO, GOAL_LAG_SECONDS, GOAL_BACK_SECONDS = 1.2, 1, 30


def shell(run, cluster, command):
    return json.loads(run.command([os.path.join(run.build, "arion_shell"), f"--meta={cluster.meta.address}", "-j", "-e", command]).splitlines()[-1])


class LagWatch:
    """The largest lag over all partitions, ten times a second: (time, seconds)."""

    def __init__(self, cluster):
        self.cluster, self.found, self.is_over = cluster, [], threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()

    def now(self):
        samples = [sample for server in self.cluster.replicas for sample in harness.metrics(server)]
        return max((value for name, _, value in samples if name == "arion_duplication_lag_seconds"), default=0)

    def watch(self):
        while not self.is_over.wait(0.1):
            self.found.append((time.monotonic(), self.now()))

    def end(self):
        self.is_over.set()
        self.thread.join()
        return self.found


def puts(run, cluster, records, rate, seconds):
    """Open loop of updates only: p99 in ms, and how many a second there were."""
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        subprocess.run(
            [os.path.join(run.build, "arion_load"), "run", f"--meta={cluster.meta.address}", f"--table={TABLE}", "--workload=a",
             "-p=readproportion=0", "-p=updateproportion=1", "-p=fieldcount=1", "-p=fieldlength=100", f"-p=recordcount={records}",
             f"--rate={rate}", "--warmup=2", f"--seconds={seconds}", f"--json={report.name}"], check=False,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        phase = json.load(report)["phases"][-1]
    kind = phase["kinds"][0]
    return kind["intended_us"]["p99"] / 1000, kind["count"] / seconds


def pin(cluster, cpus):
    """All its servers' threads."""
    for server in cluster.servers():
        for thread in os.listdir(f"/proc/{server.process.pid}/task"):
            with contextlib.suppress(ProcessLookupError):  # it has ended
                os.sched_setaffinity(int(thread), cpus)


def p99(values):
    return sorted(values)[max(0, int(len(values) * 0.99) - 1)]


def measure(run):
    run.binary("cluster_programs", "cluster_programs")
    records, rate, seconds, rounds, cut, watched = (1000, 200, 2, 1, 2, 5) if run.quick else (200_000, 8000, 30, 4, 60, 2 * GOAL_BACK_SECONDS)
    clusters = two_clusters.start_two(replica_threads=harness.SHARED_LOOPS)
    source, target = clusters.values()
    for cluster in clusters.values():
        cluster.create_table(TABLE, partitions=8)
    measuring.arion_load(run, source, "load", f"-p=recordcount={records}", "-p=fieldcount=1", "-p=fieldlength=100", "--threads=16")
    lags, rates = [], []

    def duplicated(rate):
        dupid = shell(run, source, f"add_dup {TABLE} c2")["dup_id"]
        harness.wait_for("it sends", lambda: shell(run, source, f"query_dup {TABLE}")["duplications"][0]["status"] == "DS_LOG", 30)
        time.sleep(5)  # until every partition has begun
        watch = LagWatch(source)
        latency, made = puts(run, source, records, rate, seconds)
        lags.extend(lag for _, lag in watch.end())
        rates.append(made)
        harness.wait_for("all is there", lambda: watch.now() == 0, 60)
        shell(run, source, f"remove_dup {TABLE} {dupid}")
        time.sleep(5)
        return latency

    def compare(rate):
        results = measuring.in_turn({"duplicated": lambda: duplicated(rate), "alone": lambda: puts(run, source, records, rate, seconds)[0]},
                                    rounds)
        return results, measuring.Comparison(results["duplicated"], results["alone"])
    # Here both clusters share all cores; then each, with half of them, is by itself, as clusters are.
    results, ratio = compare(rate)
    every = os.sched_getaffinity(0)
    half = set(sorted(every)[:len(every) // 2]) or every
    pin(source, half)
    pin(target, every - half or every)
    os.sched_setaffinity(0, half)  # the load's, too
    apart, ratio_apart = compare(rate // 4)
    for cluster in clusters.values():
        pin(cluster, every)
    os.sched_setaffinity(0, every)

    # The other cluster stands still for a while; writes go on.
    shell(run, source, f"add_dup {TABLE} c2")
    time.sleep(6)
    load = threading.Thread(target=puts, args=(run, source, records, rate // 2, cut + watched))
    load.start()
    time.sleep(5)
    for server in target.servers():
        os.kill(server.process.pid, signal.SIGSTOP)
    time.sleep(cut)
    watch = LagWatch(source)
    for server in target.servers():
        os.kill(server.process.pid, signal.SIGCONT)
    begin = time.monotonic()
    back = []
    while time.monotonic() - begin < watched and not back:
        back = [at - begin for at, lag in list(watch.found) if lag < 2 and at > begin]
        time.sleep(0.2)
    load.join()
    watch.end()
    run.keep({"p99 ms": results, "p99 ms apart": apart, "lag s": lags, "puts/s": rates, "back s": back[:1]})
    run.table("p99 of updates of 100 bytes, ms; three servers each", ["", "alone", "duplicated", f"ratio (goal {GOAL_P99_RATIO})"], [
        (f"{rate}/s, both clusters on all cores", measuring.spread(results["alone"]), measuring.spread(results["duplicated"]), ratio),
        (f"{rate // 4}/s, each on half of the cores, the load on the source's", measuring.spread(apart["alone"]),
         measuring.spread(apart["duplicated"]), ratio_apart)])
    run.table("How far the other cluster is behind", ["", "s"], [
        ("median", round(sorted(lags)[len(lags) // 2], 3)), (f"p99 (goal {GOAL_LAG_SECONDS})", round(p99(lags), 3)), ("most", round(max(lags), 3)),
        (f"below 2 s again after {cut} s without it (goal {GOAL_BACK_SECONDS})", round(back[0], 1) if back else "never")])
    for cluster in clusters.values():
        cluster.destroy()
    return {"p99_ratio": round(ratio.ratio, 2), "p99_ratio_apart": round(ratio_apart.ratio, 2), "lag_p99_s": round(p99(lags), 3), "back_s": round(back[0], 1) if back else -1}
