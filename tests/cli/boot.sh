#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# boot status: cases 3, 22 and 24 as far as nothing is written. Each loader's place, a line that would be cut, what is in the way.
. "$(dirname "$0")/lib.sh"

make_machine
policy $'[boot]\ntransparent_hugepage = never\n[hugetlb]\n2M.boot_pages = 512'
file /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages 0
file /proc/cmdline 'root=/dev/sda1 ro'

on boot status
exits 0
out_has 'Wanted: transparent_hugepage=never hugepagesz=2M hugepages=512'
out_has 'Add them where this kernel is started'

# place FILE TEXT: which loader's files are there, and where the parameters go then.
place() {
	make_machine
	file /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages 0
	policy '[hugetlb]
2M.boot_pages = 512'
	file "$1" ''
	on boot status
	exits 0
	out_has "Add them $2"
}

place /boot/grub/grub.cfg 'with mmoptctl export --format=grub --resolve >/etc/default/grub.d/90-mmopt.cfg, then run update-grub'
place /run/ostree-booted 'with rpm-ostree kargs'
place /boot/loader/loader.conf 'to /etc/kernel/cmdline and'
place /boot/extlinux/extlinux.conf 'to U_BOOT_PARAMETERS'
place /boot/firmware/cmdline.txt 'to the one line of /boot/firmware/cmdline.txt'
place /etc/zipl.conf 'to parameters= in /etc/zipl.conf'
place /boot/grub2/grub.cfg 'to GRUB_CMDLINE_LINUX_DEFAULT in /etc/default/grub, then run grub2-mkconfig'
file /boot/loader/entries/a.conf 'title x'
on boot status
out_has 'Add them to the options line of each file in /boot/loader/entries'

# A line that the kernel would cut is told, and no place for it.
make_machine
file /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages 0
policy $'[hugetlb]\n2M.boot_pages = 512'
file /proc/cmdline "$(printf 'a%.0s' {1..2030})"
on boot status
exits 0
out_has 'They do not fit: the line would have 2058 characters, and this kernel cuts off what is behind 2047 without a word'
on boot status --json
document 'd["fits"] is False and d["length_bytes"] == 2058 and d["verdict"] == "pending-reboot"'

# The same pair twice, and quotes, and what belongs to init.
file /proc/cmdline 'ro dyndbg="file mm/* +p hugepages=9" hugepagesz=2M hugepages=64 hugepages=64 -- --hugepages=3'
on boot status --json
document '"\"hugepagesz=2M hugepages=64\", which comes first" in d["parameters"][0]["reason"]'

on boot status
out_has 'Something on the line comes first: change that, as the table says'

# In effect: nothing to do.
file /proc/meminfo $'MemTotal:        4194304 kB\nHugepagesize:       2048 kB'
file /proc/cmdline 'ro hugepages=512'
file /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages 512
on boot status --json
document 'd["verdict"] == "in-sync" and d["wanted_parameters"] == "hugepagesz=2M hugepages=512"'
policy ''
on boot status --json
document 'd["verdict"] == "in-sync" and d["wanted_parameters"] is None and d["parameters"] == []'
