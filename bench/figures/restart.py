"""A restart that replays: a raw harness beside a server, one replica at a time and in parallel, in turn.

On this machine's disk with a warm page cache, where the CPU is the limit, and on four disks of 50 MB/s each with cold logs:
ext4 on loop devices whose reads the kernel throttles (blkio; what the kernel writes back by itself is not throttled).
Then real servers after a clean stop, by the size of their replicas, and three servers of a cluster started together.
SPDX-License-Identifier: Apache-2.0
"""

import contextlib
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
import urllib.request

import harness
import measuring

BLKIO = "/sys/fs/cgroup/blkio"
DISKS = 4
DISK_BYTES_PER_SECOND = 50_000_000


def what_lacks_for_slow_disks():
    if os.geteuid() != 0 or not os.path.exists("/dev/loop-control"):
        return "root and loop devices"
    if not os.path.exists(os.path.join(BLKIO, "blkio.throttle.read_bps_device")):
        return "the block controller of cgroup v1"
    return None if shutil.which("mkfs.ext4") else "mkfs.ext4"


@contextlib.contextmanager
def slow_disks(run, directory, mebibytes, bytes_per_second):
    """Mounts of DISKS file systems and a control group in which each is slow."""
    with contextlib.ExitStack() as undo:
        group = tempfile.mkdtemp(prefix="arion_figures_", dir=BLKIO)
        undo.callback(os.rmdir, group)
        mounts = []
        for i in range(DISKS):
            image, mount = os.path.join(directory, f"disk{i}.image"), os.path.join(directory, f"disk{i}")
            with open(image, "wb") as file:
                file.truncate(mebibytes << 20)
            run.command(["mkfs.ext4", "-q", "-F", "-m", "0", image])
            os.mkdir(mount)
            device = run.command(["losetup", "--find", "--show", image]).strip()
            undo.callback(subprocess.run, ["losetup", "--detach", device], check=False)
            run.command(["mount", device, mount])
            undo.callback(subprocess.run, ["umount", mount], check=False)
            number = os.stat(device).st_rdev
            for kind in ("read", "write"):
                with open(os.path.join(group, f"blkio.throttle.{kind}_bps_device"), "w", encoding="utf-8") as file:
                    file.write(f"{os.major(number)}:{os.minor(number)} {bytes_per_second}")
            mounts.append(mount)
        yield mounts, group


def runs_of(run, bench, directory, flags):
    """Seconds by run, and the bytes of each."""
    lines = run.command([bench, *flags], env=dict(os.environ, TMPDIR=directory)).splitlines()
    results = [json.loads(line) for line in lines if line.startswith("{")]
    run.keep({"flags": flags, "runs": results})
    names = dict.fromkeys(r["run"] for r in results)
    return ({name: [r["seconds"] for r in results if r["run"] == name] for name in names},
            {name: [r["first_seconds"] for r in results if r["run"] == name] for name in names}, results[0]["bytes"] / 1e6)


def tell(run, title, seconds, first, megabytes):
    run.table(title, ["run", "s to the last replica", "s to the first", "MB/s"],
              [(name, measuring.spread(values), measuring.spread(first[name]) if max(first[name]) > 0 else "",
                f"{megabytes / statistics.median(values):.0f}") for name, values in seconds.items()])


def measure(run):
    bench = run.binary("restart_bench", "bench/restart_bench")
    figures = {}
    with tempfile.TemporaryDirectory(prefix="arion_figures_") as directory:
        figures.update(cpu_bound(run, bench, directory))
        figures.update(threads_and_directories(run, bench, directory))
        lacks = what_lacks_for_slow_disks()
        if lacks is None:
            figures.update(disk_bound(run, bench, directory))
        else:
            run.say(f"four slow disks: not run, needs {lacks}")
    figures.update(real_servers(run))
    return figures


def cpu_bound(run, bench, directory):
    replicas, mebibytes, rounds = (4, 2, 1) if run.quick else (64, 32, 4)
    seconds, first, megabytes = runs_of(run, bench, directory, [
        f"--replicas={replicas}", f"--log_mib={mebibytes}", f"--rounds={rounds}",
        "--runs=raw_one,raw:2,flushed_one,flushed:2,sequential,parallel:2"])
    tell(run, f"{replicas} replicas of {mebibytes} MiB of log, two directories, one disk, warm", seconds, first, megabytes)
    pairs = {"raw": ("raw_one", "raw:2"), "flushed": ("flushed_one", "flushed:2"), "server": ("sequential", "parallel:2")}
    raw_speedup, flushed_speedup, speedup = (measuring.Comparison(seconds[one], seconds[two]) for one, two in pairs.values())
    speedups = {who: [a / b for a, b in zip(seconds[one], seconds[two])] for who, (one, two) in pairs.items()}
    of_raw, of_flushed = (measuring.Comparison(speedups["server"], speedups[who]) for who in ("raw", "flushed"))
    rate = measuring.Comparison(seconds["raw:2"], seconds["parallel:2"])
    flushed_rate = measuring.Comparison(seconds["flushed:2"], seconds["parallel:2"])
    run.table("Server and raw harness, one disk, warm", ["", "ratio", "goal"],
              [("speed-up of the raw harness, engines dropped", raw_speedup, ""),
               ("speed-up of the raw harness, engines flushed", flushed_speedup, ""),
               ("speed-up of the server", speedup, ""),
               ("server's speed-up to that of engines dropped", of_raw, "0.9"),
               ("server's speed-up to that of engines flushed", of_flushed, "0.9"),
               ("server's rate to the harness's that drops", rate, "0.8"),
               ("server's rate to the harness's that flushes, too", flushed_rate, "0.8")])
    return {"flushed_speedup": round(flushed_speedup.ratio, 3), "rate_of_flushed": round(flushed_rate.ratio, 3),
            "speedup_of_flushed": round(of_flushed.ratio, 3),
            "parallel_speedup": round(speedup.ratio, 3), "raw_speedup": round(raw_speedup.ratio, 3),
            "speedup_of_raw": round(of_raw.ratio, 3), "rate_of_raw": round(rate.ratio, 3),
            "first_served_seconds": round(statistics.median(first["parallel:2"]), 3),
            "last_served_seconds": round(statistics.median(seconds["parallel:2"]), 3)}


def threads_and_directories(run, bench, directory):
    replicas, mebibytes, rounds = (4, 1, 1) if run.quick else (16, 32, 2)
    counts = (1, 2) if run.quick else (1, 2, 4, 8)  # of threads and of directories
    table = {}
    for directories in counts:
        seconds, _, megabytes = runs_of(run, bench, directory, [
            f"--replicas={replicas}", f"--log_mib={mebibytes}", f"--rounds={rounds}", f"--directories={directories}",
            "--runs=" + ",".join(f"parallel:{n}" for n in counts)])
        table[directories] = {n: megabytes / statistics.median(seconds[f"parallel:{n}"]) for n in counts}
    run.table(f"MB/s of the server, {replicas} replicas of {mebibytes} MiB, directories on one disk, by threads for it",
              ["directories", *map(str, counts)],
              [(directories, *(f"{row[n]:.0f}" for n in counts)) for directories, row in table.items()])
    return {"rate_by_directories_and_threads": {str(d): {str(n): round(v) for n, v in row.items()} for d, row in table.items()}}


def disk_bound(run, bench, directory):
    replicas, mebibytes, rounds, speed = (4, 2, 1, DISK_BYTES_PER_SECOND // 5) if run.quick else (16, 32, 4, DISK_BYTES_PER_SECOND)
    where = f"{DISKS} disks of {speed / 1e6:.0f} MB/s, cold"
    with slow_disks(run, directory, 4 * replicas * mebibytes // DISKS + 512, speed) as (mounts, group):
        seconds, first, megabytes = runs_of(run, bench, directory, [
            f"--replicas={replicas}", f"--log_mib={mebibytes}", f"--rounds={rounds}", "--cold", f"--disks={','.join(mounts)}",
            f"--control_group={group}", "--runs=raw_one,raw:1,raw:2,sequential,parallel:1,parallel:2"])
    tell(run, f"{replicas} replicas of {mebibytes} MiB on {where}", seconds, first, megabytes)
    speedup = measuring.Comparison(seconds["sequential"], seconds["parallel:2"])
    raw_speedup = measuring.Comparison(seconds["raw_one"], seconds["raw:2"])
    run.table(f"Server and raw harness, {where}", ["", "ratio", "goal"],
              [("speed-up of the raw harness", raw_speedup, ""), ("speed-up of the server", speedup, "3")])
    return {"slow_disks_speedup": round(speedup.ratio, 3), "slow_disks_raw_speedup": round(raw_speedup.ratio, 3)}


def real_servers(run):
    for target in ("cluster_programs", "client_bench"):
        run.command(["cmake", "--build", run.build, "--target", target])
    partitions = 8 if run.quick else 64
    figures = {}
    rows = []
    for mebibytes in (1,) if run.quick else (16, 64):
        rounds = clean_restarts(run, 1, partitions, mebibytes)
        all_served = [max(r["done"]) for r in rounds]
        rows.append((f"1 server, {partitions} replicas of {mebibytes} MiB", *row_of(rounds), ""))
        figures["clean_start_seconds"] = round(statistics.median(all_served), 3)
    rounds = clean_restarts(run, 3, partitions, 1 if run.quick else 16)
    uneven = [max(r["done"]) / statistics.median(r["done"]) for r in rounds]
    rows.append((f"3 servers together, {partitions} replicas each", *row_of(rounds), measuring.spread(uneven)))
    figures["slowest_over_median"] = round(statistics.median(uneven), 3)
    figures["cluster_served_seconds"] = round(statistics.median(r["whole"] for r in rounds), 3)
    run.table("Real servers after a clean stop",
              ["servers", "MB of logs", "s to stop", "s to first open", "s to all open (goal 2)", "s until all have a primary",
               "slowest server : median (goal 1.2)"], rows)
    return figures


def row_of(rounds):
    spread = measuring.spread
    return (f"{rounds[0]['log_bytes'] / 1e6:.0f}", spread([r["stopped_after"] for r in rounds]),
            spread([min(r["first"]) for r in rounds]), spread([max(r["done"]) for r in rounds]), spread([r["whole"] for r in rounds]))


def clean_restarts(run, servers, partitions, mebibytes):
    """A dictionary a round, as restart_once makes it."""
    cluster = harness.Cluster(servers=servers)
    try:
        cluster.start()
        cluster.create_table("full", partitions=partitions, replicas=servers)
        value_bytes = 16000
        keys = max(partitions, partitions * (mebibytes << 20) // value_bytes)
        harness.run([os.path.join(run.build, "bench", "client_bench"), f"--meta={cluster.meta.address}", "--table=full", "--op=fill",
                     f"--keys={keys}", f"--size={value_bytes}", "--rows=1", f"--ops={keys}"], timeout=3600)
        return [restart_once(run, cluster, mebibytes) for _ in range(1 if run.quick else 5)]
    finally:
        cluster.destroy()


def restart_once(run, cluster, mebibytes):
    """Seconds, from the start of the processes: for each server until it has opened its first replica and all; and until
    every partition has a primary that serves."""
    begun = time.monotonic()
    for server in cluster.replicas:
        server.process.terminate()
    for server in cluster.replicas:
        server.process.wait(timeout=600)
    stopped_after = time.monotonic() - begun
    begun = time.monotonic()
    for server in cluster.replicas:
        server.start()
    first, done = {}, {}

    def all_served():
        for server in cluster.replicas:
            if server.name in done:
                continue
            said = recovery_of(server)
            if said is None or said["phase"] != "done":
                continue
            done[server.name] = time.monotonic() - begun
            first[server.name] = done[server.name] - (said["elapsed_seconds"] - said["first_served_after_seconds"])
        return len(done) == len(cluster.replicas) and not cluster.lacks_primary("full")
    while not all_served():
        time.sleep(0.01)
    whole = time.monotonic() - begun
    cluster.wait_healthy("full", len(cluster.replicas), 600)
    result = {"servers": len(cluster.replicas), "mebibytes": mebibytes, "stopped_after": stopped_after,
              "first": list(first.values()), "done": list(done.values()), "whole": whole, "log_bytes": log_bytes(cluster)}
    run.keep(result)
    return result


def log_bytes(cluster):
    found = 0
    for server in cluster.replicas:
        for path, _, names in os.walk(server.directory):
            if os.path.basename(path) == "plog":
                found += sum(os.path.getsize(os.path.join(path, name)) for name in names if name.startswith("log."))
    return found


def recovery_of(server):
    """What /recovery says; None while it says nothing."""
    request = urllib.request.Request(f"http://{server.address}/recovery", headers={"Accept": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.loads(answer.read())
    except OSError:
        return None
