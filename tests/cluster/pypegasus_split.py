"""pypegasus3 while its table is split. Run by split_test.py with the meta server and a table.

    pypegasus_split.py META TABLE write     puts distinct records until standard input closes, by one client object: a line for each
                                            acknowledged key; at the end, on standard error, how many were not, by error
    pypegasus_split.py META TABLE read      a new client object reads the keys of standard input, and scans the table

SPDX-License-Identifier: Apache-2.0
"""

import collections
import sys

from pypegasus.base.ttypes import error_types
from pypegasus.pgclient import Pegasus
from pypegasus.utils.tools import ScanOptions
from twisted.internet import reactor, threads
from twisted.internet.defer import Deferred, DeferredList, inlineCallbacks

WRITERS = 4
TIMEOUT = 500  # ms; after five timeouts this client asks for the configuration again
PAUSE = 0.02  # behind an error: some come at once
exit_code = 1


def value_of(key):
    return f"{key}|{'x' * (50 + len(key) * 7 % 200)}".encode()  # as all our writers have it


def pause(seconds):
    done = Deferred()
    reactor.callLater(seconds, done.callback, None)
    return done


class Writing:
    def __init__(self, client):
        self.client = client
        self.next = 0
        self.is_over = False
        self.failed = collections.Counter()

    @inlineCallbacks
    def run(self):
        while not self.is_over:
            key = f"py-{self.next:08d}"
            self.next += 1
            code, _ = yield self.client.set(key.encode(), b"s", value_of(key), 0, TIMEOUT)
            if code == error_types.ERR_OK.value:
                print(key, flush=True)
            else:  # not acknowledged: it may be there or not
                self.failed[error_types(code).name] += 1
                yield pause(PAUSE)


@inlineCallbacks
def write(client):
    writing = Writing(client)

    def end(_):
        writing.is_over = True
    threads.deferToThread(sys.stdin.read).addCallback(end)
    yield DeferredList([writing.run() for _ in range(WRITERS)], fireOnOneErrback=True)
    for name, count in writing.failed.items():
        print(f"not acknowledged\t{name}\t{count}", file=sys.stderr)


@inlineCallbacks
def read(client):
    keys = sys.stdin.read().split()
    lost = 0
    for key in keys:
        code, value = yield client.get(key.encode(), b"s", 5000)
        if (code, value) != (error_types.ERR_OK.value, value_of(key)):
            lost += 1
    # The other ways to a record, which are routed by its hash key alone.
    for key in keys[:200]:
        code, count = yield client.sort_key_count(key, 5000)
        lost += (code, count) != (error_types.ERR_OK.value, 1)
        code, records = yield client.multi_get(key, {"s"}, 100, 1000000, False, 5000)
        lost += (code, dict(records)) != (error_types.ERR_OK.value, {b"s": value_of(key)})
        code, seconds = yield client.ttl(key.encode(), b"s", 5000)
        lost += (code, seconds) != (error_types.ERR_OK.value, -1)
    found = collections.Counter()
    for scanner in client.get_unordered_scanners(3, ScanOptions()):
        while (record := (yield scanner.get_next())) is not None:
            found[record[0][0]] += 1
    twice = sum(count > 1 for count in found.values())
    unseen = sum(key not in found for key in keys)
    print(f"pypegasus: {len(keys)} acknowledged writes, {lost} lost; a scan lacks {unseen}, and has {twice} twice")


@inlineCallbacks
def main():
    global exit_code
    try:
        client = Pegasus([sys.argv[1]], sys.argv[2], 5000)
        if not (yield client.init()):
            raise RuntimeError("the table could not be opened")
        yield {"write": write, "read": read}[sys.argv[3]](client)
        exit_code = 0
    except Exception as error:
        print(repr(error), file=sys.stderr)
    reactor.stop()


reactor.callWhenRunning(main)
reactor.run()
sys.exit(exit_code)
