#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""arion_log who, coverage, upgrade-check and prepare-rollback on generated old directories.

  server_commands_test.py ARION_LOG OPEN_OLD
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

ARION_LOG = OPEN_OLD = None
MEMORY = '/dev/shm'
SEEDS = range(1, 21)


def arion_log(*words):
    done = subprocess.run([ARION_LOG, *words], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def contents(root):
    found = {}
    for directory, _, names in os.walk(root):
        for name in names:
            if name == '.arion-lock':  # says who held it last
                continue
            with open(os.path.join(directory, name), 'rb') as file:
                found[os.path.relpath(os.path.join(directory, name), root)] = file.read()
    return found


class ServerCommands(unittest.TestCase):
    def setUp(self):
        self.top = tempfile.mkdtemp(prefix='arion-old-', dir=MEMORY if os.path.isdir(MEMORY) else None)
        self.addCleanup(shutil.rmtree, self.top)
        self.roots = [os.path.join(self.top, str(seed)) for seed in SEEDS]
        for seed, root in zip(SEEDS, self.roots):
            old_directory.generate(seed, root)

    def start(self):
        out = subprocess.run([OPEN_OLD, 'killed'] + self.roots, stdout=subprocess.PIPE, timeout=300,
                             check=True).stdout
        return [json.loads(line) for line in out.decode().splitlines()]

    def test_upgrade_check_and_coverage_foretell_a_start_and_change_nothing(self):
        foretold = []
        for root in self.roots:
            before = contents(root)
            code, out, error = arion_log('upgrade-check', root)
            self.assertEqual(code, 0, error)
            self.assertIn('READY', out)
            code, out, error = arion_log('coverage', '-j', root)
            self.assertEqual(code, 0, error)
            foretold.append(sum(json.loads(line).get('taken', 0) for line in out.splitlines()))
            self.assertEqual(arion_log('who', root)[0], 0)
            self.assertEqual(contents(root), before)
        self.assertEqual([opened['taken'] for opened in self.start()], foretold)
        self.assertGreater(sum(foretold), 0)

    def test_rolled_back_to_2_3_all_is_there_without_the_shared_log(self):
        expected = [old_directory.start_old_version(root) for root in self.roots]
        lacking = [root for root in self.roots if 'takes ' in arion_log('coverage', root)[1].replace(
            'takes nothing', '')]
        self.assertTrue(lacking)
        code, _, error = arion_log('prepare-rollback', '--to=2.3', '--yes', lacking[0])
        self.assertEqual(code, 1, 'it would lose what only the shared log has')
        self.assertIn('start our server', error)
        self.start()
        for root, want in zip(self.roots, expected):
            before = contents(root)
            self.assertEqual(arion_log('prepare-rollback', '--to=2.3', root)[0], 0)
            self.assertEqual(contents(root), before, 'only said so')
            code, _, error = arion_log('prepare-rollback', '--to=2.3', '--yes', root)
            self.assertEqual(code, 0, error)
            once = contents(root)
            self.assertFalse([n for n in once if n.endswith('.arion-log') or '/spare.' in n])
            self.assertFalse([n for n in once if '/slog/' in n and not n.endswith('.set-aside')])
            for name, data in once.items():
                if name.endswith('.init-info'):
                    self.assertEqual(json.loads(data)['init_offset_in_shared_log'], 0)
            self.assertIn('nothing to do', arion_log('prepare-rollback', '--to=2.3', '--yes', root)[1])
            self.assertEqual(contents(root), once)
            back = old_directory.start_old_version(root)
            for pid, replica in want.items():
                self.assertEqual(back[pid].rows, replica.rows, (root, pid))
                self.assertEqual(back[pid].state(), replica.state(), (root, pid))

    def opened_by_ours(self, roots):
        subprocess.run([OPEN_OLD, 'killed'] + roots, stdout=subprocess.DEVNULL, timeout=300, check=True)

    def test_A28_S12_servers_that_ours_opened_and_those_it_did_not_go_back_alike(self):
        expected = [old_directory.start_old_version(root) for root in self.roots]
        self.opened_by_ours(self.roots[::2])
        for root in self.roots[::2]:
            self.assertEqual(arion_log('prepare-rollback', '--yes', root)[0], 0)
        for root, want in zip(self.roots, expected):
            back = old_directory.start_old_version(root)
            for pid, replica in want.items():
                self.assertEqual((back[pid].rows, back[pid].state()), (replica.rows, replica.state()), (root, pid))

    def write_as_2_3(self, root):
        """A server of 2.3 writes to each replica and is killed before anything reaches the private logs. The rows then."""
        shared = model.LogWriter(1, 0)
        replicas = old_directory.start_old_version(root)
        pids = {pid: tuple(map(int, pid.split('.'))) for pid in replicas}
        shared.entries = {pids[pid]: (0, 0) for pid in replicas}
        shared.new_file()
        rows = {}
        for pid, replica in sorted(replicas.items()):
            for m in replica.prepared.values():
                for name, _, data in m.updates:
                    model.apply_update(replica.rows, name, data)
            last = max(list(replica.prepared) + [replica.applied])
            for n in range(1, 31):
                put = model.put(b'\0\1hnew%d' % n, b'%d' % n)
                shared.append([model.Mutation(pids[pid], replica.ballot, last + n, last + n - 1, [put])])
                if n < 30:  # the last one is prepared only
                    model.apply_update(replica.rows, put[0], put[2])
            rows[pid] = replica.rows
        shared.save(os.path.join(root, 'd1/replica/slog'))
        return rows

    def test_A26_S11_what_2_3_writes_after_a_rollback_survives_its_kill_as_offsets_are_zero(self):
        self.opened_by_ours(self.roots)
        lost = 0
        for root in self.roots:
            self.assertEqual(arion_log('prepare-rollback', '--to=2.3', '--yes', root)[0], 0)
            rows = self.write_as_2_3(root)
            back = old_directory.start_old_version(root)
            self.assertEqual({pid: replica.rows for pid, replica in back.items()}, rows, root)
            for name, data in contents(root).items():
                if name.endswith('.init-info'):  # what would be if they were left as they were
                    info = dict(json.loads(data), init_offset_in_shared_log=6500)
                    with open(os.path.join(root, name), 'w') as file:
                        json.dump(info, file)
            back = old_directory.start_old_version(root)
            lost += sum(back[pid].rows != rows[pid] for pid in rows)
        self.assertGreater(lost, 0)

    def test_two_shared_logs_are_refused(self):
        root = self.roots[0]
        shutil.copytree(os.path.join(root, 'd1/replica/slog'), os.path.join(root, 'd2/replica/slog'))
        code, _, error = arion_log('upgrade-check', root)
        self.assertEqual(code, 1)
        self.assertIn('two shared logs', error)

    def test_upgrade_check_refuses_a_shared_log_of_another_server_with_joining_decrees(self):
        root = self.roots[0]
        for number, value in ((1, b'ours'), (2, b'theirs')):  # the second one only for its shared log
            writer = model.LogWriter(1, 0)
            writer.entries[(1, 0)] = (0, 0)
            writer.new_file()
            for decree in range(1, 10 * number + 1):
                writer.append([model.Mutation((1, 0), 3, decree, decree - 1, [model.put(b'\0\1h', value)])])
            if number == 1:
                shutil.rmtree(root)
                old_directory.write_info(os.path.join(root, 'd1/replica/reps/1.0.pegasus'), (1, 0))
            writer.save(os.path.join(root, 'd1/replica', 'reps/1.0.pegasus/plog' if number == 1 else 'slog'))
        before = contents(root)
        code, out, error = arion_log('upgrade-check', root)
        self.assertEqual(code, 1, out)
        self.assertIn('of replica 1.0 under ballot 3 is another record', error)
        self.assertEqual(contents(root), before)


if __name__ == '__main__':
    ARION_LOG, OPEN_OLD = sys.argv.pop(1), sys.argv.pop(1)
    unittest.main()
