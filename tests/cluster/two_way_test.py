#!/usr/bin/env python3
"""Two clusters send one table to each other while clients of both write and remove the same records, and servers of both are killed.
At last both hold the same.

SPDX-License-Identifier: Apache-2.0
"""

import random
import threading
import time
import unittest

import data_api
import harness
import two_clusters

KEYS = 60
PARTITIONS = 4
KILLS = 5
WRITES_MIN = 400  # at each side
CONFLICTS_MIN = 30  # records that both wrote


class Conflicting(threading.Thread):
    """One client of one cluster: puts, removes, several at once, atomic operations, over few records."""

    def __init__(self, meta, table, name, seed):
        super().__init__(daemon=True)
        self.meta, self.table, self.name_of = meta, table, name
        self.random = random.Random(seed)
        self.stopped = threading.Event()
        self.acknowledged, self.removed, self.keys = 0, 0, set()

    def run(self):
        client, number = None, 0
        while not self.stopped.is_set():
            try:
                client = client or data_api.DataApi(self.meta, self.table, header_version=1, timeout=3)
                number += 1
                self.write(client, number)
                self.acknowledged += 1
            except Exception:  # a server that was killed: whether it is done does not matter here
                if client is not None:
                    client.close()
                client = None
                time.sleep(0.2)

    def write(self, client, number):
        hash_key, sort_key = b"h%d" % self.random.randrange(KEYS // 4), b"s%d" % self.random.randrange(4)
        value = b"%s %d" % (self.name_of.encode(), number)
        kind = self.random.randrange(10)
        if kind < 5:
            client.set(hash_key, sort_key, value)
        elif kind < 7:
            answer = client.remove(data_api.raw_key(hash_key, sort_key))
            self.check(answer)
            self.removed += 1
        elif kind == 7:
            self.check(client.multi_put(hash_key=hash_key, kvs=[{"key": b"s%d" % i, "value": value} for i in range(4)]))
        elif kind == 8:
            self.check(client.multi_remove(hash_key=hash_key, sort_keys=[sort_key, b"s0"]))
            self.removed += 1
        else:
            self.check(client.check_and_set(hash_key=hash_key, check_sort_key=sort_key, check_type=0, check_operand=b"",
                                            set_diff_sort_key=False, set_value=value))
        self.keys.add((hash_key, sort_key))

    @staticmethod
    def check(answer):
        if answer["error"] != data_api.OK:
            raise ValueError(answer)

    def stop(self):
        self.stopped.set()
        self.join()


class TwoWay(two_clusters.TwoClusters):
    def wait_begun_at(self, cluster, table):
        def begun():
            duplications = self.shell(f"query_dup {table}", of=cluster)["duplications"]
            rows = self.shell(f"query_dup {table} -d", of=cluster)["partitions"]
            return [d["status"] for d in duplications] == ["DS_LOG"] and rows and all(row["confirmed_decree"] >= 0 for row in rows)
        harness.wait_for("it sends", begun, 60)

    def wait_whole(self, table):
        """Until both take writes, and go on to: a server that was killed may count as alive still, and one copy of two takes none."""
        for cluster in self.clusters.values():
            for server in cluster.replicas:
                cluster.wait_listening(server)
            harness.wait_for("healthy", lambda c=cluster: c.alive() == 2, 60)
            cluster.wait_healthy(table, replicas=2)

    def wait_caught_up(self, table):
        """Until what was committed now is stored as sent, in both directions."""
        rows = {name: self.shell(f"query_dup {table} -d", of=cluster)["partitions"] for name, cluster in self.clusters.items()}
        goal = {name: [row["confirmed_decree"] + row["lag_mutations"] for row in of] for name, of in rows.items()}

        def caught_up():
            return all(row["confirmed_decree"] >= goal[name][i] for name, cluster in self.clusters.items()
                       for i, row in enumerate(self.shell(f"query_dup {table} -d", of=cluster)["partitions"]))
        harness.wait_for("both have what was written", caught_up, 120)

    @staticmethod
    def is_written(cluster, table, records):
        """Whether all were; a client of its own, for who leads may have changed."""
        try:
            client = data_api.DataApi(cluster.meta.address, table, header_version=1)
        except (OSError, AssertionError):
            return False
        try:
            for (hash_key, sort_key), value in records.items():
                client.set(hash_key, sort_key, value)
        except (OSError, data_api.Refused):
            return False
        finally:
            client.close()
        return True

    def drain(self, table):
        """Until what each side wrote before has come to the other: each partition's last write has."""
        ends = {(b"end %s %d" % (name.encode(), i), b""): b"%d" % i for name in self.clusters for i in range(64)}
        for name, cluster in self.clusters.items():
            own = {key: value for key, value in ends.items() if key[0].startswith(b"end %s " % name.encode())}
            harness.wait_for("its last writes are taken", lambda c=cluster, r=own: self.is_written(c, table, r), 60)

        def arrived():
            try:
                return all(ends.items() <= self.content(cluster, table).items() for cluster in self.clusters.values())
            except (OSError, AssertionError, data_api.Refused):
                return False
        harness.wait_for("all has arrived at both", arrived, 90)

    def test_conflicting_writes_of_both_converge(self):
        for cluster in self.clusters.values():
            cluster.create_table("both", partitions=PARTITIONS, replicas=2)
        self.shell("add_dup both c2", of=self.source)
        self.shell("add_dup both c1", of=self.target)
        for cluster in self.clusters.values():
            self.wait_begun_at(cluster, "both")
        seed = random.randrange(1 << 30)
        print("seed", seed)
        writers = {name: [Conflicting(cluster.meta.address, "both", f"{name} {i}", seed + i) for i in range(3)]
                   for name, cluster in self.clusters.items()}
        for threads in writers.values():
            for thread in threads:
                thread.start()
                self.addCleanup(thread.stopped.set)
        for _ in range(KILLS):
            time.sleep(random.uniform(1, 4))
            self.kill_and_start(random.choice([server for cluster in self.clusters.values() for server in cluster.replicas]))
            self.wait_whole("both")
            self.wait_caught_up("both")
        for threads in writers.values():
            for thread in threads:
                thread.stop()
        self.wait_whole("both")
        self.drain("both")
        here, there = (self.content(cluster, "both") for cluster in self.clusters.values())
        self.assertEqual(here, there)
        written = {name: sum(thread.acknowledged for thread in threads) for name, threads in writers.items()}
        removed = {name: sum(thread.removed for thread in threads) for name, threads in writers.items()}
        keys = [set().union(*(thread.keys for thread in threads)) for threads in writers.values()]
        print(f"{written} writes, {removed} removes, {KILLS} kills, {len(keys[0] & keys[1])} records of both, "
              f"{len(here) - 128} of {KEYS} left")
        self.assertGreaterEqual(min(written.values()), WRITES_MIN)
        self.assertGreaterEqual(min(removed.values()), WRITES_MIN // 10)
        self.assertGreaterEqual(len(keys[0] & keys[1]), CONFLICTS_MIN)
        # Both have copies that agree, tombstones or not: whoever leads next judges alike.
        for name, cluster in self.clusters.items():
            self.kill_and_start(random.choice(cluster.replicas))
        self.wait_whole("both")
        self.drain("both")
        here, there = (self.content(cluster, "both") for cluster in self.clusters.values())
        self.assertEqual(here, there)


if __name__ == "__main__":
    unittest.main(verbosity=2)
