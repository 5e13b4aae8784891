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

    def test_two_shared_logs_are_refused(self):
        root = self.roots[0]
        shutil.copytree(os.path.join(root, 'd1/replica/slog'), os.path.join(root, 'd2/replica/slog'))
        code, _, error = arion_log('upgrade-check', root)
        self.assertEqual(code, 1)
        self.assertIn('two shared logs', error)


if __name__ == '__main__':
    ARION_LOG, OPEN_OLD = sys.argv.pop(1), sys.argv.pop(1)
    unittest.main()
