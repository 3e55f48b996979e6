#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# vm: kernel=6.12 enable=mmoptd.service preboot built=tests/bus/hammer timeout=420
# The bus as others meet it, with Debian's own dbus-daemon and polkit: everybody may read, nobody without privilege may change, a
# crowd is answered, nonsense is refused, and mmoptd does not grow.
. guest/test-lib.sh

if [ "$VMRUN_BOOT" = 0 ]; then
	mkdir -p /etc/mmopt/policy.d
	printf '[vm]\nswappiness = 11\n' >/etc/mmopt/policy.d/50-test.conf
	useradd --create-home nobody-special
	exit
fi

call() {
	busctl call --timeout=60 org.mmopt1 /org/mmopt1 org.mmopt1.Manager "$@"
}

as_user() {
	setpriv --reuid=nobody-special --regid=nobody-special --clear-groups -- "$@"
}

is_in_sync() {
	busctl get-property org.mmopt1 /org/mmopt1 org.mmopt1.Manager State | grep -q in-sync
}

rss() {
	awk '$1 == "VmRSS:" { print $2 }' "/proc/$(systemctl show --value -p MainPID mmoptd.service)/status"
}

wait_for 40 "in order" is_in_sync

# ---- a user without privilege
expect "reading as a user" as_user busctl call org.mmopt1 /org/mmopt1 org.mmopt1.Manager DescribeInline 'ssa{sv}' status json 0
expect_match "what a user reads" "$output" 'vm.swappiness'
expect "mmoptctl as a user" as_user mmoptctl status
expect_match "mmoptctl as a user" "$output" 'vm.swappiness +11 +11 +already'
for change in "Apply a{sv} 0" "Rollback a{sv} 0" "Confirm a{sv} 0" "Reload"; do
	# shellcheck disable=SC2086  # words on purpose
	expect_status "$change as a user" 1 as_user busctl call org.mmopt1 /org/mmopt1 org.mmopt1.Manager $change
	expect_match "$change as a user" "$output" 'denied|not authorized|authentication'
done
expect_eq "swappiness" "$(cat /proc/sys/vm/swappiness)" 11

# ---- no method takes a path, a command or a value to write
busctl introspect --xml-interface org.mmopt1 /org/mmopt1 >"$OUT/introspection.xml" || busctl introspect org.mmopt1 /org/mmopt1 >"$OUT/introspection.xml"
for name in policy policy_file path root file command value set; do
	expect_status "option $name" 1 call Apply 'a{sv}' 1 "$name" s /tmp/x
	expect_match "option $name" "$output" "$name"
done

# ---- a crowd, and nonsense
before=$(rss)
expect "a crowd" ./hammer 200 50
figure "${output##*$'\n'}"
expect "nonsense" ./hammer --garbage 1000
figure "${output##*$'\n'}"
after=$(rss)
figure "RSS of mmoptd: $before kB before, $after kB after"
expect_between "growth in kB" $((after > before ? after - before : 0)) 0 1024
expect "it is still there" mmoptctl status
