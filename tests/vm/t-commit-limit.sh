#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# vm: kernel=6.1-patched,6.12-patched,6.1,6.12 smp=4 mem=1G bare selftests timeout=600
# The commit limit of vm.overcommit_memory=2 is exact on a kernel of the series; without it, it is passed, and requests that
# fit are refused, by up to what the parts of the CPUs can hold.  The kernel's selftest measures; the bounds are checked here.
. guest/test-lib.sh

knobs() {
	(cd /proc/sys/vm && grep . overcommit_memory overcommit_ratio overcommit_kbytes user_reserve_kbytes)
}

# kb NAME WHAT: the figures of the selftest's lines "# NAME: ... WHAT N kB", smallest first.
kb() {
	sed -nE "s/^# $1: .*$2 (-?[0-9]+) kB.*/\1/p" "$OUT/commit_limit.txt" | sort -n
}

before=$(knobs)
status=0
./selftests/commit_limit >"$OUT/commit_limit.txt" 2>&1 || status=$?
cat "$OUT/commit_limit.txt"
expect_eq "settings after the selftest" "$(knobs)" "$before"

highest=$(kb race highest)
settled=$(kb race "at the end")
above=$(kb above "over the limit:" | tail -n 1)
below=$(kb below "over the limit:" | head -n 1)
# mm_compute_batch() of a kernel without the series; each CPU holds less than a batch.
cpus=$(getconf _NPROCESSORS_ONLN)
batch=$(($(meminfo MemTotal) / 4 / cpus / 256))
bound=$((cpus * (batch - 1) * 4))
figure "Committed_AS - CommitLimit in kB, $cpus CPUs: race $highest while it runs, $settled after; parts made large $above," \
	"negative $below; bound without the series $bound"
symbols=$(grep -c ' vm_committed_as_below$' /proc/kallsyms || :)

case $(uname -r) in
*-mmopt)
	expect_eq "exit status of the selftest" "$status" 0
	expect_eq "results that are not ok, or skipped" "$(grep -c '^not ok\|# SKIP' "$OUT/commit_limit.txt" || :)" 0
	expect_eq "symbols of the exact comparison" "$symbols" 1
	;;
*)
	expect_eq "exit status of the selftest" "$status" 1
	expect_eq "symbols of the exact comparison" "$symbols" 0
	# All CPUs but one were filled to two pages below a batch, so most of the bound must be seen.
	expect_between "kB above the limit" "$above" $((bound / 2)) "$bound"
	expect_between "kB refused too early" $((-below)) $((bound / 2)) $((bound + 256))
	;;
esac

# In the middle of it a signal: everything goes back all the same. Nothing is forked here meanwhile, it would be refused.
./selftests/commit_limit >/dev/null 2>&1 &
pid=$!
end=$((SECONDS + 60))
policy=0
while [ "$policy" != 2 ] && ((SECONDS < end)); do
	read -r policy </proc/sys/vm/overcommit_memory
done
kill -TERM "$pid"
status=0
wait "$pid" || status=$?
expect_eq "policy at the time of the signal" "$policy" 2
expect_eq "exit status after SIGTERM" "$status" 143
expect_eq "settings after SIGTERM" "$(knobs)" "$before"
