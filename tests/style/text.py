#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""House rules that can be seen line by line.  Each rule first proves on a bad sample that it can fail."""

import os
import re

from sources import TOP, Tap, c_code, files, is_c, read

# Data whose bytes are given: captured machines, fuzz inputs, expected output, the licence.
DATA = ('tests/sysroots/', 'tests/golden/', 'tests/fuzz/corpus', 'COPYING')

SHARED_FOLDERS = ('/', '/tmp', '/root', '/home', '/srv', '/opt', '/mnt', '/var', '/var/tmp', '/usr', '/usr/src', '/usr/local', '/usr/local/src',
                  '/build', '/src')

BANNED_CALLS = ('strcpy', 'strncpy', 'strcat', 'strncat', 'sprintf', 'vsprintf', 'gets', 'atoi', 'atol', 'atoll', 'atof',
                'strtok', 'system', 'popen', 'tmpnam', 'mktemp', 'alloca', 'toupper', 'tolower', 'isspace', 'isdigit', 'isalpha',
                'isalnum', 'strcasecmp', 'strncasecmp', 'strtod')
# The engine hands messages to its caller and never ends the program.
ENGINE_CALLS = ('printf', 'vprintf', 'puts', 'putchar', 'perror', 'exit', '_exit', '_Exit', 'quick_exit', 'abort', 'assert', 'err',
                'errx', 'warn', 'warnx', 'verr', 'verrx', 'vwarn', 'vwarnx', 'error', 'syslog', 'vsyslog', 'psignal')


def called(code, names):
    return re.finditer(r'(?<![\w.>])(' + '|'.join(names) + r')\s*\(', code)


def at(name, text, match):
    return f'{name}:{text.count(chr(10), 0, match.start()) + 1}: {match.group(0).strip()}'


def spdx(name, text):
    source = is_c(name) or name.endswith(('.py', '.sh', 'meson.build', '.zsh', '.bash')) or text.startswith('#!')
    # What is compiled into the kernel has the kernel's licence.
    wanted = 'SPDX-License-Identifier: ' + ('GPL-2.0-only' if name.startswith('kernel-patches/') else 'LGPL-2.1-or-later')
    if source and not any(wanted in line for line in text.split('\n')[:2]):
        return [f'{name}: no "{wanted}" in the first two lines']
    return []


def white_space(name, text):
    # The context of a patch has the white space of what it changes, and an empty line of it is a blank.
    if name.endswith('.patch'):
        return []
    found = [f'{name}:{n}: white space at the end of the line'
             for n, line in enumerate(text.split('\n'), 1) if line.endswith((' ', '\t'))]
    if text and not text.endswith('\n'):
        found.append(f'{name}: no newline at the end')
    return found


def line_ends(name, text):
    return [f'{name}:{n}: CR before the newline' for n, line in enumerate(text.split('\n'), 1) if line.endswith('\r')]


def unfinished(name, text):
    return [at(name, text, m) for m in re.finditer(r'\b(' + '|'.join(('TO' + 'DO', 'FIX' + 'ME', 'X' * 3, 'HA' + 'CK')) + r')\b', text)]


def banned_calls(name, text):
    if not is_c(name):
        return []
    return [at(name, text, m) for m in called(c_code(text), BANNED_CALLS)]


def engine_is_silent(name, text):
    if not is_c(name) or not name.startswith(('base/', 'core/')):
        return []
    code = c_code(text)
    found = [at(name, text, m) for m in called(code, ENGINE_CALLS)]
    found += [at(name, text, m) for m in re.finditer(r'\b(stdout|stderr)\b', code)]
    return found


def machine_paths(name, text):
    # Joe is nobody: examples and tests may name his home.
    patterns = [r'/home/(?!joe/)[a-z][a-z0-9._-]*/', r'/root/[\w.-]+/']
    # The place where this checkout lies, unless that is a folder everybody has.
    for place in {TOP, os.path.dirname(TOP)}:
        if place not in SHARED_FOLDERS:
            patterns.append(re.escape(place + '/'))
    return [at(name, text, m) for m in re.finditer(r'(?<![\w.])(?:' + '|'.join(patterns) + ')', text)]


CHECKS = (
    # rule, name, a bad sample (file name, text), good samples that must pass
    (spdx, 'every source names its licence', ('core/a.c', 'int a;\n'),
     [('core/a.c', '/* SPDX-License-Identifier: LGPL-2.1-or-later */\n'),
      ('kernel-patches/a.c', '// SPDX-License-Identifier: GPL-2.0-only\n')]),
    (white_space, 'no white space at line ends, a newline at the end', ('a.md', 'text \n'),
     [('a.md', 'text\n'), ('a.patch', ' \n')]),
    (line_ends, 'no CRLF', ('a.md', 'text\r\n'), [('a.md', 'text\n')]),
    (unfinished, 'nothing is marked as unfinished', ('a.md', 'TO' + 'DO: more\n'), [('a.md', 'todo lists\n')]),
    (banned_calls, 'no banned calls', ('cli/a.c', 'x = atoi(s);\n'),
     [('cli/a.c', '/* atoi(s) */ x = my_atoi(s); y = "system(3)"; p->system(x);\n')]),
    (engine_is_silent, 'base/ and core/ neither print nor end the program', ('core/plan.c', 'printf("x");\n'),
     [('core/report-text.c', 'fprintf(f, "x");\n'), ('core/a.c', 'static_assert(1); s = xasprintf("x"); d.error = 0;\n'),
      ('cli/main.c', 'exit(1);\n')]),
    (engine_is_silent, 'base/ and core/ write only to streams they are given', ('core/report-text.c', 'fputs("x", stderr);\n'), []),
    (machine_paths, 'no path of one person\'s machine', ('a.md', 'see ' + TOP + '/a.md\n'),
     [('a.md', 'see /usr/lib/mmopt and https://example.org/home/x/\n')]),
)


def main():
    tap = Tap()
    texts = [(name, read(name)) for name in files() if not name.startswith(DATA)]
    texts = [(name, text) for name, text in texts if '\0' not in text]
    for rule, title, bad, good in CHECKS:
        findings = [] if rule(*bad) else [f'the rule lets the bad sample {bad} pass']
        findings += [f'the rule objects to the good sample {sample}' for sample in good if rule(*sample)]
        tap.check(title + ' (self-test)', findings)
    for rule, title in {rule: title for rule, title, _, _ in reversed(CHECKS)}.items():
        tap.check(title, [finding for name, text in texts for finding in rule(name, text)])
    tap.done()


main()
