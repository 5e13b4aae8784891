#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real servers of ours on what older servers left: the real directory of a 2.5.0 server, generated ones under load
with kills; and a meta server that lost its state.

  ARION_BUILD=build tests/legacy/old_clusters_test.py [Test.case]
"""
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'cluster'))
import data_api  # noqa: E402
import harness  # noqa: E402
import kill_test  # noqa: E402
import old_directory  # noqa: E402
import old_version_model as model  # noqa: E402

FIXTURE = os.path.join(os.environ.get('ARION_FIXTURES') or os.path.join(harness.ROOT, '../shared/fixtures'),
                       'pegasus-2.5.0')
MAVEN_REPOSITORY = os.path.join(harness.BUILD, 'tests', 'legacy', 'maven')
OLDER, NEWER = '6.6.4', '8.5.3'  # RocksDB of 2.3 to 2.5, of 2.6

# As an older server's configuration reads; what tests need different stands in our own sections.
OLDER_CONFIG = """[apps.replica]
type = replica
ports = {port}
pools = THREAD_POOL_DEFAULT,THREAD_POOL_REPLICATION
[core]
data_dir = {directory}
[replication]
cluster_name = test
slog_dir =
data_dirs = ssd0:{directory}/data0
gc_interval_ms = {collection_ms}
plog_force_flush = false
[meta_server]
server_list = {meta}
[arion.server]
listen = {address}
lease = {lease:g}s
grace = {grace:g}s
[arion.replica]
beacon_interval = 500ms
config_sync_interval = 3s
block_cache_size = 64 MiB
"""


class OldCluster(unittest.TestCase):
    servers = 3
    collection_ms = 1000

    def setUp(self):
        self.cluster = harness.Cluster(servers=self.servers)  # run() ends it
        for server in self.cluster.replicas:
            self.write_older_config(server)

    def write_older_config(self, server):
        os.makedirs(server.data_directories()[0], exist_ok=True)
        with open(server.config, 'w') as file:
            file.write(OLDER_CONFIG.format(
                port=server.address.split(':')[1], directory=server.directory, address=server.address,
                meta=self.cluster.meta.address, collection_ms=self.collection_ms, lease=2 * harness.PATIENCE,
                grace=3 * harness.PATIENCE))

    def run(self, result=None):
        before = len(result.failures) + len(result.errors)
        super().run(result)
        cluster = getattr(self, 'cluster', None)
        if cluster and len(result.failures) + len(result.errors) > before:
            cluster.print_logs()
        if cluster:
            cluster.destroy()
        return result

    def reps(self, server):
        return os.path.join(server.data_directories()[0], 'replica', 'reps')

    def shell(self, command, exit_code=0):
        done = subprocess.run([os.path.join(harness.BUILD, 'arion_shell'), '--meta', self.cluster.meta.address, '-j',
                               '-e', command], capture_output=True, text=True, timeout=120 * harness.PATIENCE)
        self.assertEqual(done.returncode, exit_code, done.stdout + done.stderr)
        return json.loads(done.stdout.splitlines()[-1])

    def recover(self, exit_code=0, options=''):
        servers = ','.join(server.address for server in self.cluster.replicas)

        def tried():
            done = subprocess.run([os.path.join(harness.BUILD, 'arion_shell'), '--meta', self.cluster.meta.address, '-j',
                                   '-e', f'recover -y -s {servers} {options}'], capture_output=True, text=True,
                                  timeout=120 * harness.PATIENCE)
            if done.returncode == 1 and ('still loads' in done.stdout or 'INACTIVE_STATE' in done.stdout):
                return None
            self.assertEqual(done.returncode, exit_code, done.stdout + done.stderr)
            return json.loads(done.stdout.splitlines()[-1])
        return harness.wait_for('recovered', tried, 60)

    def table(self, name):
        table = data_api.DataApi(self.cluster.meta.address, name)
        self.addCleanup(table.close)
        return table

    def expect_rows(self, name, rows):
        """The table holds these, {(hash key, sort key): value}, and no others."""
        table = self.table(name)
        self.assertEqual({key: table.value(*key) for key in rows}, rows)
        self.assertEqual(self.shell(f'use {name}; count_data')['count'], len(rows))
        return table

    def stop_servers(self):
        for server in self.cluster.replicas:
            if server.is_running():
                self.assertEqual(server.stop(), 0, server.name)


def rows_of_fixture():
    """{table: {(hash key, sort key): (value, expiry)}}, what has expired left out."""
    now, tables = time.time() - data_api.EPOCH, {}
    with open(os.path.join(FIXTURE, 'expected.jsonl')) as file:
        for row in map(json.loads, file):
            if row['expire_ts'] == 0 or row['expire_ts'] > now + 1000:
                key = bytes.fromhex(row['hash_key_hex']), bytes.fromhex(row['sort_key_hex'])
                tables.setdefault(row['table'], {})[key] = bytes.fromhex(row['value_hex']), row['expire_ts']
    return tables


def rocksdb_jar(version):
    kind = '-linux64' if version == NEWER else ''
    jar = os.path.join(MAVEN_REPOSITORY, f'org/rocksdb/rocksdbjni/{version}/rocksdbjni-{version}{kind}.jar')
    if not os.path.exists(jar):
        artifact = f'org.rocksdb:rocksdbjni:{version}' + (':jar:linux64' if kind else '')
        harness.run(['mvn', '-q', '-Dmaven.repo.local=' + MAVEN_REPOSITORY, 'dependency:get', '-Dartifact=' + artifact],
                    timeout=300, cwd=tempfile.gettempdir())
    return jar


def has_java():
    return bool(shutil.which('java') and shutil.which('mvn'))


def rows_as_older_rocksdb_reads(directories):
    """{directory: {raw key: (value, expiry)}}, and {directory: {meta key: text}}."""
    out = harness.run(['java', '-Xmx256m', '-cp', rocksdb_jar(OLDER), os.path.join(HERE, 'OlderRocksDb.java'), *directories])
    rows, meta, at = {}, {}, None
    for line in out.splitlines():
        kind, *rest = line.split(' ')
        if kind == 'directory':
            at = rest[0]
            rows[at], meta[at] = {}, {}
            continue
        key, value = (bytes.fromhex(text[1:]) for text in rest)
        if kind == 'default' and len(key) >= 2:
            rows[at][key] = value[12:], int.from_bytes(value[:4], 'big')
        elif kind == 'pegasus_meta_cf':
            meta[at][key.decode()] = value.decode()
    return rows, meta


@unittest.skipUnless(os.path.isdir(FIXTURE) or os.environ.get('CI') == 'true', f'{FIXTURE} is absent')
class RealDirectory(OldCluster):
    """One server has what a 2.5.0 server left, two are empty; the meta server knows nothing."""

    def test_A24_A30_S5_S9_S20_a_2_5_0_directory_is_served_written_to_and_read_again_by_rocksdb_6_6_4(self):
        first = self.cluster.replicas[0]
        shutil.copytree(os.path.join(FIXTURE, 'replica1', 'reps'), self.reps(first))
        expected = rows_of_fixture()
        self.cluster.start()
        doubtful = [row['what'] for row in self.recover(exit_code=4)['doubtful']]
        self.assertEqual(len([line for line in doubtful if '1 of 3 replicas found' in line]), 6, doubtful)
        for name, count in (('temp', 1667), ('fix2', 458)):
            self.cluster.wait_healthy(name, 3)
            rows = {key: value for key, (value, _) in expected[name].items()}
            self.assertEqual(len(rows), count)
            table = self.expect_rows(name, rows)
            for n in range(100):
                table.set(b'new%d' % n, b's', b'written by ours %d' % n)
                expected[name][b'new%d' % n, b's'] = b'written by ours %d' % n, 0
            gone = next(key for key in rows if not key[0].startswith(b'new'))
            self.assertEqual(table.remove(data_api.raw_key(*gone))['error'], data_api.OK)
            del expected[name][gone]
        self.stop_servers()

        if not has_java():
            self.skipTest('rocksdbjni did not read the rows again: needs java and mvn')
        now = time.time() - data_api.EPOCH
        for server in self.cluster.replicas:
            with self.subTest(server.name):
                directories = [os.path.join(self.reps(server), name, 'data', 'rdb')
                               for name in sorted(os.listdir(self.reps(server))) if name.endswith('.pegasus')]
                self.assertEqual(len(directories), 6)
                rows, meta = rows_as_older_rocksdb_reads(directories)
                for directory in directories:
                    self.add_private_log(directory, rows[directory], int(meta[directory]['pegasus_last_flushed_decree']))
                for app_id, name in ((1, 'temp'), (2, 'fix2')):
                    got = {}
                    for directory in directories:
                        if f'/{app_id}.' in directory:
                            got.update({key: row for key, row in rows[directory].items()
                                        if row[1] == 0 or row[1] > now})
                            self.assertEqual(meta[directory]['pegasus_data_version'], '1')
                            self.assertGreater(int(meta[directory]['pegasus_last_flushed_decree']), 0)
                    want = {data_api.raw_key(*key): row for key, row in expected[name].items()}
                    self.assertEqual(got, want)

    def add_private_log(self, directory, rows, flushed):
        """A member that is no primary knows of the last write's commit only with the next one: it is in its private log."""
        plog = model.LogFolder(os.path.join(directory, '..', '..', 'plog'))
        self.assertIsNone(plog.error)
        tail = {m.decree: m for m in plog.mutations if m.decree > flushed}
        self.assertLessEqual(len(tail), 1)
        for m in tail.values():
            late = {}
            for name, _, data in m.updates:
                self.assertIn(name, (b'RPC_RRDB_RRDB_PUT', b'RPC_RRDB_RRDB_REMOVE', b'RPC_REPLICATION_WRITE_EMPTY'))
                if name == b'RPC_RRDB_RRDB_REMOVE':
                    model.apply_update(rows, name, data)
                model.apply_update(late, name, data)
            rows.update({key: (value, 0) for key, value in late.items()})


@unittest.skipUnless(has_java(), 'rocksdbjni 8.5.3 makes the directory: needs java and mvn')
class NewerDirectory(OldCluster):
    """One server has what a 2.6 server left, two are empty; the meta server knows nothing. The private log's first file is
    younger than its header says (somebody emptied the folder): it can't bring a learner up, the checkpoint does."""

    count = 200

    def setUp(self):
        super().setUp()
        self.replica = os.path.join(self.reps(self.cluster.replicas[0]), '3.0.pegasus')

    def add_what_2_6_leaves(self):
        """Replica 3.0 of table newer: its RocksDB, .app-info with field 15, no shared log. The rows."""
        directory, count = self.replica, self.count
        old_directory.write_info(directory, (3, 0))
        os.makedirs(os.path.join(directory, 'data'))
        harness.run(['java', '-Xmx256m', '-cp', rocksdb_jar(NEWER), os.path.join(HERE, 'NewerRocksDb.java'),
                     os.path.join(directory, 'data', 'rdb'), str(count)])
        with open(os.path.join(directory, '.app-info'), 'wb') as file:
            file.write((old_directory.APP_INFO % 3).replace(b'"3":{"str":"t"}', b'"3":{"str":"newer"}')
                       .replace(b'"5":{"i32":8}', b'"5":{"i32":1}')
                       .replace(b'"14":{"tf":0}', b'"14":{"tf":0},"15":{"tf":1}'))
        private = model.LogWriter(1, 0)
        private.entries[3, 0] = (0, 0)
        private.new_file()
        for decree in range(count - 5, count + 6):
            put = model.put(data_api.raw_key(b'new%d' % decree, b's'), b'value %d' % decree)
            private.append([model.Mutation((3, 0), 3, decree, decree - 1, [put])])
        private.save(os.path.join(directory, 'plog'))
        return {(b'new%d' % n, b's'): b'value %d' % n for n in range(1, count + 6)}

    def test_S6_what_2_6_left_is_served_and_learned_by_others(self):
        rows = self.add_what_2_6_leaves()
        self.cluster.start()
        doubtful = [row['what'] for row in self.recover(exit_code=4)['doubtful']]
        self.assertEqual(len([line for line in doubtful if '1 of 3 replicas found' in line]), 1, doubtful)
        self.cluster.wait_healthy('newer', 3)
        self.expect_rows('newer', rows).set(b'after', b's', b'written by ours')


class LostMetaState(OldCluster):
    def test_a_meta_server_that_lost_its_state_recovers_it_and_all_is_served(self):
        self.cluster.start()
        self.cluster.create_table('t', partitions=4)
        self.cluster.create_table('u', partitions=2)
        table = self.table('t')
        for n in range(200):
            table.set(b'k%d' % n, b's', b'v%d' % n)
        self.shell('use t; set_app_envs default_ttl 100000')
        error = self.shell('recover -y -s ' + self.cluster.replicas[0].address, exit_code=1)['error']
        self.assertIn('ALREADY_RUNNING', error)

        self.cluster.meta.kill()
        for path in self.cluster.meta.data_directories():
            shutil.rmtree(path)
            os.makedirs(path)
        with open(self.cluster.meta.config, 'a') as file:
            file.write('recover_from_replica_servers = true\n')
        self.cluster.meta.start()
        self.cluster.wait_listening(self.cluster.meta)
        self.assertIn('UNDER_RECOVERY', self.shell('ls', exit_code=3)['error'])

        self.cluster.replicas[2].kill()
        self.assertIn('does not answer', self.recover_error())
        self.cluster.replicas[2].start()
        self.cluster.wait_listening(self.cluster.replicas[2])
        report = os.path.join(self.cluster.directory, 'report')
        doubtful = [row['what'] for row in self.recover(exit_code=4, options='-o ' + report)['doubtful']]
        self.assertEqual(len(doubtful), 1, doubtful)
        self.assertTrue(doubtful[0].endswith(': u'), 'environments of t were in memory: %s' % doubtful)
        with open(report) as file:
            self.assertEqual(file.read().splitlines(), doubtful)
        for name in ('t', 'u'):
            self.cluster.wait_healthy(name)
        table = self.expect_rows('t', {(b'k%d' % n, b's'): b'v%d' % n for n in range(200)})
        table.set(b'after', b's', b'v')
        self.assertEqual(self.shell('use t; get_app_envs')['app_envs'][0]['key'], 'default_ttl')
        self.cluster.create_table('w', partitions=1)

    def recover_error(self):
        servers = ','.join(server.address for server in self.cluster.replicas)
        return self.shell(f'recover -y -s {servers}', exit_code=1)['error']


class UnderLoad(OldCluster):
    """Two servers of 2.3, killed: the shared log has all, the private logs end here and there. The third came over before:
    its private logs have all. Table pair has two members; its replica of the first server moved away, with its directory,
    but not from the shared log."""

    partitions = 4
    moved = 2, 0
    writes = 4000
    collection_ms = 600000

    def value_of(self, key):  # as go/driver/write.go
        return key + b'|' + b'x' * (50 + len(key) * 7 % 200)

    def generate(self, rng):
        """Every server's directory; the keys that were acknowledged."""
        pids = [(1, p) for p in range(self.partitions)]
        decrees = dict.fromkeys(pids, 0)
        shared = model.LogWriter(3, 7000)
        shared.entries = dict.fromkeys([*pids, self.moved], (0, 0))
        history, keys, batch = {pid: [] for pid in pids}, [], []
        pair = [model.Mutation(self.moved, 3, d, d - 1, [struct_value(b'pair', b'%d' % d)]) for d in range(1, 50)]
        for n in range(self.writes):
            key = b'old-%08d' % n
            pid = (1, data_api.crc64(key) % self.partitions)
            decrees[pid] += 1
            value = struct_value(key, self.value_of(key))
            m = model.Mutation(pid, 3, decrees[pid], decrees[pid] - 1, [value], 1700000000000000 + n)
            history[pid].append(m)
            keys.append(key.decode())
            batch.append(m)
            if len(batch) == 8:
                if n % 1000 < 8:
                    shared.new_file()
                shared.append(batch)
                batch = []
        shared.append(batch + pair)
        self.shared_end = shared.end
        for server in self.cluster.replicas[:2]:
            shared.save(os.path.join(server.directory, 'replica', 'slog'))
        for server in self.cluster.replicas:
            for pid in pids:
                is_old = server is not self.cluster.replicas[2]
                self.write_replica(server, pid, history[pid][:rng.randint(0, 40) if is_old else None])
        for server in self.cluster.replicas[1:]:
            self.write_replica(server, self.moved, pair, [(b'"3":{"str":"t"}', b'"3":{"str":"pair"}'),
                                                          (b'"5":{"i32":8}', b'"5":{"i32":1}'),
                                                          (b'"8":{"i32":3}', b'"8":{"i32":2}')])
        return keys

    def write_replica(self, server, pid, history, table=None):
        directory = os.path.join(self.reps(server), '%d.%d.pegasus' % pid)
        os.makedirs(directory)
        private = model.LogWriter(1, 0)
        private.entries[pid] = (0, 0)
        private.new_file()
        for at in range(0, len(history), 8):
            private.append(history[at:at + 8])
        private.save(os.path.join(directory, 'plog'))
        with open(os.path.join(directory, '.app-info'), 'wb') as file:
            info = old_directory.APP_INFO % pid[0]
            for field, value in table or [(b'"5":{"i32":8}', b'"5":{"i32":%d}' % self.partitions),
                                          (b'"3":{"str":"t"}', b'"3":{"str":"temp"}')]:
                info = info.replace(field, value)
            file.write(info)
        with open(os.path.join(directory, '.init-info'), 'w') as file:
            file.write('{"init_ballot":3,"init_durable_decree":0,"init_offset_in_shared_log":6500,'
                       '"init_offset_in_private_log":0}')

    def count_in_log(self, server, text):
        if not os.path.exists(server.log):
            return 0
        with open(server.log, errors='replace') as file:
            return file.read().count(text)

    def kill_while_it_takes_over(self, rng, server):
        """SIGKILL a moment after its take-over began; then it is started again."""
        begun = self.count_in_log(server, ': reads ')
        if not server.is_running():
            server.start()
        harness.wait_for('the take-over began',
                         lambda: self.count_in_log(server, ': reads ') > begun, 30)
        time.sleep(rng.uniform(0, 0.15))
        server.kill()

    def offsets(self, server):
        """{partition: what .init-info says of the shared log}."""
        found = {}
        for name in os.listdir(self.reps(server)):
            if name.endswith('.pegasus'):
                found[name.removesuffix('.pegasus')] = model.read_info(os.path.join(self.reps(server), name))[
                    'init_offset_in_shared_log']
        return found

    def test_S3_S7_S11_S14_S21_A23_A27_servers_killed_during_their_take_over_under_load_lose_nothing(self):
        seed = int(os.environ.get('ARION_SEED', random.randrange(1 << 30)))
        print(f'seed {seed}', flush=True)
        rng = random.Random(seed)
        keys = self.generate(rng)
        self.cluster.meta.start()
        self.cluster.wait_listening(self.cluster.meta)
        kills = 0
        older = self.cluster.replicas[:2]
        for server in older:
            for _ in range(3):
                self.kill_while_it_takes_over(rng, server)
                kills += 1
        self.cluster.start()
        self.recover(exit_code=4)
        self.cluster.wait_healthy('temp')
        new_keys = []
        for round_number in range(3):
            writer = kill_test.Writer(
                [harness.go_client('apache'), '-meta', self.cluster.meta.address, '-threads', '4', '-prefix',
                 f'new{round_number}', '-timeout', '5s', 'write'], new_keys)
            before = len(new_keys)
            harness.wait_for('writes are acknowledged', lambda: len(new_keys) > before + 100, 30)
            victim = older[round_number % 2]
            victim.kill()
            self.kill_while_it_takes_over(rng, victim)  # the shared log is still there
            kills += 1
            victim.start()
            self.cluster.wait_listening(victim)
            writer.stop()
        self.cluster.wait_healthy('temp')
        self.cluster.create_table('made_here', partitions=1)
        for server in older:
            self.assertEqual(self.offsets(server)['3.0'], self.shared_end, 'what a shared log has is not its')
        self.assertEqual(self.offsets(self.cluster.replicas[2])['3.0'], 0)
        verified = harness.run([harness.go_client('apache'), '-meta', self.cluster.meta.address, 'verify'],
                               timeout=120, input='\n'.join(keys + new_keys), cwd=tempfile.gettempdir())
        print(f'{kills} kills during a take-over, {len(keys)} older records, {len(new_keys)} new ones:',
              verified.strip(), flush=True)
        self.assertIn(' 0 lost', verified)
        self.stop_servers()
        self.collection_ms = 1000
        for server in self.cluster.replicas:
            self.write_older_config(server)
        for server in older:
            server.start()  # the first one's log waits for a replica that is nowhere, until the meta server speaks
        missing = '2.0 by 49 decrees (not found in any data directory)'
        harness.wait_for('the missing replica is named', lambda: self.count_in_log(older[0], missing), 30)
        self.assertIn(missing, str(self.shell('shared_log ' + older[0].address)))
        self.cluster.start()
        for server in older:
            slog = os.path.join(server.directory, 'replica', 'slog')
            harness.wait_for(f'{slog} is empty', lambda path=slog: os.listdir(path) == [], 30)
        for server in self.cluster.replicas:
            harness.wait_for(f'{server.name} has zeroed its offsets',
                             lambda of=server: set(self.offsets(of).values()) == {0}, 10)


def struct_value(key, value):
    return model.put(data_api.raw_key(key, b's'), value)


if __name__ == '__main__':
    unittest.main(verbosity=2)
