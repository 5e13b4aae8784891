"""Connections: GETs at 50, 1,000 and 5,000 of them; 50 beside 10,000 idle and 200 slow ones; loops against a thread each.

SPDX-License-Identifier: Apache-2.0
"""

import os
import statistics
import subprocess
import tempfile

import harness
import many_connections
import measuring

COUNTS = (50, 1000, 5000)
ACTIVE = 50
CLIENTS = (100, 200, 1000)
SIZES = {1000: 20000, 32000: 4000}  # bytes of a value: records


def measure(run):
    for target, path in (("cluster_programs", "arion_replica"), ("store_server", "bench/store_server")):
        binary = run.binary(target, path)
    figures = measure_server(run, binary)
    figures.update(measure_threads(run, binary))
    return figures


def measure_server(run, binary):
    """A server beside one that only waits, reads and answers: what so many connections cost whoever serves them."""
    seconds, repeats = (0.3, 1) if run.quick else (4, 5)
    idle, slow = (1000, 20) if run.quick else (10000, 200)
    target = many_connections.Target(harness.Cluster(servers=1, replica_settings={"block_cache_size": "512 MiB"}))

    def get(count):
        row = target.get(count, seconds)
        run.keep(row)
        return row

    def get_bare(count):
        row = dict(bare.get(run.build, count, seconds), model="epoll")
        run.keep(row)
        return row

    def beside(slow):
        with target.hold(idle, slow):
            return get(ACTIVE)
    before = target.server.resident_bytes()  # first: later the allocator has pages to spare
    with target.hold(idle):
        idle_bytes = (target.server.resident_bytes() - before) / idle
    bare = StoreServer(binary, "epoll", 1000)
    in_turn = measuring.in_turn({(ask, count): lambda ask=ask, count=count: ask(count) for count in COUNTS
                                 for ask in (get, get_bare)}, repeats)
    bare.stop()
    crowded = measuring.in_turn({"alone": lambda: get(ACTIVE), "beside idle": lambda: beside(0),
                                 "beside idle and slow": lambda: beside(slow)}, repeats)
    target.cluster.destroy()

    figures = tell_beside_bare(run, *({count: in_turn[ask, count] for count in COUNTS} for ask in (get, get_bare)))
    p99 = {name: [row["p99_us"] for row in crowded[name]] for name in crowded}
    run.table(f"{ACTIVE} active connections", ["", "GETs/s", "p99 us", "p99, of alone's (goal 1.3)"],
              [(name, measuring.spread([row["per_s"] for row in crowded[name]], 0), measuring.spread(p99[name], 0),
                measuring.Comparison(p99[name], p99["alone"])) for name in crowded])
    run.table("Memory of idle connections", ["connections", "bytes each (goal 8192)"], [(idle, round(idle_bytes))])
    figures["active_p99_ratio"] = round(measuring.Comparison(p99["beside idle and slow"], p99["alone"]).ratio, 3)
    figures["idle_bytes"] = round(idle_bytes)
    return figures


def tell_beside_bare(run, server, bare):
    """Shows both and what they say together, of {number of connections: rounds} each; the figures."""
    figures, kept = tell_counts(run, "The server", server)
    bare_figures, bare_kept = tell_counts(run, "A bare epoll server", bare)
    figures.update({f"bare_{name}": value for name, value in bare_figures.items()})
    of_bare = measuring.Comparison(kept, bare_kept)
    figures["get_5000_over_best_of_bare"] = round(of_bare.ratio, 3)
    run.table("5000 connections", ["", "of the best"], [("server (goal 0.8)", measuring.spread(kept)),
                                                        ("a bare epoll server", measuring.spread(bare_kept)),
                                                        ("server : bare", of_bare)])
    return figures


def tell_counts(run, title, rows):
    """Shows what was measured at each number of connections; its figures, and what 5,000 keep of the best rate, by round."""
    per_s = {count: [row["per_s"] for row in rows[count]] for count in COUNTS}
    best = max(COUNTS, key=lambda count: statistics.median(per_s[count]))
    run.table(f"{title}, by connections",
              ["connections", "GETs/s", "of the best", "server us a GET", "client us a GET", "client's core busy", "p50 us", "p99 us"],
              [(count, measuring.spread(per_s[count], 0), measuring.Comparison(per_s[count], per_s[best]),
                *(measuring.spread([row[key] for row in rows[count]], 2)
                  for key in ("cpu_us", "client_cpu_us", "client_busy", "p50_us", "p99_us")))
               for count in COUNTS])
    figures = {f"get_{count}_per_s": statistics.median(per_s[count]) for count in COUNTS}
    figures.update({f"get_{count}_cpu_us": round(statistics.median(row["cpu_us"] for row in rows[count]), 2) for count in COUNTS})
    kept = [at_5000 / at_best for at_5000, at_best in zip(per_s[5000], per_s[best])]
    figures["get_5000_over_best"] = round(statistics.median(kept), 3)
    return figures, kept


class StoreServer:
    """bench/connections/store_server while it is used."""

    def __init__(self, binary, model, size):
        self.size = size
        self.directory = tempfile.TemporaryDirectory(prefix="arion_figures_")  # most models end without removing theirs
        self.process = subprocess.Popen([binary, f"--model={model}", f"--keys={SIZES[size]}", f"--size={size}"],
                                        env=dict(os.environ, TMPDIR=self.directory.name), stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.port = int(self.process.stdout.readline().split()[1])

    def get(self, build, clients, seconds):
        return many_connections.measured(
            [os.path.join(build, "tests", "cluster", "connection_load"), "--op=get", f"--address=127.0.0.1:{self.port}",
             f"--keys={SIZES[self.size]}", f"--size={self.size}", f"--connections={clients}", f"--seconds={seconds}"], self.process.pid)

    def stop(self):
        self.process.stdin.close()
        self.process.wait(timeout=60)
        self.directory.cleanup()


def measure_threads(run, binary):
    seconds, repeats = (0.3, 1) if run.quick else (4, 5)
    figures = {}
    table = []
    for size in SIZES:
        servers = {model: StoreServer(binary, model, size) for model in ("loops", "threads")}

        def get(model, clients):
            row = dict(servers[model].get(run.build, clients, seconds), model=model, size=size)
            run.keep(row)
            return row
        for clients in CLIENTS:
            rows = measuring.in_turn({model: lambda model=model: get(model, clients) for model in servers}, repeats)
            per_s, p99, cpu = ({model: [row[key] for row in rows[model]] for model in servers} for key in ("per_s", "p99_us", "cpu_us"))
            faster = measuring.Comparison(per_s["loops"], per_s["threads"])
            table.append((size, clients, *(measuring.spread(per_s[model], 0) for model in servers), faster,
                          measuring.Comparison(p99["loops"], p99["threads"]), measuring.Comparison(cpu["loops"], cpu["threads"])))
            figures[f"loops_over_threads_{size}_{clients}"] = round(faster.ratio, 3)
        for server in servers.values():
            server.stop()
    run.table("Event loops and a thread a connection",
              ["bytes", "clients", "loops GETs/s", "a thread each GETs/s", "loops : threads", "p99", "server CPU"], table)
    return figures
