#!/usr/bin/env python3
"""Servers live through what their host does to them: a kernel that refuses io_uring, SIGHUP of a log rotation or of a terminal
that closes, files that root left, a log that nobody reads, names that are not known yet, every address to listen at.

SPDX-License-Identifier: Apache-2.0
"""

import contextlib
import glob
import os
import re
import resource
import signal
import subprocess
import sys
import unittest

import data_api
import harness
import thft

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

    def text_of(self, path):
        with open(path, errors="replace") as file:
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
            self.assertIn("bounded threads; io_uring is refused: io_uring_setup: Operation not permitted", server.logged())
        for server in cluster.servers():
            self.assertEqual(server.stop(), 0)

    def test_where_the_kernel_lacks_an_operation_of_io_uring_it_is_the_same(self):
        def lack(operation):  # the numbers are those of linux/io_uring.h
            os.environ.update(LD_PRELOAD=os.path.join(harness.BUILD, "tests", "liblacking_io_uring.so"),
                              ASAN_OPTIONS="verify_asan_link_order=0", ARION_LACKS=str(operation))
        cluster = self.cluster()
        lacked = {"write": 23, "fsync": 3, "timeout": 11}
        cluster.meta.start(preexec=lambda: lack(lacked["write"]))
        for server, operation in zip(cluster.replicas, lacked.values()):
            server.start(preexec=lambda operation=operation: lack(operation))
        harness.wait_for("all servers are known", lambda: cluster.alive() == 3)
        cluster.create_table("temp", partitions=2)
        self.assertIn('"v"', self.shell(cluster, "use temp; set k s v; get k s"))
        if "io_uring_setup" in cluster.replicas[0].logged():
            self.skipTest("all of io_uring is refused here")
        for server, name in zip(cluster.replicas, lacked):
            self.assertIn(f"bounded threads; io_uring is refused: {name}: Invalid argument", server.logged())
        for server in cluster.servers():
            self.assertEqual(server.stop(), 0)

    def test_hangup_opens_log_files_anew_and_ends_nobody(self):
        cluster = self.cluster()
        for server in cluster.servers():
            server.write_config()
            os.makedirs(os.path.join(server.directory, "logs"))
            server.start(flags=[f"--text_log_directory={server.directory}/logs"],
                         preexec=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))  # as nohup does
        for server in cluster.servers():
            cluster.wait_listening(server)
        for server in cluster.servers():
            link = os.path.join(server.directory, "logs", f"arion_{server.role}.INFO")
            before = os.path.realpath(link)
            os.rename(before, before + ".old")
            server.process.send_signal(signal.SIGHUP)
            harness.wait_for("a log file in the place of the one renamed",
                             lambda link=link: os.path.exists(link) and "SIGHUP: log files are opened anew" in self.text_of(link))
            for signals in range(2, 7):  # one a file, all in a second, as logrotate sends them without sharedscripts
                server.process.send_signal(signal.SIGHUP)
                harness.wait_for("no line is lost", lambda link=link, signals=signals: sum(
                    self.text_of(path).count("SIGHUP: log files are opened anew")
                    for path in glob.glob(f"{os.path.dirname(link)}/*.log.INFO.*")) == signals)
            for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGPIPE, signal.SIGWINCH, signal.SIGCONT):
                server.process.send_signal(number)
            harness.wait_for("SIGUSR1 does the same", lambda link=link: "SIGUSR1: log files are opened anew" in self.text_of(link))
            self.assertTrue(server.is_running())
            self.assertEqual(server.stop(), 0)

    def test_whose_standard_streams_are_closed_has_none_of_its_files_there(self):
        cluster = self.cluster(servers=1)
        self.start(cluster, preexec=lambda: os.closerange(0, 3))
        for server in cluster.servers():
            for stream in range(3):
                self.assertEqual(os.readlink(f"/proc/{server.process.pid}/fd/{stream}"), "/dev/null")
                # Not one of those that are held for want of open files and given up then.
                flags = int(re.search(r"flags:\s*(\d+)", self.text_of(f"/proc/{server.process.pid}/fdinfo/{stream}"))[1], 8)
                self.assertEqual(flags & os.O_ACCMODE, os.O_RDWR)
            self.assertEqual(server.stop(), 0)

    @unittest.skipUnless(os.geteuid() == 0, "becomes another user")
    def test_for_want_of_threads_a_server_says_so_and_opens_no_replica_before_there_are_some(self):
        def limited(threads):
            resource.setrlimit(resource.RLIMIT_NPROC, (threads, threads))
            os.setgroups([])
            os.setgid(54323)
            os.setuid(54323)  # whom nobody else is: the limit is the user's
        cluster = self.cluster(servers=1)
        os.chmod(cluster.directory, 0o755)
        for server in cluster.servers():
            server.write_config()
            self.give(server.directory, 54323)
            server.start(preexec=lambda: limited(5))
            self.assertEqual(server.process.wait(30), 1)
            self.assertIn("no thread can be made: Resource temporarily unavailable; all processes of this user may have 5", server.logged())
        cluster.meta.start()
        server = cluster.replicas[0]
        server.start(preexec=lambda: limited(100))
        for one in cluster.servers():
            cluster.wait_listening(one)
        harness.wait_for("the server is known", lambda: cluster.alive() == 1)
        others = subprocess.Popen(["sh", "-c", "for i in $(seq 100); do sleep 300 & done; echo; wait"], preexec_fn=lambda: limited(1000),
                                  stdout=subprocess.PIPE, start_new_session=True)
        self.addCleanup(others.stdout.close)
        self.addCleanup(others.wait)
        self.addCleanup(lambda: others.poll() is None and os.killpg(others.pid, signal.SIGKILL))
        others.stdout.readline()
        self.assertEqual(thft.create_table(cluster.meta.address, "temp", 2, 1, None), "ERR_OK")
        harness.wait_for("it says why it opens none", lambda: "no thread can be made" in server.logged().split("listening on")[1])
        self.assertTrue(server.is_running())
        os.killpg(others.pid, signal.SIGKILL)
        cluster.wait_healthy("temp", replicas=1)
        self.assertIn('"v"', self.shell(cluster, "use temp; set k s v; get k s"))
        self.assertEqual([path for path in self.replicas_of(server) if not path.endswith(".pegasus")], [])
        self.assertEqual(server.stop(), 0)

    def test_a_limit_of_a_files_size_is_raised_or_said(self):
        cluster = self.cluster(servers=1)
        megabyte = 1 << 20
        self.start(cluster, preexec=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (megabyte, resource.RLIM_INFINITY)))
        cluster.create_table("temp", partitions=1, replicas=1)
        for number in range(20):  # more than that in one log
            self.shell(cluster, f"use temp; set k{number} s {'v' * 100_000}")
        for server in cluster.servers():
            self.assertEqual(server.stop(), 0)
            server.start(preexec=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (megabyte, megabyte)))
            self.assertEqual(server.process.wait(30), 1)
            self.assertIn("a file may have 1048576 bytes, at least 4294967296 are needed", server.logged())

    def full_pipe(self):
        """(reader, writer) of a pipe that takes nothing more."""
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        os.set_blocking(writer, False)
        for size in (4096, 1):
            with contextlib.suppress(BlockingIOError):
                while True:
                    os.write(writer, b"." * size)
        os.set_blocking(writer, True)
        return reader, writer

    def test_a_reader_of_standard_error_that_stalls_holds_nobody(self):
        cluster = self.cluster()
        readers = []
        for server in cluster.servers():
            reader, writer = self.full_pipe()
            server.start(preexec=lambda writer=writer: os.dup2(writer, 2))
            os.close(writer)
            readers.append(reader)
        for server in cluster.servers():
            cluster.wait_listening(server)
        cluster.create_table("temp", partitions=2)
        cluster.wait_healthy("temp")
        self.assertIn('"v"', self.shell(cluster, "use temp; set k s v; get k s"))
        for server in cluster.servers():
            self.assertEqual(harness.value_of(harness.metrics(server), "arion_log_lines_dropped_total"), 0)
        for reader in readers:
            seen = b""
            while b"listening on" not in seen:
                seen += os.read(reader, 65536)
        for server in cluster.servers():
            self.assertEqual(server.stop(), 0)

    def cluster_with_names(self):
        """A cluster of one replica server whose resolver's files are ours, in a mount namespace of its own."""
        cluster = self.cluster(servers=1, replica_command=[
            "unshare", "-m", "sh", "-c", "for name in hosts resolv.conf nsswitch.conf; do mount --bind ../etc/$name /etc/$name; done; "
            'exec "$@"', "sh", os.path.join(harness.BUILD, "arion_replica")])
        os.makedirs(os.path.join(cluster.directory, "etc"))
        for name, content in (("hosts", ""), ("resolv.conf", "nameserver 127.0.0.1\n"), ("nsswitch.conf", "hosts: files dns\n")):
            self.write_etc(cluster, name, content)
        return cluster

    def write_etc(self, cluster, name, content):
        with open(os.path.join(cluster.directory, "etc", name), "w") as file:
            file.write(content)

    def set_keys(self, server, **keys):
        """Other values for keys that the harness writes, or further ones of [arion.server]."""
        server.write_config()
        with open(server.config) as file:
            lines = [line for line in file.read().splitlines() if line.split(" = ")[0] not in keys]
        at = lines.index("[arion.server]") + 1
        with open(server.config, "w") as file:
            file.write("\n".join(lines[:at] + [f"{key} = {value}" for key, value in keys.items()] + lines[at:]) + "\n")

    @unittest.skipUnless(os.geteuid() == 0, "mounts files in a namespace of its own")
    def test_a_resolver_that_is_not_up_yet_is_waited_for(self):
        cluster = self.cluster_with_names()
        server = cluster.replicas[0]
        port = cluster.meta.address.split(":")[1]
        self.set_keys(server, meta_servers=f"first-meta:{port}", listen=f"this-server:{server.address.split(':')[1]}")
        cluster.meta.start()
        cluster.wait_listening(cluster.meta)
        server.start()
        harness.wait_for("the server says which name of its own it waits for",
                         lambda: "the name this-server can't be looked up now" in server.logged())
        self.assertTrue(server.is_running())
        self.write_etc(cluster, "hosts", "127.0.0.1 this-server\n")
        cluster.wait_listening(server)
        harness.wait_for("the server says which meta server it waits for",
                         lambda: "the name first-meta can't be looked up now" in server.logged())
        self.write_etc(cluster, "hosts", "127.0.0.1 this-server first-meta\n")
        harness.wait_for("the meta server hears it", lambda: cluster.alive() == 1)
        for name in ("first-meta", "this-server"):
            self.assertEqual(server.logged().count(f"the name {name} can't be looked up now"), 1)
        self.assertEqual(server.stop(), 0)

    @unittest.skipUnless(os.geteuid() == 0, "mounts files in a namespace of its own")
    def test_an_unknown_name_hides_no_other_and_names_are_looked_up_anew_when_a_connection_fails(self):
        cluster = self.cluster_with_names()
        self.write_etc(cluster, "nsswitch.conf", "hosts: files\n")  # what is in no file is unknown
        self.write_etc(cluster, "hosts", "127.0.0.1 first-meta\n")
        server = cluster.replicas[0]
        port = cluster.meta.address.split(":")[1]
        self.set_keys(server, meta_servers=f"no-such-meta:{port},first-meta:{port}")
        cluster.start()
        harness.wait_for("the meta server that is known hears it", lambda: cluster.alive() == 1)
        self.assertIn("the name no-such-meta can't be looked up now", server.logged())
        self.assertEqual(cluster.meta.stop(), 0)
        self.write_etc(cluster, "hosts", "127.0.0.7 first-meta\n")
        cluster.meta.address = f"127.0.0.7:{port}"
        self.set_keys(cluster.meta, listen=cluster.meta.address)
        cluster.meta.start()
        cluster.wait_listening(cluster.meta)
        harness.wait_for("the meta server hears it where it is now", lambda: cluster.alive() == 1)
        self.assertIn(f"first-meta:{port} is at 127.0.0.7:{port}, was at 127.0.0.1:{port}", server.logged())
        self.assertEqual(server.stop(), 0)

    def test_who_listens_everywhere_is_reached_at_what_it_advertises(self):
        cluster = self.cluster()
        for number, server in enumerate(cluster.servers()):
            port = server.address.split(":")[1]
            server.address = f"127.0.0.{10 + number}:{port}"
            self.set_keys(server, listen=f"0.0.0.0:{port}", advertise=server.address, meta_servers=cluster.meta.address)
        cluster.start()
        cluster.create_table("temp", partitions=2)
        self.assertIn('"v"', self.shell(cluster, "use temp; set k s v; get k s"))
        nodes = self.shell(cluster, "nodes")
        for server in cluster.replicas:
            self.assertIn(server.address, nodes)
            self.assertIn("listening on every address", server.logged())
        for server in cluster.servers():
            self.assertEqual(server.stop(), 0)

    def test_an_ipv6_address_is_refused_as_the_protocols_limit(self):
        cluster = self.cluster(servers=1)
        for keys in ({"listen": "[::1]:34801"}, {"meta_servers": "127.0.0.1:34601,[2001:db8::7]:34601"},
                     {"admin_addresses": "fd00::/8"}):
            server = cluster.replicas[0]
            self.set_keys(server, **keys)
            server.start()
            self.assertEqual(server.process.wait(30), 2)
            self.assertIn("the protocol has four bytes for an address", server.logged())
            os.remove(server.log)

    @unittest.skipUnless(os.geteuid() == 0, "mounts a small file system")
    def test_what_a_full_disk_takes_from_the_log_is_counted_and_said_when_it_flows_again(self):
        cluster = self.cluster(servers=1)
        directory = os.path.join(cluster.meta.directory, "logs")
        os.makedirs(directory)
        harness.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", directory])
        self.addCleanup(harness.run, ["umount", "-l", directory])
        self.addCleanup(cluster.meta.kill)
        cluster.meta.start(flags=[f"--text_log_directory={directory}"])
        cluster.wait_listening(cluster.meta)
        cluster.replicas[0].start()
        harness.wait_for("the server is known", lambda: cluster.alive() == 1)
        filler = os.path.join(directory, "filler")
        with open(filler, "wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(b"." * 4096)
        tables = iter(range(100))

        def lines_are_dropped():
            cluster.create_table(f"t{next(tables)}", partitions=8, replicas=1)
            return harness.value_of(harness.metrics(cluster.meta), "arion_log_lines_dropped_total") > 0
        harness.wait_for("lines are dropped and counted", lines_are_dropped, 60)
        self.assertIn("No space left on device; its lines are dropped and counted", cluster.meta.logged())
        os.remove(filler)
        cluster.create_table("last", partitions=1, replicas=1)
        log = os.path.join(directory, "arion_meta.INFO")
        harness.wait_for("the log says what it lost", lambda: re.search(r"\d+ lines of the log were dropped", self.text_of(log)))
        for line in self.text_of(log).splitlines():
            self.assertRegex(line, r"^([IWEF]\d{8} |Log of process )")
        self.assertEqual(cluster.meta.stop(), 0)

    @unittest.skipUnless(os.geteuid() == 0, "mounts a small file system")
    def test_a_disk_of_the_log_that_is_read_only_keeps_nobody_from_serving(self):
        cluster = self.cluster(servers=1)
        for server in cluster.servers():
            directory = os.path.join(server.directory, "logs")
            os.makedirs(directory)
            harness.run(["mount", "-t", "tmpfs", "-o", "ro", "none", directory])
            self.addCleanup(harness.run, ["umount", "-l", directory])
            self.addCleanup(server.kill)
            server.start(flags=[f"--text_log_directory={directory}"])
        for server in cluster.servers():
            cluster.wait_listening(server)
            harness.wait_for("its log says where it is", lambda server=server: re.search(
                "Read-only file system; look at its disk.*; the log goes to standard error", server.logged()))
            self.assertEqual(server.stop(), 0)

    def test_old_log_files_are_removed(self):
        cluster = self.cluster(servers=1)
        directory = os.path.join(cluster.meta.directory, "logs")
        os.makedirs(directory)
        for second in range(10):
            with open(os.path.join(directory, f"arion_meta.log.INFO.20200101-00000{second}.1"), "w"):
                pass
        cluster.meta.start(flags=[f"--text_log_directory={directory}", "--text_log_files_max=4"])
        cluster.wait_listening(cluster.meta)
        harness.wait_for("four files are left", lambda: len(glob.glob(f"{directory}/arion_meta.log.INFO.*")) == 4)
        self.assertFalse(os.path.exists(f"{directory}/arion_meta.log.INFO.20200101-000006.1"))
        self.assertTrue(os.path.exists(os.path.join(directory, "arion_meta.INFO")))

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
                server.logged()))
            self.assertEqual([path for path in self.replicas_of(server) if path.endswith(".err")], [])
            self.assertEqual(len(self.replicas_of(server)), 4)
            self.give(server.directory, SERVICE_USER)  # while it runs
        harness.wait_for("what was written is read", lambda: '"v"' in self.tried(cluster, "use temp; get k s"), 60)
        for server in cluster.replicas:
            self.assertEqual(len(self.replicas_of(server)), 4)

    @unittest.skipUnless(os.geteuid() == 0, "gives files to another user")
    def test_files_that_root_takes_from_running_servers_are_waited_for(self):
        cluster = self.cluster(replica_settings={"log_segment_size": "1 MiB", "checkpoint_interval": "2s"})
        os.chmod(cluster.directory, 0o755)
        cluster.start()
        harness.wait_for("all servers are known", lambda: cluster.alive() == 3)
        cluster.create_table("temp", partitions=2)
        cluster.wait_healthy("temp")
        for server in cluster.servers():
            self.assertEqual(server.stop(), 0)
            self.give(server.directory, SERVICE_USER)
        self.start(cluster, preexec=as_the_service)
        harness.wait_for("writes are taken", lambda: all(self.put(cluster, b"p%d" % i, b"v") for i in range(20)), 60)
        for server in cluster.replicas:
            self.give(server.data_directories()[0], 0)
        acknowledged = []

        def log_waits():
            for _ in range(20):  # each log file holds some fifty
                key = b"k%d" % len(acknowledged)
                if self.put(cluster, key, b"v" * 20000):
                    acknowledged.append(key)
            return any(re.search(f"log waits for permission.*belongs to user 0, .* runs as user {SERVICE_USER}: give it",
                                 server.logged()) for server in cluster.replicas)
        harness.wait_for("a log waits", log_waits, 60)
        for server in cluster.replicas:
            self.assertEqual([path for path in self.replicas_of(server) if not path.endswith(".pegasus")], [])
            self.give(server.data_directories()[0], SERVICE_USER)
        harness.wait_for("writes are taken again", lambda: self.put(cluster, b"after", b"v"), 60)
        cluster.wait_healthy("temp")
        table = data_api.DataApi(cluster.meta.address, "temp")
        self.addCleanup(table.close)
        self.assertEqual([key for key in acknowledged if table.value(key, b"s") is None], [])
        for server in cluster.replicas:
            self.assertEqual(len(self.replicas_of(server)), 2)
            self.assertEqual(server.stop(), 0)

    def put(self, cluster, key, value):
        """Whether it was acknowledged."""
        try:
            table = data_api.DataApi(cluster.meta.address, "temp", timeout=2)
        except (OSError, data_api.Refused):
            return False
        try:
            return table.put(key=data_api.raw_key(key, b"s"), value=value, expire_ts_seconds=0)["error"] == data_api.OK
        except (OSError, data_api.Refused):
            return False
        finally:
            table.close()

    @unittest.skipUnless(os.geteuid() == 0, "gives files to another user")
    def test_a_start_as_root_between_two_of_the_service_costs_no_replica(self):
        cluster = self.cluster()
        os.chmod(cluster.directory, 0o755)
        for server in cluster.servers():
            server.write_config()
            self.give(server.directory, SERVICE_USER)
        for user, value in ((as_the_service, "first"), (None, "second")):
            self.start(cluster, preexec=user)
            cluster.create_table("temp", partitions=4)
            cluster.wait_healthy("temp")
            for number in range(20):  # each partition has logs and tables of both
                self.shell(cluster, f"use temp; set k{number} s {value}")
            for server in cluster.servers():
                self.assertEqual(server.stop(), 0)
        for server in cluster.servers():
            server.start(preexec=as_the_service)
        for server in cluster.servers():
            # Whoever can't start ends and says why; the service manager tries again.
            harness.wait_for(f"{server.name} says whose the files are, or does without",
                             lambda server=server: not server.is_running() or "belongs to user 0" in server.logged()
                             or server.role == "meta")
        for server in cluster.servers():
            self.give(server.directory, SERVICE_USER)
            if not server.is_running():
                server.start(preexec=as_the_service)
        for number in range(20):
            harness.wait_for("what was written is read", lambda number=number: '"second"' in self.tried(
                cluster, f"use temp; get k{number} s"), 60)
        for server in cluster.replicas:
            self.assertEqual([path for path in self.replicas_of(server) if not path.endswith(".pegasus")], [])
            self.assertEqual(len(self.replicas_of(server)), 4)

    def tried(self, cluster, commands):
        """What the shell says, whether or not it worked."""
        return subprocess.run([os.path.join(harness.BUILD, "arion_shell"), "--meta", cluster.meta.address, "-e", commands],
                              capture_output=True, text=True, check=False, timeout=60).stdout

    def replicas_of(self, server):
        return glob.glob(os.path.join(server.data_directories()[0], "replica", "reps", "*.pegasus*"))

    def give(self, directory, user, mode=None):
        """As `chown -R`: what a running server removes meanwhile (RocksDB's OPTIONS-*.dbtmp, a checkpoint.tmp) is nobody's."""
        for path, _, names in os.walk(directory):
            for name in names:
                with contextlib.suppress(FileNotFoundError):
                    os.chown(os.path.join(path, name), user, user)
            with contextlib.suppress(FileNotFoundError):
                os.chown(path, user, user)
                if mode is not None:
                    os.chmod(path, mode)

    def test_the_help_says_what_signals_do(self):
        for role in ("meta", "replica"):
            text = harness.run([os.path.join(harness.BUILD, f"arion_{role}"), "--help"])
            for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGPIPE", "SIGUSR1", "SIGUSR2", "SIGQUIT"):
                self.assertIn(name, text)


if __name__ == "__main__":
    unittest.main()
