#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# vm: mem=2G numa=2 timeout=900 files=../daemon/unit-properties
# What both units allow is enough: under it each verb says what it says without, every kind of kernel file is written, and no
# system call is made that is not on the list; what is not needed is shut.
. guest/test-lib.sh

mkdir -p /etc/mmopt/policy.d
cat >/etc/mmopt/policy.d/50-test.conf <<-'X'
	[vm]
	swappiness = 11
	page-cluster = auto
	hugetlb_optimize_vmemmap = auto
	[thp]
	enabled = madvise
	[khugepaged]
	max_ptes_none = 64
	[mglru]
	min_ttl_ms = 100
	[ksm]
	pages_to_scan = 50
	[zswap]
	-max_pool_percent = 15
	[numa]
	balancing = 1
	[faultaround]
	bytes = 32K
	[hugetlb]
	2M.node1.pages = 16
	[memory]
	auto_online_blocks = online
	[sysctl]
	kernel.shmmni = 5000
	kernel.task_delayacct = 1
	fs.aio-max-nr = 70000
	net.core.somaxconn = 5000
X

# under UNIT COMMAND...: with exactly what the unit allows. A system call that is not on its list kills.
under() {
	local unit properties

	unit=$(systemctl show -P FragmentPath "$1")
	shift
	./unit-properties "$unit" | sed 's/SystemCallErrorNumber=.*/SystemCallErrorNumber=kill/' >/run/properties
	# mmoptd.service refuses this one, and a probe does without it; here the refusal would kill.
	grep -q 'SystemCallFilter=.*sched_setaffinity' /run/properties ||
		echo '--property=SystemCallFilter=sched_setaffinity' >>/run/properties
	mapfile -t properties </run/properties
	((${#properties[@]} > 15)) || fail "$unit: unit-properties gives ${properties[*]}"
	systemd-run --quiet --wait --pipe --collect --working-directory=/ "${properties[@]}" -- "$@"
}

# What changes between two looks, whoever looks.
settle() {
	# Why there is no config: under a unit it cannot be known.
	sed -E '/^config\.source /s/(no .boot.config of this kernel either|files of this kernel.s in .* cannot be seen from here)/none/
		s/[0-9]+/N/g; s/N [KMGT]iB/N B/g; s/N\.N B/N B/g; s/ +/ /g'
}

wait_for 60 "the units exist" systemctl cat mmoptd.service mmopt-apply.service

# Everything is written under the unit that writes at boot, and by a worker of the daemon.
for unit in mmopt-apply.service mmoptd.service; do
	expect "$unit: mmopt-apply" under "$unit" /usr/lib/mmopt/mmopt-apply
	mmoptctl verify --json >"$OUT/verify.json" || true
	expect_eq "$unit: what is not as asked, and could be" "$(json "$OUT/verify.json" \
		'.steps[] | select(.outcome != "already" and .outcome != "unsafe" and .outcome != "unsupported") | .id')" ""
	expect_between "$unit: what is as asked" "$(json "$OUT/verify.json" .already_count)" 12 30
	expect_eq "$unit: delay accounting" "$(cat /proc/sys/kernel/task_delayacct)" 1
	expect_eq "$unit: somaxconn of the machine" "$(cat /proc/sys/net/core/somaxconn)" 5000
	expect_eq "$unit: fault-around" "$(cat /sys/kernel/debug/fault_around_bytes)" 32768
	expect "$unit: rollback" under "$unit" mmoptctl rollback
	expect_eq "$unit: fault-around after rollback" "$(cat /sys/kernel/debug/fault_around_bytes)" 65536
done

# Looking, with what is known of this boot and, under the unit that finds it out at boot, without.
expect "apply" mmoptctl apply
for verb in status facts plan verify savings list "explain vm.swappiness" check history; do
	# shellcheck disable=SC2086  # a verb and its argument
	mmoptctl $verb 2>&1 | settle >"$OUT/outside" || true
	for unit in mmopt-apply.service mmoptd.service; do
		# shellcheck disable=SC2086
		under "$unit" mmoptctl $verb 2>&1 | settle >"$OUT/inside" || true
		expect_eq "$unit: $verb" "$(diff "$OUT/outside" "$OUT/inside")" ""
	done
done
cp /run/mmopt/probes "$OUT/probes"
rm /run/mmopt/probes
mmoptctl facts 2>&1 | settle >"$OUT/outside"
rm -f /run/mmopt/probes
under mmopt-apply.service mmoptctl facts 2>&1 | settle >"$OUT/inside"
expect_eq "facts found out in the sandbox" "$(diff "$OUT/outside" "$OUT/inside")" ""

# The daemon itself, with all that it watches.
mkdir -p /run/systemd/system/mmoptd.service.d
printf '[Service]\nSystemCallErrorNumber=kill\nSystemCallFilter=sched_setaffinity\n' >/run/systemd/system/mmoptd.service.d/kill.conf
systemctl daemon-reload
expect "start" systemctl start mmoptd
expect "status by the daemon" mmoptctl status
expect "apply by the daemon" mmoptctl apply
# Until it has looked at the machine once, it does not know what to watch.
watching() {
	grep -qs '^fanotify ino' "/proc/$(systemctl show -P MainPID mmoptd)"/fdinfo/*
}
wait_for 60 "mmoptd watches" watching
echo 70 >/proc/sys/vm/swappiness
echo always >/sys/kernel/mm/transparent_hugepage/enabled
drifted() {
	journalctl -b -u mmoptd -o json --no-pager MESSAGE_ID=acebc0aa2639472ba750974ec7955ae7 |
		jq -r '[.MMOPT_TUNABLE, .MMOPT_WRITER_PID // "", .MMOPT_WRITER_COMM // ""] | join(" ")' >"$OUT/drift"
	grep -q vm.swappiness "$OUT/drift" && grep -q thp.enabled "$OUT/drift"
}
wait_for 60 "drift is seen" drifted
cat "$OUT/drift"
expect_match "who wrote below /proc/sys" "$(grep vm.swappiness "$OUT/drift")" "^vm.swappiness $$ test$"
expect_match "who wrote below /sys" "$(grep thp.enabled "$OUT/drift")" "^thp.enabled $$ test$"
expect "reload" systemctl reload mmoptd
expect "rollback by the daemon" mmoptctl rollback
expect "the daemon is well" systemctl is-active mmoptd
expect_eq "nothing was killed" "$(journalctl -b --no-pager | grep -c 'status=31/SYS' || true)" 0
expect "stop" systemctl stop mmoptd

# What is shut: what would hurt most, with what the shell says of it.
try() {
	local what=$1 text=$2 status=0

	shift 2
	output=$(under "$unit" "$@" 2>&1) || status=$?
	expect_ne "$unit: $what: exit status" "$status" 0
	expect_match "$unit: $what" "$output" "$text"
}
for unit in mmopt-apply.service mmoptd.service; do
	try "units" 'Read-only file system' touch /run/systemd/system/x.service
	try "files" 'Read-only file system' touch /etc/x
	try "homes" 'Permission denied' ls /root/.
	try "modules" 'Permission denied' ls "/usr/lib/modules/$(uname -r)"
	try "other sockets" 'Address family not supported' /bin/bash -c 'exec 3<>/dev/tcp/127.0.0.1/22'
	try "devices" 'No such file' ls /dev/nvme0
	try "owners" '' chown 1 /run/mmopt/lock
	try "mounts" '' mount -t tmpfs tmpfs /mnt
done
# The daemon goes on running, so it gets no more of the kernel's files than it needs.
unit=mmoptd.service
try "sysrq" 'Read-only file system' /bin/sh -c 'echo h >/proc/sysrq-trigger'
try "power" 'Read-only file system' /bin/sh -c 'echo freeze >/sys/power/state'
