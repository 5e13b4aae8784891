#!/usr/bin/env python3
"""arion_load --verify against servers that lie (faulty_replica.cc): it says which records, how, and when.

SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "cluster"))
import harness


class Verify(unittest.TestCase):
    def verdict(self, fault, *flags):
        """What arion_load found in a cluster whose servers all have that fault."""
        faulty = os.path.join(harness.BUILD, "tests", "load", "faulty_replica")
        cluster = harness.Cluster(replica_command=[faulty, fault])
        self.addCleanup(cluster.destroy)
        cluster.start()
        cluster.create_table("temp", partitions=1)
        done = subprocess.run([os.path.join(harness.BUILD, "arion_load"), "-j", "--verify", f"--meta={cluster.meta.address}",
                               "--table=temp", "-p", "fieldcount=1", "-p", "fieldlength=100", *flags],
                              capture_output=True, text=True, timeout=100 * harness.PATIENCE)
        self.assertEqual(done.returncode, 1, done.stderr)
        return json.loads(done.stdout)["verify"]

    def assert_named(self, verdict, kind):
        for first in verdict["first"]:
            self.assertEqual(first["type"], kind)
            self.assertRegex(first["key"], "^user[0-9]+")
            self.assertGreater(first["at_seconds"], 0)

    def test_a_lost_write_in_ten_thousand_is_found(self):
        # Two operations under way: a mutation holds one or two writes, so there are 12,500 at least.
        verdict = self.verdict("lose", "load", "--threads=2", "-p", "recordcount=25000")
        self.assertGreaterEqual(verdict["lost"], 1)
        self.assertLessEqual(verdict["lost"], 4)
        self.assertEqual((verdict["stale"], verdict["mixed"]), (0, 0))
        self.assert_named(verdict, "lost")

    def test_stale_reads_are_found(self):
        verdict = self.verdict("stale", "--threads=8", "--workload=a", "-p", "recordcount=500", "--operations=20000")
        self.assertGreaterEqual(verdict["stale"], 5)
        self.assertEqual(verdict["mixed"], 0)
        self.assertTrue({first["type"] for first in verdict["first"]} <= {"stale", "lost"})


if __name__ == "__main__":
    unittest.main(verbosity=2)
