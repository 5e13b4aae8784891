#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds tests/sim/known_bugs.md and invariants.md to the tree: each number stands in its table once and in
order, with a place that exists or a reason.

  known_bugs_test.py           0: they do, and nothing that serves waits for a name (known_bugs.md T-58)
"""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
REASONS = ('not built: ', 'not applicable: ')


def wrong_place(place):
    path, _, name = place.partition(':')
    path = os.path.join(ROOT, path)
    if not os.path.isfile(path):
        return 'no such file'
    with open(path, encoding='utf-8') as file:
        return None if re.search(r'(?<!\w)%s(?!\w)' % re.escape(name), file.read()) else 'not in that file'


# known_bugs.md T-58: a name that is resolved can hang for 30 s: here, called from the configuration before anything serves, by the
# threads that a NameBook keeps for nothing else, and in the bulk pool, for a follower's first copy, which nobody waits for.
RESOLVES = {'src/env/named_address.cc'}
CALLS = {'src/env/named_address.h', 'src/config/config_value.cc', 'src/posix/name_book.h', 'src/posix/name_book.cc', 'src/main/replica_process.cc', 'src/main/other_clusters.h',
         'src/followers/first_content_copy.cc', 'src/zookeeper/c_client.h'}


def places_that_resolve_names():
    for directory, _, names in os.walk(os.path.join(ROOT, 'src')):
        for name in names:
            path = os.path.join(directory, name)
            with open(path, encoding='utf-8') as file:
                text = file.read()
            place = os.path.relpath(path, ROOT)
            if re.search(r'\bgetaddrinfo|\bgethostby|\basync_resolve\b|::resolver\b', text) and place not in RESOLVES:
                yield place
            elif re.search(r'\bLookUp\b', text) and place not in RESOLVES | CALLS:
                yield place


# The mistakes of one table, and how many rows of it have a reason only.
def judge(file_name, wanted):
    with open(os.path.join(ROOT, 'tests/sim', file_name), encoding='utf-8') as file:
        rows = [[cell.strip() for cell in line.strip('|\n').split('|')] for line in file if re.match(r'\| [TFBI]-?\d', line)]
    mistakes = []
    if [row[0] for row in rows] != wanted:
        mistakes.append('%s: not each of the %d numbers once and in order' % (file_name, len(wanted)))
    for number, _, where in rows:
        places = re.findall(r'`([^`]+)`', where)
        if not places and not where.startswith(REASONS):
            mistakes.append('%s: no place and no reason' % number)
        mistakes += ['%s: %s: %s' % (number, place, wrong) for place in places if (wrong := wrong_place(place))]
    return mistakes, sum(row[2].startswith(REASONS) for row in rows)


def main():
    bugs = ['T-%02d' % n for n in range(1, 61)] + ['F%d' % n for n in range(1, 26)] + ['B%d' % n for n in range(1, 16)]
    invariants = ['I-%02d' % n for n in range(1, 31)]
    mistakes, without = judge('known_bugs.md', bugs)
    of_invariants, without_too = judge('invariants.md', invariants)
    mistakes += of_invariants
    mistakes += ['tests/sim/known_bugs.md T-58: %s resolves names' % path for path in places_that_resolve_names()]
    print('%d numbers, %d with a reason only' % (len(bugs) + len(invariants), without + without_too))
    print('\n'.join(mistakes))
    return 1 if mistakes else 0


if __name__ == '__main__':
    sys.exit(main())
