#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What a running mmoptd tells of itself in /run/mmopt/daemon is shown for as long as it lives, and nothing of it afterwards.
. "$(dirname "$0")/lib.sh"

make_machine
file /proc/meminfo $'MemTotal:        8388608 kB\nMemFree:         7000000 kB\nMemAvailable:    7340032 kB'
file /proc/vmstat $'nr_free_pages 1750000\nthp_zero_page_alloc 20'
file /sys/kernel/mm/transparent_hugepage/hpage_pmd_size 2097152
policy $'[vm]\nswappiness = 10\n[thp]\npersistent_zero_page = yes'

on apply
exits 3
out_has "only a running mmoptd holds it: systemctl enable --now mmoptd"
on status --json
exits 0
document 'd["daemon_running"] is False and d["daemon_pid"] is None and d["zero_page_held"] is None'
document 'd["memory_total_bytes"] == d["memory_total_at_apply_bytes"] == 8 << 30'
on status
exits 0
if grep -qE '^(Daemon|Memory|Policy|Huge zero page)( |:)' "$WORK/out"; then
	show
	fail "status shows what there is not"
fi

# The lock as mmoptd holds it.
mkfifo "$WORK/held"
/usr/bin/python3 -c '
import fcntl, os, signal, struct, sys
fd = os.open(sys.argv[1] + "/run/mmopt/daemon.lock", os.O_RDWR | os.O_CREAT, 0o600)
fcntl.fcntl(fd, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))
with open(sys.argv[2], "w") as f:
    f.write("held\n")
signal.pause()' "$ROOT" "$WORK/held" &
daemon=$!
read -r held <"$WORK/held"
[ "$held" = held ] || fail "the lock cannot be taken"

state() {
	printf "%b" "$1" >"$ROOT/run/mmopt/daemon"
}

state 'mmopt-daemon 1\t812\t0\t1700000000\nend\n'
on plan
exits 2
out_has "mmoptd takes it (2M) as soon as it has read the policy"
on apply --json
exits 0
document 'd["verdict"] == "done" and d["to_change_count"] == 1'
document '[s["outcome"] for s in d["steps"] if s["id"] == "thp.persistent_zero_page"] == ["pending"]'
on status
out_has "mmoptd (pid 812) since 2023-11-14T22:13:20Z"

state 'mmopt-daemon 1\t812\t0\t1700000000\nzero-page-error\ttransparent huge pages are off\nend\n'
on verify
exits 2
out_has "mmoptd cannot hold it: transparent huge pages are off"
on status
out_has "not held: transparent huge pages are off"

file /proc/sys/vm/swappiness 77
state 'mmopt-daemon 1\t812\t0\t1700000000\nzero-page\t2097152\t1700000003\t17\npolicy-error\t/etc/mmopt/policy.d/x.conf:3: unknown key\ndrift\tvm.swappiness\t10\t77\t4242\tsys\\tctl\t1700000001\t5\t1\nend\n'
on status
exits 0
out_has "changed by sys"
out_has "(pid 4242): 10 -> 77; changed 5 times, mmoptd no longer sets it again"
out_has "has mistakes, the one before it stays in force: /etc/mmopt/policy.d/x.conf:3: unknown key"
out_has "2.0 MiB held since 2023-11-14T22:13:23Z, allocated 3 times since"
on status --json
exits 0
document 'd["daemon_pid"] == 812 and d["policy_error"].endswith("unknown key") and d["drifted_count"] == 1'
document 'd["zero_page_held"] and d["zero_page_bytes"] == 2 << 20 and d["zero_page_allocs_count"] == 3'
document '[(s["writer_pid"], s["writer_comm"], s["given_up"]) for s in d["steps"] if s["id"] == "vm.swappiness"] == [(4242, "sys\tctl", True)]'
document '[s["outcome"] for s in d["steps"] if s["id"] == "thp.persistent_zero_page"] == ["already"]'

file /proc/meminfo $'MemTotal:        4194304 kB\nMemFree:         3000000 kB\nMemAvailable:    3340032 kB'
on status
out_has "4.0 GiB, 8.0 GiB at the last apply"
on status --json
document 'd["memory_total_bytes"] == 4 << 30 and d["memory_total_at_apply_bytes"] == 8 << 30'

# Gone: what it left tells nothing.
kill "$daemon"
wait "$daemon" || true
on status --json
exits 0
document 'd["daemon_running"] is False and d["drifted_count"] == 1 and d["zero_page_held"] is None'
document '[(s["writer_pid"], s["reason"]) for s in d["steps"] if s["id"] == "vm.swappiness"] == [(None, "someone else changed it: 10 -> 77")]'

# What a change has cost.
on history --json
document '[(t["reclaim_delay_nsec"], t["swapin_delay_nsec"]) for t in d["transactions"]] == [(None, None)]'
printf 'delays\tbefore\t1000000000\t7000000\t0\n' >>"$ROOT/run/mmopt/transactions/0001"
on history
if grep -q RECLAIM "$WORK/out"; then
	fail "half of a difference is shown"
fi
printf 'delays\tafter\t3500000000\t6000000\t0\n' >>"$ROOT/run/mmopt/transactions/0001"
on history
out_has RECLAIM
out_has "2.5 s"
on history --json
document '[(t["reclaim_delay_nsec"], t["swapin_delay_nsec"]) for t in d["transactions"]] == [(2500000000, 0)]'
