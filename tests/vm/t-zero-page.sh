#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# vm: kernel=6.1-patched,6.12-patched,6.1,6.12 bare selftests mem=448M timeout=400
# The life cycle of the huge zero page: persistent on the patched kernels, refcounted on the others, which must also fail
# the test of the persistent kind. So little memory that transparent huge pages are off after boot: then nobody has the page.
. guest/test-lib.sh

thp=/sys/kernel/mm/transparent_hugepage
test=./selftests/huge_zero_page
settings=$(cat $thp/enabled $thp/use_zero_page)

# lines EXTENDED-REGEX: how many there are in the output of the last command.
lines() {
	grep -cE -- "$1" <<<"$output" || true
}

# run_as STATUS [KIND]
run_as() {
	expect_status "huge_zero_page ${*:2}" "$1" $test "${@:2}"
	printf '%s\n' "$output" >"$OUT/as-${2:-configured}.tap"
	expect_eq "settings afterwards" "$(cat $thp/enabled $thp/use_zero_page)" "$settings"
}

case $(zcat /proc/config.gz 2>/dev/null) in
*CONFIG_PERSISTENT_HUGE_ZERO_FOLIO=y*) kind=persistent other=refcounted ;;
*) kind=refcounted other=persistent ;;
esac
# What the series brings is there as a whole or not at all.
expect_eq "kind of this kernel" "$kind" "$([ -e /proc/sys/vm/want_old_faultaround_pte ] && echo persistent || echo refcounted)"

# A kernel with transparent huge pages off has not spent a huge page.
expect_match "transparent huge pages" "$(<$thp/enabled)" "\[never\]"
expect_eq "huge zero pages allocated at boot" "$(vmstat thp_zero_page_alloc)" 0

run_as 0
run_as 0 $kind
expect_eq "parts that pass" "$(lines '^ok ')" 6
case $kind in
persistent)
	expect_eq "parts that are skipped" "$(lines '# SKIP')" 0
	expect_eq "allocations since boot" "$(vmstat thp_zero_page_alloc)" 1
	;;
refcounted)
	expect_eq "parts that are skipped" "$(lines '# SKIP')" 1
	# Made again after it was reclaimed, once a run at least.
	expect_between "allocations since boot" "$(vmstat thp_zero_page_alloc)" 3 20
	;;
esac
figure "$kind: $(vmstat thp_zero_page_alloc) allocations after two runs"
expect_eq "allocations that failed" "$(vmstat thp_zero_page_alloc_failed)" 0

# Taken for the other kind: a page that comes and goes is not persistent. One that stays may be somebody else's, which the test
# cannot know, and skips.
case $kind in
persistent)
	run_as 0 $other
	expect_match "as $other" "$output" "ok 5 # SKIP reclaimed: another process holds it"
	;;
refcounted)
	run_as 1 $other
	expect_match "as $other" "$output" "not ok 5"
	;;
esac
expect_eq "taint" "$(taint)" 0
