#!/usr/bin/env python3
"""Tables are split while clients write: each acknowledged write is there, no scan shows a record twice or lacks one, and all
copies are equal; through pauses, a cancel, SIGKILL of replica servers and of the meta server.

    ARION_SPLIT_STEPS=all ARION_SPLIT_RECORDS=2000000 ARION_SPLIT_WRITERS=45 tests/cluster/split_test.py KilledAtSteps

kills a server at each step of a split (or at those of a comma separated list), of a table of 2 GB, under 45 writers and a scan after
the other.

SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import random
import struct
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.request

import data_api
import harness
import kill_test
from repair_test import value_of

# Where env/die_at.h ends a server.
STEPS_OF_META = ["split.stored", "split.child_stored"]
STEPS_OF_PRIMARY = ["split.prepare", "split.hold", "split.seal", "split.complete", "split.register", "split.registered", "split.activated"]
STEPS_OF_MEMBER = ["split.base", "split.tail", "split.answer"]
LARGE = 100_000
RECORDS = 4000
BATCH = 50
SPLIT_SECONDS = 120


def run_shell(cluster, *commands):
    """(exit code, the last answer)"""
    done = subprocess.run([os.path.join(harness.BUILD, "arion_shell"), "--meta", cluster.meta.address, "-j", "-e", "; ".join(commands)],
                          capture_output=True, text=True, check=False, timeout=300 * harness.PATIENCE)
    lines = done.stdout.splitlines()
    return done.returncode, json.loads(lines[-1]) if lines else {"error": done.stderr}


class TimedWriter(kill_test.Writer):
    """One thread, which goes from partition to partition: how long a partition keeps it is what a client sees."""

    def __init__(self, meta, table, prefix):
        self.longest = 0.0
        super().__init__([os.path.join(harness.BUILD, "tests", "cluster", "kill_writer"), f"--meta={meta}", f"--table={table}",
                          f"--prefix={prefix}", "--threads=1"], [])

    def _read(self):
        last = None
        for line in self.process.stdout:
            now = time.monotonic()
            if last is not None:
                self.longest = max(self.longest, now - last)
            last = now
            if line.endswith("\n"):
                self.keys.append(line.strip())


@harness.others_with_each_commit
class Split(harness.ClusterTest):
    table = "unused"
    partitions = 1
    seed = int(os.environ.get("ARION_SEED", random.randrange(1 << 30)))

    def setUp(self):
        self.chance = random.Random(self.seed)
        print(f"{self.id()}: seed {self.seed}", flush=True)
        self.name = self.id().rsplit(".", 1)[-1][5:25]
        self.values = {}
        self.cluster.create_table(self.name, partitions=8)
        self.addCleanup(self.drop)

    def drop(self):
        """So that the next test's servers have as little to do."""
        for server in self.cluster.servers():
            if not server.is_running():
                server.start()
                self.cluster.wait_listening(server)
        self.run_shell(f"split cancel {self.name} 8")  # where a test failed
        harness.wait_for("it is dropped", lambda: self.run_shell(f"drop {self.name} -y")[0] == 0)

    def run_shell(self, *commands):
        return run_shell(self.cluster, *commands)

    def shell(self, *commands, exit_code=0):
        code, answer = self.run_shell(*commands)
        self.assertEqual(code, exit_code, f"{commands}: {answer}")
        return answer

    def split(self, action, *words, exit_code=0):
        return self.shell(f"split {action} {self.name} {' '.join(map(str, words))}", exit_code=exit_code)

    def load(self):
        """Some thousand records, of hash keys with one record and of some with many."""
        table = data_api.DataApi(self.cluster.meta.address, self.name, header_version=1)
        self.addCleanup(table.close)
        for i in range(RECORDS // 2):
            key, value = (b"k%d" % i, b"s"), b"%d|" % i + b"x" * self.chance.randrange(200)
            table.set(*key, value)
            self.values[key] = value
        for i in range(RECORDS // 2 // BATCH):
            keys = [b"s%d" % j for j in range(BATCH)]
            table.fill(b"many%d" % i, *keys)
            self.values.update({(b"many%d" % i, key): b"v" + key for key in keys})

    def writer(self, prefix="cc"):
        writer = TimedWriter(self.cluster.meta.address, self.name, prefix)
        self.addCleanup(writer.process.kill)
        harness.wait_for("writes are acknowledged", lambda: len(writer.keys) > 100)
        return writer

    def end(self, writer):
        before = len(writer.keys)
        harness.wait_for("writes are acknowledged at the end", lambda: len(writer.keys) > before + 100)
        writer.stop()
        self.values.update({(key.encode(), b"s"): value_of(key) for key in writer.keys})
        print(f"    {len(writer.keys)} writes acknowledged; the longest pause {writer.longest:.3f} s", flush=True)
        return writer

    def query(self):
        return self.split("query")

    def wait_split(self, count):
        begun = time.monotonic()
        last = {}

        def is_over():
            code, answer = self.run_shell(f"split query {self.name}")  # while the meta server is away it fails
            last.update(answer)
            return code == 0 and answer["state"] == "not being split"
        try:
            harness.wait_for(f"{self.name} has {count} partitions", is_over, SPLIT_SECONDS)
        except AssertionError as error:
            raise AssertionError(f"{error}; {last}") from None
        self.assertEqual(last["partition_count"], count)
        print(f"    {count} partitions after {time.monotonic() - begun:.1f} s", flush=True)
        self.cluster.wait_healthy(self.name, seconds=SPLIT_SECONDS)

    def wait_completed(self, count):
        def are_completed():
            code, answer = self.run_shell(f"split query {self.name}")
            return code == 0 and (answer["completed"] >= count or answer["state"] == "not being split")
        harness.wait_for(f"{count} partitions are split", are_completed, SPLIT_SECONDS)

    def check(self, count, unsure=()):
        """Each record once, in the partition that its key says, by every way to read; and all copies are equal. `unsure`: how keys
        begin that may be there besides, because nobody acknowledged them."""
        table = data_api.DataApi(self.cluster.meta.address, self.name, header_version=1, timeout=60)
        self.addCleanup(table.close)
        self.assertEqual(len(table.partitions), count)
        self.assertEqual([p["index"] for p in table.partitions], list(range(count)))
        found, twice = {}, []
        for partition in range(count):
            kvs, _ = table.scan_all(partition, start_key=b"\0\0", stop_key=b"\xff\xff", start_inclusive=True, batch_size=1000,
                                    full_scan=True, validate_partition_hash=True)
            for kv in kvs:
                length = struct.unpack(">H", kv["key"][:2])[0]
                key = (kv["key"][2:2 + length], kv["key"][2 + length:])
                if key in found:
                    twice.append(key)
                self.assertEqual(table.partition_of(*key), partition, key)
                found[key] = kv["value"]
        self.assertEqual(twice[:5], [], f"{len(twice)} came twice")
        lost = [key for key, value in self.values.items() if found.get(key) != value]
        self.assertEqual(lost[:5], [], f"{len(lost)} of {len(self.values)} are lost in scans")
        more = [key for key in found if key not in self.values and not key[0].startswith(tuple(unsure))]
        self.assertEqual(more[:5], [], f"{len(more)} are more than was written")

        for key in self.chance.sample(sorted(self.values), min(2000, len(self.values))):
            self.assertEqual(table.value(*key), self.values[key], key)
        for i in range(RECORDS // 2 // BATCH):
            name = b"many%d" % i
            self.assertEqual(len(table.all(name)), BATCH, name)
        # By our own client, which opens the table anew.
        self.assertEqual(self.shell(f"use {self.name}", "count_data")["count"], len(found))
        code, copies = self.run_shell(f"verify_replicas {self.name}")
        self.assertEqual((code, copies.get("equal")), (0, count), copies)

    def page(self):
        with urllib.request.urlopen(f"http://{self.cluster.meta.address}/meta/split?name={self.name}",
                                    timeout=10 * harness.PATIENCE) as answer:
            return json.load(answer)

    def lame(self, server):
        """Without one of its members no partition is split: what is begun then goes on only when the server is back."""
        server.kill()
        harness.wait_for("it is missed", lambda: self.cluster.alive() == len(self.cluster.replicas) - 1)
        harness.wait_for("others lead", lambda: not self.cluster.lacks_primary(self.name))

    def heal(self, server):
        server.start()
        self.cluster.wait_listening(server)

    def test_from_8_to_32_beside_a_writer(self):
        self.load()
        writer = self.writer()
        for count in (16, 32):
            before = len(writer.keys)
            self.assertEqual(self.split("start", count)["new_partition_count"], count)
            self.wait_split(count)
            self.assertGreater(len(writer.keys), before, "writes went on meanwhile")
        self.end(writer)
        self.check(32, unsure=[b"cc"])
        # What the other half left behind goes, and nothing else.
        self.shell(f"manual-compaction start -a {self.name} -b --wait")
        self.check(32, unsure=[b"cc"])
        # After restarts the halves are what they were.
        for server in self.cluster.replicas:
            self.assertEqual(server.stop(), 0)
        for server in self.cluster.replicas:
            server.start()
        self.cluster.wait_healthy(self.name)
        self.check(32, unsure=[b"cc"])

    def other_client(self, command):
        """A process that writes through another client; it and its standard error, for `errors_of`."""
        errors = self.enterContext(tempfile.TemporaryFile("w+"))
        writer = kill_test.Writer(command, [], stderr=errors)
        self.addCleanup(writer.process.kill)
        harness.wait_for("writes are acknowledged", lambda: len(writer.keys) > 100)
        return writer, errors

    def errors_of(self, writer, errors):
        """Ends it: {error: how many writes were not acknowledged for it}."""
        writer.stop()
        self.assertEqual(writer.process.returncode, 0)
        errors.seek(0)
        lines = [line.rstrip("\n").split("\t") for line in errors if line.startswith("not acknowledged\t")]
        failed = {name: int(count) for _, name, count in lines}
        print(f"    {len(writer.keys)} writes acknowledged, not acknowledged: {failed}", flush=True)
        return failed

    def split_beside(self, command):
        """A client that writes and knows nothing of it: the keys acknowledged to it, and how often which error came instead."""
        writer, errors = self.other_client(command)
        self.split("start", 16)
        self.wait_split(16)
        before, begun = len(writer.keys), time.monotonic()
        # Half of any keys moved, so it has learnt the new routes.
        harness.wait_for("it writes on", lambda: len(writer.keys) > before + 1000, 60)
        print(f"    1000 writes after {time.monotonic() - begun:.1f} s", flush=True)
        return writer.keys, self.errors_of(writer, errors)

    def go_client(self, version, *mode):
        return [harness.go_client(version), "-meta", self.cluster.meta.address, "-table", self.name, "-threads", "4", "-prefix", "go",
                "-timeout", "5s", *mode]

    def pypegasus(self, mode):
        return [harness.python_with_packages(), os.path.join(harness.HERE, "pypegasus_split.py"), self.cluster.meta.address,
                self.name, mode]

    def go_on_with_go(self, version):
        """It asks for the configuration when it is refused, and doesn't send again what was refused."""
        keys, failed = self.split_beside(self.go_client(version, "write"))
        self.assertEqual(set(failed) - {"ERR_PARENT_PARTITION_MISUSED"}, set(), failed)
        verified = harness.run(self.go_client(version, "verify"), timeout=300, input="\n".join(keys), cwd=tempfile.gettempdir())
        self.assertIn(f"{len(keys)} acknowledged writes, 0 lost", verified)

    def test_the_go_client_goes_on(self):
        self.go_on_with_go("apache")

    def test_the_older_go_client_goes_on(self):
        self.go_on_with_go("xiaomi")

    def test_pypegasus_goes_on(self):
        """It sends 0 as the hash. It doesn't know the refusal: the connection to that server dies in its hands, and what it sends
        there times out. After five timeouts it asks for the configuration, and goes on."""
        old = data_api.DataApi(self.cluster.meta.address, self.name)  # its routes stay
        self.addCleanup(old.close)
        keys, failed = self.split_beside(self.pypegasus("write"))
        self.assertEqual(set(failed) - {"ERR_TIMEOUT", "ERR_INVALID_STATE"}, set(), failed)
        self.assertGreater(sum(failed.values()), 0, "it learns by errors alone")
        read = harness.run(self.pypegasus("read"), timeout=120, input="\n".join(keys), cwd=tempfile.gettempdir())
        self.assertIn(f"{len(keys)} acknowledged writes, 0 lost; a scan lacks 0, and has 0 twice", read)

        # By the routes of before, as it sends them: those that stayed are served, those that moved are refused and do nothing.
        new = data_api.DataApi(self.cluster.meta.address, self.name)
        self.addCleanup(new.close)
        stayed = 0
        for key in (key.encode() for key in keys[:100]):
            partition = old.partition_of(key)
            at = {"partition": partition, "partition_hash": 0, "address": new.partitions[partition]["primary"]}
            raw = data_api.raw_key(key, b"s")
            if new.partition_of(key) == partition:
                stayed += 1
                self.assertEqual(old.get(raw, **at)["value"], value_of(key.decode()))
                continue
            for request, value in (("get", raw), ("put", {"key": raw, "value": b"wrong"}), ("remove", raw),
                                   ("multi_get", {"hash_key": key, "start_inclusive": True}),
                                   ("multi_put", {"hash_key": key, "kvs": [{"key": b"s", "value": b"wrong"}]})):
                with self.assertRaisesRegex(data_api.Refused, "ERR_PARENT_PARTITION_MISUSED"):
                    old.call(request, value, **at)
            self.assertEqual(new.value(key, b"s"), value_of(key.decode()))
        self.assertGreater(stayed, 20)
        self.assertLess(stayed, 80)

    def test_paused_gone_on_with_and_taken_back(self):
        self.load()
        missing = self.cluster.replicas[0]
        self.lame(missing)
        self.split("start", 16)
        waiting = self.query()
        self.assertEqual((waiting["state"], waiting["completed"], waiting["splitting"]), ("splitting", 0, 8))
        harness.wait_for("it says what it waits for", lambda: all(row["progress"] for row in self.query()["partitions"]))
        self.assertEqual(self.page()["general"]["splitting_count"], "8")
        self.assertIn("split", [job["job"] for job in self.shell("jobs")["jobs"]])
        self.split("start", 16, exit_code=1)
        self.shell(f"drop {self.name} -y", exit_code=1)

        self.split("pause")
        self.assertEqual((self.query()["state"], self.query()["paused"]), ("paused", 8))
        # Opened now, Go asks the parents for what will be their children's, and pypegasus nobody.
        go, pypegasus = self.other_client(self.go_client("apache", "write")), self.other_client(self.pypegasus("write"))
        self.split("restart", 3)
        self.assertEqual((self.query()["state"], self.query()["splitting"]), ("splitting", 1))
        self.split("restart", 3, exit_code=1)
        self.split("pause", 8, exit_code=1)
        self.split("cancel", 16, exit_code=1)
        self.split("cancel", 8)
        self.assertEqual((self.query()["state"], self.query()["partition_count"]), ("not being split", 8))
        self.assertEqual(self.page()["general"]["is_splitting"], "false")
        self.split("pause", exit_code=1)
        for writer, errors in (go, pypegasus):
            before = len(writer.keys)
            harness.wait_for("it writes on", lambda: len(writer.keys) > before + 1000)
            failed = self.errors_of(writer, errors)
            if writer is go[0]:
                self.assertEqual(failed, {})
            else:  # it asks for the configuration every 2 s, and forgets what is under way then
                self.assertIn("ERR_INVALID_STATE", failed)
                self.assertEqual(set(failed) - {"ERR_INVALID_STATE", "ERR_TIMEOUT"}, set(), failed)
            self.values.update({(key.encode(), b"s"): value_of(key) for key in writer.keys})
        self.heal(missing)
        self.cluster.wait_healthy(self.name)
        self.check(8, unsure=[b"go", b"py"])

        self.lame(missing)
        self.split("start", 16)
        self.split("pause", 2)
        self.heal(missing)
        self.wait_completed(7)
        held = self.query()
        self.assertEqual((held["state"], held["completed"], held["paused"]), ("paused", 7, 1))
        self.assertEqual([row["partition"] for row in held["partitions"] if row["state"] == "paused"], [2])
        self.split("cancel", 8, exit_code=1)
        self.split("pause", 3, exit_code=1)
        writer = self.writer()
        self.split("restart", 2)
        self.wait_split(16)
        self.end(writer)
        self.check(16, unsure=[b"cc", b"go", b"py"])

    def test_replica_servers_are_killed_meanwhile(self):
        self.load()
        writer = self.writer()
        for count in (16, 32):
            self.split("start", count)
            if count == 32:
                self.wait_completed(self.chance.randrange(1, 8))
            else:
                time.sleep(self.chance.uniform(0, 1))
            leaders = {p["primary"] for p in self.cluster.partitions(self.name) if p["primary"]}
            victim = self.chance.choice([server for server in self.cluster.replicas if server.address in leaders])
            print(f"    {victim.name} is killed", flush=True)
            victim.kill()
            time.sleep(self.chance.uniform(0, 2 if count == 16 else 8))  # shorter than the grace, and longer
            self.heal(victim)
            self.wait_split(count)
        self.end(writer)
        self.check_all_alive()
        self.check(32, unsure=[b"cc"])

    def test_all_replica_servers_are_killed_meanwhile(self):
        self.load()
        writer = self.writer()
        self.split("start", 16)
        self.wait_completed(self.chance.randrange(0, 4))
        for server in self.cluster.replicas:
            server.kill()
        for server in self.cluster.replicas:
            self.heal(server)
        self.wait_split(16)
        self.end(writer)
        self.check_all_alive()
        self.check(16, unsure=[b"cc"])

    def test_the_meta_server_is_killed_meanwhile(self):
        self.load()
        missing = self.cluster.replicas[1]
        self.lame(missing)
        self.split("start", 16)
        self.split("pause", 1)
        self.cluster.meta.kill()
        self.heal(self.cluster.meta)
        harness.wait_for("it remembers", lambda: self.run_shell(f"split query {self.name}")[0] == 0)
        known = self.query()
        self.assertEqual((known["splitting"], known["paused"], known["completed"]), (7, 1, 0))
        writer = self.writer()
        self.heal(missing)
        self.wait_completed(self.chance.randrange(0, 5))
        self.cluster.meta.kill()
        time.sleep(self.chance.uniform(0, 2))
        self.heal(self.cluster.meta)
        self.wait_completed(7)
        harness.wait_for("that one stays", lambda: self.query()["paused"] == 1)
        self.split("restart", 1)
        self.wait_split(16)
        self.end(writer)
        self.check(16, unsure=[b"cc"])


class KilledAtSteps(harness.ClusterTest):
    """A server ends where a split has just come to a step; the test says when each step was met."""
    table = "unused"
    partitions = 1
    seed = int(os.environ.get("ARION_SEED", random.randrange(1 << 30)))
    records = int(os.environ.get("ARION_SPLIT_RECORDS", 5000))
    writers = int(os.environ.get("ARION_SPLIT_WRITERS", 4))
    replica_settings = {"checkpoint_interval": "5s"}  # logs are dropped meanwhile

    def shell(self, *commands):
        return run_shell(self.cluster, *commands)

    def arm(self, victim, step):
        """From now on it ends where it comes to that step."""
        victim.stop()
        victim.start(preexec=lambda: os.environ.update(ARION_DIE_AT=step))
        self.cluster.wait_listening(victim)
        harness.wait_for("all are known", lambda: self.cluster.alive() == len(self.cluster.replicas), 60)

    def scan_until(self, stop, acknowledged, table):
        """One scan after the other: each has what was acknowledged before it began."""
        while not stop.is_set():
            before = self.records + len(acknowledged)
            code, answer = self.shell(f"use {table}", "count_data")
            if code == 0:  # a server that died may have had the scan
                self.scans += 1
                if answer["count"] < before:
                    self.short.append((answer["count"], before))

    def test_each(self):
        chance = random.Random(self.seed)
        steps = STEPS_OF_META + STEPS_OF_PRIMARY + STEPS_OF_MEMBER
        wanted = os.environ.get("ARION_SPLIT_STEPS", "")
        if wanted != "all":
            steps = wanted.split(",") if wanted else chance.sample(steps, 3)
        print(f"seed {self.seed}: {steps}", flush=True)
        for number, step in enumerate(steps):
            with self.subTest(step):
                self.one(step, f"step{number}", chance)

    def split_with_a_kill(self, step, table, victim, away):
        """How long it took until it came to that step."""
        begun = time.monotonic()
        self.shell(f"split start {table} 16")
        try:
            harness.wait_for(f"{victim.name} ends at {step}", lambda: not victim.is_running(), 120)
        except AssertionError:
            victim.stop()  # else it would end there in another step's split
            raise
        met = time.monotonic() - begun
        time.sleep(away)
        victim.start()
        self.cluster.wait_listening(victim)

        def is_split():
            code, answer = self.shell(f"split query {table}")
            return code == 0 and answer["state"] == "not being split" and answer["partition_count"] == 16
        harness.wait_for(f"{table} is split", is_split, 300)
        self.cluster.wait_healthy(table, seconds=120)
        return met

    def create_table_led_by(self, victim, table):
        """The victim leads some of a new table, but where the meta server has not heard yet that it is back."""
        def is_made():
            if self.cluster.partitions(table):
                self.shell(f"drop {table} -y")
            self.cluster.create_table(table, partitions=8)
            return victim is self.cluster.meta or any(partition["primary"] == victim.address for partition in self.cluster.partitions(table))
        harness.wait_for(f"{victim.name} leads some of {table}", is_made, 120)

    def one(self, step, table, chance):
        victim = self.cluster.meta if step in STEPS_OF_META else chance.choice(self.cluster.replicas)
        self.arm(victim, step)
        self.create_table_led_by(victim, table)
        harness.run([os.path.join(harness.BUILD, "arion_load"), "load", f"--meta={self.cluster.meta.address}", f"--table={table}",
                     f"-p=recordcount={self.records}", "--threads=128"], timeout=1200)
        writer = kill_test.Writer([os.path.join(harness.BUILD, "tests", "cluster", "kill_writer"), f"--meta={self.cluster.meta.address}",
                                   f"--table={table}", f"--threads={self.writers}"], [])
        self.addCleanup(writer.process.kill)
        harness.wait_for("writes are acknowledged", lambda: len(writer.keys) > 100)
        self.scans, self.short = 0, []
        stop = threading.Event()
        scanner = threading.Thread(target=self.scan_until, args=(stop, writer.keys, table))
        scanner.start()
        try:
            met = self.split_with_a_kill(step, table, victim, chance.uniform(0, 5))  # shorter than the grace, and longer
            before = len(writer.keys)
            harness.wait_for("writes are acknowledged at the end", lambda: len(writer.keys) > before + 1000, 60)
        finally:  # the next step is to find a whole cluster
            stop.set()
            scanner.join()
            writer.stop()
            if not victim.is_running():
                victim.start()
                self.cluster.wait_listening(victim)
        self.assertEqual(self.short, [], "a scan lacked what was acknowledged before it")
        self.check_all_alive()
        verified = harness.run([harness.go_client("xiaomi"), "-meta", self.cluster.meta.address, "-table", table, "verify"], timeout=600,
                               input="\n".join(writer.keys), cwd=tempfile.gettempdir())
        self.assertIn(f"{len(writer.keys)} acknowledged writes, 0 lost", verified)
        code, counted = self.shell(f"use {table}", "count_data")
        self.assertEqual(code, 0, counted)
        self.assertGreaterEqual(counted["count"], self.records + len(writer.keys))
        # Each writer may have left one write undecided at each fault, and none may be there twice.
        self.assertLessEqual(counted["count"], self.records + len(writer.keys) + 20 * self.writers)
        code, copies = self.shell(f"verify_replicas {table}")
        self.assertEqual((code, copies.get("equal")), (0, 16), copies)
        print(f"    {step}: {victim.name} ended after {met:.1f} s; {len(writer.keys)} writes, {self.scans} scans", flush=True)
        if self.records < LARGE:
            harness.wait_for("it is dropped", lambda: self.shell(f"drop {table} -y")[0] == 0)
        else:  # dropped, it would keep its room until it can't be recalled any more
            self.tearDownClass()
            self.setUpClass()


if __name__ == "__main__":
    unittest.main(verbosity=2)
