#!/usr/bin/env python3
"""Servers live through what their host does to them: a kernel that refuses io_uring, SIGHUP of a log rotation or of a terminal
that closes.

SPDX-License-Identifier: Apache-2.0
"""

import glob
import os
import re
import signal
import subprocess
import sys
import unittest

import harness

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
import without_io_uring  # noqa: E402  pylint: disable=wrong-import-position


SERVICE_USER = 65534  # nobody


def as_the_service():
    os.setgroups([])
    os.setgid(SERVICE_USER)
    os.setuid(SERVICE_USER)


class Host(unittest.TestCase):
    def cluster(self, **options):
        cluster = harness.Cluster(**options)
        self.addCleanup(cluster.destroy)
        return cluster

    def shell(self, cluster, commands):
        return harness.run([os.path.join(harness.BUILD, "arion_shell"), "--meta", cluster.meta.address, "-e", commands])

    def log_of(self, server):
        with open(server.log, errors="replace") as file:
            return file.read()

    def start(self, cluster, preexec=None, flags=()):
        for server in cluster.servers():
            server.start(flags=flags, preexec=preexec)
        for server in cluster.servers():
            cluster.wait_listening(server)

    def test_without_io_uring_they_serve_and_say_how_logs_are_written(self):
        cluster = self.cluster()
        self.start(cluster, preexec=lambda: without_io_uring.refuse(1))
        cluster.create_table("temp", partitions=2)
        cluster.wait_healthy("temp")
        self.assertIn('"v"', self.shell(cluster, "use temp; set k s v; get k s"))
        for server in cluster.replicas:
            self.assertIn("bounded threads; io_uring is refused: io_uring_setup: Operation not permitted", self.log_of(server))
        for server in cluster.servers():
            self.assertEqual(server.stop(), 0)

    def test_hangup_opens_log_files_anew_and_ends_nobody(self):
        cluster = self.cluster()
        for server in cluster.servers():
            server.write_config()
            os.makedirs(os.path.join(server.directory, "logs"))
            server.start(flags=[f"--log_directory={server.directory}/logs"],
                         preexec=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))  # as nohup does
        for server in cluster.servers():
            cluster.wait_listening(server)
        for server in cluster.servers():
            link = os.path.join(server.directory, "logs", f"arion_{server.role}.INFO")
            before = os.path.realpath(link)
            os.rename(before, before + ".old")
            server.process.send_signal(signal.SIGHUP)
            harness.wait_for("a log file in the place of the one renamed", lambda link=link: os.path.exists(link))
            with open(link) as file:
                self.assertIn("SIGHUP: log files are opened anew", file.read())
            self.assertTrue(server.is_running())
            self.assertEqual(server.stop(), 0)

    @unittest.skipUnless(os.geteuid() == 0, "gives files to another user")
    def test_files_that_root_left_are_refused_and_not_damage(self):
        cluster = self.cluster()
        os.chmod(cluster.directory, 0o755)
        cluster.start()
        cluster.create_table("temp", partitions=4)
        cluster.wait_healthy("temp")
        self.shell(cluster, "use temp; set k s v")
        for server in cluster.servers():
            self.assertEqual(server.stop(), 0)
        # The service's user has the directories, root a part of what is in them: what a start as root leaves.
        for server in cluster.servers():
            self.give(server.directory, SERVICE_USER)
        for server in cluster.replicas:
            for path in self.replicas_of(server):
                self.give(os.path.join(path, "data"), 0, mode=0o700 if server == cluster.replicas[0] else None)
        self.start(cluster, preexec=as_the_service)
        for server in cluster.replicas:
            harness.wait_for("the server says whose the files are", lambda server=server: re.search(
                f"belongs to user 0, group 0, mode 0[0-7]+, and this server runs as user {SERVICE_USER}: give it",
                self.log_of(server)))
            self.assertEqual([path for path in self.replicas_of(server) if path.endswith(".err")], [])
            self.assertEqual(len(self.replicas_of(server)), 4)
            self.give(server.directory, SERVICE_USER)  # while it runs
        harness.wait_for("what was written is read", lambda: '"v"' in self.tried(cluster, "use temp; get k s"), 60)
        for server in cluster.replicas:
            self.assertEqual(len(self.replicas_of(server)), 4)

    def tried(self, cluster, commands):
        """What the shell says, whether or not it worked."""
        return subprocess.run([os.path.join(harness.BUILD, "arion_shell"), "--meta", cluster.meta.address, "-e", commands],
                              capture_output=True, text=True, check=False, timeout=60).stdout

    def replicas_of(self, server):
        return glob.glob(os.path.join(server.data_directories()[0], "replica", "reps", "*.pegasus*"))

    def give(self, directory, user, mode=None):
        for path, _, names in os.walk(directory):
            for name in names:
                os.chown(os.path.join(path, name), user, user)
            os.chown(path, user, user)
            if mode is not None:
                os.chmod(path, mode)

    def test_the_help_says_what_signals_do(self):
        for role in ("meta", "replica"):
            text = harness.run([os.path.join(harness.BUILD, f"arion_{role}"), "--help"])
            for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGPIPE"):
                self.assertIn(name, text)


if __name__ == "__main__":
    unittest.main()
