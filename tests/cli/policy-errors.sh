#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A policy that cannot be taken: every mistake is told once, nothing is applied.
. "$(dirname "$0")/lib.sh"

make_machine
run plan --policy "$WORK/none.conf"
exits 1
err_is "mmoptctl: $WORK/none.conf: cannot open this policy file: No such file or directory"
out_is_empty
run plan --json --policy "$WORK/none.conf"
exits 1
document 'd["view"] == "error" and d["verb"] == "plan" and len(d["diagnostics"]) == 1'

policy $'[vm]\nswapiness = 10\nswappiness = 010\nstat_interval = 5\n[nosuch]\nx = 1'
for verb in apply plan verify status; do
	on $verb
	exits 1
	out_is_empty
	[ "$(grep -c "50-test.conf:" "$WORK/err")" = 3 ] || {
		show
		fail "$verb: three mistakes, each told once"
	}
	# What writes says that it did not.
	case $verb in
	apply)
		[ "$(tail -n 1 "$WORK/err")" = "mmoptctl: nothing was changed: 3 mistakes in the policy" ] || {
			show
			fail "apply does not end with what became of it"
		}
		n=4
		;;
	*) n=3 ;;
	esac
	[ "$(wc -l <"$WORK/err")" = $n ] || {
		show
		fail "$verb: more than the mistakes"
	}
	err_has "50-test.conf:2: "
	err_has "50-test.conf:3: "
	err_has "50-test.conf:5: "
	on $verb --json
	exits 1
	document 'd["view"] == "error" and sorted(x["line"] for x in d["diagnostics"] if x["file"]) == [2, 3, 5]'
	document "len(d['diagnostics']) == $n"
done
value_is /proc/sys/vm/stat_interval 1

# explain tells what it can all the same.
on explain vm.stat_interval --json
exits 1
document 'd["view"] == "explain" and [s["line"] for s in d["settings"]] == [4] and d["current"] == "1"'

f=$ROOT/etc/mmopt/policy.d/50-test.conf
run check "$f" "$WORK/none.conf"
exits 1
[ "$(wc -l <"$WORK/err")" = 4 ] || {
	show
	fail "check tells the mistakes of both files"
}
run check --json "$f"
exits 1
document 'd["view"] == "check" and d["verdict"] == "errors" and len(d["files"]) == 1'
on check
exits 1
policy $'[vm]\nswappiness = 10'
run check "$f"
exits 0
out_has "no mistakes"
head -c 2000000 /dev/zero >"$WORK/large.conf"
run check "$f" "$WORK/large.conf"
exits 1
out_has "1 mistake, 0 warnings: a policy with mistakes is not applied"
run check --json "$WORK/large.conf"
exits 1
document 'd["files"][0]["state"] == "not-read"'
on check --json
exits 0
document 'd["verdict"] == "ok" and d["files"][0]["settings_count"] == 1'

# Nothing asked for is no mistake, but why is told.
policy $'[Match]\nMemoryTotal = >=1024T\n[vm]\nswappiness = 10'
for verb in plan apply verify status; do
	on $verb
	exits 0
	out_has "nothing is asked for here"
	err_has "50-test.conf: does not count here: MemoryTotal = >=1024T: this is not known here"
done
on explain vm.swappiness
exits 0
[ ! -s "$WORK/err" ] || fail "explain asks for nothing and has nothing to tell"
: >"$f"
on plan
exits 0
err_is "mmoptctl: notice: /etc/mmopt/policy.d/50-test.conf: is empty, or a link to /dev/null"
rm "$f"
on plan
exits 0
err_has "there is no policy file (*.conf) in /etc/mmopt/policy.d, "
on check
exits 0
out_has "there is no policy file to look at"
policy $'[vm]\nswappiness = 10'

# Unreadable, which root never sees.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	chmod 600 "$f"
	for verb in plan check; do
		as "$verb of an unreadable file" setpriv --reuid=65534 --regid=65534 --clear-groups "$MMOPTCTL" $verb --policy "$f"
		exits 1
		err_has "Permission denied"
		[ "$(wc -l <"$WORK/err")" = 1 ] || fail "$verb: not one line"
	done
fi
