#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# vm: waits kernel=6.12 enable=mmoptd.service preboot timeout=1000
# Ten minutes in which nothing happens: mmoptd writes nothing, wakes for its watchdog only, and is small.
. guest/test-lib.sh

if [ "$VMRUN_BOOT" = 0 ]; then
	mkdir -p /etc/mmopt/policy.d
	printf '[vm]\nswappiness = 11\n[thp]\nenabled = madvise\npersistent_zero_page = yes\n[hugetlb]\n2M.pages = 16\n' \
		>/etc/mmopt/policy.d/50-test.conf
	exit
fi

is_in_sync() {
	busctl get-property org.mmopt1 /org/mmopt1 org.mmopt1.Manager State | grep -q in-sync
}

wait_for 30 "in order" is_in_sync
sleep 70 # what follows an apply, or the boot, is over
pid=$(systemctl show --value -p MainPID mmoptd.service)
watchdog_usec=$(systemctl show --value -p WatchdogUSec mmoptd.service)
echo "watchdog: $watchdog_usec"
switches() {
	awk '/ctxt_switches/ { n += $2 } END { print n }' "/proc/$pid/status"
}

strace -f -tt -p "$pid" -o "$OUT/trace" &
tracer=$!
sleep 600
kill "$tracer"
wait "$tracer" || true
expect_eq "main process" "$(systemctl show --value -p MainPID mmoptd.service)" "$pid"

# A wake-up is a return from waiting.
wakes=$(grep -c 'epoll_wait.*= [1-9]\|epoll_pwait.*= [1-9]\|<... epoll_wait resumed.*= [1-9]\|<... epoll_pwait2\? resumed.*= [1-9]' \
	"$OUT/trace" || true)
pings=$(grep -c 'WATCHDOG=1' "$OUT/trace" || true)
figure "in 600 s: $wakes wake-ups, $pings watchdog messages, $(wc -l <"$OUT/trace") system calls"
expect_between "wake-ups beyond the watchdog's" $((wakes - pings)) 0 0
expect_between "watchdog messages" "$pings" 1 40
if grep -E 'clone|fork|O_WRONLY|O_RDWR|pwrite|openat' "$OUT/trace"; then
	fail "more than waiting and the watchdog"
fi

pss=$(awk '$1 == "Pss:" { print $2 }' "/proc/$pid/smaps_rollup")
cat "/proc/$pid/smaps_rollup" >"$OUT/smaps_rollup"
figure "PSS of mmoptd: $pss kB"
expect_between "PSS in kB" "$pss" 100 4095
