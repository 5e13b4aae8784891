# SPDX-License-Identifier: Apache-2.0
"""Old data directories by seed, and what must be found in them (the model's word)."""
import json
import os
import random
import re
import struct

import old_version_model as model

APP_INFO = bytes.fromhex('080000deadbeef00') + (
    b'{"0":{"rec":{"1":{"i32":1},"2":{"str":"pegasus"},"3":{"str":"t"},"4":{"i32":%d},"5":{"i32":8},'
    b'"6":{"map":["str","str",0,{}]},"7":{"tf":1},"8":{"i32":3},"9":{"i64":0},"10":{"i64":0},'
    b'"11":{"i64":0},"12":{"tf":0},"13":{"i32":8},"14":{"tf":0}}}}')


def engine_file(decree, rows):
    """What the in-memory engine keeps (src/engine/memory_engine.h)."""
    out = b'ARIONMEM' + struct.pack('<qQ', decree, len(rows))
    for key, value in sorted(rows.items()):
        out += struct.pack('<III', len(key), len(value), 0) + key + value
    return out + struct.pack('<I', model.crc32c(out))


def read_engine(replica_directory):
    """(decree, rows) of the in-memory engine."""
    with open(os.path.join(replica_directory, 'data/memory/records'), 'rb') as file:
        data = file.read()
    decree, count = struct.unpack_from('<qQ', data, 8)
    at, rows = 24, {}
    for _ in range(count):
        klen, vlen, _ = struct.unpack_from('<III', data, at)
        at += 12
        rows[data[at:at + klen]] = data[at + klen:at + klen + vlen]
        at += klen + vlen
    return decree, rows


class Partition:
    """One replica's life under a server of 2.3: what it proposes goes to the shared log at once, and
    later, in the same order, to the private log."""

    def __init__(self, rng, pid, learns=True):
        self.rng, self.pid, self.learns = rng, pid, learns
        self.ballot, self.committed, self.prepared = rng.randint(1, 4), 0, 0
        self.timestamp = 1
        self.history = {}
        self.shared_order = []  # everything, in the order it was proposed
        self.valid_from = 0     # position in shared_order
        self.floor, self.floor_rows = 0, {}

    def updates(self):
        out = []
        for _ in range(self.rng.choice((1, 1, 1, 3))):
            key = struct.pack('>H', 1) + b'h' + b'%d' % self.rng.randint(0, 12)
            roll = self.rng.random()
            out.append(model.remove(key) if roll < 0.2 else
                       model.put(key, b'%d.%d.%d' % (self.ballot, self.prepared, self.rng.randint(0, 999))))
        return [model.EMPTY] if self.rng.random() < 0.1 else out

    def propose(self, decree, updates, is_known=False):
        """What is proposed once more has lost its time."""
        m = model.Mutation(self.pid, self.ballot, decree, self.committed, updates, 0 if is_known else self.timestamp)
        self.timestamp += 1
        self.history[decree] = m
        self.shared_order.append(m)
        return m

    def step(self):
        """One write of the log: a proposal, or after a change of the configuration the tail anew."""
        roll = self.rng.random()
        if roll < 0.05:
            self.ballot += self.rng.randint(1, 2)
            # A new primary may know less of the tail than its members: what it lacks is replaced.
            known = self.rng.randint(self.committed, self.prepared)
            tail = [(d, self.history[d].updates) for d in range(self.committed + 1, known + 1)]
            self.prepared = known
            return [self.propose(d, updates, is_known=True) for d, updates in tail] or [self.next()]
        if roll < 0.06 and self.committed > 3 and self.learns:
            return self.learn()
        return [self.next()]

    def next(self):
        self.committed = self.rng.randint(self.committed, self.prepared)
        self.committed = max(self.committed, self.prepared - 15)
        self.prepared += 1
        return self.propose(self.prepared, self.updates())

    def learn(self):
        """It becomes a learner: all logged so far is void, a checkpoint stands at `committed`."""
        self.floor, self.floor_rows = self.committed, self.rows_at(self.committed)
        self.prepared = self.committed
        self.valid_from = len(self.shared_order)
        self.ballot += 1
        return [self.next()]

    def rows_at(self, decree):
        rows = {}
        for d in range(1, decree + 1):
            for name, _, data in self.history[d].updates:
                model.apply_update(rows, name, data)
        return rows


def generate(seed, root, replicas=None, writes=None, disks=2, engine=True):
    """Makes a server's directories below `root`: d1, d2, ... Without `engine` nothing is applied anywhere yet."""
    rng = random.Random(seed)
    count = replicas or rng.randint(1, 4)
    pids = [(1 + i // 3, i % 3) for i in range(count)]
    parts = {pid: Partition(rng, pid, learns=engine) for pid in pids}
    dropped = {(9999, 0): Partition(rng, (9999, 0))} if rng.random() < 0.3 else {}
    everyone = {**parts, **dropped}
    shared = model.LogWriter(rng.randint(1, 9), rng.choice((0, 7000)))
    stays_behind = rng.random() < 0.15  # 2.4 came after: only private logs were written then
    for pid in everyone:
        if rng.random() < 0.7:
            shared.entries[pid] = (0, 0)
    offsets = {}
    shared.new_file()
    for _ in range(writes or rng.randint(5, 80)):
        batch = []
        for pid in rng.sample(sorted(everyone), rng.randint(1, len(everyone))):
            batch += everyone[pid].step()
        shared.append(batch)
        for m in batch:
            offsets[id(m)] = m.offset
        if rng.random() < 0.1:
            shared.new_file()
    written = {pid: len(part.shared_order) for pid, part in everyone.items()}
    if stays_behind:
        for part in parts.values():
            for _ in range(rng.randint(0, 20)):
                part.step()
    slog = os.path.join(root, 'd1/replica/slog')
    shared.save(slog)
    torn = 0
    if rng.random() < 0.4:  # killed in a write of the shared log
        name, data = shared.files[-1]
        torn = rng.randint(1, 35)
        with open(os.path.join(slog, name), 'wb') as file:
            file.write(data + data[:torn])
    for i, (pid, part) in enumerate(sorted(parts.items())):
        write_replica(rng, os.path.join(root, 'd%d/replica/reps' % (1 + i % disks)), part, offsets,
                      len(part.shared_order) if stays_behind else written[pid], stays_behind, engine)
    for disk in range(disks):
        os.makedirs(os.path.join(root, 'd%d/replica/reps' % (disk + 1)), exist_ok=True)
    for suffix in ('.17000000000000001.gar', '.17000000000000001.err'):
        if rng.random() < 0.2:
            os.makedirs(os.path.join(root, 'd1/replica/reps/9999.0.pegasus' + suffix))


def write_info(directory, pid, **fields):
    """Makes a replica's directory with its two info files."""
    os.makedirs(directory)
    with open(os.path.join(directory, '.app-info'), 'wb') as file:
        file.write(APP_INFO % pid[0])
    info = {'init_ballot': 3, 'init_durable_decree': 0, 'init_offset_in_shared_log': 0,
            'init_offset_in_private_log': 0, **fields}
    with open(os.path.join(directory, '.init-info'), 'w') as file:
        file.write(json.dumps(info, separators=(',', ':')))


def write_replica(rng, reps, part, offsets, known, is_complete, engine):
    valid = part.shared_order[part.valid_from:known]
    first_valid = next((offsets[id(m)] for m in valid if id(m) in offsets), None)
    shared_start = 0
    if part.valid_from:
        shared_start = first_valid if first_valid is not None else 1 << 40
    # How much of it reached the private log before the end: a prefix, in order.
    kept = len(valid) if is_complete or rng.random() < 0.3 else rng.randint(0, len(valid))
    plog = model.LogWriter(1, 0)
    private_start = 0
    if part.valid_from and rng.random() < 0.5:  # what was void lies there as well
        plog.entries[part.pid] = (0, 0)
        plog.new_file()
        for m in part.shared_order[:part.valid_from]:
            plog.append([m])
        private_start = plog.end
    plog.entries[part.pid] = (part.floor, private_start)
    if kept or private_start:
        plog.new_file()
    offset = {}
    for m in valid[:kept]:
        plog.append([m])
        offset[id(m)] = m.offset
        if rng.random() < 0.05:
            plog.new_file()
    committed_known = max([part.floor] + [m.committed for m in valid])
    durable = rng.choice((part.floor, rng.randint(part.floor, committed_known))) if engine else 0
    directory = os.path.join(reps, '%d.%d.pegasus' % part.pid)
    write_info(directory, part.pid, init_ballot=rng.randint(0, part.ballot), init_durable_decree=part.floor,
               init_offset_in_shared_log=shared_start, init_offset_in_private_log=private_start)
    plog.save(os.path.join(directory, 'plog'))
    if durable:
        data = engine_file(durable, part.rows_at(durable))
        for place in ('data/memory', 'data/checkpoint.%d' % durable):
            os.makedirs(os.path.join(directory, place))
            with open(os.path.join(directory, place, 'records'), 'wb') as file:
                file.write(data)


def read_memory_engine(directory):
    if os.path.exists(os.path.join(directory, 'data/memory/records')):
        return read_engine(directory)
    return 0, {}


def start_old_version(root, engine_of=read_memory_engine):
    """The model starts on it: {'a.b': Replica}, or the shared log's error. `engine_of`: a replica's directory ->
    (decree, rows)."""
    replicas = {}
    for disk in sorted(name for name in os.listdir(root) if re.fullmatch('d[0-9]+', name)):
        reps = os.path.join(root, disk, 'replica/reps')
        for name in sorted(os.listdir(reps)):
            if not name.endswith('.pegasus'):
                continue
            directory = os.path.join(reps, name)
            info = model.read_info(directory)
            durable, rows = engine_of(directory)
            replica = model.Replica(durable, info['init_ballot'], info['init_offset_in_shared_log'],
                                    info['init_offset_in_private_log'], rows)
            plog = model.LogFolder(os.path.join(directory, 'plog'))
            if plog.error:
                raise AssertionError('%s: private log %s' % (directory, plog.error))
            for m in plog.mutations:
                replica.private(m)
            replicas[name.rsplit('.', 1)[0]] = replica
    slog = model.LogFolder(os.path.join(root, 'd1/replica/slog'))
    if slog.error:
        return slog.error
    for m in slog.mutations:
        replica = replicas.get('%d.%d' % m.pid)
        if replica is not None:
            replica.shared(m)
    return replicas
