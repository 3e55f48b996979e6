#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A day of mmoptd on the real kernel, without a service manager: policy changes, drift, trials, and its end in each state.
. "$(dirname "$0")/daemon-lib.sh"

set_to=$((knob_was == 33 ? 34 : 33))
else_to=$((set_to + 10))
other_to=$((other_was + 1))

start_bus
write_policy <<X
[vm]
swappiness = $set_to
X
start_daemon

# ---- apply over the bus, and what follows
has_property State differs || fail "before anything is applied: $(property State)"
mmopt apply >"$WORK/out" || fail "apply: exit $?"
expect "swappiness" "$(cat "$knob")" "$set_to"
wait_for 40 has_property State in-sync
expect "transaction" "$(property LastTransaction)" 1

# ---- a policy with a mistake: the last good one stays, and says so; a mended one counts by itself
echo "[vm]
swappines = 1" >"$policy.new" && mv "$policy.new" "$policy"
wait_for 40 said 'swappines'
wait_for 40 said 'the one before stays in force'
mmopt status >"$WORK/out" 2>&1 || fail "status: exit $?"
grep -q 'swappines' "$WORK/out" || fail "status says nothing of the policy's mistake: $(cat "$WORK/out")"
grep -q "vm.swappiness *$set_to" "$WORK/out" || fail "status does not show the policy in force: $(cat "$WORK/out")"
# What mmoptd does by itself goes by the policy in force, whoever is told meanwhile that the files are wrong.
mkdir "$WORK/metrics"
printf '[Manager]\nTextfileDirectory=%s\n' "$WORK/metrics" >/etc/mmopt/mmoptd.conf
kill -HUP "$DAEMON"
call Verify 'a{sv}' 0 >"$WORK/out"
sh -c "echo $else_to >$knob"
wait_for 40 has_property State drifted
echo "$set_to" >"$knob"
wait_for 40 has_property State in-sync
call Verify 'a{sv}' 0 >"$WORK/out"
has_property State in-sync || fail "a caller's look at a wrong policy: state $(property State)"
wait_for 40 test -s "$WORK/metrics/mmopt.prom"
! said 'cannot make the metrics' || fail "no metrics of the policy in force"
rm /etc/mmopt/mmoptd.conf
: >"$log"
write_policy <<X
[vm]
swappiness = $set_to
vfs_cache_pressure = $other_to
X
wait_for 40 has_property State differs
expect "not applied by itself" "$(cat "$other")" "$other_was"
mmopt apply >"$WORK/out" || fail "apply: exit $?"
wait_for 40 has_property State in-sync

# ---- drift: told once, with a name
busctl monitor --json=short --match="type='signal',interface='org.mmopt1.Manager',member='Drifted'" >"$WORK/signals" 9>&- &
monitor=$!
sleep 1
sh -c "echo $else_to >$knob"
wait_for 40 has_property State drifted
expect "drifted" "$(property DriftCount)" 1
said "vm.swappiness: changed from $set_to to $else_to by" || fail "no word of the change in the log"
mmopt status >"$WORK/out"
grep -q "$else_to" "$WORK/out" || fail "status does not show the drift"
sleep 2
expect "times told" "$(grep -c "vm.swappiness: changed from $set_to to $else_to" "$log")" 1
expect "left alone" "$(cat "$knob")" "$else_to"
kill "$monitor"
grep -q '"member":"Drifted"' "$WORK/signals" || fail "no signal Drifted: $(cat "$WORK/signals")"
echo "$set_to" >"$knob"
wait_for 40 has_property State in-sync

# ---- what mmoptctl does without asking mmoptd is no drift, and stays where drift is set right
printf '[Manager]\nOnDrift=reapply\n' >/etc/mmopt/mmoptd.conf
: >"$log"
kill -HUP "$DAEMON"
wait_for 40 said 'Policy loaded'
wait_for 40 has_property State in-sync
mmopt --direct rollback >"$WORK/out" || fail "rollback without mmoptd: exit $?"
expect "taken back" "$(cat "$other")" "$other_was"
wait_for 40 has_property State differs
sleep 1
expect "stays taken back" "$(cat "$other")" "$other_was"
! said 'changed from' || fail "a rollback is called drift"
mmopt --direct apply >"$WORK/out" || fail "apply without mmoptd: exit $?"
wait_for 40 has_property State in-sync
! said 'changed from' || fail "an apply is called drift"
rm /etc/mmopt/mmoptd.conf
kill -HUP "$DAEMON"

# ---- a trial: the timer is mmoptd's
write_policy <<X
[vm]
swappiness = $else_to
vfs_cache_pressure = $other_to
X
wait_for 40 has_property State differs
mmopt apply --confirm-within=3s --no-wait >"$WORK/out" || fail "apply on trial: exit $?"
expect "on trial" "$(cat "$knob")" "$else_to"
has_property State unconfirmed || fail "state on trial: $(property State)"
wait_for 40 holds "$knob" "$set_to"
said 'not confirmed in time' || fail "the log does not say why it went back"
wait_for 40 is_settled
mmopt apply --confirm-within=60s --no-wait >"$WORK/out" || fail "apply on trial: exit $?"
mmopt confirm >"$WORK/out" || fail "confirm: exit $?"
wait_for 40 has_property State in-sync
expect "kept" "$(cat "$knob")" "$else_to"
mmopt rollback >"$WORK/out" || fail "rollback: exit $?"
expect "taken back" "$(cat "$knob")" "$set_to"
wait_for 40 is_settled

# ---- the record is locked by another program at the deadline: it goes back all the same
call Apply 'a{sv}' 1 confirm_within_sec t 2 >"$WORK/out"
expect "on trial" "$(cat "$knob")" "$else_to"
flock /run/mmopt/lock sleep 5 9>&-
expect "still on trial" "$(cat "$knob")" "$else_to"
wait_for 40 holds "$knob" "$set_to"
wait_for 40 is_settled

# ---- a caller that is bound to its trial and leaves
call Apply 'a{sv}' 2 confirm_within_sec t 60 bound b true >"$WORK/out"
wait_for 40 holds "$knob" "$set_to"
said 'who applied it is gone' || fail "the log does not say that the caller left"
wait_for 40 is_settled

# ---- killed while a trial waits: the next start goes back
call Apply 'a{sv}' 1 confirm_within_sec t 600 >"$WORK/out"
expect "on trial" "$(cat "$knob")" "$else_to"
kill_daemon KILL
expect "as it was left" "$(cat "$knob")" "$else_to"
start_daemon
expect "after the next start" "$(cat "$knob")" "$set_to"
said 'was taken back' || fail "the log does not tell of the recovery"

# ---- killed while idle, and ended in order: nothing moves
kill_daemon KILL
start_daemon
expect "after a kill while idle" "$(cat "$knob")" "$set_to"
kill_daemon TERM
expect "after its end" "$(cat "$knob")" "$set_to"

# ---- ended in order while a trial waits: what was not confirmed goes back
start_daemon
call Apply 'a{sv}' 1 confirm_within_sec t 600 >"$WORK/out"
expect "on trial" "$(cat "$knob")" "$else_to"
kill_daemon TERM
expect "after its end" "$(cat "$knob")" "$set_to"

# ---- without a bus it works all the same
kill "$BUS"
wait "$BUS" 2>/dev/null || true
BUS=
write_policy <<X
[vm]
swappiness = $set_to
vfs_cache_pressure = $other_to
X
: >"$log"
"$MMOPTD" >>"$log" 2>&1 9>&- &
DAEMON=$!
wait_for 40 said 'Policy loaded'
sleep 1
sh -c "echo $else_to >$knob"
wait_for 40 said "changed from $set_to to $else_to"
echo "$set_to" >"$knob"

# ---- SIGHUP: both files are read again
printf '[Manager]\nOnDrift=reapply\n' >/etc/mmopt/mmoptd.conf
kill -HUP "$DAEMON"
wait_for 40 said 'Policy loaded'
sleep 1
for _ in 1 2 3; do
	sh -c "echo $else_to >$knob"
	wait_for 60 holds "$knob" "$set_to"
done
sh -c "echo $else_to >$knob"
wait_for 40 said 'left to them from now on'
sleep 11
expect "given up" "$(cat "$knob")" "$else_to"
kill_daemon TERM
echo "mmoptd: policy changes, drift, trials and its ends are as they should be"
