#!/usr/bin/env python3
"""What the Go clients do when a server refuses them (rpc/PROTOCOL.md 4.6): both versions against a scripted server that
speaks the frames, because a real one can't be brought to give every answer when a test wants it. What is checked is
what our servers may count on: who comes back, when, and whether the table is looked up again first. Then what real
servers say by themselves: throttled, denied, silent, dead.

SPDX-License-Identifier: Apache-2.0
"""

import concurrent.futures
import subprocess
import tempfile
import time
import unittest

import data_api
import harness
from scripted_server import CLOSE, OK, SILENCE, ScriptedServer

AT_ONCE_MS = 700
IO_ERROR = 5
KEY = "h1"  # partition 2 of 4 and of 8


class Client:
    """A Go client that lives through several operations."""

    def __init__(self, version, server, table="temp"):
        self.scratch = tempfile.TemporaryDirectory()
        self.process = subprocess.Popen([harness.go_client(version), "-meta", server.address, "-table", table, "react"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        cwd=self.scratch.name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(timeout=30)
        self.process.stdout.close()
        self.process.stderr.close()
        self.scratch.cleanup()

    def do(self, operation, key=KEY, milliseconds=5000):
        """(how many milliseconds it took, "ok" or the error)"""
        self.process.stdin.write(f"{operation} {key} {milliseconds}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(self.process.stderr.read()[-2000:])
        took, verdict = line.strip().split(" ", 1)
        return int(took), verdict


def first(count, refusal):
    """Refuses so many requests, then agrees."""
    left = [count]

    def script(_):
        left[0] -= 1
        return refusal if left[0] >= 0 else OK
    return script


def expect(what, is_so):
    if not is_so:
        raise AssertionError(what)


def fails_at_once(version, error):
    with ScriptedServer(lambda _: error) as server, Client(version, server) as client:
        took, verdict = client.do("set")
        expect(f"{verdict} after {took} ms", error in verdict and took < AT_ONCE_MS * harness.PATIENCE)
        expect(f"asked {len(server.asked)} times, {server.lookups} lookups", len(server.asked) == 1 and server.lookups == 1)
        server.script = lambda _: OK
        expect("the next one is served", client.do("get")[1] == "ok" and len(server.asked) == 2)


def comes_back(version, error):
    """It looks the table up meanwhile, and asks again after a pause."""
    with ScriptedServer(first(1, error)) as server, Client(version, server) as client:
        took, verdict = client.do("set")
        expect(f"{verdict} after {took} ms", verdict == "ok" and took >= 100)
        expect(f"asked {len(server.asked)} times, {server.lookups} lookups", len(server.asked) == 2 and server.lookups >= 2)


def gives_up_at_the_deadline(version, error):
    with ScriptedServer(lambda _: error) as server, Client(version, server) as client:
        took, verdict = client.do("incr", milliseconds=2600)
        expect(f"{verdict} after {took} ms", verdict != "ok" and took >= 900)
        expect(f"asked {len(server.asked)} times", 2 <= len(server.asked) <= 5)
        server.script = lambda _: OK
        expect("and is served later", client.do("get")[1] == "ok")


def looks_up_only(version, error):
    """After a split: it fails at once, but looks the table up; the next one goes to the new partition."""
    with ScriptedServer(lambda _: OK) as server, Client(version, server) as client:
        hashed = data_api.crc64(b"a")  # partition 0 of 4, 4 of 8
        client.do("get", key="a")      # it knows the table by now
        server.script = first(1, error)
        server.primaries, server.ballots = server.primaries * 2, [4] * 8
        took, verdict = client.do("set", key="a")
        expect(f"{verdict} after {took} ms", error in verdict and took < AT_ONCE_MS * harness.PATIENCE)
        harness.wait_for("the table is looked up again", lambda: server.lookups >= 2, 10)
        harness.wait_for("the next goes to the new partition",
                         lambda: client.do("set", key="a")[1] == "ok" and server.asked[-1].partition == 4, 10)
        expect("the first went to the old one", server.asked[0].partition == 0)
        expect("both name the key's hash", {asked.partition_hash for asked in server.asked} == {hashed})


def splits_without_its_child(version):
    """While the new half of the partitions has no ballot yet, its keys go to the parents."""
    with ScriptedServer(lambda _: OK, partitions=8) as server:
        server.ballots = [3] * 4 + [-1] * 4
        with Client(version, server) as client:
            expect("served", client.do("set", key="a")[1] == "ok")
            expect(f"by partition {server.asked[-1].partition}", server.asked[-1].partition == 0)


def follows_a_moved_primary(version, error):
    with ScriptedServer(lambda _: OK) as new, ScriptedServer(lambda _: error) as old, Client(version, old) as client:
        client.do("get", milliseconds=100)  # it has a connection to the old one by now
        old.primaries = [new.address] * 4
        client.do("set", milliseconds=3000)  # may end in the refusal: the one under way stays where it is
        harness.wait_for("it asks the new primary", lambda: client.do("set", milliseconds=1500)[1] == "ok", 20)
        expect("the new one was asked", len(new.asked) >= 1)


def times_out_and_keeps_its_connection(version):
    with ScriptedServer(first(1, SILENCE)) as server, Client(version, server) as client:
        took, verdict = client.do("get", milliseconds=300)
        expect(f"{verdict} after {took} ms", verdict != "ok" and 250 <= took < 2500 * harness.PATIENCE)
        connections = len(server.connections)
        expect("the next one is served", client.do("set")[1] == "ok")
        expect("on the same connection", len(server.connections) == connections)


def loses_its_connection(version):
    with ScriptedServer(first(1, CLOSE)) as server, Client(version, server) as client:
        took, verdict = client.do("set", milliseconds=3000)
        expect(f"{verdict} after {took} ms", len(server.asked) >= 1)
        expect("a lookup is served meanwhile", server.lookups >= 1)


AT_ONCE = ["ERR_BUSY", "ERR_NOT_ENOUGH_MEMBER", "ERR_CAPACITY_EXCEEDED", "ERR_SPLITTING", "ERR_DISK_INSUFFICIENT",
           "ERR_TIMEOUT"]
COMES_BACK = ["ERR_OBJECT_NOT_FOUND", "ERR_INVALID_STATE", "ERR_OPERATION_DISABLED", "ERR_HANDLER_NOT_FOUND",
              "ERR_INVALID_DATA", "ERR_ACL_DENY", IO_ERROR]


def reactions():
    """{what: function of a client's version}"""
    table = {f"{error}: fails at once, no lookup": lambda v, e=error: fails_at_once(v, e) for error in AT_ONCE}
    table |= {f"{error}: lookup, and asks again": lambda v, e=error: comes_back(v, e) for error in COMES_BACK}
    table |= {f"{error}: asks until the deadline": lambda v, e=error: gives_up_at_the_deadline(v, e)
              for error in ("ERR_OBJECT_NOT_FOUND", IO_ERROR)}
    table |= {f"{error}: follows a moved primary": lambda v, e=error: follows_a_moved_primary(v, e)
              for error in ("ERR_OBJECT_NOT_FOUND", "ERR_INVALID_STATE")}
    return table | {
        "ERR_PARENT_PARTITION_MISUSED: lookup, twice the partitions": lambda v: looks_up_only(
            v, "ERR_PARENT_PARTITION_MISUSED"),
        "a child without a ballot: its parent is asked": splits_without_its_child,
        "no answer: time-out, the connection stays": times_out_and_keeps_its_connection,
        "a closed connection": loses_its_connection}


class Reactions(unittest.TestCase):
    def test_each_go_client_reacts_as_its_table_says(self):
        versions = ("xiaomi", "apache")
        for version in versions:
            harness.go_client(version)
        with concurrent.futures.ThreadPoolExecutor(max_workers=50) as pool:
            running = {(what, version): pool.submit(react, version) for what, react in reactions().items()
                       for version in versions}
            wrong = {}
            for (what, version), future in running.items():
                error = future.exception()
                verdict = "ok" if error is None else f"FAILED: {error}"
                print(f"{what:62} {version:8} {verdict}", flush=True)
                if error is not None:
                    wrong[what, version] = error
        self.assertEqual(wrong, {})


class RealServers(harness.ClusterTest):
    def test_a_throttled_table_answers_busy(self):
        self.cluster.create_table("throttled", environments={"replica.read_throttling": "1*reject*0"})
        with Client("apache", self.cluster.meta, "throttled") as client:
            self.assertEqual(client.do("set")[1], "ok")
            verdicts = [client.do("get") for _ in range(20)]  # more than one in a second
        busy = [took for took, verdict in verdicts if "ERR_BUSY" in verdict]
        self.assertGreater(len(busy), 0, verdicts)
        self.assertTrue(all("ERR_BUSY" in verdict or verdict == "ok" for _, verdict in verdicts), verdicts)
        self.assertLess(min(busy), AT_ONCE_MS * harness.PATIENCE)

    def test_a_denied_table_says_so_or_is_silent(self):
        self.cluster.create_table("moved", environments={"replica.deny_client_request": "reconfig*all"})
        table = data_api.DataApi(self.cluster.meta.address, "moved")
        self.addCleanup(table.close)
        with self.assertRaisesRegex(data_api.Refused, "ERR_INVALID_STATE"):
            table.get(data_api.raw_key(b"h", b"s"))
        self.cluster.create_table("silent", environments={"replica.deny_client_request": "timeout*write"})
        with Client("apache", self.cluster.meta, "silent") as client:
            took, verdict = client.do("set", milliseconds=500)
            self.assertNotEqual(verdict, "ok")
            self.assertGreaterEqual(took, 450)
            self.assertEqual(client.do("get")[1], "ok")  # on the same connection

    def test_a_client_follows_a_primary_that_died(self):
        partition = self.cluster.partitions("temp")[data_api.crc64(KEY.encode()) % 8]
        victim = next(server for server in self.cluster.replicas if server.address == partition["primary"])
        with Client("xiaomi", self.cluster.meta) as xiaomi, Client("apache", self.cluster.meta) as apache:
            for client in (xiaomi, apache):
                self.assertEqual(client.do("set")[1], "ok")
            victim.kill()
            for client in (xiaomi, apache):
                harness.wait_for("another primary serves it", lambda: client.do("set", milliseconds=2000)[1] == "ok", 40)
        victim.start()
        self.cluster.wait_listening(victim)
        self.cluster.wait_healthy("temp")


if __name__ == "__main__":
    unittest.main(verbosity=2)
