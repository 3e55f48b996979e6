# SPDX-License-Identifier: LGPL-2.1-or-later
# For the tests that run in a virtual machine. The first check that fails ends the test, with file, line and what was seen.
# shellcheck shell=bash
set -euo pipefail

# place: FILE:LINE of the test, wherever in this library we are.
place() {
	local i

	for ((i = 1; i < ${#BASH_SOURCE[@]}; i++)); do
		if [ "${BASH_SOURCE[i]}" != "${BASH_SOURCE[0]}" ]; then
			printf '%s:%s' "${VMRUN_NAME:-${BASH_SOURCE[i]##*/}}" "${BASH_LINENO[i - 1]}"
			return
		fi
	done
}

# fail MESSAGE
fail() {
	trap - ERR
	printf 'FAIL: %s: %s\n' "$(place)" "$*" >&2
	exit 1
}

# A command that fails outside any check ends the test too, and says where.
set -o errtrace
trap 'fail "exit status $?: $BASH_COMMAND"' ERR

# expect_eq WHAT SEEN EXPECTED
expect_eq() {
	[ "$2" = "$3" ] || fail "$1: seen \"$2\", expected \"$3\""
}

# expect_ne WHAT SEEN UNWANTED
expect_ne() {
	[ "$2" != "$3" ] || fail "$1: seen \"$2\", which it must not be"
}

# expect_match WHAT SEEN EXTENDED-REGEX
expect_match() {
	[[ $2 =~ $3 ]] || fail "$1: seen \"$2\", expected a match of \"$3\""
}

# expect_between WHAT NUMBER LEAST MOST
expect_between() {
	((10#$2 >= $3 && 10#$2 <= $4)) || fail "$1: seen $2, expected $3 to $4"
}

# expect WHAT COMMAND...: the command succeeds. Its output is shown only where it does not.
expect() {
	expect_status "$1" 0 "${@:2}"
}

# expect_status WHAT EXIT-STATUS COMMAND...: what it wrote, both streams, is in $output afterwards.
# shellcheck disable=SC2034  # output is for the tests
expect_status() {
	local what=$1 wanted=$2 status=0

	shift 2
	output=$("$@" 2>&1) || status=$?
	[ "$status" = "$wanted" ] || fail "$what: exit status $status, expected $wanted: $*"$'\n'"$output"
}

# figure TEXT: something measured, shown with the result of the test.
figure() {
	printf 'figure: %s\n' "$*"
}

# wait_for SECONDS WHAT COMMAND...: until the command succeeds, looked at five times a second.
wait_for() {
	local what=$2 end=$((SECONDS + $1))

	shift 2
	until "$@" >/dev/null 2>&1; do
		((SECONDS < end)) || fail "$what: not within the time: $*"
		sleep 0.2
	done
}

# json FILE JQ-FILTER: prints the result, strings without quotes.
json() {
	jq -r "$2" "$1" || fail "$1: jq cannot do $2"
}

# Counters of the kernel: vmstat NAME (0 where the kernel has it not), meminfo NAME in kB.
vmstat() {
	awk -v name="$1" '$1 == name { n = $2 } END { print n + 0 }' /proc/vmstat
}

meminfo() {
	awk -v name="$1:" '$1 == name { print $2 }' /proc/meminfo
}

taint() {
	cat /proc/sys/kernel/tainted
}
