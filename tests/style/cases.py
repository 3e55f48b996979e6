#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""docs/cases.md: every test that its table names is there, and every case has one."""

import os
import re

from sources import TOP, Tap, read

PAGE = 'docs/cases.md'
CASES = {*range(1, 7), *range(8, 19), 22, *range(25, 29)}
ROW = re.compile(r'^\|\s*(\d+)\s*\|\s*`([^`]+)`\s*\|\s*`([^`]+)`\s*\|', re.M)


def rows(page):
    """(case, file, name of a test in it)"""
    return [(int(case), name, test) for case, name, test in ROW.findall(page)]


def names_test(text, test):
    """The name stands in the file as a word: as a function or as the title of a test."""
    return re.search(r'(?<![\w-])' + re.escape(test) + r'(?![\w-])', text) is not None


def missing_tests(page, read_file):
    found = []
    for case, name, test in rows(page):
        text = read_file(name)
        if text is None:
            found.append(f'case {case}: there is no file {name}')
        elif not names_test(text, test):
            found.append(f'case {case}: {name} has no test {test}')
    return found


def missing_cases(page):
    found = [f'case {case} has no test in the table' for case in sorted(CASES - {case for case, _, _ in rows(page)})]
    found += [f'case {case} has no section' for case in sorted(CASES)
              if not re.search(rf'^#+ {case}\. ', page, re.M)]
    return found


def read_file(name):
    return read(name) if os.path.isfile(os.path.join(TOP, name)) else None


def main():
    tap = Tap()
    sample = '| 1 | `a.c` | `case_01_x` |\n| 2 | `b.c` | `case_02_y` |\n'
    found = missing_tests(sample, {'a.c': 'static void case_01_xy(void **state)'}.get)
    tap.check('missing tests are found (self-test)', [] if len(found) == 2 else [f'found {found}'])
    found = missing_tests(sample, {'a.c': 'case_01_x(void)', 'b.c': '"case_02_y"'}.get)
    tap.check('tests that are there are found (self-test)', found)
    tap.check('missing cases are found (self-test)', [] if len(missing_cases(sample)) == 2 * len(CASES) - 2 else ['none found'])
    page = read(PAGE)
    tap.check('every test named in ' + PAGE + ' exists', missing_tests(page, read_file))
    tap.check('every case has a section and a test', missing_cases(page))
    tap.done()


main()
