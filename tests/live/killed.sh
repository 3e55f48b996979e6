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

mmopt rollback --all >/dev/null 2>&1 || true
snapshot >"$WORK/before"
rounds=0
while :; do
	rounds=$((rounds + 1))
	# The process sees the signal when the write(2) has returned: the line is in the record, nothing after it has happened.
	number=$(printf '%04d' $(($(find /run/mmopt/transactions -type f -printf '%f\n' 2>/dev/null | sort | tail -n 1 | sed 's/^0*//') + 1)))
	status=0
	strace -qq -o /dev/null -P "/run/mmopt/transactions/$number" -e trace=write \
		-e inject=write:signal=KILL:when="$rounds" "$MMOPTCTL" --policy "$WORK/policy.conf" apply \
		>/dev/null 2>&1 9>&- || status=$?
	if [ "$status" != 137 ]; then
		[ "$status" = 0 ] || fail "round $rounds: apply: exit $status"
		break
	fi
	mmopt --policy "$WORK/nothing.conf" apply >"$WORK/next" 2>&1 || fail "round $rounds: next start: $(cat "$WORK/next")"
	snapshot >"$WORK/after"
	diff -u "$WORK/before" "$WORK/after" || fail "round $rounds: not the start state"
	[ "$rounds" -lt 100 ] || fail "the record does not end"
done
# Two lines an item (before, after), the header, and the other form of a linked pair.
items=$(grep -c ' = ' "$WORK/policy.conf")
[ "$rounds" -gt $((2 * items)) ] || fail "only $rounds rounds for $items items: the signal did not come after each line"
echo "killed after each of $((rounds - 1)) lines of the undo record: the start state came back each time"
