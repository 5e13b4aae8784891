#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Our server against the model of the old version, on generated old directories.

  generated_directories_test.py OPEN_OLD [--count=200] [--first=1] [--replicas=N --writes=N]

For each seed: the model starts on a directory; so does our server; both must stand at the same decrees
with the same rows. Then the old version (the model) starts on what our server left, once with the shared
log still there and once without it: the same again (legacy/FORMAT.md S-9, A-24 with the model in place of the binary).
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import old_directory
import old_version_model as model

OPTIONS = {'count': 200, 'first': 1, 'replicas': 0, 'writes': 0}
OPEN_OLD = None
PROCESSES = 4  # they mostly wait
MEMORY = '/dev/shm'  # where syncs cost nothing
SPEC = os.environ.get('ARION_SPEC_FIXTURES') or os.path.join(
    os.path.dirname(__file__), '../../../shared/spec/fixtures')
REAL = (os.environ.get('ARION_FIXTURES') or os.path.join(
    os.path.dirname(__file__), '../../../shared/fixtures')) + '/slog-2.5.0'


def needs(path):
    return unittest.skipIf(not os.path.exists(path) and os.environ.get('CI') != 'true', path + ' is not here')


class Model(unittest.TestCase):
    @needs(REAL)
    def test_the_model_reads_every_real_fixture_as_the_old_version_did(self):
        names = [n for n in sorted(os.listdir(REAL)) if os.path.isdir(os.path.join(REAL, n))]
        self.assertEqual(len(names), 16)
        for name in names:
            self.assertIsNone(model.check_fixture(os.path.join(REAL, name)), name)

    def replay(self, plog, slogs):
        replica = model.Replica(0, 3, 6500, 0)
        if plog:
            for m in model.LogFolder(os.path.join(SPEC, plog)).mutations:
                replica.private(m)
        for slog in slogs:
            for m in model.LogFolder(os.path.join(SPEC, slog)).mutations:
                if m.pid == (2, 1):
                    replica.shared(m)
        return (replica.applied, sorted(replica.prepared), replica.ballot, replica.plog_max,
                replica.plog_committed, [m.decree for m in replica.appended], replica.hole)

    @needs(SPEC)
    def test_the_replay_vectors_R_1_to_R_7(self):
        three, hole = 'slog-three-files', 'slog-rollback-hole'
        self.assertEqual(self.replay('plog-basic', []), (3, [4], 4, 4, 3, [], False))
        self.assertEqual(self.replay('plog-torn-tail', []), (2, [3], 3, 3, 2, [], False))
        self.assertEqual(self.replay('plog-basic', [three]), (3, [4], 4, 4, 3, [], False))
        self.assertEqual(self.replay(None, [three]), (2, [3], 3, 0, 0, [1, 2, 3], False))
        self.assertEqual(self.replay('plog-reproposed', []), (2, [3], 4, 3, 2, [], False))
        self.assertEqual(self.replay('plog-hole', [])[0::6], (2, True))
        r7 = self.replay('plog-basic', [three, hole])
        self.assertEqual((r7[0], r7[2], r7[5], r7[6]), (3, 5, [10, 11], True))

    @needs(SPEC)
    def test_what_the_old_version_refuses(self):
        for name in ('plog-offset-gap', 'plog-bad-crc', 'plog-zero-tail'):
            self.assertEqual(model.LogFolder(os.path.join(SPEC, name)).error, 'CORRUPT', name)
        empty = model.LogFolder(os.path.join(SPEC, 'plog-empty-last'))
        self.assertEqual((empty.error, empty.renamed, empty.end), (None, ['log.2.416'], 416))
        self.assertIsNone(model.LogFolder(os.path.join(SPEC, 'plog-stray-names')).error)


class Generated(unittest.TestCase):
    def open_all(self, how, roots):
        running = [subprocess.Popen([OPEN_OLD, how] + roots[i::PROCESSES], stdout=subprocess.PIPE)
                   for i in range(min(PROCESSES, len(roots)))]
        found = {}
        for process in running:
            out = process.communicate(timeout=600)[0]
            self.assertEqual(process.returncode, 0)
            for line in out.decode().splitlines():
                opened = json.loads(line)
                found[opened['directory']] = opened
        return [found[root] for root in roots]

    def test_A24_A25_S2_S3_S9_S10_we_find_what_the_old_version_finds_and_it_finds_what_we_leave(self):
        top = tempfile.mkdtemp(prefix='arion-old-', dir=MEMORY if os.path.isdir(MEMORY) else None)
        self.addCleanup(shutil.rmtree, top)
        seeds = range(OPTIONS['first'], OPTIONS['first'] + OPTIONS['count'])
        roots = [os.path.join(top, str(seed)) for seed in seeds]
        expected = []
        for seed, root in zip(seeds, roots):
            old_directory.generate(seed, root, OPTIONS['replicas'], OPTIONS['writes'])
            expected.append(old_directory.start_old_version(root))
        taken = 0
        for how in ('killed', 'clean'):
            for seed, root, want, got in zip(seeds, roots, expected, self.open_all(how, roots)):
                with self.subTest(seed=seed, start=how):
                    self.assertNotIn('refused', got)
                    taken += got['taken']
                    self.assertEqual(set(got['replicas']), set(want))
                    for pid, replica in want.items():
                        self.compare(pid, replica, got['replicas'][pid])
        self.assertGreater(taken, OPTIONS['count'], 'the shared logs mattered')
        for seed, root, want in zip(seeds, roots, expected):
            for without_shared_log in (False, True):
                if without_shared_log:
                    shutil.rmtree(os.path.join(root, 'd1/replica/slog'))
                    os.makedirs(os.path.join(root, 'd1/replica/slog'))
                with self.subTest(seed=seed, back=True, without_shared_log=without_shared_log):
                    back = old_directory.start_old_version(root)
                    for pid, replica in want.items():
                        self.assertEqual(back[pid].rows, replica.rows, pid)
                        self.assertEqual(back[pid].state(), replica.state(), pid)

    def compare(self, pid, replica, got):
        want = replica.state()
        self.assertFalse(want['hole'], pid)
        self.assertEqual(got['applied'], want['applied'], pid)
        self.assertEqual(got['ballot'], want['ballot'], pid)
        prepared = [decree for decree in want['prepared'] if decree not in replica.overruled]
        self.assertEqual(got['prepared'], max(prepared or [want['applied']]), pid)


if __name__ == '__main__':
    for word in [w for w in sys.argv[1:] if w.startswith('--')]:
        name, _, value = word[2:].partition('=')
        if name in OPTIONS:
            OPTIONS[name] = int(value)
            sys.argv.remove(word)
    OPEN_OLD = sys.argv.pop(1)
    unittest.main()
