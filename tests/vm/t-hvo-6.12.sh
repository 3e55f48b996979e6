#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# vm: kernel=6.12 taint=32 trouble="BUG: Bad page (state|map)|Call Trace"
# HVO on a kernel with the defect: freeing an optimised huge page corrupts the struct pages that come back (field: 6.12.114 to
# 6.12.117). The policy leaves it off and says why; where the command line has turned it on, pools neither grow nor shrink.
# The kernel stays sound through all of that. At the end one page is freed past mmopt, which must break the kernel: or else
# nothing before would have been proven.
. guest/test-lib.sh

switch=/proc/sys/vm/hugetlb_optimize_vmemmap
pool=/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages
bad_page=32

printf '[vm]\nhugetlb_optimize_vmemmap = auto\n[hugetlb]\n2M.pages = 64\n' >auto.conf
printf '[vm]\nhugetlb_optimize_vmemmap = on\n' >on.conf
printf '[hugetlb]\nshrink = yes\n2M.pages = 0\n' >shrink.conf
printf '[hugetlb]\n2M.pages = 64\n' >grow.conf

memmap() {
	echo $(($(vmstat nr_memmap_pages) + $(vmstat nr_memmap_boot_pages)))
}

# step FILE ID FIELD
step() {
	json "$1" ".steps[] | select(.id == \"$2\") | .$3"
}

# expect_unsafe FILE ID: not done, with the reason and what to do about it.
expect_unsafe() {
	expect_eq "$2: outcome" "$(step "$1" "$2" outcome)" unsafe
	expect_match "$2: reason" "$(step "$1" "$2" reason)" "$3"
	expect_match "$2: remedy" "$(step "$1" "$2" reason)" "boot a kernel without the defect"
}

left_off() {
	local memmap_before

	memmap_before=$(memmap)
	expect_ne "nr_memmap counters" "$memmap_before" 0
	expect "apply with auto" mmoptctl --policy auto.conf --json=short apply
	echo "$output" >"$OUT/auto.json"
	expect_unsafe "$OUT/auto.json" vm.hugetlb_optimize_vmemmap "corrupts memory on this kernel"
	expect_eq "switch" "$(cat "$switch")" 0
	expect_eq "pool" "$(cat "$pool")" 64
	expect_eq "struct pages saved" $((memmap_before - $(memmap))) 0
	mmoptctl --json=short savings >"$OUT/savings.json"
	expect_eq "saving" "$(json "$OUT/savings.json" '.savings[] | select(.mechanism == "hvo") | "\(.saved_bytes) \(.method)"')" \
		"0 measured"

	# Nor by order.
	expect_status "apply with on" 3 mmoptctl --policy on.conf --json=short apply
	echo "$output" >"$OUT/on.json"
	expect_unsafe "$OUT/on.json" vm.hugetlb_optimize_vmemmap "corrupts memory on this kernel"
	expect_eq "switch" "$(cat "$switch")" 0

	# With HVO off there is nothing wrong with giving pages back.
	expect "shrink with HVO off" mmoptctl --policy shrink.conf apply
	expect_eq "pool after shrinking" "$(cat "$pool")" 0
	expect_eq "taint" "$(taint)" 0
}

refused_where_on() {
	expect_eq "switch" "$(cat "$switch")" 1
	expect_eq "pool of the boot" "$(cat "$pool")" 8
	expect_status "shrink" 3 mmoptctl --policy shrink.conf --json=short apply
	echo "$output" >"$OUT/shrink.json"
	expect_unsafe "$OUT/shrink.json" hugetlb.2M.pages "corrupts memory on this kernel"
	expect_status "grow" 3 mmoptctl --policy grow.conf --json=short apply
	echo "$output" >"$OUT/grow.json"
	expect_unsafe "$OUT/grow.json" hugetlb.2M.pages "could never be given back"
	expect_eq "pool" "$(cat "$pool")" 8
	expect_eq "taint" "$(taint)" 0
}

case $VMRUN_BOOT in
1)
	left_off
	vm-host reboot hugetlb_free_vmemmap=on hugepages=8
	;;
2)
	refused_where_on
	echo 7 >"$pool"
	expect_eq "taint after one optimised page was freed" "$(taint)" "$bad_page"
	;;
*) fail "boot $VMRUN_BOOT" ;;
esac
