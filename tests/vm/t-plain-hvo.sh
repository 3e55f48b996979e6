#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# vm: kernel=6.12 bare selftests mem=1G timeout=600 files=hvo-lib.sh
# vm: taint=32 trouble="BUG: Bad page (state|map)|Call Trace"
# What the series repairs is broken without it, or the tests of the patched kernels would prove nothing: the kernel's own test
# hugetlb_vmemmap_free (of the series) fails, and the memory of freed pages is lost. t-plain-hvo-oom.sh has the other fault.
. guest/test-lib.sh
. ./hvo-lib.sh

expect_eq "taint at the start" "$(taint)" 0

expect_status "hugetlb_vmemmap_free" 1 ./selftests/hugetlb_vmemmap_free
printf '%s\n' "$output"
expect_match "hugetlb_vmemmap_free" "$output" "not ok [0-9]+ the kernel is not tainted"
expect_match "hugetlb_vmemmap_free" "$output" "not ok [0-9]+ the memory is back"
expect_eq "taint" "$(taint)" $bad_page
figure "bad page reports: $(bad_page_reports)"
expect_between "bad page reports" "$(bad_page_reports)" 1 100000

before=$(free_kb)
echo 1 >$switch
resize 16
resize 0
lost=$((before - $(free_kb)))
figure "16 pages allocated and freed: $lost kB lost"
expect_between "memory lost, kB" $lost $((15 * 2048)) $((17 * 2048))
