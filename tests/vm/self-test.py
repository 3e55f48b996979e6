#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What of the harness can be tested without a machine.  self-test-vm does the rest."""

import contextlib
import os
import shutil
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
import kernels
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
    ('# vm: kernel=6.12-plain,6.12-patched', ('kernel', ['6.12-plain', '6.12-patched'])),
    ('# vm: kernel=6.1-plain-debug bare', ('bare', True)),
    ('# vm: kernel=6.1-debug', '6.1-debug cannot run systemd'),
    ('# vm: kernel=6.1-new', 'names other kernels'),
    ('# vm: swap=512M', ('swap', 512 << 20)),
    ('# vm: swap=some', 'is not a size'),
    ('# vm: icount smp=1', ('icount', True)),
    ('# vm: icount', 'it needs smp=1'),
    ('# vm: selftests module', ('module', True)),
    ('# vm: bare preboot', 'bare is without systemd'),
    ('# vm: bare enable=a.service', 'bare is without systemd'),
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
    command = ' '.join(machine.command(wants, '/k', '/d', 'append=1', '/c', fds))
    for part in ('-accel tcg', '-cpu max', 'init_on_alloc=1', 'append=1', '-m 2048M,slots=4,maxmem=8G', 'id=ram1,size=1024M',
                 'node,nodeid=1,memdev=ram1,cpus=1', '-kernel /k/vmlinux'):
        if part not in command:
            yield f'no "{part}" in {command}'
    for part in ('kvm', '-icount'):
        if part in command:
            yield f'"{part}" in {command}'
    if '-icount shift=1' not in ' '.join(machine.command(parse('# vm: icount smp=1'), '/k', '/d', '', '/c', fds)):
        yield 'no -icount where it is wanted'


def check_kernel_image():
    with tempfile.TemporaryDirectory() as kernel:
        for name in ('vmlinux', 'bzImage'):
            with open(os.path.join(kernel, name), 'w', encoding='utf-8'):
                pass
            if machine.kernel_image(kernel) != os.path.join(kernel, name):
                yield f'not {name} with {sorted(os.listdir(kernel))} there'


def check_swap():
    fds = {name: 3 for name in machine.Machine.LINES}
    for text, expected in (('# vm:', False), ('# vm: swap=64M', True)):
        command = ' '.join(machine.command(parse(text), '/k', '/d', '', '/c', fds))
        if ('file=/d/swap.img' in command and 'nsid=4,drive=swap' in command) != expected:
            yield f'{text}: {command}'


# (kernels and extras that tests want, what has to be made)
WANTED = (
    ((), ['6.1', '6.12']),
    ((('6.12', 'bare'),), ['6.1', '6.12']),
    ((('6.12-patched', 'bare selftests'), ('6.12-plain', 'bare')),
     ['6.1', '6.12', '6.12-plain', '6.12-patched', ('6.12-patched', 'selftests')]),
    ((('6.1', 'module'), ('6.1', 'module')), ['6.1', '6.12', ('6.1', 'module')]),
)


def check_wanted():
    for tests, expected in WANTED:
        got = prepare.keys([(kernel, parse('# vm: ' + flags)) for kernel, flags in tests])
        if got != expected:
            yield f'{tests}: {got}, expected {expected}'


def check_built():
    """What a kernel's folder depends on: the series where it has it, without the kernel's own tests; nothing else's."""
    seen = {}

    def note(kind, inputs, make):
        seen[inputs[0]] = inputs
        return ''

    real, kernels.cache.entry = kernels.cache.entry, note
    try:
        for name in header.KERNELS[len(header.DEBIAN_KERNELS):]:
            kernels.built_kernel(name)
    finally:
        kernels.cache.entry = real
    for name, (_, _, configs, series) in seen.items():
        if bool(series) != bool(kernels.series(name.split('-')[0]) and 'plain' not in name):
            yield f'{name}: the series is in the hash or not: {series}'
        if any('selftests' in patch for patch in series) or series and not any('hugetlb_vmemmap' in patch for patch in series):
            yield f'{name}: of the series all but the kernel\'s own tests count: {list(series)}'
        if 'Signed-off-by' in str(series) or 'tools/testing' in str(series):
            yield f'{name}: messages of the patches or the kernel\'s own tests are in the hash'
        if ('debug.config' in configs) != ('debug' in name):
            yield f'{name}: {configs}'
    if len(seen) != 2 * len(header.VARIANTS):
        yield f'there are only {list(seen)}'


def check_failure():
    """A kernel that cannot be built fails those who want it, no others."""
    def fail(name):
        raise cache.PrepareError('no ' + name)

    prepared = prepare.Prepared()
    prepared.make('6.12', str, '6.12')
    prepared.make('6.12-plain', fail, '6.12-plain')
    if prepared.paths != {'6.12': '6.12'} or prepared.missing != {'6.12-plain': 'no 6.12-plain'}:
        yield f'{prepared.paths} {prepared.missing}'


def check_orders():
    """What the header wants arrives in the machine as files that guest/init looks for."""
    with tempfile.TemporaryDirectory() as folder:
        extra = os.path.join(folder, 'selftests')
        os.mkdir(extra)
        script = os.path.join(folder, 't-a.sh')
        with open(script, 'w', encoding='utf-8') as f:
            f.write('# vm:\n')
        for text, expected in (('# vm:', set()), ('# vm: bare swap=64M', {'bare', 'swap'}), ('# vm: preboot', {'preboot'})):
            root = os.path.join(folder, 'root')
            inputs = types.SimpleNamespace(script=script, build=folder, extras=[extra], debs=[], trees=[])
            session.Session.write_job(types.SimpleNamespace(
                inputs=inputs, wants=parse(text), write_orders=lambda job, i=inputs, w=parse(text):
                session.Session.write_orders(types.SimpleNamespace(inputs=i, wants=w), job)), root)
            got = set(os.listdir(os.path.join(root, 'var/lib/vmrun/job'))) - {'test', 'guest', 'env'}
            shutil.rmtree(root)
            if got != expected | {'selftests'}:
                yield f'{text}: {got}'


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
    (check_kernel_image, 'of two kernel images the compressed one is booted'),
    (check_swap, 'a swap disk is there where the header wants it'),
    (check_wanted, 'only the kernels are made that a test wants'),
    (check_built, 'a kernel built from source depends on what it is made of'),
    (check_failure, 'a kernel that cannot be made fails its own tests only'),
    (check_orders, 'the machine learns what the header wants'),
)


def main():
    tap = Tap()
    for check, title in CHECKS:
        tap.check(title, list(check()))
    tap.done()


main()
