#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# vm: named kernel=6.1-plain-debug,6.12-plain-debug bare module swap=512M mem=448M timeout=2400 taint=4096
# vm: built=tests/vm/fa-probe,tests/vm/fa-stress
# The module under load, on kernels with KASAN, PROVE_LOCKING and DEBUG_VM: two programs do what can happen to mapped files, one
# on the disk beside more anonymous memory than there is room for, one on a tmpfs with huge pages, while the value flips and
# the module goes and comes. A fixed number of operations, not a time. All that is read is what was written, nothing stays
# mapped, and the kernel has nothing to say.
. guest/test-lib.sh

file=/proc/sys/vm/want_old_faultaround_pte
operations=3000
hog_mib=300
flips=0 reloads=0
thp=/sys/kernel/mm/transparent_hugepage

# Memory of files that somebody has mapped, in kB.
mapped() { meminfo Mapped; }

# stress NAME DIR HOG-MIB
stress() {
	local status=0

	./fa-stress "$2" "$operations" 2 "$3" >"$OUT/$1.log" 2>&1 || status=$?
	echo "$status" >"$OUT/$1.status"
}

set_value() {
	echo "$1" >"$file" || fail "value $1 cannot be set"
	flips=$((flips + 1))
}

reload() {
	rmmod mmopt_faultaround 2>/dev/null && fail "unloaded under a hook"
	set_value -1
	expect "unload" rmmod mmopt_faultaround
	expect "load" insmod ./mmopt_faultaround.ko
	reloads=$((reloads + 1))
}

mkdir -p /disk /huge
mount -t tmpfs -o size=256m,huge=always tmpfs /huge
echo 100 >$thp/khugepaged/scan_sleep_millisecs
echo 8192 >$thp/khugepaged/pages_to_scan

before=$(mapped)
expect "load" insmod ./mmopt_faultaround.ko
set_value 1
stress disk /disk "$hog_mib" &
first=$!
stress tmpfs /huge 8 &
second=$!
while kill -0 $first 2>/dev/null || kill -0 $second 2>/dev/null; do
	for value in -1 1 0 1; do
		set_value "$value"
		sleep 0.1
	done
	reload
	set_value 1
	sleep 0.3
done
wait

for name in disk tmpfs; do
	expect_eq "fa-stress on $name: $(cat "$OUT/$name.log")" "$(cat "$OUT/$name.status")" 0
	figure "$name: $(cat "$OUT/$name.log")"
done
expect_between "flips" "$flips" 20 1000000
expect_between "reloads" "$reloads" 3 1000000
figure "$flips flips, $reloads times unloaded and loaded, $(vmstat pswpout) pages swapped out, $(vmstat pgsteal_kswapd) + \
$(vmstat pgsteal_direct) reclaimed, $(vmstat thp_file_mapped) huge pages mapped, $(vmstat thp_collapse_alloc) collapsed"
# Was there pressure at all? MADV_PAGEOUT swaps out without it.
expect_between "pages swapped out" "$(vmstat pswpout)" 100 100000000
expect_between "pages reclaimed" $(($(vmstat pgsteal_kswapd) + $(vmstat pgsteal_direct))) 1000 100000000

expect_eq "one touch with 1" "$(./fa-probe state)" "64 4"
set_value -1
expect "unload" rmmod mmopt_faultaround
expect_eq "one touch after unloading" "$(./fa-probe state)" "64 64"
expect_between "mapped file memory, before $before kB" "$(mapped)" 0 $((before + 4096))
said=$(dmesg | grep -E 'KASAN|possible (circular|recursive|irq)|suspicious RCU|inconsistent lock|rss-counter|BUG|WARNING|stall|blocked for' || true)
expect_eq "what the kernel said" "$said" ''
# lockdep switches itself off after its first report.
[ ! -e /proc/lockdep_stats ] || expect_eq "debug_locks" "$(awk '/debug_locks/ { print $2 }' /proc/lockdep_stats)" 1
