"""A cluster of real processes on 127.0.0.1, straight from the binaries, in a directory of its own.

Servers are started and ended by pid. When a test fails, the last log lines of each server are printed.
SPDX-License-Identifier: Apache-2.0
"""

import atexit
import functools
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.request

import thft

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.abspath(os.environ.get("ARION_BUILD", os.path.join(ROOT, "build")))
# Sanitizers and a busy machine are slow: deadlines are generous, tests wait for conditions.
PATIENCE = float(os.environ.get("ARION_PATIENCE", "1"))
# Event loops a server where three share a machine's cores, and what is measured is what they can carry; at least one. N by
# ARION_THREADS=N; 0: the servers' default, a loop a core.
SHARED_LOOPS = int(os.environ.get("ARION_THREADS", max(1, os.cpu_count() // 3)))


def wait_for(what, condition, seconds=30):
    """Polls until `condition` returns something true, and returns that."""
    deadline = time.monotonic() + seconds * PATIENCE
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds * PATIENCE:.0f} s in vain: {what}")
        time.sleep(0.05)


def free_ports(count):
    """Ports below Linux's ephemeral range, so that no outgoing connection takes one; each was free a moment ago."""
    found = []
    while len(found) < count:
        port = random.randrange(15000, 32000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        if port not in found:
            found.append(port)
    return found


class Server:
    def __init__(self, cluster, role, number, port):
        self.cluster = cluster
        self.role = role
        self.name = f"{role}{number}"
        self.address = f"{cluster.network.add(self.name) if cluster.network else '127.0.0.1'}:{port}"
        self.directory = os.path.join(cluster.directory, self.name)
        self.config = os.path.join(self.directory, "config.ini")
        self.log = os.path.join(self.directory, "log")
        self.process = None

    def data_directories(self):
        count = 1 if self.role == "meta" else self.cluster.data_dirs
        return [os.path.join(self.directory, f"data{i}") for i in range(count)]

    def write_config(self):
        for path in self.data_directories():
            os.makedirs(path, exist_ok=True)
        lines = ["[arion.server]", "cluster_name = test", f"listen = {self.address}",
                 f"meta_servers = {self.cluster.meta_addresses()}", f"lease = {self.cluster.lease * PATIENCE:g}s",
                 f"grace = {(self.cluster.lease + 1) * PATIENCE:g}s"]
        if self.role == "meta":
            lines += ["[arion.meta]", f"meta_data_dir = {self.data_directories()[0]}", "guardian_interval = 1s",
                      "lost_member_wait = 10s", "unstable_restarts_max = 0",
                      # How full the disk is that the tests run on decides nothing: all servers share it.
                      "disk_room_percent = 0"]
            lines += [f"{key} = {value}" for key, value in self.cluster.meta_settings.items()]
        else:
            disks = ",".join(f"d{i}:{path}" for i, path in enumerate(self.data_directories()))
            # The host's other users make flushes late: only the test of slow disks has copies leave for that.
            settings = {"beacon_interval": "500ms", "config_sync_interval": "3s", "block_cache_size": "64 MiB",
                        "slow_member_pause_max": "20s", "disk_slow_sync": "30s",
                        **self.cluster.replica_settings}
            lines += [f"threads = {self.cluster.replica_threads}", "[arion.replica]", f"data_dirs = {disks}"]
            for key, value in settings.items():
                if "{directory}" in value:
                    value = value.replace("{directory}", self.directory)
                    os.makedirs(value, exist_ok=True)
                lines.append(f"{key} = {value}")
        with open(self.config, "w") as file:
            file.write("\n".join(lines) + "\n")

    def program(self):
        command = self.cluster.replica_command if self.role == "replica" else self.cluster.meta_command
        if command:
            return command
        return [os.path.join(BUILD, f"arion_{self.role}")]

    def arguments(self):
        return [f"--config={self.config}"]

    def start(self, flags=(), preexec=None):
        if not os.path.exists(self.config):
            self.write_config()
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [*(self.cluster.network.command(self.name) if self.cluster.network else ()), *self.program(),
                 *self.arguments(), *flags],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.directory, preexec_fn=preexec)

    def logged(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def kill(self):
        if self.is_running():
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()

    def stop(self, seconds=30):
        """A clean stop; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=seconds * PATIENCE)

    def resident_bytes(self):
        with open(f"/proc/{self.process.pid}/status") as file:
            for line in file:
                if line.startswith("VmRSS:"):
                    return int(line.split()[1]) * 1024
        return 0

    def last_lines(self, count=25):
        try:
            with open(self.log, "rb") as file:
                file.seek(0, os.SEEK_END)
                file.seek(max(0, file.tell() - 64 * 1024))
                return file.read().decode("utf-8", "replace").splitlines()[-count:]
        except OSError:
            return []


class EitherServer(Server):
    """A replica server that is Arion's or, while `is_older`, the stand-in for one of 2.5.0 (../older): with the same address, data
    directory and config.ini, as 2.5.0 has it, which lets servers of 2.5.0 in. `kill` one, or `stop` it, and `start` the other."""

    OLDER_ENDS, OLDER_ENDS_WITH = "2.5.0 would end here: ", 70  # in its log; exit code

    def __init__(self, cluster, role, number, port):
        super().__init__(cluster, role, number, port)
        self.is_older = True

    def replica_directory(self):
        return os.path.join(self.data_directories()[0], "replica", "reps")

    def write_config(self):
        os.makedirs(self.data_directories()[0], exist_ok=True)
        lines = ["[apps.replica]", f"ports = {self.address.split(':')[1]}", "[replication]", "cluster_name = test",
                 f"data_dirs = data1:{self.data_directories()[0]}", "[meta_server]",
                 f"server_list = {self.cluster.meta.address}", "[arion.server]", f"listen = {self.address}",
                 f"lease = {2 * PATIENCE:g}s", f"grace = {3 * PATIENCE:g}s", "join_pegasus_cluster = test", "[arion.replica]",
                 "beacon_interval = 500ms", "config_sync_interval = 3s", "block_cache_size = 64 MiB"]
        lines += [f"{key} = {value}" for key, value in self.cluster.replica_settings.items()]
        with open(self.config, "w") as file:
            file.write("\n".join(lines) + "\n")

    def program(self):
        return [os.path.join(BUILD, "tests", "older", "older_server")] if self.is_older else super().program()

    def arguments(self):
        if not self.is_older:
            return super().arguments()
        return [f"--port={self.address.split(':')[1]}", f"--meta_servers={self.cluster.meta.address}",
                f"--data_directory={self.data_directories()[0]}", f"--lease={2 * PATIENCE:g}s", "--beacon_interval=500ms",
                "--config_sync_interval=3s", "--group_check_interval=2s", "--checkpoint_interval=3s", "--log_file_bytes=262144"]


class Cluster:
    """`replica_settings`: further keys of [arion.replica], in which {directory}, the server's own, begins a directory to make.
    `network`: a network.Network, in which each server gets a place of its own. `replica_command`, `meta_command`: what takes the
    place of the program, with its first arguments; it runs in the server's directory. `replica_threads`: event loops of a replica
    server; 0: its default. `replica_class`: of its replica servers. `metas`: how many meta servers; several need where their state is in
    `meta_settings`, further keys of [arion.meta]. `lease`: in seconds."""

    def __init__(self, servers=3, data_dirs=1, replica_settings=None, network=None, replica_command=None, meta_command=None,
                 replica_threads=0, replica_class=Server, metas=1, meta_settings=None, lease=2):
        self.network = network
        self.replica_threads = replica_threads
        self.replica_command = replica_command
        self.meta_command = meta_command
        self.directory = tempfile.mkdtemp(prefix="arion-cluster-")
        self.data_dirs = data_dirs
        self.replica_settings = replica_settings or {}
        self.meta_settings = meta_settings or {}
        self.lease = lease
        ports = free_ports(servers + metas)
        self.metas = [Server(self, "meta", i + 1, port) for i, port in enumerate(ports[:metas])]
        self.replicas = [replica_class(self, "replica", i + 1, port) for i, port in enumerate(ports[metas:])]
        for server in self.servers():
            os.makedirs(server.directory)
        atexit.register(self.destroy)

    @property
    def meta(self):
        """The only meta server, or the one of several that leads; the first one where none does."""
        return self.metas[0] if len(self.metas) == 1 else self.leader() or self.metas[0]

    def leader(self):
        """Of several meta servers the one that leads, as it says; None: none does."""
        for server in self.metas:
            try:
                if server.is_running() and value_of(metrics(server), "arion_meta_leads") == 1:
                    return server
            except (OSError, AssertionError):
                pass
        return None

    def meta_addresses(self):
        return ",".join(server.address for server in self.metas)

    def servers(self):
        return [*self.metas, *self.replicas]

    def replica_pids(self):
        return [server.process.pid for server in self.replicas]

    def start(self):
        for server in self.servers():
            if not server.is_running():
                server.start()
        for server in self.servers():
            self.wait_listening(server)

    def wait_listening(self, server):
        def listens():
            if not server.is_running():
                raise AssertionError(f"{server.name} ended with {server.process.poll()}")
            host, port = server.address.split(":")
            with socket.socket() as probe:
                probe.settimeout(1)
                return probe.connect_ex((host, int(port))) == 0
        wait_for(f"{server.name} listens", listens, 30)

    def create_table(self, name, partitions=8, replicas=3, environments=None):
        def created():
            try:
                return thft.create_table(self.meta.address, name, partitions, replicas, environments) == "ERR_OK"
            except OSError:
                return False
        wait_for(f"table {name} is created", created, 30)
        self.wait_healthy(name, replicas)

    def partitions(self, table):
        try:
            error, _, partitions = thft.ask_config(self.meta.address, table)
        except OSError:
            return []
        return partitions if error == "ERR_OK" else []

    def alive(self):
        """How many replica servers the meta server hears."""
        try:
            return value_of(metrics(self.meta), "arion_alive_replica_servers")
        except OSError:
            return 0

    def lacks_primary(self, table):
        """Whether a partition has none; what clients are told names who will likely be one."""
        try:
            return value_of(metrics(self.meta), "arion_unreadable_partitions", table=table) > 0
        except (OSError, AssertionError):
            return True

    def wait_healthy(self, table, replicas=3, seconds=60):
        def healthy():
            partitions = self.partitions(table)
            return (partitions and all(p["primary"] and len(p["secondaries"]) + 1 >= replicas for p in partitions)
                    and not self.lacks_primary(table))
        try:
            wait_for(f"every partition of {table} has {replicas} members", healthy, seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}; partitions: {self.partitions(table)}") from None

    def print_logs(self, out=sys.stderr):
        for server in self.servers():
            state = "running" if server.is_running() else f"exit {server.process.poll() if server.process else '-'}"
            print(f"--- {server.name} {server.address} ({state})", file=out)
            for line in server.last_lines():
                print(f"    {line}", file=out)

    def reports(self):
        """What AddressSanitizer and its like wrote in a server's log, in whichever of its lives; and where one of 2.5.0 would end."""
        found = []
        for server in self.servers():
            if os.path.exists(server.log):
                with open(server.log, "rb") as file:
                    text = file.read().decode("utf-8", "replace")
                report = re.search(r"==\d+==ERROR: \w+Sanitizer|: runtime error: |" + EitherServer.OLDER_ENDS, text)
                if report:
                    found.append(f"{server.name}: {text[max(0, report.start() - 200):report.start() + 5000]}")
        return found

    def destroy(self):
        for server in self.servers():
            server.kill()
        reports = self.reports()
        shutil.rmtree(self.directory, ignore_errors=True)
        atexit.unregister(self.destroy)
        if reports:
            raise AssertionError("\n".join(reports))


class Supervisor:
    """Restarts a cluster's replica servers, cleanly, for who runs `command` ({port} in it is the server's), which waits for it."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.directory = os.path.join(cluster.directory, "supervisor")
        os.makedirs(self.directory)
        self.restarted = []
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)
        self.thread.start()

    @property
    def command(self):
        asked = os.path.join(self.directory, "{port}")
        return f"touch {asked}; while [ -e {asked} ]; do sleep 0.05; done"

    def restart(self, server):
        server.stop()
        server.start()

    def _watch(self):
        while not self.is_over.wait(0.05):
            for name in os.listdir(self.directory):
                server = next(s for s in self.cluster.replicas if s.address.endswith(f":{name}"))
                self.restart(server)
                self.restarted.append(server.name)
                os.remove(os.path.join(self.directory, name))

    def stop(self):
        self.is_over.set()
        self.thread.join()


def run(command, timeout=120, **kwargs):
    """Output of a command that must succeed."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout * PATIENCE, **kwargs)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return done.stdout


def samples_of(text):
    """Prometheus' text as [(name, labels, value)]."""
    found = []
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        name, labels, value = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)", line).groups()
        found.append((name, dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels or "")), float(value)))
    return found


def metrics(server):
    """What a server says of itself, as samples_of."""
    request = urllib.request.Request(f"http://{server.address}/metrics", headers={"Accept": "text/plain"})
    with urllib.request.urlopen(request, timeout=10 * PATIENCE) as answer:
        return samples_of(answer.read().decode())


def value_of(samples, name, **labels):
    """The one sample of that name that has these labels."""
    found = [value for known, has, value in samples if known == name and labels.items() <= has.items()]
    if len(found) != 1:
        raise AssertionError(f"{len(found)} samples of {name} {labels}")
    return found[0]


GO_ENVIRONMENT = dict(os.environ, GOFLAGS="-mod=readonly -buildvcs=false", GOTOOLCHAIN="local")
# Where the two versions of the Go client come from: all that their adapters differ in.
GO_IMPORTS = {"xiaomi": "github.com/XiaoMi/pegasus-go-client", "apache": "github.com/apache/incubator-pegasus/go-client"}


def go_program(name, *flags):
    """Path of the program in go/<name>, built once a build directory."""
    binary = os.path.join(BUILD, "tests", "cluster", f"go_{name}")
    os.makedirs(os.path.dirname(binary), exist_ok=True)
    run(["go", "build", *flags, "-o", binary, "."], timeout=600, cwd=os.path.join(HERE, "go", name), env=GO_ENVIRONMENT)
    return binary


@functools.lru_cache
def go_client(version):
    """Path of the driver with one version of the Go client. Its adapter is xiaomi/wide.go with the version's import."""
    generated = os.path.join(BUILD, "tests", "cluster", f"wide_{version}.go")
    os.makedirs(os.path.dirname(generated), exist_ok=True)
    with open(os.path.join(HERE, "go", "xiaomi", "wide.go")) as source, open(generated, "w") as target:
        target.write(source.read().replace(GO_IMPORTS["xiaomi"], GO_IMPORTS[version]))
    overlay = generated + ".overlay.json"
    with open(overlay, "w") as file:
        json.dump({"Replace": {os.path.join(HERE, "go", version, "wide.go"): generated}}, file)
    return go_program(version, "-overlay", overlay)


PYTHON_PACKAGES = ["pypegasus3==0.0.1.1", "prometheus-client==0.21.1", "hdrhistogram==0.10.8", "pexpect==4.9.0"]  # the first pins Twisted, thrift, cryptography


def python_with_packages():
    """The interpreter of a virtual environment with these, made once a build directory."""
    home = os.path.join(BUILD, "tests", "cluster", "python")
    python = os.path.join(home, "bin", "python")
    done = os.path.join(home, "complete")  # says with which packages
    wanted = " ".join(PYTHON_PACKAGES)
    if not os.path.exists(done) or pathlib.Path(done).read_text() != wanted:
        run([sys.executable, "-m", "venv", "--clear", home])
        run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PYTHON_PACKAGES], timeout=300)
        with open(done, "w") as file:
            file.write(wanted)
    return python


def some_will_do():
    """ctest runs it, and nobody said ARION_ALL_TESTS=1."""
    return "ARION_SOME_WILL_DO" in os.environ and not os.environ.get("ARION_ALL_TESTS")


def commits():
    """How many the tree has: what is too long for every run is chosen by it."""
    told = subprocess.run(["git", "-C", ROOT, "rev-list", "--count", "HEAD"], capture_output=True, text=True, check=True)
    return int(told.stdout)


def others_with_each_commit(cases):
    """A class of long tests: of ctest's run every second one, the others with the next commit; run by hand, all of them."""
    names = sorted(name for name in vars(cases) if name.startswith("test_"))
    if some_will_do():
        for name in names[1 - commits() % 2::2]:
            setattr(cases, name, unittest.skip("not run: with the next commit")(vars(cases)[name]))
    return cases


class ClusterTest(unittest.TestCase):
    """Tests that share one cluster with one table, of three replicas a partition."""

    servers = 3
    data_dirs = 1
    replica_settings = {}
    table = "temp"
    partitions = 8

    @classmethod
    def make_cluster(cls):
        return Cluster(servers=cls.servers, data_dirs=cls.data_dirs, replica_settings=cls.replica_settings)

    @classmethod
    def setUpClass(cls):
        cls.cluster = cls.make_cluster()
        try:
            cls.cluster.start()
            wait_for("every replica server is known", lambda: cls.cluster.alive() == cls.servers)  # so that it gets its share
            cls.cluster.create_table(cls.table, partitions=cls.partitions)
        except Exception:
            cls.cluster.print_logs()
            cls.cluster.destroy()
            raise

    @classmethod
    def tearDownClass(cls):
        cls.cluster.destroy()

    def run(self, result=None):
        failures, errors = len(result.failures), len(result.errors)
        super().run(result)
        found = result.failures[failures:] + result.errors[errors:]
        for _, trace in found:  # first: what keeps a part of a long output keeps its beginning
            print(trace, file=sys.stderr)
        if found:
            self.cluster.print_logs()
        return result

    def check_all_alive(self):
        for server in self.cluster.servers():
            self.assertTrue(server.is_running(), f"{server.name} ended")
