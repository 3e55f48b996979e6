# SPDX-License-Identifier: LGPL-2.1-or-later
# For the tests that run mmoptd on the real kernel: with an /etc/mmopt, a /run/mmopt and a bus of its own.
# shellcheck shell=bash
. "$(dirname "$0")/lib.sh"

: "${MMOPTD:?path of mmoptd}"

# Only values that may be changed for a few seconds on any machine.
knob=/proc/sys/vm/swappiness
other=/proc/sys/vm/vfs_cache_pressure
knob_was=$(cat "$knob")
other_was=$(cat "$other")

mkdir -p /etc/mmopt
mount -t tmpfs -o mode=755 tmpfs /etc/mmopt
mkdir /etc/mmopt/policy.d
policy=/etc/mmopt/policy.d/50-test.conf
log=$WORK/mmoptd.log
DAEMON=
BUS=

daemon_done() {
	local status=$?

	trap - EXIT
	[ -z "$DAEMON" ] || kill -KILL "$DAEMON" 2>/dev/null || true
	[ -z "$BUS" ] || kill "$BUS" 2>/dev/null || true
	"$MMOPTCTL" --direct rollback --all >/dev/null 2>&1 9>&- || true
	echo "$knob_was" >"$knob"
	echo "$other_was" >"$other"
	if [ "$status" -ne 0 ] && [ "$status" -ne 77 ]; then
		echo "--- mmoptd said:"
		cat "$log" 2>/dev/null
	fi
	rm -rf "$WORK"
	exit "$status"
}
trap daemon_done EXIT

cat >"$WORK/bus.conf" <<X
<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" "busconfig.dtd">
<busconfig>
  <type>system</type>
  <listen>unix:path=$WORK/bus</listen>
  <policy context="default">
    <allow user="*"/> <allow own="*"/> <allow send_type="method_call"/> <allow send_type="signal"/>
    <allow send_requested_reply="true" send_type="method_return"/> <allow send_requested_reply="true" send_type="error"/>
    <allow receive_type="method_call"/> <allow receive_type="method_return"/> <allow receive_type="error"/> <allow receive_type="signal"/>
  </policy>
</busconfig>
X
export DBUS_SYSTEM_BUS_ADDRESS=unix:path=$WORK/bus

start_bus() {
	dbus-daemon --config-file="$WORK/bus.conf" --nofork --nopidfile >"$WORK/bus.log" 2>&1 9>&- &
	BUS=$!
	wait_for 40 test -S "$WORK/bus"
}

# wait_for SECONDS COMMAND...
wait_for() {
	local end=$((SECONDS + $1))

	shift
	until "$@" >/dev/null 2>&1; do
		[ "$SECONDS" -lt "$end" ] || fail "waited in vain for: $*"
		sleep 0.1
	done
}

write_policy() {
	cat >"$policy.new"
	mv "$policy.new" "$policy"
}

property() {
	busctl get-property org.mmopt1 /org/mmopt1 org.mmopt1.Manager "$1" 2>/dev/null | sed 's/^[a-z] //; s/"//g'
}

has_property() {
	[ "$(property "$1")" = "$2" ]
}

call() {
	busctl call org.mmopt1 /org/mmopt1 org.mmopt1.Manager "$@"
}

holds() {
	[ "$(cat "$1")" = "$2" ]
}

said() {
	grep -q "$1" "$log"
}

start_daemon() {
	"$MMOPTD" >>"$log" 2>&1 9>&- &
	DAEMON=$!
	wait_for 40 is_settled
}

is_settled() {
	case $(property State) in
	'' | starting | applying) return 1 ;;
	esac
}

kill_daemon() {
	kill "-$1" "$DAEMON"
	wait "$DAEMON" 2>/dev/null || true
	DAEMON=
}
