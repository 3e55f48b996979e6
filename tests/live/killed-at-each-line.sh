#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Killed with SIGKILL after each line of the undo record in turn, on the real kernel: the next start ends in the start state.
. "$(dirname "$0")/lib.sh"

hvo=/proc/sys/vm/hugetlb_optimize_vmemmap
had=$(cat /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages 2>/dev/null || echo none)
{
	printf '[vm]\nswappiness = %d\n' $(($(cat /proc/sys/vm/swappiness) + 1))
	printf 'dirty_background_bytes = 64M\nstat_interval = %d\n' $(($(cat /proc/sys/vm/stat_interval) + 1))
	if [ -e "$hvo" ] && [ "$(cat "$hvo")" = 0 ]; then
		printf 'hugetlb_optimize_vmemmap = on\n'
	fi
	[ "$had" = none ] || printf '[hugetlb]\n2M.pages = %d\n' $((had + 16))
} >"$WORK/policy.conf"
printf '[vm]\nswappiness = keep\n' >"$WORK/nothing.conf"

snapshot >"$WORK/before"
last_record() {
	find /run/mmopt/transactions -type f -printf '%f\n' 2>/dev/null | sed 's/\.undone$//' | sort -n | tail -n 1
}
# One run, killed when its write number $1 to the undo record has returned: the line is there, nothing after it has happened.
run_killed() {
	local number

	number=$(last_record)
	number=$(printf '%04d' $((10#${number:-0} + 1)))
	strace -qq -o /dev/null -P "/run/mmopt/transactions/$number" -e trace=write \
		-e inject=write:signal=KILL:when="$1" "$MMOPTCTL" --policy "$WORK/policy.conf" apply 9>&-
}

for ((line = 1; ; line++)); do
	status=0
	run_killed "$line" >"$WORK/run" 2>&1 || status=$?
	if [ "$status" != 137 ]; then
		[ "$status" = 0 ] || fail "line $line: apply: exit $status: $(cat "$WORK/run")"
		break
	fi
	ended=$(grep -c '^end' "/run/mmopt/transactions/$(last_record)" || true)
	mmopt --policy "$WORK/nothing.conf" apply >"$WORK/next" 2>&1 || fail "line $line: next start: $(cat "$WORK/next")"
	snapshot >"$WORK/after"
	if [ "$ended" = 1 ]; then
		# The last line commits: from there on the values stay.
		! cmp -s "$WORK/before" "$WORK/after" || fail "line $line: committed, but nothing is applied"
		mmopt rollback >/dev/null || fail "line $line: rollback"
		snapshot >"$WORK/after"
		committed=$line
	fi
	diff -u "$WORK/before" "$WORK/after" || fail "line $line: not the start state"
	[ "$line" -lt 100 ] || fail "the record does not end"
done
# A header, two lines an item (before, after), and the other form of a linked pair.
items=$(grep -c ' = ' "$WORK/policy.conf")
[ "${committed:-0}" -gt $((2 * items + 1)) ] || fail "only ${committed:-0} lines for $items items: the signal did not come after each"
echo "killed after each of $((committed - 1)) lines of the undo record: the next start came back to the start state each time"
