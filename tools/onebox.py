"""Arion on one machine. Called by tools/onebox, which makes sure that there is a Python.

Everything it makes lies in one directory (--dir): a directory a server with its config.ini, data, log and pid file. A
server is ours only if the pid file's process runs with that config.ini, so no foreign process is ever signalled.
SPDX-License-Identifier: Apache-2.0
"""

import argparse
import glob
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MARKER = "onebox.json"
RESERVED_PORTS = "/proc/sys/net/ipv4/ip_local_reserved_ports"
TABLE = "temp"
TABLE_PARTITIONS = 8
READY_SECONDS_MAX = 60
STOP_SECONDS_MAX = 60


class Failure(Exception):
    """Said to the user; the process ends with exit code 1."""


# What the user sees ---------------------------------------------------------------------------------------------------


class Screen:
    """Progress in place on a terminal; plain lines without one: each step when it begins, then how far it is, every ten
    seconds. With --json everything but the JSON goes to standard error."""

    SECONDS_BETWEEN_LINES = 10

    def __init__(self, as_json):
        self.out = sys.stderr if as_json else sys.stdout
        self.live = self.out.isatty()
        self.step = None
        self.next_line = 0.0

    def line(self, text=""):
        if self.live:
            self.out.write("\r\033[K")
        print(text, file=self.out, flush=True)

    def progress(self, text):
        if self.live:
            self.out.write("\r\033[K" + text)
            self.out.flush()
            return
        step, now = text.split(" ", 1)[0], time.monotonic()
        if step != self.step or now >= self.next_line:
            self.step, self.next_line = step, now + self.SECONDS_BETWEEN_LINES
            print(text, file=self.out, flush=True)


def run_bash(function, *arguments):
    """Runs a function of tools/common.sh."""
    script = '. "$0/tools/common.sh"; "$@"'
    return subprocess.run(["bash", "-c", script, ROOT, function, *arguments], capture_output=True, text=True)


def tail(path, count):
    try:
        with open(path, "rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - 64 * 1024))
            return file.read().decode("utf-8", "replace").splitlines()[-count:]
    except OSError:
        return []


# Ports ----------------------------------------------------------------------------------------------------------------


def port_is_free(port):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
            return True
        except OSError:
            return False


def port_holder(port):
    """(pid, name, listening) of the process whose socket has `port` as its own; None if it can't be seen."""
    wanted = {}
    try:
        with open("/proc/net/tcp") as table:
            for row in table.readlines()[1:]:
                field = row.split()
                if int(field[1].split(":")[1], 16) == port:
                    wanted[field[9]] = field[3] == "0A"
    except OSError:
        return None
    for link in glob.glob("/proc/[0-9]*/fd/*"):
        try:
            target = os.readlink(link)
        except OSError:
            continue
        inode = target[8:-1] if target.startswith("socket:[") else None
        if inode in wanted:
            pid = int(link.split("/")[2])
            try:
                with open(f"/proc/{pid}/comm") as comm:
                    return pid, comm.read().strip(), wanted[inode]
            except OSError:
                return pid, "?", wanted[inode]
    return None


def reserve_ports(ports):
    """Keeps Linux from giving our ports to outgoing connections; without permission the start retries instead."""
    try:
        with open(RESERVED_PORTS) as file:
            text = file.read().strip()
        held = set()
        for part in filter(None, text.split(",")):
            first, _, last = part.partition("-")
            held.update(range(int(first), int(last or first) + 1))
        missing = [port for port in ports if port not in held]
        if missing:
            with open(RESERVED_PORTS, "w") as file:
                file.write(",".join(filter(None, [text, *map(str, missing)])))
    except (OSError, ValueError):
        pass


# One server -----------------------------------------------------------------------------------------------------------


# Above the base port, of a role's first server.
OFFSETS = {"meta": 0, "zookeeper": 100, "replica": 200}


class Node:
    def __init__(self, box, role, number):
        self.box = box
        self.role = role
        self.number = number
        self.name = f"{role}{number}"
        self.directory = os.path.join(box.directory, self.name)
        self.port = box.base_port + number - 1 + OFFSETS[role]
        self.address = f"127.0.0.1:{self.port}"
        self.config = os.path.join(self.directory, "config.ini")
        self.log_directory = os.path.join(self.directory, "log")
        self.child = None

    def command(self):
        """What it runs; its last word, which names this server, is how the process is known again."""
        return [os.path.join(self.box.build, f"arion_{self.role}"), f"--config={self.config}"]

    def data_directories(self):
        if self.role != "replica":
            return [os.path.join(self.directory, "data")]
        return [os.path.join(self.directory, f"data{i + 1}") for i in range(self.box.data_dirs)]

    def pid(self):
        """The pid of our running process, or None."""
        try:
            with open(os.path.join(self.directory, "pid")) as file:
                pid = int(file.read())
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
            with open(f"/proc/{pid}/stat") as file:
                state = file.read().rsplit(")", 1)[1].split()[0]
        except (OSError, ValueError, IndexError):
            return None
        return pid if state not in "ZX" and self.command()[-1].encode() in words else None

    def was_stopped(self):
        return os.path.exists(os.path.join(self.directory, "stopped"))

    def config_lines(self):
        lines = [
            "; One server of a one-box cluster, written by tools/onebox. Flags of the same names override it.",
            "[arion.server]",
            "cluster_name = onebox",
            f"listen = {self.address}",
            f"meta_servers = {self.box.meta_addresses}",
            f"text_log_directory = {self.log_directory}",
            "lease = 2s",
            "grace = 3s",
            "",
        ]
        if self.role == "meta":
            lines += [
                "[arion.meta]",
                f"meta_data_dir = {self.data_directories()[0]}",
                "guardian_interval = 1s",
                "lost_member_wait = 10s",
                "unstable_restarts_max = 0",
                "disk_room_percent = 0  ; the disk is shared",
            ]
            if self.box.zookeeper:
                lines += ["state = zookeeper", f"zookeeper_hosts = {self.box.zookeeper.address}", "zookeeper_session_timeout = 4s"]
        else:
            disks = ",".join(f"disk{i + 1}:{path}" for i, path in enumerate(self.data_directories()))
            lines.insert(-1, f"threads = {max(1, (os.cpu_count() or 1) // self.box.servers)}  ; the cores are shared")
            lines += [
                "[arion.replica]",
                f"data_dirs = {disks}",
                "durability = fsync",
                "beacon_interval = 500ms",
                "config_sync_interval = 3s",
                "block_cache_size = 128 MiB",
            ]
        return lines

    def write_config(self):
        for path in [self.log_directory, *self.data_directories()]:
            os.makedirs(path, exist_ok=True)
        if not os.path.exists(self.config):
            with open(self.config, "w") as file:
                file.write("\n".join(self.config_lines()) + "\n")

    def spawn(self):
        self.write_config()
        stopped = os.path.join(self.directory, "stopped")
        if os.path.exists(stopped):
            os.remove(stopped)
        with open(os.path.join(self.log_directory, "stderr"), "wb") as errors:
            self.child = subprocess.Popen(
                self.command(),
                stdin=subprocess.DEVNULL, stdout=errors, stderr=errors, cwd=self.directory, start_new_session=True)
        with open(os.path.join(self.directory, "pid.tmp"), "w") as file:
            file.write(str(self.child.pid))
        os.replace(os.path.join(self.directory, "pid.tmp"), os.path.join(self.directory, "pid"))

    def listens(self):
        with socket.socket() as probe:
            probe.settimeout(0.5)
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def last_lines(self, count=20):
        lines = tail(os.path.join(self.log_directory, f"arion_{self.role}.INFO"), count)
        return (lines + tail(os.path.join(self.log_directory, "stderr"), count))[-count:]

    def suggestion(self, lines):
        text = "\n".join(lines)
        if re.search(r"[Aa]ddress already in use|EADDRINUSE", text) or not (self.pid() or port_is_free(self.port)):
            holder = port_holder(self.port)
            who = f"is used by pid {holder[0]} ({holder[1]})" if holder else "is in use"
            return f"port {self.port} {who}; stop it, or use --base-port"
        if "No space left" in text or shutil.disk_usage(self.box.directory).free < 64 << 20:
            return f"the disk of {self.box.directory} is full; make room, or use --dir on another disk"
        missing = re.search(r"error while loading shared libraries: (\S+)", text)
        if missing:
            return f"{missing.group(1)} is missing: a package was removed; run tools/onebox start again"
        return f"read the whole log: tools/onebox logs {self.name}"

    def failed(self, what):
        status = self.child.poll() if self.child else None
        if status is None:
            ending = "still running" if self.pid() else "ended, its exit status is not known"
        elif status < 0:
            ending = f"killed by signal {-status} ({signal.Signals(-status).name})"
        else:
            ending = f"ended with exit status {status}"
        lines = self.last_lines()
        shown = "".join(f"\n    | {line}" for line in lines) or "\n    | (nothing logged)"
        return Failure(f"{self.name} ({self.address}) {what}: {ending}\n  its last lines:{shown}\n"
                       f"  suggestion: {self.suggestion(lines)}")

    def start(self):
        """Starts the process and waits until it listens. A port lost to an outgoing connection is waited for."""
        for attempt in range(20):
            if not port_is_free(self.port):
                holder = port_holder(self.port)
                if holder and holder[2]:
                    raise Failure(f"{self.name} not started: port {self.port} is used by pid {holder[0]} "
                                  f"({holder[1]})\n  suggestion: stop it, or use --base-port")
                time.sleep(0.5)
                continue
            self.spawn()
            deadline = time.monotonic() + READY_SECONDS_MAX
            while time.monotonic() < deadline:
                if self.child.poll() is not None:
                    break
                if self.listens():
                    return
                time.sleep(0.03)
            else:
                raise self.failed(f"does not listen after {READY_SECONDS_MAX} s")
            lost_race = "ddress already in use" in "\n".join(self.last_lines())
            if not lost_race:
                raise self.failed("did not start")
            time.sleep(0.3)
        raise self.failed(f"did not get port {self.port}")

    def signal_and_wait(self, number, seconds):
        pid = self.pid()
        if pid is None:
            return True
        os.kill(pid, number)
        deadline = time.monotonic() + seconds
        while self.pid() is not None:
            if self.child:
                self.child.poll()
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return True

    def stop(self):
        if not os.path.isdir(self.directory):
            return
        with open(os.path.join(self.directory, "stopped"), "w"):
            pass
        if self.signal_and_wait(signal.SIGTERM, STOP_SECONDS_MAX):
            return
        lines = "".join(f"\n    | {line}" for line in self.last_lines())
        self.signal_and_wait(signal.SIGKILL, 10)
        raise Failure(f"{self.name} did not stop within {STOP_SECONDS_MAX} s and was killed; nothing acknowledged is "
                      f"lost\n  its last lines:{lines}")

    def kill(self):
        if self.pid() is None:
            raise Failure(f"{self.name} is not running")
        self.signal_and_wait(signal.SIGKILL, 10)


class ZooKeeper(Node):
    """Where several meta servers keep their state: Debian's server, alone."""

    JARS = ":".join(f"/usr/share/java/{name}.jar" for name in ("zookeeper", "slf4j-simple"))

    def command(self):
        return ["java", "-Xmx256m", "-XX:+UseSerialGC", "-cp", self.JARS, "org.apache.zookeeper.server.quorum.QuorumPeerMain",
                self.config]

    def config_lines(self):
        return ["tickTime=500", f"dataDir={self.data_directories()[0]}", f"clientPort={self.port}", "clientPortAddress=127.0.0.1",
                "admin.enableServer=false", "4lw.commands.whitelist=*", "maxClientCnxns=0"]


# The cluster ----------------------------------------------------------------------------------------------------------


class OneBox:
    def __init__(self, arguments):
        self.directory = os.path.abspath(arguments.dir)
        self.build = os.path.abspath(arguments.build)
        self.screen = Screen(arguments.json)
        self.known = self._load()
        stored = self.known or {}
        self.base_port = self._choose(arguments.base_port, stored.get("base_port"), 34601, "--base-port")
        self.servers = self._choose(arguments.servers, stored.get("servers"), 3, "--servers")
        self.data_dirs = self._choose(arguments.data_dirs, stored.get("data_dirs"), 1, "--data-dirs")
        self.meta_count = self._choose(arguments.meta, stored.get("meta"), 1, "--meta")
        if not (1 <= self.servers <= 100 and 1 <= self.data_dirs <= 16 and 1024 <= self.base_port <= 65200
                and 1 <= self.meta_count <= 9):
            raise Failure("--servers is 1 to 100, --data-dirs 1 to 16, --meta 1 to 9, --base-port 1024 to 65200")
        # Several meta servers need a place for what they share.
        self.zookeeper = ZooKeeper(self, "zookeeper", 1) if self.meta_count > 1 else None
        self.metas = [Node(self, "meta", i + 1) for i in range(self.meta_count)]
        self.meta_addresses = ",".join(node.address for node in self.metas)
        self.nodes = ([self.zookeeper] if self.zookeeper else []) + self.metas + [
            Node(self, "replica", i + 1) for i in range(self.servers)]

    def _load(self):
        try:
            with open(os.path.join(self.directory, MARKER)) as file:
                return json.load(file)
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise Failure(f"{self.directory}/{MARKER} can't be read: {error}") from error

    def _choose(self, given, stored, default, flag):
        if given is not None and stored is not None and given != stored:
            raise Failure(f"{self.directory} was made with {flag} {stored}\n"
                          f"  suggestion: tools/onebox clean first, or another --dir")
        return given if given is not None else stored if stored is not None else default

    def save(self):
        if self.known:
            return
        if os.path.isdir(self.directory) and os.listdir(self.directory):
            raise Failure(f"{self.directory} is not empty and not of tools/onebox\n  suggestion: another --dir")
        os.makedirs(self.directory, exist_ok=True)
        with open(os.path.join(self.directory, MARKER), "w") as file:
            json.dump({"base_port": self.base_port, "servers": self.servers, "data_dirs": self.data_dirs,
                       "meta": self.meta_count}, file)
        self.known = {}

    def node(self, name):
        for node in self.nodes:
            if node.name == name:
                return node
        raise Failure(f"there is no {name}; the servers are {', '.join(node.name for node in self.nodes)}")

    def shell(self, command, timeout=30):
        """The shell's JSON answer to one command, or None when the cluster can't be asked."""
        binary = os.path.join(self.build, "arion_shell")
        try:
            done = subprocess.run([binary, f"--meta={self.meta_addresses}", "-j", "-e", command], capture_output=True,
                                  text=True, timeout=timeout, stdin=subprocess.DEVNULL)
            return json.loads(done.stdout) if done.returncode in (0, 4) else None
        except (OSError, ValueError, subprocess.TimeoutExpired):
            return None

    # What is there --------------------------------------------------------------------------------------------------

    def status(self):
        metas_up = {node.name for node in self.metas if node.pid() is not None and node.listens()}
        alive = {}
        tables = []
        if metas_up:
            for entry in (self.shell("nodes") or {}).get("nodes", []):
                alive[entry["address"]] = entry["state"] == "alive"
            for entry in (self.shell("ls") or {}).get("tables", []):
                tables.append({key: entry[key] for key in ("name", "id", "partitions", "healthy")})
        nodes = []
        for node in self.nodes:
            pid = node.pid()
            if pid is None:
                state = "stopped" if node.was_stopped() or not os.path.isdir(node.directory) else "dead"
            elif node.role == "zookeeper":
                state = "alive" if node.listens() else "starting"
            elif node.role == "meta":
                state = "alive" if node.name in metas_up else "starting"
            else:
                state = "alive" if alive.get(node.address) else "starting"
            nodes.append({"name": node.name, "role": node.role, "pid": pid or 0, "address": node.address,
                          "state": state})
        return {"nodes": nodes, "tables": tables}

    @staticmethod
    def is_healthy(status):
        return (all(node["state"] == "alive" for node in status["nodes"]) and len(status["tables"]) > 0 and
                all(table["healthy"] == table["partitions"] for table in status["tables"]))

    def is_ready(self, status):
        return self.is_healthy(status) and any(table["name"] == TABLE for table in status["tables"])

    def show(self, status):
        line = self.screen.line
        line(f"  {'ROLE':<9} {'ID':>2}  {'RPC':<21} {'PID':>7}  {'STATE':<8}  {'DATA':<28} LOG")
        for node, entry in zip(self.nodes, status["nodes"]):
            line(f"  {node.role:<9} {node.number:>2}  {node.address:<21} {entry['pid'] or '-':>7}  "
                 f"{entry['state']:<8}  {os.path.relpath(node.directory):<28} {os.path.relpath(node.log_directory)}")
        for table in status["tables"]:
            line(f'  table "{table["name"]}" (id {table["id"]}): {table["healthy"]} of {table["partitions"]} partitions '
                 "healthy")

    # Commands -------------------------------------------------------------------------------------------------------

    def prepare(self):
        screen = self.screen
        screen.progress("[1/4] packages      checking")
        groups = ["build"] + (["ensemble"] if self.zookeeper else [])
        packages = run_bash("packages_of", *groups).stdout.split()
        missing = run_bash("missing_packages", *packages).stdout.split()
        if missing:
            screen.line(f"[1/4] packages      installing {len(missing)}: {' '.join(missing)}")
            installed = run_bash("install_packages", *packages)
            if installed.returncode != 0:
                raise Failure("packages are missing\n" + installed.stderr.strip()[-2000:])
        screen.line(f"[1/4] packages      ok   (all {len(packages)} present)")
        self.make()

    def make(self):
        screen = self.screen
        started = time.monotonic()
        screen.progress(f"[2/4] build         in {os.path.relpath(self.build)}; the first takes minutes")
        configured = run_bash("configure", self.build, "-DCMAKE_BUILD_TYPE=RelWithDebInfo")
        if configured.returncode != 0:
            raise Failure("the build can't be configured\n" + configured.stderr.strip()[-4000:])
        command = ["ninja", "-C", self.build, "programs"]
        environment = dict(os.environ, NINJA_STATUS="%f/%t ")
        lines = []
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env=environment) as build:
            for text in build.stdout:
                lines.append(text.rstrip())
                screen.progress(f"[2/4] build         {lines[-1][:80]}")
        if build.returncode != 0:
            raise Failure("the build failed\n" + "\n".join(lines[-40:]))
        minutes, seconds = divmod(int(time.monotonic() - started), 60)
        screen.line(f"[2/4] build         ok   RelWithDebInfo, {minutes}m{seconds:02d}s, in {os.path.relpath(self.build)}")

    def start_servers(self):
        free = shutil.disk_usage(self.directory).free
        if free < 512 << 20:
            raise Failure(f"only {free >> 20} MiB are free for {self.directory}\n"
                          "  suggestion: make room, or use --dir on another disk")
        reserve_ports([node.port for node in self.nodes])
        count = 0
        for node in self.nodes:
            if node.pid() is None:
                self.screen.progress(f"[3/4] start         {node.name}")
                node.start()
                count += 1
        zookeeper = "zookeeper ●  " if self.zookeeper else ""
        self.screen.line(f"[3/4] start         {zookeeper}meta {' '.join('●' * self.meta_count)}  "
                         f"replica {' '.join('●' * self.servers)}     {count} started")

    def wait_for(self, what, condition):
        """Until `condition` holds; a server that ends meanwhile is reported."""
        deadline = time.monotonic() + READY_SECONDS_MAX
        while not condition():
            for node in self.nodes:
                if node.pid() is None:
                    raise node.failed("ended while the cluster came up")
            if time.monotonic() > deadline:
                status = self.status()
                waiting = [n["name"] for n in status["nodes"] if n["state"] != "alive"]
                table = next((t for t in status["tables"] if t["name"] == TABLE), None)
                partitions = f"{table['healthy']} of {table['partitions']} partitions are healthy" if table else "no table"
                worst = self.node(waiting[0]) if waiting else self.nodes[0]
                raise worst.failed(f"{what}: not after {READY_SECONDS_MAX} s ({partitions}; not alive: "
                                   f"{', '.join(waiting) or 'none'})")
            time.sleep(0.1)

    def make_table(self):
        started = time.monotonic()
        replicas = min(3, self.servers)
        self.screen.progress(f'[4/4] table "{TABLE}"  waiting for {self.servers} servers')

        def all_alive():
            nodes = (self.shell("nodes") or {}).get("nodes", [])
            return sum(1 for node in nodes if node["state"] == "alive") >= self.servers

        def table_ready():
            tables = (self.shell("ls") or {}).get("tables", [])
            if not any(table["name"] == TABLE for table in tables):
                self.shell(f"create {TABLE} -p {TABLE_PARTITIONS} -r {replicas}")
                return False
            return all(table["healthy"] == table["partitions"] for table in tables)

        self.wait_for("all servers alive", all_alive)
        self.screen.progress(f'[4/4] table "{TABLE}"  {TABLE_PARTITIONS} partitions x {replicas} replicas')
        self.wait_for("every partition with all its members", table_ready)
        self.screen.line(f'[4/4] table "{TABLE}"  {TABLE_PARTITIONS} partitions x {replicas} replicas, durability fsync'
                         f"      ready in {time.monotonic() - started:.1f}s")

    def start(self):
        if self.known and self.is_ready(self.status()):
            self.screen.line("already running")
        else:
            self.prepare()
            self.save()
            self.start_servers()
            self.make_table()
        status = self.status()
        self.screen.line()
        self.show(status)
        shell = os.path.relpath(os.path.join(self.build, "arion_shell"))
        where = "" if os.path.relpath(self.directory, ROOT) == "onebox" else f" --dir {os.path.relpath(self.directory)}"
        for name, text in [
                ("Dashboard", f"http://{self.metas[0].address}/ui"),
                ("Shell", f"{shell} --meta {self.meta_addresses}      try: nodes, use {TABLE}, set k s hello, get k s"),
                ("Load", f"{os.path.join(os.path.dirname(shell), 'arion_load')} --meta {self.meta_addresses} --workload a --seconds 30"),
                ("Break it", f"tools/onebox kill replica{min(2, self.servers)}{where}      then watch: tools/onebox status{where}"),
                ("Stop", f"tools/onebox stop{where}      (data kept; tools/onebox clean{where} removes it)")]:
            self.screen.line(f"  {name:<10} {text}" if name != "Dashboard" else f"\n  {name:<10} {text}")
        return status

    def start_one(self, node):
        if self.known is None:
            raise Failure(f"there is no cluster in {self.directory}\n  suggestion: tools/onebox start")
        if node.pid() is not None:
            self.screen.line(f"{node.name} is already running (pid {node.pid()})")
            return
        reserve_ports([node.port])
        node.start()
        deadline = time.monotonic() + READY_SECONDS_MAX
        while next(n["state"] for n in self.status()["nodes"] if n["name"] == node.name) != "alive":
            if node.pid() is None:
                raise node.failed("ended while it came up")
            if all(meta.pid() is None for meta in self.metas):
                break
            if time.monotonic() > deadline:
                raise node.failed(f"is not alive after {READY_SECONDS_MAX} s")
            time.sleep(0.1)
        self.screen.line(f"{node.name} started (pid {node.pid()})")

    def stop_one(self, node):
        running = node.pid() is not None
        node.stop()
        self.screen.line(f"{node.name} stopped" if running else f"{node.name} was not running")

    def stop(self):
        """Replica servers all at once, then the meta server."""
        told = []
        for node in self.nodes:
            pid = node.pid()
            if node.role == "replica" and pid is not None:
                with open(os.path.join(node.directory, "stopped"), "w"):
                    pass
                os.kill(pid, signal.SIGTERM)
                told.append(node)
        for node in told:
            # Only looks: a second SIGTERM would cut the clean stop short.
            if not node.signal_and_wait(0, STOP_SECONDS_MAX):
                node.stop()
        for node in reversed(self.nodes):
            if node in told:
                self.screen.line(f"{node.name} stopped")
            else:
                self.stop_one(node)

    def clean(self):
        if self.known is None:
            if os.path.isdir(self.directory) and os.listdir(self.directory):
                raise Failure(f"{self.directory} is not of tools/onebox: nothing was removed")
            self.screen.line("nothing to remove")
            return
        for node in self.nodes:
            node.signal_and_wait(signal.SIGKILL, 10)
        shutil.rmtree(self.directory)
        self.screen.line(f"{os.path.relpath(self.directory)} removed")

    def logs(self, node, count, follow):
        path = os.path.join(node.log_directory, f"arion_{node.role}.INFO")
        if not os.path.exists(path):
            path = os.path.join(node.log_directory, "stderr")
        if not os.path.exists(path):
            raise Failure(f"{node.name} has no log yet")
        command = ["tail", "-n", str(count), *(["-F"] if follow else []), path]
        sys.stdout.flush()
        subprocess.run(command, check=False)


class Parser(argparse.ArgumentParser):
    """argparse swallows what goes wrong while it prints."""

    def print_help(self, file=None):
        print(self.format_help(), end="", file=file, flush=True)


def parse(words):
    parser = Parser(
        prog="tools/onebox", description="Arion on one machine: a meta server or several, some replica servers, one table.")
    parser.add_argument("command", choices=["start", "stop", "restart", "kill", "status", "clean", "logs"],
                        help="start, stop, restart: all or NAME; kill NAME (SIGKILL); logs NAME; clean removes the data")
    parser.add_argument("name", nargs="?", help="one server: meta1, replica1, ...")
    parser.add_argument("--dir", default=os.path.join(ROOT, "onebox"), help="where everything lies (default: onebox)")
    parser.add_argument("--build", default=os.path.join(ROOT, "build"), help="build directory (default: build)")
    parser.add_argument("--base-port", type=int, help="meta server's port; ZooKeeper is 100 above, replicas 200 (default: 34601)")
    parser.add_argument("--meta", type=int, help="meta servers; several keep their state in a ZooKeeper beside (default: 1)")
    parser.add_argument("--servers", type=int, help="replica servers (default: 3)")
    parser.add_argument("--data-dirs", type=int, help="data directories of each replica server (default: 1)")
    parser.add_argument("--json", action="store_true", help="the state as JSON on standard output")
    parser.add_argument("-n", "--lines", type=int, default=50, help="logs: how many last lines")
    parser.add_argument("-f", "--follow", action="store_true", help="logs: go on as it grows")
    arguments = parser.parse_args(words)
    if arguments.command in ("kill", "logs") and not arguments.name:
        parser.error(f"{arguments.command} needs the name of a server")
    if arguments.command in ("status", "clean") and arguments.name:
        parser.error(f"{arguments.command} takes no name")
    return arguments


def run(arguments):
    box = OneBox(arguments)
    command, node = arguments.command, box.node(arguments.name) if arguments.name else None
    if command == "logs":
        box.logs(node, arguments.lines, arguments.follow)
        return 0
    if command in ("stop", "restart"):
        box.stop_one(node) if node else box.stop()
    if command == "kill":
        node.kill()
        box.screen.line(f"{node.name} killed")
    if command == "clean":
        box.clean()
    if command in ("start", "restart"):
        box.start_one(node) if node else box.start()
    healthy = 0
    if arguments.json or command == "status":
        status = box.status()
        if arguments.json:
            print(json.dumps(status))
        else:
            box.show(status)
        if command == "status":
            healthy = 0 if box.is_healthy(status) else 1
    return healthy


def main():
    try:
        sys.stdout.reconfigure(errors="replace")
        sys.stderr.reconfigure(errors="replace")
        try:
            code = run(parse(sys.argv[1:]))
        finally:
            sys.stdout.flush()
        return code
    except Failure as failure:
        print(f"onebox: {failure}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"onebox: {error}", file=sys.stderr)
        # What standard output did not take is not tried again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
