#!/usr/bin/env python3
"""Every acknowledged write survives SIGKILL of any server and of all at once, and every amount is added at most once.

    tests/cluster/kill_test.py [--minutes N] [--seed N]

Writers run through the Go client (a new process after each fault: that client waits 60 s before it dials a lost server
again) and through ours (one process throughout). Every 5 s a random server is killed and restarted, every sixth time
all of them. At the end every acknowledged write is read back. A run that did too little does not count.

Beside them 64 clients of ours add distinct amounts to ten records at a time, by INCR and CHECK_AND_SET in turn, and never
send again. Each sum must be what was acknowledged plus some of what was left undecided, each at most once. The amounts
are large and look random, so that a wrong sum is none of those. The Go client sends an INCR again by itself: of its sums
nothing acknowledged may be missing.

And the Go client writes and reads eight records at a time: their history is linearizable.
SPDX-License-Identifier: Apache-2.0
"""

import argparse
import collections
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import data_api
import harness
import register_history

INTERVAL = 5.0
ACKNOWLEDGED_MIN = 2000
ADDED_MIN = 500
HISTORY_MIN = 2000
UNDECIDED_MAX = 40  # of one record: more could not be told apart by their sums
SECONDS = 45
SEED = int(os.environ.get("ARION_SEED", random.randrange(1 << 30)))


class Writer:
    """A process that prints a line for each acknowledged write."""

    def __init__(self, command, keys, stderr=subprocess.DEVNULL):
        self.keys = keys
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        stderr=stderr, cwd=tempfile.gettempdir())
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


def sums_of(amounts):
    """{sum: which of them, as bits} of every choice of the amounts."""
    sums = {0: 0}
    for bit, amount in enumerate(amounts):
        sums.update({total + amount: chosen | 1 << bit for total, chosen in sums.items()})
    return sums


def subset_with_sum(amounts, wanted):
    """Those of the amounts whose sum it is, or None. Half of them are tried against the other half."""
    if len(amounts) > UNDECIDED_MAX:
        raise AssertionError(f"{len(amounts)} undecided amounts of one record: too many for a verdict")
    middle = len(amounts) // 2
    low, high = sums_of(amounts[:middle]), sums_of(amounts[middle:])
    for total, chosen in low.items():
        if wanted - total in high:
            chosen |= high[wanted - total] << middle
            return [amount for bit, amount in enumerate(amounts) if chosen >> bit & 1]
    return None


class Kill(harness.ClusterTest):
    def adders(self):
        return Writer([os.path.join(harness.BUILD, "tests", "cluster", "adders"),
                       f"--meta={self.cluster.meta.address}"], self.amounts)

    def go_adder(self, round_number):
        return Writer([harness.go_client("apache"), "-meta", self.cluster.meta.address, "-threads", "4", "-prefix", "gosum",
                       "-first", str(round_number * 1000000), "-timeout", "5s", "add"], self.go_amounts)

    def go_history(self, round_number):
        return Writer([harness.go_client("apache"), "-meta", self.cluster.meta.address, "-threads", "8", "-prefix",
                       f"reg{round_number}", "-timeout", "5s", "history"], self.go_operations)

    def check_history(self):
        count, records, undecided, wrong = register_history.check_lines(self.go_operations)
        print(f"Go's history: {count} operations on {records} records, {undecided} writes without an answer, "
              f"{len(wrong)} violations", flush=True)
        self.assertEqual(wrong, [])
        self.assertGreaterEqual(count, HISTORY_MIN, "too little for a verdict")

    def check_sums(self):
        added, undecided = collections.Counter(), collections.defaultdict(list)
        count = 0
        for line in self.amounts:
            outcome, record, amount = line.split()
            if outcome == "added":
                added[record] += int(amount)
                count += 1
            else:
                undecided[record].append(int(amount))
        table = data_api.DataApi(self.cluster.meta.address, "temp")
        self.addCleanup(table.close)
        happened = 0
        for record in sorted(added.keys() | undecided.keys()):
            total = int(table.value(record.encode(), b"n") or 0)
            chosen = subset_with_sum(undecided[record], total - added[record])
            self.assertIsNotNone(chosen, f"{record} is {total}: {added[record]} were acknowledged, undecided are "
                                         f"{undecided[record]}, and no choice of them gives the difference")
            happened += len(chosen)
        left = sum(map(len, undecided.values()))
        most = max(map(len, undecided.values()), default=0)
        print(f"sums: {count} amounts acknowledged in {len(added)} records; {left} undecided, at most {most} of a record; "
              f"{happened} of them happened", flush=True)
        self.assertGreaterEqual(count, ADDED_MIN, "too little for a verdict")
        go_added = collections.Counter()
        for line in self.go_amounts:
            record, amount = line.split()
            go_added[record] += int(amount)
        for record, amount in go_added.items():
            self.assertGreaterEqual(int(table.value(record.encode(), b"n") or 0), amount, f"{record} lacks amounts")
        print(f"Go's sums: {len(self.go_amounts)} amounts acknowledged, none is missing", flush=True)
        self.assertGreater(len(self.go_amounts), 0)

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
        replicas = [server for server in victims if server.role == "replica"]
        if self.copied is None and replicas:
            self.copied = self.look_at_copy(replicas[0])
        time.sleep(self.random.uniform(0, 1))  # how long a server is away is part of the fault
        for server in victims:
            server.start()

    def logs_of(self, path):
        """What arion_log says of each log below a directory: it finds nothing damaged and changes nothing."""
        program = os.path.join(harness.BUILD, "arion_log")
        before = sorted((root, name, os.stat(os.path.join(root, name)).st_mtime_ns)
                        for root, _, names in os.walk(path) for name in names)
        lines = [json.loads(line) for line in harness.run([program, "verify", "-j", path]).splitlines()]
        disk = json.loads(harness.run([program, "stat", "-j", path]).splitlines()[-1])
        dumped = sum(1 for line in harness.run([program, "dump", "-j", path]).splitlines() if "n" in json.loads(line))
        after = sorted((root, name, os.stat(os.path.join(root, name)).st_mtime_ns)
                       for root, _, names in os.walk(path) for name in names)
        self.assertEqual(after, before, "arion_log changed what it looked at")
        self.assertEqual((disk["logs"], disk["mutations"]), (len(lines), dumped))
        return sorted((line["gpid"], line["verdict"], line["max_decree"]) for line in lines)

    def look_at_copy(self, server):
        """A killed server's data, and what `cp -a` makes of them: arion_log says the same of both."""
        with tempfile.TemporaryDirectory(prefix="arion-copy-") as copy:
            subprocess.run(["cp", "-a", server.data_directories()[0], copy], check=True)
            logs = self.logs_of(copy)
        self.assertEqual(self.logs_of(server.data_directories()[0]), logs)
        self.assertGreater(sum(decree for _, _, decree in logs), 0)
        self.assertEqual({verdict for _, verdict, _ in logs} - {"OK", "TORN TAIL"}, set(), logs)
        print(f"a copy of {server.name}: {logs}", flush=True)
        return logs

    def test_every_acknowledged_write_is_read_back(self):
        print(f"seed {SEED}, {SECONDS:.0f} s", flush=True)
        self.random = random.Random(SEED)
        self.started = time.monotonic()
        self.go_keys, self.our_keys, self.amounts, self.go_amounts, self.go_operations = [], [], [], [], []
        self.copied = None
        ours, adders = self.ours(), self.adders()
        of_go = [self.go(0), self.go_adder(0), self.go_history(0)]
        counts, kills, round_number = [], 0, 0
        while time.monotonic() - self.started < SECONDS:
            round_number += 1
            before = len(self.go_keys) + len(self.our_keys)
            time.sleep(INTERVAL)
            for writer in of_go:
                writer.stop()
            counts.append(len(self.go_keys) + len(self.our_keys) - before)
            victims = self.cluster.servers() if round_number % 6 == 0 else [self.random.choice(self.cluster.servers())]
            kills += len(victims)
            self.kill(victims)
            for server in victims:
                self.cluster.wait_listening(server)
            of_go = [self.go(round_number), self.go_adder(round_number), self.go_history(round_number)]
        time.sleep(INTERVAL)
        for writer in (*of_go, ours, adders):
            writer.stop()
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
        self.check_sums()
        self.check_history()
        self.assertIsNotNone(self.copied, "no replica server was killed: run it longer")


class Verdict(unittest.TestCase):
    """The check itself: that it can fail."""

    def test_a_sum_is_explained_by_at_most_one_of_each(self):
        chance = random.Random(7)
        amounts = [chance.getrandbits(48) | 1 for _ in range(30)]
        self.assertEqual(subset_with_sum(amounts, 0), [])
        self.assertEqual(sorted(subset_with_sum(amounts, amounts[3] + amounts[8])), sorted((amounts[3], amounts[8])))
        self.assertIsNone(subset_with_sum(amounts, 2 * amounts[3]))
        self.assertIsNone(subset_with_sum(amounts, -amounts[3]))
        self.assertIsNone(subset_with_sum([], 5))

    def test_a_sanitizers_report_in_a_servers_log_is_found(self):
        for line in ("==12==ERROR: AddressSanitizer: heap-use-after-free", "a.cc:3:4: runtime error: signed integer overflow"):
            cluster = harness.Cluster(servers=1)
            with open(cluster.replicas[0].log, "w") as log:
                log.write(f"before\n{line}\n")
            with self.assertRaisesRegex(AssertionError, "replica1"):
                cluster.destroy()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=SECONDS / 60)
    parser.add_argument("--seed", type=int, default=SEED)
    arguments, rest = parser.parse_known_args()
    SECONDS, SEED = arguments.minutes * 60, arguments.seed
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
