#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# vm: enable=mmoptd.service preboot smp=1 timeout=600
# mmoptd is killed in each of its states: systemd starts it again, and the transaction is finished or undone, never lost.
. guest/test-lib.sh

if [ "$VMRUN_BOOT" = 0 ]; then
	mkdir -p /etc/mmopt/policy.d
	printf '[vm]\nswappiness = 11\n' >/etc/mmopt/policy.d/50-test.conf
	# It dies more often here than anywhere else.
	mkdir -p /etc/systemd/system/mmoptd.service.d
	printf '[Unit]\nStartLimitIntervalSec=0\n' >/etc/systemd/system/mmoptd.service.d/often.conf
	exit
fi

pool=/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages
state() {
	for f in /proc/sys/vm/{swappiness,vfs_cache_pressure,watermark_scale_factor,page-cluster,min_free_kbytes,stat_interval} \
		/sys/kernel/mm/transparent_hugepage/{enabled,defrag} "$pool"; do
		echo "$f $(cat "$f")"
	done
}

main_pid() {
	systemctl show --value -p MainPID mmoptd.service
}

call() {
	busctl call --timeout=120 org.mmopt1 /org/mmopt1 org.mmopt1.Manager "$@"
}

property() {
	busctl get-property org.mmopt1 /org/mmopt1 org.mmopt1.Manager "$1" 2>/dev/null | sed 's/^[a-z] //; s/"//g'
}

is_settled() {
	case $(property State) in
	'' | starting | applying) return 1 ;;
	esac
}

is_new() {
	local now

	now=$(main_pid)
	[ "$now" != 0 ] && [ "$now" != "$1" ] && [ "$(systemctl is-active mmoptd.service)" = active ]
}

# kill_it: and systemd has started another that knows how things are.
kill_it() {
	local old

	old=$(main_pid)
	kill -KILL "$old"
	wait_for 40 "systemd starts it again" is_new "$old"
	wait_for 40 "it is settled" is_settled
}

newest_record() {
	local records=(/run/mmopt/transactions/*)

	echo "${records[-1]}"
}

# record_lines BEFORE: lines of the newest record, where it is another than BEFORE.
record_lines() {
	local newest

	newest=$(newest_record)
	if [ "$newest" = "$1" ]; then echo 0; else wc -l <"$newest"; fi
}

# slow_down: each write of mmoptd's next children takes a fifth of a second, so that there is time to see how far they are.
slow_down() {
	strace -qq -f -o /dev/null -e trace=write,pwrite64 -e inject=write,pwrite64:delay_enter=200000 -p "$(main_pid)" &
	tracer=$!
	wait_for 10 "strace has mmoptd" grep -q 'TracerPid:[[:space:]]*[1-9]' "/proc/$(main_pid)/status"
}

wait_for 40 "settled" is_settled
echo 30 >/proc/sys/vm/swappiness
state >"$OUT/start"

# ---- idle
kill_it
expect_eq "after a kill while idle" "$(state)" "$(cat "$OUT/start")"

# ---- applying: when so many lines of the record are written
cat >/etc/mmopt/policy.d/50-test.conf <<'X'
[vm]
swappiness = 11
vfs_cache_pressure = 90
watermark_scale_factor = 12
page-cluster = 0
stat_interval = 2
[thp]
enabled = madvise
defrag = defer
[hugetlb]
2M.pages = 24
X
expect "reload" systemctl reload mmoptd
wait_for 20 "settled" is_settled
undone=0 finished=0
for k in 1 2 3 4 5 6 8 11 14 17 60; do
	had=$(newest_record)
	slow_down
	call Apply 'a{sv}' 0 >"$OUT/apply.$k" 2>&1 &
	caller=$!
	while kill -0 "$caller" 2>/dev/null && (($(record_lines "$had" 2>/dev/null || echo 0) < k)); do sleep 0.1; done
	kill_it
	wait "$caller" "$tracer" || true
	if [ "$(state)" = "$(cat "$OUT/start")" ]; then
		undone=$((undone + 1))
	else
		# Everything is there, or the record of it would not say so.
		expect "killed at $k: all of it is in force" mmoptctl verify
		finished=$((finished + 1))
		expect "rollback" mmoptctl rollback
		expect_eq "after the rollback" "$(state)" "$(cat "$OUT/start")"
	fi
done
figure "killed while applying: $undone times undone, $finished times finished"
expect_between "kills in the middle" "$undone" 8 10
expect_between "kills after the end" "$finished" 1 3

# ---- a trial waits for its confirmation
call Apply 'a{sv}' 1 confirm_within_sec t 600 >"$OUT/trial"
expect_eq "on trial" "$(cat /proc/sys/vm/swappiness)" 11
kill_it
expect_eq "after a kill while a trial waited" "$(state)" "$(cat "$OUT/start")"
journalctl -b -u mmoptd.service --no-pager | grep -q 'was taken back' || fail "the journal says nothing of it"

# ---- reading the policy again
for _ in 1 2 3; do
	systemctl kill --kill-whom=main -s HUP mmoptd.service
	kill_it
	expect_eq "after a kill while reloading" "$(state)" "$(cat "$OUT/start")"
done

# ---- stopped in order: no value moves, and what waits for a confirmation goes back
expect "apply" call Apply 'a{sv}' 0
state >"$OUT/applied"
expect_ne "applied" "$(cat "$OUT/applied")" "$(cat "$OUT/start")"
expect "stop" systemctl stop mmoptd.service
expect_eq "after systemctl stop mmoptd" "$(state)" "$(cat "$OUT/applied")"
expect "stop" systemctl stop mmopt-apply.service
expect_eq "after systemctl stop mmopt-apply" "$(state)" "$(cat "$OUT/applied")"
expect "start" systemctl start mmoptd.service
wait_for 40 "settled" is_settled
expect_eq "after systemctl start" "$(state)" "$(cat "$OUT/applied")"
