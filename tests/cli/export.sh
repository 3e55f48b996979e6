#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The policy as a file of other programs: what each format has and has not, and that those programs read it as it is meant.
. "$(dirname "$0")/lib.sh"

make_machine
file /proc/meminfo $'MemTotal:        4194304 kB\nMemFree:         3000000 kB\nMemAvailable:    3500000 kB\nHugepagesize:       2048 kB'
file /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages 0
file /sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages 0
file /sys/module/zswap/parameters/compressor lzo
policy '[vm]
swappiness = 10
stat_interval = >= 5
-page-cluster = 0
lowmem_reserve_ratio = 256 256 32
[thp]
enabled = madvise
persistent_zero_page = yes
[hugetlb]
2M.pages = 10%
1G.pages = 1G
shrink = no
2M.boot_pages = 512
1G.boot_pages = 1
[zswap]
compressor = zstd
[boot]
transparent_hugepage = madvise
default_hugepagesz = 2M
thp_anon = 64K:always;128K:inherit
[sysctl]
net/ipv4/conf/eth0.100/rp_filter = 2
kernel.core_pattern = |/usr/bin/dump %p "a b"'

# export FORMAT [OPTION...]: the file in $WORK/out.
export_as() {
	local format=$1

	shift
	on export --format="$format" "$@"
	exits 0
}

# body: the lines that are no comments.
body() {
	grep -v '^#' "$WORK/out" || true
}

expect() {
	diff <(printf '%s\n' "$1") <(body) >&2 || fail "export: $LAST"
}

export_as sysctl.d
expect 'vm.lowmem_reserve_ratio = 256 256 32
-vm.page-cluster = 0
vm.swappiness = 10
kernel.core_pattern = |/usr/bin/dump %p "a b"
net/ipv4/conf/eth0.100/rp_filter = 2'
err_has "/etc/mmopt/policy.d/50-test.conf:3: vm.stat_interval: left out: this format cannot say \"at least\""
grep -q '^#   /etc/mmopt/policy.d/50-test.conf$' "$WORK/out" || fail "the heading does not name the file"
# procps reads it, though it knows no "-" before a name that is not there.
cp "$WORK/out" "$WORK/sysctl.conf"
/sbin/sysctl --dry-run -p "$WORK/sysctl.conf" >"$WORK/read" 2>&1 || true
grep -q '^vm.swappiness = 10$' "$WORK/read" || fail "sysctl(8) does not read it: $(cat "$WORK/read")"

export_as tmpfiles
expect 'w! /sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages - - - - 1
w! /sys/kernel/mm/transparent_hugepage/enabled - - - - madvise
w! /sys/module/zswap/parameters/compressor - - - - zstd'
err_has "hugetlb.2M.pages: left out: depends on the machine; --resolve takes what it comes to on this one"
cp "$WORK/out" "$WORK/mmopt.conf"
systemd-tmpfiles --create --boot --root="$ROOT" "$WORK/mmopt.conf"
[ "$(cat "$ROOT/sys/module/zswap/parameters/compressor")" = zstd ] || fail "systemd-tmpfiles did not write the compressor"
[ "$(cat "$ROOT/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages")" = 1 ] || fail "systemd-tmpfiles did not write the pool"
file /sys/module/zswap/parameters/compressor lzo
file /sys/kernel/mm/transparent_hugepage/enabled 'always [madvise] never'
systemd-tmpfiles --create --root="$ROOT" "$WORK/mmopt.conf"
[ "$(cat "$ROOT/sys/module/zswap/parameters/compressor")" = lzo ] || fail "it is written without --boot too"

export_as tmpfiles --resolve
grep -q 'hugepages-2048kB/nr_hugepages - - - - 204$' "$WORK/out" || fail "10% of 4 GiB are not 204 pages: $(cat "$WORK/out")"
err_has "hugetlb.2M.pages: apply would leave a larger pool as it is, this file shrinks it"
policy_of_all=$(cat "$ROOT/etc/mmopt/policy.d/50-test.conf")
policy "${policy_of_all/shrink = no/shrink = yes}"
export_as tmpfiles --resolve
[ ! -s "$WORK/err" ] || fail "with --resolve nothing is left out here: $(cat "$WORK/err")"

# The size before its count, the default size before both.
tokens='default_hugepagesz=2M transparent_hugepage=madvise hugepagesz=1G hugepages=1 hugepagesz=2M hugepages=512'
export_as kernel-cmdline
expect "default_hugepagesz=2M thp_anon=64K:always;128K:inherit ${tokens#* }"
export_as grub
err_has "boot.thp_anon: left out: its value has characters that do not get through a boot loader as they are"
# As grub-mkconfig reads it, behind a file that sets the variable and behind none.
cp "$WORK/out" "$WORK/90-mmopt.cfg"
# shellcheck disable=SC2016 # for the inner shell
read_by_sh='set -eu; . "$1"; printf "%s\n" "$GRUB_CMDLINE_LINUX_DEFAULT"'
[ "$(GRUB_CMDLINE_LINUX_DEFAULT=quiet sh -c "$read_by_sh" sh "$WORK/90-mmopt.cfg")" = "quiet $tokens" ] || fail "GRUB, behind quiet"
[ "$(sh -c "$read_by_sh" sh "$WORK/90-mmopt.cfg")" = "$tokens" ] || fail "GRUB, behind nothing"

export_as bootc-kargs
python3 - "$WORK/out" <<'EOF' || fail "bootc-kargs"
import sys, tomllib
with open(sys.argv[1], 'rb') as f:
    kargs = tomllib.load(f)['kargs']
assert kargs[0] == 'default_hugepagesz=2M' and kargs[-4:] == ['hugepagesz=1G', 'hugepages=1', 'hugepagesz=2M', 'hugepages=512'], kargs
EOF

export_as ansible
err_has "thp.persistent_zero_page: left out: it takes a running mmoptd"
err_has "boot.thp_anon: left out"
python3 - "$WORK/out" "$tokens" <<'EOF' || fail "ansible"
import sys, yaml
yaml.SafeLoader.add_constructor('!unsafe', lambda loader, node: loader.construct_scalar(node))
with open(sys.argv[1], encoding='utf-8') as f:
    tasks = yaml.safe_load(f)
copies = {t['ansible.builtin.copy']['dest']: t['ansible.builtin.copy']['content'] for t in tasks if 'ansible.builtin.copy' in t}
sysctls = copies['/etc/sysctl.d/90-mmopt.conf'].splitlines()
assert '-vm.page-cluster = 0' in sysctls and 'kernel.core_pattern = |/usr/bin/dump %p "a b"' in sysctls, sysctls
assert copies['/etc/tmpfiles.d/90-mmopt.conf'].splitlines()[-1] == 'w! /sys/module/zswap/parameters/compressor - - - - zstd'
assert sys.argv[2] in copies['/etc/default/grub.d/90-mmopt.cfg']
commands = [t['ansible.builtin.command'] for t in tasks if 'ansible.builtin.command' in t]
assert [c.split()[0] for c in commands] == ['/usr/lib/systemd/systemd-sysctl', 'systemd-tmpfiles', 'update-grub'], commands
EOF
on export --format=ansible --json
document 'd["format"] == "ansible" and "90-mmopt.conf" in d["text"] and len(d["diagnostics"]) == 4'

# Nothing to say is said, and the file is a right one all the same.
policy $'[vm]\nswappiness = 10'
for format in grub bootc-kargs kernel-cmdline tmpfiles; do
	export_as $format
	err_is "mmoptctl: notice: the policy asks for nothing that $format can say"
done
export_as bootc-kargs
expect 'kargs = []'
policy $'[vm]\nswappiness = keep'
export_as ansible
expect '[]'

# What no text file holds, and what would become two parameters, is left out.
policy $'[sysctl]\nkernel.core_pattern = |/x a\tb\nkernel.modprobe = /x/é\n[boot]\ncma = 64M init=/bin/sh\npsi = yes'
export_as sysctl.d
[ -z "$(body)" ] || fail "a tab got into the file"
err_has "sysctl.kernel.modprobe: left out: its value has characters that do not get through a text file"
err_has "sysctl.kernel.core_pattern: left out: its value has characters that do not get through a text file"
export_as bootc-kargs
expect 'kargs = ["psi=on"]'
err_has "boot.cma: left out: its value has characters that do not get through a boot loader"

# What counts on another machine only is told.
policy $'[Match]\nArchitecture = arm64\n[vm]\nswappiness = 10'
export_as sysctl.d
err_has "/etc/mmopt/policy.d/50-test.conf: does not count here"

# From a policy with mistakes nothing is made.
policy $'[vm]\nswapiness = 10'
on export --format=sysctl.d
exits 1
out_is_empty
err_has "did you mean \"swappiness\""
