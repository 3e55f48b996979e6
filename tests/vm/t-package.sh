#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# vm: kernel=6.12 timeout=600 files=../../debian/mmopt.postinst,../../debian/mmopt.prerm
# Neither an upgrade nor a removal of the Debian package changes a value; mmoptd goes on with the new program. Where no
# package is given (run --deb), its own scripts are called as dpkg calls them, with what debhelper puts in left out.
. guest/test-lib.sh

swappiness=/proc/sys/vm/swappiness
active() {
	systemctl is-active "$@" || true
}
pid() { systemctl show -P MainPID mmoptd; }
upgrade() {
	if [ -d debs ]; then
		dpkg -i debs/mmopt_*.deb
	else
		sh ./mmopt.postinst configure 0.1
	fi
}

mkdir -p /etc/mmopt/policy.d
printf '[vm]\nswappiness = 11\n' >/etc/mmopt/policy.d/50-test.conf
sed -i '/^#DEBHELPER#$/d' mmopt.postinst mmopt.prerm

# Installed, and not enabled: nothing runs, and a call on the bus that starts mmoptd applies nothing.
before=$(cat "$swappiness")
expect "first installation" sh ./mmopt.postinst configure ""
expect_eq "not started" "$(active mmoptd mmopt-apply | sort -u)" inactive
expect "a call on the bus" busctl --quiet call org.mmopt1 /org/mmopt1 org.freedesktop.DBus.Peer Ping
wait_for 60 "it starts mmoptd" systemctl is-active mmoptd
expect_eq "mmopt-apply" "$(active mmopt-apply)" inactive
expect_eq "swappiness" "$(cat "$swappiness")" "$before"
expect "stop" systemctl stop mmoptd

# Enabled, and then somebody else changes the value: an upgrade is no reason to write it.
expect "enable" systemctl enable --now mmoptd
expect_eq "swappiness" "$(cat "$swappiness")" 11
echo 70 >"$swappiness"
old=$(pid)
expect "upgrade" upgrade
wait_for 30 "mmoptd is back" systemctl is-active mmoptd
expect_ne "pid of mmoptd" "$(pid)" "$old"
expect_eq "swappiness after an upgrade" "$(cat "$swappiness")" 70

# What failed at boot is not tried again by an upgrade.
expect "stop" systemctl stop mmopt-apply
old=$(pid)
expect "upgrade" upgrade
expect_ne "pid of mmoptd" "$(pid)" "$old"
expect_eq "mmopt-apply" "$(active mmopt-apply)" inactive
expect_eq "swappiness after another upgrade" "$(cat "$swappiness")" 70

# An administrator may forbid restarts.
printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
chmod +x /usr/sbin/policy-rc.d
old=$(pid)
expect "upgrade with a policy" upgrade
expect_eq "pid of mmoptd" "$(pid)" "$old"
rm /usr/sbin/policy-rc.d

# It does not run: an upgrade does not start it.
echo 11 >"$swappiness"
expect "start" systemctl start mmopt-apply
expect "stop" systemctl stop mmoptd
expect "upgrade" upgrade
expect_eq "mmoptd" "$(active mmoptd)" inactive
expect "start" systemctl start mmoptd

expect "removal" sh ./mmopt.prerm remove
expect_eq "all is stopped" "$(active mmoptd mmopt-apply | sort -u)" inactive
expect_eq "swappiness after the removal" "$(cat "$swappiness")" 11
# What was done can still be taken back.
expect "rollback" mmoptctl rollback --all
expect_eq "swappiness after all" "$(cat "$swappiness")" "$before"
