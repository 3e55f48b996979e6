#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# /run is full: the undo record cannot be written, so nothing is; one clear line.
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] || skip "not root"

if [ -z "${IN_NAMESPACE-}" ]; then
	unshare --mount true 2>/dev/null || skip "no mount namespaces"
	IN_NAMESPACE=1 unshare --mount --propagation private bash "$0"
	exit
fi
make_machine
policy $'[vm]\nswappiness = 10'
mount -t tmpfs -o size=64k tmpfs "$ROOT/run"
# Before anything is there: not even the directory of the records.
head -c 1M /dev/zero >"$ROOT/run/filler" 2>/dev/null || true
on apply
exits 1
[ "$(wc -l <"$WORK/err")" = 1 ] || {
	show
	fail "not one line"
}
err_has "No space left on device"
value_is /proc/sys/vm/swappiness 60
on apply --json
exits 1
document '"No space left" in d["diagnostics"][0]["text"]'

# With the directories there and room for nothing more.
rm "$ROOT/run/filler"
on rollback
exits 0
head -c 1M /dev/zero >"$ROOT/run/filler" 2>/dev/null || true
on apply
exits 1
[ "$(wc -l <"$WORK/err")" = 1 ] || {
	show
	fail "not one line"
}
err_has "No space left on device"
value_is /proc/sys/vm/swappiness 60

# What reads is not touched by it.
for verb in plan verify status history facts; do
	on $verb --json
	[ "$status" = 0 ] || [ "$status" = 2 ] || exits 0
	document
done
rm "$ROOT/run/filler"
on apply
exits 0
value_is /proc/sys/vm/swappiness 10
umount "$ROOT/run"
