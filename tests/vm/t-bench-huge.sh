#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# vm: named kernel=6.1,6.12,6.1-patched,6.12-patched mem=640M bare built=tests/bench/huge-pool,tests/bench/zero-read timeout=600
# The benchmarks of huge page pools and of the huge zero page: figures, and what must hold.  A page saves seven pages to the byte;
# the kernel with the HVO defect is refused; the huge zero page is made again for each process, unless the kernel keeps it.
. guest/test-lib.sh

hugetlb=/sys/kernel/mm/hugepages/hugepages-2048kB
counter=$hugetlb/vmemmap_optimized_hugepages

settings() {
	grep -H . /proc/sys/vm/hugetlb_optimize_vmemmap "$hugetlb"/nr_hugepages "$hugetlb"/nr_overcommit_hugepages
}

show() {
	while read -r line; do
		[ -z "$line" ] || figure "$line"
	done <<<"$1"
}

# medians NAME: of both sides, from the table $table.
medians() {
	awk -v name="$1" '$1 == name { print $2, $4 }' <<<"$table"
}

pool() {
	local before

	before=$(settings)
	if [ "$(uname -r | cut -d . -f 2)" -eq 12 ] && [ ! -e "$counter" ]; then
		expect_status "the kernel with the defect" 77 ./huge-pool --pages 64
		expect_match "the reason" "$output" 'hvo.defect is restore'
		expect_eq "settings" "$(settings)" "$before"
		return
	fi
	expect "huge-pool" ./huge-pool --pages 64 --on-the-fly 16 --rounds 3
	table=$output
	show "$table"
	expect_eq "settings after it" "$(settings)" "$before"
	expect_match "time of a page" "$(medians build-usec-per-page)" '^[0-9.]+ [0-9.]+$'
	[ "$(vmstat nr_memmap_boot_pages)" -eq 0 ] || expect_eq "saved bytes" "$(medians saved-bytes-per-page)" "0.000 28672"
	[ ! -e "$counter" ] || expect_eq "pages counted" "$(medians optimised-pages)" "0.000 64.0"
}

# Debian's kernels, which have no such file, do not.
keeps_zero_page() {
	[ -e /proc/config.gz ] && zgrep -q '^CONFIG_PERSISTENT_HUGE_ZERO_FOLIO=y' /proc/config.gz
}

zero() {
	local lives=10

	expect "zero-read" ./zero-read --rounds 3 --msec 200 --lives "$lives"
	table=$output
	show "$table"
	# Held, it is made once for the holder, before the count begins.
	if keeps_zero_page; then
		expect_eq "pages made" "$(medians made-per-round)" "0.000 0.000"
	else
		expect_eq "pages made" "$(medians made-per-round)" "$lives.0 0.000"
	fi
}

pool
zero
expect_eq "taint" "$(taint)" 0
