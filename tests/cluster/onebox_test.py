#!/usr/bin/env python3
"""tools/onebox from start to clean, and the README's quick start, in a temporary directory and on other ports.

SPDX-License-Identifier: Apache-2.0
"""

import io
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import harness
import zookeeper

sys.path.insert(0, os.path.join(harness.ROOT, "tools"))
import onebox  # noqa: E402

ONEBOX = os.path.join(harness.ROOT, "tools", "onebox")


class OneBox(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.mkdtemp(prefix="arion-onebox-")
        self.directory = os.path.join(self.scratch, "box")
        self.base = None
        while self.base is None:  # runs of free ports: meta servers; ZooKeeper 100 above; replicas 200 above
            port = harness.free_ports(1)[0]
            if all(self.is_free(port + offset) for offset in (0, 1, 2, 100, 200, 201, 202)):
                self.base = port
        self.addCleanup(shutil.rmtree, self.scratch, True)
        self.addCleanup(self.onebox, "clean", check=False)

    @staticmethod
    def is_free(port):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) != 0

    def onebox(self, *words, check=True, timeout=180):
        done = subprocess.run([ONEBOX, *words, "--dir", self.directory, "--build", harness.BUILD, "--base-port",
                               str(self.base)], capture_output=True, text=True, timeout=timeout * harness.PATIENCE,
                              stdin=subprocess.DEVNULL)
        if check:
            self.assertEqual(done.returncode, 0, f"onebox {' '.join(words)}\n{done.stdout}\n{done.stderr}")
        return done

    def states(self):
        status = json.loads(self.onebox("status", "--json", check=False).stdout)
        return {node["name"]: node["state"] for node in status["nodes"]}, status

    def test_a_long_step_says_how_far_it_is_without_a_terminal(self):
        told = io.StringIO()
        screen = onebox.Screen(as_json=False)
        screen.out, screen.live = told, False
        for edge, now in enumerate((100.0, 100.1, 109.9, 110.0, 115.0, 121.0), start=1):
            with unittest.mock.patch("time.monotonic", return_value=now):
                screen.progress(f"[2/4] build         {edge}/6 compiling")
        self.assertEqual([line.split()[2] for line in told.getvalue().splitlines()], ["1/6", "4/6", "6/6"])

    def test_a_cluster_lives_and_goes(self):
        first = self.onebox("start")
        self.assertNotIn("\033", first.stdout, "no terminal: plain lines")
        self.assertRegex(first.stdout, r"(?s)\[2/4\] build +in .*\[2/4\] build +ok", "says that it builds before it is done")
        self.assertIn(f"127.0.0.1:{self.base}", first.stdout)
        states, status = self.states()
        self.assertEqual(states, {name: "alive" for name in ("meta1", "replica1", "replica2", "replica3")})
        table = status["tables"][0]
        self.assertEqual((table["name"], table["partitions"], table["healthy"]), ("temp", 8, 8))
        self.assertEqual(sorted(status["nodes"][0]), ["address", "name", "pid", "role", "state"])

        self.assertIn("already running", self.onebox("start").stdout)
        pids = {node["name"]: node["pid"] for node in status["nodes"]}
        self.assertEqual(pids, {node["name"]: node["pid"] for node in self.states()[1]["nodes"]})

        self.shell("use temp; set k s hello")
        self.onebox("kill", "replica2")
        self.assertEqual(self.states()[0]["replica2"], "dead")
        self.assertNotEqual(self.onebox("status", check=False).returncode, 0, "not healthy")
        self.onebox("start", "replica2")
        self.assertEqual(self.states()[0]["replica2"], "alive")
        self.onebox("restart", "replica1")
        self.onebox("stop", "replica3")
        self.assertEqual(self.states()[0]["replica3"], "stopped")
        self.assertNotEqual(self.onebox("logs", "replica1").stdout, "")

        self.onebox("stop")
        self.assertEqual(set(self.states()[0].values()), {"stopped"})
        self.onebox("stop")
        self.onebox("start")
        self.assertIn("hello", self.shell("use temp; get k s"))

        self.onebox("clean")
        self.assertFalse(os.path.exists(self.directory))
        self.assertEqual(os.listdir(self.scratch), [], "something lies outside its directory")
        self.onebox("clean")

    def shell(self, commands):
        return harness.run([os.path.join(harness.BUILD, "arion_shell"), f"--meta=127.0.0.1:{self.base}", "-e", commands])

    @unittest.skipIf(zookeeper.missing(), f"not run: needs {zookeeper.missing()}")
    def test_three_meta_servers(self):
        self.onebox("start", "--meta", "3", "--servers", "1")
        names = ("zookeeper1", "meta1", "meta2", "meta3", "replica1")
        self.assertEqual(self.states()[0], {name: "alive" for name in names})
        self.onebox("kill", "meta1")
        self.assertEqual(self.states()[0]["meta1"], "dead")
        harness.wait_for("another one leads", lambda: self.states()[0]["replica1"] == "alive", 30)
        self.onebox("start", "meta1")
        self.onebox("stop")
        self.assertEqual(self.states()[0], {name: "stopped" for name in names})
        self.onebox("start")
        self.assertEqual(self.states()[0], {name: "alive" for name in names})

    def test_a_taken_port_is_named_with_its_holder(self):
        with socket.socket() as holder:
            holder.bind(("127.0.0.1", self.base + 201))
            holder.listen()
            done = self.onebox("start", check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(f"port {self.base + 201} is used by pid {os.getpid()}", done.stderr)
        self.assertIn("suggestion: ", done.stderr)
        self.assertIn("replica2", done.stderr)

    def test_a_directory_of_somebody_else_is_left_alone(self):
        os.makedirs(self.directory)
        path = os.path.join(self.directory, "precious")
        with open(path, "w"):
            pass
        for command in ("start", "clean"):
            self.assertNotEqual(self.onebox(command, check=False).returncode, 0)
        self.assertTrue(os.path.exists(path))

    def test_the_quick_start_of_the_readme_works(self):
        with open(os.path.join(harness.ROOT, "README.md")) as file:
            block = re.search(r"## Quick start\n.*?```(?:sh)?\n(.*?)```", file.read(), re.DOTALL).group(1)
        commands = [line for line in block.splitlines() if line.strip() and not line.startswith("#")]
        self.assertGreaterEqual(len(commands), 2)
        for line in commands:
            line = line.split("  #")[0].strip()
            line = line.replace("tools/onebox start", f"tools/onebox start --base-port {self.base}")
            line = re.sub(r"^tools/onebox(.*)$", rf"tools/onebox\1 --dir {self.directory} --build {harness.BUILD}", line)
            line = line.replace("build/arion_shell", f"{harness.BUILD}/arion_shell --meta 127.0.0.1:{self.base}")
            done = subprocess.run(["bash", "-c", line], cwd=harness.ROOT, capture_output=True, text=True, timeout=300,
                                  stdin=subprocess.DEVNULL)
            self.assertEqual(done.returncode, 0, f"{line}\n{done.stdout}\n{done.stderr}")


if __name__ == "__main__":
    unittest.main(verbosity=2)
