#!/usr/bin/env python3
"""From Apache Pegasus 2.5 server by server, and back: each step of the guide in README.md as an operator says it.

SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import shutil
import subprocess
import tempfile
import time
import unittest

import harness
import rdsn
import thft

SHELL, LOG = (os.path.join(harness.BUILD, name) for name in ("arion_shell", "arion_log"))
JOIN = "--join_pegasus_cluster=test"


def shell(meta, command, *options, exit_code=0):
    done = subprocess.run([SHELL, "--meta", meta, *options, "-e", command], capture_output=True, text=True,
                          timeout=120 * harness.PATIENCE)
    if done.returncode != exit_code:
        raise AssertionError(f"{command}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout if "-j" in options else done.stdout + done.stderr


class UnderAnOlderMetaServer(unittest.TestCase):
    """Its meta server and its replica servers are played by rdsn.py: what the shell asks them, 2.5.0 answers."""

    def setUp(self):
        self.meta = rdsn.OldMetaServer("test")
        self.meta.__enter__()
        self.addCleanup(self.meta.__exit__)
        self.first, self.second = (rdsn.OldReplicaServer(self.meta.address) for _ in range(2))
        for server in (self.first, self.second):
            self.addCleanup(server.stop)
        self.meta.primary, self.meta.ballot, self.meta.shown = self.first.address, 3, [self.second.address]
        directory = tempfile.mkdtemp(prefix="arion-upgrade-")
        self.addCleanup(shutil.rmtree, directory)
        self.asked = os.path.join(directory, "asked")

    def restart(self, *words):
        self.addCleanup(lambda: restart.poll() is None and restart.kill())
        restart = subprocess.Popen([SHELL, "--meta", self.meta.address, "-j", "-e",
                                    f"rolling-restart -y -w 60s -c 'touch {self.asked}' {' '.join(words)}"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        harness.wait_for("the command ran", lambda: os.path.exists(self.asked))
        return restart

    def test_a_server_is_restarted_once_it_leads_nothing_and_is_back_once_it_is_a_member(self):
        restart = self.restart(self.first.address)
        self.assertEqual(self.meta.primary, self.second.address)
        asked = self.first.heard["RPC_QUERY_REPLICA_INFO"]
        self.first.roles = {(2, 0): rdsn.INACTIVE}
        time.sleep(1)  # it is the process of before: nothing is asked
        self.assertEqual(self.first.heard["RPC_QUERY_REPLICA_INFO"], asked)
        self.first.started = "2026-11-26 00:00:09"
        harness.wait_for("it is asked what it is", lambda: self.first.heard["RPC_QUERY_REPLICA_INFO"] > asked + 2)
        self.assertIsNone(restart.poll(), "a member that takes no part is not back")
        self.first.roles = {(2, 0): rdsn.SECONDARY}
        output, errors = restart.communicate(timeout=30 * harness.PATIENCE)
        self.assertEqual((restart.returncode, json.loads(output)["restarted"]), (0, 1), errors)

    def test_a_command_that_leaves_the_older_version_there_ends_it(self):
        restart = self.restart("--only", "older", self.first.address, self.second.address)
        self.first.roles = {(2, 0): rdsn.SECONDARY}
        self.first.started = "2026-11-26 00:00:09"
        errors = restart.communicate(timeout=30 * harness.PATIENCE)[0]
        self.assertEqual(restart.returncode, 1)
        self.assertIn("runs what it ran before the command (an older version)", errors)

    def test_what_only_the_meta_server_knows_is_written_down(self):
        self.meta.envs, self.meta.made = {"default_ttl": "86400"}, 1700000000
        self.meta.dropped = [rdsn.app_info(1, "gone", dropped_until=1900000000)]
        self.assertIn("AS_DROPPED", shell(self.meta.address, f"save_tables -o {self.asked}"))
        with open(self.asked) as file:
            saved = json.load(file)
        self.assertEqual((saved["cluster_name"], saved["meta_servers"], saved["function_level"]),
                         ("test", [self.meta.address], "lively"))
        gone, temp = saved["tables"]
        self.assertEqual((gone["app_id"], gone["status"], gone["expire_second"]), (1, "AS_DROPPED", 1900000000))
        self.assertEqual((temp["app_name"], temp["envs"], temp["create_second"]), ("temp", {"default_ttl": "86400"}, 1700000000))
        # Nobody takes its place as long as it is there; and it has no use for the file.
        error = shell(self.meta.address, f"recover -y -s {self.first.address} --tables {self.asked}", exit_code=1)
        self.assertIn(f"an older version's meta server answers at {self.meta.address}", error)
        self.assertNotIn("RPC_CM_START_RECOVERY", self.meta.heard)
        self.meta.duplicating = True
        self.assertIn("is duplicated", shell(self.meta.address, f"save_tables -o {self.asked}", exit_code=4))


class Replacer(harness.Supervisor):
    """Puts Arion's server in the place of one of 2.5.0, and the other way round; as an operator's command does."""

    kills = False

    def restart(self, server):
        if server.is_older or not self.kills:
            server.stop()
        else:
            server.kill()
            harness.run([LOG, "prepare-rollback", *server.data_directories(), "--yes"])
        server.is_older = not server.is_older
        server.start()


class ServerByServer(unittest.TestCase):
    """Replica servers of 2.5.0 are the stand-in's (../older); clients of ours go on, and judge each read."""

    def setUp(self):
        self.cluster = harness.Cluster(replica_class=harness.EitherServer)
        self.cluster.meta.start([JOIN])
        self.cluster.start()
        harness.wait_for("three are alive", lambda: self.cluster.alive() == 3)
        self.cluster.create_table("temp", 4, environments={"default_ttl": "86400"})
        self.replacer = Replacer(self.cluster)
        self.addCleanup(self.replacer.stop)

    def run(self, result=None):
        before = len(result.failures) + len(result.errors)
        super().run(result)
        if len(result.failures) + len(result.errors) > before:
            self.cluster.print_logs()
        self.cluster.destroy()
        return result

    @staticmethod
    def read(path):
        with open(path) as file:
            return file.read()

    def replace(self, only, *servers):
        named = " ".join(server.address for server in servers)
        return json.loads(shell(self.cluster.meta.address,
                                f'rolling-restart --only {only} -y -w 60s -c "{self.replacer.command}" {named}', "-j")
                          .splitlines()[0])

    def test_there_halfway_back_and_there_again(self):
        meta, (first, second, _) = self.cluster.meta, self.cluster.replicas
        said = os.path.join(self.cluster.directory, "load")
        with open(said, "w") as file:
            load = subprocess.Popen([os.path.join(harness.BUILD, "arion_load"), "--workload", "a", f"--meta={meta.address}", "--verify",
                                     "-j", "-p", "recordcount=300", "--threads", "4", "--seconds", "600", "--timeout", "30",
                                     "--give_up", "60"], stdout=subprocess.PIPE, stderr=file, text=True)
        self.addCleanup(load.kill)
        harness.wait_for("the load runs", lambda: " run " in self.read(said), 60)
        for server in self.cluster.replicas:
            self.assertIn("READY: 4 replicas", harness.run([LOG, "upgrade-check", *server.data_directories()]))
        self.assertEqual(self.replace("older")["restarted"], 3)
        self.assertEqual(self.replace("arion", first)["restarted"], 1)
        self.replacer.kills = True
        self.assertEqual(self.replace("arion", second)["restarted"], 1)
        again = self.replace("older")
        self.assertEqual((again["restarted"], len(again["done_before"])), (2, 1))
        self.assertFalse(any(server.is_older for server in self.cluster.replicas))
        # Its meta server, then.
        saved = os.path.join(self.cluster.directory, "tables.json")
        shell(meta.address, f"save_tables -o {saved}")
        meta.stop()
        shutil.rmtree(meta.data_directories()[0])
        os.makedirs(meta.data_directories()[0])
        meta.start([JOIN, "--recover_from_replica_servers=true"])
        self.cluster.wait_listening(meta)
        servers = ",".join(server.address for server in self.cluster.replicas)
        shell(meta.address, f"recover -y -s {servers} --tables {saved}")
        self.cluster.wait_healthy("temp")
        self.assertIn("86400", shell(meta.address, "use temp; get_app_envs"))
        harness.wait_for("no older one is heard", lambda: "ended" in self.end_join(), 60)
        load.send_signal(2)  # it reads everything back, then reports
        report = json.loads(load.communicate(timeout=60 * harness.PATIENCE)[0])
        run = next(phase for phase in report["phases"] if phase["phase"] == "run")
        self.assertGreater(run["operations"], 500, "too little for a verdict")
        verify = report["verify"]
        self.assertEqual([verify["lost"], verify["stale"], verify["mixed"], verify["unchecked"]], [0, 0, 0, 0],
                         f"{verify['first']}\n{self.read(said)[-2000:]}")
        for server in self.cluster.replicas:
            self.assertNotIn(server.OLDER_ENDS, server.logged())

    def end_join(self):
        done = subprocess.run([SHELL, "--meta", self.cluster.meta.address, "-e", "end_join -y"], capture_output=True, text=True,
                              timeout=60 * harness.PATIENCE)
        return done.stdout


class AMetaServerTakesTheOthersPlace(unittest.TestCase):
    def setUp(self):
        self.cluster = harness.Cluster()
        self.addCleanup(self.cluster.destroy)
        self.cluster.start()
        self.saved = os.path.join(self.cluster.directory, "tables.json")
        self.servers = ",".join(server.address for server in self.cluster.replicas)

    def shell(self, command, *options, exit_code=0):
        return shell(self.cluster.meta.address, command, *options, exit_code=exit_code)

    def rewrite(self, **changed):
        with open(self.saved) as file:
            saved = {**json.load(file), **changed}
        with open(self.saved, "w") as file:
            json.dump(saved, file)

    def recover(self, exit_code=0, path=None):
        return self.shell(f"recover -y -s {self.servers} --tables {path or self.saved}", exit_code=exit_code)

    def lose_the_meta_server(self):
        """After two tables were made, one of them dropped, and both written down."""
        self.cluster.create_table("kept", 2, environments={"default_ttl": "86400"})
        self.cluster.create_table("gone", 2)
        self.shell("use gone; set h s value; use kept; set h s other; drop gone -y")
        self.shell(f"save_tables -o {self.saved}")
        meta = self.cluster.meta
        meta.stop()
        shutil.rmtree(meta.data_directories()[0])
        os.makedirs(meta.data_directories()[0])
        meta.start(["--recover_from_replica_servers=true"])
        self.cluster.wait_listening(meta)

    def expect_all_as_before(self):
        self.cluster.wait_healthy("kept")
        self.assertIn("86400", self.shell("use kept; get_app_envs"))
        self.assertEqual(thft.ask_config(self.cluster.meta.address, "gone")[0], "ERR_OBJECT_NOT_FOUND")
        dropped = json.loads(self.shell("ls -s dropped", "-j"))["tables"]
        self.assertEqual([row["name"] for row in dropped], ["gone"])
        self.shell(f"recall {dropped[0]['id']}")
        self.cluster.wait_healthy("gone")
        self.assertIn("value", self.shell("use gone; get h s"))

    def test_with_environments_and_what_was_dropped(self):
        self.lose_the_meta_server()
        self.assertIn("not what save_tables writes", self.recover(exit_code=1, path=self.written("{}")))
        with rdsn.OldMetaServer("test") as old:
            self.rewrite(meta_servers=[old.address, self.cluster.meta.address])
            self.assertIn(f"an older version's meta server answers at {old.address}", self.recover(exit_code=1))
        self.rewrite(cluster_name="other")
        self.assertIn('these tables are of cluster "other"', self.recover(exit_code=1))
        self.rewrite(cluster_name="test", function_level="lively")
        self.assertIn("set_meta_level lively", self.recover())
        self.assertIn("there is nothing to recover", self.recover(exit_code=1))
        self.expect_all_as_before()

    def test_step_by_step_where_it_takes_no_list(self):
        self.lose_the_meta_server()
        self.shell(f"recover -y -s {self.servers}", exit_code=4)  # it says that environments are missing
        # Of a drop 2.5's replica servers know nothing, ours do.
        self.shell("use kept; del_app_envs default_ttl")
        self.shell("recall %d" % json.loads(self.shell("ls -s dropped", "-j"))["tables"][0]["id"])
        self.cluster.wait_healthy("gone")
        planned = json.loads(self.shell(f"restore_tables {self.saved} --dry-run", "-j"))
        self.assertEqual([row["step"].split(",")[0] for row in planned["steps"]], ["set default_ttl", "drop"])
        self.shell(f"restore_tables {self.saved} -y")
        self.assertEqual(json.loads(self.shell(f"restore_tables {self.saved} -y", "-j"))["steps"], [])
        self.expect_all_as_before()
        self.assertIn("recallable", self.shell(f"restore_tables {self.saved} --dry-run"))

    def written(self, text):
        path = os.path.join(self.cluster.directory, "other.json")
        with open(path, "w") as file:
            file.write(text)
        return path


if __name__ == "__main__":
    unittest.main(verbosity=2)
