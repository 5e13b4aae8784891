#!/usr/bin/env python3
"""A server comes back with a disk that is older than it was: a copy put back after a power cut took all. What was acknowledged
after the copy stays, from each member in turn as primary; the older copies learn, and an operator is told whose they were.

    tests/cluster/older_disk_test.py [--seed N]
SPDX-License-Identifier: Apache-2.0
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import threading
import time
import unittest

import harness
import records


class OlderDisk(records.RecordsTest):
    keys = 200
    partitions = 4
    data_dirs = 2

    def copy_of(self, server, directories):
        """The server's data directories as they are now."""
        copies = {}
        for path in directories:
            copies[path] = f"{path}.older"
            shutil.rmtree(copies[path], ignore_errors=True)
            # A file may go while it is copied: the server may be running.
            subprocess.run(["cp", "-a", path, copies[path]], check=False, stderr=subprocess.DEVNULL)
        return copies

    def lose_power(self):
        for server in self.cluster.servers():
            server.kill()

    def put_back(self, copies):
        for path, copy in copies.items():
            shutil.rmtree(path)
            os.rename(copy, path)

    def start(self):
        self.cluster.start()
        self.cluster.wait_healthy(self.table)

    def shell(self, commands):
        """What it says; its exit code tells that something is wrong, which it may."""
        return subprocess.run([os.path.join(harness.BUILD, "arion_shell"), "--meta", self.cluster.meta.address, "-e", commands],
                              capture_output=True, text=True, check=False, timeout=60 * harness.PATIENCE).stdout

    def check_nothing_is_lost(self):
        """From each of them as the primary of all."""
        for server in self.cluster.replicas:
            until = time.monotonic() + records.HEALS_SECONDS
            self.lead(server, until)
            self.read_all(until)
        harness.wait_for("all members agree", self.members_agree, 60)

    def check_told(self, victim):
        status = self.shell("status")
        self.assertRegex(status, f"server {victim.address} +came back within a day with [0-9]+ older cop")
        self.assertGreater(harness.value_of(harness.metrics(self.cluster.meta), "arion_older_copies", server=victim.address), 0)
        self.assertIn(f"{victim.address} came back with an older copy", self.cluster.meta.logged())

    def older(self, victim, copies):
        """Everything is written again after the copy, the victim leads, the power goes, and the copy is what it finds."""
        self.lead(victim, time.monotonic() + records.HEALS_SECONDS)
        self.put(self.keys)
        self.lose_power()
        self.put_back(copies)
        self.start()
        self.read_all(time.monotonic() + records.HEALS_SECONDS)
        self.put(self.keys // 2)
        self.check_nothing_is_lost()
        self.check_told(victim)

    def test_a_copy_made_while_the_server_was_stopped(self):
        victim = self.cluster.replicas[2]
        self.put(self.keys)
        self.assertEqual(victim.stop(), 0)
        copies = self.copy_of(victim, victim.data_directories())
        victim.start()
        self.cluster.wait_healthy(self.table)
        self.older(victim, copies)

    def test_a_copy_made_while_the_server_was_writing(self):
        victim = self.cluster.replicas[1]
        writer = threading.Thread(target=lambda: self.put(self.keys))
        writer.start()
        time.sleep(0.1)  # in the midst of it, wherever that is
        copies = self.copy_of(victim, victim.data_directories())
        writer.join()
        self.older(victim, copies)

    def test_one_data_directory_of_two_goes_back(self):
        victim = self.cluster.replicas[0]
        self.put(self.keys)
        self.assertEqual(victim.stop(), 0)
        copies = self.copy_of(victim, victim.data_directories()[:1])
        victim.start()
        self.cluster.wait_healthy(self.table)
        self.older(victim, copies)

    def test_where_every_member_went_back_a_person_is_asked(self):
        self.put(self.keys)
        for server in self.cluster.replicas:
            self.assertEqual(server.stop(), 0)
        copies = {}
        for server in self.cluster.replicas:
            copies |= self.copy_of(server, server.data_directories())
        self.start()
        self.put(self.keys)
        for server in self.cluster.replicas:  # what is committed is stored when members change
            self.lead(server, time.monotonic() + records.HEALS_SECONDS)
        self.lose_power()
        self.put_back(copies)
        self.cluster.start()
        harness.wait_for("a person is asked about every partition",
                         lambda: len(set(re.findall(r"(?m)^([0-9.]+) .*put back", self.shell("ddd_diagnose")))) == self.partitions, 60)
        harness.wait_for("the person decides", lambda: self.shell("ddd_diagnose -a -y") and not self.cluster.lacks_primary(self.table), 60)
        self.cluster.wait_healthy(self.table)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=OlderDisk.seed)
    arguments, rest = parser.parse_known_args()
    OlderDisk.seed = arguments.seed
    print(f"seed {OlderDisk.seed}", flush=True)
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
