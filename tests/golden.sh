#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# usage: golden.sh MACHINE                 what every reading verb says about a captured machine, against what is expected
#        golden.sh --update [MACHINE...]   write what it says now as what is expected
#
# MMOPTCTL names the program, else the newest build*/cli/mmoptctl is taken.  MMOPT_SCHEMAS: the directory of the JSON schemas.
# Text goes into golden/NAME.txt below the machine, with messages and exit status; JSON, the document alone, into golden/NAME.json.
# The verbs run on a copy of the machine, so that the test sees whether one of them writes to it.
set -u
export LC_ALL=C.UTF-8
tests=$(dirname "$(realpath "$0")")
top=$(dirname "$tests")
schemas=${MMOPT_SCHEMAS:-$top/cli/schemas}
mmoptctl=${MMOPTCTL:-}
if [ -z "$mmoptctl" ]; then
	for f in "$top"/build*/cli/mmoptctl; do
		if [ -x "$f" ] && { [ -z "$mmoptctl" ] || [ "$f" -nt "$mmoptctl" ]; }; then
			mmoptctl=$f
		fi
	done
fi
if [ ! -x "$mmoptctl" ]; then
	echo "golden.sh: no mmoptctl: build it, or name it in MMOPTCTL" >&2
	exit 1
fi
mmoptctl=$(realpath "$mmoptctl")

# name of the golden file, arguments
verbs='
status status
facts facts
plan plan
verify verify
savings savings
savings-what-if savings --what-if
list list
explain-vm.swappiness explain vm.swappiness
explain-hugetlb.2M.pages explain hugetlb.2M.pages
history history
boot-status boot status
'

work=$(mktemp -d)
# shellcheck disable=SC2317 # called by the trap
clean() { rm -rf "$work"; }
trap clean EXIT

n=0
failed=0
# ok NAME: true where the last command was; its findings are in $work/findings
tap() {
	n=$((n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $n - $2"
	else
		failed=$((failed + 1))
		sed 's/^/# /' "$work/findings"
		echo "not ok $n - $2"
	fi
}

# run ARGUMENT...: what a user on a plain terminal-less shell would get
run() {
	env -i LC_ALL=C PATH=/usr/bin:/bin "$mmoptctl" --root="$work/root" "$@" >"$work/stdout" 2>"$work/stderr"
	status=$?
}

text_of() {
	printf '$ mmoptctl %s\n' "$*"
	cat "$work/stdout"
	if [ -s "$work/stderr" ]; then
		echo '--- messages'
		cat "$work/stderr"
	fi
	echo "--- exit status $status"
}

# The list of tunables does not depend on the machine: one copy for all, and every machine has to give the same.
place() {
	case $2 in
	list) echo "$tests/golden/list" ;;
	*) echo "$tests/sysroots/$1/golden/$2" ;;
	esac
}

copy_machine() {
	rm -rf "$work/root" "$work/before"
	mkdir "$work/root" || exit 1
	(cd "$tests/sysroots/$1" && find . -mindepth 1 -maxdepth 1 ! -name golden -exec cp -R {} "$work/root/" \;)
	cp -R "$work/root" "$work/before"
}

update() {
	local name arguments
	copy_machine "$1"
	mkdir -p "$tests/sysroots/$1/golden" "$tests/golden"
	while read -r name arguments; do
		[ -n "$name" ] || continue
		# shellcheck disable=SC2086 # words
		run $arguments
		text_of "$arguments" >"$(place "$1" "$name").txt"
		# shellcheck disable=SC2086
		run --json=pretty $arguments
		cp "$work/stdout" "$(place "$1" "$name").json"
	done <<<"$verbs"
}

# compare EXPECTED GOT
compare() {
	diff -u --label expected --label got "$1" "$2" >"$work/findings" 2>&1
}

# The schema shipped for this view holds for the document.
valid() {
	/usr/bin/python3 - "$1" "$schemas" >"$work/findings" 2>&1 <<'PY'
import json, os, sys
document = json.load(open(sys.argv[1], encoding='utf-8'))
name = os.path.join(sys.argv[2], str(document.get('view')) + '.schema.json')
if not os.path.exists(name):
    sys.exit(f'there is no {name} for this document')
import jsonschema
schema = json.load(open(name, encoding='utf-8'))
validator = jsonschema.validators.validator_for(schema)
validator.check_schema(schema)
errors = list(validator(schema).iter_errors(document))
for e in errors:
    print('/'.join(map(str, e.absolute_path)) + ': ' + e.message)
sys.exit(1 if errors else 0)
PY
}

check() {
	local name arguments text_status place
	copy_machine "$1"
	while read -r name arguments; do
		[ -n "$name" ] || continue
		place=$(place "$1" "$name")
		# shellcheck disable=SC2086
		run $arguments
		text_of "$arguments" >"$work/got"
		text_status=$status
		compare "$place.txt" "$work/got"
		tap $? "$name: text"
		# shellcheck disable=SC2086
		run --json=pretty $arguments
		compare "$place.json" "$work/stdout"
		tap $? "$name: JSON"
		valid "$work/stdout"
		tap $? "$name: the JSON is valid"
		echo "exit status $status with --json, $text_status without" >"$work/findings"
		[ "$status" = "$text_status" ]
		tap $? "$name: the same exit status with --json"
		grep -lF "$work" "$work/got" "$work/stdout" >"$work/findings"
		[ $? = 1 ]
		tap $? "$name: paths are those of the machine looked at"
	done <<<"$verbs"
	diff -r --no-dereference "$work/before" "$work/root" >"$work/findings" 2>&1
	tap $? "nothing was written to the machine"
	facts_of "$1"
	if [ "$1" = made-2node-64k ]; then
		"$tests/sysroots/make-2node-64k" "$work/made" >"$work/findings" 2>&1 &&
			diff -r --no-dereference -x policy.d -x golden -x .gitkeep "$work/made" "$tests/sysroots/$1" >"$work/findings" 2>&1
		tap $? "the made machine is what its maker makes"
	fi
	echo "1..$n"
	[ $failed = 0 ]
}

# says ARGUMENT ID TEXT...: the line of ID in what a verb says has every text
says() {
	local line text
	run "$1"
	line=$(grep -F -e "$2 " "$work/stdout")
	printf 'got: %s\n' "$line" >"$work/findings"
	for text in "${@:3}"; do
		case $line in
		*"$text"*) ;;
		*) return 1 ;;
		esac
	done
}

# What has to hold whatever the golden files say: --update must not make it go away.
facts_of() {
	case $1 in
	made-2node-64k)
		says plan hugetlb.1G.pages unsupported '1G: this kernel offers 2M 512M 16G'
		tap $? 'case_03_page_size_that_cannot_exist'
		;;
	debian-6.12-x86_64)
		says plan vm.hugetlb_optimize_vmemmap unsafe 'corrupts memory on this kernel'
		tap $? 'HVO is refused on a kernel that cannot take it back'
		says facts hvo.defect restore
		tap $? 'and the defect is known'
		;;
	debian-6.12-patched)
		says facts hvo.defect none && says plan vm.hugetlb_optimize_vmemmap already 'frees optimised huge pages soundly' &&
			says plan thp.persistent_zero_page already 'CONFIG_PERSISTENT_HUGE_ZERO_FOLIO'
		tap $? 'a kernel with the series is told by what it has'
		says plan hugetlb.2M.boot_pages pending-reboot 'has "hugepages=8", which comes first'
		tap $? 'case_22 what is on the command line already and counts is named'
		;;
	debian-6.1-x86_64)
		says verify vm.swappiness drifted '150 -> 60'
		tap $? 'what somebody else changed is told from what was never applied'
		;;
	debian-6.1-cortex-a72)
		says facts access_flag.set_by software
		tap $? 'the access flag of a cortex-a72 is set by software'
		;;
	debian-6.12-arm64)
		says facts access_flag.set_by hardware
		tap $? 'the access flag is set by hardware'
		says facts fault_around.ptes old
		tap $? 'and fault-around makes old ptes'
		;;
	esac
}

machines() { (cd "$tests/sysroots" && for d in */; do echo "${d%/}"; done); }

case ${1-} in
--update)
	shift
	[ $# -gt 0 ] || mapfile -t all < <(machines)
	for machine in "${@:-${all[@]}}"; do
		update "$machine"
	done
	;;
'' | -*)
	sed -n '3,9s/^# \{0,1\}//p' "$0" >&2
	exit 1
	;;
*)
	if [ ! -d "$tests/sysroots/$1/proc" ]; then
		echo "golden.sh: no captured machine $1" >&2
		exit 1
	fi
	check "$1"
	;;
esac
