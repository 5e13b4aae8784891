#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""By hand: the real arion_replica, with RocksDB, on a large generated old server.

  ARION_BUILD=build tests/legacy/large_server.py [--disks=12 --replicas=500 --writes=500 --seed=1 --directory=/tmp]

The model says what must be found; the server takes the shared log over and is stopped; the model opens what it left,
with rocksdbjni 6.6.4 for the data and without the shared log, and must find the same in every replica.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'cluster'))
import harness  # noqa: E402
import old_clusters_test  # noqa: E402
import old_directory  # noqa: E402

CONFIG = """[arion.server]
listen = {address}
meta_servers = 127.0.0.1:1
[arion.replica]
data_dirs = {disks}
log_preallocate = false
"""


def lines_of(text, name):
    return [int(line.split()[1]) for line in text.splitlines() if line.startswith(name + ':')][0]


def wait_open(process, address):
    """Seconds until all is taken over and open."""
    begun = time.monotonic()
    while True:
        if process.poll() is not None:
            sys.exit('the server ended with %d' % process.returncode)
        done = subprocess.run(['curl', '-s', '-H', 'Accept: application/json', f'http://{address}/recovery'],
                              capture_output=True, text=True)
        if done.returncode == 0 and json.loads(done.stdout)['phase'] == 'done':
            return time.monotonic() - begun
        time.sleep(0.1)


def serve(root, disks):
    address = '127.0.0.1:%d' % harness.free_ports(1)[0]
    config = os.path.join(root, 'config.ini')
    with open(config, 'w') as file:
        file.write(CONFIG.format(address=address, disks=','.join('ssd%d:%s/d%d' % (d, root, d) for d in disks)))
    with open(os.path.join(root, 'log'), 'w') as log:
        process = subprocess.Popen([os.path.join(harness.BUILD, 'arion_replica'), '--config=' + config], stdout=log,
                                   stderr=log)
        seconds = wait_open(process, address)
        with open(f'/proc/{process.pid}/status') as status:
            memory = lines_of(status.read(), 'VmHWM')
        page = subprocess.run(['curl', '-s', f'http://{address}/shared_log'], capture_output=True, text=True).stdout
        process.terminate()
        if process.wait(600) != 0:
            sys.exit('the server did not stop cleanly')
    return seconds, memory, page.splitlines()[0]


def main():
    parser = argparse.ArgumentParser()
    for name, value in (('disks', 12), ('replicas', 500), ('writes', 500), ('seed', 1)):
        parser.add_argument('--' + name, type=int, default=value)
    parser.add_argument('--directory', default=None)
    options = parser.parse_args()
    root = tempfile.mkdtemp(prefix='arion-large-', dir=options.directory)
    try:
        old_directory.generate(options.seed, root, options.replicas, options.writes, options.disks, engine=False)
        slog = os.path.join(root, 'd1/replica/slog')
        size = sum(os.path.getsize(os.path.join(slog, name)) for name in os.listdir(slog))
        print(f'{options.disks} disks, {options.replicas} replicas, {len(os.listdir(slog))} shared log files, {size} bytes',
              flush=True)
        want = old_directory.start_old_version(root)
        seconds, memory, page = serve(root, range(1, options.disks + 1))
        print(f'open after {seconds:.1f} s, at most {memory // 1024} MB; {page}', flush=True)
        shutil.rmtree(slog)
        os.makedirs(slog)
        engines = [os.path.join(directory, 'data/rdb') for directory, names, _ in os.walk(root) if 'plog' in names]
        rows, meta = old_clusters_test.rows_as_older_rocksdb_reads(engines)

        def engine_of(directory):
            at = os.path.join(directory, 'data/rdb')
            return (int(meta[at]['pegasus_last_flushed_decree']), {key: value for key, (value, _) in rows[at].items()})
        back = old_directory.start_old_version(root, engine_of)
        wrong = [pid for pid in want if pid not in back or back[pid].rows != want[pid].rows or
                 back[pid].state() != want[pid].state()]
        records = sum(len(replica.rows) for replica in want.values())
        print(f'{len(want) - len(wrong)} of {len(want)} replicas as the model says, {records} rows; wrong: {wrong[:5]}')
        return 1 if wrong or not want else 0
    finally:
        shutil.rmtree(root)


if __name__ == '__main__':
    sys.exit(main())
