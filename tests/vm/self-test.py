#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What of the harness can be tested without a machine.  self-test-vm does the rest."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
import types

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(os.path.dirname(HERE), 'style'))

import cache
import header
import machine
import prepare
import session
from sources import Tap

# (header line, (key, value) that it gives or a part of the message)
HEADERS = (
    ('# vm:', ('kernel', ['6.1', '6.12'])),
    ('# vm: kernel=6.12', ('kernel', ['6.12'])),
    ('# vm: mem=2G smp=4', ('mem', 2 << 30)),
    ('# vm: mem=512M', ('mem', 512 << 20)),
    ('# vm: append="a=1 b=2" hotplug', ('append', 'a=1 b=2')),
    ('# vm: hotplug', ('hotplug', True)),
    ('# vm: numa=2', ('numa', 2)),
    ('# vm: enable=a.service,b.timer', ('enable', ['a.service', 'b.timer'])),
    ('# vm: preboot\n# vm: timeout=60', ('timeout', 60)),
    ('# A sentence first.\n# vm: taint=512', ('taint', 512)),
    ('# no header', 'no line "# vm:'),
    ('#!/bin/sh\n\n# vm: kernel=6.1', 'no line "# vm:'),
    ('# vm: kernel=5.10', 'a.sh:1: "kernel=5.10" names other kernels'),
    ('# vm: kernel=6.1,6.1', 'names other kernels'),
    ('# vm: kernel=', 'is empty'),
    ('# vm: mem=2X', 'is not a size'),
    ('# vm: smp=two', 'is not a number'),
    ('# vm: colour=red', 'is not known'),
    ('# vm: hotplug=yes', 'is not known'),
    ('# vm: preboot\n# vm: numa=', 'a.sh:2: "numa=" is empty'),
    ('# vm: append="a', 'No closing quotation'),
    ('# vm: trouble=(', 'is not a regular expression'),
    ('# vm: numa=3', '3 nodes need as many CPUs'),
)

# (what the kernel said, what the test declared, is it trouble)
KERNEL_LINES = (
    ('[    1.0] Linux version 6.12.117', '', False),
    ('[    1.0] WARNING: CPU: 0 PID: 1 at mm/page_alloc.c:1', '', True),
    ('[    1.0] BUG: Bad page state in process bash  pfn:10440', '', True),
    ('[    1.0] BUG: Bad page state in process bash  pfn:10440', 'Bad page state', False),
    ('[    1.0] Oops: 0002 [#1] PREEMPT SMP', 'Bad page state', True),
    ('[    1.0] Kernel panic - not syncing: sysrq triggered crash', '', True),
    ('[    1.0] Out of memory: Killed process 7 (x)', '', True),
    ('test| WARNING: CPU: what a test prints', '', False),
)

# (exit status, taint, log, expected part of the verdict)
VERDICTS = (
    (0, 0, [], ''),
    (1, 0, [], 'exit status 1'),
    (137, 0, [], 'exit status 137'),
    (0, 512, [], 'tainted: 512'),
    (0, 0, ['Oops: 1'], 'the kernel said: Oops: 1'),
)


def parse(text):
    try:
        return header.parse('a.sh', text)
    except header.HeaderError as error:
        return str(error)


def check_headers():
    for text, expected in HEADERS:
        got = parse(text)
        if isinstance(expected, tuple):
            good = not isinstance(got, str) and getattr(got, expected[0]) == expected[1]
        else:
            good = isinstance(got, str) and expected in got
        if not good:
            yield f'{text!r}: {got}, expected {expected}'


def check_tests():
    names = [name for name in os.listdir(HERE) if name.startswith('t-') and name.endswith('.sh')]
    if not names:
        yield 'there is no test'
    for name in names:
        try:
            header.read(os.path.join(HERE, name))
        except header.HeaderError as error:
            yield str(error)


def check_readme():
    with open(os.path.join(HERE, 'README.md'), encoding='utf-8') as f:
        text = f.read()
    keys = [f'{key}=' for key in header.CONVERT] + [f'{flag}`' for flag in header.FLAGS]
    return [f'README.md does not tell of {key}' for key in keys if f'| `{key}' not in text]


def check_trouble():
    return [f'{line!r} with {allowed!r}' for line, allowed, trouble in KERNEL_LINES
            if bool(session.find_trouble([line], allowed)) != trouble]


def check_verdicts():
    for status, taint, log, expected in VERDICTS:
        done = types.SimpleNamespace(status=status, taint=taint, result='exit-code', wants=header.Wants(),
                                     kernel_log=lambda log=log: log)
        try:
            session.Session.judge(done)
            got = ''
        except session.TestFailed as error:
            got = str(error)
        if expected not in got or bool(expected) != bool(got):
            yield f'{status} {taint} {log}: "{got}", expected "{expected}"'


@contextlib.contextmanager
def own_cache():
    before = os.environ.get('XDG_CACHE_HOME')
    with tempfile.TemporaryDirectory() as folder:
        os.environ['XDG_CACHE_HOME'] = folder
        try:
            yield
        finally:
            del os.environ['XDG_CACHE_HOME']
            if before is not None:
                os.environ['XDG_CACHE_HOME'] = before


def check_cache():
    made = []

    def make(folder):
        made.append(folder)

    def break_off(folder):
        raise cache.PrepareError('no')

    with own_cache():
        first = cache.entry('rootfs', ['a', 1], make)
        if cache.entry('rootfs', ['a', 1], make) != first or len(made) != 1:
            yield 'the same inputs are made twice'
        if cache.entry('rootfs', ['a', 2], make) == first or len(made) != 2:
            yield 'other inputs get the same folder'
        with contextlib.suppress(cache.PrepareError):
            cache.entry('rootfs', ['a', 3], break_off)
        cache.entry('rootfs', ['a', 3], make)
        if len(made) != 3:
            yield 'what failed counts as made'
        cache.remove_unused()
        if not os.path.isdir(first):
            yield 'what was used just now is removed'
        cache.remove_unused(time.time() + (cache.UNUSED_DAYS + 1) * 86400)
        if os.path.isdir(first):
            yield 'what nobody uses stays'


def check_packages():
    packages = prepare.guest_packages()
    if packages != sorted(packages) or 'systemd' not in packages:
        yield f'guest-packages: not sorted, or no systemd: {packages}'


def lives(pid):
    with contextlib.suppress(OSError), open(f'/proc/{pid}/stat', encoding='utf-8') as f:
        return f.read().rsplit(')', 1)[1].split()[0] != 'Z'
    return False


def check_death():
    """A killed harness takes what it started with it."""
    code = ('import subprocess, sys, time; sys.path.insert(0, sys.argv[1]); import machine\n'
            'print(subprocess.Popen(["sleep", "60"], preexec_fn=machine.die_with_parent).pid, flush=True); time.sleep(60)')
    with subprocess.Popen([sys.executable, '-c', code, HERE], stdout=subprocess.PIPE, text=True) as parent:
        child = int(parent.stdout.readline())
        was_there = lives(child)
        parent.send_signal(signal.SIGKILL)
    end = time.monotonic() + 10
    while lives(child) and time.monotonic() < end:
        time.sleep(0.05)
    if not was_there or lives(child):
        yield 'it was never there' if not was_there else 'it lives on'


def check_command():
    wants = parse('# vm: mem=2G numa=2 hotplug append=quiet')
    fds = {name: 3 for name in machine.Machine.LINES}
    command = ' '.join(machine.command(wants, 'vmlinux', '/d', 'append=1', '/c', fds))
    for part in ('-accel tcg', '-cpu max', 'init_on_alloc=1', 'append=1', '-m 2048M,slots=4,maxmem=8G', 'id=ram1,size=1024M',
                 'node,nodeid=1,memdev=ram1,cpus=1'):
        if part not in command:
            yield f'no "{part}" in {command}'
    if 'kvm' in command:
        yield 'KVM in ' + command


CHECKS = (
    (check_headers, 'headers are read, mistakes in them told'),
    (check_tests, 'each test has a header without mistakes'),
    (check_readme, 'README.md has every key'),
    (check_trouble, 'trouble in a kernel log is seen'),
    (check_verdicts, 'a test passes only with exit status 0 on a sound kernel'),
    (check_cache, 'the cache makes things once'),
    (check_packages, 'the list of packages is read'),
    (check_death, 'nothing outlives a killed harness'),
    (check_command, 'QEMU is called as the header wants it'),
)


def main():
    tap = Tap()
    for check, title in CHECKS:
        tap.check(title, list(check()))
    tap.done()


main()
