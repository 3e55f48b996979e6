#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Stands in for polkitd: answers as the lines on standard input say (yes, no, challenge, silent), tells what it is asked."""

import dbus
import dbus.service

from standin import say, serve

INTERFACE = 'org.freedesktop.PolicyKit1.Authority'


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


serve('org.freedesktop.PolicyKit1', '/org/freedesktop/PolicyKit1/Authority', Authority)
