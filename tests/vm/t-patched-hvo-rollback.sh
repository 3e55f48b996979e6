#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# vm: named kernel=6.12-debug,6.12-plain-debug bare mem=6G timeout=600 files=hvo-lib.sh taint=512 trouble="WARNING: CPU|Call Trace"
# An optimisation that fails in the middle of a page of 1 GiB, for want of a page table, is rolled back. With the series the
# kernel has nothing to say of it; without it, DEBUG_VM finds the struct page of the head being restored as one of a tail, and a
# page is lost.
. guest/test-lib.sh
. ./hvo-lib.sh

gib=1048576
tracing=/sys/kernel/debug/tracing
inject=/sys/kernel/debug/fail_page_alloc
warned=512
nr=$(pool nr_hugepages $gib)

# Every third allocation of who asks for it fails. The page tables are allocated twice: for all PMDs, up to the first that fails,
# and for those that are left while their entries are changed; in between the page for the head. So the second third is in
# the middle of the page.
printf 'Y' >$inject/task-filter
printf 'N' >$inject/ignore-gfp-wait
echo 0 >$inject/min-order
echo 0 >$inject/verbose
echo 3 >$inject/interval
echo -1 >$inject/times
echo vmemmap_restore_pte >$tracing/set_ftrace_filter
echo function >$tracing/current_tracer

echo 1 >$switch
memmap=$(memmap)
echo 100 >$inject/probability
# Nothing is forked in there.
(echo 1 >/proc/self/make-it-fail && echo 1 >"$nr")
echo 0 >$inject/probability
restored=$(grep -c vmemmap_restore_pte $tracing/trace || :)
figure "$restored entries restored, taint $(taint)"
expect_size "with failures" 1 $gib
expect_between "entries restored" "$restored" 512 4096
if [[ $(uname -r) == *-plain* ]]; then
	expect_eq "taint" "$(taint)" $warned
	# The copy of the head page.
	expect_eq "pages of struct pages lost" $(($(memmap) - memmap)) 1
	exit
fi

expect_saved "not optimised" "$memmap" 0
expect_optimized "with failures" 0 $gib
resize 0 $gib
resize 1 $gib
expect_optimized "without failures" 1 $gib
resize 0 $gib
expect_saved "in the end" "$memmap" 0
expect_eq "bad page reports" "$(bad_page_reports)" 0
expect_eq "taint" "$(taint)" 0
