#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# vm: kernel=6.1-patched,6.12-patched bare selftests mem=1G timeout=1200 files=hvo-lib.sh
# The kernel's own tests of huge pages pass on the patched kernels with HVO on, and so do those that the series adds. One that
# skips something has failed, unless the reason is listed here.
. guest/test-lib.sh
. ./hvo-lib.sh

logs=$OUT/selftests
# A pool of 256 MiB is what the kernel's tests want; those that count pages want their own number.
large=128

# May be skipped, as "NAME: TEXT": what a kernel does not have cannot be tested.
excused() {
	case $kernel:$1 in
	# Counters of struct pages came with 6.11.
	"6.1:hugetlb_vmemmap_free: nr_memmap_"*) ;;
	*) return 1 ;;
	esac
}

# skipped NAME: the lines of its log that say so, without those that are excused.
skipped() {
	local line

	sed -nE 's/.*(# SKIP|\[SKIP\]) *//p' "$logs/$1.log" | while read -r line; do
		excused "$1: $line" || echo "$line"
	done
}

# passes NAME PAGES ARGUMENT...: run with so many pages in the pool.
passes() {
	local name=$1 pages=$2 status=0 start=$SECONDS

	shift 2
	[ -x "selftests/$name" ] || fail "selftests/$name was not built"
	resize "$pages"
	expect_size "pool for $name" "$pages"
	printf '%s\n' "# $name $*"
	"./selftests/$name" "$@" >"$logs/$name.log" 2>&1 || status=$?
	sed 's/^/    /' "$logs/$name.log" | tail -n 40
	expect_eq "$name: exit status" "$status" 0
	grep -q '^not ok' "$logs/$name.log" && fail "$name: $(grep '^not ok' "$logs/$name.log")"
	expect_eq "$name: skipped" "$(skipped "$name")" ''
	figure "$name passed ($((SECONDS - start)) s)"
	expect_eq "taint after $name" "$(taint)" 0
}

# as_unpatched NAME PAGES STATUS TEXT ARGUMENT...: fails in this way on Debian's kernel of this version too.
as_unpatched() {
	local name=$1 pages=$2 expected=$3 text=$4 status=0

	shift 4
	resize "$pages"
	"./selftests/$name" "$@" >"$logs/$name.log" 2>&1 || status=$?
	expect_eq "$name: exit status" "$status" "$expected"
	expect_match "$name" "$(<"$logs/$name.log")" "$text"
	figure "$name fails as on the unpatched kernel: exit status $status ${text:+($text)}"
	expect_eq "taint after $name" "$(taint)" 0
}

# Those of 6.1 want a path in a hugetlbfs that is mounted as "huge", those of 6.12 make an anonymous file of their own.
huge_pages() {
	local file=()

	passes hugepage-mmap $large
	passes hugepage-shm $large
	passes map_hugetlb $large
	[ "$kernel" != 6.1 ] || file=(huge/test)
	passes hugepage-mremap $large "${file[@]}"
	if [ "$kernel" = 6.1 ]; then
		as_unpatched hugetlb-madvise $large 1 "Unexpected number of free huge pages line 212" huge/test
		rm -f huge/test
	else
		passes hugetlb-madvise $large
	fi
	passes hugepage-vmemmap 1
	[ "$kernel" = 6.1 ] || passes hugetlb_fault_after_madv 1
	passes hugetlb_vmemmap_free 0
}

# The page that is poisoned stays poisoned: the last one, and without HVO, under which such a page is never freed.
poisoned() {
	[ "$kernel" != 6.1 ] || return 0
	resize 0
	echo 0 >$switch
	# SIGBUS as soon as it has poisoned its page.
	as_unpatched hugetlb-read-hwpoison 16 135 ""
	expect_match "kernel log" "$(dmesg | tail -n 20)" "Sending SIGBUS to hugetlb-read-hw"
}

kernel=$(uname -r | cut -d . -f 1,2)
mkdir -p "$logs" huge
mount -t hugetlbfs none huge
echo 1 >$switch
echo 268435456 >/proc/sys/kernel/shmmax

huge_pages
resize 0
expect_optimized "in the end" 0
umount huge
passes faultaround_old 0
passes huge_zero_page 0
passes commit_limit 0
poisoned
