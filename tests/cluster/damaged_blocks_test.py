#!/usr/bin/env python3
"""Damage at rest, on real processes: one block of a file of a stopped server is damaged, for each of its replicas or for the
server itself. It starts again, and everything is read, from it as primary and from every member: never a wrong answer,
nothing acknowledged is lost, the server lives, and within 60 s it leads every partition and answers everything.

    tests/cluster/damaged_blocks_test.py [--seconds N] [--seed N]   # a sample; without arguments what CI runs
    tests/cluster/damaged_blocks_test.py --all                      # until each block of each file had each damage

Files that differ in numbers only count as one, as all that RocksDB calls <number>.sst.
SPDX-License-Identifier: Apache-2.0
"""

import argparse
import collections
import glob
import os
import re
import sys
import time
import unittest

import harness
import records

BLOCK = 4096
DAMAGES = ("flip", "zero", "random", "truncate", "swap", "append")
KEYS = 300
HEALS_SECONDS = records.HEALS_SECONDS
CASES_MIN = 8  # with fewer it proves nothing
SECONDS = 25
SEED = records.RecordsTest.seed

Case = collections.namedtuple("Case", "path kind block damage")


def blocks_of(path):
    """(number, content) of those that are not zeros, and of the first of each stretch of zeros."""
    with open(path, "rb") as file:
        content = file.read()
    was_zero = False
    for at in range(0, len(content), BLOCK):
        block = content[at:at + BLOCK]
        is_zero = not any(block)
        if not (is_zero and was_zero):
            yield at // BLOCK, block
        was_zero = is_zero


def cases_of(path, kind):
    blocks = list(blocks_of(path))
    for number, block in blocks:
        for damage in DAMAGES[:4]:
            if damage != "zero" or any(block):
                yield Case(path, kind, number, damage)
    for (number, block), (_, other) in zip(blocks, blocks[1:]):
        if len(block) == len(other):
            yield Case(path, kind, number, "swap")
    yield Case(path, kind, 0, "append")


def apply(case, chance):
    with open(case.path, "r+b") as file:
        content = bytearray(file.read())
        at = case.block * BLOCK
        n = min(BLOCK, len(content) - at)
        if case.damage == "flip":
            content[at + chance.randrange(n)] ^= 1 << chance.randrange(8)
        elif case.damage == "zero":
            content[at:at + n] = bytes(n)
        elif case.damage == "random":
            content[at:at + n] = chance.randbytes(n)
        elif case.damage == "truncate":
            del content[at:]
        elif case.damage == "swap":
            content[at:at + 2 * BLOCK] = content[at + BLOCK:at + 2 * BLOCK] + content[at:at + BLOCK]
        else:
            content += chance.randbytes(chance.randrange(1, 2 * BLOCK))
        file.seek(0)
        file.write(content)
        file.truncate()


class DamagedBlocks(records.RecordsTest):
    keys = KEYS
    partitions = 4
    replica_settings = {"checkpoint_interval": "1s", "log_segment_size": "1 MiB"}

    def setUp(self):
        super().setUp()
        self.done, self.heals = collections.Counter(), []

    # The operator's side.

    def ballots(self):
        return [p["ballot"] for p in self.cluster.partitions("temp")]

    def check_healed(self, victim, begin):
        """It leads all while everything is read from it: where it can't read something it steps down, learns and tries again."""
        until = begin + HEALS_SECONDS
        before = None
        while before is None or before != self.ballots():
            self.read_all(until)
            self.cluster.wait_healthy("temp", 3, (until - time.monotonic()) / harness.PATIENCE)
            self.lead(victim, until)
            before = self.ballots()
            self.read_all(until)
        harness.wait_for("all members agree", self.members_agree, (until - time.monotonic()) / harness.PATIENCE)
        self.check_all_alive()
        self.heals.append(time.monotonic() - begin)

    # What is damaged.

    def cases(self, directory, recursive):
        for root, folders, names in os.walk(directory):
            folders[:] = folders if recursive else []
            for name in names:
                path = os.path.join(root, name)
                yield from cases_of(path, re.sub(r"\d+", "N", os.path.relpath(path, directory)))

    def choose(self, cases):
        """One of those that were not tried yet, each kind of file as likely as another."""
        kinds = collections.defaultdict(list)
        for case in cases:
            if case[1:] not in self.done:
                kinds[case.kind].append(case)
        return self.chance.choice(kinds[self.chance.choice(sorted(kinds))]) if kinds else None

    def damage(self, victim):
        """At most three replicas a time: after more the directory rests (disks/directory_rest.h)."""
        data = victim.data_directories()[0]
        home = os.path.join(data, "replica", "reps")
        chosen = []
        if self.chance.randrange(4) == 0:
            chosen.append(self.choose([*self.cases(data, False), *self.cases(home, False)]))
        if not any(chosen):
            replicas = [name for name in os.listdir(home) if name.endswith(".pegasus")]
            for name in self.chance.sample(sorted(replicas), min(3, len(replicas))):
                chosen.append(self.choose(list(self.cases(os.path.join(home, name), True))))
        chosen = [case for case in chosen if case]
        for case in chosen:
            print(f"    {os.path.relpath(case.path, data)} block {case.block} {case.damage}", flush=True)
            apply(case, self.chance)
        return chosen

    def round(self):
        victim = self.chance.choice(self.cluster.replicas)
        self.put(20)
        if self.chance.randrange(2):
            time.sleep(self.chance.uniform(0, 2))  # how much of it is in a checkpoint is part of the case
            self.put(20)
        how = self.chance.choice(("killed", "stopped"))
        victim.kill() if how == "killed" else self.assertEqual(victim.stop(), 0)
        print(f"{victim.name} {how}", flush=True)
        chosen = self.damage(victim)
        if how == "stopped":  # then nobody waits for its lease to end
            self.put(self.chance.randrange(10))
        begin = time.monotonic()
        victim.start()
        self.cluster.wait_listening(victim)
        self.check_healed(victim, begin)
        for case in chosen:
            self.done[case[1:]] += 1
        return len(chosen)

    def test_a_server_that_lacks_the_end_of_its_log_is_not_moved_to(self):
        """What is cut off looks like a torn tail, and the meta server must not take it for intact before the primary has."""
        self.put(KEYS)
        victim = self.cluster.replicas[0]
        self.lead(self.cluster.replicas[1], time.monotonic() + HEALS_SECONDS)
        for _ in range(3):
            self.put(40)  # and no checkpoint after it
            victim.kill()
            for path in glob.glob(os.path.join(victim.data_directories()[0], "replica", "reps", "*.pegasus", "plog", "log.*")):
                os.truncate(path, 0)
            begin = time.monotonic()
            victim.start()
            self.cluster.wait_listening(victim)
            self.lead(victim, begin + HEALS_SECONDS)
            self.check_healed(victim, begin)
            self.lead(self.cluster.replicas[1], time.monotonic() + HEALS_SECONDS)

    def test_a_damaged_block_is_never_answered_from_and_is_repaired(self):
        print(f"seed {SEED}", flush=True)
        self.put(KEYS)
        end, in_vain = time.monotonic() + SECONDS, 0
        while in_vain < 20 and time.monotonic() < end:
            in_vain = 0 if self.round() else in_vain + 1
        count = sum(self.done.values())
        print(f"{count} damaged blocks of {len({kind for kind, *_ in self.done})} kinds of files in {len(self.heals)} restarts; healed and "
              f"read after {sorted(self.heals)[len(self.heals) // 2]:.1f} s (median), {max(self.heals):.1f} s at most", flush=True)
        self.assertGreaterEqual(count, CASES_MIN, "too little for a verdict")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--all", action="store_true")
    arguments, rest = parser.parse_known_args()
    SEED = DamagedBlocks.seed = arguments.seed
    SECONDS = arguments.seconds or (float("inf") if arguments.all else SECONDS)
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
