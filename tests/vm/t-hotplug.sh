#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# vm: hotplug mem=1G append="memhp_default_state=online" enable=mmoptd.service preboot timeout=300
# A GiB of memory is plugged in: what is given as a share of memory is reckoned anew, once, and status shows both totals.
. guest/test-lib.sh

if [ "$VMRUN_BOOT" = 0 ]; then
	mkdir -p /etc/mmopt/policy.d
	cat >/etc/mmopt/policy.d/50-test.conf <<-'X'
		[vm]
		swappiness = 11
		min_free_kbytes = 2%
		[hugetlb]
		2M.pages = 10%
		1G.overcommit = 0
	X
	exit
fi

pool=/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages
is_in_sync() {
	busctl get-property org.mmopt1 /org/mmopt1 org.mmopt1.Manager State | grep -q in-sync
}

memory_entries() {
	journalctl -b -u mmoptd.service -o json --no-pager | jq -r 'select(.MESSAGE | test("^Memory changed")) | .MESSAGE'
}

has_memory_entry() {
	[ -n "$(memory_entries)" ]
}

wait_for 40 "in order" is_in_sync
before_kb=$(meminfo MemTotal)
pool_before=$(cat "$pool")
min_before=$(cat /proc/sys/vm/min_free_kbytes)
last_before=$(busctl get-property org.mmopt1 /org/mmopt1 org.mmopt1.Manager LastTransaction)
expect_between "pool before, of 1 GiB" "$pool_before" 40 52

vm-host plug 1G
wait_for 60 "noticed" has_memory_entry
after_kb=$(meminfo MemTotal)
expect_between "memory plugged in, kB" $((after_kb - before_kb)) 900000 1048576
wait_for 40 "in order again" is_in_sync
sleep 10
figure "pool $pool_before -> $(cat "$pool"), min_free_kbytes $min_before -> $(cat /proc/sys/vm/min_free_kbytes)"
expect_between "pool, of 2 GiB" "$(cat "$pool")" $((pool_before * 2 - 8)) $((pool_before * 2 + 8))
expect_between "min_free_kbytes" "$(cat /proc/sys/vm/min_free_kbytes)" $((min_before * 2 - 2000)) $((min_before * 2 + 2000))
memory_entries
expect_eq "reckoned anew this often" "$(memory_entries | wc -l)" 1
expect_eq "transactions" "$(busctl get-property org.mmopt1 /org/mmopt1 org.mmopt1.Manager LastTransaction)" \
	"u $((${last_before#u } + 1))"

mmoptctl status --json=short >"$OUT/status.json"
mmoptctl status | tee "$OUT/status.txt"
expect_between "total now, kB" $(($(json "$OUT/status.json" .memory_total_bytes) / 1024)) $((after_kb - 100)) $((after_kb + 4000))
expect_between "total at the apply, kB" $(($(json "$OUT/status.json" .memory_total_at_apply_bytes) / 1024)) \
	$((before_kb - 4000)) $((before_kb + 4000))
expect_match "both totals" "$(cat "$OUT/status.txt")" 'Memory: 1.9 GiB, [0-9.]+ MiB at the last apply'
mmoptctl history
