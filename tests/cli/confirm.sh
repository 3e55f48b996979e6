#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# apply --confirm-within: kept by "confirm" and by Enter; taken back at the deadline, on a signal, on a dead terminal, by
# "rollback" from elsewhere, and by the next start where the waiting process was killed.
. "$(dirname "$0")/lib.sh"

make_machine
policy $'[vm]\nswappiness = 10'

# wait_for PATTERN: until the undo record has it.
wait_for() {
	for _ in $(seq 200); do
		if grep -qs "$1" "$ROOT"/run/mmopt/transactions/*; then
			return
		fi
		sleep 0.05
	done
	fail "no $1 in the undo record"
}

# begin TIME [ARGUMENTS...]: apply in the background, until it waits.
begin() {
	local time=$1
	shift
	rm -rf "$ROOT/run/mmopt"
	file /proc/sys/vm/swappiness 60
	# Whoever runs the tests may ignore SIGHUP, as nohup does, and mmoptctl leaves an ignored signal alone.
	env --default-signal=HUP "$MMOPTCTL" --root="$ROOT" apply --confirm-within="$time" "$@" </dev/null >"$WORK/out.apply" 2>"$WORK/err.apply" &
	waiter=$!
	wait_for unconfirmed
	# With a second only it may be over by the time that this looks.
	[ "$time" = 1s ] || value_is /proc/sys/vm/swappiness 10
}

# ended STATUS: how the waiting process ended.
ended() {
	as "apply --confirm-within" wait "$waiter"
	cp "$WORK/out.apply" "$WORK/out"
	cp "$WORK/err.apply" "$WORK/err"
	exits "$1"
}

begin 1min
on apply
exits 1
err_has "waits for its confirmation"
on status
exits 0
out_has "mmoptctl confirm keeps it, else it goes back"
on status --json
exits 0
document 'd["state"] == "unconfirmed" and 0 < d["confirm_left_sec"] <= 60 and d["confirm_waiting"] is True'
on confirm --json
exits 0
document 'd["verdict"] == "confirmed"'
ended 0
out_has "is confirmed and stays"
# No terminal shows a countdown: one line says that it waits.
grep -qE '^mmoptctl: waiting (1min 0s|59s) .*: mmoptctl confirm keeps it, mmoptctl rollback ends it$' "$WORK/err" || {
	show
	fail "it waits in silence"
}
[ "$(wc -l <"$WORK/err")" = 1 ] || fail "the wait is told more than once"
on status --json
document 'd["state"] == "in-sync" and d["confirm_left_sec"] is None and d["confirm_waiting"] is None'
value_is /proc/sys/vm/swappiness 10
on confirm
exits 1

begin 1min --json
on confirm
exits 0
ended 0
document 'd["view"] == "apply" and d["confirmed"] is True and d["applied_count"] == 1'

begin 1s
ended 1
err_has "mmoptctl: not confirmed in time: everything was taken back"
out_has "vm.swappiness"
value_is /proc/sys/vm/swappiness 60

begin 1s --json
ended 1
document 'd["view"] == "apply" and d["confirmed"] is False and d["verdict"] == "not-confirmed"'
value_is /proc/sys/vm/swappiness 60

# Not SIGINT: a background process of this shell ignores it from its start. The terminal below sends it.
for signal in TERM HUP; do
	begin 1min
	kill -$signal "$waiter"
	ended 1
	err_has "mmoptctl: interrupted: everything was taken back"
	value_is /proc/sys/vm/swappiness 60
done

# Started with nohup it stays when the terminal goes.
rm -rf "$ROOT/run/mmopt"
file /proc/sys/vm/swappiness 60
env --ignore-signal=HUP "$MMOPTCTL" --root="$ROOT" apply --confirm-within=1min </dev/null >"$WORK/out.apply" 2>"$WORK/err.apply" &
waiter=$!
wait_for unconfirmed
kill -HUP "$waiter"
on confirm
exits 0
ended 0
value_is /proc/sys/vm/swappiness 10

begin 1min
on rollback
exits 0
ended 1
err_has "mmoptctl: taken back from elsewhere"
value_is /proc/sys/vm/swappiness 60

begin 1min
kill -KILL "$waiter"
wait "$waiter" 2>/dev/null || true
on status
exits 0
out_has "the next change takes it back"
! grep -qF in-sync "$WORK/out" || fail "what is about to be taken back is no state to be in"
on status --json
document 'd["verdict"] == "unconfirmed" and d["confirm_waiting"] is False and d["confirm_left_sec"] is None'
on confirm
exits 1
err_has "nothing waits for a confirmation"
err_has "a transaction that was not finished has been taken back (1 of 1 value)"
value_is /proc/sys/vm/swappiness 60

begin 1s --quiet
ended 1
err_is "mmoptctl: not confirmed in time: everything was taken back"

# Foreign changes stay.
begin 1min
file /proc/sys/vm/swappiness 33
kill -TERM "$waiter"
ended 1
out_has "now 33, set by someone else: left"
value_is /proc/sys/vm/swappiness 33

# On a terminal: Enter keeps, Ctrl-C and a dead terminal go back.
at_terminal() {
	rm -rf "$ROOT/run/mmopt"
	file /proc/sys/vm/swappiness 60
	/usr/bin/python3 - "$1" "$MMOPTCTL" --root="$ROOT" apply --confirm-within=1min >"$WORK/out" <<'PY'
import os, pty, sys, time

answer, program, *rest = sys.argv[1:]
pid, fd = pty.fork()
if pid == 0:
    os.execv(program, [program, *rest])
shown = b''
if answer == 'early':
    os.write(fd, b'\r')
while b'Enter' not in shown:
    shown += os.read(fd, 4096)
if answer == 'early':
    time.sleep(0.3)
    answer = 'interrupt'
if answer == 'hangup':
    os.close(fd)
else:
    os.write(fd, {'enter': b'\r', 'interrupt': b'\x03'}[answer])
    try:
        while os.read(fd, 4096):
            pass
    except OSError:
        pass
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
PY
}
at_terminal enter
[ "$(cat "$WORK/out")" = 0 ] || fail "Enter: exit status $(cat "$WORK/out")"
value_is /proc/sys/vm/swappiness 10
# early: an Enter from before the question is none to it, and Ctrl-C follows.
for answer in interrupt hangup early; do
	at_terminal $answer
	[ "$(cat "$WORK/out")" = 1 ] || fail "$answer: exit status $(cat "$WORK/out")"
	value_is /proc/sys/vm/swappiness 60
done
