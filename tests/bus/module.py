#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The kernel module as mmoptd and mmoptctl have it loaded, on a machine made of files that counts as the running one: mmoptd by a
stand-in for systemd on a private bus, mmoptctl --direct by a modprobe made for it.  The real kernel loads nothing."""

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time

from lib import NAME, Bus, Failure, Program, expect, run_tests, wait_for

MMOPTCTL, MMOPTD, MMOPT_APPLY = (os.environ[name] for name in ('MMOPTCTL', 'MMOPTD', 'MMOPT_APPLY'))
ID = 'vm.want_old_faultaround_pte'
# As this architecture has it anyway, so that the effect is what the file says.
WANTED = '1' if platform.machine() == 'aarch64' else '0'
POLICY = f'[faultaround]\nmodule = yes\n[vm]\nwant_old_faultaround_pte = {WANTED}\nswappiness = 10\n'
RELEASE = '6.12.0-test'
FILES = {
    '/etc/mmopt/policy.d/50-test.conf': POLICY,
    f'/lib/modules/{RELEASE}/modules.dep': 'updates/dkms/mmopt_faultaround.ko:\n',
    '/proc/sys/kernel/arch': platform.machine() + '\n',
    '/proc/sys/kernel/ftrace_enabled': '1\n',
    '/proc/sys/kernel/hostname': 'test\n',
    '/proc/sys/kernel/modules_disabled': '0\n',
    '/proc/sys/kernel/osrelease': RELEASE + '\n',
    '/proc/sys/kernel/random/boot_id': '11111111-2222-3333-4444-555555555555\n',
    '/proc/sys/kernel/tainted': '4096\n',
    '/proc/sys/vm/swappiness': '60\n',
}
SYSCTL = '/proc/sys/vm/want_old_faultaround_pte'
TRIES = '/run/modprobe-tries'
UNIT = 'mmopt-load-module.service'

# An empty folder, where the machine is mounted in a namespace of this test's own.
ROOT = os.environ.get('MMOPT_TEST_ROOT')
bus = None
mmoptd = None
systemd = None


def run(*command):
    subprocess.run(command, check=True)


def write(path, text):
    os.makedirs(os.path.dirname(ROOT + path), exist_ok=True)
    with open(ROOT + path, 'w', encoding='ascii') as f:
        f.write(text)


def read(path):
    with open(ROOT + path, encoding='ascii') as f:
        return f.read().strip()


def bind(path, *more):
    os.makedirs(ROOT + path, exist_ok=True)
    run('mount', '--rbind', path, ROOT + path)
    if more:
        run('mount', '-o', 'remount,bind,' + ','.join(more), ROOT + path)


def build_root():
    """The programs, libraries and devices of this machine; its own /etc, /run, /sys, /proc/sys, /lib/modules and modprobe."""
    run('mount', '-t', 'tmpfs', '-o', 'mode=755', 'tmpfs', ROOT)
    for path in ('/etc', '/lib', '/made', '/run', '/sbin', '/sys'):
        os.mkdir(ROOT + path)
    bind('/usr', 'ro')
    bind('/dev')
    bind('/proc')
    run('mount', '--bind', ROOT + '/made', ROOT + '/proc/sys')
    for name in ('bin', 'lib64'):
        if os.path.isdir('/usr/' + name):
            os.symlink('usr/' + name, f'{ROOT}/{name}')
    for name in os.listdir('/usr/lib'):
        if name != 'modules':
            os.symlink('/usr/lib/' + name, f'{ROOT}/lib/{name}')
    for folder in sorted({os.path.dirname(program) for program in (MMOPTCTL, MMOPTD, MMOPT_APPLY)}):
        bind(folder, 'ro')
    bind(bus.folder)


def reset():
    """As after a boot."""
    shutil.rmtree(ROOT + '/run/mmopt', ignore_errors=True)
    for path in (SYSCTL, TRIES):
        if os.path.exists(ROOT + path):
            os.unlink(ROOT + path)
    for path, text in FILES.items():
        write(path, text)
    if os.path.exists(log_path()):
        os.unlink(log_path())


def log_path():
    return os.path.join(bus.folder, 'log')


def inside(program, *arguments):
    done = subprocess.run(['chroot', ROOT, program, *arguments], env=bus.environment, capture_output=True, text=True, timeout=120,
                          check=False, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


def mmoptctl(*arguments):
    return inside(MMOPTCTL, *arguments)


def item(*arguments):
    """Exit status, outcome and reason of the item, by a verb in JSON."""
    status, out, err = mmoptctl(*arguments, '--json')
    for step in json.loads(out)['steps'] if out else []:
        if step['id'] == ID:
            return status, step['outcome'], step['reason'] or ''
    raise Failure(f'{arguments}: {status}, {out}, {err}')


def says(found, status, outcome, part):
    expect(found[:2] == (status, outcome) and part in found[2], found, 'is not', (status, outcome, part))


def start():
    global mmoptd
    with open(log_path(), 'a', encoding='utf-8') as log:
        mmoptd = subprocess.Popen(['chroot', ROOT, MMOPTD], env=bus.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    wait_for(lambda: bus.has(NAME), 'mmoptd')
    settled()


def stop():
    global mmoptd
    if mmoptd:
        mmoptd.terminate()
        mmoptd.wait(60)
    mmoptd = None


def settled():
    """It has compared, and done what follows from that: a queued job shows as "applying" before the next change of state."""
    for _ in range(3):
        wait_for(lambda: bus.get('State') in ('s "in-sync"', 's "differs"', 's "error"'), 'a state')
        time.sleep(0.3)


def tries():
    systemd.tell('same')
    heard = [line for line in systemd.heard if line.startswith('start ')]
    expect(all(line == f'start {UNIT} replace' for line in heard), heard)
    return len(heard)


def tried(n, what):
    wait_for(lambda: tries() >= n, what)
    settled()
    expect(tries() == n, what, tries(), 'tries, not', n)


def looking_loads_nothing():
    start()
    for verb in ('plan', 'status', 'verify'):
        says(item(verb), 2 if verb != 'status' else 0, 'pending', 'mmopt_faultaround is loaded first, and marks')
    tried(0, 'nobody has applied anything')


def what_is_left_at_boot_is_tried_once():
    systemd.tell('says it will not')
    status, _, err = inside(MMOPT_APPLY)
    expect(status == 0 and 'mmoptd loads the module' in err, status, err)
    expect(read('/proc/sys/vm/swappiness') == '10')
    start()
    tried(1, 'what mmopt-apply has left')
    for verb in ('plan', 'verify'):
        says(item(verb), 2, 'refused', 'was not loaded: it will not; mmoptctl apply tries again')
        expect(item(verb) == item(verb, '--direct'), item(verb), item(verb, '--direct'))
    stop()
    start()
    tried(1, 'another mmoptd in the same boot')
    expect(bus.call('Reload')[0], 'reload')
    tried(2, 'a reload')
    mmoptctl('verify')
    tried(2, 'a look after the reload')
    says(item('apply'), 3, 'refused', 'could not be loaded: it will not')
    tried(3, 'an apply')
    says(item('verify'), 2, 'refused', 'mmoptctl apply tries again')
    tried(3, 'a look after the apply')


def what_systemd_says_is_told():
    start()
    systemd.tell('fails')
    says(item('apply'), 3, 'refused', f'{UNIT} ended with "failed": journalctl -b -u {UNIT}')
    systemd.tell('denies')
    says(item('apply'), 3, 'refused', f'systemd could not be asked to start {UNIT}: Unit {UNIT} is masked.')
    # An empty answer from a unit that ended well, and yet no file.
    systemd.tell('says')
    says(item('apply'), 3, 'refused', f'it is said to be there, yet there is no {SYSCTL}')
    tried(3, 'three applies')


def loaded_by_mmoptd():
    start()
    systemd.tell('loads')
    says(item('apply'), 0, 'applied', 'was loaded for it (kernel.tainted is now 4096)')
    expect(read(SYSCTL) == WANTED and not os.path.exists(ROOT + '/run/mmopt/module'), read(SYSCTL))
    with open(log_path(), encoding='utf-8') as log:
        expect('The kernel module mmopt_faultaround was loaded for ' + ID in log.read(), 'not in the log')
    says(item('apply'), 0, 'already', '')
    tried(1, 'two applies')
    expect(mmoptctl('rollback')[0] == 0 and read(SYSCTL) == '-1', read(SYSCTL))


def loaded_at_boot():
    systemd.tell('loads')
    expect(inside(MMOPT_APPLY)[0] == 0)
    start()
    tried(1, 'what mmopt-apply has left')
    wait_for(lambda: read(SYSCTL) == WANTED, 'the value')
    says(item('verify'), 0, 'already', '')


def modprobe(text):
    write('/sbin/modprobe', f'#!/bin/sh\necho "$*" >>{TRIES}\n{text}\n')
    os.chmod(ROOT + '/sbin/modprobe', 0o755)


def modprobes(n):
    expect(read(TRIES).split('\n') == ['mmopt_faultaround'] * n, read(TRIES))


def loaded_by_mmoptctl():
    modprobe('echo "modprobe: ERROR: could not insert \'mmopt_faultaround\': Key was rejected by service" >&2; exit 1')
    says(item('plan', '--direct'), 2, 'pending', 'is loaded first, and marks')
    expect(not os.path.exists(ROOT + TRIES), 'loaded by looking')
    status, out, err = mmoptctl('apply', '--direct')
    expect(status == 3 and 'Key was rejected by service (it is signed with a key that this kernel does not trust' in out + err, out, err)
    for verb in ('plan', 'verify'):
        expect('was not loaded: modprobe: could not insert' in item(verb, '--direct')[2], verb)
    modprobes(1)
    modprobe(f'echo -1 >{SYSCTL}')
    says(item('apply', '--direct'), 0, 'applied', 'was loaded for it')
    modprobes(2)
    expect(read(SYSCTL) == WANTED)
    says(item('apply', '--direct'), 0, 'already', '')
    modprobes(2)
    expect(mmoptctl('rollback', '--direct')[0] == 0 and read(SYSCTL) == '-1', read(SYSCTL))
    expect(tries() == 0, 'systemd was asked')


def what_mmoptctl_does_not_try():
    modprobe(f'echo -1 >{SYSCTL}')
    expect(item('apply', '--direct', '--dry-run')[1] == 'pending')
    write('/etc/mmopt/policy.d/50-test.conf', POLICY.replace('yes', 'no'))
    says(item('apply', '--direct'), 3, 'unsupported', 'this kernel does not have it')
    write('/etc/mmopt/policy.d/50-test.conf', POLICY)
    write(f'/lib/modules/{RELEASE}/modules.dep', '')
    says(item('apply', '--direct'), 3, 'unsupported', f'apt install mmopt-faultaround-dkms linux-headers-{RELEASE}')
    expect(not os.path.exists(ROOT + TRIES), 'modprobe was run')


def around(test):
    reset()
    systemd.forget_heard()
    try:
        test()
        expect(not mmoptd or mmoptd.poll() is None, 'mmoptd is gone')
    except KeyError as e:
        raise Failure(repr(e)) from e
    finally:
        stop()


def enter_namespace():
    """What is mounted there is gone with the last process in it, and the folder is as empty as before."""
    folder = tempfile.mkdtemp()
    done = subprocess.run(['unshare', '--mount', '/usr/bin/python3', '-B', os.path.abspath(__file__)],
                          env={**os.environ, 'MMOPT_TEST_ROOT': folder}, check=False)
    os.rmdir(folder)
    return done.returncode


def main():
    global bus, systemd
    if os.geteuid() != 0:
        print('1..0 # SKIP needs root')
        return 0
    if not ROOT:
        return enter_namespace()
    bus = Bus()
    for name in ('NO_COLOR', 'COLUMNS', 'LINES', 'PAGER', 'SYSTEMD_PAGER'):
        bus.environment.pop(name, None)
    build_root()
    reset()
    bus.start()
    systemd = Program(['/usr/bin/python3', '-B', os.path.join(os.path.dirname(os.path.abspath(__file__)), 'fake-systemd.py'), ROOT],
                      bus.environment)
    try:
        expect(systemd.read_line() is not None, systemd.log())
        if 'from a container' in item('plan', '--direct')[2]:
            print('1..0 # SKIP a container')
            return 0
        run_tests([looking_loads_nothing, what_is_left_at_boot_is_tried_once, what_systemd_says_is_told, loaded_by_mmoptd,
                   loaded_at_boot, loaded_by_mmoptctl, what_mmoptctl_does_not_try], around)
    finally:
        systemd.stop()
        bus.remove()
    return 0


if __name__ == '__main__':
    sys.exit(main())
