#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every acceptance test A-01 to A-32 and scenario S-1 to S-21 of the disk formats' specification stands in the name of a
test.

  acceptance_names_test.py           0: all do, but for what is listed here with its reason
"""
import os
import re
import sys

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NOT_SHOWN = {
    'S6': 'a directory of rocksdbjni 8.5.3 opened by hand; that others learn from it is not shown',
}
NAME = re.compile(r'^\s*(?:TEST(?:_F|_P)?\(\s*\w+,\s*(\w+)|def (test_\w+))', re.MULTILINE)
ID = re.compile(r'(?:^|_)([AS][0-9]+)(?=_|[A-Z])')


def ids_in_names():
    found = set()
    for directory, _, names in os.walk(TESTS):
        for name in names:
            if not name.endswith(('_test.cc', '_test.py')):
                continue
            with open(os.path.join(directory, name), encoding='utf-8') as file:
                for match in NAME.finditer(file.read()):
                    found.update(ID.findall(match[1] or match[2].removeprefix('test')))
    return found


def main():
    wanted = {'A%02d' % n for n in range(1, 33)} | {'S%d' % n for n in range(1, 22)}
    found = ids_in_names()
    missing, needless = wanted - found - set(NOT_SHOWN), found & set(NOT_SHOWN)
    print('%d of %d ids stand in names of tests; not shown: %s' % (len(wanted & found), len(wanted), NOT_SHOWN))
    if missing:
        print('no test is named after', ' '.join(sorted(missing)))
    if needless:
        print('shown after all:', ' '.join(sorted(needless)))
    return 1 if missing or needless else 0


if __name__ == '__main__':
    sys.exit(main())
