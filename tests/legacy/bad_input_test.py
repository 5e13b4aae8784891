#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A real server on old directories that it must refuse, or wait for: named, and nothing changed.

  ARION_BUILD=build tests/legacy/bad_input_test.py [Test.case]
"""
import os
import shutil
import subprocess
import time
import unittest

import old_clusters_test
import old_directory
import old_version_model as model
from old_clusters_test import harness


def contents(root):
    found = {}
    for directory, _, names in os.walk(root):
        for name in names:
            if not name.startswith('.arion-'):  # says who held it last
                path = os.path.join(directory, name)
                with open(path, 'rb') as file:
                    found[os.path.relpath(path, root)] = file.read()
    return found


class BadInput(old_clusters_test.OldCluster):
    servers = 1

    def setUp(self):
        super().setUp()
        self.server = self.cluster.replicas[0]
        self.data = self.server.data_directories()[0]
        self.slog = os.path.join(self.server.directory, 'replica', 'slog')

    def mount(self, size):
        """The server's directory on a file system of its own."""
        done = subprocess.run(['mount', '-t', 'tmpfs', '-o', f'size={size}', 'tmpfs', self.server.directory],
                              capture_output=True, text=True)
        if done.returncode != 0:
            self.skipTest('no file system can be mounted here: ' + done.stderr)
        self.addCleanup(subprocess.run, ['umount', '-l', self.server.directory])
        self.addCleanup(self.server.kill)  # first
        self.write_older_config(self.server)
        self.server.log = os.path.join(self.cluster.directory, 'log')

    def fill(self, first=1, last=60, value=b'v' * 100, app_id=1, others=()):
        """One replica, all of it in a shared log of three files, beside others that have no directory."""
        shared = model.LogWriter(5, 7000)
        pid = (app_id, 0)
        shared.entries[pid] = (0, 0)
        for decree in range(first, last + 1):
            if (decree - first) % ((last - first + 3) // 3) == 0:
                shared.new_file()
            put = model.put(b'\0\1h%d' % decree, value)
            shared.append([model.Mutation(each, 3, decree, decree - 1, [put]) for each in (pid, *others)])
        shared.save(self.slog)
        self.replica = os.path.join(self.reps(self.server), '1.0.pegasus')
        old_directory.write_info(self.replica, (1, 0))
        os.makedirs(os.path.join(self.replica, 'plog'))

    def expect_end(self, *named):
        self.server.start()
        harness.wait_for('the server ends', lambda: not self.server.is_running(), 30)
        self.assertNotEqual(self.server.process.returncode, 0)
        text = '\n'.join(self.server.last_lines(200))
        for name in named:
            self.assertIn(name, text)

    def expect_refusal(self, *named):
        before = contents(self.data), contents(self.slog)
        self.expect_end(*named)
        self.assertEqual((contents(self.data), contents(self.slog)), before)

    def metric(self, name):
        return harness.value_of(harness.metrics(self.server), name)

    def start_and_wait_for(self, taken):
        self.server.start()
        self.cluster.wait_listening(self.server)
        harness.wait_for(f'{taken} mutations are taken over',
                         lambda: self.metric('arion_shared_log_taken_mutations_total') == taken, 30)

    def test_two_shared_logs_are_refused_and_named(self):
        self.fill()
        other = os.path.join(self.data, 'replica', 'slog')
        shutil.copytree(self.slog, other)
        self.expect_refusal(self.slog, other)

    def test_a_hole_in_the_indexes_is_refused_and_named(self):
        self.fill()
        middle = sorted(os.listdir(self.slog))[1]
        os.remove(os.path.join(self.slog, middle))
        self.expect_refusal('log.7.')

    def test_another_clusters_files_are_kept_and_named(self):
        self.fill(app_id=77)
        before = contents(self.slog)
        self.start_and_wait_for(0)
        harness.wait_for('it is said', lambda: any('none of the replicas it holds' in line
                                                   for line in self.server.last_lines(200)), 20)
        self.assertEqual(contents(self.slog), before)

    def test_another_clusters_files_whose_decrees_join_are_refused_by_a_committed_record_that_differs(self):
        self.fill()
        private = model.LogWriter(1, 0)
        private.entries[(1, 0)] = (0, 0)
        private.new_file()
        for decree in range(1, 41):
            private.append([model.Mutation((1, 0), 3, decree, decree - 1, [model.put(b'\0\1h%d' % decree, b'ours')])])
        private.save(os.path.join(self.replica, 'plog'))
        before = contents(self.slog)
        self.expect_end('log.6.', 'of replica 1.0 under ballot 3 is another record', 'not of one server')
        self.assertEqual(contents(self.slog), before)
        found = model.LogFolder(os.path.join(self.replica, 'plog')).mutations  # the open tail may be there twice
        self.assertEqual({m.decree for m in found}, set(range(1, 41)))
        rows = {}
        for name, _, data in (update for m in found for update in m.updates):
            model.apply_update(rows, name, data)
        self.assertEqual((len(rows), set(rows.values())), (40, {b'ours'}))

    def test_S16_A19_an_empty_folder_where_a_disk_is_not_mounted_is_not_used_and_the_log_waits_for_its_replicas(self):
        self.fill(others=[(1, 1)])
        unmounted = os.path.join(self.server.directory, 'data1')
        os.makedirs(unmounted)
        with open(self.server.config) as file:
            config = file.read()
        with open(self.server.config, 'w') as file:
            file.write(config.replace('/data0\n', f'/data0,ssd1:{unmounted}\n'))
        before = contents(self.slog)
        self.start_and_wait_for(60)
        self.assertTrue(any('is its disk mounted?' in line for line in self.server.last_lines(200)))
        harness.wait_for('it is known who holds the log back',
                         lambda: self.metric('arion_shared_log_missing_replicas') == 1, 20)
        time.sleep(3 * self.collection_ms / 1000)
        self.assertEqual((contents(self.slog), os.listdir(unmounted)), (before, []))
        self.server.kill()
        self.server.start(['--new_data_directories=ssd1'])
        self.cluster.wait_listening(self.server)
        harness.wait_for('it is used', lambda: os.listdir(unmounted) == ['replica'], 20)

    def test_a_read_only_disk_is_refused_and_named(self):
        self.mount('64m')
        self.fill()
        subprocess.run(['mount', '-o', 'remount,ro', self.server.directory], check=True)
        self.addCleanup(subprocess.run, ['mount', '-o', 'remount,rw', self.server.directory])
        self.expect_refusal(self.data)

    def test_a_full_disk_is_waited_for(self):
        self.mount('16m')
        self.fill(last=300, value=b'v' * 10000)
        with open(os.path.join(self.server.directory, 'ballast'), 'wb') as file:
            try:
                while True:
                    file.write(b'x' * 65536)
                    file.flush()
            except OSError:
                pass
        before = contents(self.slog)
        self.server.start()
        harness.wait_for('it is said', lambda: any('space' in line.lower() for line in self.server.last_lines(200)), 30)
        self.assertEqual(contents(self.slog), before)
        self.assertTrue(os.path.exists(self.replica), 'not set aside')
        os.remove(os.path.join(self.server.directory, 'ballast'))
        subprocess.run(['mount', '-o', 'remount,size=512m', self.server.directory], check=True)
        if not self.server.is_running():
            self.server.start()
        self.cluster.wait_listening(self.server)
        harness.wait_for('all is taken over and durable', lambda: os.listdir(self.slog) == [] or
                         self.metric('arion_shared_log_blocking_decrees') == 1, 60)
        self.server.kill()
        plog = model.LogFolder(os.path.join(self.replica, 'plog'))
        self.assertEqual({m.decree for m in plog.mutations}, set(range(1, 301)))

    def test_a_directory_of_somebody_else_is_refused_and_named(self):
        self.fill()
        for directory, _, _ in os.walk(self.cluster.directory):
            os.chmod(directory, 0o755)
        os.chmod(self.server.config, 0o644)
        shutil.copy(os.path.join(harness.BUILD, 'arion_replica'), self.cluster.directory)
        before = contents(self.data), contents(self.slog)
        done = subprocess.run([os.path.join(self.cluster.directory, 'arion_replica'), f'--config={self.server.config}'],
                              user=65534, capture_output=True, text=True, timeout=30, cwd='/')
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(self.data, done.stderr)
        self.assertEqual((contents(self.data), contents(self.slog)), before)


if __name__ == '__main__':
    unittest.main(verbosity=2)
