#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A model of the old version (2.3 to 2.5), written from the formats alone (legacy/FORMAT.md): what it would
read from a folder of logs, what it would refuse, and what a replica's state is after its start.

  old_version_model.py fixtures DIR...   each DIR holds logs and expected.jsonl: is the line
                                         "dir_replay" what this model reads?
"""
import json
import os
import re
import struct
import sys

MAGIC = 0xDEADBEEF
TABLE = []
for n in range(256):
    for _ in range(8):
        n = (n >> 1) ^ 0x82F63B78 if n & 1 else n >> 1
    TABLE.append(n)


def crc32c(data, previous=0):
    crc = previous ^ 0xFFFFFFFF
    table = TABLE
    for byte in data:
        crc = table[(crc ^ byte) & 255] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


class Corrupt(Exception):
    pass


class Mutation:
    def __init__(self, pid, ballot, decree, committed, updates, timestamp=0, offset=-1):
        self.pid, self.ballot, self.decree, self.committed = pid, ballot, decree, committed
        self.updates, self.timestamp, self.offset = updates, timestamp, offset

    def encode(self, offset):
        out = struct.pack('<qiiqqqqqi', 0, *self.pid, self.ballot, self.decree, offset, self.committed,
                          self.timestamp, len(self.updates))
        for name, kind, data in self.updates:
            out += struct.pack('<i', len(name)) + name + struct.pack('<ii', kind, len(data))
        return out + b''.join(data for _, _, data in self.updates)

    def says_the_same_as(self, other):
        is_time_known = self.timestamp != 0 and other.timestamp != 0
        return self.updates == other.updates and (not is_time_known or self.timestamp == other.timestamp)


def take_mutation(body, at, offset):
    """The mutation at body[at:], whose global offset is `offset`, and where it ends."""
    def need(n):
        if n < 0 or at + n > len(body):
            raise Corrupt('a mutation does not fit its block')
    need(60)
    version, app, part, ballot, decree, said, committed, timestamp, count = struct.unpack_from(
        '<qiiqqqqqi', body, at)
    if 0 < version <= 64:
        raise Corrupt('version')
    if said != offset:
        raise Corrupt('offset')
    at += 60
    described = []
    for _ in range(count):
        need(4)
        length, = struct.unpack_from('<i', body, at)
        need(4 + max(length, 0) + 8)
        name = bytes(body[at + 4:at + 4 + length])
        kind, size = struct.unpack_from('<ii', body, at + 4 + length)
        at += 12 + length
        described.append((name, kind, size))
    updates = []
    for name, kind, size in described:
        need(size)
        updates.append((name, kind, bytes(body[at:at + size])))
        at += size
    return Mutation((app, part), ballot, decree, committed, updates,
                    0 if version else timestamp, offset), at


def read_blocks(data, start):
    """Yields (header or None, mutations, end) for each whole block; the last item is the word for how the
    content ends: 'EOF', 'TRUNCATED' or 'CORRUPT'. Mutations before a wrong one are given out."""
    at, crc, first = 0, 0, True
    while True:
        if at == len(data):
            yield 'EOF'
            return
        if len(data) - at < 16:
            yield 'TRUNCATED'
            return
        magic, length, said, _ = struct.unpack_from('<IiII', data, at)
        if magic != MAGIC or length < 0:
            yield 'CORRUPT'
            return
        if len(data) - at - 16 < length:
            yield 'TRUNCATED'
            return
        body = memoryview(data)[at + 16:at + 16 + length]
        crc = crc32c(body, crc)
        if crc != said:
            yield 'CORRUPT'
            return
        header, inner, mutations = None, 0, []
        if first:
            if length < 20:
                yield 'CORRUPT'
                return
            fmagic, _, fstart, count = struct.unpack_from('<Iiqi', body, 0)
            if fmagic != MAGIC or fstart != start or count < 0 or 20 + 24 * count > length:
                yield 'CORRUPT'
                return
            header = {}
            for i in range(count):
                app, part, decree, valid = struct.unpack_from('<iiqq', body, 20 + 24 * i)
                header[(app, part)] = (decree, valid)
            inner = 20 + 24 * count
        try:
            while inner < length:
                mutation, inner = take_mutation(body, inner, start + at + 16 + inner)
                mutations.append(mutation)
        except Corrupt:
            yield header, mutations, at
            yield 'CORRUPT'
            return
        at += 16 + length
        first = False
        yield header, mutations, at


NAME = re.compile(r'log\.([0-9]+)\.([0-9]+)$')


class LogFolder:
    """What opening and replaying a folder gives. error: None, 'CORRUPT' or 'HOLE'; then nothing behind it
    was delivered."""

    def __init__(self, directory):
        self.error, self.renamed, self.end, self.mutations, self.files = None, [], 0, [], []
        self.headers = {}
        names = sorted((int(m[1]), int(m[2]), m[0]) for m in map(NAME.match, os.listdir(directory)) if m) \
            if os.path.isdir(directory) else []
        opened = []
        for index, start, name in names:
            with open(os.path.join(directory, name), 'rb') as file:
                data = file.read()
            first = next(read_blocks(data, start))
            if first in ('EOF', 'TRUNCATED'):
                self.renamed.append(name)
            elif first == 'CORRUPT':
                self.renamed.append(name)
                self.error = 'CORRUPT'
            else:
                opened.append((index, start, name, data))
                self.headers[name] = first[0]
        self.files = [name for _, _, name, _ in opened]
        for before, after in zip(opened, opened[1:]):
            if after[0] != before[0] + 1:
                self.error = 'HOLE'
        if self.error:
            return
        expected = opened[0][1] if opened else 0
        for _, start, name, data in opened:
            if start != expected:
                self.error = 'CORRUPT'
                return
            for block in read_blocks(data, start):
                if block == 'CORRUPT':
                    self.error = 'CORRUPT'
                elif not isinstance(block, str):
                    self.mutations += block[1]
                    expected = start + block[2]
                    self.end = expected
            if self.error:
                return


class Replica:
    """5.4 and 5.5, with 5.6's rule for holes as we follow it. `rows` are those of the applied decrees."""

    def __init__(self, durable=0, ballot=0, shared_start=0, private_start=0, rows=None):
        self.applied = self.committed = durable
        self.ballot, self.shared_start, self.private_start = ballot, shared_start, private_start
        self.rows = dict(rows or {})
        self.prepared = {}
        self.overruled = set()  # of them, what was decided behind something that another term replaced: we leave it out
        self.hole = False
        self.plog_max = self.plog_committed = 0
        self.in_plog = {}
        self.appended = []

    def private(self, m):
        self.ballot = max(self.ballot, m.ballot)
        if m.offset < self.private_start:
            return
        self.plog_max = max(self.plog_max, m.decree)
        self.plog_committed = max(self.plog_committed, m.committed)
        self.in_plog[m.decree] = max(self.in_plog.get(m.decree, -1), m.ballot)
        self.insert(m)

    def shared(self, m):
        self.ballot = max(self.ballot, m.ballot)
        if m.offset < self.shared_start:
            return
        if m.decree > self.plog_committed:
            self.appended.append(m)
        self.insert(m)

    def insert(self, m):
        if self.hole or m.decree <= self.committed:
            return
        old = self.prepared.get(m.decree)
        if old is not None and old.ballot >= m.ballot:
            return
        while self.committed < m.committed:
            nxt = self.prepared.get(self.committed + 1)
            if nxt is None or (self.missing_up_to(m.committed) and nxt.ballot != m.ballot):
                self.hole = True
                self.prepared = {}
                return
            self.commit(nxt)
        if old is not None and not old.says_the_same_as(m):
            self.overruled.update(d for d, behind in self.prepared.items() if d > m.decree and behind.ballot <= old.ballot)
        self.overruled.discard(m.decree)
        self.prepared[m.decree] = m

    def missing_up_to(self, decree):
        return any(d not in self.prepared for d in range(self.committed + 1, decree + 1))

    def commit(self, m):
        del self.prepared[m.decree]
        self.committed = self.applied = m.decree
        for name, _, data in m.updates:
            apply_update(self.rows, name, data)

    def state(self):
        tail = sorted(d for d in self.prepared if d > self.applied)
        return {'applied': self.applied, 'prepared': tail, 'ballot': self.ballot, 'hole': self.hole}


def apply_update(rows, name, data):
    """PUT and REMOVE, 2.6; the generator writes no others."""
    if name == b'RPC_RRDB_RRDB_PUT':
        at = 6
        length, = struct.unpack_from('>i', data, at)
        key = data[at + 4:at + 4 + length]
        at += 4 + length + 3
        length, = struct.unpack_from('>i', data, at)
        rows[key] = data[at + 4:at + 4 + length]
    elif name == b'RPC_RRDB_RRDB_REMOVE':
        length, = struct.unpack_from('>i', data, 3)
        rows.pop(data[7:7 + length], None)


def put(key, value):
    return (b'RPC_RRDB_RRDB_PUT', 1, b'\x0c\0\0\x0c\0\1' + struct.pack('>i', len(key)) + key + b'\x0c\0\2'
            + struct.pack('>i', len(value)) + value + b'\x08\0\3\0\0\0\0\0\0')


def remove(key):
    return b'RPC_RRDB_RRDB_REMOVE', 1, b'\x0c\0\0' + struct.pack('>i', len(key)) + key + b'\0'


EMPTY = (b'RPC_REPLICATION_WRITE_EMPTY', 0, b'')


class LogWriter:
    """2.2 to 2.4; one block an append."""

    def __init__(self, index=1, start=0):
        self.index, self.end, self.entries, self.files = index, start, {}, []

    def new_file(self):
        self.files.append(['log.%d.%d' % (self.index, self.end), b''])
        self.index += 1
        self.crc = 0
        body = struct.pack('<Iiqi', MAGIC, 1, self.end, len(self.entries))
        for pid, (decree, valid) in self.entries.items():
            body += struct.pack('<iiqq', *pid, decree, valid)
        self.block(body)

    def block(self, body):
        self.crc = crc32c(body, self.crc)
        self.files[-1][1] += struct.pack('<IiII', MAGIC, len(body), self.crc, len(self.files[-1][1])) + body
        self.end += 16 + len(body)

    def append(self, mutations):
        body = b''
        for m in mutations:
            body += m.encode(self.end + 16 + len(body))
            decree, valid = self.entries.get(m.pid, (0, 0))
            self.entries[m.pid] = (max(decree, m.decree), valid)
        self.block(body)

    def save(self, directory):
        os.makedirs(directory, exist_ok=True)
        for name, data in self.files:
            with open(os.path.join(directory, name), 'wb') as file:
                file.write(data)


def read_info(replica_directory):
    with open(os.path.join(replica_directory, '.init-info'), 'rb') as file:
        info = json.loads(file.read())
    return info


def check_fixture(directory):
    """None, or what differs between expected.jsonl and this model."""
    with open(os.path.join(directory, 'expected.jsonl')) as file:
        expected = [json.loads(line) for line in file]
    expected = [line for line in expected if line.get('dir_replay')][0]
    folder = LogFolder(directory)
    gpids = {}
    for m in folder.mutations:
        most = gpids.setdefault('%d.%d' % m.pid, [0, 0])
        most[0], most[1] = max(most[0], m.decree), max(most[1], m.committed)
    error = {None: 'ERR_OK', 'CORRUPT': 'ERR_INVALID_DATA', 'HOLE': 'ERR_OBJECT_NOT_FOUND'}[folder.error]
    got = {'error': error, 'mutations': len(folder.mutations), 'end_offset': folder.end,
           'gpids': {pid: tuple(most) for pid, most in gpids.items()}}
    want = {'error': expected['error'], 'mutations': expected['mutations'],
            'end_offset': expected['end_offset'],
            'gpids': {g['gpid']: (g['max_decree'], g['max_last_committed']) for g in expected['gpids']}}
    return None if got == want else 'expected %s\n     got %s' % (want, got)


def main():
    if len(sys.argv) < 3 or sys.argv[1] != 'fixtures':
        print(__doc__)
        return 2
    bad = 0
    for directory in sys.argv[2:]:
        difference = check_fixture(directory)
        print(directory, 'same' if difference is None else difference)
        bad += difference is not None
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
