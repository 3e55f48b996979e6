#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""tools/test-results: what ./run-tests counts.  No failure may get lost on the way to its last line."""

import json
import os
import subprocess
import sys
import tempfile

from sources import TOP, Tap

# title, what meson logs, results expected
SAMPLES = (
    ('a program without TAP counts once', {'result': 'OK', 'stdout': 'fine\n'}, ['passed']),
    ('each test of a TAP program counts', {'result': 'OK', 'stdout': '1..2\nok 1 - a\nok 2 - b\n'}, ['passed', 'passed']),
    ('a plan at the end counts too', {'result': 'OK', 'stdout': 'ok 1 - a\n1..1\n'}, ['passed']),
    ('a failed test', {'result': 'ERROR', 'stdout': '1..2\nok 1 - a\nnot ok 2 - b\n'}, ['passed', 'failed']),
    ('a skip inside a program that passed', {'result': 'OK', 'stdout': '1..2\nok 1 - a\nok 2 - b # SKIP no node\n'},
     ['passed', 'skipped']),
    ('a skip as cmocka writes it', {'result': 'OK', 'stdout': '1..1\nnot ok 1 # SKIP b\n'}, ['skipped']),
    ('a skipped program', {'result': 'SKIP', 'stdout': ''}, ['skipped']),
    ('a leak found after the last test', {'result': 'FAIL', 'stdout': '1..1\nok 1 - a\n', 'returncode': 23}, ['passed', 'failed']),
    ('tests announced and not run', {'result': 'OK', 'stdout': '1..3\nok 1 - a\n'}, ['passed', 'failed']),
    ('a death before the first test', {'result': 'FAIL', 'stdout': '1..3\n'}, ['failed']),
    ('a timeout', {'result': 'TIMEOUT', 'stdout': ''}, ['failed']),
    ('a word nobody knows yet', {'result': 'NEW', 'stdout': ''}, ['failed']),
)


def main():
    tap = Tap()
    for title, entry, expected in SAMPLES:
        with tempfile.NamedTemporaryFile('w', suffix='.json') as log:
            log.write(json.dumps({'name': 'mmopt:unit / sample', **entry}) + '\n')
            log.flush()
            done = subprocess.run([sys.executable, os.path.join(TOP, 'tools/test-results'), 'gcc', log.name],
                                  capture_output=True, text=True, check=False)
        got = [line.split('\t')[0] for line in done.stdout.splitlines()]
        tap.check(title, [] if got == expected and done.returncode == 0 else [f'got {got} {done.stderr}, expected {expected}'])
    tap.done()


main()
