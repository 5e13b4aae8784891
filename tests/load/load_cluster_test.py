#!/usr/bin/env python3
"""arion_load against real servers: workloads with verification, the files it writes, its exit codes.

SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "cluster"))
import harness

PROGRAM = os.path.join(harness.BUILD, "arion_load")


class Load(harness.ClusterTest):
    def load(self, *words, table=None):
        command = [PROGRAM, *words, f"--meta={self.cluster.meta.address}", f"--table={table or self.table}"]
        return subprocess.run(command, capture_output=True, text=True, timeout=100 * harness.PATIENCE)

    def report(self, *words):
        """The JSON of a run that keeps everything."""
        done = self.load("-j", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_workloads_are_verified(self):
        for letter, kinds in (("a", {"READ", "UPDATE"}), ("b", {"READ", "UPDATE"}), ("f", {"READ", "READMODIFYWRITE"})):
            with self.subTest(workload=letter):
                report = self.report("--workload", letter, "-p", "recordcount=1000", "--operations=6000", "--verify")
                load, run, check = report["phases"]
                self.assertEqual((load["operations"], run["operations"], check["operations"]), (1000, 6000, 1000))
                self.assertEqual({kind["operation"] for kind in run["kinds"]}, kinds)
                self.assertEqual(report["ended"], "done")
                self.assertEqual([report["verify"][what] for what in ("lost", "stale", "mixed")], [0, 0, 0])
                self.assertGreater(report["verify"]["reads"], 3000)
                self.assertEqual(list(run["server_stages_us"]), ["queue", "log_append", "log_sync", "replicate", "apply", "reply"])
                self.assertLess(sum(run["server_stages_us"].values()), run["kinds"][-1]["service_us"]["max"])
                self.assertEqual(check["server_stages_us"], {})
                for kind in run["kinds"]:
                    self.assertEqual(kind["not_found"], 0)
                    latencies = kind["service_us"]
                    self.assertLess(0, latencies["p50"])
                    self.assertLessEqual(latencies["p99"], latencies["max"])

    def test_the_head_says_what_the_servers_are(self):
        configuration = self.report("--workload", "a", "-p", "recordcount=100", "--operations=200")["configuration"]
        for server in self.cluster.replicas:
            self.assertRegex(configuration[f"server {server.address}"],
                             f"^arion [0-9.]+ [(].+[)], durability fsync, data d0:{server.data_directories()[0]}$")

    def test_a_run_of_some_milliseconds_tells_its_stages(self):
        report = self.report("--workload", "a", "-p", "recordcount=100", "--operations=200")
        stages = report["phases"][1]["server_stages_us"]
        self.assertEqual(list(stages), ["queue", "log_append", "log_sync", "replicate", "apply", "reply"])

    def test_every_kind_of_operation_is_verified(self):
        report = self.report("-p", "recordcount=1000", "-p", "readproportion=0.2", "-p", "updateproportion=0.1",
                             "-p", "insertproportion=0.1", "-p", "scanproportion=0.2", "-p", "deleteproportion=0.1",
                             "-p", "multigetproportion=0.15", "-p", "multiputproportion=0.15", "-p", "maxscanlength=20",
                             "-p", "requestdistribution=zipfian", "-p", "ttlproportion=0.1", "-p", "ttlseconds=600",
                             "-p", "keyprefix=every", "--operations=5000", "--verify", "--clients=2",
                             "--chaos", "0s:exit 3")
        self.assertEqual(len(report["phases"][1]["kinds"]), 7)
        self.assertEqual([event.split(" ", 1)[1] for event in report["events"]], ["began: exit 3", "exit 3: exit 3"])
        self.assertEqual([report["verify"][what] for what in ("lost", "stale", "mixed")], [0, 0, 0])

    def test_an_open_loop_and_the_files_it_writes(self):
        from_pypi = harness.python_with_packages()
        with tempfile.TemporaryDirectory() as scratch:
            hdr, html, reported = (os.path.join(scratch, name) for name in ("log.hlog", "report.html", "report.json"))
            done = self.load("--workload=a", "-p", "recordcount=500", "--rate=500-1500/1s,1500", "--seconds=2",
                             f"--hdr={hdr}", f"--html={html}", f"--json={reported}", "--slo=p50<5s,errors<1%,ops>100")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn("slo: p50<5s: kept", done.stdout)
            with open(reported) as file:
                report = json.load(file)
            run = report["phases"][1]
            self.assertEqual((run["loop"], run["not_started"]), ("open", 0))
            self.assertAlmostEqual(run["operations"], 2500, delta=5)
            script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "read_hdr.py")
            merged = json.loads(harness.run([from_pypi, script, hdr]))
            for kind in run["kinds"]:
                for tag, latencies in ((kind["operation"], kind["service_us"]),
                                       ("Intended-" + kind["operation"], kind["intended_us"])):
                    self.assertEqual(merged[tag]["count"], kind["succeeded"])
                    for name, value in merged[tag]["us"].items():
                        self.assertAlmostEqual(value, latencies[name], delta=latencies[name] / 900 + 0.001, msg=f"{tag} {name}")
            with open(html) as file:
                text = file.read()
            if "This build has no plots" not in text:  # uPlot comes with npm
                plots = json.loads(re.search("\nconst plots = (.*);\n", text).group(1))
                self.assertEqual(len(plots), 8)  # of each phase its rate, of each of its kinds two
                for plot in plots:
                    self.assertEqual(len(plot["data"]), 1 + len(plot["names"]))
                    self.assertTrue(all(len(column) == len(plot["data"][0]) for column in plot["data"]) and plot["data"][0])
                    self.assertIn(f'<div id="{plot["at"]}">', text)
            self.assertTrue(text.endswith("</html>\n"))

    def test_exit_codes_say_what_happened(self):
        done = self.load("run", "--workload=a", "-p", "recordcount=10", "--operations=10", "--slo=max<1us")
        self.assertEqual(done.returncode, 1)
        self.assertIn("MISSED", done.stdout)
        done = self.load("run", "--workload=a", "-p", "recordcount=10", "--operations=10", "--html=/nonexistent/x.html")
        self.assertEqual(done.returncode, 1)
        self.assertIn("run: ", done.stdout)
        self.assertIn("can't write /nonexistent/x.html: No such file", done.stderr)
        done = self.load("run", "--workload=a", "-p", "recordcount=10", "--operations=10", "--json=/dev/full")
        self.assertEqual(done.returncode, 1)
        self.assertIn("run: ", done.stdout)  # what was measured is told all the same
        self.assertIn("can't write /dev/full: No space left on device", done.stderr)
        done = self.load("--workload=a", "--threads=0")
        self.assertEqual((done.returncode, done.stderr), (2, "error: --threads=0: 1 or more\n"))
        done = self.load("--workload=a", "-p", "recordcoun=1")
        self.assertEqual(done.returncode, 2)
        self.assertIn("did you mean recordcount?", done.stderr)
        done = self.load("--workload=a", table="nosuch")
        self.assertEqual(done.returncode, 3)
        self.assertIn("table nosuch", done.stderr)

    def test_a_flag_that_is_not_known_is_a_usage_error(self):
        for flag in ("--treads=3", "--threads=x"):
            done = self.load("--workload=a", flag)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
            self.assertIn("threads" if "x" in flag else "treads", done.stderr)

    def test_standard_output_that_is_full_is_said(self):
        for form in (["-j"], []):
            with open("/dev/full", "w") as full:
                done = subprocess.run([PROGRAM, *form, "run", "--workload=a", "-p", "recordcount=10", "--operations=10",
                                       f"--meta={self.cluster.meta.address}", f"--table={self.table}"],
                                      stdout=full, stderr=subprocess.PIPE, text=True, timeout=100 * harness.PATIENCE)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("can't write standard output: No space left on device", done.stderr)

    def test_chaos_that_never_ran_is_said(self):
        done = self.load("run", "--workload=c", "-p", "recordcount=10", "--operations=10", "--chaos=60s:true")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("s never ran, the run was over before 1m: true", done.stdout)

    def test_a_load_alone_has_its_rate(self):
        report = self.report("load", "--workload=a", "-p", "recordcount=500", "--rate=250")
        load, = report["phases"]
        self.assertEqual((load["loop"], load["operations"]), ("open", 500))
        self.assertGreater(load["seconds"], 1.9)
        self.assertTrue(report["configuration"]["loop"].startswith("open, 250 operations/s"))
        done = self.load("load", "--workload=a", "--rate=250", "--seconds=5", "--warmup=1")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--seconds, --warmup", done.stderr)

    def test_a_rate_beyond_capacity_is_said(self):
        done = self.load("run", "--workload=c", "-p", "recordcount=10", "--rate=1000000", "--threads=2", "--seconds=1")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("RATE NOT REACHED", done.stdout)
        # As YCSB's files have it: all operations start in the end, but late.
        done = self.load("run", "--workload=c", "-p", "recordcount=10", "-p", "target=1000000", "-p", "operationcount=12000", "--threads=2")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("RATE NOT REACHED", done.stdout)

    def test_a_signal_still_gives_the_summary(self):
        command = [PROGRAM, "run", "--workload=c", "-p", "recordcount=10", "--seconds=60",
                   f"--meta={self.cluster.meta.address}", f"--table={self.table}"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
            for line in program.stdout:
                if "1s" in line and "|" in line:
                    break
            began = time.monotonic()
            program.send_signal(signal.SIGINT)
            rest = program.stdout.read()
        self.assertEqual(program.returncode, 1)
        self.assertIn("ended early: told to stop", rest)
        self.assertIn("p99.9 ", rest)
        self.assertLess(time.monotonic() - began, 20 * harness.PATIENCE)

    def test_behind_a_signal_what_was_acknowledged_is_read_back(self):
        command = [PROGRAM, "--workload=a", "--verify", "-j", "-p", "recordcount=50", "--seconds=60",
                   f"--meta={self.cluster.meta.address}", f"--table={self.table}"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
            for line in program.stderr:
                if "1s" in line and "|" in line:  # of the run: 50 records are there at once
                    break
            program.send_signal(signal.SIGINT)
            output, errors = program.communicate(timeout=60 * harness.PATIENCE)
        self.assertEqual(program.returncode, 1)
        report = json.loads(output)
        self.assertEqual([phase["phase"] for phase in report["phases"]], ["load", "run", "check"], errors)
        self.assertEqual((report["ended"], report["verify"]["unchecked"]), ("told to stop", 0))


class Dying(unittest.TestCase):
    """Each on a cluster of its own, which it kills: one copy a partition, so that nobody takes a server's place."""

    def setUp(self):
        self.cluster = harness.Cluster()
        self.addCleanup(self.cluster.destroy)
        self.cluster.start()
        harness.wait_for("every replica server is known", lambda: self.cluster.alive() == 3)
        self.cluster.create_table("temp", partitions=6, replicas=1)

    def leader(self):
        """A server with a partition: one that was heard late has none."""
        address = self.cluster.partitions("temp")[0]["primary"]
        return next(server for server in self.cluster.replicas if server.address == address)

    def begin(self, *words):
        return subprocess.Popen([PROGRAM, "-j", *words, "--workload=a", f"--meta={self.cluster.meta.address}", "--timeout=1"],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def end(self, program, code):
        """(report, what people read)"""
        output, told = program.communicate(timeout=100 * harness.PATIENCE)
        self.assertEqual(program.returncode, code, told)
        return json.loads(output), told

    def test_what_cannot_be_read_back_is_not_verified(self):
        victim = self.leader().process.pid
        report, told = self.end(self.begin("--verify", "-p", "recordcount=240", "--seconds=2", f"--chaos=1s:kill -9 {victim}"), 1)
        verify = report["verify"]
        self.assertEqual([verify[what] for what in ("lost", "stale", "mixed")], [0, 0, 0])
        self.assertEqual(verify["unchecked"], report["phases"][-1]["errors"])
        self.assertGreater(verify["unchecked"], 0)
        self.assertIn(f"{verify['unchecked']} RECORDS NOT CHECKED", told)

    def test_records_that_are_missing_are_no_load(self):
        self.leader().kill()
        report, told = self.end(self.begin("load", "-p", "recordcount=60"), 1)
        errors = report["phases"][0]["errors"]
        self.assertGreater(errors, 0)
        self.assertIn(f"the load is incomplete: {errors} of 60", told)

    def test_of_a_cluster_that_dies_midway_what_was_measured_is_kept_and_its_end_is_said(self):
        program = self.begin("-p", "recordcount=100", "--seconds=5", "--threads=8")
        for line in program.stderr:
            if "2s" in line and "|" in line:
                break
        for server in self.cluster.servers():
            server.kill()
        report, told = self.end(program, 1)
        run = report["phases"][1]
        self.assertEqual((report["ended"], run["phase"]), ("done", "run"))  # --give_up is far longer
        self.assertGreater(sum(kind["succeeded"] for kind in run["kinds"]), 100)
        self.assertGreater(run["errors"], 0)
        self.assertIn("the run ended failing", told)


if __name__ == "__main__":
    unittest.main()
