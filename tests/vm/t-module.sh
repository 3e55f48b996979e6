#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# vm: bare module built=tests/vm/fa-probe mem=512M timeout=300 taint=12288
# The module mmopt_faultaround on Debian's own kernels: what each value does, what it costs, when it can be unloaded, and that
# it leaves nothing behind; then whom the kernel does not let load it. Taint: a module from outside, not signed. One CPU:
# tracers patch code all over the kernel, and under QEMU a second CPU can run into a breakpoint that is gone already.
. guest/test-lib.sh

file=/proc/sys/vm/want_old_faultaround_pte
young="64 64"
old="64 4"

state() { ./fa-probe state; }
load() { insmod ./mmopt_faultaround.ko "$@"; }
redirected() { grep -c '^filemap_map_pages ' /sys/kernel/tracing/enabled_functions || true; }
# What mmopt finds by its own probe.
reported() { mmoptctl facts --json=short | jq -r '.facts[] | select(.name == "fault_around.ptes") | .value'; }
# told TEXT: once more than before, at the end of the kernel's log.
told() { dmesg | tail -n 5 | grep -qF -- "$1" || fail "the kernel's log does not say: $1"; }
# set_value VALUE STATE REDIRECTED WHAT-MMOPT-SAYS
set_value() {
	expect "value $1" sh -c "echo $1 >$file"
	expect_eq "value read back" "$(cat "$file")" "$1"
	expect_eq "one touch with $1: Rss and Referenced in kB" "$(state)" "$2"
	expect_eq "hooks with $1" "$(redirected)" "$3"
	expect_eq "what mmopt says with $1" "$(reported)" "$4"
}

mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing
mountpoint -q /sys/kernel/security || mount -t securityfs securityfs /sys/kernel/security
names=$(ls /proc/sys/vm)
expect_eq "one touch of a stock kernel" "$(state)" "$young"
expect "version" mmoptctl --version
expect_match "version of the module is that of mmopt" "$output" "(^| )$(modinfo -F version ./mmopt_faultaround.ko)"

# Loading changes nothing.
expect "load" load
expect_eq "value after loading" "$(cat "$file")" -1
expect_eq "one touch after loading" "$(state)" "$young"
expect_eq "hooks after loading" "$(redirected)" 0
expect_eq "/proc/sys/vm but for what is new" "$(ls -I want_old_faultaround_pte /proc/sys/vm)" "$names"
expect_eq "mode" "$(stat -c %a "$file")" 644

set_value 1 "$old" 1 old
set_value 0 "$young" 0 young
set_value 1 "$old" 1 old
for value in 2 -2 x 1x ""; do
	expect_status "value '$value'" 1 bash -c "echo '$value' >$file"
	expect_match "value '$value'" "$output" "Invalid argument"
	expect_eq "value after '$value'" "$(cat "$file")" 1
done

# While the hook is there nobody can take the ground from under it.
expect_status "unload under a hook" 1 rmmod mmopt_faultaround
expect_match "unload under a hook" "$output" "in use"
expect_status "ftrace_enabled=0 under a hook" 1 sh -c 'echo 0 >/proc/sys/kernel/ftrace_enabled'
expect_eq "ftrace_enabled" "$(cat /proc/sys/kernel/ftrace_enabled)" 1
expect_eq "one touch after that" "$(state)" "$old"

# Tracers see both functions, and it works on.
echo '*map_pages*' >/sys/kernel/tracing/set_ftrace_filter
echo function_graph >/sys/kernel/tracing/current_tracer
expect_eq "one touch under the graph tracer" "$(state)" "$old"
echo nop >/sys/kernel/tracing/current_tracer
echo 'r:fa filemap_map_pages' >/sys/kernel/tracing/kprobe_events
echo 1 >/sys/kernel/tracing/events/kprobes/fa/enable
expect_eq "one touch with a kretprobe" "$(state)" "$old"
echo 0 >/sys/kernel/tracing/events/kprobes/fa/enable
echo >/sys/kernel/tracing/kprobe_events

read -r without with <<<"$(./fa-probe cost "$file" -1 1 40)"
figure "a fault that maps 16 pages: $without ns with -1, $with ns with 1: $((100 * with / without)) %"
expect_between "cost of 1 in percent of -1" $((100 * with / without)) 50 200

set_value -1 "$young" 0 young
expect "unload" rmmod mmopt_faultaround
expect_eq "/proc/sys/vm after unloading" "$(ls /proc/sys/vm)" "$names"
expect_eq "one touch after unloading" "$(state)" "$young"
# Where the value is what the architecture does anyway there is no hook either.
expect "load again" load
set_value 0 "$young" 0 young
expect "unload with 0" rmmod mmopt_faultaround

# Refusals, each with its reason, and nothing is left behind.
# refused WHAT REASON IN-THE-LOG
refused() {
	expect_status "$1" 1 load
	expect_match "$1" "$output" "$2"
	told "$3"
	expect_eq "/proc/sys/vm after: $1" "$(ls /proc/sys/vm)" "$names"
	expect_eq "hooks after: $1" "$(redirected)" 0
	expect_eq "modules after: $1" "$(grep -c mmopt /proc/modules || true)" 0
}
echo 0 >/proc/sys/kernel/ftrace_enabled
refused "ftrace is off" "Device or resource busy" "filemap_map_pages() cannot be redirected: -EBUSY (kernel.ftrace_enabled=0"
echo 1 >/proc/sys/kernel/ftrace_enabled
mount -t tmpfs none /proc/sys/vm
expect_status "no /proc/sys/vm of the kernel" 1 load
told "/proc/sys/vm is not the kernel's"
umount /proc/sys/vm

for level in integrity confidentiality; do
	echo "$level" >/sys/kernel/security/lockdown
	refused "lockdown=$level" "Operation not permitted" "unsigned module loading is restricted"
done
echo 1 >/sys/module/module/parameters/sig_enforce
refused "module.sig_enforce=1" "Key was rejected by service" "unsigned module is rejected"
