"""Puts beside etcd and redis, each as Debian ships it, in turn on the same machine and the same disk.

    Arion    three replica servers, 8 partitions x 3 replicas, durable on all three members; arion_load, and the same servers
             by the official Go client
    etcd     three members, one Raft group, synced (its default): durable on two of them; its own Go client, 15 connections to
             the leader
    redis    one server without replicas, appendfsync always, its log never rewritten; redis-benchmark

1000-byte values, 45 puts under way each. CPU is utime + stime of the servers, and of the client, for which they share the
machine's: what the kernel's workers flush for them is in none.
"""

import atexit
import csv
import os
import re
import resource
import shutil
import socket
import statistics
import subprocess
import tempfile

import cpu_time
import harness
import measuring

THREADS = 45
ETCD_CONNECTIONS = 15
VALUE_BYTES = 1000
PARTITIONS = 8
ETCD_GOAL = 4
COLUMNS = ("ops/s", "avg us", "p50 us", "p99 us", "server us", "client us")


def told_by_go(out):
    """Of a line of name=number."""
    told = {name: float(value) for name, value in re.findall(r"([\w/]+)=([\d.]+)", out)}
    assert told["errors"] == 0, out
    return told


class Peer:
    """Servers of another kind, below a directory of their own; ended by pid."""

    def __init__(self, run):
        self.run = run
        self.directory = tempfile.mkdtemp(prefix="arion-peer-")
        self.processes = []
        atexit.register(self.end)

    def start(self, *command):
        log = os.path.join(self.directory, f"{len(self.processes)}.log")
        with open(log, "w", encoding="utf-8") as file:
            self.processes.append(subprocess.Popen(command, stdout=file, stderr=file, cwd=self.directory))

    def wait_listening(self, ports):
        for port in ports:
            with socket.socket() as probe:
                harness.wait_for(f"{self.name} listens on port {port}", lambda: probe.connect_ex(("127.0.0.1", port)) == 0)

    def pids(self):
        return [process.pid for process in self.processes]

    def end(self):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait(30)
        shutil.rmtree(self.directory)
        atexit.unregister(self.end)


class Etcd(Peer):
    name = "etcd, 3 members, synced"

    def __init__(self, run):
        super().__init__(run)
        self.load = os.path.join(run.build, "bench", "etcd_load")
        run.command(["go", "build", "-o", self.load, "."], cwd=os.path.join(measuring.ROOT, "bench", "peers"))
        ports = harness.free_ports(6)
        self.clients, peers = ports[:3], ports[3:]
        cluster = ",".join(f"n{i}=http://127.0.0.1:{port}" for i, port in enumerate(peers))
        for i in range(3):
            client, peer = f"http://127.0.0.1:{self.clients[i]}", f"http://127.0.0.1:{peers[i]}"
            self.start("etcd", "--name", f"n{i}", "--data-dir", f"n{i}.etcd", "--initial-cluster", cluster,
                       "--initial-cluster-state", "new", "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                       "--listen-client-urls", client, "--advertise-client-urls", client,
                       "--quota-backend-bytes", str(8 << 30), "--log-level", "error")
        self.wait_listening(self.clients)

    def put(self, seconds):
        out = self.run.command([self.load, "-endpoints", ",".join(f"127.0.0.1:{port}" for port in self.clients), "-threads",
                                str(THREADS), "-connections", str(ETCD_CONNECTIONS), "-size", str(VALUE_BYTES),
                                "-seconds", str(seconds), "-warmup", "1"])
        told = told_by_go(out)
        # Its warm-up costs CPU as well, so the puts of it count where CPU is divided.
        return {"ops/s": told["ops/s"], "avg us": told["avg_us"], "p50 us": told["p50_us"], "p99 us": told["p99_us"],
                "operations": told["ops"] * (seconds + 1) / seconds}


class Redis(Peer):
    name = "redis, 1 server, appendfsync always"

    def __init__(self, run):
        super().__init__(run)
        self.port, = harness.free_ports(1)
        self.start("redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--appendonly", "yes",
                   "--appendfsync", "always", "--auto-aof-rewrite-percentage", "0", "--save", "", "--dir", self.directory)
        self.wait_listening([self.port])
        self.rate = 20000

    def put(self, seconds):
        operations = int(self.rate * seconds)
        out = self.run.command(["redis-benchmark", "-p", str(self.port), "-t", "set", "-d", str(VALUE_BYTES), "-c", str(THREADS),
                                "-n", str(operations), "-r", "100000", "--csv"])
        row = next(csv.DictReader(out[out.index('"test"'):].splitlines()))
        self.rate = float(row["rps"])
        return {"ops/s": self.rate, "avg us": float(row["avg_latency_ms"]) * 1e3, "p50 us": float(row["p50_latency_ms"]) * 1e3,
                "p99 us": float(row["p99_latency_ms"]) * 1e3, "operations": operations}


class Arion:
    name = "Arion, 3 replicas, durable"

    def __init__(self, run):
        self.run = run
        self.cluster = harness.Cluster(replica_threads=harness.SHARED_LOOPS)
        self.cluster.start()
        self.cluster.create_table("temp", PARTITIONS)
        self.load("load", "--threads=64")

    def load(self, command, *flags):
        return measuring.arion_load(self.run, self.cluster, command, "-p", f"recordcount={2000 if self.run.quick else 100000}",
                                    "-p", "fieldcount=1", "-p", f"fieldlength={VALUE_BYTES}", *flags)

    def put(self, seconds):
        phase = self.load("run", f"--threads={THREADS}", f"--seconds={seconds}", "--warmup=1", "-p", "readproportion=0", "-p",
                          "updateproportion=1", "-p", "requestdistribution=uniform")
        assert not phase["errors"], phase
        of = next(kind for kind in phase["kinds"] if kind["operation"] == "UPDATE")
        return {"ops/s": phase["ops_per_second"], "avg us": of["service_us"]["avg"], "p50 us": of["service_us"]["p50"],
                "p99 us": of["service_us"]["p99"], "operations": of["succeeded"] * (seconds + 1) / seconds}

    def pids(self):
        return self.cluster.replica_pids()

    def end(self):
        self.cluster.destroy()


class ArionByGo:
    """The same cluster by a client in etcd's language."""
    name = "Arion, by the Go client"

    def __init__(self, arion):
        self.run, self.cluster, self.pids = arion.run, arion.cluster, arion.pids
        self.client = harness.go_client("xiaomi")

    def put(self, seconds):
        def run_for(seconds):
            return told_by_go(self.run.command([self.client, "-meta", self.cluster.meta.address, "-table", "temp", "-op", "put", "-size",
                                                str(VALUE_BYTES), "-threads", str(THREADS), "-seconds", str(seconds), "bench"], cwd="/tmp"))
        warm, told = run_for(1), run_for(seconds)
        return {"ops/s": told["ops/s"], "avg us": told["avg_us"], "p50 us": told["p50_us"], "p99 us": told["p99_us"],
                "operations": warm["ops"] + told["ops"]}

    def end(self):
        """The cluster is another's."""


def client_seconds():
    """CPU of all clients so far: of children that have ended, which the servers have not."""
    of = resource.getrusage(resource.RUSAGE_CHILDREN)
    return of.ru_utime + of.ru_stime


def put(system, seconds):
    servers, client = cpu_time.cpu_seconds(system.pids()), client_seconds()
    row = system.put(seconds)
    row["server us"] = (cpu_time.cpu_seconds(system.pids()) - servers) * 1e6 / row["operations"]
    row["client us"] = (client_seconds() - client) * 1e6 / row["operations"]
    system.run.keep({"system": system.name, **row})
    return row


def measure(run):
    run.packages("figures")
    for target in ("cluster_programs", "arion_load_bin"):
        run.binary(target, target)
    seconds, repeats = (1, 1) if run.quick else (8, 5)
    arion = Arion(run)
    systems = [arion, ArionByGo(arion), Etcd(run), Redis(run)]
    pids = [pid for system in systems for pid in system.pids()]
    results = measuring.in_turn({system.name: lambda s=system: put(s, seconds) for system in systems}, repeats,
                                before=lambda: run.settle(pids))
    for system in systems:
        system.end()
    rates = {name: [row["ops/s"] for row in rows] for name, rows in results.items()}
    run.table(f"Puts of {VALUE_BYTES} bytes, {THREADS} under way (goal: {ETCD_GOAL} x etcd)",
              ["system", *COLUMNS, "ops/s of etcd's"],
              [(name, *(measuring.spread([row[column] for row in rows], 0) for column in COLUMNS),
                measuring.Comparison(rates[name], rates[Etcd.name])) for name, rows in results.items()])
    run.plot("Puts a second", [system.name for system in systems],
             {"puts": [statistics.median(rates[system.name]) for system in systems]})
    over_etcd = {system.name: measuring.Comparison(rates[system.name], rates[Etcd.name]).ratio for system in systems}
    return {"put_over_etcd": round(over_etcd[Arion.name], 2), "put_by_go_over_etcd": round(over_etcd[ArionByGo.name], 2),
            "puts_a_second": {name: round(statistics.median(values)) for name, values in rates.items()}}
