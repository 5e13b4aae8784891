#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every acceptance test, scenario and vector, legacy/FORMAT.md A-01 to A-32, S-1 to S-21 and G-1 to G-9, stands in
the name of a test; and every test that README.md's "Line by line" names is there.

  acceptance_names_test.py [--list]      --list: which test shows which
"""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
NAME = re.compile(r'^\s*(?:TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)|def (test_\w+))', re.MULTILINE)
ID = re.compile(r'(?:^|_)([ASG][0-9]+)(?=_|[A-Z])')
LINE_BY_LINE = '## Line by line'


def tests():
    """[(file, name)] of all."""
    found = []
    for directory, _, names in os.walk(TESTS):
        for name in sorted(names):
            if name.endswith(('_test.cc', '_test.py')):
                with open(os.path.join(directory, name), encoding='utf-8') as file:
                    found += [(os.path.relpath(os.path.join(directory, name), TESTS), match[2] or match[3])
                              for match in NAME.finditer(file.read())]
    return found


def promised():
    """What the right column of README.md's table names: a test, or how its name begins, with "..."; or a file."""
    with open(os.path.join(HERE, 'README.md'), encoding='utf-8') as file:
        section = file.read().split(LINE_BY_LINE)[1].split('\n## ')[0]
    cells = [line.split('|')[-2] for line in section.splitlines() if line.startswith('|')]
    return [name for cell in cells for name in re.findall(r'`([^`]+)`', cell)]


def main():
    wanted = ['A%02d' % n for n in range(1, 33)] + ['S%d' % n for n in range(1, 22)] + ['G%d' % n for n in range(1, 10)]
    shows = {}
    all_tests = tests()
    for path, name in all_tests:
        for word in ID.findall(name.removeprefix('test')):
            shows.setdefault(word, []).append(f'{path} {name}')
    if '--list' in sys.argv:
        for word in wanted:
            print(word, *shows.get(word, ['nothing']), sep='\n    ')
    missing = [word for word in wanted if word not in shows]
    names = [name for _, name in all_tests]
    unknown = [promise for promise in promised()
               if not (promise in names or os.path.exists(os.path.join(HERE, promise))
                       or promise.endswith('...') and any(name.startswith(promise[:-3]) for name in names))]
    print('%d of %d ids stand in names of tests' % (len(wanted) - len(missing), len(wanted)))
    if missing:
        print('no test is named after', ' '.join(missing))
    if unknown:
        print('README.md names what is no test:', *unknown, sep='\n  ')
    return 1 if missing or unknown else 0


if __name__ == '__main__':
    sys.exit(main())
