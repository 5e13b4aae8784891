#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Our server took a shared log over, then the power went (the simulated disk of the crash tests), then `prepare-rollback`
ran, with more power cuts in between: the old version, played by the model, opens what is left and finds every
acknowledged row, with the shared log and without it.

  rollback_crash_test.py TEST_LEGACY
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import old_directory
import old_version_model as model

TEST_LEGACY = None
MEMORY = '/dev/shm'
BALLOTS = {'2.1': 3, '2.2': 2}
ACKNOWLEDGED = range(1, 9)  # decree 9 was prepared only


def rows_of(ballot):
    rows = {}
    for decree in ACKNOWLEDGED:
        rows[b'\0\1hk%d' % (decree % 7)] = b'b%dd%d' % (ballot, decree)
    return rows


class RollbackAfterPowerCuts(unittest.TestCase):
    def check(self, root):
        replicas = old_directory.start_old_version(root)
        self.assertIsInstance(replicas, dict, 'the old version refuses the shared log')
        self.assertEqual(set(replicas), set(BALLOTS))
        for pid, ballot in BALLOTS.items():
            self.assertEqual(replicas[pid].state(), {'applied': 8, 'prepared': [9], 'ballot': ballot, 'hole': False})
            self.assertEqual(replicas[pid].rows, rows_of(ballot))

    def test_A22_A24_S9_S12_S14_the_old_version_finds_every_acknowledged_row_after_power_cuts_and_prepare_rollback(self):
        top = tempfile.mkdtemp(prefix='arion-old-', dir=MEMORY if os.path.isdir(MEMORY) else None)
        self.addCleanup(shutil.rmtree, top)
        subprocess.run([TEST_LEGACY, '--gtest_filter=PrepareRollbackCrash.*', '--gtest_brief=1'], check=True, timeout=900,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       env=dict(os.environ, ARION_LEGACY_CRASH_OUT=top))
        roots = [os.path.join(top, name) for name in os.listdir(top)]
        self.assertGreater(len(roots), 50)
        emptied = 0
        for root in roots:
            os.makedirs(os.path.join(root, 'd2/replica/reps'))
            slog = os.path.join(root, 'd1/replica/slog')
            emptied += all(name.endswith('.set-aside') for name in os.listdir(slog))
            with self.subTest(root=os.path.basename(root)):
                self.check(root)
                shutil.rmtree(slog)
                os.makedirs(slog)
                self.check(root)
        self.assertGreater(emptied, 20, 'prepared for 2.3')
        self.assertLess(emptied, len(roots))
        print(f'{len(roots)} directories after power cuts, {emptied} of them prepared for 2.3')


if __name__ == '__main__':
    TEST_LEGACY = sys.argv.pop(1)
    unittest.main()
