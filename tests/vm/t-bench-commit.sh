#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# vm: named kernel=6.1-plain,6.1-patched,6.12-plain,6.12-patched smp=4 mem=2G bare built=tests/bench/commit timeout=900
# What counting the committed memory costs, by policy and near the limit: figures.  On this emulated machine they say little about
# a fight for a lock; they are here so that the sides can be compared on any machine, and to see that the program works.
. guest/test-lib.sh

knobs() {
	(cd /proc/sys/vm && grep . overcommit_memory overcommit_ratio overcommit_kbytes user_reserve_kbytes)
}

before=$(knobs)
expect "the benchmark" ./commit --rounds 5 --msec 100 --policies --limit
expect_eq "settings after it" "$(knobs)" "$before"

rows=0
while read -r line; do
	case $line in
	*,processes=*)
		expect_match "a ratio" "$line" ' [0-9]+\.[0-9]+$'
		rows=$((rows + 1))
		;;
	esac
	[ -z "$line" ] || figure "$line"
done <<<"$output"
# Two sizes, two loads under the policies, one at the limit; 1, 2, 4 and 8 processes.
expect_eq "rows" "$rows" 20
