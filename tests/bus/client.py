#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""mmoptctl with a running mmoptd, which is the fake manager: what it asks, what it shows, and when it does the work itself."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

from lib import NAME, NOBODY, Bus, Program, expect, run_tests, wait_for

MMOPTCTL = os.environ['MMOPTCTL']
DIAGNOSTICS = 'mmoptctl: warning: /etc/mmopt/policy.d/a.conf:3: vm.swappiness: bad \\xff and \\x1b[31m\nmmoptctl: notice: plain\n'
DOCUMENT = '{"schema":1,"view":"apply","version":"0.1","exit_status":0,"verdict":"done","confirmed":false,"diagnostics":[]}'

bus = Bus()
manager = None


def start_manager():
    global manager
    manager = Program([os.environ['FAKE_MANAGER'], '--live'], bus.environment)
    wait_for(lambda: bus.has(NAME), 'the name')


def mmoptctl(*arguments, before=(), environment=None):
    return subprocess.run([*before, MMOPTCTL, *arguments], env=environment or bus.environment, capture_output=True, text=True,
                          errors='replace', timeout=60, check=False, stdin=subprocess.DEVNULL)


def background(*arguments):
    return subprocess.Popen([MMOPTCTL, *arguments], env=bus.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def ended(process, status):
    out, err = process.communicate(timeout=30)
    expect(process.returncode == status, 'exit status', process.returncode, out, err)
    return out, err


def asked():
    """The kinds of the jobs since the last time this was looked at."""
    manager.tell('same')
    kinds = [int(m.group(1)) for m in (re.match(r'submit \d+ kind (\d+)$', line) for line in manager.heard) if m]
    manager.heard = []
    return kinds


def kind(name):
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../daemon/job.h'), encoding='utf-8') as f:
        body = re.search(r'enum job_kind \{(.*?)\}', f.read(), re.S).group(1)
    return re.findall(r'\bJOB_\w+', re.sub(r'/\*.*?\*/', '', body, flags=re.S)).index('JOB_' + name)


def reading_verbs_show_what_mmoptd_answers():
    for words, wanted in ((['status'], 'view 0 format 0 '), ([], 'view 0 format 0 '), (['facts', '--json'], 'view 1 format 1 '),
                          (['plan', '--json=pretty'], 'view 2 format 2 '), (['verify'], 'view 3 format 0 '),
                          (['savings', '--what-if'], 'view 4 .* what_if 1 '), (['explain', 'vm.swappiness'], 'view 6 .* id vm.swappiness '),
                          (['history'], 'view 7 '), (['apply', '--dry-run'], 'view 2 ')):
        done = mmoptctl(*words)
        expect(done.returncode == 2 and done.stderr == DIAGNOSTICS, words, done)
        expect(re.fullmatch(f'kind 0 {wanted}.*\n', done.stdout), words, done.stdout)
        expect('width 0 colour 0' in done.stdout and ('utf8 1' in done.stdout) == ('--json' not in ' '.join(words)), done.stdout)


def quiet_is_quiet():
    done = mmoptctl('status', '--quiet')
    expect(done.returncode == 2 and not done.stdout and not done.stderr, done)


def the_locale_of_the_caller_counts():
    done = mmoptctl('status', environment={**bus.environment, 'LC_ALL': 'C'})
    expect('utf8 0' in done.stdout, done)


def on_a_terminal(*arguments, answer=None, when=None):
    """(exit status, what the terminal got)"""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(MMOPTCTL, [MMOPTCTL, *arguments], {**bus.environment, 'TERM': 'xterm', 'PAGER': ''})
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack('HHHH', 40, 133, 0, 0))
    text, end = b'', time.monotonic() + 30
    while time.monotonic() < end:
        ready, _, _ = select.select([terminal], [], [], 0.1)
        try:
            text += os.read(terminal, 65536) if ready else b''
        except OSError:
            break
        if answer and when in text:
            os.write(terminal, answer)
            answer = None
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), text.decode(errors='replace')


def the_terminal_of_the_caller_counts():
    environment = bus.environment.pop('COLUMNS', None)
    status, text = on_a_terminal('status', '--no-pager')
    expect(status == 2 and 'colour 1' in text and re.search(r'width (133|80) ', text), status, text, environment)


def what_mmoptd_is_not_for_is_done_here():
    for words in (['list'], ['check'], ['check', '/dev/null'], ['status', '--direct'], ['plan', '--policy=/dev/null'],
                  ['facts', '--root=/'], ['apply', '--dry-run', '--force'], ['--help'], ['--version']):
        manager.tell('hold')
        done = mmoptctl(*words)
        manager.tell('release')
        expect('kind 0 view' not in done.stdout and 'plain' not in done.stderr, words, done)
        expect(asked() == [], words)


def without_mmoptd_it_is_done_here():
    here = mmoptctl('plan', '--direct')
    manager.stop()
    for environment in (bus.environment, {**bus.environment, 'DBUS_SYSTEM_BUS_ADDRESS': 'unix:path=/nowhere'}):
        done = mmoptctl('plan', environment=environment)
        expect((done.returncode, done.stdout, done.stderr) == (here.returncode, here.stdout, here.stderr), done, here)
    start_manager()
    # The lock is held, and yet there is no bus.
    done = mmoptctl('plan', environment={**bus.environment, 'DBUS_SYSTEM_BUS_ADDRESS': 'unix:path=/nowhere'})
    expect((done.returncode, done.stdout, done.stderr) == (here.returncode, here.stdout, here.stderr), done, here)
    # It may not talk to the bus.
    os.chmod(bus.socket, 0o700)
    done, here = (mmoptctl('plan', *more, before=NOBODY) for more in ([], ['--direct']))
    os.chmod(bus.socket, 0o777)
    expect((done.returncode, done.stdout, done.stderr) == (here.returncode, here.stdout, here.stderr), done, here)


def without_mmoptd_libsystemd_is_not_even_loaded():
    for words, wanted in ((['plan', '--direct'], False), (['list'], False), (['plan'], True)):
        done = bus.run(['strace', '-f', '-e', 'trace=openat', MMOPTCTL, *words])
        expect(('libsystemd.so' in done.stderr) == wanted, words, done.stderr)


def who_may_not_change_is_told_by_the_engine_here():
    done, here = (mmoptctl('rollback', *more, before=NOBODY) for more in ([], ['--direct']))
    expect(done.returncode == here.returncode == 1 and done.stderr == here.stderr != '', done, here)
    expect(asked() == [])


def changing_verbs_are_sent_with_their_options():
    for words, wanted in ((['apply', '--force', '--pool-timeout=5s'], f"kind {kind('APPLY')} .* force 1 .* pool 5000000 confirm 0"),
                          (['confirm'], f"kind {kind('CONFIRM')} .* transaction 0"),
                          (['rollback', '--all', '--json'], f"kind {kind('ROLLBACK')} .* format 1 .* all 1 ")):
        done = mmoptctl(*words)
        expect(done.returncode == 2 and re.match(wanted, done.stdout) and done.stderr == DIAGNOSTICS, words, done)


def a_broken_connection_is_not_the_end_of_reading():
    manager.tell('hold')
    process = background('plan')
    manager.hear('submit')
    here = mmoptctl('plan', '--direct')
    manager.process.kill()
    out, err = process.communicate(timeout=30)
    manager.process.wait()
    start_manager()
    expect(process.returncode == here.returncode and out == here.stdout and err == here.stderr, out, err, here)


def a_mmoptd_that_hangs_is_waited_for_a_while():
    here = mmoptctl('plan', '--direct')
    manager.process.send_signal(signal.SIGSTOP)
    start = time.monotonic()
    done = mmoptctl('plan')
    manager.process.send_signal(signal.SIGCONT)
    expect((done.returncode, done.stdout, done.stderr) == (here.returncode, here.stdout, here.stderr), done)
    expect(10 < time.monotonic() - start < 30)


def a_broken_connection_does_not_make_it_happen_twice():
    for words in (['apply'], ['rollback'], ['confirm']):
        manager.tell('hold')
        process = background(*words)
        manager.hear('submit')
        manager.process.kill()
        manager.process.wait()
        _, err = ended(process, 1)
        expect(re.fullmatch('mmoptctl: mmoptd on this machine was asked and has not answered, what it has done is not known: '
                            'see mmoptctl status and history: .*\n', err), words, err)
        start_manager()
    expect(not os.path.exists('/run/mmopt/transactions'), 'the engine here ran too')


def begin_trial(*more, time_span='1min'):
    manager.tell('unconfirmed 3')
    process = background('apply', f'--confirm-within={time_span}', *more)
    manager.hear(f"submit .* kind {kind('APPLY')}")
    wait_for(lambda: waits(process), 'the wait')
    return process


def waits(process):
    """It has its answer: poll(2) on a signalfd is what it does then."""
    descriptors = f'/proc/{process.pid}/fd'
    return process.poll() is None and any('signalfd' in os.readlink(f'{descriptors}/{fd}') for fd in os.listdir(descriptors))


def a_trial_is_confirmed_from_elsewhere():
    process = begin_trial()
    manager.tell('ended 2 confirm')
    manager.tell('ended 3 confirm')
    out, err = ended(process, 2)
    expect(re.match(f"kind {kind('APPLY')} .* confirm 60 ", out) and out.endswith('\ntransaction 3 is confirmed and stays\n'), out)
    expect('waiting' in err and DIAGNOSTICS in err, err)
    expect(asked()[1:] == [], 'more was asked than Apply')


def a_trial_is_taken_back_from_elsewhere():
    for verb in ('rollback', 'recover'):
        process = begin_trial()
        manager.tell(f'ended 3 {verb}')
        _, err = ended(process, 1)
        expect(err.endswith('mmoptctl: taken back from elsewhere\n'), err)
        asked()


def a_trial_ends_with_a_signal_and_the_deadline():
    manager.tell('status 0')
    for number, text in ((signal.SIGTERM, 'interrupted'), (signal.SIGHUP, 'interrupted'), (None, 'not confirmed in time')):
        process = begin_trial(time_span='1min' if number else '2s')
        if number:
            process.send_signal(number)
        out, err = ended(process, 1)
        expect(re.search(f"\nkind {kind('ROLLBACK')} .* transaction 3\n$", out), out)
        expect(err.endswith(f'mmoptctl: {text}: everything was taken back\n'), err)
        asked()
    manager.tell('status 1')
    process = begin_trial()
    process.terminate()
    _, err = ended(process, 1)
    expect(err.endswith('mmoptctl: interrupted: not everything could be taken back\n'), err)


def a_trial_that_was_decided_just_before_stays_decided():
    process = begin_trial()
    manager.tell('refuse 1')
    manager.tell('hold')
    process.terminate()
    manager.hear(f"submit .* kind {kind('ROLLBACK')}")
    manager.tell('ended 3 confirm')
    manager.tell('release')
    out, err = ended(process, 2)
    expect('transaction 3 is confirmed and stays' in out and 'refused' not in err, out, err)


def a_trial_in_json_is_one_document():
    manager.tell('document ' + DOCUMENT)
    manager.tell('status 0')
    process = begin_trial('--json')
    manager.tell('ended 3 confirm')
    out, _ = ended(process, 0)
    expect(out == DOCUMENT.replace('false', 'true') + '\n', out)
    process = begin_trial('--json')
    process.terminate()
    out, _ = ended(process, 1)
    expect(json.loads(out) == {**json.loads(DOCUMENT), 'exit_status': 1, 'verdict': 'not-confirmed', 'diagnostics': [
        {'severity': 'error', 'file': None, 'line': None, 'key': None, 'text': 'interrupted: everything was taken back'}]}, out)
    expect(out.startswith('{"schema":1,"view":"apply","version":"0.1","exit_status":1,"verdict":'), out)


def a_trial_is_kept_by_enter():
    manager.tell('unconfirmed 3')
    status, text = on_a_terminal('apply', '--confirm-within=1min', '--no-pager', answer=b'\n', when=b'Enter or mmoptctl confirm')
    expect(status == 2 and 'transaction 3 is confirmed and stays' in text, status, text)
    expect(asked() == [kind('APPLY'), kind('CONFIRM')])


def a_trial_goes_back_when_the_process_dies():
    process = begin_trial()
    process.kill()
    process.communicate()
    manager.hear('^gone 3$')


def a_trial_whose_mmoptd_dies():
    process = begin_trial()
    manager.process.kill()
    manager.process.wait()
    _, err = ended(process, 1)
    expect(err.endswith('mmoptctl: the connection to mmoptd is lost, so everything is taken back\n'), err)
    start_manager()


def no_wait_leaves_it_to_mmoptd():
    manager.tell('unconfirmed 3')
    done = mmoptctl('apply', '--confirm-within=90s', '--no-wait')
    expect(done.returncode == 2 and 'confirm 90 ' in done.stdout, done)
    expect(done.stderr == DIAGNOSTICS + 'mmoptctl: notice: transaction 3 goes back in 1min 30s unless mmoptctl confirm keeps it\n',
           done.stderr)
    time.sleep(0.2)
    bus.get('State')
    manager.not_heard('gone')
    manager.stop()
    done = mmoptctl('apply', '--confirm-within=90s', '--no-wait')
    start_manager()
    expect(done.returncode == 1 and done.stderr ==
           'mmoptctl: --no-wait needs a running mmoptd: nobody else would go back at the deadline\n', done)


def too_much_at_once_is_told():
    manager.tell('busy 1')
    done = mmoptctl('apply')
    manager.tell('busy 0')
    expect(done.returncode == 1 and done.stderr == 'mmoptctl: mmoptd: too many jobs are waiting, try again later\n', done)


def with_ssh(text):
    """The environment with this program as ssh; the bus of this machine is not to be had in it."""
    folder = os.path.join(bus.folder, 'bin')
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, 'ssh')
    with open(path, 'w', encoding='utf-8') as f:
        f.write(text)
    os.chmod(path, 0o755)
    return {**bus.environment, 'PATH': folder + ':' + os.environ['PATH'], 'DBUS_SYSTEM_BUS_ADDRESS': 'unix:path=/nowhere',
            'THERE': bus.address}


# By pipes, as no file descriptor comes through ssh.
BRIDGE = '''#!/usr/bin/python3
import os, select, subprocess, sys
with open(os.path.join(os.path.dirname(sys.argv[0]), 'arguments'), 'w') as f:
    f.write(' '.join(sys.argv[1:]))
there = subprocess.Popen(['systemd-stdio-bridge', '--bus-path=' + os.environ['THERE']], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
os.set_blocking(1, True)
ways = {0: there.stdin.fileno(), there.stdout.fileno(): 1}
while True:
    for fd in select.select(list(ways), [], [])[0]:
        data = os.read(fd, 65536)
        if not data:
            sys.exit(0)
        while data:
            data = data[os.write(ways[fd], data):]
'''
FAILS = '#!/bin/sh\nexit 255\n'


def another_machine_is_asked_by_ssh():
    environment = with_ssh(BRIDGE)
    done = mmoptctl('-H', 'joe@there', 'plan', environment=environment)
    expect(done.returncode == 2 and done.stdout.startswith('kind 0 view 2 ') and done.stderr == DIAGNOSTICS, done)
    with open(os.path.join(bus.folder, 'bin', 'arguments'), encoding='utf-8') as f:
        expect('joe@there systemd-stdio-bridge' in f.read())
    for words, wanted in ((['list'], 'kind 0 view 5 '), (['check', '--json'], 'kind 0 view 8 format 1 '),
                          (['rollback'], f"kind {kind('ROLLBACK')} ")):
        done = mmoptctl('-H', 'there', *words, environment=environment)
        expect(done.returncode == 2 and done.stdout.startswith(wanted), words, done)
    manager.tell('unconfirmed 3')
    manager.tell('status 0')
    done = mmoptctl('--host=there', 'apply', '--confirm-within=2s', environment=environment)
    expect(done.returncode == 1 and done.stderr.endswith('not confirmed in time: everything was taken back\n'), done)


def what_fails_on_the_way_is_one_line():
    done = mmoptctl('-H', 'there', 'status', environment=with_ssh(FAILS))
    expect(done.returncode == 1 and re.fullmatch('mmoptctl: there: no connection: ssh failed.*\n', done.stderr), done)
    done = mmoptctl('-H', 'there', 'apply', '--confirm-within=9s', environment=with_ssh(FAILS))
    expect(done.returncode == 1 and len(done.stderr.splitlines()) == 1, done)
    done = mmoptctl('-M', 'no-such-container', 'status')
    expect(done.returncode == 1 and re.fullmatch('mmoptctl: no-such-container: .*\n', done.stderr), done)
    manager.stop()
    done = mmoptctl('-H', 'there', 'status', environment=with_ssh(BRIDGE))
    start_manager()
    expect(done.returncode == 1 and done.stderr == 'mmoptctl: there: there is no mmoptd: install and start it there\n', done)


def around(test):
    for line in ('release', 'unconfirmed 0', 'status 2', 'refuse 0', 'document -', 'busy 0'):
        manager.tell(line)
    manager.forget_heard()
    test()


def main():
    # Whoever runs the tests may ignore it, as nohup does, and mmoptctl leaves an ignored signal alone.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    if os.geteuid() != 0:
        print('1..0 # SKIP needs root: a place of its own for /run/mmopt')
        return
    if 'MMOPT_TEST_NAMESPACE' not in os.environ:
        # What runs on this machine is not asked, and not disturbed.
        os.makedirs('/run/mmopt', mode=0o755, exist_ok=True)
        os.environ['MMOPT_TEST_NAMESPACE'] = '1'
        bus.remove()
        os.execvp('unshare', ['unshare', '--mount', 'sh', '-c', 'mount -t tmpfs -o mode=755 tmpfs /run/mmopt && exec "$@"', 'sh',
                              '/usr/bin/python3', '-B', os.path.abspath(__file__)])
    for name in ('NO_COLOR', 'COLUMNS', 'LINES', 'PAGER', 'SYSTEMD_PAGER'):
        bus.environment.pop(name, None)
    bus.start()
    start_manager()
    try:
        run_tests([
            reading_verbs_show_what_mmoptd_answers, quiet_is_quiet, the_locale_of_the_caller_counts, the_terminal_of_the_caller_counts,
            what_mmoptd_is_not_for_is_done_here, without_mmoptd_it_is_done_here, without_mmoptd_libsystemd_is_not_even_loaded,
            who_may_not_change_is_told_by_the_engine_here, changing_verbs_are_sent_with_their_options,
            a_broken_connection_is_not_the_end_of_reading, a_mmoptd_that_hangs_is_waited_for_a_while,
            a_broken_connection_does_not_make_it_happen_twice,
            a_trial_is_confirmed_from_elsewhere, a_trial_is_taken_back_from_elsewhere, a_trial_ends_with_a_signal_and_the_deadline,
            a_trial_that_was_decided_just_before_stays_decided, a_trial_in_json_is_one_document, a_trial_is_kept_by_enter,
            a_trial_goes_back_when_the_process_dies, a_trial_whose_mmoptd_dies, no_wait_leaves_it_to_mmoptd, too_much_at_once_is_told,
            another_machine_is_asked_by_ssh, what_fails_on_the_way_is_one_line], around)
    finally:
        manager.stop()
        bus.remove()


if __name__ == '__main__':
    sys.exit(main())
