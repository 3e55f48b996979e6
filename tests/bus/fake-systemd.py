#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""fake-systemd.py ROOT: stands in for systemd where mmoptd has it start mmopt-load-module.service on the machine below ROOT.
What becomes of the unit is told by the lines on standard input: loads; says TEXT; fails; denies.  Tells what it is asked."""

import sys

import dbus
import dbus.service
from gi.repository import GLib

from standin import say, serve

NAME, PATH, INTERFACE = 'org.freedesktop.systemd1', '/org/freedesktop/systemd1', 'org.freedesktop.systemd1.Manager'
ROOT = sys.argv[1]


def write(path, text):
    with open(ROOT + path, 'w', encoding='ascii') as f:
        f.write(text)


class Denied(dbus.DBusException):
    _dbus_error_name = 'org.freedesktop.systemd1.UnitMasked'


class Manager(dbus.service.Object):
    mode, n_jobs = 'denies', 0

    @dbus.service.method(INTERFACE, '', '')
    def Subscribe(self):
        pass

    @dbus.service.signal(INTERFACE, 'uoss')
    def JobRemoved(self, number, job, unit, result):
        pass

    def end(self, number, unit):
        verb, _, text = self.mode.partition(' ')
        if verb == 'loads':
            write('/proc/sys/vm/want_old_faultaround_pte', '-1\n')
        write('/run/mmopt/load-module', text + '\n' if verb == 'says' else '')
        self.JobRemoved(number, f'{PATH}/job/{number}', unit, 'failed' if verb == 'fails' else 'done')
        return False

    @dbus.service.method(INTERFACE, 'ss', 'o')
    def StartUnit(self, unit, mode):
        say('start', unit, mode)
        if self.mode == 'denies':
            raise Denied(f'Unit {unit} is masked.')
        self.n_jobs += 1
        # The end of an earlier job, which is not to be taken for this one's.
        self.JobRemoved(self.n_jobs + 1000, f'{PATH}/job/{self.n_jobs + 1000}', unit, 'canceled')
        GLib.timeout_add(50, self.end, self.n_jobs, unit)
        return f'{PATH}/job/{self.n_jobs}'


serve(NAME, PATH, Manager)
