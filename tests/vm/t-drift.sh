#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# vm: enable=mmoptd.service preboot timeout=300
# Somebody else writes a value: status, signal and journal say so, once, and who it was where the kernel tells.
. guest/test-lib.sh

knob=/proc/sys/vm/swappiness
thp=/sys/kernel/mm/transparent_hugepage/enabled

if [ "$VMRUN_BOOT" = 0 ]; then
	mkdir -p /etc/mmopt/policy.d
	printf '[vm]\nswappiness = 11\n[thp]\nenabled = madvise\n' >/etc/mmopt/policy.d/50-test.conf
	exit
fi

property() {
	busctl get-property org.mmopt1 /org/mmopt1 org.mmopt1.Manager "$1" | sed 's/^[a-z] //; s/"//g'
}

has_property() {
	[ "$(property "$1")" = "$2" ]
}

drift_entries() {
	journalctl -b -u mmoptd.service -o json --no-pager | jq -c 'select(.MMOPT_OUTCOME == "drifted")'
}

has_drift_of() {
	drift_entries | jq -e "select(.MMOPT_TUNABLE == \"$1\" and .NEW_VALUE == \"$2\")"
}

# A program of a name that only this test has, which lives on for a moment.
cp /bin/bash /usr/local/bin/intruder
intrude() {
	/usr/local/bin/intruder -c "echo \$\$ >/run/intruder.pid; echo $2 >$1; sleep 2" &
	intruder=$!
	wait_for 10 "the intruder has run" test -s /run/intruder.pid
}

wait_for 30 "in order" has_property State in-sync
busctl monitor --json=short --match="type='signal',member='Drifted'" >"$OUT/signals.json" 2>&1 &
monitor=$!
sleep 1

# ---- below /proc/sys
intrude "$knob" 60
wait_for 20 "a journal entry" has_drift_of vm.swappiness 60
drift_entries | tee "$OUT/drift.json"
pid=$(cat /run/intruder.pid)
expect_eq "old value" "$(json "$OUT/drift.json" .OLD_VALUE)" 11
expect_eq "pid" "$(json "$OUT/drift.json" .MMOPT_WRITER_PID)" "$pid"
expect_eq "name" "$(json "$OUT/drift.json" .MMOPT_WRITER_COMM)" intruder
expect_match "text" "$(json "$OUT/drift.json" .MESSAGE)" "intruder \\(pid $pid\\)"
mmoptctl status | tee "$OUT/status.txt"
mmoptctl status --json=short >"$OUT/status.json"
expect_eq "outcome" "$(json "$OUT/status.json" '.steps[] | select(.id == "vm.swappiness") | .outcome')" drifted
expect_eq "bus" "$(property State) $(property DriftCount)" "drifted 1"
expect_match "status" "$(cat "$OUT/status.txt")" "intruder \(pid $pid\)"
expect_eq "JSON" "$(json "$OUT/status.json" '.steps[] | select(.id == "vm.swappiness") | .writer_comm')" intruder
wait "$intruder"
sleep 3
expect_eq "times told" "$(drift_entries | grep -c vm.swappiness)" 1
expect_eq "left as it is" "$(cat "$knob")" 60
echo 11 >"$knob"
wait_for 20 "in order again" has_property State in-sync

# ---- below /sys: no BPF there
rm /run/intruder.pid
intrude "$thp" always
wait_for 20 "a journal entry" has_drift_of thp.enabled always
expect_eq "bus" "$(property DriftCount)" 1
wait "$intruder"
echo madvise >"$thp"
wait_for 20 "in order again" has_property State in-sync

kill "$monitor"
wait "$monitor" || true
expect_eq "signals" "$(grep -c '"member":"Drifted"' "$OUT/signals.json")" 2

# ---- where mmoptd may not ask the kernel who it was: seen all the same, and said to be unknown
mkdir -p /etc/systemd/system/mmoptd.service.d
printf '[Service]\nCapabilityBoundingSet=\n' >/etc/systemd/system/mmoptd.service.d/nobody.conf
systemctl daemon-reload
expect "restart without capabilities" systemctl restart mmoptd.service
wait_for 40 "in order" has_property State in-sync
echo always >"$thp"
wait_for 20 "a journal entry" has_drift_of thp.enabled always
expect_match "text" "$(drift_entries | tail -n 1)" 'from madvise to always by an unknown process'
expect_match "status" "$(mmoptctl status)" 'unknown process'
echo madvise >"$thp"
wait_for 20 "in order again" has_property State in-sync
rm -r /etc/systemd/system/mmoptd.service.d
systemctl daemon-reload
expect "restart" systemctl restart mmoptd.service
wait_for 40 "in order" has_property State in-sync

# ---- OnDrift=reapply: three fights, then it is left to the other, and that is said
mkdir -p /etc/mmopt
printf '[Manager]\nOnDrift=reapply\n' >/etc/mmopt/mmoptd.conf
expect "reload" systemctl reload mmoptd
sleep 2
for i in 1 2 3; do
	echo 60 >"$knob"
	wait_for 40 "set again, $i" grep -qx 11 "$knob"
	sleep 1
done
echo 60 >"$knob"
has_given_up() {
	journalctl -b -u mmoptd.service --no-pager | grep 'left to them from now on'
}
wait_for 30 "given up" has_given_up
sleep 12
expect_eq "left to the other" "$(cat "$knob")" 60
expect_match "status" "$(mmoptctl status)" 'no longer|given up|left'
