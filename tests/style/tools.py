#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Checks that a program of the distribution does: clang-format, shellcheck, mandoc.  Each proves first that it can fail."""

import os
import shutil
import subprocess
import tempfile

from sources import TOP, Tap, files, is_c, read


def run(command, names, folder=TOP):
    done = subprocess.run([*command, *names], cwd=folder, capture_output=True, text=True, errors='backslashreplace', check=False)
    lines = (done.stdout + done.stderr).splitlines()
    return lines or ([f'{command[0]}: exit status {done.returncode}'] if done.returncode else [])


def clang_format(names, folder=TOP):
    program = shutil.which('clang-format-14') or 'clang-format'
    return run([program, '--dry-run', '-Werror', f'--style=file:{TOP}/.clang-format'], names, folder)


def shellcheck(names, folder=TOP):
    return run(['shellcheck', '--external-sources', '--source-path=SCRIPTDIR', '--format=gcc'], names, folder)


def mandoc(names, folder=TOP):
    return run(['mandoc', '-T', 'lint', '-W', 'warning'], names, folder)


def is_shell(name):
    if name.endswith(('.sh', '.bash')):
        return True
    if '.' in os.path.basename(name):
        return False
    first = read(name).split('\n', 1)[0]
    return first.startswith('#!') and first.split('/')[-1].split()[-1] in ('sh', 'bash')


def is_ours_c(name):
    """The kernel's own style, which its checkpatch.pl knows, rules in kernel-patches/."""
    return is_c(name) and not name.startswith('kernel-patches/')


def is_man(name):
    return name.startswith('man/') and name[-2:] in ('.1', '.5', '.7', '.8')


CHECKS = (
    (clang_format, 'C files are formatted as .clang-format says', is_ours_c, 'bad.c', 'int main( void ) { return 0; }\n'),
    (shellcheck, 'shellcheck finds nothing', is_shell, 'bad.sh', '#!/bin/sh\nrm $1\n'),
    (mandoc, 'mandoc finds nothing in the man pages', is_man, 'bad.1', '.TH X 1\n.SH NAME\nx\n.NOSUCH y\n'),
)


def main():
    tap = Tap()
    for check, title, wanted, sample, text in CHECKS:
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, sample), 'w', encoding='utf-8') as f:
                f.write(text)
            tap.check(f'{title} (self-test)', [] if check([sample], folder) else ['the bad sample passes'])
        names = [name for name in files() if wanted(name)]
        tap.check(title, check(names) if names else ['there is no file to check'])
    tap.done()


main()
