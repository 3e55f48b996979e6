# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the style checks share: the list of files, C text without comments, and TAP output."""

import os
import re
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def files():
    """Every file of the project, relative to its top: what git knows or would add, else what lies there."""
    listed = subprocess.run(['git', '-C', TOP, 'ls-files', '-z', '--cached', '--others', '--exclude-standard'],
                            capture_output=True, check=False)
    if listed.returncode == 0 and listed.stdout:
        names = {os.fsdecode(name) for name in listed.stdout.split(b'\0') if name}
    else:
        names = set()
        for folder, folders, leaves in os.walk(TOP):
            folders[:] = [f for f in folders if not f.startswith('build') and f not in ('.git', '__pycache__')]
            names.update(os.path.relpath(os.path.join(folder, leaf), TOP) for leaf in leaves)
    return sorted(name for name in names if os.path.isfile(os.path.join(TOP, name)))


def read(name):
    with open(os.path.join(TOP, name), 'rb') as f:
        return f.read().decode('utf-8', 'surrogateescape')


def is_c(name):
    return name.endswith(('.c', '.h'))


_C_TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def c_code(text, keep_strings=False):
    """C text with comments (and strings) blanked out; lines keep their numbers."""
    def blank(match):
        token = match.group(0)
        if token[0] in '"\'':
            return token if keep_strings else token[0] + ' ' * (len(token) - 2) + token[0]
        return re.sub(r'[^\n]', ' ', token)
    return _C_TOKEN.sub(blank, text)


class Tap:
    """One line of TAP per check; what was found goes before it as comments."""

    def __init__(self):
        self.n = 0
        self.failed = 0

    def check(self, name, findings):
        self.n += 1
        for finding in findings:
            print('# ' + finding.encode('utf-8', 'backslashreplace').decode())
        if findings:
            self.failed += 1
        print(f"{'not ok' if findings else 'ok'} {self.n} - {name}")

    def done(self):
        print(f'1..{self.n}')
        sys.exit(1 if self.failed else 0)
