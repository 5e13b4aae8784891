#!/usr/bin/env python3
"""The public C++ client's every operation against real servers (public_api_cluster.cc).

SPDX-License-Identifier: Apache-2.0
"""

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


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
