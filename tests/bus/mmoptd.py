#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The real mmoptd on a private bus: mmoptctl shows the same bytes and ends with the same status as without it.

Live: a trial sets vm.stat_interval on this machine, and every way out of it gives the old value back."""

import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import time

from lib import NAME, NOBODY, Bus, Failure, expect, run_tests, wait_for

MMOPTCTL, MMOPTD, HAMMER = (os.environ[name] for name in ('MMOPTCTL', 'MMOPTD', 'HAMMER'))
KNOB = '/proc/sys/vm/stat_interval'
POLICY = '/run/mmopt/policy.d/50-test.conf'

bus = Bus()
mmoptd = None
log_path = os.path.join(bus.folder, 'log')


def knob():
    with open(KNOB, encoding='ascii') as f:
        return int(f.read())


BEFORE = knob()
WANTED = BEFORE + 1


def write_policy(value):
    os.makedirs(os.path.dirname(POLICY), exist_ok=True)
    with open(POLICY + '.new', 'w', encoding='ascii') as f:
        f.write(f'[vm]\nstat_interval = {value}\n')
    os.rename(POLICY + '.new', POLICY)


def start():
    global mmoptd
    with open(log_path, 'w', encoding='utf-8') as log:
        mmoptd = subprocess.Popen([MMOPTD], env=bus.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    wait_for(lambda: bus.has(NAME), 'mmoptd')
    wait_for(lambda: bus.get('State') in ('s "in-sync"', 's "differs"'), 'a state')


def stop():
    mmoptd.terminate()
    mmoptd.wait(60)


def state_is(state):
    wait_for(lambda: bus.get('State') == f's "{state}"', f"state {state}: {bus.get('State')}")


def mmoptctl(*arguments, before=()):
    done = subprocess.run([*before, MMOPTCTL, *arguments], env=bus.environment, capture_output=True, text=True, timeout=120, check=False,
                          stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


def same(*arguments, direct=None, before=(), change=lambda text: text):
    """The same by both ways.  What counts by itself, such as free memory, may move between the two: then once more."""
    for _ in range(10):
        by_bus = mmoptctl(*arguments, before=before)
        here = (direct or mmoptctl)(*arguments, '--direct', before=before)
        if (by_bus[0], change(by_bus[1]), by_bus[2]) == (here[0], change(here[1]), here[2]):
            return by_bus
    raise Failure(f'{arguments}: by mmoptd {by_bus}, else {here}')


def reading_verbs_say_the_same():
    for words, status in ((['status'], 0), (['plan'], 2), (['verify'], 2), (['savings'], 0), (['savings', '--what-if'], 0),
                          (['explain', 'vm.stat_interval'], 0), (['explain', 'no.such'], 1), (['history'], 0), (['apply', '--dry-run'], 2),
                          ([], 0)):
        for more in ([], ['--json'], ['--json=pretty'], ['--quiet']):
            got = same(*words, *more)
            expect(got[0] == status, words, got)
    # So much is counted in these that only their form can be compared.
    same('facts', change=lambda text: re.sub(r'[\d.]+ *[KMG]?i?B?', '0', text))


def what_was_just_written_counts():
    for value in (WANTED + 1, WANTED + 2):
        write_policy(value)
        status, out, _ = mmoptctl('plan')
        expect(status == 2 and re.search(rf'vm.stat_interval +{BEFORE} s +{value} s', out), out)
    write_policy(WANTED)
    status, out, err = mmoptctl('apply')
    expect(status == 0 and knob() == WANTED, status, out, err, knob())
    state_is('in-sync')
    time.sleep(3)
    expect(knob() == WANTED and bus.get('DriftCount') == 'u 0')
    expect(mmoptctl('rollback')[0] == 0 and knob() == BEFORE)


def mistakes_and_warnings_are_told_the_same_way():
    with open(POLICY, 'a', encoding='ascii') as f:
        f.write('swappiness = 400\n')
    for words in (['plan'], ['verify'], ['apply'], ['apply', '--json'], ['check'], ['explain', 'vm.swappiness']):
        status, _, err = same(*words)
        expect(status == 1 and '400' in err and knob() == BEFORE, words, status, err)
    write_policy(WANTED)
    with open(POLICY, 'a', encoding='ascii') as f:
        f.write('[Match]\nHost = nobody\n')
    expect(bus.call('Reload')[0])
    for words in (['plan'], ['status'], ['verify']):
        expect(same(*words)[2] != '', 'no message: the test has lost its point')


def others_may_read_as_root_does():
    root = mmoptctl('plan', '--json')
    for _ in range(5):
        nobody = mmoptctl('plan', '--json', before=NOBODY)
        if nobody == root:
            break
    expect(nobody == root, nobody, root)


def a_mistake_in_the_policy_is_told_the_same_way():
    with open(POLICY, 'a', encoding='ascii') as f:
        f.write('nonsense = 1\n')
    wait_for(lambda: 'nonsense' in open(log_path, encoding='utf-8').read(), 'the reload')
    status, _, err = same('check')
    expect(status == 1 and 'nonsense' in err, err)
    done = bus.call('Reload')
    expect(not done[0] and 'nonsense' in done[1] and 'the policy in force stays' in done[1], done)
    write_policy(WANTED)
    expect(bus.call('Reload') == (True, 'a(ssuss) 0'))


def begin(*arguments):
    process = subprocess.Popen([MMOPTCTL, 'apply', *arguments], env=bus.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    try:
        wait_for(lambda: process.poll() is not None or (knob() == WANTED and waits(process)), f'the trial {arguments}')
    except Failure as e:
        process.kill()
        raise Failure(f'{e}: {process.communicate()}, {knob()}') from e
    return process


def waits(process):
    """It has its answer: poll(2) on a signalfd is what it does then."""
    descriptors = f'/proc/{process.pid}/fd'
    try:
        return any('signalfd' in os.readlink(f'{descriptors}/{fd}') for fd in os.listdir(descriptors))
    except FileNotFoundError:
        return False


def ended(process):
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def without_moving_parts(result):
    """Numbers of transactions, times and how long it still waits."""
    status, out, err = result
    return (status, re.sub(r'ransaction \d+', 'ransaction N', out), re.sub(r'waiting [^:]*:', 'waiting:', err))


def trials_end_the_same_way():
    for more in ([], ['--json'], ['--quiet']):
        for way in ('confirm', 'rollback', 'term', 'deadline'):
            results = []
            for direct in ([], ['--direct']):
                span = '3s' if way == 'deadline' else '1min'
                process = begin(f'--confirm-within={span}', *more, *direct)
                if way == 'term':
                    process.terminate()
                elif way != 'deadline':
                    got = mmoptctl(way, *direct)
                    expect(got[0] == 0, way, got)
                results.append(without_moving_parts(ended(process)))
                expect(knob() == (WANTED if way == 'confirm' else BEFORE), way, more, knob())
                if way == 'confirm':
                    got = same_rollback(direct)
                    expect(got[0] == 0 and knob() == BEFORE, got)
            expect(results[0] == results[1], way, more, results)
            expect(results[0][0] == (0 if way == 'confirm' else 1), way, results)
            if more == ['--json']:
                document = json.loads(results[0][1])
                expect(document['confirmed'] == (way == 'confirm') and document['exit_status'] == results[0][0], document)


def same_rollback(direct):
    return mmoptctl('rollback', *direct)


def a_lost_caller_takes_its_trial_back():
    process = begin('--confirm-within=1min')
    process.kill()
    process.communicate()
    wait_for(lambda: knob() == BEFORE, 'the old value')
    state_is('differs')


def a_trial_without_a_waiter():
    status, out, err = mmoptctl('apply', '--confirm-within=3s', '--no-wait')
    expect(status == 0 and knob() == WANTED and 'goes back in 3s unless' in err, status, out, err)
    state_is('unconfirmed')
    wait_for(lambda: knob() == BEFORE, 'the old value')
    status, out, err = mmoptctl('apply', '--confirm-within=1min', '--no-wait', '--json')
    expect(status == 0 and json.loads(out)['confirmed'] is False, out)
    second = mmoptctl('apply', '--confirm-within=1min', '--no-wait')
    expect(second[0] == 1 and 'waits for its confirmation' in second[2], second)
    expect(mmoptctl('confirm')[0] == 0 and knob() == WANTED)
    state_is('in-sync')
    expect(mmoptctl('rollback')[0] == 0 and knob() == BEFORE)


def a_trial_of_another_is_not_touched():
    process = begin('--confirm-within=1min')
    number = re.search(r'transaction (\d+)', mmoptctl('apply')[2]).group(1)
    for method in ('Confirm', 'Rollback'):
        ok, text = bus.call(method, 'a{sv}', '1', 'transaction', 'u', str(int(number) + 1))
        expect(ok and 'does not wait for its confirmation' in text, text)
    ok, text = bus.call('Apply', 'a{sv}', '2', 'confirm_within_sec', 't', '9', 'bound', 'b', 'true')
    expect(ok and text.endswith(' false'), text)
    time.sleep(0.5)
    expect(knob() == WANTED and process.poll() is None, 'the second caller took the trial of the first with it')
    process.terminate()
    ended(process)
    expect(knob() == BEFORE)


def mmoptd_that_is_killed_during_a_trial():
    process = begin('--confirm-within=1min')
    mmoptd.send_signal(signal.SIGKILL)
    mmoptd.wait()
    status, _, err = ended(process)
    expect(status == 1 and 'the connection to mmoptd is lost' in err and knob() == BEFORE, status, err, knob())
    start()


def two_hundred_callers_and_bad_ones():
    for words in (['200', '50'], ['--garbage']):
        done = subprocess.run([HAMMER, *words], env=bus.environment, capture_output=True, text=True, timeout=200, check=False)
        print('# ' + done.stdout.strip().replace('\n', '\n# '))
        expect(done.returncode == 0, done.stdout[-500:], done.stderr[-500:])


def around(test):
    write_policy(WANTED)
    try:
        if 'differs' not in bus.get('State'):
            bus.call('Reload')
        state_is('differs')
        test()
    except KeyError as e:
        raise Failure(repr(e)) from e
    finally:
        if knob() != BEFORE:
            mmoptctl('rollback', '--all')
    expect(mmoptd.poll() is None, 'mmoptd is gone')
    expect(knob() == BEFORE, 'the old value is not back')


def enter_namespace():
    """What mmopt did to this machine before stays as it is, and stays on record; its policy does not count."""
    os.makedirs('/run/mmopt', mode=0o755, exist_ok=True)
    os.environ['MMOPT_TEST_NAMESPACE'] = '1'
    bus.remove()
    hide = ' && '.join(f'if [ -d {d} ]; then mount -t tmpfs -o mode=755 tmpfs {d}; fi'
                       for d in ('/run/mmopt', '/etc/mmopt', '/usr/lib/mmopt', '/usr/local/lib/mmopt'))
    os.execvp('unshare', ['unshare', '--mount', 'sh', '-c', hide + ' && exec "$@"', 'sh', '/usr/bin/python3', '-B',
                          os.path.abspath(__file__)])


def main():
    if os.geteuid() != 0 or not os.access(KNOB, os.W_OK):
        print('1..0 # SKIP needs root, and a kernel whose values may be written')
        return
    if 'MMOPT_TEST_NAMESPACE' not in os.environ:
        enter_namespace()
    lock = os.open('/tmp/mmopt-knobs.lock', os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    for name in ('NO_COLOR', 'COLUMNS', 'LINES', 'PAGER', 'SYSTEMD_PAGER'):
        bus.environment.pop(name, None)
    write_policy(WANTED)
    bus.start()
    start()
    try:
        run_tests([reading_verbs_say_the_same, what_was_just_written_counts,
                   mistakes_and_warnings_are_told_the_same_way, others_may_read_as_root_does, a_mistake_in_the_policy_is_told_the_same_way,
                   trials_end_the_same_way, a_lost_caller_takes_its_trial_back, a_trial_without_a_waiter,
                   a_trial_of_another_is_not_touched, mmoptd_that_is_killed_during_a_trial, two_hundred_callers_and_bad_ones], around)
    finally:
        stop()
        bus.remove()


if __name__ == '__main__':
    sys.exit(main())
