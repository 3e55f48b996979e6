#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# vm: kernel=6.1-patched,6.12-patched bare mem=4G timeout=600 files=hvo-lib.sh
# vm: append="hugetlb_free_vmemmap=on hugepagesz=1G hugepages=1 hugepagesz=2M hugepages=32"
# Pages of 1 GiB and pages of the boot: counted where they are optimised, demoted from one size to the other, freed.
. guest/test-lib.sh
. ./hvo-lib.sh

gib=1048576
# 2^18 struct pages of 64 bytes are 4096 pages; one of them stays.
saved_gib_pages=4095

# expect_pools WHAT PAGES_1G OPTIMIZED_1G PAGES_2M OPTIMIZED_2M
expect_pools() {
	expect_size "$1" "$2" $gib
	expect_optimized "$1" "$3" $gib
	expect_size "$1" "$4"
	expect_optimized "$1" "$5"
	[ -z "${memmap:-}" ] || expect_saved "$1" "$memmap" $(($3 * saved_gib_pages + $5 * saved_pages))
}

# grow_gib: a page of 1 GiB, for which the kernel has to find a whole free GiB.
grow_gib() {
	for _ in 1 2 3 4 5; do
		resize 1 $gib
		[ "$(size $gib)" = 0 ] || break
		echo 3 >/proc/sys/vm/drop_caches
		echo 1 >/proc/sys/vm/compact_memory
	done
}

memmap=
expect_pools "at boot" 1 1 32 32
# With everything given back there is a base to count from.
resize 0 $gib
resize 0
[ "$(memmap)" = 0 ] || memmap=$(memmap)
expect_pools "boot pages freed" 0 0 0 0

grow_gib
expect_pools "allocated at run time" 1 1 0 0
echo 1 >"$(pool demote $gib)"
expect_pools "demoted" 0 0 512 512
resize 100
expect_pools "demoted ones freed" 0 0 100 100
resize 0

echo 0 >$switch
grow_gib
expect_pools "not optimised" 1 0 0 0
echo 1 >$switch
echo 1 >"$(pool demote $gib)"
expect_pools "demoted with HVO on" 0 0 512 512
resize 0

grow_gib
echo 0 >$switch
echo 1 >"$(pool demote $gib)"
expect_pools "demoted with HVO off" 0 0 512 0
resize 0
expect_pools "all freed" 0 0 0 0
expect_eq "taint" "$(taint)" 0
expect_eq "bad page reports" "$(bad_page_reports)" 0
