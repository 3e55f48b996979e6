#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# vm: kernel=6.1-patched,6.12-patched bare module built=tests/vm/fa-probe mem=512M timeout=200 taint=4096
# A kernel that has vm.want_old_faultaround_pte refuses the module, keeps all its other settings, and goes on with its own.
. guest/test-lib.sh

file=/proc/sys/vm/want_old_faultaround_pte
names=$(ls /proc/sys/vm)
expect "the kernel's own" test -w "$file"
echo 1 >"$file"
expect_eq "one touch with 1" "$(./fa-probe state)" "64 4"
for _ in 1 2; do
	expect_status "load" 1 insmod ./mmopt_faultaround.ko
	expect_match "load" "$output" "File exists"
	expect_eq "/proc/sys/vm" "$(ls /proc/sys/vm)" "$names"
done
expect_eq "modules" "$(grep -c mmopt /proc/modules || true)" 0
expect_match "kernel log" "$(dmesg | tail -n 3)" "mmopt_faultaround: $file is there already"
expect_eq "value" "$(cat "$file")" 1
expect_eq "one touch after that" "$(./fa-probe state)" "64 4"
echo 0 >"$file"
expect_eq "one touch with 0" "$(./fa-probe state)" "64 64"
