#!/usr/bin/env python3
"""Goals bench/RESULTS.md G16 and G20, by hand: does anything grow, or go wrong, in a long time?

    tests/cluster/soak.py --minutes 60            # mixed load, verified, and a fault a minute
    tests/cluster/soak.py --hostile --minutes 10  # random bytes on 200 connections beside other clients

The first: one meta and three replica servers; two of these and the meta server are killed, stopped, frozen in turn; the third one
is never, and neither is its clients' process: of it memory, descriptors, threads and the space of logs are read each ten
seconds, after a tenth of the time. The slope is the least squares' one. Memory also without what is meant to fill up: the
block cache (8 MiB here) and the records that no file holds yet. Log files of 1 MiB are full after some minutes, and can be dropped.
SPDX-License-Identifier: Apache-2.0
"""

import argparse
import json
import multiprocessing
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time

import harness

RECORDS, RATE = 20000, 200


def load(cluster, seconds, *more):
    """The process; report_of waits for it."""
    return subprocess.Popen([os.path.join(harness.BUILD, "arion_load"), "run", "--workload", "a", f"--meta={cluster.meta.address}",
                             "--json", os.path.join(cluster.directory, "load.json"),
                             "-p", f"recordcount={RECORDS}", "-p", "fieldcount=1", "-p", "fieldlength=200", "--rate", str(RATE), "--threads", "64",
                             "--seconds", str(seconds), *more], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def report_of(cluster, process):
    process.wait()
    with open(os.path.join(cluster.directory, "load.json")) as file:
        return json.load(file)


def run_of(report):
    return next(phase for phase in report["phases"] if phase["phase"] == "run")


def fill(cluster):
    harness.run([os.path.join(harness.BUILD, "arion_load"), "load", "--workload", "a", f"--meta={cluster.meta.address}", "-p", f"recordcount={RECORDS}",
                 "-p", "fieldcount=1", "-p", "fieldlength=200"], timeout=600)


def looks(server):
    pid = server.process.pid
    samples = harness.metrics(server)
    resident = server.resident_bytes() / (1 << 20)
    caches = {name: sum(value for known, _, value in samples if known == metric) / (1 << 20)
              for name, metric in (("block cache MiB", "arion_engine_cache_bytes"), ("unflushed MiB", "arion_engine_unflushed_bytes"))}
    return {"resident MiB": resident, **caches, "resident MiB without these": resident - sum(caches.values()), "descriptors": len(os.listdir(f"/proc/{pid}/fd")),
            "threads": len(os.listdir(f"/proc/{pid}/task")),
            "logs MiB": sum(value for name, _, value in samples if name == "arion_log_bytes") / (1 << 20)}


def slope(points):
    """Per hour."""
    n = len(points)
    mean_x, mean_y = sum(x for x, _ in points) / n, sum(y for _, y in points) / n
    below = sum((x - mean_x) ** 2 for x, _ in points)
    return 3600 * sum((x - mean_x) * (y - mean_y) for x, y in points) / below if below else 0


def fault(cluster, chance):
    server = chance.choice([cluster.meta, *cluster.replicas[1:]])
    how = chance.choice(["kill", "stop", "freeze"])
    if how == "freeze":
        server.process.send_signal(signal.SIGSTOP)
        time.sleep(chance.uniform(0.5, 6))
        server.process.send_signal(signal.SIGCONT)
    else:
        server.kill() if how == "kill" else server.stop()
        time.sleep(chance.uniform(0, 5))
        server.start()
        cluster.wait_listening(server)
    return f"{how} {server.name}"


def soak(cluster, minutes, seed):
    chance, began, watched = random.Random(seed), time.monotonic(), cluster.replicas[0]
    fill(cluster)
    running = load(cluster, int(60 * minutes), "--verify", "--timeout", "15")
    seen, faults, next_fault = [], [], began + 60
    while running.poll() is None:
        time.sleep(10)
        now = time.monotonic()
        if now - began > 6 * minutes:
            seen.append((now - began, looks(watched)))
        if now >= next_fault:
            next_fault = now + 60
            faults.append(fault(cluster, chance))
            print(f"[{now - began:6.0f} s] {faults[-1]}; {looks(watched)}", flush=True)
    report = report_of(cluster, running)
    cluster.wait_healthy("temp", seconds=120)
    phase, verify = run_of(report), report["verify"]
    print(f"seed {seed}: {(time.monotonic() - began) / 60:.0f} minutes, {len(faults)} faults, {phase['operations']} operations, "
          f"{phase['errors']} without an answer within 15 s; {verify['reads']} reads judged: lost {verify['lost']}, stale {verify['stale']}, "
          f"mixed {verify['mixed']}")
    for name in seen[0][1]:
        values = [(at, look[name]) for at, look in seen]
        print(f"{watched.name} {name}: first {values[0][1]:.1f}, last {values[-1][1]:.1f}, most {max(v for _, v in values):.1f}, "
              f"slope {slope(values):+.2f} an hour")
    return verify["lost"] + verify["stale"] + verify["mixed"] + (not all(s.is_running() for s in cluster.servers()))


def throw_bytes(addresses, until, chance, counts):
    """One connection after the other: a likely begin, then noise."""
    begins = [b"", b"THFT", b"RDSN", b"GET / HTTP/1.1\r\n", b"THFT\0\0\0\0\0\0\0\x30", b"RDSN\0\0\0\0\xc0\0\0\0"]
    while time.monotonic() < until:
        host, port = chance.choice(addresses)
        try:
            with socket.create_connection((host, int(port)), timeout=5) as connection:
                for _ in range(chance.randrange(1, 8)):
                    connection.sendall(chance.choice(begins) + chance.randbytes(chance.randrange(1, 4096)))
                    with counts.get_lock():
                        counts.value += 1
                    time.sleep(0.2)
        except OSError:
            pass


def throw_from_200(addresses, until, seed, counts):
    """A process of its own, of the least priority: strangers have machines of their own, here they would take the servers' CPU."""
    os.nice(19)
    threads = [threading.Thread(target=throw_bytes, args=(addresses, until, random.Random(seed + i), counts)) for i in range(200)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def cpu_of(servers):
    return sum(harness.value_of(harness.metrics(server), "arion_process_cpu_seconds_total") for server in servers)


def hostile(cluster, minutes, seed):
    fill(cluster)
    seconds = int(60 * minutes)
    quiet = report_of(cluster, load(cluster, min(seconds, 60)))
    before = {server.name: server.resident_bytes() for server in cluster.servers()}
    counts, cpu = multiprocessing.Value("q", 0), cpu_of(cluster.servers())
    addresses = [server.address.split(":") for server in cluster.servers()]
    thrower = multiprocessing.Process(target=throw_from_200, args=(addresses, time.monotonic() + seconds, seed, counts))
    thrower.start()
    noisy = report_of(cluster, load(cluster, seconds))
    thrower.join()
    print(f"seed {seed}: {counts.value} pieces of random bytes over 200 connections in {minutes:g} minutes; the servers needed "
          f"{(cpu_of(cluster.servers()) - cpu) / seconds:.2f} of a core meanwhile, load included")
    again = report_of(cluster, load(cluster, min(seconds, 60)))
    for name, report in (("alone", quiet), ("beside them", noisy), ("alone again", again)):
        phase = run_of(report)
        kinds = ", ".join(f"{kind['operation']} p50 {kind['service_us']['p50'] / 1000:.2f} ms, p99 {kind['service_us']['p99'] / 1000:.2f} ms"
                          for kind in phase["kinds"])
        print(f"{name}: {phase['operations']} operations, {phase['errors']} errors, {kinds}")
    for server in cluster.servers():
        print(f"{server.name}: {'lives' if server.is_running() else 'ENDED'}, resident {before[server.name] >> 20} -> {server.resident_bytes() >> 20} MiB")
    return sum(not server.is_running() for server in cluster.servers()) + run_of(noisy)["errors"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--hostile", action="store_true")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    arguments = parser.parse_args()
    # What is meant to fill shall be full soon, so that what grows behind it shows.
    cluster = harness.Cluster(replica_settings={"block_cache_size": "8 MiB", "log_segment_size": "1 MiB"})
    try:
        cluster.start()
        cluster.create_table("temp")
        return 1 if (hostile if arguments.hostile else soak)(cluster, arguments.minutes, arguments.seed) else 0
    finally:
        cluster.destroy()


if __name__ == "__main__":
    sys.exit(main())
