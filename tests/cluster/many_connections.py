"""One server of a cluster, loaded by connection_load: many connections, busy, idle and slow ones.

SPDX-License-Identifier: Apache-2.0
"""

import contextlib
import json
import os
import subprocess

import cpu_time
import harness
import thft

TABLE = "connections"
PARTITIONS = 8


class Target:
    """A cluster of one server with one table, filled."""

    def __init__(self, cluster, keys=20000, size=1000):
        self.cluster, self.keys, self.size = cluster, keys, size
        self.server = cluster.replicas[0]
        try:
            cluster.start()
            cluster.create_table(TABLE, partitions=PARTITIONS, replicas=1)
            self.app_id = thft.ask_config(cluster.meta.address, TABLE)[1]
            self._run("fill", 50)
        except Exception:
            cluster.print_logs()
            cluster.destroy()
            raise

    def command(self, operation, connections, *more):
        return [os.path.join(harness.BUILD, "tests", "cluster", "connection_load"), f"--address={self.server.address}",
                f"--op={operation}", f"--app_id={self.app_id}", f"--partitions={PARTITIONS}", f"--keys={self.keys}",
                f"--size={self.size}", f"--connections={connections}", *more]

    def _run(self, operation, connections, *more):
        return json.loads(harness.run(self.command(operation, connections, *more)).splitlines()[-1])

    def get(self, connections, seconds):
        """GETs over that many connections: what connection_load says, and the server's CPU of each in microseconds."""
        return measured(self.command("get", connections, f"--seconds={seconds}"), self.server.process.pid)

    @contextlib.contextmanager
    def hold(self, idle, slow=0):
        """Connections that were answered once and rest, and others that asked for much and never read."""
        with subprocess.Popen(self.command("hold", idle, f"--slow={slow}"), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True) as load:
            line = load.stdout.readline()
            assert line == "ready\n", f"connection_load ended with {load.wait()}"
            # It has answered what it would.
            assert cpu_time.settle([self.server.process.pid]), "the server does not come to rest"
            yield
            load.stdin.close()


def measured(command, pid):
    """What connection_load says of its GETs, and that server's CPU of each in microseconds."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as load:
        load.stdout.readline()  # warm
        before = cpu_time.cpu_seconds([pid])
        row = json.loads(load.stdout.readline())
        row["cpu_us"] = (cpu_time.cpu_seconds([pid]) - before) * 1e6 / row["ops"]
    return row
