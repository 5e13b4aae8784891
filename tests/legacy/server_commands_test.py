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

    def with_the_shared_log_elsewhere(self):
        """A server that ours opened, its shared log on a disk of its own and replicas whose records there are void."""
        root = self.roots[0]
        for directory, _, names in os.walk(root):
            if '.init-info' not in names:
                continue
            with open(os.path.join(directory, '.init-info')) as file:
                info = dict(json.load(file), init_offset_in_shared_log=6500)
            with open(os.path.join(directory, '.init-info'), 'w') as file:
                json.dump(info, file, separators=(',', ':'))
        self.opened_by_ours([root])
        ssd = os.path.join(self.top, 'ssd')
        os.makedirs(os.path.join(ssd, 'replica'))
        slog = shutil.move(os.path.join(root, 'd1/replica/slog'), os.path.join(ssd, 'replica/slog'))
        return [os.path.join(root, disk) for disk in ('d1', 'd2')], slog

    def offsets(self):
        return {json.loads(data)['init_offset_in_shared_log'] for name, data in contents(self.roots[0]).items()
                if name.endswith('.init-info')}

    def test_S18_back_to_2_3_offsets_stay_while_nobody_says_where_the_shared_log_is(self):
        disks, slog = self.with_the_shared_log_elsewhere()
        self.assertIn(6500, self.offsets())
        self.assertTrue(os.listdir(slog))
        before = contents(self.top)
        for words in ([], ['--yes']):
            code, out, error = arion_log('prepare-rollback', '--to=2.3', *words, *disks)
            self.assertEqual(code, 1, out)
            self.assertIn('slog_dir', error)
            self.assertIn('--no_shared_log', error)
            self.assertEqual(contents(self.top), before)
        code, _, error = arion_log('prepare-rollback', '--to=2.3', '--no_shared_log', '--yes', *disks, slog)
        self.assertEqual(code, 1, 'there is one')
        self.assertIn(slog, error)
        self.assertEqual(contents(self.top), before)
        code, out, error = arion_log('prepare-rollback', '--to=2.3', '--no_shared_log', '--yes', *disks)
        self.assertEqual(code, 0, error)
        self.assertIn('shared log: none\n', out)
        self.assertEqual(self.offsets(), {0})

    def test_the_shared_logs_own_folder_can_be_named(self):
        disks, slog = self.with_the_shared_log_elsewhere()
        self.assertIn('shared log ' + slog, arion_log('upgrade-check', *disks, slog)[1])
        logs = sorted(os.listdir(slog))
        code, out, error = arion_log('prepare-rollback', '--to=2.3', '--yes', *disks, slog)
        self.assertEqual(code, 0, error)
        self.assertIn('shared log: %s\n' % slog, out)
        self.assertEqual(sorted(os.listdir(slog)), [log + '.set-aside' for log in logs])
        self.assertEqual(self.offsets(), {0})

    def test_files_set_aside_and_an_empty_folder_are_proof_that_no_shared_log_is_left(self):
        disks, slog = self.with_the_shared_log_elsewhere()
        for log in os.listdir(slog):  # as if it ended before the offsets were zeroed
            os.rename(os.path.join(slog, log), os.path.join(slog, log + '.set-aside'))
        renamed = shutil.copytree(slog, os.path.join(self.top, 'by-another-name'))
        empty = os.path.join(self.top, 'empty/slog')
        os.makedirs(empty)
        for folder in (slog, os.path.dirname(slog), renamed, empty):
            code, out, error = arion_log('prepare-rollback', '--to=2.3', *disks, folder)
            self.assertEqual(code, 0, error)
            self.assertIn('shared log: none left in ' + folder, out)
            self.assertIn('6500 -> 0', out)

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
