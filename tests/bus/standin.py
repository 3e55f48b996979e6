# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the programs share that stand in for a service of the system bus: they obey lines on standard input, and tell what they
are asked."""

import os

import dbus
import dbus.lowlevel
import dbus.mainloop.glib
import dbus.service
from gi.repository import GLib


def say(*words):
    print(*words, flush=True)


def serve(name, path, make):
    """Owns the name until standard input ends.  make(bus, path) makes the object; each line but "same" becomes its mode."""
    dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
    bus = dbus.bus.BusConnection(os.environ['DBUS_SYSTEM_BUS_ADDRESS'])
    owned = dbus.service.BusName(name, bus)
    served = make(bus, path)
    loop = GLib.MainLoop()

    def obey(_source, _condition):
        line = os.read(0, 1000).decode().strip()
        if not line:
            loop.quit()
            return False
        if line != 'same':
            served.mode = line
        say('ok')
        return True

    GLib.io_add_watch(0, GLib.IO_IN | GLib.IO_HUP, obey)
    say('there', owned.get_name())
    loop.run()
