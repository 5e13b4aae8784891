#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""By hand, bench/RESULTS.md G19: from 2.3 to ours and back, again and again, under load, with kill -9 at random
points; the model of the old version stands for its binary.

  ARION_BUILD=build tests/legacy/upgrade_and_back.py [--kills=200 --seed=N]

A round: three servers of 2.3 (the model) have written, all of it to their shared logs and some of it to the private ones,
and died. Ours take over, killed meanwhile; their meta server rebuilds the tables; the Go client writes while servers are
killed at random points. All end, some cleanly and some by kill -9, `arion_log prepare-rollback` runs, killed as well and
run again, and 2.3 (the model, with rocksdbjni 6.6.4 for the data) must find every acknowledged write, old and new. Then it
goes on writing, and the next round begins. Ends when there were that many kills and the round is over.
"""
import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import old_clusters_test
import old_version_model as model
from old_clusters_test import data_api, harness, kill_test

OPTIONS = None
PER_ROUND = 24  # kills of servers while they serve


class UpgradeAndBack(old_clusters_test.UnderLoad):
    def reps_of(self, server):
        return {name.removesuffix('.pegasus'): os.path.join(self.reps(server), name)
                for name in sorted(os.listdir(self.reps(server))) if name.endswith('.pegasus')}

    # ---- 2.3, by the model ----

    def write_as_2_3(self, count, replicas):
        """Servers of 2.3 write `count` records and are killed. `replicas`: {partition: what its primary stands at}."""
        pids = [(1, p) for p in range(self.partitions)]
        shared = model.LogWriter(1, 0)
        shared.entries = dict.fromkeys(pids, (0, 0))
        shared.new_file()
        state, order = {}, {pid: [] for pid in pids}
        for pid in pids:
            replica = replicas.get('%d.%d' % pid) or model.Replica(0, 2)
            ballot, last = replica.ballot + 1, replica.applied
            for decree in sorted(replica.prepared):  # proposed anew
                order[pid].append(model.Mutation(pid, ballot, decree, replica.applied, replica.prepared[decree].updates))
                last = decree
            state[pid] = ballot, last
            if order[pid]:
                shared.append(order[pid])
        for n in range(count):
            key = b'old%d-%08d' % (self.round, n)
            pid = (1, data_api.crc64(key) % self.partitions)
            ballot, last = state[pid]
            m = model.Mutation(pid, ballot, last + 1, last, [old_clusters_test.struct_value(key, self.value_of(key))],
                               1700000000000000 + n)
            state[pid] = ballot, last + 1
            order[pid].append(m)
            self.keys.append(key.decode())
            shared.append([m])
            if self.rng.random() < 0.01:
                shared.new_file()
        for server in self.cluster.replicas:
            slog = os.path.join(server.directory, 'replica', 'slog')
            shutil.rmtree(slog, ignore_errors=True)
            shared.save(slog)
            for pid in pids:
                self.append_private(server, pid, order[pid][:self.rng.randint(0, len(order[pid]))])

    def append_private(self, server, pid, mutations):
        directory = os.path.join(self.reps(server), '%d.%d.pegasus' % pid)
        if not os.path.exists(directory):
            return self.write_replica(server, pid, mutations)
        folder = model.LogFolder(os.path.join(directory, 'plog'))
        last = max((int(name.split('.')[1]) for name in folder.files), default=0)
        log = model.LogWriter(last + 1, folder.end)
        log.entries[pid] = (max((m.decree for m in folder.mutations), default=0), 0)
        log.new_file()
        for m in mutations:
            log.append([m])
        return log.save(os.path.join(directory, 'plog'))

    def start_as_2_3(self):
        """{partition: its best replica}; every member then has what that one has, as after it learned (legacy/FORMAT.md A-25)."""
        directories = {server.name: self.reps_of(server) for server in self.cluster.replicas}
        engines = [os.path.join(path, 'data', 'rdb') for found in directories.values() for path in found.values()]
        rows, meta = old_clusters_test.rows_as_older_rocksdb_reads(engines)
        best = {}
        for name, found in directories.items():
            for pid, path in found.items():
                at = os.path.join(path, 'data', 'rdb')
                info = model.read_info(path)
                self.assertEqual(info['init_offset_in_shared_log'], 0)
                replica = model.Replica(int(meta[at]['pegasus_last_flushed_decree']), info['init_ballot'], 0,
                                        info['init_offset_in_private_log'],
                                        {key: value for key, (value, _) in rows[at].items()})
                folder = model.LogFolder(os.path.join(path, 'plog'))
                self.assertIsNone(folder.error, path)
                for m in folder.mutations:
                    replica.private(m)
                self.assertFalse(replica.hole, path)
                rank = replica.ballot, max([replica.applied, *replica.prepared])
                if pid not in best or rank > best[pid][0]:
                    best[pid] = rank, replica, path
        for pid, (_, _, path) in best.items():
            for server in self.cluster.replicas:
                other = os.path.join(self.reps(server), pid + '.pegasus')
                if other != path:
                    shutil.rmtree(other, ignore_errors=True)
                    shutil.copytree(path, other)
        return {pid: replica for pid, (_, replica, _) in best.items()}

    def expect_all(self, replicas):
        held = {}
        for replica in replicas.values():
            held.update(replica.rows)
            for decree in sorted(replica.prepared):
                for name, _, data in replica.prepared[decree].updates:
                    model.apply_update(held, name, data)
        lost = [key for key in self.keys
                if held.get(data_api.raw_key(key.encode(), b's')) != self.value_of(key.encode())]
        self.lost += len(lost)
        self.assertEqual(lost[:20], [], f'{len(lost)} of {len(self.keys)} are lost, seed {OPTIONS.seed}')

    # ---- ours ----

    def come_over(self):
        shutil.rmtree(self.cluster.meta.data_directories()[0], ignore_errors=True)
        os.makedirs(self.cluster.meta.data_directories()[0])
        self.cluster.meta.start()
        self.cluster.wait_listening(self.cluster.meta)
        for server in self.cluster.replicas:
            for _ in range(self.rng.randint(0, 2)):
                self.kill_while_it_takes_over(self.rng, server)
                self.kills += 1
        self.cluster.start()
        self.recover(exit_code=4)
        self.cluster.wait_healthy('temp', seconds=180)

    def write_under_kills(self):
        writer = kill_test.Writer(
            [harness.go_client('apache'), '-meta', self.cluster.meta.address, '-threads', '4', '-prefix',
             f'new{self.round}', '-timeout', '5s', 'write'], self.keys)
        before = len(self.keys)
        harness.wait_for('writes are acknowledged', lambda: len(self.keys) > before + 100, 60)
        for _ in range(PER_ROUND):
            victim = self.rng.choice(self.cluster.replicas)
            victim.kill()
            self.kills += 1
            while self.rng.random() < 0.5:  # and again at some point of its start
                victim.start()
                time.sleep(self.rng.uniform(0, 0.5))
                victim.kill()
                self.kills += 1
            victim.start()
            self.cluster.wait_listening(victim)
            time.sleep(self.rng.uniform(0, 1.5))
            if self.rng.random() < 0.3:
                self.cluster.wait_healthy('temp', seconds=180)
        return writer

    def go_back(self, writer):
        if self.rng.random() < 0.5:
            self.cluster.wait_healthy('temp', seconds=180)
        if self.rng.random() < 0.5:
            writer.stop()
        for server in self.rng.sample(self.cluster.replicas, 3):
            if self.rng.random() < 0.5:
                self.assertEqual(server.stop(120), 0, server.name)
            else:
                server.kill()
                self.kills += 1
        self.cluster.meta.kill()
        if writer.process.poll() is None:
            writer.stop()
        for server in self.cluster.replicas:
            command = [os.path.join(harness.BUILD, 'arion_log'), 'prepare-rollback', '--to=2.3', '--yes', server.directory]
            while self.rng.random() < 0.5:
                cut_off = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                time.sleep(self.rng.uniform(0, 0.1))
                cut_off.kill()
                self.kills += cut_off.wait() != 0
            harness.run(command, cwd=tempfile.gettempdir())

    def rounds(self):
        self.rng, self.keys, self.kills, self.round, self.lost = random.Random(OPTIONS.seed), [], 0, 0, 0
        print(f'seed {OPTIONS.seed}', flush=True)
        replicas = {}
        while self.kills < OPTIONS.kills:
            self.round += 1
            self.write_as_2_3(1000, replicas)
            self.come_over()
            self.go_back(self.write_under_kills())
            replicas = self.start_as_2_3()
            self.expect_all(replicas)
            print(f'{time.strftime("%H:%M:%S")} round {self.round}: {self.kills} kills, {len(self.keys)} acknowledged '
                  f'writes, {self.lost} lost', flush=True)


def main():
    global OPTIONS
    parser = argparse.ArgumentParser()
    parser.add_argument('--kills', type=int, default=200)
    parser.add_argument('--seed', type=int, default=random.randrange(1 << 30))
    OPTIONS = parser.parse_args()
    if not old_clusters_test.has_java():
        sys.exit('needs java and mvn: rocksdbjni 6.6.4 reads what ours left')
    done = unittest.TextTestRunner().run(UpgradeAndBack('rounds'))
    return 0 if done.wasSuccessful() else 1


if __name__ == '__main__':
    sys.exit(main())
