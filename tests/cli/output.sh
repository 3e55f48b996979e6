#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Where the output goes: closed, full, a reader that leaves, a terminal with colour and pager.
. "$(dirname "$0")/lib.sh"

make_machine
policy $'[vm]\nswappiness = 10'

for json in off short; do
	# shellcheck disable=SC2016 # for the inner shell
	as "plan --json=$json >/dev/full" sh -c '"$@" >/dev/full' sh "$MMOPTCTL" --root="$ROOT" --json=$json plan
	exits 1
	err_is "mmoptctl: cannot write to standard output: No space left on device"

	# shellcheck disable=SC2016
	as "apply --json=$json >&-" sh -c '"$@" >&-' sh "$MMOPTCTL" --root="$ROOT" --json=$json apply
	exits 1
	err_is "mmoptctl: standard output is closed: nothing was done"
	value_is /proc/sys/vm/swappiness 60
done

# What was done before the report could not be written is not denied.
# shellcheck disable=SC2016
as "apply >/dev/full" sh -c '"$@" >/dev/full' sh "$MMOPTCTL" --root="$ROOT" apply
exits 1
err_is "mmoptctl: cannot write to standard output: No space left on device; what was done is done, see mmoptctl history"
value_is /proc/sys/vm/swappiness 10
on rollback --all
value_is /proc/sys/vm/swappiness 60

# Nothing to be said: no standard output is needed. Nor are the other two.
# shellcheck disable=SC2016
as "verify --quiet >&-" sh -c '"$@" >&-' sh "$MMOPTCTL" --root="$ROOT" --quiet verify
exits 2
[ ! -s "$WORK/err" ] || fail "--quiet says something"
# shellcheck disable=SC2016
as "plan <&- 2>&-" sh -c '"$@" <&- 2>&-' sh "$MMOPTCTL" --root="$ROOT" plan
exits 2
out_has "1 to change"

# A reader that leaves is no failure, and silent.
{ "$MMOPTCTL" list --no-pager 2>"$WORK/err" || echo $? >"$WORK/status"; } | true
[ ! -s "$WORK/err" ] || fail "a broken pipe says: $(cat "$WORK/err")"
[ ! -e "$WORK/status" ] || fail "a broken pipe exits $(cat "$WORK/status")"

on verify --quiet
exits 2
out_is_empty
on verify --quiet --json
exits 2
document 'd["verdict"] == "differs"'

# terminal VARIABLES... -- ARGUMENTS...: mmoptctl on a terminal of 24 x 80; what it shows is in $WORK/out.
terminal() {
	as "on a terminal: $*" /usr/bin/python3 - "$WORK/shown" "$MMOPTCTL" "$@" <<'PY'
import fcntl, os, pty, struct, sys, termios

out, program, *rest = sys.argv[1:]
split = rest.index('--')
environment = {**os.environ, 'TERM': 'xterm', **dict(v.split('=', 1) for v in rest[:split])}
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack('HHHH', 24, 80, 0, 0))
    os.execve(program, [program, *rest[split + 1:]], environment)
shown = b''
while True:
    try:
        data = os.read(fd, 65536)
    except OSError:
        break
    if not data:
        break
    shown += data
os.waitpid(pid, 0)
open(out, 'wb').write(shown.replace(b'\r\n', b'\n'))
PY
	exits 0
	cp "$WORK/shown" "$WORK/out"
}

escape=$(printf '\033')
terminal -- --root="$ROOT" plan
out_has "${escape}["
terminal NO_COLOR=1 -- --root="$ROOT" plan
! grep -qF "$escape" "$WORK/out" || fail "NO_COLOR is not honoured"
terminal TERM=dumb -- --root="$ROOT" plan
! grep -qF "$escape" "$WORK/out" || fail "colour on a dumb terminal"
on plan
! grep -qF "$escape" "$WORK/out" || fail "colour without a terminal"

# The pager: only for what does not fit, and only where one is wanted.
cat >"$WORK/pager" <<'SH'
#!/bin/sh
echo "pager $* $LESS ${LESSSECURE-unset}"
cat >/dev/null
SH
chmod +x "$WORK/pager"
terminal NO_COLOR=1 PAGER="$WORK/pager -x" -- list
out_has "pager -x FRSXMK"
[ "$(wc -l <"$WORK/out")" = 1 ] || fail "the pager did not get the output"
terminal NO_COLOR=1 PAGER=/nonexistent SYSTEMD_PAGER="$WORK/pager" SYSTEMD_LESS=abc SYSTEMD_PAGERSECURE=yes -- list
out_has "pager  abc 1"
for off in SYSTEMD_PAGER= SYSTEMD_PAGER=cat SYSTEMD_PAGER=/nonexistent; do
	terminal NO_COLOR=1 PAGER="$WORK/pager" $off -- list
	out_has "vm.swappiness"
done
terminal NO_COLOR=1 PAGER="$WORK/pager" -- --no-pager list
out_has "vm.swappiness"
terminal NO_COLOR=1 PAGER="$WORK/pager" -- --root="$ROOT" plan
out_has "vm.swappiness"
# Nothing is wider than the terminal where a column can be wrapped.
terminal NO_COLOR=1 PAGER=cat -- list
[ "$(grep -c '^vm\.' "$WORK/out")" -gt 20 ] || fail "list is not whole"
