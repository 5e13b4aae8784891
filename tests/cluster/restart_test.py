#!/usr/bin/env python3
"""A restart seen from outside: what is served and answered while replicas, disks or limits are in the way.

One server with two data directories; the first one's disk is faulty_fs.py and lets hang what a test names. Needs what
disk_faults_test.py needs for FUSE; without it: "not run: needs ...".
SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import resource
import shutil
import subprocess
import threading
import time
import unittest
import urllib.request

import data_api
import harness
from disk_faults_test import FaultyDisk, missing_for_fuse

PARTITIONS = 8
ANSWER_SECONDS = 0.1


def ask(server, page, accept):
    request = urllib.request.Request(f"http://{server.address}{page}", headers={"Accept": accept})
    with urllib.request.urlopen(request, timeout=10 * harness.PATIENCE) as answer:
        return answer.read().decode()


def recovery_of(server):
    """What /recovery says; None before the server listens."""
    try:
        return json.loads(ask(server, "/recovery", "application/json"))
    except OSError:
        return None


def replicas_in(data_directory):
    return sorted(name for name in os.listdir(os.path.join(data_directory, "replica/reps")) if name.endswith(".pegasus"))


class Poller(threading.Thread):
    """Asks for a page every 10 ms and keeps the longest time an answer took."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server = server
        self.ended = threading.Event()
        self.times = []
        self.failures = []

    def run(self):
        while not self.ended.wait(0.01):
            begun = time.monotonic()
            try:
                ask(self.server, "/recovery", "text/plain")
            except OSError as error:
                self.failures.append(f"after {time.monotonic() - begun:.3f} s: {error!r}")
                continue
            self.times.append(time.monotonic() - begun)

    def end(self):
        self.ended.set()
        self.join()


class Restarted(unittest.TestCase):
    """One server, two disks, one table; each test restarts the server."""

    settings = {}

    @classmethod
    def setUpClass(cls):
        cls.cluster = harness.Cluster(servers=1, data_dirs=2, replica_settings=cls.settings)
        cls.addClassCleanup(cls.cluster.destroy)
        cls.server = cls.cluster.replicas[0]
        cls.server.write_config()
        # In this order at the end, backwards: a process that waits for FUSE ends only once that has ended.
        cls.addClassCleanup(cls.server.kill)
        cls.prepare()
        cls.cluster.start()
        cls.cluster.create_table("temp", partitions=PARTITIONS, replicas=1)
        cls.keys = [f"key{i}" for i in range(40)]
        cls.shell("; ".join(["use temp", *(f"set {key} s value" for key in cls.keys)]))

    @classmethod
    def prepare(cls):
        pass

    @classmethod
    def shell(cls, commands):
        return harness.run([os.path.join(harness.BUILD, "arion_shell"), f"--meta={cls.cluster.meta.address}", "-e", commands])

    def count(self, disk, state):
        return harness.value_of(harness.metrics(self.server), "arion_recovery_replicas", disk=disk, state=state)

    def is_done(self):
        said = recovery_of(self.server)
        return said is not None and said["phase"] == "done"

    def check_keys_of(self, directory):
        """Every key whose replica lies in this data directory is read."""
        here = {int(name.split(".")[1]) for name in replicas_in(self.server.data_directories()[directory])}
        keys = [key for key in self.keys if data_api.crc64(key.encode()) % PARTITIONS in here]
        self.assertTrue(keys)
        harness.wait_for(f"the keys of data directory {directory} are read", lambda: self.are_read(keys))

    def are_read(self, keys):
        try:
            said = self.shell("; ".join(["use temp", *(f"get {key} s" for key in keys)]))
        except AssertionError:  # a partition has no primary yet
            return False
        return said.count("value") >= len(keys)

    def check_all_is_served(self):
        harness.wait_for("recovery is done", self.is_done)
        self.cluster.wait_healthy("temp", replicas=1)
        harness.wait_for("every key is read", lambda: self.are_read(self.keys))

    def begin_polling(self):
        poller = Poller(self.server)
        poller.start()
        self.addCleanup(poller.ended.set)
        return poller

    def check_answers(self, poller):
        harness.wait_for("there are enough for a p99", lambda: len(poller.times) >= 300)
        poller.end()
        times = sorted(poller.times)
        print(f"{len(times)} questions, the slowest answer {times[-1] * 1000:.1f} ms, p99 "
              f"{times[len(times) * 99 // 100] * 1000:.1f} ms", flush=True)
        self.assertEqual(poller.failures, [])
        self.assertLess(times[len(times) * 99 // 100], ANSWER_SECONDS * harness.PATIENCE)


class Limits(Restarted):
    def test_with_256_descriptors_all_is_served(self):
        self.server.kill()
        self.server.start(preexec=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256)))
        self.check_all_is_served()
        self.assertIn("at most 256", "\n".join(self.server.last_lines(400)))

    def test_with_less_memory_than_one_replay_needs_they_are_opened_one_by_one(self):
        self.server.kill()
        self.server.start(["--recovery_memory=1 MiB"])
        self.check_all_is_served()

    def test_a_second_server_on_the_same_directories_names_the_first(self):
        self.server.kill()
        self.server.start()
        self.check_all_is_served()
        port = harness.free_ports(1)[0]
        second = subprocess.run(
            [os.path.join(harness.BUILD, "arion_replica"), f"--config={self.server.config}", f"--listen=127.0.0.1:{port}"],
            capture_output=True, text=True, timeout=60 * harness.PATIENCE, check=False)
        self.assertNotEqual(second.returncode, 0)
        self.assertIn(f"locked by process {self.server.process.pid}", second.stdout + second.stderr)
        self.check_all_is_served()


@unittest.skipIf(missing_for_fuse(), f"not run: needs {missing_for_fuse()}")
class OneBadDisk(Restarted):
    @classmethod
    def prepare(cls):
        cls.disk = FaultyDisk(cls.bad_directory())
        cls.addClassCleanup(cls.disk.remove)

    @classmethod
    def bad_directory(cls):
        return cls.server.data_directories()[0]

    def setUp(self):
        self.server.kill()
        os.truncate(self.server.log, 0)

    def tearDown(self):
        self.end_bad_start()

    def end_bad_start(self):
        """Ends the server: what waits for the disk gets an error, else it could not end."""
        self.disk.rules()
        self.server.process.kill()
        self.disk.mount_anew()
        self.server.process.wait()


class DataDirectory(OneBadDisk):
    def test_a_disk_that_hangs_before_the_start_is_left_out_and_named(self):
        self.disk.rules(*({"op": op, "seconds": 600} for op in ("look", "read", "write", "fsync", "fsyncdir")))
        self.server.start(["--disk_answer_max=1s"])
        self.cluster.wait_listening(self.server)
        poller = self.begin_polling()
        harness.wait_for("recovery is done", self.is_done)
        self.assertEqual(self.count("d0", "served"), 0)
        self.assertGreater(self.count("d1", "served"), 0)
        self.check_keys_of(1)
        self.assertTrue(any("d0" in line and "does not answer" in line for line in self.server.last_lines(400)))
        self.check_answers(poller)

    def test_a_disk_that_hangs_but_tells_names_is_left_out_too(self):
        self.disk.rules(*({"op": op, "seconds": 600} for op in ("read", "write", "fsync", "fsyncdir")))
        self.server.start(["--disk_answer_max=1s"])
        self.cluster.wait_listening(self.server)
        self.check_keys_of(1)
        self.assertTrue(any("d0" in line and "does not answer" in line for line in self.server.last_lines(400)))

    def test_one_replica_whose_log_is_slow_delays_no_other(self):
        slow = replicas_in(self.disk.backing)[0]
        self.disk.rules({"op": "read", "path": f"/{slow}/plog/", "seconds": 600})
        self.server.start()
        self.cluster.wait_listening(self.server)
        poller = self.begin_polling()

        def others_serve():
            said = recovery_of(self.server)
            return said if said and said["replicas_done"] == PARTITIONS - 1 else None
        said = harness.wait_for("all others are open", others_serve)
        self.assertEqual(said["slowest"]["partition"] + ".pegasus", slow)
        self.check_answers(poller)

    def test_a_directory_that_vanishes_meanwhile_takes_its_replicas_alone_and_they_come_back(self):
        self.disk.rules({"op": "read", "path": "/data/", "seconds": 0.5})
        self.server.start()
        harness.wait_for("the disk's replicas are being opened", lambda: (
            (said := recovery_of(self.server)) and said["disks"] and said["disks"][0]["replicas_under_way"] > 0))
        away = self.disk.backing + ".away"
        os.rename(self.disk.backing, away)
        os.mkdir(self.disk.backing)
        harness.wait_for("the other disk's replicas are open", lambda: self.count("d1", "waiting") == 0 and
                         self.count("d1", "under_way") == 0)
        harness.wait_for("the vanished ones failed", lambda: self.count("d0", "failed") > 0)
        self.check_keys_of(1)
        self.server.kill()
        shutil.rmtree(self.disk.backing)
        os.rename(away, self.disk.backing)
        self.disk.rules()
        self.server.start()
        self.check_all_is_served()

    def test_the_other_disks_replicas_serve_and_questions_are_answered(self):
        self.disk.rules({"op": "read", "path": "/data/", "seconds": 600})
        self.server.start(["--stuck_after=1s", "--stop_time_max=2s"])
        self.cluster.wait_listening(self.server)
        poller = self.begin_polling()

        def other_disk_serves():
            said = recovery_of(self.server)
            if said is None or said["phase"] != "recovering":
                return None
            disks = {disk["tag"]: disk for disk in said["disks"]}
            return said if disks["d1"]["replicas_done"] == disks["d1"]["replicas_total"] > 0 else None
        said = harness.wait_for("the healthy disk's replicas are open", other_disk_serves)
        disks = {disk["tag"]: disk for disk in said["disks"]}
        self.assertEqual(disks["d0"]["replicas_done"], 0)
        self.assertGreater(disks["d0"]["replicas_under_way"], 0)
        self.assertEqual(said["slowest"]["disk"], "d0")
        expected = disks["d1"]["replicas_done"]
        harness.wait_for("meta has heard of each, and they are primaries", lambda: sum(
            1 for p in self.cluster.partitions("temp") if p["primary"]) >= expected)
        self.check_keys_of(1)
        self.check_what_it_tells()
        self.check_answers(poller)
        self.check_stop_is_bounded()

    def check_what_it_tells(self):
        text = ask(self.server, "/recovery", "text/plain")
        self.assertIn("recovery: recovering", text)
        self.assertIn("opening_engine", text)
        said = self.shell("recovery")
        self.assertIn("recovery: recovering", said)
        self.assertIn(self.server.address, said)
        self.assertIn("disk d0: ", self.shell(f"recovery {self.server.address}"))
        harness.wait_for("the watchdog names the call", lambda: ": read " in ask(self.server, "/stuck", "text/plain"))
        self.assertIn("/data0, thread", self.shell(f"stuck {self.server.address}"))
        samples = harness.metrics(self.server)
        self.assertGreater(harness.value_of(samples, "arion_recovery_replicas", disk="d0", state="under_way"), 0)
        self.assertEqual(harness.value_of(samples, "arion_recovery_done"), 0)
        self.assertGreater(harness.value_of(samples, "arion_stuck"), 0)
        self.assertGreater(harness.value_of(samples, "arion_disk_pool_busy", disk="d0"), 0)
        self.assertEqual(harness.value_of(samples, "arion_disk_pool_queued", disk="d1"), 0)
        self.assertEqual(harness.value_of(samples, "arion_loop_blocking_calls_total"), 0)

    def check_stop_is_bounded(self):
        begun = time.monotonic()
        self.server.process.terminate()
        harness.wait_for("the stop is given up", lambda: any(
            "did not stop within stop_time_max = 2s" in line for line in self.server.last_lines()))
        self.assertLess(time.monotonic() - begun, 10 * harness.PATIENCE)
        self.disk.process.kill()
        self.assertEqual(self.server.process.wait(timeout=30 * harness.PATIENCE), 1)


class LogHome(OneBadDisk):
    settings = {"log_placement": "home", "log_home_directory": "{directory}/logs"}

    @classmethod
    def bad_directory(cls):
        return os.path.join(cls.server.directory, "logs")

    def test_one_that_hangs_before_the_start_is_named(self):
        self.disk.rules(*({"op": op, "seconds": 600} for op in ("look", "read", "write", "fsync", "fsyncdir")))
        self.server.start(["--disk_answer_max=1s"])
        harness.wait_for("the start says why it ends", lambda: any(
            "log_home_directory" in line and "does not answer" in line for line in self.server.last_lines()))

    def test_while_one_hangs_questions_are_answered(self):
        self.disk.rules({"op": "read", "path": ".pegasus/plog/", "seconds": 600})
        self.server.start(["--stuck_after=1s"])
        self.cluster.wait_listening(self.server)
        poller = self.begin_polling()
        harness.wait_for("replicas wait for their logs", lambda: (
            (said := recovery_of(self.server)) and said["slowest"] and said["slowest"]["step"] == "replaying"))
        harness.wait_for("the watchdog names the disk", lambda: "/logs" in ask(self.server, "/stuck", "text/plain"))
        self.check_answers(poller)
        self.end_bad_start()
        self.server.start()
        self.check_all_is_served()


if __name__ == "__main__":
    unittest.main(verbosity=2)
