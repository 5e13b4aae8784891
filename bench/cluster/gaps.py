#!/usr/bin/env python3
"""For how long a partition takes no writes, as Arion's C++ client sees it: when its primary is moved to another server,
and when its primary's server is killed or stopped cleanly.

    cmake -S . -B build-bench -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DARION_BENCH=ON
    ninja -C build-bench arion_meta_bin arion_replica_bin arion_shell_bin gap_writer
    ARION_BUILD=build-bench bench/cluster/gaps.py [--moves 50] [--kills 10] [--stops 3]
    ARION_BUILD=build-bench bench/cluster/gaps.py --shell 2    # drain, balance, rolling restart, each so often, on four servers

One meta and three replica servers on this machine, 8 partitions x 3 replicas, durable; lease 2 s and grace 3 s (times ARION_PATIENCE). 16 records are
written in closed loops; a gap is the longest time between two acknowledgements of a record of the partition in question. A
virtual machine that uses up what its host grants it stands still for tens or hundreds of milliseconds: a process of the highest
priority that only naps sees that too (as root), and each line says what the gaps are without it.
SPDX-License-Identifier: Apache-2.0
"""

import argparse
import os
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "cluster"))
import data_api  # noqa: E402
import harness  # noqa: E402

RECORDS = 16


NAPS = """
import os, sys, time
try:
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
except PermissionError:
    sys.exit()
while True:
    begin = time.monotonic()
    time.sleep(0.001)
    end = time.monotonic()
    if end - begin > 0.004:
        print(begin, end, flush=True)
"""


class Machine:
    """When it stood still, as a nap under a real-time priority shows: (begin, end)."""

    def __init__(self):
        self.seen = []
        self.process = subprocess.Popen([sys.executable, "-c", NAPS], stdout=subprocess.PIPE, text=True)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.seen.append(tuple(map(float, line.split())))

    def stood_still(self, begin, end):
        return sum(max(0, min(b, end) - max(a, begin)) for a, b in list(self.seen))

    def stop(self):
        self.process.kill()
        self.process.wait()


class Gaps:
    """What the writer tells: (partition, begin, end), in seconds of the monotonic clock."""

    def __init__(self, cluster):
        table = data_api.DataApi(cluster.meta.address, "temp")
        self.partition = {f"gap{i}": table.partition_of(b"gap%d" % i) for i in range(RECORDS)}
        table.close()
        self.seen = []
        self.machine = Machine()
        self.process = subprocess.Popen(
            [os.path.join(harness.BUILD, "bench", "gap_writer"), f"--meta={cluster.meta.address}", f"--records={RECORDS}"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            record, begin, end = line.split()
            self.seen.append((self.partition[record], float(begin) / 1000, float(end) / 1000))

    def written(self):
        return sorted(set(self.partition.values()))

    def longest(self, partitions, begin, end):
        """Milliseconds of the longest one of them that overlaps that time; of the longest without what the machine stood still."""
        found = [(a, b) for p, a, b in list(self.seen) if p in partitions and b > begin and a < end]
        return (max((1000 * (b - a) for a, b in found), default=5.0),
                max((1000 * (b - a - self.machine.stood_still(a, b)) for a, b in found), default=5.0))

    def stop(self):
        self.process.stdin.close()
        self.process.wait()
        self.machine.stop()


def shell(cluster, command):
    return harness.run([os.path.join(harness.BUILD, "arion_shell"), "--meta", cluster.meta.address, "-e", command])


def configuration(cluster, index):
    return next((p for p in cluster.partitions("temp") if p["index"] == index), None)


def primaries(cluster):
    return {p["index"]: p["primary"] for p in cluster.partitions("temp")}


def show(what, gaps, goal):
    if not gaps:
        return
    whole, own = (sorted(values) for values in zip(*gaps))
    at = lambda values, share: values[min(len(values) - 1, int(share * len(values)))]  # noqa: E731
    ranks = lambda values: ", ".join(f"p{100 * s:.0f} {at(values, s):.0f} ms" for s in (0.5, 0.9, 0.99))  # noqa: E731
    print(f"{what}: {len(gaps)} gaps, {ranks(whole)}, max {whole[-1]:.0f} ms; without what the machine stood still "
          f"{ranks(own)}, max {own[-1]:.0f} ms (goal: {goal})", flush=True)


def quiet(cluster, gaps, seconds=4):
    """The longest pause of any record while nothing happens."""
    begin = time.monotonic()
    time.sleep(seconds)
    whole, own = gaps.longest(gaps.written(), begin, time.monotonic())
    return f"{whole:.0f} ms, {own:.0f} ms without what the machine stood still"


def move_primaries(cluster, gaps, count):
    app_id = data_api.DataApi(cluster.meta.address, "temp").app_id
    found = []
    for i in range(count):
        index = gaps.written()[i % len(gaps.written())]
        before = configuration(cluster, index)
        begin = time.monotonic()
        shell(cluster, f"balance -g {app_id}.{index} -p move_pri -f {before['primary']} -t {before['secondaries'][0]} -y")
        harness.wait_for("the primary is another", lambda: primaries(cluster).get(index) == before["secondaries"][0])
        time.sleep(0.5)
        found.append(gaps.longest([index], begin, time.monotonic()))
    show("planned move of a primary", found, "p99 <= 50 ms, max <= 300 ms")


def end_servers(cluster, gaps, count, how):
    found = []
    for i in range(count):
        cluster.wait_healthy("temp")
        victim = cluster.replicas[i % 3]
        moved = [p for p, primary in primaries(cluster).items() if primary == victim.address and p in gaps.written()]
        time.sleep(1)
        begin = time.monotonic()
        if how == "kill":
            victim.kill()
        else:
            victim.stop()
        harness.wait_for("every partition has a primary that lives",
                         lambda: all(p and p != victim.address for p in primaries(cluster).values()))
        time.sleep(2)
        end = time.monotonic()
        victim.start()
        cluster.wait_listening(victim)
        time.sleep(2)
        found += [gaps.longest([p], begin, end) for p in moved]
        cluster.wait_healthy("temp")
        for p in list(primaries(cluster)):  # the next one to go shall have primaries, too
            before = configuration(cluster, p)
            follower = cluster.replicas[(i + 1) % 3].address
            if p % 2 == 0 and follower in before["secondaries"]:
                app_id = data_api.DataApi(cluster.meta.address, "temp").app_id
                shell(cluster, f"balance -g {app_id}.{p} -p move_pri -f {before['primary']} -t {follower} -y")
        time.sleep(2)
    show("SIGKILL of the primary's server" if how == "kill" else "clean stop of the primary's server", found,
         f"grace + 500 ms = {3000 * harness.PATIENCE + 500:g} ms" if how == "kill" else "p99 <= 50 ms, max <= 300 ms")


def from_the_shell(cluster, gaps, rounds):
    supervisor = harness.Supervisor(cluster)
    found = {"drain": [], "balance": [], "rolling-restart": []}

    def during(what, work):
        cluster.wait_healthy("temp")
        begin = time.monotonic()
        work()
        time.sleep(0.5)
        found[what] += [gaps.longest([p], begin, time.monotonic()) for p in gaps.written()]

    def balance(emptied):
        shell(cluster, "set_meta_level lively")
        harness.wait_for("the emptied server has copies again",
                         lambda: sum(emptied in [p["primary"], *p["secondaries"]] for p in cluster.partitions("temp")) >= 5, 60)
        shell(cluster, "set_meta_level steady")
    for i in range(rounds):
        victim = cluster.replicas[i % len(cluster.replicas)].address
        during("drain", lambda: shell(cluster, f"drain {victim} -y"))
        during("balance", lambda: balance(victim))
        during("rolling-restart", lambda: shell(cluster, f'rolling-restart -y -w 2m -c "{supervisor.command}"'))
    supervisor.stop()
    for what, values in found.items():
        show(f"{what}, the longest of each partition", values, "p99 <= 50 ms, max <= 300 ms")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--moves", type=int, default=50)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--stops", type=int, default=3)
    parser.add_argument("--shell", type=int, default=0)
    arguments = parser.parse_args()
    cluster = harness.Cluster(servers=4 if arguments.shell else 3)
    try:
        cluster.start()
        cluster.create_table("temp")
        gaps = Gaps(cluster)
        time.sleep(2)
        print(f"nothing happens: longest pause {quiet(cluster, gaps)}", flush=True)
        if arguments.shell:
            from_the_shell(cluster, gaps, arguments.shell)
        else:
            move_primaries(cluster, gaps, arguments.moves)
            end_servers(cluster, gaps, arguments.kills, "kill")
            end_servers(cluster, gaps, arguments.stops, "stop")
        gaps.stop()
    finally:
        cluster.destroy()


if __name__ == "__main__":
    main()
