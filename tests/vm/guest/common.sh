# SPDX-License-Identifier: LGPL-2.1-or-later
# What init (dash) and the agent (bash) share.
# shellcheck shell=sh

# shellcheck disable=SC2034  # used by those that read this file
state=/var/lib/vmrun
job=/var/lib/vmrun/job

# disk NSID: the device node of an NVMe namespace. Never by its name: since 6.11 namespaces are scanned in parallel, and
# nvme0n2 may be any of them.
disk() {
	for device in /sys/block/nvme*; do
		if [ -e "$device/nsid" ] && read -r nsid <"$device/nsid" && [ "$nsid" = "$1" ]; then
			echo "/dev/${device##*/}"
			return 0
		fi
	done
	return 1
}

job_disk() { disk 2; }
out_disk() { disk 3; }
swap_disk() { disk 4; }

# run_preboot: what has to be there before systemd starts. The test itself comes last, as boot 0.
run_preboot() {
	status=0
	cd "$job" || return 1
	if [ -d debs ]; then
		DEBIAN_FRONTEND=noninteractive dpkg -i debs/*.deb || status=$?
	fi
	if [ -e enable ]; then
		# shellcheck disable=SC2046  # one word a unit
		systemctl enable --quiet $(cat enable) || status=$?
	fi
	if [ -e preboot ]; then
		# shellcheck disable=SC2046  # NAME=VALUE, one a line
		env $(cat env) VMRUN_BOOT=0 OUT=$state/out ./test || status=$?
	fi
	cd / || return 1
	return "$status"
}
