"""Indexes of a real cluster: built beside writers, asked by the shell, through kills, restarts and damage.

SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import shutil
import subprocess
import threading
import time
import unittest
import urllib.error
import urllib.request

import data_api
import harness
import records

CITIES = ["Berlin", "Bonn", "Paris", "Porto"]


class Indexes(records.RecordsTest):
    keys = 400

    def shell(self, command, exit_code=0):
        done = subprocess.run([os.path.join(harness.BUILD, "arion_shell"), "--meta", self.cluster.meta.address, "-j", "-e", command],
                              capture_output=True, text=True, check=False, timeout=60 * harness.PATIENCE)
        self.assertEqual(done.returncode, exit_code, done.stdout + done.stderr)
        return json.loads(done.stdout.splitlines()[-1])

    def put_one(self, i):
        """One of five is no JSON."""
        value = b"no JSON" if self.chance.randrange(5) == 0 else json.dumps(
            {"n": self.chance.randrange(10), "at": {"city": self.chance.choice(CITIES)}, "fill": "x" * 200}).encode()
        answer = self.again(lambda table: table.put(key=data_api.raw_key(b"k%d" % i, b"s"), value=value),
                            time.monotonic() + records.HEALS_SECONDS)
        self.assertEqual(answer["error"], data_api.OK)
        self.values[i] = value

    def remove_one(self, i):
        self.again(lambda table: table.remove(data_api.raw_key(b"k%d" % i, b"s")), time.monotonic() + records.HEALS_SECONDS)
        self.values.pop(i, None)

    def wanted(self, matches):
        return {f"k{i}" for i, value in self.values.items() if value != b"no JSON" and matches(json.loads(value))}

    def found(self, query):
        """Page by page."""
        rows, after = [], ""
        while True:
            answer = self.shell(f"find {self.table} {query} -n 37 {after}")
            rows += [row["hash_key"] for row in answer["rows"]]
            if answer["complete"] == "yes":
                break
            after = "--after " + answer["next"]
        self.assertEqual(len(rows), len(set(rows)), "a row comes once")
        return set(rows)

    def check(self):
        self.assertEqual(self.found("by_city = Bonn"), self.wanted(lambda v: v["at"]["city"] == "Bonn"))
        self.assertEqual(self.found("by_city prefix P"), self.wanted(lambda v: v["at"]["city"] in ("Paris", "Porto")))
        self.assertEqual(self.found("by_n between 3 5"), self.wanted(lambda v: 3 <= v["n"] <= 5))
        self.assertEqual(self.found("by_n"), self.wanted(lambda v: True))

    def wait_whole(self):
        harness.wait_for("all indexes are whole", lambda: {index["state"] for index in self.shell(
            f"indexes {self.table}")["indexes"]} == {"whole"}, 60)

        def of(server, name):
            return harness.value_of(harness.metrics(server), name, table=self.table, index="by_n")

        partitions = len(self.cluster.partitions(self.table))

        def are_whole(server):
            """All members of a server, each of which hears of the indexes and defines them by itself."""
            with urllib.request.urlopen(f"http://{server.address}/replica/indexes", timeout=10 * harness.PATIENCE) as answer:
                rows = [row for row in json.load(answer) if row["table"] == self.table]
            return len(rows) == 2 and all(row["whole"] == row["replicas"] == partitions for row in rows)
        for server in self.cluster.replicas:
            harness.wait_for("a server's own", lambda server=server: are_whole(server), 60)
            self.assertEqual(of(server, "arion_index_built_ratio"), 1)
            # A secondary may apply what it was built without a moment later.
            harness.wait_for("those without the field", lambda server=server: of(server, "arion_index_left_out_records") > 0, 60)

    def define(self):
        self.shell(f"create_index {self.table} by_city on $.at.city, by_n on $.n")
        self.addCleanup(lambda: [self.shell(f"drop_index {self.table} {name}") for name in ("by_city", "by_n")])

    def writing(self):
        """Puts and removes until it is told to stop."""
        stop = threading.Event()

        def write():
            while not stop.is_set():
                i = self.chance.randrange(self.keys)
                (self.put_one if self.chance.randrange(8) else self.remove_one)(i)
        thread = threading.Thread(target=write)
        thread.start()

        def end():
            stop.set()
            thread.join()
        self.addCleanup(end)
        return end

    def test_built_beside_writers_and_asked_through_a_kill_and_restarts(self):
        for i in range(self.keys):
            self.put_one(i)
        end = self.writing()
        self.define()
        self.wait_whole()
        end()
        self.check()

        end = self.writing()
        victim = self.cluster.replicas[0]
        victim.kill()
        harness.wait_for("others lead", lambda: not self.cluster.lacks_primary(self.table), 60)
        time.sleep(1)  # writes go on without it
        victim.start()
        self.cluster.wait_healthy(self.table)
        end()
        self.wait_whole()
        for server in self.cluster.replicas:  # each one's own indexes
            self.lead(server, time.monotonic() + records.HEALS_SECONDS)
            self.wait_whole()
            self.check()
        for server in self.cluster.replicas:
            self.assertEqual(server.stop(), 0)
        for server in self.cluster.replicas:
            server.start()
        self.cluster.wait_healthy(self.table)
        self.wait_whole()
        self.check()

    def test_what_is_damaged_or_missing_is_built_anew_while_it_serves(self):
        for i in range(self.keys):
            self.put_one(i)
        self.define()
        self.wait_whole()
        for server in self.cluster.replicas:
            self.assertEqual(server.stop(), 0)
        damaged = 0
        for server in self.cluster.replicas:
            for directory, names, _ in os.walk(server.data_directories()[0]):
                if os.path.basename(directory) != "index":
                    continue
                names.clear()
                damaged += 1
                how = damaged % 4
                if how == 0:
                    shutil.rmtree(directory)
                elif how == 1:
                    with open(os.path.join(directory, "list"), "r+b") as file:
                        file.write(b"something else")
                elif how == 2:
                    shutil.rmtree(os.path.join(directory, "store"))
                else:
                    for table in os.listdir(os.path.join(directory, "store", "rdb")):
                        if table.startswith("MANIFEST"):
                            os.truncate(os.path.join(directory, "store", "rdb", table), 10)
        self.assertGreater(damaged, 8)
        for server in self.cluster.replicas:
            server.start()
        self.cluster.wait_healthy(self.table)
        self.put_one(1)
        self.wait_whole()
        self.check()

    def test_former_entries_go_while_it_answers(self):
        for i in range(self.keys):
            self.put_one(i)
        self.define()
        self.wait_whole()
        for _ in range(3):
            for i in range(self.keys):
                self.put_one(i)

        def entries():
            return {index["name"]: index["entries"] for index in self.shell(f"indexes {self.table}")["indexes"]}
        before = entries()
        answer = self.shell(f"rebuild_index {self.table} by_n")
        self.assertIn("generation=1", answer["definition"])
        for _ in range(500):
            self.check()
            if entries()["by_n"] <= self.keys + 10:
                break
        self.wait_whole()
        self.assertEqual(entries()["by_city"], before["by_city"], "nobody asked for that")
        self.check()

    def test_asked_by_http(self):
        for i in range(60):
            self.put_one(i)
        self.define()
        self.wait_whole()

        def page(query, server=self.cluster.replicas[0]):
            with urllib.request.urlopen(f"http://{server.address}/find?table={self.table}&{query}", timeout=10 * harness.PATIENCE) as answer:
                return json.load(answer)
        rows, after = [], ""
        while True:
            answer = page(f"index=by_n&from=2&to=7&limit=7&values=1&descending=1{after}")
            rows += answer["rows"]
            if not answer["next"]:
                break
            after = "&after=" + answer["next"]
        self.assertEqual({row["hash_key"] for row in rows}, self.wanted(lambda v: 2 <= v["n"] <= 7))
        self.assertEqual([row["field"] for row in rows], sorted((row["field"] for row in rows), reverse=True))
        self.assertEqual(json.loads(rows[0]["value"].replace('\\"', '"'))["n"], rows[0]["field"])
        self.assertEqual({row["hash_key"] for row in page("index=by_city&equals=Bonn", self.cluster.replicas[1])["rows"]},
                         self.wanted(lambda v: v["at"]["city"] == "Bonn"))
        for query, status in (("index=nobodys", 404), ("index=by_n&limit=0", 400), ("index=by_n&from=1&to=x", 400), ("nothing=1", 400)):
            with self.assertRaises(urllib.error.HTTPError) as refused:
                page(query)
            self.assertEqual(refused.exception.code, status, query)

    def test_what_is_refused_says_why(self):
        self.assertIn("no such index", self.shell(f"find {self.table} nobodys = 1", exit_code=1)["error"])
        for definition in ("$", "$.a[x]", "nothing", "bytes(1)", "bytes(0,99999)"):
            self.assertIn("expected $.a.b", self.shell(f"create_index {self.table} bad on {definition}", exit_code=2)["error"])
        names = ", ".join(f"i{i} on $.f{i}" for i in range(65))
        self.assertIn("64", self.shell(f"create_index {self.table} {names}", exit_code=1)["error"])
        self.assertEqual(self.shell(f"indexes {self.table}")["indexes"], [])


if __name__ == "__main__":
    unittest.main()
