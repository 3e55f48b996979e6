#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""org.mmopt1(5) says what introspection says, and each name and option of it has its words there."""

import os
import re
import xml.etree.ElementTree as ElementTree

from lib import INTERFACE, NAME, PATH, Bus, Program, expect, run_tests, wait_for

bus = Bus()
with open(os.environ['MMOPT_MAN'], encoding='utf-8') as page:
    man = page.read()


def introspect():
    done = bus.run(['busctl', '--system', 'introspect', '--xml-interface', NAME, PATH])
    expect(done.returncode == 0, done.stderr)
    node = ElementTree.fromstring(done.stdout)
    return next(i for i in node.findall('interface') if i.get('name') == INTERFACE)


def signature(element, direction=None):
    return ', '.join(f"{a.get('type')} {a.get('name')}" for a in element.findall('arg') if direction in (None, a.get('direction')))


def access(element):
    emits = [a.get('value') for a in element.findall('annotation')
             if a.get('name') == 'org.freedesktop.DBus.Property.EmitsChangedSignal']
    expect(element.get('access') == 'read', element.get('name'), 'may be written')
    return {'const': 'const', None: 'emits-change'}[emits[0] if emits else None]


def as_written(interface):
    lines = {f"{m.get('name')}({signature(m, 'in')}) -> ({signature(m, 'out')})" for m in interface.findall('method')}
    lines |= {f"property {p.get('type')} {p.get('name')} ({access(p)})" for p in interface.findall('property')}
    return lines | {f"signal {s.get('name')}({signature(s)})" for s in interface.findall('signal')}


def synopsis():
    block = re.search(r'^\.Bd -literal -offset indent\n(.*?)^\.Ed', man, re.S | re.M).group(1)
    return set(filter(None, re.sub(r'\n\t\s*', ' ', block).split('\n')))


def section(title):
    return re.search(rf'^\.Ss {title}\n(.*?)^\.S[sh] ', man, re.S | re.M).group(1)


def the_synopsis_of_the_man_page_is_the_interface():
    written, real = synopsis(), as_written(introspect())
    expect(real == written, 'only in the page:', written - real, 'only in the interface:', real - written)


def every_member_is_described():
    interface = introspect()
    for kind, title, macro in (('method', 'Methods', 'Fn'), ('property', 'Properties', 'Va'), ('signal', 'Signals', 'Fn')):
        real = {e.get('name') for e in interface.findall(kind)}
        written = set(re.findall(rf'^\.It {macro} (\w+)$', section(title), re.M))
        expect(real == written, title, real ^ written)


def every_option_is_described():
    """Which ones a method takes it says itself when it gets one that it does not know."""
    known = {}
    for method in ('DescribeInline', 'Describe', 'Apply', 'Confirm', 'Rollback', 'Verify'):
        start = ['ssa{sv}', 'status', 'text'] if method.startswith('Describe') else ['a{sv}']
        ok, text = bus.call(method, *start, '1', 'nonsense', 'b', 'true')
        expect(not ok and "unknown option 'nonsense', there are: " in text, method, text)
        known[method] = set(text.split('there are: ')[1].split())
    expect(known['Describe'] == known['DescribeInline'])
    general, describe, apply, both, rollback = [
        dict(re.findall(r'^\.It Va (\w+) No (\w)$', part, re.M))
        for part in re.split(r'^\.Fn (?:DescribeInline|Apply|Rollback) :$', section('Options'), flags=re.M)]
    expect(known['Verify'] == set(general), known['Verify'], set(general))
    expect(known['Confirm'] == set(general) | set(both), known['Confirm'])
    expect(known['Describe'] == set(general) - {'format'} | set(describe), known['Describe'])
    expect(known['Apply'] == set(general) | set(apply), known['Apply'])
    expect(known['Rollback'] == set(general) | set(both) | set(rollback), known['Rollback'])
    types = {**general, **describe, **apply, **both, **rollback}
    for name in types:
        wrong = ['s', 'a'] if types[name] != 's' else ['u', '1']
        method = next(m for m in ('Apply', 'Rollback', 'DescribeInline') if name in known[m])
        start = ['ssa{sv}', 'status', 'text'] if method == 'DescribeInline' else ['a{sv}']
        ok, text = bus.call(method, *start, '1', name, *wrong)
        expect(not ok and f"option '{name}' has to be of type {types[name]}" in text, name, text)


def every_view_format_and_error_is_described():
    ok, text = bus.call('DescribeInline', 'ssa{sv}', 'nonsense', 'text', '0')
    expect(not ok)
    views = text.split('there are: ')[1].split()
    words = set(re.findall(r'Ql ([\w-]+)', section('Methods')))
    expect(set(views) <= words, set(views) - words)
    for view in views:
        more = ['1', 'id', 's', 'vm.swappiness'] if view == 'explain' else ['0']
        expect(bus.call('DescribeInline', 'ssa{sv}', view, 'text', *more)[0], view)
    ok, text = bus.call('DescribeInline', 'ssa{sv}', 'status', 'nonsense', '0')
    expect(not ok and set(text.split('there are: ')[1].split()) <= words, text)


def no_method_takes_a_path_a_command_or_a_value():
    """The policy on disk is the only source: nothing but views, formats and these options comes in."""
    arguments = {(a.get('type'), a.get('name')) for m in introspect().findall('method') for a in m.findall('arg')
                 if a.get('direction') == 'in'}
    expect(arguments == {('s', 'view'), ('s', 'format'), ('a{sv}', 'options')}, arguments)
    expect(not re.search(r'^\.It Va \w*(path|file|value|command)', section('Options'), re.M))


def the_actions_are_those_of_the_policy_file():
    actions = {a.get('id') for a in ElementTree.parse(os.environ['MMOPT_POLKIT']).getroot().findall('action')}
    written = set(re.findall(r'^\.It Sy (org\.mmopt1\.\w+)$', man, re.M))
    expect(actions == written == {'org.mmopt1.apply', 'org.mmopt1.rollback', 'org.mmopt1.reload'}, actions, written)


bus.start()
manager = Program([os.environ['FAKE_MANAGER']], bus.environment)
try:
    wait_for(lambda: bus.has(NAME), 'the name')
    run_tests([the_synopsis_of_the_man_page_is_the_interface, every_member_is_described, every_option_is_described,
               every_view_format_and_error_is_described, no_method_takes_a_path_a_command_or_a_value,
               the_actions_are_those_of_the_policy_file], lambda test: test())
finally:
    manager.stop()
    bus.remove()
