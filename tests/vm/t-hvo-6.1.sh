#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# vm: kernel=6.1
# HVO on a kernel without the defect: the policy turns it on, 64 huge pages save what mmoptctl says, and pools grow and shrink
# without harm. This kernel has no counters for struct pages. Those of its boot are outside MemTotal, so that MemTotal grows by
# what the first optimisation of a page frees: 28 KiB, seven of the eight pages that describe it.
. guest/test-lib.sh

switch=/proc/sys/vm/hugetlb_optimize_vmemmap
pool=/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages
freed_kib=$((64 * 28))

printf '[vm]\nhugetlb_optimize_vmemmap = auto\n[hugetlb]\n2M.pages = 64\n' >grow.conf
printf '[hugetlb]\nshrink = yes\n2M.pages = 0\n' >shrink.conf

expect_eq "switch at the start" "$(cat "$switch")" 0
expect_eq "pool at the start" "$(cat "$pool")" 0
total=$(meminfo MemTotal)

expect "apply" mmoptctl --policy grow.conf --json=short apply
expect_eq "outcomes" "$(json <(echo "$output") '[.steps[] | .id + " " + .outcome] | join(", ")')" \
	"vm.hugetlb_optimize_vmemmap applied, hugetlb.2M.pages applied"
expect_eq "switch" "$(cat "$switch")" 1
expect_eq "pool" "$(cat "$pool")" 64
expect_eq "growth of MemTotal in KiB" $(($(meminfo MemTotal) - total)) "$freed_kib"

mmoptctl --json=short savings >"$OUT/savings.json"
hvo='.savings[] | select(.mechanism == "hvo")'
expect_eq "saved bytes" "$(json "$OUT/savings.json" "$hvo | .saved_bytes")" $((freed_kib * 1024))
expect_eq "in the total" "$(json "$OUT/savings.json" .total_saved_bytes)" $((freed_kib * 1024))
# Without counters it is reckoned from the pool, and that is what it says.
expect_eq "method" "$(json "$OUT/savings.json" "$hvo | .method")" computed
expect_match "remark" "$(json "$OUT/savings.json" "$hvo | .reason")" "upper bound"

# Pages go and come again, and each was optimised when it went.
for _ in 1 2; do
	expect "shrink" mmoptctl --policy shrink.conf apply
	expect_eq "pool after shrinking" "$(cat "$pool")" 0
	expect_eq "huge page memory after shrinking" "$(meminfo Hugetlb)" 0
	expect_eq "taint after shrinking" "$(taint)" 0
	expect "grow again" mmoptctl --policy grow.conf apply
	expect_eq "pool after growing again" "$(cat "$pool")" 64
done
expect "rollback" mmoptctl rollback --all
expect_eq "pool after rollback" "$(cat "$pool")" 0
expect_eq "switch after rollback" "$(cat "$switch")" 0
expect_eq "taint" "$(taint)" 0
