#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# vm: kernel=6.1-patched,6.12-patched bare selftests built=tests/vm/fa-probe mem=512M timeout=600
# vm.want_old_faultaround_pte of the patched kernels: what each value does to the neighbours of a page that is read, what is
# refused, that it makes no difference where fault-around is off, and that it can be flipped while processes fault.
. guest/test-lib.sh

file=/proc/sys/vm/want_old_faultaround_pte
window=/sys/kernel/debug/fault_around_bytes
young="64 64"
old="64 4"

# set_value VALUE STATE: Rss and Referenced in kB after one touch.
set_value() {
	expect "value $1" sh -c "echo $1 >$file"
	expect_eq "value read back" "$(cat "$file")" "$1"
	expect_eq "one touch with $1: Rss and Referenced in kB" "$(./fa-probe state)" "$2"
}

# refused VALUE: and it stays at what it was.
refused() {
	local before

	before=$(cat "$file")
	expect_status "value '$1'" 1 bash -c "echo '$1' >$file"
	expect_match "value '$1'" "$output" "Invalid argument"
	expect_eq "value after '$1'" "$(cat "$file")" "$before"
}

# passes FILE ARGUMENT...: the kernel's own test, with its output in FILE, skips nothing.
passes() {
	expect "faultaround_old ${*:2}" ./selftests/faultaround_old "${@:2}"
	printf '%s\n' "$output" >"$1"
	expect_eq "faultaround_old: not done" "$(grep -cE '^not ok|# SKIP' "$1" || true)" 0
	expect_eq "faultaround_old: value afterwards" "$(cat "$file")" "$before"
}

expect_eq "value after boot" "$(cat "$file")" -1
expect_eq "mode" "$(stat -c %a "$file")" 644
expect_eq "one touch after boot" "$(./fa-probe state)" "$young"
expect_eq "window after boot" "$(cat "$window")" 65536

set_value 1 "$old"
figure "one touch with 1: Rss 64 kB, Referenced 4 kB"
set_value 0 "$young"
set_value 1 "$old"
set_value -1 "$young"
set_value 1 "$old"
for value in 2 -2 x 1x 4294967297 -4294967295 ""; do
	refused "$value"
done
# The first of several numbers is taken: so it is with all of the kernel's integers, and here.
expect "value '0 1'" sh -c "echo '0 1' >$file"
expect_eq "value after '0 1'" "$(cat "$file")" 0

# Nobody but root.
expect_status "value 1 as nobody" 2 setpriv --reuid=65534 --regid=65534 --clear-groups sh -c "echo 1 >$file"
expect_eq "value after that" "$(cat "$file")" 0

# Where fault-around is off there are no neighbours.
echo 4096 >"$window"
for value in 0 1 -1; do
	set_value "$value" "4 4"
done
before=$(cat "$file")
passes "$OUT/window-4096.tap" 1
# Other windows: the kernel's own test knows what to expect.
for bytes in 16384 1048576; do
	echo "$bytes" >"$window"
	passes "$OUT/window-$bytes.tap" 1
done
echo 65536 >"$window"

# For all starting values, since they have to come back; and the test restores it where it is stopped, too.
for value in 1 0; do
	set_value "$value" "$([ "$value" = 1 ] && echo "$old" || echo "$young")"
	before=$value
	passes "$OUT/from-$value.tap" 1
	./selftests/faultaround_old 60 >"$OUT/stopped-$value.tap" &
	wait_for 60 "flips begin" grep -q '^ok 7 ' "$OUT/stopped-$value.tap"
	sleep 1
	kill -TERM $!
	status=0
	wait $! || status=$?
	expect_eq "faultaround_old, stopped: exit status" "$status" 143
	expect_eq "value after it was stopped" "$(cat "$file")" "$value"
done

# Flipped for a while under faults on both CPUs. The harness looks for warnings and taint afterwards.
set_value -1 "$young"
before=-1
passes "$OUT/flips.tap" 10
figure "$(grep ' flips in ' "$OUT/flips.tap")"
expect_match "values seen" "$(<"$OUT/flips.tap")" "value 1: Rss 64 kB, Referenced 4 kB"
expect_eq "taint" "$(taint)" 0
set_value 1 "$old"
