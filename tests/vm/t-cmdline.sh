#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# vm: bare mem=3G timeout=900
# What a kernel makes of repeated and reordered memory parameters, and that mmopt, which only reads the line, says the same: the
# pools of boot.hugetlb.* against nr_hugepages, the winner of each repeated name against the file of its effect.
. guest/test-lib.sh

hugepages=/sys/kernel/mm/hugepages

# PAGES-OF-2M PAGES-OF-1G DEFAULT-SIZE | THP-WORD HVO | parameters; - is "not looked at"
rows=(
	'8 1 2M | - - | hugepagesz=2M hugepages=8 hugepagesz=1G hugepages=1'
	'8 0 2M | madvise - | hugepagesz=2M hugepages=8 hugepagesz=2M hugepages=16 transparent_hugepage=always transparent-hugepage=madvise'
	'8 0 2M | - 0 | hugepages=8 hugepages=16 hugetlb_free_vmemmap=on hugetlb_free_vmemmap=off'
	'4 0 2M | - 1 | hugepages=4 hugepagesz=2M hugepages=9 hugetlb-free-vmemmap=on'
	'1 0 2M | - - | hugepagesz=1G hugepagesz=2M hugepages=1 hugepages=64'
	'0 0 2M | - - | default_hugepagesz=2M default_hugepagesz=1G hugepages=1'
	'0 1 1G | - - | hugepagesz=1G hugepages=1 default_hugepagesz=1G hugepages=2'
	'3 0 2M | - - | hugepages=8 default_hugepagesz=2M hugepages=3'
	'2 0 2M | - - | hugepages=2M'
	'7 0 2M | never - | hugepagesz=3M hugepages=5 hugepages=7 transparent_hugepage=never -- transparent_hugepage=always'
)

predicted() {
	json facts.json ".facts[] | select(.name == \"$1\") | .value // \"none\""
}

number_or_0() {
	local n

	n=$(predicted "$1")
	echo "${n:-0}"
}

check_row() {
	local counts words line thp hvo two one size

	IFS='|' read -r counts words line <<<"$1"
	read -r two one size <<<"$counts"
	read -r thp hvo <<<"$words"
	expect_eq "2M pages with $line" "$(<$hugepages/hugepages-2048kB/nr_hugepages)" "$two"
	expect_eq "1G pages with $line" "$(<$hugepages/hugepages-1048576kB/nr_hugepages)" "$one"
	expect_eq "default size with $line" "$(meminfo Hugepagesize)" "$([ "$size" = 1G ] && echo 1048576 || echo 2048)"
	expect "facts" mmoptctl --json facts
	echo "$output" >facts.json
	expect_eq "2M pages as mmopt reads $line" "$(number_or_0 boot.hugetlb.2M.pages)" "$two"
	expect_eq "1G pages as mmopt reads $line" "$(number_or_0 boot.hugetlb.1G.pages)" "$one"
	if [ "$thp" != - ]; then
		expect_match "THP with $line" "$(</sys/kernel/mm/transparent_hugepage/enabled)" "\\[$thp\\]"
		expect_eq "THP as mmopt reads $line" "$(predicted boot.transparent_hugepage)" "$thp"
	fi
	if [ "$hvo" != - ]; then
		expect_eq "HVO with $line" "$(</proc/sys/vm/hugetlb_optimize_vmemmap)" "$hvo"
		expect_eq "HVO as mmopt reads $line" "$(predicted boot.hugetlb_free_vmemmap)" "$([ "$hvo" = 1 ] && echo on || echo off)"
	fi
}

n=$((VMRUN_BOOT - 2))
[ "$n" -lt 0 ] || check_row "${rows[n]}"
[ $((n + 1)) -lt ${#rows[@]} ] || exit 0
vm-host reboot "$(cut -d '|' -f 3 <<<"${rows[n + 1]}")"
