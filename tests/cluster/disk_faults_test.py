#!/usr/bin/env python3
"""Real faults of one server's disk: full, failing, slow.

The full disk is a small ext4 in a loop-mounted file; the failing and slow ones are faulty_fs.py, a FUSE file system. The
log knows nothing of FUSE, so it syncs each write by itself (RWF_DSYNC) where ext4 gets one flush a disk. Our C++
client writes all the while; at the end every acknowledged write is read back.

Needs root that may mount, loop devices, mkfs.ext4, /dev/fuse and Debian's python3-fusepy. Where one of them is missing, the tests say
"not run: needs ..." and count as skipped; they fail when all are there and a mount does not work.
SPDX-License-Identifier: Apache-2.0
"""

import atexit
import ctypes
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

import harness
from kill_test import Writer

MIB = 1 << 20
HEALS_SECONDS = 10
LEFT_SECONDS = 30  # a disk that takes no writes, by its replicas
SYSTEM_PYTHON = "/usr/bin/python3"  # the one Debian's modules are for


def may_mount():
    with open("/proc/self/status") as file:
        capabilities = int(re.search(r"CapEff:\s+(\w+)", file.read()).group(1), 16)
    return capabilities >> 21 & 1 == 1  # CAP_SYS_ADMIN


def missing_for_loop():
    if not may_mount():
        return "root with CAP_SYS_ADMIN"
    if not os.path.exists("/dev/loop-control"):
        return "loop devices (/dev/loop-control)"
    return None if shutil.which("mkfs.ext4") else "mkfs.ext4 (Debian package e2fsprogs)"


def missing_for_fuse():
    if not may_mount():
        return "root with CAP_SYS_ADMIN"
    if not os.path.exists("/dev/fuse"):
        return "FUSE (/dev/fuse)"
    try:
        found = subprocess.run([SYSTEM_PYTHON, "-c", "import fusepy"], capture_output=True, check=False).returncode == 0
    except OSError:
        found = False
    return None if found else "Debian package python3-fusepy"


def end_with_parent():
    """In a child: ends with SIGTERM when this process ends, however it does."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)


def unmount(path):
    """Also when something still holds it: the mount goes at the latest with the last of them."""
    if subprocess.run(["umount", path], capture_output=True, check=False).returncode != 0 and os.path.ismount(path):
        subprocess.run(["umount", "-l", path], capture_output=True, check=False)


class SmallDisk:
    """An ext4 of `size` bytes, mounted at `path`."""

    def __init__(self, path, size):
        self.path = path
        self.image = path + ".image"
        self.ballast = os.path.join(path, "ballast")
        with open(self.image, "wb") as file:
            file.truncate(size)
        harness.run(["mkfs.ext4", "-q", "-F", "-m", "0", self.image])
        harness.run(["mount", "-o", "loop", self.image, path])

    def fill(self):
        """Leaves no block free. Called again it takes what has come free meanwhile."""
        with open(self.ballast, "ab") as file:
            chunk = 64 * MIB
            while chunk >= os.statvfs(self.path).f_bsize:
                try:
                    os.posix_fallocate(file.fileno(), file.seek(0, os.SEEK_END), chunk)
                except OSError:
                    chunk //= 2

    def available(self):
        space = os.statvfs(self.path)
        return space.f_bavail * space.f_bsize

    def free(self):
        os.remove(self.ballast)

    def remove(self):
        unmount(self.path)
        os.remove(self.image)


class FaultyDisk:
    """faulty_fs.py, mounted at `path`."""

    def __init__(self, path):
        self.path = path
        self.backing = path + ".backing"
        self.control = path + ".control"
        self.output = path + ".injected"
        os.makedirs(self.backing)
        self.mount()

    def mount(self):
        with open(self.output, "wb") as output:
            self.process = subprocess.Popen(
                [SYSTEM_PYTHON, os.path.join(harness.HERE, "faulty_fs.py"), self.backing, self.path, self.control],
                stdin=subprocess.DEVNULL, stdout=output, stderr=output, preexec_fn=end_with_parent)
        harness.wait_for(f"{self.path} is mounted", lambda: os.path.ismount(self.path) or self.process.poll() is not None)
        if not os.path.ismount(self.path):
            raise AssertionError(f"faulty_fs.py ended with {self.process.poll()}: {self.injected()}")

    def mount_anew(self):
        """Whoever waits for it gets an error; its files are as they were."""
        self.process.kill()
        self.process.wait()
        subprocess.run(["umount", "-l", self.path], check=False)  # a file system whose process ended is no mount to Python
        self.mount()

    def rules(self, *rules):
        with open(self.control + ".new", "w") as file:
            json.dump(rules, file)
        os.replace(self.control + ".new", self.control)

    def cut_power(self):
        """What was not synced is gone; after the processes that wrote were killed."""
        os.path.exists(os.path.join(self.path, ".power_cut"))

    def injected(self):
        """Lines of the failures it has injected."""
        with open(self.output) as file:
            return file.read().splitlines()

    def remove(self):
        unmount(self.path)
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class DiskFaults(unittest.TestCase):
    """Replica servers; the data directory of the first `disks` lie on disks of the test."""

    def start(self, make_disk, flags=(), partitions=4, disks=1, servers=3, replica_settings=None):
        self.flags = flags
        self.cluster = harness.Cluster(servers=servers, replica_settings=replica_settings)
        self.victim = self.cluster.replicas[0]
        self.disks = []
        self.writer = None
        self.keys = []
        atexit.register(self.clean_up)  # also when a signal ends us
        self.addCleanup(self.clean_up)
        for server in self.cluster.replicas[:disks]:
            server.write_config()
            self.disks.append(make_disk(server.data_directories()[0]))
        self.disk = self.disks[0]
        self.start_servers(self.cluster.servers())
        self.cluster.create_table("temp", partitions=partitions)
        self.writer = Writer([os.path.join(harness.BUILD, "tests", "cluster", "kill_writer"),
                              f"--meta={self.cluster.meta.address}", "--prefix=df", "--threads=8"], self.keys)
        self.wait_written(300)

    def start_servers(self, servers):
        for server in servers:
            server.start(self.flags if server.role == "replica" else ())
        for server in servers:
            self.cluster.wait_listening(server)

    def clean_up(self):
        if self.writer is not None:
            self.writer.stop()
        for server in self.cluster.servers():
            server.kill()
        for disk in self.disks:
            disk.remove()
        self.disks = []
        atexit.unregister(self.clean_up)
        self.cluster.destroy()

    def run(self, result=None):
        def failed():
            return len(result.failures) + len(result.errors)
        before = failed()
        self.addCleanup(lambda: self.cluster.print_logs() if failed() > before and hasattr(self, "cluster") else None)
        return super().run(result)

    # What every test demands.

    def wait_written(self, more, seconds=60):
        """Until so many more writes are acknowledged."""
        target = len(self.keys) + more
        harness.wait_for(f"{more} more acknowledged writes ({len(self.keys)} so far)", lambda: len(self.keys) >= target,
                         seconds)

    def wait_metric(self, name, wanted, seconds=30, **labels):
        def fits():
            return wanted(harness.value_of(harness.metrics(self.victim), name, **labels))
        try:
            harness.wait_for(f"{self.victim.name} shows {name} {labels}", fits, seconds)
        except AssertionError as error:
            lines = [s for s in harness.metrics(self.victim) if s[0].startswith(("arion_disk", "arion_log"))
                     and not s[0].endswith("_bucket")]
            raise AssertionError(f"{error}: {lines}") from None

    def sets(self, prefix, count=16):
        """Writes that go to every partition; what the shell said when one failed."""
        commands = "; ".join(["use temp", *(f"set {prefix}{i} s value" for i in range(count))])
        done = subprocess.run([os.path.join(harness.BUILD, "arion_shell"), "--meta", self.cluster.meta.address,
                               "-e", commands], capture_output=True, text=True, timeout=120 * harness.PATIENCE,
                              check=False)
        return None if done.returncode == 0 else (done.stdout + done.stderr).strip()

    def check_nothing_is_lost(self):
        keys = list(self.keys)
        verified = harness.run([harness.go_client("apache"), "-meta", self.cluster.meta.address, "verify"], timeout=120,
                               input="\n".join(keys), cwd=tempfile.gettempdir())
        self.assertIn(" 0 lost", verified)
        return len(keys)

    def check_same_processes(self, pids):
        self.assertEqual([s.process.pid for s in self.cluster.servers() if s.is_running()], pids, "nobody died")

    def pids(self):
        return [server.process.pid for server in self.cluster.servers()]

    def roles_of_victim(self):
        """(partitions it is primary of, partitions it is a member of)"""
        partitions = self.cluster.partitions("temp")
        primary = sum(p["primary"] == self.victim.address for p in partitions)
        return primary, primary + sum(self.victim.address in p["secondaries"] for p in partitions)


@unittest.skipIf(missing_for_loop(), f"not run: needs {missing_for_loop()}")
@harness.others_with_each_commit
class FullDisk(DiskFaults):
    def test_a_full_disk_refuses_writes_serves_reads_and_heals_by_itself(self):
        self.start(lambda path: SmallDisk(path, 1024 * MIB))
        self.fill_and_free()

    # No bound and no reserve: they run into ENOSPC themselves.
    unguarded = ["--disk_space_min=0", "--disk_reserve_size=0", "--log_segment_size=1MiB"]

    def test_a_log_that_meets_the_end_of_the_disk_waits_and_goes_on(self):
        self.start(lambda path: SmallDisk(path, 256 * MIB), partitions=1, flags=self.unguarded)
        self.fill_and_free(lambda: self.wait_metric("arion_log_waiting_for_space", lambda v: v == 1, 60, disk="d0"))

    def test_a_checkpoint_that_meets_the_end_of_the_disk_is_made_later(self):
        self.start(lambda path: SmallDisk(path, 256 * MIB), flags=[*self.unguarded, "--checkpoint_interval=1s"])
        self.fill_and_free()

    def shell(self, commands):
        return subprocess.run(
            [os.path.join(harness.BUILD, "arion_shell"), "--meta", self.cluster.meta.address, "-e", commands],
            capture_output=True, text=True, timeout=60 * harness.PATIENCE, check=False).stdout

    def full_disks(self):
        """Of the victim, by the meta server's page."""
        request = urllib.request.Request(f"http://{self.cluster.meta.address}/ui/cluster.json",
                                         headers={"Accept": "application/json"})
        with urllib.request.urlopen(request, timeout=10 * harness.PATIENCE) as answer:
            overview = json.load(answer)
        return next(s["full_disks"] for s in overview["servers"] if s["server"] == self.victim.address)

    def fill(self):
        """Until the victim says so; then nobody may need it for a write."""
        begin = time.monotonic()
        self.disk.fill()
        self.wait_metric("arion_disk_state", lambda v: v == 1, 60, disk="d0", state="space_insufficient")
        self.disk.fill()  # what the reserve gave back
        full = time.monotonic()
        harness.wait_for("writes to every partition work while it is full", lambda: self.sets("full") is None,
                         LEFT_SECONDS)
        served = time.monotonic()
        harness.wait_for("it is a member of nothing", lambda: self.roles_of_victim() == (0, 0), LEFT_SECONDS)
        print(f"full disk: said after {full - begin:.1f} s, writes everywhere {served - full:.1f} s later, left "
              f"{time.monotonic() - full:.1f} s later (goal: {LEFT_SECONDS})", flush=True)
        self.full_in_status = f"disk d0 of {self.victim.address}"
        harness.wait_for("status says it", lambda: self.full_in_status in self.shell("status"), 30)
        self.assertEqual(self.full_disks(), ["d0"])
        self.wait_written(500)
        self.assertEqual(self.roles_of_victim(), (0, 0), "it stays away while its disk is full")

    def test_with_three_servers_writes_go_on_with_two_members_while_a_disk_is_full(self):
        self.start(lambda path: SmallDisk(path, 1024 * MIB))
        pids = self.pids()
        self.fill()
        self.check_nothing_is_lost()
        self.disk.free()
        self.cluster.wait_healthy("temp", 3)
        harness.wait_for("status says no more", lambda: self.full_in_status not in self.shell("status"), 30)
        self.writer.stop()
        self.check_nothing_is_lost()
        self.check_same_processes(pids)

    def test_with_four_servers_the_copies_of_a_full_disk_move_to_where_there_is_room(self):
        self.start(lambda path: SmallDisk(path, 1024 * MIB), servers=4, partitions=8)
        pids = self.pids()
        self.fill()
        self.cluster.wait_healthy("temp", 3)
        self.assertEqual(self.roles_of_victim(), (0, 0))
        self.cluster.create_table("meanwhile", partitions=8)
        self.assertFalse([p for p in self.cluster.partitions("meanwhile")
                          if self.victim.address in (p["primary"], *p["secondaries"])], "a new table goes elsewhere")
        self.disk.free()
        self.wait_metric("arion_disk_state", lambda v: v == 1, disk="d0", state="normal")
        harness.wait_for("status says no more", lambda: self.full_in_status not in self.shell("status"), 30)
        self.cluster.create_table("later", partitions=8)
        self.cluster.wait_healthy("later", 3)
        self.assertTrue([p for p in self.cluster.partitions("later")
                         if self.victim.address in (p["primary"], *p["secondaries"])], "it takes part again")
        self.writer.stop()
        self.check_nothing_is_lost()
        self.check_same_processes(pids)

    def fill_and_free(self, wait_until_met=lambda: None):
        pids = self.pids()
        self.disk.fill()
        wait_until_met()
        self.wait_metric("arion_disk_state", lambda v: v == 1, 60, disk="d0", state="space_insufficient")
        self.disk.fill()  # what the reserve gave back
        refused = self.sets("full")
        print(f"while full: {refused or 'writes go on without that member'}", flush=True)
        read = self.check_nothing_is_lost()
        self.check_same_processes(pids)
        self.disk.free()
        harness.wait_for("writes to every partition work again", lambda: self.sets("free") is None, HEALS_SECONDS)
        self.wait_written(100)
        self.wait_metric("arion_disk_state", lambda v: v == 1, disk="d0", state="normal")
        self.cluster.wait_healthy("temp", 3)
        self.writer.stop()
        total = self.check_nothing_is_lost()
        self.check_same_processes(pids)
        print(f"read while full: {read}; at the end: {total}", flush=True)


@unittest.skipIf(missing_for_fuse(), f"not run: needs {missing_for_fuse()}")
@harness.others_with_each_commit
class FailingDisk(DiskFaults):
    def fail_once(self, rule, **how):
        """One injected failure; writes go on, the failed replica comes back as a member."""
        self.start(FaultyDisk, **how)
        pids = self.pids()
        self.disk.rules({**rule, "errno": "EIO", "count": 1})
        harness.wait_for("the failure was injected", self.disk.injected)
        self.wait_metric("arion_disk_io_errors_total", lambda v: v >= 1, disk="d0")
        self.wait_written(300)
        injected = self.disk.injected()
        self.wait_fenced_and_learned_anew(re.search(r"/(\d+\.\d+)\.pegasus/", injected[0]).group(1))
        self.cluster.wait_healthy("temp", 3)
        self.check_same_processes(pids)
        print(f"injected: {injected}", flush=True)

    def wait_fenced_and_learned_anew(self, partition):
        def done():
            fenced = set()
            for line in self.victim.last_lines(1000):
                state = re.search(r"\[(\d+\.\d+) .*-> error under", line)
                if state:
                    fenced.add(state.group(1))
                if partition in fenced and f"[{partition} " in line and "learner -> secondary" in line:
                    self.assertEqual(fenced, {partition}, "no other replica is fenced")
                    return True
            return False
        harness.wait_for(f"replica {partition} is fenced and comes back as a learner", done)

    def check_survives_the_end_of_all(self):
        """What was acknowledged is there after every process was killed, and the faulty disk had a power cut."""
        self.writer.stop()
        for server in self.cluster.servers():
            server.kill()
        for disk in self.disks:
            disk.cut_power()
        self.start_servers(self.cluster.servers())
        self.cluster.wait_healthy("temp", 3)
        harness.wait_for("every partition serves", lambda: self.sets("again") is None)
        print(f"acknowledged and read back: {self.check_nothing_is_lost()}", flush=True)

    def test_one_failed_flush_fences_its_replica(self):
        self.fail_once({"op": "fsync", "path": "/plog/"})
        self.check_survives_the_end_of_all()

    def test_one_failed_write_fences_its_replica(self):
        self.fail_once({"op": "write", "path": "/plog/"})
        self.check_survives_the_end_of_all()

    def test_without_io_uring_it_is_the_same(self):
        self.fail_once({"op": "fsync", "path": "/plog/"}, flags=["--log_method=threads"])
        self.check_survives_the_end_of_all()

    def test_one_failed_sync_of_the_logs_directory_fences_its_replica(self):
        self.fail_once({"op": "fsyncdir", "path": "/plog"}, flags=["--log_segment_size=1MiB"], partitions=1)
        self.check_survives_the_end_of_all()

    def test_one_failed_sync_of_a_checkpoint_fences_its_replica(self):
        self.fail_once({"op": "fsync", "path": "/data/"}, flags=["--checkpoint_interval=1s"])
        self.check_survives_the_end_of_all()

    def test_one_short_write_costs_nothing_acknowledged(self):
        self.start(FaultyDisk)
        pids = self.pids()
        self.disk.rules({"op": "write", "path": "/plog/", "errno": "short", "count": 1})
        harness.wait_for("the failure was injected", self.disk.injected)
        self.wait_written(300)
        self.cluster.wait_healthy("temp", 3)
        self.check_same_processes(pids)
        self.check_survives_the_end_of_all()

    def test_failures_of_every_kind_by_chance(self):
        self.start(FaultyDisk, flags=["--checkpoint_interval=2s", "--log_segment_size=1MiB"])
        pids = self.pids()
        for kind in ("EIO", "ENOSPC", "short"):
            self.disk.rules({"op": "write", "errno": kind, "one_in": 100},
                            {"op": "fsync", "errno": "EIO", "one_in": 300},
                            {"op": "fsyncdir", "errno": "EIO", "one_in": 10})
            harness.wait_for(f"{kind} was injected", lambda: any(
                line.startswith("write ") and line.endswith(kind) for line in self.disk.injected()), 60)
            self.wait_written(300)
        self.disk.rules()
        self.wait_written(300)
        self.check_same_processes(pids)
        kinds = sorted({line.split()[0] + " " + line.split()[2] for line in self.disk.injected()})
        print(f"injected: {len(self.disk.injected())}, of {kinds}", flush=True)
        self.check_survives_the_end_of_all()

    def test_a_log_that_cannot_be_read_at_start_costs_only_its_replica(self):
        self.start(FaultyDisk)
        self.victim.kill()
        self.disk.rules({"op": "read", "path": "/plog/log", "errno": "EIO", "count": 1})
        self.start_servers([self.victim])
        harness.wait_for("the failure was injected", self.disk.injected)
        self.cluster.wait_healthy("temp", 3)
        self.wait_written(300)
        self.assertTrue(self.victim.is_running())
        self.check_survives_the_end_of_all()

    def test_a_disk_that_fails_for_good_stops_nobody_else(self):
        self.start(FaultyDisk)
        pids = self.pids()
        self.disk.rules({"op": "fsync", "errno": "EIO"}, {"op": "write", "errno": "EIO"})
        harness.wait_for("a failure was injected", self.disk.injected)
        self.wait_written(300)
        self.assertIsNone(self.sets("without"), "two of three go on")
        self.check_nothing_is_lost()
        self.check_same_processes(pids)
        self.disk.rules()
        self.check_survives_the_end_of_all()

    def test_a_disk_that_can_only_be_read_is_left_and_comes_back_without_a_loss(self):
        self.start(FaultyDisk)
        pids = self.pids()
        begin = time.monotonic()
        self.disk.rules(*({"op": op, "errno": "EROFS"} for op in ("write", "fsync", "fsyncdir", "change")))
        harness.wait_for("writes to every partition work while it is read-only", lambda: self.sets("read-only") is None,
                         LEFT_SECONDS)
        harness.wait_for("it is a member of nothing", lambda: self.roles_of_victim() == (0, 0), LEFT_SECONDS)
        print(f"read-only disk: writes everywhere and left after {time.monotonic() - begin:.1f} s (goal: {LEFT_SECONDS})",
              flush=True)
        self.wait_written(300)
        self.check_nothing_is_lost()
        self.disk.rules()
        self.cluster.wait_healthy("temp", 3)
        self.check_same_processes(pids)
        set_aside = [name for name in os.listdir(self.disk.backing + "/replica/reps") if ".err" in name] \
            if os.path.isdir(self.disk.backing + "/replica/reps") else os.listdir(self.disk.backing)
        print(f"there after it could be written again: {set_aside}", flush=True)
        self.writer.stop()
        self.check_nothing_is_lost()

    def test_a_slow_disk_loses_its_primaries_then_its_members_and_gets_them_back(self):
        """Times are measured from when flushes begin to take 0.8 s."""
        self.start(FaultyDisk, replica_settings={"disk_slow_sync": "500ms"})
        begin = time.monotonic()
        self.disk.rules({"op": "fsync", "seconds": 0.8})
        self.wait_metric("arion_disk_slow", lambda v: v == 1, 15, disk="d0")
        marked = time.monotonic() - begin
        harness.wait_for("its primaries have moved", lambda: self.roles_of_victim()[0] == 0, 30)
        moved = time.monotonic() - begin
        harness.wait_for("no write waits for it any more", lambda: self.roles_of_victim()[1] == 0, 30)
        left = time.monotonic() - begin
        print(f"slow disk: marked after {marked:.1f} s, primaries moved after {moved:.1f} s, members left after {left:.1f} s "
              "(goals, bench/RESULTS.md G12: 5, 10, 15 s)", flush=True)
        self.wait_written(500)
        self.assertEqual(self.roles_of_victim(), (0, 0), "it stays away while its disk is slow")
        self.disk.rules()
        self.wait_metric("arion_disk_slow", lambda v: v == 0, 30, disk="d0")
        self.cluster.wait_healthy("temp", 3)
        self.wait_written(100)
        self.writer.stop()
        self.check_nothing_is_lost()


    def lose_members_and_get_them_back(self, rule):
        """No log lies on the disk: its probes tell."""
        self.start(FaultyDisk, replica_settings={"log_placement": "home", "log_home_directory": "{directory}/logs",
                                                 "disk_slow_sync": "500ms"})
        pids = self.pids()
        begin = time.monotonic()
        self.disk.rules(rule)
        self.wait_metric("arion_disk_slow", lambda v: v == 1, 15, disk="d0")
        marked = time.monotonic() - begin
        harness.wait_for("no write waits for it any more", lambda: self.roles_of_victim() == (0, 0), 30)
        print(f"data disk without a log: marked after {marked:.1f} s, members left after {time.monotonic() - begin:.1f} s",
              flush=True)
        self.wait_written(500)
        self.disk.rules()
        self.wait_metric("arion_disk_slow", lambda v: v == 0, 60, disk="d0")
        self.cluster.wait_healthy("temp", 3)
        self.writer.stop()
        self.check_nothing_is_lost()
        self.check_same_processes(pids)

    def test_a_slow_data_disk_without_a_log_loses_its_members_and_gets_them_back(self):
        self.lose_members_and_get_them_back({"op": "fsync", "seconds": 0.8})

    def test_a_data_disk_without_a_log_that_hangs_loses_its_members_and_gets_them_back(self):
        self.lose_members_and_get_them_back({"op": "fsync", "seconds": 20})


@unittest.skipIf(missing_for_fuse(), f"not run: needs {missing_for_fuse()}")
class PowerCut(DiskFaults):
    rounds = 3

    def cut(self, count):
        """The power of the first `count` servers' disks goes while writes are under way, again and again."""
        self.start(FaultyDisk, disks=3)
        for _ in range(self.rounds):
            self.wait_written(200)
            servers = self.cluster.replicas[:count]
            for server in servers:
                server.kill()
            for disk in self.disks[:count]:
                disk.cut_power()
            self.start_servers(servers)
        self.wait_written(200)
        self.writer.stop()
        self.cluster.wait_healthy("temp", 3)
        total = self.check_nothing_is_lost()
        print(f"acknowledged and read back: {total}; {[d.injected() for d in self.disks[:count]]}", flush=True)

    def test_without_flushes_a_power_cut_of_all_loses_writes(self):
        """The net holds: with durability os the same cut does lose what was acknowledged."""
        self.start(FaultyDisk, disks=3, flags=["--durability=os"])
        self.writer.stop()
        for server in self.cluster.replicas:
            server.kill()
        for disk in self.disks:
            disk.cut_power()
        self.start_servers(self.cluster.replicas)
        harness.wait_for("every partition serves", lambda: self.sets("again") is None, 60)
        with self.assertRaisesRegex(AssertionError, "lost"):
            self.check_nothing_is_lost()

    def test_of_one_disk(self):
        self.cut(1)

    def test_of_all_disks_at_once(self):
        self.cut(3)


def end_by_signal(number, frame):
    """unittest would take an exception for a failed test and go on with the next one."""
    atexit._run_exitfuncs()
    os._exit(128 + number)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, end_by_signal)
    unittest.main(argv=sys.argv, verbosity=2)
