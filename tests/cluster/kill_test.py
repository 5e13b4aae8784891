#!/usr/bin/env python3
"""Every acknowledged write survives SIGKILL of any server and of all at once.

    tests/cluster/kill_test.py [--minutes N] [--seed N]

Writers run through the Go client (a new process after each fault: that client waits 60 s before it dials a lost server
again) and through ours (one process throughout). Every 5 s a random server is killed and restarted, every sixth time
all of them. At the end every acknowledged write is read back. A run that did too little does not count.
SPDX-License-Identifier: Apache-2.0
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import harness

INTERVAL = 5.0
ACKNOWLEDGED_MIN = 2000
SECONDS = 60
SEED = int(os.environ.get("ARION_SEED", random.randrange(1 << 30)))


class Writer:
    """A process that prints a line for each acknowledged write."""

    def __init__(self, command, keys):
        self.keys = keys
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        stderr=subprocess.DEVNULL, cwd=tempfile.gettempdir())
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        for line in self.process.stdout:
            if line.endswith("\n"):  # a line cut off by a kill names no key
                self.keys.append(line.strip())

    def stop(self):
        """Asks it to stop; whatever is acknowledged until it ends counts."""
        self.process.stdin.close()
        try:
            self.process.wait(timeout=15 * harness.PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.thread.join()
        self.process.stdout.close()


class Kill(harness.ClusterTest):
    def go(self, round_number):
        return Writer([harness.go_client("apache"), "-meta", self.cluster.meta.address, "-threads", "4", "-prefix",
                       f"go{round_number}", "-timeout", "5s", "write"], self.go_keys)

    def ours(self):
        return Writer([os.path.join(harness.BUILD, "tests", "cluster", "kill_writer"),
                       f"--meta={self.cluster.meta.address}", "--prefix=cc", "--threads=4"], self.our_keys)

    def kill(self, victims):
        names = ", ".join(server.name for server in victims)
        print(f"[{time.monotonic() - self.started:6.1f} s] kill {names}", flush=True)
        for server in victims:
            server.kill()
        time.sleep(self.random.uniform(0, 1))  # how long a server is away is part of the fault
        for server in victims:
            server.start()

    def test_every_acknowledged_write_is_read_back(self):
        print(f"seed {SEED}, {SECONDS:.0f} s", flush=True)
        self.random = random.Random(SEED)
        self.started = time.monotonic()
        self.go_keys, self.our_keys = [], []
        ours = self.ours()
        go = self.go(0)
        counts, kills, round_number = [], 0, 0
        while time.monotonic() - self.started < SECONDS:
            round_number += 1
            before = len(self.go_keys) + len(self.our_keys)
            time.sleep(INTERVAL)
            go.stop()
            counts.append(len(self.go_keys) + len(self.our_keys) - before)
            victims = self.cluster.servers() if round_number % 6 == 0 else [self.random.choice(self.cluster.servers())]
            kills += len(victims)
            self.kill(victims)
            for server in victims:
                self.cluster.wait_listening(server)
            go = self.go(round_number)
        time.sleep(INTERVAL)
        go.stop()
        ours.stop()
        self.check_all_alive()
        self.cluster.wait_healthy("temp", seconds=60)
        print(f"acknowledged: Go {len(self.go_keys)}, ours {len(self.our_keys)}; per interval {counts}; {kills} kills",
              flush=True)
        verified = harness.run([harness.go_client("apache"), "-meta", self.cluster.meta.address, "verify"],
                               timeout=300, input="\n".join(self.go_keys + self.our_keys), cwd=tempfile.gettempdir())
        print(verified.strip(), flush=True)
        self.assertIn(" 0 lost", verified)
        self.assertGreaterEqual(len(self.go_keys) + len(self.our_keys), ACKNOWLEDGED_MIN, "too little for a verdict")
        self.assertGreater(min(counts), 0, f"an interval without acknowledged writes: {counts}")
        self.assertGreater(len(self.go_keys), 0)
        self.assertGreater(len(self.our_keys), 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=SECONDS / 60)
    parser.add_argument("--seed", type=int, default=SEED)
    arguments, rest = parser.parse_known_args()
    SECONDS, SEED = arguments.minutes * 60, arguments.seed
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
