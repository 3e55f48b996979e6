#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# vm: named kernel=6.1-patched,6.12-patched,6.1-plain,6.12-plain bare selftests mem=448M timeout=400
# The life cycle of the huge zero page: persistent on the patched kernels, refcounted on the plain ones. Each kernel must also
# fail the test of the other kind. So little memory that transparent huge pages are off after boot: then nobody has the page.
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

case $(zcat /proc/config.gz) in
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
	expect_between "allocations since boot" "$(vmstat thp_zero_page_alloc)" 4 20
	;;
esac
figure "$kind: $(vmstat thp_zero_page_alloc) allocations after two runs"
expect_eq "allocations that failed" "$(vmstat thp_zero_page_alloc_failed)" 0

# The test can fail.
run_as 1 $other
expect_match "as $other" "$output" "not ok 5"
expect_eq "taint" "$(taint)" 0
