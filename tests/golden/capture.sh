#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# tools/capture-sysroot on made-up machines: what may identify somebody stays out, what mmopt reads comes in.
set -u
export LC_ALL=C
tests=$(dirname "$(dirname "$(realpath "$0")")")
capture=$(dirname "$tests")/tools/capture-sysroot
work=$(mktemp -d)
# shellcheck disable=SC2317 # called by the trap
clean() { rm -rf "$work"; }
trap clean EXIT
n=0
failed=0
# tap STATUS NAME: findings are in $work/findings
tap() {
	n=$((n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $n - $2"
	else
		failed=$((failed + 1))
		sed 's/^/# /' "$work/findings"
		echo "not ok $n - $2"
	fi
	: >"$work/findings"
}
: >"$work/findings"
m=$work/machine
put() { mkdir -p "$m${1%/*}" && printf '%s\n' "${@:2}" >"$m$1"; }

# ---- a machine full of things that are nobody's business; each has "sesame" in it, or is one of the numbers below
boot_id=0e7c1a52-7f1d-4b43-9d5e-6f0a3a5b9c11
secrets='sesame|0e7c1a52|52:54:00:ab:cd:ef|c0ffee00-1234'
put /proc/meminfo 'MemTotal:        1000 kB'
put /proc/sys/kernel/hostname sesame-host
put /proc/sys/kernel/osrelease 6.1.0
put /proc/sys/kernel/random/boot_id $boot_id
put /proc/version 'Linux version 6.1.0 (sesame@build.example) (gcc 12) #1 SMP'
put /proc/cmdline 'BOOT_IMAGE=/sesame/vmlinuz root=UUID=c0ffee00-1234 ro quiet dyndbg="file sesame +p hugepages=9" hugepagesz=2M hugepages=64 "thp_anon=16K:always;64K:never" ifname=e:52:54:00:ab:cd:ef sesame=1 password-sesame -- --key=sesame'
put /proc/self/mounts '/dev/mapper/sesame / ext4 rw,sesame 0 0' 'none /dev/hugepages hugetlbfs rw,relatime,pagesize=2M 0 0' \
	'//nas/sesame /mnt cifs rw,user=sesame 0 0' 'overlay /m overlay rw,lowerdir=/sesame 0 0'
put /proc/self/cgroup '0::/user.slice/sesame.scope'
put /proc/swaps 'Filename				Type		Size		Used		Priority' \
	'/home/sesame/swap                       file		1024		0		-2' '/dev/zram0                              partition	2048		0		100' \
	'/dev/mapper/sesame                      partition	1024		0		-3'
put /proc/modules 'zram 40960 1 - Live 0xffffffffc0a5e000'
put /proc/crypto 'name         : lzo' 'type         : scomp' '' 'name         : sesame' 'type         : skcipher'
put /proc/cpuinfo 'processor	: 0' 'model name	: CPU' 'Serial		: sesame' '' 'processor	: 1'
mkdir -p "$m/proc/1" && printf 'HOME=/sesame\0container=lxc\0' >"$m/proc/1/environ"
put /proc/sys/vm/swappiness 60
put /proc/sys/vm/drop_caches 1 && chmod 200 "$m/proc/sys/vm/drop_caches"
put /sys/class/net/eth0/address 52:54:00:ab:cd:ef
put /sys/class/dmi/id/product_uuid c0ffee00-1234
put /sys/class/dmi/id/sys_vendor QEMU
put /etc/machine-id sesame
put /etc/os-release ID=debian BUG_REPORT_URL=https://sesame.example
put /etc/sysctl.d/50-x.conf '# sesame' 'net.ipv4.conf.sesame.forwarding = 1' '-vm/swappiness = 10' 'kernel.domainname = sesame' 'vm.dirty_*ratio = 5'
put /etc/tuned/active_profile fast
put /etc/tuned/fast/tuned.conf '[main]' include=slow '[sysctl]' vm.dirty_ratio=40 net.sesame=1
put /usr/lib/tuned/slow/tuned.conf '[main]' include=fast '[vm]' transparent_hugepages=never
put /run/mmopt/probes "mmopt-probes 1 $boot_id"
put /boot/config-6.1.0 'CONFIG_DEFAULT_HOSTNAME="sesame"' CONFIG_KSM=y '# CONFIG_ZSWAP is not set'

"$capture" --from="$m" "$work/copy" >"$work/out" 2>&1
status=$?
cp "$work/out" "$work/findings"
tap $status 'a machine below a directory is captured'
find "$work/copy/proc/sys/vm/drop_caches" -printf '%s %m\n' >"$work/findings" 2>&1
grep -qx '0 200' "$work/findings"
tap $? 'a write-only file is there, empty and still write-only'
"$capture" --from="$work/copy" "$work/again" >/dev/null 2>&1
# what an ordinary user cannot read cannot be looked at either
chmod -R u+rX "$work/copy" "$work/again"
diff -r --no-dereference "$work/copy" "$work/again" >"$work/findings" 2>&1
tap $? 'a copy of the copy is the same'
grep -rEl "$secrets" "$work/copy" >"$work/findings"
[ $? = 1 ]
tap $? 'nothing that identifies the machine is in the copy'
(cd "$work/copy" && find . | grep -E "$secrets|machine-id|/net/|uuid") >"$work/findings"
[ $? = 1 ]
tap $? 'nor is it in the name of a file'

# holds PATH TEXT NAME
holds() {
	printf '%s\n' "$2" | diff -u --label expected --label got - "$work/copy$1" >"$work/findings" 2>&1
	tap $? "$3"
}
holds /proc/cmdline 'BOOT_IMAGE=/boot/vmlinuz root=/dev/root ro quiet hugepagesz=2M hugepages=64 "thp_anon=16K:always;64K:never" -- init-arguments' \
	'the command line keeps its memory parameters in their order'
holds /proc/sys/kernel/hostname machine 'the host has a name that is not its own'
holds /proc/version 'Linux version 6.1.0 (builder@machine) (gcc 12) #1 SMP' 'who built the kernel is left out'
holds /proc/self/mounts '/dev/root / ext4 rw 0 0
hugetlbfs /dev/hugepages hugetlbfs rw,relatime,pagesize=2M 0 0' 'mounts of huge pages stay, others go'
holds /proc/swaps 'Filename				Type		Size		Used		Priority
/swapfile                       file		1024		0		-2
/dev/zram0                              partition	2048		0		100
/swapfile2                      partition	1024		0		-3' 'swap files lose their names, not their sizes'
holds /etc/sysctl.d/50-x.conf '

-vm/swappiness = 10

vm.dirty_*ratio = 5' 'memory keys of sysctl.d stay on their lines'
holds /etc/tuned/fast/tuned.conf '[main]
include=slow
[sysctl]
vm.dirty_ratio=40
' 'memory keys of the profile in use stay'
holds /usr/lib/tuned/slow/tuned.conf '[main]
include=fast
[vm]
transparent_hugepages=never' 'and those of the profile it includes'
holds /boot/config-6.1.0 'CONFIG_KSM=y
# CONFIG_ZSWAP is not set' 'build options of memory management stay'
holds /run/mmopt/probes 'mmopt-probes 1 00000000-0000-4000-8000-000000000000' 'the probes belong to the boot of the copy'
holds /proc/sys/kernel/random/boot_id 00000000-0000-4000-8000-000000000000 'the boot id is replaced'
[ "$(tr '\0' '\n' <"$work/copy/proc/1/environ")" = container=lxc ]
tap $? 'of the environment only the container is kept'
"$capture" --from="$m" "$work/copy" >"$work/findings" 2>&1
[ $? = 1 ]
tap $? 'a directory with something in it is refused'
"$capture" --from="$m/etc" "$work/none" >"$work/findings" 2>&1
[ $? = 1 ] && [ ! -e "$work/none" ]
tap $? 'a place without /proc is refused'
"$capture" --bogus "$work/none" >"$work/findings" 2>&1
[ $? = 1 ]
tap $? 'an unknown option is refused'

# ---- the machine under the test, read only
"$capture" "$work/here" >"$work/findings" 2>&1 && [ -s "$work/here/proc/meminfo" ] && [ -s "$work/here/proc/sys/vm/swappiness" ]
tap $? 'this machine is captured'
chmod -R u+rX "$work/here"
grep -rlF -e "$(cat /proc/sys/kernel/random/boot_id)" "$work/here" >"$work/findings"
[ $? = 1 ]
tap $? 'its boot id is not in the copy'

echo "1..$n"
[ $failed = 0 ]
