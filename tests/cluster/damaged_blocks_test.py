#!/usr/bin/env python3
"""G9 on real processes: one block of a file of a stopped server is damaged, for each of its replicas or for the server itself.
It starts again, and everything is read, from it as primary and from every member: never a wrong answer, nothing
acknowledged is lost, the server lives, and within 60 s it leads every partition and answers everything.

    tests/cluster/damaged_blocks_test.py [--seconds N] [--seed N]   # a sample; without arguments what CI runs
    tests/cluster/damaged_blocks_test.py --all                      # until each block of each file had each damage

Files that differ in numbers only count as one, as all that RocksDB calls <number>.sst.
SPDX-License-Identifier: Apache-2.0
"""

import argparse
import collections
import glob
import os
import random
import re
import subprocess
import sys
import time
import unittest

import data_api
import harness

BLOCK = 4096
DAMAGES = ("flip", "zero", "random", "truncate", "swap", "append")
KEYS, VALUE_BYTES = 300, 600
HEALS_SECONDS = 60 * harness.PATIENCE
CASES_MIN = 8  # with fewer it proves nothing
SECONDS, SEED = 25, random.randrange(1 << 30)

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


class DamagedBlocks(harness.ClusterTest):
    partitions = 4
    replica_settings = {"checkpoint_interval": "1s", "log_segment_size": "1 MiB"}

    def setUp(self):
        self.chance = random.Random(SEED)
        self.values, self.done, self.heals = {}, collections.Counter(), []
        self.table_api = data_api.DataApi(self.cluster.meta.address, "temp", header_version=1, timeout=5)
        self.app_id = self.table_api.app_id
        self.addCleanup(lambda: self.table_api and self.table_api.close())

    # Clients' side.

    def again(self, ask, until):
        """What `ask(table)` answers; a refusal is asked again with a new view of the table."""
        while True:
            try:
                if self.table_api is None:
                    self.table_api = data_api.DataApi(self.cluster.meta.address, "temp", header_version=1, timeout=5)
                answer = ask(self.table_api)
                if answer["error"] in (data_api.OK, data_api.NOT_FOUND):
                    return answer
            except (OSError, data_api.Refused, AttributeError) as error:  # a partition has no primary
                answer = error
            if self.table_api is not None:
                self.table_api.close()
                self.table_api = None
            self.assertLess(time.monotonic(), until, f"still refused: {answer}")
            time.sleep(0.05)

    def put(self, count):
        for i in self.chance.sample(range(KEYS), count):
            value = b"%d.%d|" % (i, self.chance.getrandbits(40)) + b"x" * self.chance.randrange(VALUE_BYTES)
            self.values[i] = [*self.values.get(i, [])[-50:], value]
            answer = self.again(lambda table: table.put(key=data_api.raw_key(b"k%d" % i, b"s"), value=value),
                                time.monotonic() + HEALS_SECONDS)
            self.assertEqual(answer["error"], data_api.OK)

    def read(self, table, i, **how):
        return table.get(data_api.raw_key(b"k%d" % i, b"s"), **how)

    def read_all(self, until):
        """From the primaries, whoever they are."""
        for i, values in self.values.items():
            answer = self.again(lambda table: self.read(table, i), until)
            self.assertEqual((answer["error"], answer.get("value")), (data_api.OK, values[-1]), f"k{i}")

    def members_agree(self):
        """Each member's own copy, a moment late perhaps: a value of before is no lie, but it must not stay."""
        table = data_api.DataApi(self.cluster.meta.address, "temp", header_version=1)
        try:
            for i, values in self.values.items():
                partition = table.partitions[table.partition_of(b"k%d" % i)]
                for address in (partition["primary"], *partition["secondaries"]):
                    answer = self.read(table, i, address=address, backup=True)
                    self.assertIn(answer["error"], (data_api.OK, data_api.NOT_FOUND))
                    if answer["error"] == data_api.OK:
                        self.assertIn(answer["value"], values, f"k{i} from {address}")
                    if answer.get("value") != values[-1]:
                        return False
            return True
        except (OSError, data_api.Refused, AttributeError):
            return False
        finally:
            table.close()

    # The operator's side.

    def lead(self, victim, until):
        """The server becomes primary of every partition."""
        def leads():
            moves = [f"balance -g {self.app_id}.{p['index']} -p move_pri -f {p['primary']} -t {victim.address} -y"
                     for p in self.cluster.partitions("temp") if p["primary"] != victim.address]
            for move in moves:  # one that is refused is tried again
                subprocess.run([os.path.join(harness.BUILD, "arion_shell"), "--meta", self.cluster.meta.address, "-e", move],
                               capture_output=True, check=False, timeout=60 * harness.PATIENCE)
            return not moves
        harness.wait_for(f"{victim.name} leads every partition", leads, (until - time.monotonic()) / harness.PATIENCE)

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
        """At most three replicas a time: after more the directory rests (replica/directory_rest.h)."""
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
    SEED = arguments.seed
    SECONDS = arguments.seconds or (float("inf") if arguments.all else SECONDS)
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
