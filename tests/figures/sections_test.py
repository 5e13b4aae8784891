#!/usr/bin/env python3
"""Sections on what stands in for servers: a full run has rounds enough to tell, and each comparison its verdict.

SPDX-License-Identifier: Apache-2.0
"""

import contextlib
import io
import json
import os
import re
import tempfile
import types
import unittest
from unittest import mock

import support  # noqa: F401
import connections
import cost
import harness
import learning
import logs
import measuring
import mixes
import restart

VERDICT = re.compile(r"; p \d\.\d+, (significant|not significant|too few rounds to tell)\)$")


class Sections(unittest.TestCase):
    def setUp(self):
        self.run_ = measuring.Run("section", build="build", quick=False, raw=None)
        self.run_.binary = lambda target, path: path
        self.run_.say = lambda text: None
        silent = contextlib.redirect_stdout(io.StringIO())
        silent.__enter__()
        self.addCleanup(silent.__exit__, None, None, None)

    def table(self, title):
        """Rows of the table of that title: {column: cell}."""
        (header, *rows), = (content for what, name, content in self.run_.shown if what == "table" and name == title)
        return [dict(zip(header, row)) for row in rows]

    def assert_told(self, *cells):
        for cell in cells:
            self.assertRegex(cell, VERDICT)
            self.assertNotIn("too few", cell)


class Learning(Sections):
    def test_each_goal_has_a_verdict(self):
        def measure(gigabytes, rate, repeats, settings, figures):
            p99 = [{"p99_ms": {"READ": 1 + i / 10, "UPDATE": 2 + i / 10}} for i in range(2 * repeats)]
            figures.update(alone=[{"mb_per_second": 300 + i} for i in range(repeats)],
                           under_load=[{"mb_per_second": 20 + i, "before": p99[i], "during": p99[-1 - i]} for i in range(repeats)],
                           closed_loop=[{"all": 100 + i, "one_down": 200 + i} for i in range(repeats)])
        with mock.patch.object(measuring, "script", lambda path: types.SimpleNamespace(measure=measure)):
            learning.measure(self.run_)
        self.assert_told(*(row["ratio (goal 2)"] for row in self.table("p99 at 1000 operations/s")))
        self.assert_told(self.table("With one of three servers down, as fast as clients can")[0]["ratio (goal 0.8)"])

    def test_what_was_measured_before_it_fails_is_kept(self):
        bench = measuring.script("bench/cluster/learning.py")
        once = mock.Mock(side_effect=[{"mb_per_second": 300}, AssertionError("waited in vain")])
        with mock.patch.multiple(bench, fill=lambda *_: 1, learn_once=once), mock.patch.object(harness, "Cluster", mock.MagicMock()), \
                mock.patch.object(measuring, "script", lambda path: bench), self.assertRaises(AssertionError):
            learning.measure(self.run_)
        self.assertEqual(self.run_.kept[0]["alone"], [{"mb_per_second": 300}])


class Logs(Sections):
    def test_what_was_measured_before_it_fails_is_kept(self):
        report = measuring.script("bench/wal/report.py")
        shape = mock.Mock(side_effect=[["repetition"], SystemExit(1)])
        with mock.patch.multiple(report, shapes_of=lambda *_: [["one"], ["two"]], run_shape=shape), \
                mock.patch.object(measuring, "script", lambda path: report), self.assertRaises(SystemExit):
            logs.measure(self.run_)
        self.assertEqual(self.run_.kept, [["repetition"]])


class Restart(Sections):
    def replay(self, arguments, **_):
        """What restart_bench prints."""
        flags = dict(argument[2:].split("=", 1) for argument in arguments if "=" in argument)
        return "\n".join(json.dumps({"run": run, "bytes": 1e9, "seconds": 10 / (1 + at) + i / 100, "first_seconds": 0})
                         for i in range(int(flags["rounds"])) for at, run in enumerate(flags["runs"].split(",")))

    def test_each_ratio_and_goal_of_warm_logs_has_a_verdict(self):
        self.run_.command = self.replay
        figures = restart.cpu_bound(self.run_, "restart_bench", "/nowhere")
        rows = self.table("Server and raw harness, one disk, warm")
        self.assert_told(*(row["ratio"] for row in rows))
        self.assertEqual([row["ratio"].split()[0] for row in rows if row["goal"]],
                         [f"{figures[f'{what}_of_{whom}']:.2f}" for what in ("speedup", "rate") for whom in ("raw", "flushed")])

    def test_slow_disks_have_a_verdict(self):
        self.run_.command = self.replay
        with mock.patch.object(restart, "slow_disks", lambda *_: contextlib.nullcontext((["disk"], "group"))):
            restart.disk_bound(self.run_, "restart_bench", "/nowhere")
        self.assert_told(*(row["ratio"] for row in self.table("Server and raw harness, 4 disks of 50 MB/s, cold")))


class FakeMixes:
    """A target of mixes, whose data disks are the slowest and whose shared log is the quickest."""
    cluster = types.SimpleNamespace(replica_pids=list, destroy=lambda: None)

    def __init__(self, run, placement, flush_us, records):
        self.us = 100 * (1 + mixes.PLACEMENTS.index(placement))

    def mix(self, reads, writes, seconds):
        self.us += 1  # a round later
        latencies = dict.fromkeys(mixes.COLUMNS, self.us)
        return {"qps": 1e6 / self.us, **({"READ": latencies} if reads else {}), **({"UPDATE": latencies} if writes else {})}


class Mixes(Sections):
    def test_rates_and_average_latencies_of_each_two_placements_have_a_verdict(self):
        self.run_.settle = lambda pids: None
        with mock.patch.object(mixes, "Target", FakeMixes):
            figures = mixes.measure_disks(self.run_, "this disk", 0)
        rows = self.table("Mixes on this disk, compared")
        pairs = ["data disks : shared log", "one home : shared log", "data disks : one home"]
        self.assert_told(*(row[pair] for row in rows for pair in pairs))
        self.assertEqual([row["of"] for row in rows if row["reads:writes"] == "3:1"], ["qps", "average read", "average update"])
        self.assertEqual([row["of"] for row in rows if row["reads:writes"] == "0:1"], ["qps", "average update"])
        for pair in pairs:
            told = figures["1:1"]["compared"]["average update"][pair]
            self.assertGreater(told["ratio"], 1)
            self.assertLess(told["p"], 0.05)
            self.assertLess(figures["1:1"]["compared"]["qps"][pair]["ratio"], 1)


class Cost(Sections):
    def test_each_size_has_a_verdict_beside_the_smallest(self):
        self.rounds = 0

        def cost_of(run, cluster, table, op, hash_keys, operations):
            self.rounds += 1
            return (100 if table.endswith(("10000", "partitions8")) else 200) + self.rounds / 10

        def bench_engine(arguments):
            repeats, = (int(argument.split("=")[1]) for argument in arguments if "repetitions" in argument)
            return json.dumps({"benchmarks": [
                {"run_type": run_type, "run_name": f"BM_GetOf<RocksdbEngineFactory>/{records}", "cpu_time": records / 10 + i}
                for run_type in ("iteration", "aggregate") for i in range(repeats) for records in (10**4, 10**6, 10**7)]})
        self.run_.command = bench_engine
        with mock.patch.multiple(cost, bench=lambda *_: None, cost=cost_of), \
                mock.patch.object(harness, "Cluster", mock.MagicMock()):
            figures = cost.measure(self.run_)
        for title in ("A get's CPU in the three servers (goal: within 1.5)", "A put's CPU in the three servers (goal: within 1.5)",
                      "The engine's own get, alone in a process, flushed and cached"):
            others = [row["of the smallest"] for row in self.table(title) if row["of the smallest"] != "1"]
            self.assertGreaterEqual(len(others), 2)
            self.assert_told(*others)
        for figure in ("get_by_records", "put_by_partitions"):
            self.assertAlmostEqual(figures[figure], 2, delta=0.2)
        self.assertGreater(figures["engine_get_by_records"], 900)


class Connections(Sections):
    def rows(self, share):
        """Of each number of connections, four rounds; at 5,000 so much of the rate at 50."""
        of = {50: 1, 1000: 0.9, 5000: share}
        return {count: [{"per_s": of[count] * 1000 + i, **dict.fromkeys(("cpu_us", "client_cpu_us", "client_busy", "p50_us", "p99_us"), 1)}
                        for i in range(4)] for count in connections.COUNTS}

    def test_the_server_beside_a_bare_one_has_a_verdict(self):
        figures = connections.tell_beside_bare(self.run_, self.rows(0.4), self.rows(0.8))
        self.assertAlmostEqual(figures["get_5000_over_best_of_bare"], 0.5, delta=0.01)
        self.assert_told(self.table("5000 connections")[-1]["of the best"])
        self.assert_told(*(self.table(f"{server}, by connections")[-1]["of the best"] for server in ("The server", "A bare epoll server")))

    def test_a_store_server_leaves_nothing_behind(self):
        with tempfile.TemporaryDirectory() as directory, mock.patch.object(tempfile, "tempdir", directory), \
                mock.patch.dict(os.environ, TMPDIR=directory):
            binary = os.path.join(directory, "leaves_its_store")
            with open(binary, "w", encoding="utf-8") as file:
                file.write("#!/bin/sh\nmktemp -d > /dev/null\necho port 1\ncat > /dev/null\n")
            os.chmod(binary, 0o700)
            connections.StoreServer(binary, "epoll", 1000).stop()
            self.assertEqual(os.listdir(directory), ["leaves_its_store"])


if __name__ == "__main__":
    unittest.main()
