#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# vm: kernel=6.1-patched,6.12-patched bare mem=1G timeout=900 files=hvo-lib.sh
# HVO on the patched kernels: pools grow and shrink, optimised, not optimised, mixed, free and in use, and all comes back: no
# taint, no bad page, struct pages and memory as before, vmemmap_optimized_hugepages exact at every step. Asked for ten times
# the memory, the kernel stops at what there is, without killing anybody.
. guest/test-lib.sh
. ./hvo-lib.sh

# 6.1 has never had the defect of 6.12.114.
case $(uname -r) in
6.1.*) rounds=15 ;;
*) rounds=50 ;;
esac
# What a shell that runs, the logs, and the page tables of the split vmemmap (one page for 64 huge pages) may take.
slack_kb=4096

# round PAGES PLAIN: a pool of PAGES optimised ones and PLAIN others, and back to nothing.
round() {
	local pages=$1 plain=$2 rest

	echo 1 >$switch
	resize "$pages"
	expect_size "grown" "$pages"
	expect_optimized "grown" "$pages"
	expect_saved "grown" "$memmap" $((pages * saved_pages))

	echo 0 >$switch
	resize $((pages + plain))
	expect_size "mixed" $((pages + plain))
	expect_optimized "mixed" "$pages"
	expect_saved "mixed" "$memmap" $((pages * saved_pages))

	# Which ones go first is the kernel's choice: both counters have to agree on what is left.
	resize $(((pages + plain) / 2))
	rest=$(optimized 2048)
	expect_between "optimised in half a pool" "$rest" $((pages > plain ? (pages - plain) / 2 : 0)) $(((pages + plain) / 2))
	expect_saved "half a pool" "$memmap" $((rest * saved_pages))

	resize 0
	expect_size "empty" 0
	expect_optimized "empty" 0
	expect_saved "empty" "$memmap" 0
	expect_eq "taint" "$(taint)" 0
}

random_rounds() {
	local before after i seed=$RANDOM

	round 64 0
	before=$(free_kb)
	RANDOM=$seed
	figure "seed $seed"
	for ((i = 0; i < rounds; i++)); do
		round $((RANDOM % 64 + 1)) $((RANDOM % 17))
	done
	after=$(free_kb)
	figure "free memory before $before kB, after $rounds rounds $after kB (slack $slack_kb kB)"
	expect_between "memory lost, kB" $((before > after ? before - after : 0)) 0 $slack_kb
}

# The pool forgets a page before its struct pages are restored.
all_given_back() {
	[ "$(size 2048)" = 0 ] && [ "$(optimized 2048)" = 0 ]
}

# Pages in use when the pool shrinks become surplus, stay optimised, and are restored when they are given back
# (which a kernel thread does).
in_use() {
	mkdir -p /run/huge
	mount -t hugetlbfs hugetlbfs /run/huge
	echo 1 >$switch
	resize 16
	fallocate -l 16M /run/huge/file
	resize 0
	expect_eq "surplus" "$(cat "$(pool surplus_hugepages)")" 8
	expect_optimized "in use" 8
	expect_saved "in use" "$memmap" $((8 * saved_pages))
	rm /run/huge/file
	wait_for 10 "surplus pages given back" all_given_back
	expect_saved "given back" "$memmap" 0

	# On demand, without a pool.
	echo 4 >"$(pool nr_overcommit_hugepages)"
	fallocate -l 8M /run/huge/file
	expect_optimized "on demand" 4
	rm /run/huge/file
	wait_for 10 "pages on demand given back" all_given_back
	echo 0 >"$(pool nr_overcommit_hugepages)"
	expect_saved "on demand, given back" "$memmap" 0
	umount /run/huge
}

# over_ask HVO: ten times the memory.
over_ask() {
	local got

	echo "$1" >$switch
	ask_too_much
	got=$(size 2048)
	figure "asked for $wanted pages with HVO $1: $got, optimised $(optimized 2048), OOM kills $(vmstat oom_kill)," \
		"by HVO $(hvo_oom_kills)"
	expect_between "pages got" "$got" 200 "$wanted"
	expect_ne "pages got" "$got" "$wanted"
	expect_eq "OOM kills" "$(vmstat oom_kill)" 0
	[ "$1" = 0 ] || expect_between "optimised pages" "$(optimized 2048)" 1 "$got"
	expect_saved "over-asked" "$memmap" $(($(optimized 2048) * saved_pages))
	resize 0
	leave_room
	expect_size "given back" 0
	expect_optimized "given back" 0
	expect_saved "given back" "$memmap" 0
}

over_asking() {
	local before after

	keep_programs
	before=$(free_kb)
	start_victims
	over_ask 1
	over_ask 0
	over_ask 1
	expect "victims alive" kill "${victims[@]}"
	wait "${victims[@]}" || :
	after=$(free_kb)
	figure "free memory before $before kB, after over-asking $after kB"
	expect_between "memory lost, kB" $((before > after ? before - after : 0)) 0 $slack_kb
}

expect_eq "OOM kills at the start" "$(vmstat oom_kill)" 0
memmap=$(memmap)
expect_optimized "at the start" 0
random_rounds
in_use
over_asking
expect_eq "taint" "$(taint)" 0
expect_eq "bad page reports" "$(bad_page_reports)" 0
