#!/usr/bin/env python3
"""What an operator does to servers in use, from the shell: balance, drain, restart one after the other. Clients of ours go
on meanwhile: no operation fails, every read is what was acknowledged.

For how long each partition takes no writes: `bench/cluster/gaps.py --shell`.
SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import subprocess
import unittest

import harness


class Drain(harness.ClusterTest):
    servers = 4
    partitions = 6

    def shell(self, command):
        return json.loads(harness.run([os.path.join(harness.BUILD, "arion_shell"), "--meta", self.cluster.meta.address, "-j", "-e",
                                       command]).splitlines()[-1])

    def load(self):
        return subprocess.Popen([os.path.join(harness.BUILD, "arion_load"), "--workload", "a", f"--meta={self.cluster.meta.address}", "--verify",
                                 "-j", "-p", "recordcount=500", "--threads", "8", "--seconds", "120", "--slo", "errors<0.0001%"],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def held_by(self, server):
        return sum(server.address in [p["primary"], *p["secondaries"]] for p in self.cluster.partitions("temp"))

    def test_clients_go_on_while_servers_are_emptied_and_restarted(self):
        supervisor = harness.Supervisor(self.cluster)
        load = self.load()
        self.addCleanup(load.kill)
        victim = max(self.cluster.replicas, key=self.held_by)
        self.assertGreater(self.held_by(victim), 0)
        self.assertEqual(self.shell(f"drain {victim.address} -y")["result"], "done")
        self.assertEqual(self.held_by(victim), 0)
        self.cluster.wait_healthy("temp")
        self.shell("set_meta_level lively")  # the balancer fills it again
        harness.wait_for("the balancer gives the emptied server copies", lambda: self.held_by(victim) >= 3, 60)
        self.shell("set_meta_level steady")
        self.cluster.wait_healthy("temp")
        two = " ".join(server.address for server in self.cluster.replicas[:2])
        self.assertEqual(self.shell(f'rolling-restart -y -w 1m -c "{supervisor.command}" {two}')["restarted"], 2)
        supervisor.stop()
        self.assertEqual(supervisor.restarted, ["replica1", "replica2"])
        self.assertIsNone(load.poll(), "the load ended early")
        load.send_signal(2)  # it reads everything back, then reports
        output, errors = load.communicate(timeout=60 * harness.PATIENCE)
        report = json.loads(output)
        run = next(phase for phase in report["phases"] if phase["phase"] == "run")
        self.assertEqual(run["errors"], 0, errors[-3000:])
        self.assertGreater(run["operations"], 500, "too little for a verdict")
        verify = report["verify"]
        self.assertEqual([verify["lost"], verify["stale"], verify["mixed"], verify["unchecked"]], [0, 0, 0, 0], verify["first"])
        self.assertEqual([phase["phase"] for phase in report["phases"]], ["load", "run", "check"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
