#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Stands in for polkitd: answers as the lines on standard input say (yes, no, challenge, silent), tells what it is asked."""

import os
import sys

import dbus
import dbus.lowlevel
import dbus.mainloop.glib
import dbus.service
from gi.repository import GLib

INTERFACE = 'org.freedesktop.PolicyKit1.Authority'


def say(*words):
    print(*words, flush=True)


class Authority(dbus.service.Object):
    mode = 'no'

    @dbus.service.method(INTERFACE, '(sa{sv})sa{ss}us', '(bba{ss})', async_callbacks=('answer', 'fail'))
    def CheckAuthorization(self, subject, action, details, flags, cancel_id, answer, fail):
        say('check', action, int(flags), subject[0], 'with' if cancel_id else 'without', 'cancellation')
        if self.mode == 'silent':
            return
        answer((self.mode == 'yes', self.mode == 'challenge', dbus.Dictionary({}, signature='ss')))

    @dbus.service.method(INTERFACE, 's', '')
    def CancelCheckAuthorization(self, cancel_id):
        say('cancel')


def main():
    dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
    bus = dbus.bus.BusConnection(os.environ['DBUS_SYSTEM_BUS_ADDRESS'])
    name = dbus.service.BusName('org.freedesktop.PolicyKit1', bus)
    authority = Authority(bus, '/org/freedesktop/PolicyKit1/Authority')
    loop = GLib.MainLoop()

    def obey(source, condition):
        line = os.read(0, 100).decode().strip()
        if not line:
            loop.quit()
            return False
        if line != 'same':
            authority.mode = line
        say('ok')
        return True

    GLib.io_add_watch(0, GLib.IO_IN | GLib.IO_HUP, obey)
    say('there', name.get_name())
    loop.run()


sys.exit(main())
