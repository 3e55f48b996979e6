#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The bus code of mmoptd with the fake manager behind it: arguments, answers, consent, callers that leave, buses that go."""

import os
import re
import signal
import sys
import time

import dbus
import dbus.lowlevel
import dbus.mainloop.glib
from gi.repository import GLib

from lib import INTERFACE, NAME, NOBODY, PATH, Bus, Failure, Program, expect, run_tests, wait_for

HERE = os.path.dirname(os.path.abspath(__file__))

dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
bus = Bus()
manager = None


def connect():
    return dbus.bus.BusConnection(bus.address)


def ask(connection, method, signature, *arguments):
    return connection.call_blocking(NAME, PATH, INTERFACE, method, signature, arguments, timeout=20)


def kinds():
    """The numbers of enum job_kind, by the order in which the header has them."""
    with open(os.path.join(HERE, '../../daemon/job.h'), encoding='utf-8') as f:
        body = re.search(r'enum job_kind \{(.*?)\}', f.read(), re.S).group(1)
    return re.findall(r'\bJOB_\w+', re.sub(r'/\*.*?\*/', '', body, flags=re.S))


def describe_gives_each_caller_a_file_of_its_own_at_its_start():
    manager.tell('hold')
    callers = [connect(), connect()]
    replies = []
    loop = GLib.MainContext.default()
    for c in callers:
        c.call_async(NAME, PATH, INTERFACE, 'Describe', 'ssa{sv}', ('plan', 'json', {'width': dbus.UInt32(70)}),
                     lambda *reply: replies.append(reply), replies.append)
    wait_for(lambda: manager.tell('same') or len(manager.heard) == 2, 'two jobs')
    manager.tell('release')
    wait_for(lambda: loop.iteration(False) is not None and len(replies) == 2, 'two answers')
    files = [reply[0].take() for reply in replies]
    texts = [os.read(fd, 4096) for fd in files]
    expect(texts[0].startswith(b'kind 0 view 2 format 1 width 70 colour 0'), texts)
    expect(texts[0] == texts[1], texts)
    for fd in files:
        try:
            os.write(fd, b'x')
            raise Failure('it can be written to')
        except OSError:
            pass
        os.close(fd)
    for c in callers:
        c.close()


def describe_inline_gives_the_same_document():
    c = connect()
    document, status, _ = ask(c, 'Describe', 'ssa{sv}', 'status', 'text', {})
    fd = document.take()
    text = os.read(fd, 4096).decode()
    os.close(fd)
    inline, inline_status, _ = ask(c, 'DescribeInline', 'ssa{sv}', 'status', 'text', {})
    expect(text == inline and status == inline_status == 2, text, inline)
    c.close()


def diagnostics_come_with_what_they_are_about():
    c = connect()
    _, _, diagnostics = ask(c, 'DescribeInline', 'ssa{sv}', 'check', 'text', {})
    expect([tuple(d) for d in diagnostics] == [
        ('warning', '/etc/mmopt/policy.d/a.conf', 3, 'vm.swappiness', 'bad \\xff and \\x1b[31m'),
        ('notice', '', 0, '', 'plain')], diagnostics)
    c.close()


def options_reach_the_engine():
    for call, wanted in (
            (('DescribeInline', 'ssa{sv}', 'savings', 'json-pretty', '4', 'what_if', 'b', 'true', 'width', 'u', '132', 'colour', 'b',
              'true', 'utf8', 'b', 'true'), 'kind 0 view 4 format 2 width 132 colour 1 utf8 1 what_if 1 id - '),
            (('DescribeInline', 'ssa{sv}', 'explain', 'text', '1', 'id', 's', 'vm.swappiness'), 'view 6 .* id vm.swappiness '),
            (('Apply', 'a{sv}', '4', 'force', 'b', 'true', 'pool_timeout_usec', 't', '5000000', 'confirm_within_sec', 't', '90', 'format',
              's', 'json'), f"kind {kinds().index('JOB_APPLY')} .* format 1 .* force 1 all 0 pool 5000000 confirm 90"),
            (('Rollback', 'a{sv}', '1', 'all', 'b', 'true'), f"kind {kinds().index('JOB_ROLLBACK')} .* all 1"),
            (('Rollback', 'a{sv}', '1', 'transaction', 'u', '7'), f"kind {kinds().index('JOB_ROLLBACK')} .* all 0 .* transaction 7"),
            (('Confirm', 'a{sv}', '1', 'transaction', 'u', '8'), f"kind {kinds().index('JOB_CONFIRM')} .* transaction 8"),
            (('Verify', 'a{sv}', '1', 'format', 's', 'json'), f"kind {kinds().index('JOB_VERIFY')} .* format 1 ")):
        ok, text = bus.call(*call)
        expect(ok and re.search(wanted, text), call, text)


def mistakes_in_arguments_are_named():
    long_word = 'x' * 100000
    for call, wanted in (
            (('DescribeInline', 'ssa{sv}', 'stats', 'text', '0'), "unknown view 'stats', there are: status "),
            (('DescribeInline', 'ssa{sv}', 'status', 'xml', '0'), "unknown format 'xml', there are: text json json-pretty"),
            (('DescribeInline', 'ssa{sv}', '/etc/passwd\x1b[0m', 'text', '0'), "unknown view '/etc/passwd\\x1b[0m'"),
            (('DescribeInline', 'ssa{sv}', long_word, 'text', '0'), "unknown view '" + 60 * 'x' + "'..., there"),
            (('Apply', 'a{sv}', '1', 'policy', 's', '/tmp/x'), "unknown option 'policy', there are: format "),
            (('Apply', 'a{sv}', '1', long_word, 's', 'x'), "unknown option '" + 60 * 'x' + "'..., there"),
            (('Apply', 'a{sv}', '1', 'force', 's', 'yes'), "option 'force' has to be of type b"),
            (('Apply', 'a{sv}', '1', 'force', 'av', '1', 's', 'yes'), "option 'force' has to be of type b"),
            (('Apply', 'a{sv}', '2', 'force', 'b', 'true', 'force', 'b', 'false'), "option 'force' is given twice"),
            (('Apply', 'a{sv}', '1', 'bound', 'b', 'true'), "option 'bound' goes with 'confirm_within_sec' only"),
            (('Apply', 'a{sv}', '1', 'confirm_within_sec', 't', '0'), "'confirm_within_sec' has to be from 1 to "),
            (('Apply', 'a{sv}', '1', 'confirm_within_sec', 't', str(2**64 - 1)), "'confirm_within_sec' has to be from 1 to "),
            (('Apply', 'a{sv}', '1', 'pool_timeout_usec', 't', str(2**64 - 1)), "'pool_timeout_usec' has to be from 1 to "),
            (('DescribeInline', 'ssa{sv}', 'plan', 'text', '1', 'width', 'u', '10001'), "'width' is at most 10000"),
            (('DescribeInline', 'ssa{sv}', 'plan', 'text', '1', 'format', 's', 'json'), "unknown option 'format'"),
            (('DescribeInline', 'ssa{sv}', 'explain', 'text', '0'), "view 'explain' needs option 'id'"),
            (('DescribeInline', 'ssa{sv}', 'plan', 'text', '1', 'id', 's', 'x'), "'id' goes with view 'explain' only"),
            (('DescribeInline', 'ssa{sv}', 'explain', 'text', '1', 'id', 's', ''), "'id' has to have 1 to 4096 bytes"),
            (('DescribeInline', 'ssa{sv}', 'explain', 'text', '1', 'id', 's', long_word), "'id' has to have 1 to 4096 bytes"),
            (('DescribeInline', 'ssa{sv}', 'plan', 'text', '1', 'what_if', 'b', 'true'), "'what_if' goes with view 'savings' only"),
            (('DescribeInline', 'ssa{sv}', 'metrics', 'json', '0'), "view 'metrics' has format 'text' only"),
            (('Rollback', 'a{sv}', '1', 'transaction', 'u', '0'), "'transaction' has to be at least 1"),
            (('Rollback', 'a{sv}', '2', 'transaction', 'u', '1', 'all', 'b', 'true'), "'all' and 'transaction' exclude each other"),
            (('Confirm', 'a{sv}', '1', 'force', 'b', 'true'), "unknown option 'force'"),
            (('Reload', 's', 'x'), 'Invalid arguments')):
        ok, text = bus.call(*call)
        expect(not ok and wanted in text, str(call)[:200], text[:300], 'instead of', wanted)
    manager.not_heard('submit')


def errors_have_their_names():
    c = connect()
    for method, signature, arguments, wanted in (
            ('DescribeInline', 'ssa{sv}', ('stats', 'text', {}), 'org.freedesktop.DBus.Error.InvalidArgs'),
            ('DescribeInline', 's', ('status',), 'org.freedesktop.DBus.Error.InvalidArgs'),
            ('Describe', '', (), 'org.freedesktop.DBus.Error.InvalidArgs'),
            ('Nonsense', '', (), 'org.freedesktop.DBus.Error.UnknownMethod')):
        try:
            ask(c, method, signature, *arguments)
            raise Failure(f'{method} went through')
        except dbus.DBusException as e:
            expect(e.get_dbus_name() == wanted, method, e)
    c.close()


def big_and_deep_arguments_get_errors():
    c = connect()
    deep = dbus.Boolean(True, variant_level=30)
    for options in ({'id': 8 * 1024 * 1024 * 'x'}, {str(i): dbus.Boolean(True) for i in range(100000)}, {'width': deep},
                    {'id': dbus.Array([deep] * 10000, signature='v')}):
        try:
            ask(c, 'DescribeInline', 'ssa{sv}', 'explain', 'text', options)
            raise Failure('went through')
        except dbus.DBusException as e:
            expect(e.get_dbus_name() == 'org.freedesktop.DBus.Error.InvalidArgs', e)
    expect(bus.get('State') == 's "in-sync"')
    c.close()


def properties_cannot_be_set():
    done = bus.run(['busctl', '--system', 'set-property', NAME, PATH, INTERFACE, 'State', 's', 'in-sync'])
    expect(done.returncode != 0, done.stdout)


def too_much_at_once_is_told():
    manager.tell('busy 1')
    ok, text = bus.call('DescribeInline', 'ssa{sv}', 'status', 'text', '0')
    expect(not ok and 'too many jobs are waiting' in text, text)
    manager.tell('busy 0')
    expect(bus.call('DescribeInline', 'ssa{sv}', 'status', 'text', '0')[0])


def one_caller_does_not_keep_the_others_out():
    manager.tell('hold')
    c = connect()
    replies = []
    for _ in range(40):
        c.call_async(NAME, PATH, INTERFACE, 'DescribeInline', 'ssa{sv}', ('plan', 'text', {}), lambda *reply: replies.append('answer'),
                     lambda e: replies.append(e.get_dbus_name()))
    loop = GLib.MainContext.default()
    wait_for(lambda: loop.iteration(False) is not None and len(replies) == 8, 'eight errors')
    expect(set(replies) == {'org.freedesktop.DBus.Error.LimitsExceeded'}, replies)
    other = bus.caller('DescribeInline', 'ssa{sv}', 'status', 'text', '0')
    wait_for(lambda: manager.tell('same') or len([h for h in manager.heard if h.startswith('submit')]) == 33, '33 jobs')
    manager.tell('release')
    expect('kind 0' in other.communicate(timeout=20)[0] and other.returncode == 0)
    wait_for(lambda: loop.iteration(False) is not None and len(replies) == 40, 'all answers')
    expect(replies.count('answer') == 32, replies)
    c.close()


def a_job_that_cannot_be_run_is_an_error():
    manager.tell('fail 12')
    ok, text = bus.call('DescribeInline', 'ssa{sv}', 'status', 'text', '0')
    expect(not ok and 'Cannot allocate memory' in text, text)


def a_call_that_wants_no_answer_gets_none_and_costs_nothing():
    manager.tell('hold')
    done = bus.run(bus.busctl('Describe', 'ssa{sv}', 'status', 'text', '0', options=('--expect-reply=no',)))
    expect(done.returncode == 0, done.stderr)
    bus.get('State')
    manager.tell('release')
    manager.not_heard('submit')
    c = connect()
    c.call_async(NAME, PATH, INTERFACE, 'Rollback', 'a{sv}', ({},), None, None)
    c.flush()
    manager.hear(f"submit .* kind {kinds().index('JOB_ROLLBACK')}$")
    c.close()


def reload_tells_warnings_and_refuses_mistakes():
    c = connect()
    expect([tuple(d) for d in ask(c, 'Reload', '')] ==
           [('warning', '/etc/mmopt/policy.d/a.conf', 3, 'vm.swappiness', 'looks odd')])
    manager.tell('policy bad')
    try:
        ask(c, 'Reload', '')
        raise Failure('went through')
    except dbus.DBusException as e:
        expect(e.get_dbus_name() == 'org.mmopt1.Error.PolicyInvalid', e)
        expect('/etc/mmopt/policy.d/b.conf:7: vm.nonsense: is not known (and 1 more' in str(e), e)
    manager.tell('policy good')
    c.close()


def anybody_may_read_and_not_change():
    for call in (('Describe', 'ssa{sv}', 'status', 'text', '0'), ('DescribeInline', 'ssa{sv}', 'facts', 'json', '0'),
                 ('Verify', 'a{sv}', '0')):
        ok, text = bus.call(*call, before=NOBODY)
        expect(ok, call, text)
    expect(bus.run([*NOBODY, 'busctl', '--system', 'introspect', NAME, PATH]).returncode == 0)
    expect(bus.run([*NOBODY, 'busctl', '--system', 'get-property', NAME, PATH, INTERFACE, 'State']).returncode == 0)
    manager.forget_heard()
    for call in (('Apply', 'a{sv}', '0'), ('Confirm', 'a{sv}', '0'), ('Rollback', 'a{sv}', '0'), ('Reload',)):
        ok, text = bus.call(*call, before=NOBODY)
        expect(not ok and 'ccess denied' in text, call, text)
    manager.not_heard('submit|reload')


def polkit_decides_for_others():
    polkit = Program(['/usr/bin/python3', '-B', os.path.join(HERE, 'fake-polkit.py')], bus.environment)
    try:
        polkit.hear('there')
        for mode, interactive, wanted in (('yes', False, None), ('no', False, 'ccess denied'),
                                          ('challenge', False, 'polkit has to ask for a password'),
                                          ('challenge', True, 'ccess denied'), ('yes', True, None)):
            polkit.tell(mode)
            for call, action in ((('Apply', 'a{sv}', '0'), 'apply'), (('Confirm', 'a{sv}', '0'), 'apply'),
                                 (('Rollback', 'a{sv}', '0'), 'rollback'), (('Reload',), 'reload')):
                polkit.forget_heard()
                manager.forget_heard()
                ok, text = bus.call(*call, before=NOBODY,
                                    options=(f"--allow-interactive-authorization={'yes' if interactive else 'no'}",))
                expect(ok == (wanted is None) and (ok or wanted in text), mode, interactive, call, text)
                polkit.hear(rf'^check org\.mmopt1\.{action} {int(interactive)} system-bus-name with cancellation$')
                if wanted:
                    manager.not_heard('submit|reload')
        polkit.forget_heard()
        expect(bus.call('Apply', 'a{sv}', '0')[0], 'root')
        polkit.not_heard('check')
        a_slow_polkit_stops_nobody(polkit)
    finally:
        polkit.stop()


def a_slow_polkit_stops_nobody(polkit):
    polkit.tell('silent')
    polkit.forget_heard()
    caller = bus.caller('Apply', 'a{sv}', '0', before=NOBODY)
    polkit.hear('^check org.mmopt1.apply')
    start = time.monotonic()
    expect(bus.call('DescribeInline', 'ssa{sv}', 'status', 'text', '0')[0])
    expect(bus.call('Apply', 'a{sv}', '0')[0])
    expect(time.monotonic() - start < 5, 'others had to wait')
    manager.forget_heard()
    caller.kill()
    caller.communicate()
    polkit.hear('^cancel')
    manager.not_heard('submit')


def callers_that_leave_are_forgotten():
    manager.tell('hold')
    manager.forget_heard()
    leaves, stays = (bus.caller('DescribeInline', 'ssa{sv}', view, 'text', '0') for view in ('status', 'plan'))
    manager.hear('submit')
    wait_for(lambda: manager.tell('same') or len([h for h in manager.heard if h.startswith('submit')]) == 2, 'two jobs')
    leaves.kill()
    leaves.communicate()
    manager.hear(r'^forget \d+$')
    manager.tell('release')
    out, err = stays.communicate(timeout=20)
    expect(stays.returncode == 0 and 'kind 0' in out, out, err)
    expect(len([h for h in manager.heard if h.startswith('forget')]) == 1, manager.heard)


BOUND = {'confirm_within_sec': dbus.UInt64(60), 'bound': True}


def a_bound_transaction_goes_back_with_its_caller():
    manager.tell('unconfirmed 5')
    c = connect()
    reply = ask(c, 'Apply', 'a{sv}', BOUND)
    expect(reply[3] == 5 and reply[4], reply)
    other = connect()
    ask(other, 'DescribeInline', 'ssa{sv}', 'status', 'text', {})
    other.close()
    bus.get('State')
    manager.not_heard('gone')
    c.close()
    manager.hear('^gone 5$')


def a_transaction_that_is_not_bound_stays():
    manager.tell('unconfirmed 5')
    c = connect()
    expect(ask(c, 'Apply', 'a{sv}', {'confirm_within_sec': dbus.UInt64(60)})[4])
    c.close()
    time.sleep(0.2)
    bus.get('State')
    manager.not_heard('gone')


def a_caller_who_leaves_while_its_bound_transaction_is_made():
    manager.tell('unconfirmed 6')
    manager.tell('hold')
    caller = bus.caller('Apply', 'a{sv}', '2', 'confirm_within_sec', 't', '60', 'bound', 'b', 'true')
    manager.hear('submit')
    caller.kill()
    caller.communicate()
    time.sleep(0.2)
    bus.get('State')
    manager.not_heard('forget')
    manager.tell('release')
    manager.hear('^gone 6$')


def properties_are_told_when_they_change():
    heard = []
    c = connect()
    c.add_signal_receiver(lambda *a: heard.append(a), 'PropertiesChanged', 'org.freedesktop.DBus.Properties', NAME, PATH)
    loop = GLib.MainContext.default()

    def next_change():
        wait_for(lambda: loop.iteration(False) is not None and heard, 'PropertiesChanged')
        interface, changed, invalidated = heard.pop(0)
        expect(interface == INTERFACE and not invalidated)
        return dict(changed)

    for line, wanted in (('state differs', {'State': 'differs'}), ('reboot 1', {'RebootRequired': True}),
                         ('bytes 4096', {'BytesSaved': 4096}), ('drifts 2', {'DriftCount': 2}), ('last 9', {'LastTransaction': 9})):
        manager.tell('same')
        manager.tell(line)
        change = next_change()
        expect(change == wanted, change, wanted)
        manager.tell(line)
    manager.tell('state in-sync')
    expect(next_change() == {'State': 'in-sync'}, 'something was told that had not changed')
    for line in ('reboot 0', 'bytes 0', 'drifts 0', 'last 0'):
        manager.tell(line)
        next_change()
    c.close()


def signals_carry_what_happened():
    heard = []
    c = connect()
    for name in ('Applied', 'Drifted'):
        c.add_signal_receiver(lambda *a: heard.append(a), name, INTERFACE, NAME, PATH)
    manager.tell('applied')
    manager.tell('drifted')
    loop = GLib.MainContext.default()
    wait_for(lambda: loop.iteration(False) is not None and len(heard) == 2, 'two signals')
    expect(heard[0] == (7, 'apply', 'done', -4096), heard[0])
    expect(heard[1] == ('vm.swappiness', '10', '60', 4711, 'b\\xffd'), heard[1])
    c.close()


def a_bus_that_comes_back_is_used_again():
    manager.tell('unconfirmed 8')
    c = connect()
    c.set_exit_on_disconnect(False)
    ask(c, 'Apply', 'a{sv}', BOUND)
    for way in ('restart', 'pause'):
        bus.stop()
        if way == 'pause':
            time.sleep(1)
        manager.tell('state differs')
        manager.tell('drifted')
        bus.start()
        wait_for(lambda: bus.has(NAME), 'the name')
        expect(bus.get('State') == 's "differs"')
        expect(bus.call('DescribeInline', 'ssa{sv}', 'status', 'text', '0')[0])
    # Nobody can confirm for a caller whose connection is gone.
    manager.hear('^gone 8$')
    manager.tell('state in-sync')


def what_waits_is_lost_with_the_bus_and_nothing_else_is():
    manager.tell('hold')
    caller = bus.caller('DescribeInline', 'ssa{sv}', 'status', 'text', '0')
    manager.hear('submit')
    bus.stop()
    caller.communicate(timeout=20)
    manager.hear('^forget')
    bus.start()
    wait_for(lambda: bus.has(NAME), 'the name')
    manager.tell('release')
    expect(bus.call('DescribeInline', 'ssa{sv}', 'status', 'text', '0')[0])


def a_bus_daemon_that_stands_still_stops_nothing():
    """The event loop goes on, also to the end of the program."""
    other = Bus()
    other.start()
    program = Program([os.environ['FAKE_MANAGER']], other.environment)
    try:
        wait_for(lambda: other.has(NAME), 'the name')
        other.process.send_signal(signal.SIGSTOP)
        start = time.monotonic()
        # More than the socket takes.
        program.tell('applied 40000')
        expect(program.stop() == 0 and time.monotonic() - start < 5, 'it waited')
    finally:
        other.process.send_signal(signal.SIGCONT)
        other.remove()


def without_a_bus_it_runs_and_ends():
    environment = {**os.environ, 'DBUS_SYSTEM_BUS_ADDRESS': f'unix:path={bus.folder}/not/there'}
    program = Program([os.environ['FAKE_MANAGER']], environment)
    program.tell('state differs')
    program.tell('applied')
    expect(program.stop() == 0, 'exit status')
    expect(program.log() == '', program.log())


def two_hundred_callers_are_all_answered():
    manager.tell('document {}')
    for words in (['200', '50'], ['--garbage', '1000']):
        done = bus.run([*NOBODY, os.environ['HAMMER'], *words])
        print('# ' + done.stdout.strip().replace('\n', '\n# '))
        expect(done.returncode == 0, done.stdout[-500:], done.stderr[-500:])


def around(test):
    manager.tell('release')
    manager.tell('unconfirmed 0')
    manager.tell('document -')
    manager.forget_heard()
    test()
    expect(manager.process.poll() is None, 'the manager is gone:', manager.log())


def main():
    global manager
    if os.geteuid() != 0:
        print('1..0 # SKIP needs root, to be another user too')
        return
    # It is there before the bus is.
    manager = Program([os.environ['FAKE_MANAGER']], bus.environment)
    manager.tell('same')
    try:
        bus.start()
        wait_for(lambda: bus.has(NAME), 'the name')
        run_tests([
            describe_gives_each_caller_a_file_of_its_own_at_its_start, describe_inline_gives_the_same_document,
            diagnostics_come_with_what_they_are_about, options_reach_the_engine, mistakes_in_arguments_are_named,
            errors_have_their_names, big_and_deep_arguments_get_errors, properties_cannot_be_set, too_much_at_once_is_told,
            one_caller_does_not_keep_the_others_out,
            a_job_that_cannot_be_run_is_an_error, a_call_that_wants_no_answer_gets_none_and_costs_nothing,
            reload_tells_warnings_and_refuses_mistakes, anybody_may_read_and_not_change, polkit_decides_for_others,
            callers_that_leave_are_forgotten, a_bound_transaction_goes_back_with_its_caller, a_transaction_that_is_not_bound_stays,
            a_caller_who_leaves_while_its_bound_transaction_is_made, properties_are_told_when_they_change, signals_carry_what_happened,
            two_hundred_callers_are_all_answered,
            a_bus_that_comes_back_is_used_again, what_waits_is_lost_with_the_bus_and_nothing_else_is,
            a_bus_daemon_that_stands_still_stops_nothing, without_a_bus_it_runs_and_ends], around)
    finally:
        if manager.stop() != 0:
            print('# the manager ended badly: ' + manager.log())
            sys.exit(1)
        bus.remove()


if __name__ == '__main__':
    main()
