#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# vm: kernel=6.1-patched,6.12-patched mem=1G timeout=600
# What mmopt makes of a kernel with the series: the knob of fault-around is set and its effect seen, HVO is switched on (also on
# 6.12, whose unpatched kernel has the defect), what it saves is exact, and all of it is taken back. Then the kernel is made to
# lie, and mmopt has to say so.
. guest/test-lib.sh

knob=/proc/sys/vm/want_old_faultaround_pte
switch=/proc/sys/vm/hugetlb_optimize_vmemmap
pool=/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages
counter=/sys/kernel/mm/hugepages/hugepages-2048kB/vmemmap_optimized_hugepages

# step FILE ID FIELD
step() {
	json "$1" ".steps[] | select(.id == \"$2\") | .$3"
}

# apply_knob VALUE RSS/REFERENCED: the effect as mmopt's own probe saw it.
apply_knob() {
	printf '[vm]\nwant_old_faultaround_pte = %s\n' "$1" >knob.conf
	expect "apply $1" mmoptctl --policy knob.conf --json=short apply
	expect_eq "knob" "$(cat "$knob")" "$1"
	expect "verify $1" mmoptctl --policy knob.conf --json=short verify
	echo "$output" >"$OUT/verify.json"
	expect_match "effect of $1" "$(step "$OUT/verify.json" vm.want_old_faultaround_pte reason)" "$2"
}

facts() {
	mmoptctl --json=short facts >"$OUT/facts.json"
	expect_eq "defect" "$(json "$OUT/facts.json" '.facts[] | select(.name == "hvo.defect") | .value')" none
	expect_match "where from" "$(json "$OUT/facts.json" '.facts[] | select(.name == "hvo.defect") | .source')" \
		"vmemmap_optimized_hugepages"
	expect_eq "commit check" "$(json "$OUT/facts.json" '.facts[] | select(.name == "commit.check_exact") | .value')" true
}

hvo() {
	local saved

	printf '[vm]\nhugetlb_optimize_vmemmap = auto\n[hugetlb]\n2M.pages = 64\n' >hvo.conf
	expect "apply" mmoptctl --policy hvo.conf --json=short apply
	echo "$output" >"$OUT/hvo.json"
	expect_eq "switch" "$(cat "$switch")" 1
	expect_eq "pool" "$(cat "$pool")" 64
	expect_eq "optimised" "$(cat "$counter")" 64
	mmoptctl --json=short savings >"$OUT/savings.json"
	saved=$(json "$OUT/savings.json" '.savings[] | select(.mechanism == "hvo" and .detail == null) | "\(.saved_bytes) \(.method) \(.reason)"')
	expect_eq "saving" "$saved" "$((64 * 7 * 4096)) measured null"
	expect_eq "of 2M" "$(json "$OUT/savings.json" '.savings[] | select(.mechanism == "hvo" and .detail == "2M") | .saved_bytes')" \
		$((64 * 7 * 4096))
	expect "verify" mmoptctl --policy hvo.conf verify
	expect "rollback" mmoptctl rollback
	expect_eq "switch after the rollback" "$(cat "$switch")" 0
	expect_eq "pool after the rollback" "$(cat "$pool")" 0
	expect_eq "optimised after the rollback" "$(cat "$counter")" 0
}

auto() {
	printf '[vm]\nwant_old_faultaround_pte = auto\n' >auto.conf
	expect "explain" mmoptctl --policy auto.conf explain vm.want_old_faultaround_pte
	echo "$output" >"$OUT/explain.txt"
	figure "$(grep -i reason "$OUT/explain.txt")"
	expect_match "reason of auto" "$output" "auto: "
	expect_match "the price" "$output" "ns"
}

# Takes every value and does nothing with it.
lie() {
	apply_knob 0 "Referenced 64 kB"
	echo 0 >lie
	mount --bind lie "$knob"
	printf '[vm]\nwant_old_faultaround_pte = 1\n' >knob.conf
	expect_status "apply to a kernel that lies" 3 mmoptctl --policy knob.conf --json=short apply
	echo "$output" >"$OUT/lie.json"
	expect_eq "outcome" "$(step "$OUT/lie.json" vm.want_old_faultaround_pte outcome)" refused
	expect_match "reason" "$(step "$OUT/lie.json" vm.want_old_faultaround_pte reason)" "without effect.*are young, whatever the file says"
	echo 1 >lie
	mmoptctl --policy knob.conf --json=short verify >"$OUT/lie-verify.json" || :
	expect_match "verify" "$(step "$OUT/lie-verify.json" vm.want_old_faultaround_pte reason)" "without effect"
	umount "$knob"
	expect_eq "the knob itself" "$(cat "$knob")" 0
}

facts
apply_knob 1 "Rss 64 kB, Referenced 4 kB"
apply_knob 0 "Rss 64 kB, Referenced 64 kB"
apply_knob -1 "Rss 64 kB, Referenced 64 kB"
expect "rollback" mmoptctl rollback
hvo
auto
lie
