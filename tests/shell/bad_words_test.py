"""arion_shell given what nobody should: it says what is wrong, by its exit code too, and the cluster is as it was. And
with a meta server that is down, or a server that hangs: an answer in time that says what is known.

SPDX-License-Identifier: Apache-2.0
"""

import concurrent.futures
import json
import os
import signal
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "cluster"))
import harness  # noqa: E402

SHELL = os.path.join(harness.BUILD, "arion_shell")


class BadInputTest(harness.ClusterTest):
    table = "t"
    partitions = 4

    def shell(self, script, *options, seconds=20):
        """(exit code, output, errors) of a script on standard input."""
        done = subprocess.run([SHELL, "--meta", self.cluster.meta.address, *options], input=script, capture_output=True,
                              text=True, timeout=seconds * harness.PATIENCE)
        return done.returncode, done.stdout, done.stderr

    def at_once(self, *commands):
        """(command, its seconds, what shell() gave) of each: most of them wait for somebody who does not answer."""
        def timed(command):
            begun = time.monotonic()
            given = self.shell(command)
            return command, time.monotonic() - begun, given
        with concurrent.futures.ThreadPoolExecutor(len(commands)) as pool:
            return list(pool.map(timed, commands))

    def names(self):
        return sorted(row["name"] for row in json.loads(self.shell("ls", "-j")[1])["tables"])

    def test_names_that_are_none(self):
        before = self.names()
        commands = ("create {}", "drop {} -y", "rename t {}", "app {}", "manual-compaction start -a {}",
                    "get_replica_count {}", "remote_command {}", "config set {} 1", "use {}")
        names = (r'"it\'s"', r'"a\"b"', r'"a\nb"', r'"\x00"', '""', "a/../b", "x" * (1 << 20))
        for i, name in enumerate(names):  # each command with some name, and two with each
            for command in commands[:2] + (commands if i == 0 else commands[2 + i:3 + i]):
                code, out, errors = self.shell(command.format(name))
                if not command.startswith("remote_command"):
                    self.assertIn(code, (1, 2), f"{command[:40]} {name[:20]}: {code} {out[:200]} {errors[:200]}")
                    self.assertIn("error: ", errors)
                self.assertLess(len(errors), 3 << 20)
        for words in ("set_app_envs default_ttl \"1\\n2\"", "set_app_envs \"\\x00\" 1",
                      "set_app_envs business.info " + "x" * (1 << 20)):
            code, out, errors = self.shell("use t; " + words)
            self.assertEqual(code, 1, out + errors[:300])
        self.assertEqual(self.names(), before)
        self.check_all_alive()

    def test_partition_counts(self):
        for count in ("0", "-1", "100000", "1e3", "99999999999999"):
            code, _, errors = self.shell(f"create p -p {count}")
            self.assertIn(code, (1, 2), errors)
            self.assertNotIn("p", self.names())
        self.assertEqual(self.shell("create three -p 3")[0], 0)
        self.assertEqual(json.loads(self.shell("app three", "-j")[1])["partition_count"], 3)
        self.assertEqual(self.shell("drop three -y")[0], 0)

    def test_two_administrators_at_once(self):
        results = []

        def administer(me):
            script = "\n".join(f"create both_{i} -p 2\ndrop both_{i} -y" for i in range(5))
            for line in script.splitlines():
                results.append((me, line, *self.shell(line)))
        threads = [threading.Thread(target=administer, args=(i,)) for i in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        # Each is done, or told that the other was there first.
        for _, line, code, out, errors in results:
            self.assertIn(code, (0, 1), f"{line}: {out}{errors}")
            self.assertTrue(code == 0 or "both_" in errors, errors)
        harness.wait_for("their tables to be gone", lambda: self.names() == ["t"])

    def test_a_meta_server_that_is_down(self):
        self.cluster.meta.kill()
        try:
            for command, seconds, (code, out, errors) in self.at_once(
                    "ls", "nodes", "status", "drop t -y", "server_info", "config --diff", "disk-capacity",
                    "manual-compaction query -a t"):
                self.assertEqual(code, 3, f"{command}: {out}{errors}")
                self.assertIn(self.cluster.meta.address, errors)
                self.assertLess(seconds, 15 * harness.PATIENCE, command)
            # A replica server can still be asked by its address.
            address = self.cluster.replicas[0].address
            code, out, _ = self.shell(f"remote_command -l {address} server-info")
            self.assertEqual(code, 0)
            self.assertIn("Arion replica", out)
        finally:
            self.cluster.meta.start()
            harness.wait_for("the meta server", lambda: self.shell("ls")[0] == 0)
            self.cluster.wait_healthy("t")

    def test_a_server_that_hangs(self):
        victim = self.cluster.replicas[0]
        victim.process.send_signal(signal.SIGSTOP)
        try:
            asked_alone = f"remote_command -l {victim.address} server-info"
            for command, seconds, (code, out, errors) in self.at_once(
                    "server_info", "disk-capacity", "config --diff", "disks", "status", "slow", asked_alone):
                self.assertLess(seconds, 15 * harness.PATIENCE, command)
                self.assertIn(code, (0, 4), f"{command}: {out}{errors}")  # 0: it is known to be dead by now
                if command == asked_alone:
                    self.assertEqual(code, 4)
                    self.assertIn(victim.address, out)
        finally:
            victim.process.send_signal(signal.SIGCONT)
            self.cluster.wait_healthy("t")


if __name__ == "__main__":
    unittest.main()
