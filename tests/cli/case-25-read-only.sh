#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Case 25: /proc/sys is there but cannot be written: read-only as in a container, in a user namespace without privilege, and
# for an ordinary user. What reads works; apply says in one line what it could not do. On the real kernel, which is not changed.
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] || skip "not root"
unshare --mount true 2>/dev/null || skip "no mount namespaces"

# Not while a test of the real kernel changes what is looked at here.
exec 9>/tmp/mmopt-knobs.lock
flock -w 280 9 || fail "another test holds the machine"

old=$(cat /proc/sys/vm/stat_interval)
printf '[vm]\nstat_interval = %d\nswappiness = %d\n' $((old + 1)) "$(cat /proc/sys/vm/swappiness)" >"$WORK/p.conf"
chmod 644 "$WORK/p.conf"

# inside COMMAND...: runs mmoptctl by way of COMMAND.
inside() {
	as "${way[*]} mmoptctl $*" "${way[@]}" "$MMOPTCTL" "$@"
}

reading_works() {
	local verb
	for verb in facts list history savings 'explain vm.swappiness' "check $WORK/p.conf"; do
		# shellcheck disable=SC2086 # words on purpose
		inside $verb --json
		exits 0
		document
	done
	for verb in plan verify; do
		inside $verb --json --policy "$WORK/p.conf"
		exits 2
		document '{s["id"]: s["outcome"] for s in d["steps"]}["vm.swappiness"] == "already"'
	done
	inside status --json --policy "$WORK/p.conf"
	exits 0
	document
}

nothing_changed() {
	[ "$(cat /proc/sys/vm/stat_interval)" = "$old" ] || fail "vm.stat_interval was changed"
}

one_line() {
	[ "$(wc -l <"$WORK/err")" = 1 ] || {
		show
		fail "$LAST: not one line"
	}
	err_has "1 item cannot be set from here"
}

# A read-only bind mount, with a /run of its own.
read_only='mount -t tmpfs tmpfs /run && mount --bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys && exec "$@"'
way=(unshare --mount --propagation private bash -c "$read_only" sh)
reading_works
inside apply --policy "$WORK/p.conf"
one_line
err_has "Read-only file system"
[ "$status" = 0 ] || exits 3
inside apply --json --policy "$WORK/p.conf"
document '{s["id"]: (s["outcome"], s["error"]) for s in d["steps"]}["vm.stat_interval"] in [("skipped", "EROFS"), ("refused", "EROFS")]'
nothing_changed

# A user namespace: uid 0 inside, no privilege outside.
if setpriv --reuid=65534 --regid=65534 --clear-groups unshare --user --map-root-user true 2>/dev/null; then
	way=(setpriv --reuid=65534 --regid=65534 --clear-groups unshare --user --map-root-user --mount bash -c
		'mount -t tmpfs tmpfs /run && exec "$@"' sh)
	reading_works
	inside apply --policy "$WORK/p.conf"
	one_line
	err_has "Permission denied"
	nothing_changed
else
	echo "no unprivileged user namespaces here: left out"
fi

# An ordinary user: not even the undo record can be written, so nothing is tried.
way=(setpriv --reuid=65534 --regid=65534 --clear-groups)
reading_works
for verb in apply rollback confirm; do
	inside $verb --policy "$WORK/p.conf"
	exits 1
	[ "$(wc -l <"$WORK/err")" = 1 ] || {
		show
		fail "$verb: not one line"
	}
	out_is_empty
done
inside apply --policy "$WORK/p.conf"
one_line
# Nothing to be set: nothing is missing either.
printf '[vm]\nswappiness = %d\n' "$(cat /proc/sys/vm/swappiness)" >"$WORK/p.conf"
inside apply --policy "$WORK/p.conf"
exits 0
out_has "1 already right"
nothing_changed
