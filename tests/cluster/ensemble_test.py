#!/usr/bin/env python3
"""Three meta servers with their state in a real ZooKeeper: one leads, the others say who; whatever happens to the leader or to ZooKeeper,
clients' writes go on, nothing that was answered is lost, and there is one leader again.

SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import signal
import subprocess
import threading
import time
import unittest
import urllib.request

import data_api
import harness
import kill_test
import thft
import zookeeper

SESSION = 2.0 * harness.PATIENCE
# A session ends within its timeout and a tick; then the next one loads the state, and servers find it by their beacons.
FAILOVER_SECONDS = SESSION + 3


@unittest.skipIf(zookeeper.missing(), f"not run: needs {zookeeper.missing()}")
@harness.others_with_each_commit
class EnsembleTest(unittest.TestCase):
    def setUp(self):
        self.zookeeper = zookeeper.ZooKeeperServer()
        self.addCleanup(self.zookeeper.close)
        self.zookeeper.start()
        self.zookeeper.wait_ready()
        # Longer than a failover takes: data go on.
        self.cluster = harness.Cluster(servers=3, metas=3, lease=6, meta_settings={
            "state": "zookeeper", "zookeeper_hosts": self.zookeeper.hosts, "zookeeper_session_timeout": f"{SESSION:g}s"})
        self.addCleanup(self.cluster.destroy)
        self.cluster.start()
        self.wait_led()
        harness.wait_for("all servers are heard", lambda: self.cluster.alive() == 3, 30)
        self.cluster.create_table("temp", partitions=4)

    def tearDown(self):
        # Before the cluster goes.
        if self._outcome.result and any(test is self for test, _ in self._outcome.result.failures + self._outcome.result.errors):
            self.cluster.print_logs()

    def wait_led(self, seconds=30):
        harness.wait_for("one leads", lambda: self.cluster.leader() is not None, seconds)
        return self.cluster.leader()

    def leaders(self):
        return [server for server in self.cluster.metas if server.is_running()
                and harness.value_of(harness.metrics(server), "arion_meta_leads") == 1]

    def writer(self):
        """Writes until it is stopped; its gaps are the test's business."""
        writer = kill_test.Writer([os.path.join(harness.BUILD, "tests", "cluster", "kill_writer"),
                                   f"--meta={self.cluster.meta_addresses()}", "--table=temp", "--threads=4"], [])
        self.addCleanup(writer.process.kill)
        harness.wait_for("writes are acknowledged", lambda: len(writer.keys) > 100)
        return writer

    def longest_gap(self, writer, is_over, seconds):
        """(longest time in which nothing was acknowledged, how long it took) until something is over."""
        began = since = time.monotonic()
        longest, last = 0, len(writer.keys)
        while not is_over() and time.monotonic() < began + seconds:
            time.sleep(0.02)
            if len(writer.keys) != last:
                last, since = len(writer.keys), time.monotonic()
            longest = max(longest, time.monotonic() - since)
        return longest, time.monotonic() - began

    def check_administered(self, name):
        """A table can be created, and is served."""
        self.cluster.create_table(name, partitions=2)
        api = data_api.DataApi(self.cluster.meta.address, name)
        self.addCleanup(api.close)
        api.set(b"k", b"s", b"v")
        self.assertEqual(api.value(b"k", b"s"), b"v")

    def check_written(self, writer):
        writer.stop()
        api = data_api.DataApi(self.cluster.meta.address, "temp", timeout=60)
        self.addCleanup(api.close)
        missing = [key for key in writer.keys if api.value(key.encode(), b"s") is None]
        self.assertEqual(missing, [])

    def test_the_leader_dies(self):
        writer = self.writer()
        for _ in range(2):
            former = self.wait_led()
            former.kill()
            gap, took = self.longest_gap(writer, lambda: self.cluster.leader() is not None, 2 * FAILOVER_SECONDS)
            print(f"led again after {took:.1f} s; longest gap of writes {gap:.2f} s")
            self.assertLess(took, FAILOVER_SECONDS)
            self.assertLess(gap, 1, "data go on without a meta server")
            # Servers find it, and their leases go on.
            gap, _ = self.longest_gap(writer, lambda: self.cluster.alive() == 3, 10)
            self.assertLess(gap, 1, "data go on without a meta server")
            self.assertIsNot(self.cluster.leader(), former)
            self.check_administered(f"after_{former.name}")
            former.start()
            self.cluster.wait_listening(former)
        self.assertEqual(len(self.leaders()), 1)
        self.check_written(writer)

    def test_the_leader_stops_cleanly(self):
        former = self.wait_led()
        began = time.monotonic()
        self.assertEqual(former.stop(), 0)
        self.wait_led(10)
        took = time.monotonic() - began
        print(f"led again {took:.2f} s after SIGTERM")
        self.assertLess(took, 1 * harness.PATIENCE)
        self.check_administered("after_stop")

    def shell(self, command, meta=None):
        return json.loads(harness.run([os.path.join(harness.BUILD, "arion_shell"), "-j",
                                       "--meta", meta or self.cluster.meta_addresses(), "-e", command]).splitlines()[-1])

    def test_the_leader_hands_over(self):
        former = self.wait_led()
        shown = self.shell("meta_leader")
        self.assertEqual(shown["leader"], former.address)
        self.assertRegex(shown["since"], r"^20\d\d-")
        self.assertEqual({row["address"]: row["role"] for row in shown["meta_servers"]},
                         {server.address: "leader" if server is former else f"follows {former.address}" for server in self.cluster.metas})
        writer = self.writer()
        # Commands that are safe to repeat, one after the other, all the while. A shell ends with the first that fails.
        stop, failures, done_count = threading.Event(), [], [0]

        def administer():
            while not stop.is_set():
                numbers = range(done_count[0] + 1, done_count[0] + 51)
                try:
                    self.shell("use temp; " + "; ".join(f"set_app_envs business.info {number}" for number in numbers))
                    done_count[0] = numbers[-1]
                except (AssertionError, ValueError, subprocess.SubprocessError) as error:
                    failures.append(str(error))
                    return
        thread = threading.Thread(target=administer)
        thread.start()
        try:
            for _ in range(3):
                before = self.wait_led()
                done = self.shell("meta_leader hand-over")
                print(f"{done['former_leader']} gave the lead to {done['leader']} in {done['took_ms']} ms")
                self.assertEqual(done["former_leader"], before.address)
                self.assertNotEqual(done["leader"], before.address)
                self.assertLess(done["took_ms"], 1000 * harness.PATIENCE)
                harness.wait_for("one leads", lambda: [server.address for server in self.leaders()] == [done["leader"]], 10)
                # All stand again: the one that gave the lead up, too.
                harness.wait_for("all follow", lambda: {row["role"] for row in self.shell("meta_leader")["meta_servers"]}
                                 == {"leader", f"follows {done['leader']}"}, 10)
        finally:
            stop.set()
            thread.join()
        self.assertEqual(failures, [])
        print(f"{done_count[0]} commands meanwhile")
        self.assertGreaterEqual(done_count[0], 50)
        self.assertEqual({row["key"]: row["value"] for row in self.shell("get_app_envs temp")["app_envs"]}["business.info"], str(done_count[0]))
        harness.wait_for("servers have found it", lambda: self.cluster.alive() == 3, 10)
        self.check_administered("after_hand_over")
        self.check_written(writer)

    def test_nobody_is_there_to_take_the_lead(self):
        leader = self.wait_led()
        for server in self.cluster.metas:
            if server is not leader:
                server.stop()
        done = subprocess.run([os.path.join(harness.BUILD, "arion_shell"), "--meta", leader.address, "-e", "meta_leader hand-over"],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("no other meta server stands for election", done.stderr)
        self.check_administered("still_led")

    def test_all_restart(self):
        self.check_administered("t")
        for server in self.cluster.servers():
            server.kill()
        self.cluster.start()
        self.wait_led()
        for table in ("temp", "t"):
            self.cluster.wait_healthy(table)
        api = data_api.DataApi(self.cluster.meta.address, "t")
        self.addCleanup(api.close)

        def is_served():
            try:
                return api.value(b"k", b"s") == b"v"
            except data_api.Refused:  # its primary hears the others first
                return False
        harness.wait_for("it is served", is_served, 30)

    def test_who_does_not_lead_says_who_does(self):
        leader = self.wait_led()
        for server in self.cluster.metas:
            if server is leader:
                continue
            error, _, _ = thft.ask_config(server.address, "temp")
            self.assertEqual(error, "ERR_FORWARD_TO_OTHERS")
            self.assertEqual(thft.create_table(server.address, "there", 2, 3), "ERR_FORWARD_TO_OTHERS")
            # Pages that older tools read; each shows by itself what it knows of the others.
            with urllib.request.urlopen(f"http://{server.address}/meta/app?name=temp") as answer:
                self.assertEqual(answer.url, f"http://{leader.address}/meta/app?name=temp")
                self.assertEqual(json.load(answer)["general"]["app_name"], "temp")
            with urllib.request.urlopen(f"http://{server.address}/ui/cluster.json") as answer:
                self.assertEqual(json.load(answer)["leadership"]["leader"], leader.address)
        # A client that knows one of them alone.
        follower = next(server for server in self.cluster.metas if server is not leader)
        shell = [os.path.join(harness.BUILD, "arion_shell"), "--meta", follower.address, "-e", "ls"]
        self.assertIn("temp", harness.run(shell))

    def shell_and_code(self, command):
        addresses = self.cluster.meta_addresses()
        run = subprocess.run([os.path.join(harness.BUILD, "arion_shell"), "--meta", addresses, "-j", "-e", command],
                             capture_output=True, text=True, timeout=60)
        return run.returncode, run.stdout

    def test_the_shell_shows_the_ensemble(self):
        leader = self.wait_led()
        code, text = self.shell_and_code("ensemble")
        self.assertEqual(code, 0, text)
        shown = json.loads(text)
        self.assertEqual((shown["leader"], shown["told_by"]), (leader.address, leader.address))
        metas = shown["meta_servers"]
        self.assertEqual([meta["state"] for meta in metas], ["leads", "follows", "follows"])
        self.assertEqual({meta["address"] for meta in metas}, {server.address for server in self.cluster.metas})
        # Whom the shell was not given is found.
        follower = next(server for server in self.cluster.metas if server is not leader)
        alone = self.shell("ensemble", follower.address)
        self.assertEqual((alone["leader"], alone["told_by"]), (leader.address, leader.address))
        self.assertEqual([meta["session_timeout"] for meta in alone["meta_servers"]], [meta["session_timeout"] for meta in metas])
        self.assertEqual([bool(meta["last_write"]) for meta in metas], [True, False, False])
        for meta in metas:
            self.assertRegex(meta["in_election_for"], r"^[\d.]+ m?s$")
            self.assertRegex(meta["node"], r"^LOCKNODE\d{10}$")
        self.assertEqual([(one["server"], one["mode"], one["trouble"]) for one in shown["zookeeper"]],
                         [(self.zookeeper.hosts, "standalone", "")])
        self.assertGreater(int(shown["zookeeper"][0]["nodes"]), 10)
        follower = next(server for server in self.cluster.metas if server is not leader)
        follower.kill()
        code, text = self.shell_and_code("ensemble")
        self.assertEqual(code, 4, text)
        state, = [meta["state"] for meta in json.loads(text)["meta_servers"] if meta["address"] == follower.address]
        self.assertRegex(state, "does not answer")

    def test_the_leader_is_stopped_for_longer_than_its_session(self):
        writer = self.writer()
        former = self.wait_led()
        former.process.send_signal(signal.SIGSTOP)
        time.sleep(FAILOVER_SECONDS + 1)
        former.process.send_signal(signal.SIGCONT)
        harness.wait_for("one leads, another one", lambda: [server for server in self.leaders() if server is not former], 20)
        time.sleep(1)
        self.assertEqual(len(self.leaders()), 1)
        self.check_administered("after_pause")
        self.check_written(writer)

    def test_zookeeper_is_away(self):
        writer = self.writer()
        self.zookeeper.freeze()
        harness.wait_for("nobody leads", lambda: self.leaders() == [], SESSION + 5)
        gap, _ = self.longest_gap(writer, lambda: False, 2)
        self.assertLess(gap, 1, "data go on without a meta server")
        self.zookeeper.thaw()
        self.wait_led()
        self.check_administered("after_zookeeper")
        self.zookeeper.kill()
        time.sleep(0.5)
        self.zookeeper.start()
        self.wait_led()
        self.check_administered("after_its_restart")
        self.check_written(writer)


@unittest.skipIf(zookeeper.missing(), f"not run: needs {zookeeper.missing()}")
class MoveStateTest(unittest.TestCase):
    """One meta server with a journal; its state goes to ZooKeeper and back, while data go on."""

    def setUp(self):
        self.zookeeper = zookeeper.ZooKeeperServer()
        self.addCleanup(self.zookeeper.close)
        self.zookeeper.start()
        self.zookeeper.wait_ready()
        self.cluster = harness.Cluster(servers=3, lease=6, meta_settings={
            "state": "journal", "zookeeper_hosts": self.zookeeper.hosts, "zookeeper_session_timeout": f"{SESSION:g}s"})
        self.addCleanup(self.cluster.destroy)
        self.cluster.start()
        harness.wait_for("all servers are heard", lambda: self.cluster.alive() == 3, 30)

    def move(self, to):
        return subprocess.run([*self.cluster.meta.program(), "move-state", "--to", to, "--config", self.cluster.meta.config],
                              capture_output=True, text=True, timeout=60 * harness.PATIENCE, cwd=self.cluster.meta.directory)

    def moved(self, to):
        done = self.move(to)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def restart_with(self, state):
        self.cluster.meta_settings["state"] = state
        self.cluster.meta.write_config()
        self.cluster.meta.start()

    def wait_served(self):
        self.cluster.wait_listening(self.cluster.meta)
        harness.wait_for("all servers are heard", lambda: self.cluster.alive() == 3, 30)
        for table in ("temp", "other"):
            self.cluster.wait_healthy(table)

    def shell(self, command):
        return json.loads(harness.run([os.path.join(harness.BUILD, "arion_shell"), "-j", "--meta", self.cluster.meta.address,
                                       "-e", command]).splitlines()[-1])

    def tables(self):
        """What the shell shows of them: ({id: row}, {name: environments}, {partition: (ballot, members)})."""
        rows = {row["id"]: row for row in self.shell("ls -a")["tables"]}
        names = sorted(row["name"] for row in rows.values() if row["status"] == "available")
        environments = {name: self.shell(f"get_app_envs {name}")["app_envs"] for name in names}
        partitions = {(name, i): (row["ballot"], sorted([row["primary"], *row["secondaries"]]))
                      for name in names for i, row in enumerate(self.shell(f"app {name} -d")["partitions"])}
        return rows, environments, partitions

    def check_tables(self, before):
        after = self.tables()
        self.assertEqual(after[:2], before[:2])
        self.assertEqual(after[2].keys(), before[2].keys())
        for partition, (ballot, members) in before[2].items():
            self.assertGreaterEqual(after[2][partition][0], ballot, partition)
            self.assertEqual(after[2][partition][1], members, partition)

    def test_there_and_back(self):
        for table, partitions in (("temp", 8), ("other", 4), ("gone", 2)):
            self.cluster.create_table(table, partitions=partitions)
        self.shell("use temp; set_app_envs business.info some")
        self.shell("drop gone -y")
        before = self.tables()
        self.assertEqual(len(before[0]), 3)
        # Not beside one that runs.
        done = self.move("zookeeper")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("lock", done.stderr)
        self.assertEqual(self.cluster.meta.stop(), 0)
        said = self.moved("zookeeper")
        print(said)
        self.assertIn("3 tables, 14 partitions", said)
        # An empty cluster is not begun by accident.
        self.cluster.meta.start()
        self.assertEqual(self.cluster.meta.process.wait(timeout=30 * harness.PATIENCE), 1)
        self.assertIn("the state was moved to ZooKeeper", self.cluster.meta.logged())
        self.restart_with("zookeeper")
        self.wait_served()
        self.check_tables(before)
        self.cluster.create_table("new", partitions=2)
        done = self.move("journal")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn(f"{self.cluster.meta.address} stands for election", done.stderr)
        before = self.tables()
        self.assertEqual(self.cluster.meta.stop(), 0)
        said = self.moved("journal")
        print(said)
        self.assertIn("4 tables, 16 partitions", said)
        self.assertIn("is there already: 4 tables", self.moved("journal"))
        # With ZooKeeper it does not lead, and says why.
        self.cluster.meta.start()
        harness.wait_for("it says where the state is", lambda: "/pegasus/test/arion/moved says that the state was moved to the journal"
                         in self.cluster.meta.logged(), 30)
        self.assertIsNone(self.cluster.leader())
        self.assertEqual(self.cluster.meta.stop(), 0)
        self.restart_with("journal")
        self.wait_served()
        self.check_tables(before)
        api = data_api.DataApi(self.cluster.meta.address, "temp")
        self.addCleanup(api.close)
        api.set(b"k", b"s", b"v")
        self.assertEqual(api.value(b"k", b"s"), b"v")

    def kill_once_there(self, to, name):
        """The command, killed as soon as its directory has that file; whether that was in its middle."""
        process = subprocess.Popen([*self.cluster.meta.program(), "move-state", "--to", to, "--config", self.cluster.meta.config],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.cluster.meta.directory)
        path = os.path.join(self.cluster.meta.data_directories()[0], name)
        try:
            deadline = time.monotonic() + 60 * harness.PATIENCE
            while not os.path.exists(path) and process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.0005)
        finally:
            process.kill()
        return process.wait() == -signal.SIGKILL

    def test_killed_in_its_middle(self):
        for table, partitions in (("temp", 8), ("other", 4)):
            self.cluster.create_table(table, partitions=partitions)
        before = self.tables()
        self.assertEqual(self.cluster.meta.stop(), 0)
        killed = 0
        for to, names in (("zookeeper", (".arion-move", "meta.journal.moved")), ("journal", (".arion-move", "arriving", "meta.journal"))):
            for name in names:
                # An earlier one may have left it there: then it is killed at once, which is fine, too.
                killed += self.kill_once_there(to, name)
            self.assertIn("2 tables, 12 partitions", self.moved(to))
        print(f"killed {killed} times")
        self.assertGreater(killed, 2)
        self.cluster.meta.start()
        self.wait_served()
        self.check_tables(before)

    def test_wrong_words(self):
        for words in (["move-state"], ["move-state", "--to", "etcd"], ["move-state", "--to"]):
            done = subprocess.run([*self.cluster.meta.program(), *words, f"--config={self.cluster.meta.config}"],
                                  capture_output=True, text=True, timeout=30)
            self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
            self.assertIn("--to zookeeper|journal", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
