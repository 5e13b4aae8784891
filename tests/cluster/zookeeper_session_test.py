#!/usr/bin/env python3
"""Sessions with a real ZooKeeper server (../zookeeper/session_check.cc), which is killed and frozen meanwhile.

SPDX-License-Identifier: Apache-2.0
"""

import os
import signal
import subprocess
import sys
import unittest

import harness
import zookeeper

PROGRAM = os.path.join(harness.BUILD, "tests", "cluster", "session_check")


@unittest.skipIf(zookeeper.missing(), f"not run: needs {zookeeper.missing()}")
class Sessions(unittest.TestCase):
    def check(self, servers, tests):
        """Runs the program's tests, does what it asks for, returns what it printed."""
        with servers:
            check = subprocess.Popen([PROGRAM, f"--gtest_filter={tests}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     stderr=subprocess.STDOUT, text=True, bufsize=1, preexec_fn=zookeeper.end_with_parent,
                                     env=dict(os.environ, ZOOKEEPER_HOSTS=servers.hosts))
            printed = []
            for line in check.stdout:
                printed.append(line)
                if line.startswith("> "):
                    self.do(line[2:].strip(), servers, check)
                    check.stdin.write("done\n")
            check.stdin.close()
            check.stdout.close()
            if check.wait() != 0:
                print("".join(printed), *servers.last_lines(), sep="\n")
            self.assertEqual(check.wait(), 0)
            return "".join(printed)

    def do(self, what, server, check):
        if what == "kill leader":
            server.leader().kill()
        elif what == "kill":
            server.kill()
        elif what == "start":
            server.start()
            server.wait_ready()
        elif what == "freeze":
            server.freeze()
        elif what == "thaw":
            server.thaw()
        elif what.startswith("move to "):
            server.kill()
            server.move(what.split()[-1])
            server.start()
            server.wait_ready()
        elif what.startswith("forbid writes of "):
            server.command("setAcl", what.split()[-1], "world:anyone:ra")
        elif what == "expire me":
            check.send_signal(signal.SIGSTOP)
            harness.wait_for("the server has no session", lambda: "Session Sets (0)/(0):" in server.ask("dump"))
            check.send_signal(signal.SIGCONT)
        else:
            raise AssertionError(f"the check asks for {what}")

    def test_with_one_server(self):
        printed = self.check(zookeeper.ZooKeeperServer(), "-EnsembleCheck.*")
        self.assertNotIn("ZOO_", printed, "the client's own lines go through our log")
        self.assertIn("nowhere.invalid can't be looked up", printed)

    def test_with_an_ensemble(self):
        self.check(zookeeper.Ensemble(), "EnsembleCheck.*")


if __name__ == "__main__":
    unittest.main(argv=sys.argv, verbosity=2)
