#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Case 27: with --json exactly one document, whatever happens and whatever the locale; numbers and words do not change with it.
. "$(dirname "$0")/lib.sh"

# German has a decimal comma, Turkish another lower case of I. Debian does not install either: made here.
export LOCPATH=$WORK/locales
mkdir "$LOCPATH"
locales='C C.UTF-8'
for name in de_DE tr_TR; do
	localedef -i $name -f UTF-8 "$LOCPATH/$name.UTF-8" 2>/dev/null || skip "localedef cannot make $name (package locales)"
	locales+=" $name.UTF-8"
done

make_machine
policy $'[vm]\nswappiness = 10\nmin_free_kbytes = >= 1%\n[thp]\nenabled = MADVISE' # upper case is a mistake
name=$'99-\xff\xc3\xa4 odd.txt'                                              # no policy file: a notice, with a name that is no UTF-8
: >"$ROOT/etc/mmopt/policy.d/$name"

# everything LOCALE
everything() {
	local verb
	for verb in status facts plan verify savings list history check 'boot status' 'export --format=ansible' 'explain vm.swappiness' 'apply --dry-run' nosuch; do
		# shellcheck disable=SC2086 # words on purpose
		LC_ALL=$1 on $verb --json
		# The others are held against these, byte by byte.
		[ "$1" != C ] || document
		cat "$WORK/out"
	done
}
case_27() {
	local first='' text
	for locale in $locales; do
		text=$(everything "$locale")
		if [ -z "$first" ]; then
			first=$text
		elif [ "$text" != "$first" ]; then
			diff <(printf '%s\n' "$first") <(printf '%s\n' "$text") >&2 || true
			fail "$locale changes the documents"
		fi
	done
}
case_27
on check --json
document 'any("\ufffd" in (x["file"] or "") + x["text"] for x in d["diagnostics"])'

# Without the mistakes: an unreadable file and a warning, and a document that is whole.
policy $'[vm]\nswappiness = 10\nswappiness = 20\n[thp]\nenabled = madvise'
case_27
on plan --json
exits 2
document 'd["view"] == "plan" and any(x["severity"] == "warning" for x in d["diagnostics"])'
[ -s "$WORK/err" ] || fail "the warning is not on standard error"
if [ "$(id -u)" = 0 ]; then
	chmod 000 "$ROOT/proc/sys/vm/stat_interval"
	chmod 755 "$ROOT" && chmod -R o+rX "$ROOT/etc"
	policy $'[vm]\nswappiness = 10\nstat_interval = 20'
	for locale in $locales; do
		LC_ALL=$locale as "verify of an unreadable file" setpriv --reuid=65534 --regid=65534 --clear-groups \
			"$MMOPTCTL" --root="$ROOT" verify --json
		exits 2
		document '{s["id"]: s["current"] for s in d["steps"]}["vm.stat_interval"] is None'
	done
fi

# Upper and lower case of I: apply, in Turkish.
make_machine
policy $'[vm]\nswappiness = 10\nstat_interval = 20'
for locale in $locales; do
	LC_ALL=$locale on apply --json
	exits 0
	document 'd["verdict"] == "done"'
	LC_ALL=$locale on rollback
	exits 0
done
