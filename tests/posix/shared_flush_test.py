#!/usr/bin/env python3
"""The flushes that test_env counts, counted on each file system that this machine can make and mount.

A log's write is answered after a flush of the disk; whether an fdatasync is one is the file system's affair. So: a
loop-mounted ext4 with and without its journal, and XFS. Needs root that may mount, loop devices and mkfs; what is
missing counts as skipped.
SPDX-License-Identifier: Apache-2.0
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1)
FILTER = "*DurableWritesReachTheDiskWithFlushes*:*WritesOfManyFilesShareAFlush*"


class SharedFlush(unittest.TestCase):
    def run_on(self, *mkfs, mount="loop"):
        """What the tests print there; all of them pass."""
        if shutil.which(mkfs[0]) is None:
            self.skipTest(f"not run: needs {mkfs[0]}")
        directory = tempfile.mkdtemp(prefix="arion_shared_flush_")
        self.addCleanup(shutil.rmtree, directory)
        image, path = os.path.join(directory, "image"), os.path.join(directory, "mounted")
        os.mkdir(path)
        with open(image, "wb") as file:
            file.truncate(320 << 20)
        subprocess.run([*mkfs, "-q", image], check=True)
        mounted = subprocess.run(["mount", "-o", mount, image, path], capture_output=True, text=True, check=False)
        if mounted.returncode != 0:
            self.skipTest(f"no file system can be mounted here: {mounted.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", "-l", path], check=False)
        done = subprocess.run([PROGRAM, f"--gtest_filter={FILTER}"], env={**os.environ, "TMPDIR": path},
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        if "io_uring is refused" in done.stdout:
            self.skipTest("without io_uring each write carries its flush")
        return done.stdout

    def test_ext4_shares_a_flush(self):
        self.assertIn("flushes of the disk", self.run_on("mkfs.ext4", "-F"))

    def test_ext4_without_a_journal_shares_a_flush(self):
        self.assertIn("flushes of the disk", self.run_on("mkfs.ext4", "-F", "-O", "^has_journal"))

    def test_ext4_that_writes_through_its_journal_does_not(self):
        self.assertNotIn("flushes of the disk", self.run_on("mkfs.ext4", "-F", mount="loop,data=journal"))

    def test_xfs_does_not(self):
        self.assertNotIn("flushes of the disk", self.run_on("mkfs.xfs"))


if __name__ == "__main__":
    unittest.main()
