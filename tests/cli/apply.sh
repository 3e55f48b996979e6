#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The life of a policy on a machine of files: plan, apply, again, drift, back. Every document is held against its schema.
. "$(dirname "$0")/lib.sh"

make_machine
for verb in status plan verify; do
	on $verb --json
	exits 0
	document 'd["steps"] == []'
done
policy $'[vm]\nswappiness = 10\nstat_interval = 20\nvfs_cache_pressure = 100'

on apply --dry-run --json
exits 2
document 'd["view"] == "plan" and d["to_change_count"] == 2 and d["already_count"] == 1'
[ ! -e "$ROOT/run/mmopt" ] || fail "a dry run leaves something behind"
on plan
exits 2
out_has "2 to change, 1 already right"
out_has "50-test.conf:2"
value_is /proc/sys/vm/swappiness 60
on status --json
exits 0
document 'd["state"] == "differs" and d["last_transaction"] is None'

on apply --json
exits 0
document 'd["verdict"] == "done" and d["applied_count"] == 2'
document '{s["id"]: (s["current"], s["actual"]) for s in d["steps"]}["vm.swappiness"] == ("60", "10")'
value_is /proc/sys/vm/swappiness 10
on verify --json
exits 0
document 'd["verdict"] == "in-sync"'

# Again: nothing to do, no transaction, not one file of the machine opened for writing.
if command -v strace >/dev/null; then
	# LeakSanitizer, where it is built in, cannot run below strace.
	as "apply again" env "ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0" strace -f -o "$WORK/trace" "$MMOPTCTL" --root="$ROOT" apply
	exits 0
	out_has "3 already right"
	! grep -E '"[^"]*/(proc/sys|sys)/[^"]*", .*O_(WRONLY|RDWR)' "$WORK/trace" || fail "a second apply opens for writing"
fi
on history --json
exits 0
document 'len(d["transactions"]) == 1 and d["transactions"][0]["state"] == "committed" and len(d["changes"]) == 2'
on history
out_has "vm.swappiness"

file /proc/sys/vm/swappiness 30
on verify
exits 2
out_has "someone else changed it: 10 -> 30"
on status --json
exits 0
document 'd["drifted_count"] == 1 and d["last_verb"] == "apply" and d["last_state"] == "committed"'

on rollback --json
exits 0
document 'd["foreign_count"] == 1 and {i["id"]: i["outcome"] for i in d["items"]} == {"vm.swappiness": "foreign", "vm.stat_interval": "restored"}'
value_is /proc/sys/vm/swappiness 30
value_is /proc/sys/vm/stat_interval 1
on rollback
exits 0
out_has "nothing to take back"
on rollback --json
document 'd["verdict"] == "nothing"'

# --all: to what was before the first of several.
make_machine
policy $'[vm]\nswappiness = 10'
on apply
exits 0
policy $'[vm]\nswappiness = 20'
on apply
exits 0
value_is /proc/sys/vm/swappiness 20
on rollback
value_is /proc/sys/vm/swappiness 10
on apply
on rollback --all
exits 0
value_is /proc/sys/vm/swappiness 60

# An item that is missing: done, but not all of it.
policy $'[vm]\nswappiness = 11\ncompaction_proactiveness = 7'
on apply --json
exits 3
document 'd["verdict"] == "partly" and d["unsupported_count"] == 1'
on apply
exits 3
policy $'[Policy]\nEssential = vm.compaction_proactiveness\n[vm]\nswappiness = 12\ncompaction_proactiveness = 7'
on apply --json
exits 1
document 'd["verdict"] == "undone" and d["diagnostics"][0]["severity"] == "error"'
value_is /proc/sys/vm/swappiness 11

# Only one at a time.
exec 8<>"$ROOT/run/mmopt/lock"
flock 8
policy $'[vm]\nswappiness = 13'
for verb in apply rollback confirm; do
	on $verb
	exits 1
	err_has "another mmopt transaction is running"
	[ "$(wc -l <"$WORK/err")" = 1 ] || fail "$verb: not one line"
done
exec 8<&-
on confirm
exits 1
err_is "mmoptctl: nothing waits for a confirmation"

# By the name of a sysctl, a path, an id; what others set.
mkdir -p "$ROOT/etc/sysctl.d"
echo 'vm.swappiness = 5' >"$ROOT/etc/sysctl.d/99-other.conf"
for name in vm.swappiness /proc/sys/vm/swappiness; do
	on explain $name --json
	exits 0
	document 'd["id"] == "vm.swappiness" and d["wanted"] == "13" and d["settings"][0]["wins"] is True'
	document 'any("99-other.conf" in w["text"] for w in d["writers"])'
done
file /proc/sys/kernel/some_key 7
on explain kernel.some_key --json
exits 0
document 'd["id"] == "sysctl.kernel.some_key" and d["current"] == "7"'
on explain 'hugetlb.*.pages' --json
exits 0
document 'd["scope"] == "runtime"'
for verb in facts list savings 'savings --what-if'; do
	# shellcheck disable=SC2086 # words on purpose
	on $verb --json
	exits 0
	document
	# shellcheck disable=SC2086
	on $verb
	exits 0
done

# A record that cannot be understood: nothing is written over it, and it is said where to look.
printf 'mmopt-undo 1\tx\tapply\t1\ngarbage\n' >"$ROOT/run/mmopt/transactions/0999"
for verb in apply rollback; do
	on $verb
	exits 1
	err_has "a record in /run/mmopt/transactions is damaged"
	[ "$(wc -l <"$WORK/err")" = 1 ] || fail "$verb: not one line"
done

# Below a root nothing happens to this machine: that is said once, and no saving is claimed.
rm -rf "$ROOT"
cp -R "$MMOPT_SOURCE/tests/sysroots/debian-6.1-x86_64" "$ROOT"
chmod -R u+w "$ROOT"
rm -rf "$ROOT/run/mmopt" "$ROOT"/etc/mmopt/policy.d/*
policy $'[vm]\nmin_free_kbytes = 20000'
on savings --json
document 'd["total_saved_bytes"] is not None'
for verb in apply rollback; do
	on $verb
	exits 0
	[ "$(grep -cF "below $ROOT only: nothing on this machine was changed" "$WORK/out")" = 1 ] || {
		show
		fail "$verb: not said once"
	}
	! grep -qF "Memory saved" "$WORK/out" || fail "$verb: a saving of files"
done
on apply --json
exits 0
document 'd["applied_count"] > 0 and d["saved_before_bytes"] is None and d["saved_after_bytes"] is None'
document '[x["severity"] for x in d["diagnostics"] if "nothing on this machine" in x["text"]] == ["notice"]'
