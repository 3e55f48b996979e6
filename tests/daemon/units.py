#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""units.py TOP MMOPTCTL UNIT...: the units, as systemd's own tools see them, and the catalog of the journal's messages."""

import json
import os
import re
import subprocess
import sys
import tempfile

TOP, MMOPTCTL = sys.argv[1:3]
UNITS = sys.argv[3:]
sys.path.insert(0, os.path.join(TOP, 'tests/style'))
from sources import Tap  # noqa: E402

# What systemd-analyze security gives at most, in tenths.
EXPOSURE = 20


def read(path):
    with open(path, encoding='utf-8') as f:
        return f.read()


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


def exposure(unit):
    done = run('systemd-analyze', 'security', '--offline=true', f'--threshold={EXPOSURE}', '--no-pager', unit)
    lines = (done.stdout + done.stderr).splitlines()
    if done.returncode == 0:
        print(f'# {os.path.basename(unit)}: {lines[-1].strip()}')
    return [] if done.returncode == 0 else lines


def open_doors(unit):
    """Where systemd sees one: CAP_X, AF_X, @X, or the name of the setting."""
    done = run('systemd-analyze', 'security', '--offline=true', '--json=short', '--no-pager', unit)
    for row in json.loads(done.stdout):
        if row['exposure'] is not None:
            name, _, part = row['name'].partition('=~')
            yield part or name.split('=')[0] + '='


def unexplained(unit):
    text = '\n'.join(line for line in read(unit).splitlines() if line.startswith('#'))
    return [f'{os.path.basename(unit)}: no comment says why {door} is open' for door in open_doors(unit) if door not in text]


def verify(unit):
    """Both units side by side, with a program that is there."""
    with tempfile.TemporaryDirectory() as folder:
        for path in UNITS:
            with open(os.path.join(folder, os.path.basename(path)), 'w', encoding='utf-8') as f:
                f.write(re.sub(r'^(ExecStart=)\S+', r'\1/bin/true', read(path), flags=re.M))
        done = run('systemd-analyze', 'verify', '--man=no', os.path.join(folder, os.path.basename(unit)))
    return (done.stdout + done.stderr).splitlines() or ([f'exit status {done.returncode}'] if done.returncode else [])


def properties(unit):
    """The helper and a reading of its own come to the same."""
    keep = re.compile(r'(Type|RemainAfterExit|Exec.*|WatchdogSec|Restart.*|Timeout.*|KillMode|OOMPolicy)=')
    section = read(unit).split('[Service]')[1].split('[Install]')[0]
    want = ['--property=' + line for line in section.splitlines() if line and line[0] != '#' and not keep.match(line)]
    got = run(os.path.join(TOP, 'tests/daemon/unit-properties'), unit).stdout.splitlines()
    return [] if got == want and len(got) > 20 else [f'got {got}', f'expected {want}']


def catalog_entries():
    """Id, header, text of each."""
    for entry in re.split(r'^-- ', read(os.path.join(TOP, 'units/mmopt.catalog')), flags=re.M)[1:]:
        head, _, text = entry.partition('\n\n')
        name, _, header = head.partition('\n')
        yield name, header, text


def events():
    found = re.findall(r'\[(EVENT_\w+)\] = (?:"([0-9a-f]{32})"|NULL)', read(os.path.join(TOP, 'daemon/journal.c')))
    names = re.search(r'enum event \{(.*?)\};', read(os.path.join(TOP, 'daemon/journal.h')), re.S).group(1)
    return dict(found), set(re.findall(r'\bEVENT_\w+', names))


def catalog_is_complete():
    ids, names = events()
    wanted = {value for value in ids.values() if value}
    have = [name for name, _, _ in catalog_entries()]
    return ([f'{name} is not in the table of ids' for name in sorted(names - set(ids))]
            + [f'no text for {value}' for value in sorted(wanted - set(have))]
            + [f'a text for nothing: {name}' for name in have if name not in wanted or have.count(name) > 1])


def catalog_says_what_to_do():
    verbs = set(re.findall(r'^\s+(\w[\w-]*)\s', run(MMOPTCTL, '--help').stdout, re.M))
    found = []
    for name, header, text in catalog_entries():
        if not re.match(r'Subject: \S.*\nDefined-By: mmopt\n(Documentation: man:[\w.@-]+\(\d\)\n?)+$', header):
            found.append(f'{name}: the header is not Subject, Defined-By, Documentation')
        if not re.search(r'^    \S', text, re.M):
            found.append(f'{name}: no command to give')
        found += [f'{name}: mmoptctl has no verb {verb}' for verb in re.findall(r'^    mmoptctl (\w+)', text, re.M)
                  if verb not in verbs]
        found += [f'{name}: no such id: {value}' for value in re.findall(r'MESSAGE_ID=(\w+)', text)
                  if value not in events()[0].values()]
        fields = re.findall(r'@(\w+)@', header + text)
        source = read(os.path.join(TOP, 'daemon/journal.c'))
        found += [f'{name}: no entry has the field {field}' for field in fields if f'"{field}"' not in source]
    return found


def catalog_is_taken():
    with tempfile.TemporaryDirectory() as root:
        os.makedirs(os.path.join(root, 'usr/lib/systemd/catalog'))
        with open(os.path.join(root, 'usr/lib/systemd/catalog/mmopt.catalog'), 'w', encoding='utf-8') as f:
            f.write(read(os.path.join(TOP, 'units/mmopt.catalog')))
        done = run('journalctl', f'--root={root}', '--update-catalog')
        if done.returncode or done.stderr:
            return done.stderr.splitlines() or [f'exit status {done.returncode}']
        listed = run('journalctl', f'--root={root}', '--list-catalog').stdout
    return [f'journalctl does not know {name}' for name, _, _ in catalog_entries() if name not in listed]


def main():
    tap = Tap()
    for unit in UNITS:
        name = os.path.basename(unit)
        tap.check(f'{name}: systemd-analyze security gives {EXPOSURE / 10} at most', exposure(unit))
        tap.check(f'{name}: each open door is explained', unexplained(unit))
        tap.check(f'{name}: systemd-analyze verify finds nothing', verify(unit))
        tap.check(f'{name}: unit-properties gives what it allows', properties(unit))
    tap.check('each message id has a text in the catalog', catalog_is_complete())
    tap.check('each text says what to do, with commands that exist', catalog_says_what_to_do())
    tap.check('journalctl takes the catalog', catalog_is_taken())
    tap.done()


main()
