#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# vm: named kernel=6.12-patched mem=224M swap=256M smp=1 icount bare
# vm: built=tests/bench/fault-around timeout=9000
# What old fault-around ptes do to reclaim where memory is short: figures, and what must hold on any machine.  On the classic LRU a
# sparsely used mapping keeps fewer unused pages, so that less comes back from the disk and anonymous memory is spared beside an
# executable.
. guest/test-lib.sh

knob=/proc/sys/vm/want_old_faultaround_pte
lru=/sys/kernel/mm/lru_gen/enabled

settings() {
	grep -H . "$knob" "$lru"
}

# figure_of SCENARIO LRU NAME SIDE: from $table. Rows are "NAME median [range] median [range] ratio".
figure_of() {
	awk -v heading="$1, $2:" -v name="$3" -v column="$4" '
		index($0, heading) == 1 { here = 1; next }
		/^[a-z-]+, (classic-LRU|MGLRU):/ { here = 0 }
		here && $1 == name { print $column; exit }' <<<"$table"
}

# at_most SCENARIO NAME PERCENT LEAST: on the classic LRU the figure with 1 is at most so much of the one with 0, which is at least
# LEAST: where nothing happens with 0 either, memory was not short and nothing is shown.
at_most() {
	local young old

	young=$(figure_of "$1" classic-LRU "$2" 2)
	old=$(figure_of "$1" classic-LRU "$2" 4)
	expect_match "$1: $2" "$young $old" '^[0-9.]+ [0-9.]+$'
	expect "$1: $2 is $young with 0, at least $4" awk -v a="$young" -v least="$4" 'BEGIN { exit !(a >= least) }'
	expect "$1: $2: $old with 1, at most $3 % of $young with 0" \
		awk -v a="$young" -v b="$old" -v percent="$3" 'BEGIN { exit !(b * 100 <= a * percent) }'
}

before=$(settings)
expect "the benchmark" ./fault-around --rounds 3
table=$output
while read -r line; do
	[ -z "$line" ] || figure "$line"
done <<<"$table"
expect_eq "settings after it" "$(settings)" "$before"
expect_eq "files left behind" "$(find . -name 'fault-around.*')" ""

# Time is what noise of the host disturbs most: here it only must not be worse.
at_most map-cold wall-msec 110 1
at_most map-cold refault-file-pages 80 1000
at_most exec-cold swap-out-pages 50 500
for scenario in map-cold exec-cold; do
	expect_match "$scenario, MGLRU: faults" "$(figure_of "$scenario" MGLRU faults 2)" '^[1-9]'
done
