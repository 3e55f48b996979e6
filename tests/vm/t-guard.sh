#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# vm: kernel=6.12 enable=mmoptd.service preboot timeout=300
# After an apply that grew a huge page pool tasks stall for memory: the pool is given back, the other values stay, and it is said
# why. What waiting for memory has cost since is on record.
. guest/test-lib.sh

if [ "$VMRUN_BOOT" = 0 ]; then
	mkdir -p /etc/mmopt/policy.d
	printf '[vm]\nswappiness = 12\n' >/etc/mmopt/policy.d/50-test.conf
	printf '[Manager]\nGuardAfterApply=5%%\nGuardTime=2min\nTextfileDirectory=/run/mmopt/metrics\n' >/etc/mmopt/mmoptd.conf
	exit
fi

pool=/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages
is_settled() {
	busctl get-property org.mmopt1 /org/mmopt1 org.mmopt1.Manager State | grep -qE 'in-sync|differs'
}

wait_for 40 "settled" is_settled
mkdir /run/mmopt/metrics
had=$(cat "$pool")
printf '[vm]\nswappiness = 11\n[hugetlb]\n2M.pages = %d\n' $((had + 32)) >/etc/mmopt/policy.d/50-test.conf
echo 1 >/proc/sys/kernel/task_delayacct
expect "apply" mmoptctl apply
expect_eq "pool" "$(cat "$pool")" $((had + 32))

# Writing more than it may have, this service waits for its own reclaim: a stall like any other.
systemd-run --quiet --unit=hog -p MemoryHigh=16M -p MemorySwapMax=0 \
	sh -c 'mkdir -p /run/hog; mount -t tmpfs tmpfs /run/hog; while :; do dd if=/dev/zero of=/run/hog/x bs=1M count=64; done'
is_given_back() {
	[ "$(cat "$pool")" = "$had" ]
}
wait_for 90 "the pool is given back" is_given_back
figure "memory pressure: $(head -n 1 /proc/pressure/memory)"
systemctl stop hog.service
wait_for 40 "settled" is_settled
expect_eq "the other value" "$(cat /proc/sys/vm/swappiness)" 11
expect_match "journal" "$(journalctl -b -u mmoptd.service --no-pager)" 'Tasks stall for memory for more than 5%'
mmoptctl status
expect "rollback" mmoptctl rollback
expect_eq "swappiness after the rollback" "$(cat /proc/sys/vm/swappiness)" 12
expect_eq "pool after the rollback" "$(cat "$pool")" "$had"

# The metrics follow.
wait_for 20 "metrics" grep -q '^mmopt_build_info' /run/mmopt/metrics/mmopt.prom
