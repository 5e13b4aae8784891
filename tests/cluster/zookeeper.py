"""ZooKeeper servers for cluster tests: Debian's own, on loopback, in directories of their own, ended by pid.

    if zookeeper.missing(): self.skipTest(f"not run: needs {zookeeper.missing()}")
    with zookeeper.ZooKeeperServer() as server:    # answers when this is reached
        server.hosts                               # "127.0.0.1:PORT"
        server.kill(); server.start()              # the same directory and port
        server.freeze(); server.thaw()             # SIGSTOP, SIGCONT

A server takes half a second to start and 60 MB. It writes no sooner than the system does (forceSync=no): what it acknowledged
survives `kill`, not a power cut.
SPDX-License-Identifier: Apache-2.0
"""

import atexit
import ctypes
import os
import shutil
import signal
import socket
import subprocess
import tempfile

import harness

JARS = [f"/usr/share/java/{name}.jar" for name in ("zookeeper", "slf4j-simple")]  # the first one names those that it needs
JAVA = ["java", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.showDateTime=true"]
MAIN = "org.apache.zookeeper.server.quorum.QuorumPeerMain"


def missing():
    """What isn't installed here; empty: nothing."""
    return " and ".join([*([] if shutil.which("java") else ["java (default-jre-headless)"]),
                         *([] if all(map(os.path.exists, JARS)) else ["ZooKeeper's classes (libzookeeper-java)"])])


def end_with_parent():
    """In a child: it ends when this process ends, however it does."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


class ZooKeeperServer:
    """One server, alone or one of an Ensemble. `tick`: in seconds; a session's timeout is 2 to 20 of them. `network`: a
    network.Network, in which it gets a place of its own."""

    def __init__(self, tick=0.2, directory=None, number=0, settings=(), network=None):
        self.directory = directory or tempfile.mkdtemp(prefix="arion-zookeeper-")
        self.name = f"zookeeper{number}" if number else "zookeeper"
        self.port = harness.free_ports(1)[0]
        self.log = os.path.join(self.directory, "log")
        self.config = os.path.join(self.directory, "zoo.cfg")
        self.process = None
        self.data = os.path.join(self.directory, "data")
        os.makedirs(self.data)
        with open(os.path.join(self.data, "myid"), "w") as file:
            file.write(f"{number}\n")
        self.lines = [f"tickTime={int(tick * 1000)}", f"dataDir={self.data}", f"clientPort={self.port}",
                      "admin.enableServer=false", "4lw.commands.whitelist=*", "maxClientCnxns=0", "forceSync=no",
                      "preAllocSize=512", *settings]
        self.move(network.add(self.name) if network else "127.0.0.1")
        self.place = network.command(self.name) if network else []
        atexit.register(self.close)

    def __enter__(self):
        self.start()
        self.wait_ready()
        return self

    def __exit__(self, *unused):
        self.close()

    def move(self, host):
        """To another address of loopback; while it doesn't run."""
        self.host = host
        self.hosts = f"{host}:{self.port}"
        with open(self.config, "w") as file:
            file.write("\n".join([*self.lines, f"clientPortAddress={host}"]) + "\n")

    def start(self):
        """It answers a moment later: wait_ready."""
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([*self.place, *JAVA, "-cp", ":".join(JARS), MAIN, self.config], stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log, cwd=self.directory, preexec_fn=end_with_parent)

    def ask(self, word, seconds=2):
        """The answer to a four-letter word; empty: there is none."""
        try:
            with socket.create_connection((self.host, self.port), timeout=seconds) as connection:
                connection.sendall(word.encode())
                answer = b""
                while part := connection.recv(65536):
                    answer += part
                return answer.decode("utf-8", "replace")
        except OSError:
            return ""

    def command(self, *words):
        """One of ZooKeeper's own command line; what it prints."""
        return subprocess.run([*JAVA, "-cp", ":".join(JARS), "org.apache.zookeeper.ZooKeeperMain", "-server", self.hosts, *words],
                              capture_output=True, text=True, timeout=60, check=True).stdout

    def is_ready(self):
        # `ruok` is answered before anything is served; a member of an ensemble serves once it has a leader.
        return self.ask("ruok") == "imok" and "Mode:" in self.ask("srvr")

    def wait_ready(self):
        harness.wait_for(f"{self.name} answers", lambda: self.is_ready() or self.process.poll() is not None, 60)
        if self.process.poll() is not None:
            raise AssertionError(f"{self.name} ended with {self.process.poll()}:\n" + "\n".join(self.last_lines()))

    def last_lines(self, count=25):
        try:
            with open(self.log, encoding="utf-8", errors="replace") as file:
                return file.read().splitlines()[-count:]
        except OSError:
            return []

    def kill(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def freeze(self):
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)

    def close(self):
        """Ends it, and removes its directory."""
        self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)
        atexit.unregister(self.close)


class Ensemble:
    """Several servers, of which more than half must live."""

    def __init__(self, count=3, tick=0.2):
        self.directory = tempfile.mkdtemp(prefix="arion-zookeeper-")
        ports = harness.free_ports(2 * count)
        settings = ["initLimit=50", "syncLimit=10",
                    *(f"server.{i + 1}=127.0.0.1:{ports[2 * i]}:{ports[2 * i + 1]}" for i in range(count))]
        self.servers = [ZooKeeperServer(tick, os.path.join(self.directory, str(i + 1)), i + 1, settings) for i in range(count)]
        self.hosts = ",".join(server.hosts for server in self.servers)
        atexit.register(self.close)

    def __enter__(self):
        for server in self.servers:
            server.start()
        for server in self.servers:
            server.wait_ready()
        return self

    def __exit__(self, *unused):
        self.close()

    def last_lines(self):
        return [f"{server.name}: {line}" for server in self.servers for line in server.last_lines()]

    def leader(self):
        """None: there is none now."""
        return next((server for server in self.servers if "Mode: leader" in server.ask("srvr")), None)

    def close(self):
        for server in self.servers:
            server.close()
        shutil.rmtree(self.directory, ignore_errors=True)
        atexit.unregister(self.close)
