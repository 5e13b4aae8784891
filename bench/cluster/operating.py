#!/usr/bin/env python3
"""What operating costs: the shell from its start to its first prompt; /metrics of 1,000 partitions, and what writes notice of it.

    ninja -C build arion_meta_bin arion_replica_bin arion_shell_bin arion_load_bin
    bench/cluster/operating.py [--partitions 1000] [--repeats 21] [--seconds 10]

One meta and three replica servers, durable; every partition has had puts, gets and multi_gets. Wall time, medians; beside each
what the server or the shell needed of a core, which a busy machine does not change much. Writes run at a fixed rate, in turn
with nobody reading /metrics and with a reading of every server each second.
SPDX-License-Identifier: Apache-2.0
"""

import argparse
import json
import os
import pty
import resource
import select
import signal
import statistics
import subprocess
import sys
import threading
import time
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "cluster"))
import cpu_time  # noqa: E402
import harness  # noqa: E402
import thft  # noqa: E402


def first_prompt(cluster):
    """Seconds until the prompt is there, on a terminal; and of a core."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.monotonic()
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(os.path.join(harness.BUILD, "arion_shell"), ["arion_shell", f"--meta={cluster.meta.address}"])
    seen = b""
    while b"> " not in seen.partition(b"help lists the commands")[2]:
        if not select.select([terminal], [], [], 30)[0]:
            raise AssertionError(f"no prompt: {seen!r}")
        seen += os.read(terminal, 4096)
    took = time.monotonic() - begin
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(terminal)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def read_metrics(server, query=""):
    request = urllib.request.Request(f"http://{server.address}/metrics{query}", headers={"Accept": "text/plain"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return len(answer.read())


def times_of(server, query, repeats):
    took, cpu = [], cpu_time.cpu_seconds([server.process.pid])
    for _ in range(repeats):
        begin = time.monotonic()
        size = read_metrics(server, query)
        took.append(time.monotonic() - begin)
        time.sleep(0.11)  # a reading serves the next 100 ms too
    return statistics.median(took), (cpu_time.cpu_seconds([server.process.pid]) - cpu) / repeats, size


def load(cluster, *flags):
    done = subprocess.run([os.path.join(harness.BUILD, "arion_load"), *flags, f"--meta={cluster.meta.address}", "-p", "recordcount=20000",
                           "-p", "fieldcount=1", "-p", "fieldlength=100", "-j"], capture_output=True, text=True, timeout=600, check=False)
    return json.loads(done.stdout)


def writes(cluster, seconds):
    report = load(cluster, "run", "-p", "readproportion=0", "-p", "updateproportion=1", "-p", "workload=core", "--workload", "a", "--rate", "200",
                  "--seconds", str(seconds))
    kind = next(k for k in report["phases"][-1]["kinds"] if k["operation"] == "UPDATE")
    return kind["service_us"]["p99"] / 1000, kind["service_us"]["max"] / 1000


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--partitions", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=21)
    parser.add_argument("--seconds", type=int, default=10)
    arguments = parser.parse_args()
    cluster = harness.Cluster()
    try:
        cluster.start()
        harness.wait_for("the table is taken", lambda: thft.create_table(cluster.meta.address, "temp", arguments.partitions, 3) == "ERR_OK", 60)
        cluster.wait_healthy("temp", seconds=900)
        load(cluster, "load", "--workload", "a")
        load(cluster, "run", "--workload", "a", "-p", "readproportion=0.6", "-p", "updateproportion=0.2", "-p", "multigetproportion=0.2",
             "--operations", "20000")

        found = [first_prompt(cluster) for _ in range(arguments.repeats)]
        print(f"arion_shell to its first prompt, {arguments.partitions} partitions: median {1000 * statistics.median(t for t, _ in found):.0f} ms, "
              f"least {1000 * min(t for t, _ in found):.0f} ms; {1000 * statistics.median(c for _, c in found):.0f} ms of a core (goal: 100 ms)")
        for what, server, query in (("a replica server", cluster.replicas[0], ""), ("the meta server", cluster.meta, ""),
                                    ("a replica server, by partition", cluster.replicas[0], "?level=partition")):
            median, cpu, size = times_of(server, query, arguments.repeats)
            print(f"/metrics of {what}: median {1000 * median:.1f} ms, {1000 * cpu:.1f} ms of a core, {size / 1000:.0f} kB (goal: 20 ms)")

        quiet, read, over = [], [], threading.Event()
        for _ in range(3):
            quiet.append(writes(cluster, arguments.seconds))
            over.clear()

            def scrape():
                while not over.wait(1):
                    for server in cluster.servers():
                        read_metrics(server)
            reader = threading.Thread(target=scrape)
            reader.start()
            read.append(writes(cluster, arguments.seconds))
            over.set()
            reader.join()
        for name, rounds in (("nobody reads /metrics", quiet), ("all are read each second", read)):
            print(f"writes while {name}: p99 {statistics.median(p for p, _ in rounds):.1f} ms, longest {statistics.median(m for _, m in rounds):.1f} ms "
                  f"(medians of 3, in turn)")
    finally:
        cluster.destroy()


if __name__ == "__main__":
    main()
