#!/usr/bin/env python3
"""The public C++ client's every operation against real servers (public_api_cluster.cc).

SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "cluster"))
import harness  # noqa: E402

PROGRAM = os.path.join(harness.BUILD, "tests", "client", "public_api_cluster")


class PublicApi(harness.ClusterTest):
    def run_program(self, *flags):
        done = subprocess.run([PROGRAM, "--gtest_brief=1", *flags], timeout=200 * harness.PATIENCE, check=False,
                              env={**os.environ, "ARION_META": self.cluster.meta.address}, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertNotIn(" 0 tests", done.stdout)
        self.check_all_alive()

    def test_every_operation(self):
        self.run_program()

    def test_secondaries_answer_for_a_stopped_primary(self):
        disabled = "--gtest_also_run_disabled_tests"
        self.run_program(disabled, "--gtest_filter=*Writes64RecordsForBackupReads")
        primary = self.cluster.partitions("temp")[0]["primary"]
        stopped = next(server for server in self.cluster.replicas if server.address == primary)
        stopped.process.send_signal(signal.SIGSTOP)
        try:
            self.run_program(disabled, "--gtest_filter=*SecondariesAnswerForAStoppedPrimary")
        finally:
            stopped.process.send_signal(signal.SIGCONT)

    def shell(self, *commands, code=0):
        """The answers of arion_shell's commands, one JSON object each."""
        done = subprocess.run([os.path.join(harness.BUILD, "arion_shell"), "--meta", self.cluster.meta.address, "-j",
                               "-e", "; ".join(("use temp",) + commands)], timeout=60 * harness.PATIENCE, check=False,
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, code, done.stdout)
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")][1:]

    def keys(self, *commands):
        answer = self.shell(*commands)[-1]
        return [record["sort_key"] for record in answer["records"]], answer["complete"]

    def test_the_shells_record_commands(self):
        self.shell("multi_set sh a1 1 a2 2 b1 3", "set sh c1 4 100", "incr sh n 5")
        self.assertEqual(self.keys("multi_get sh"), (["a1", "a2", "b1", "c1", "n"], "yes"))
        self.assertEqual(self.keys("multi_get sh c1 none a1"), (["c1", "a1"], "yes"))
        self.assertEqual(self.keys('multi_get_range sh a2 "" -a false -n 2'), (["b1", "c1"], "no"))
        self.assertEqual(self.keys('multi_get_range sh a1 c1 -b true -s postfix -y 1 -i'), (["a1", "b1", "c1"], "yes"))
        self.assertEqual(self.keys('hash_scan sh a1 b1 -n 1'), (["a1"], "no"))
        self.assertEqual(self.keys('hash_scan sh a1 b1'), (["a1", "a2"], "yes"))
        self.assertEqual(self.keys('full_scan -h prefix -x sh -s prefix -y a'), (["a1", "a2"], "yes"))
        counts = self.shell("count sh", "count_data -h prefix -x sh", "incr sh n", "incr sh n -7")
        self.assertEqual([a.get("count", a.get("value")) for a in counts], [5, 5, 6, -1])
        checks = self.shell("check_and_set sh -c a1 -t bytes_equal -o 1 -v one -r", "check_and_set sh -c a1 -t not_exist",
                            "check_and_mutate sh -c a1 -t match_prefix -o on set x 1 del a2")
        self.assertEqual([a["passed"] for a in checks], ["yes", "no", "yes"])
        self.assertEqual(checks[0]["checked_value"], '"1"')
        self.shell("multi_del sh a1 b1")
        self.assertEqual(self.keys("multi_get sh"), (["c1", "n", "x"], "yes"))
        for wrong in ("multi_set sh a", "hash_scan sh a", "check_and_set sh -t wrong", "multi_get_range sh a b -n 0"):
            self.shell(wrong, code=2)
        self.shell("incr sh c1 9223372036854775807", code=1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
