#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# HVO and a pool of 512 huge pages on the real kernel: what is said to be saved is what the kernel's counters say, a second run
# writes nothing, and rollback gives everything back (field case 8).
. "$(dirname "$0")/lib.sh"

switch=/proc/sys/vm/hugetlb_optimize_vmemmap
pool=/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages
[ -e "$switch" ] || skip "this kernel has no HVO"
[ -n "$(vmstat nr_memmap_boot_pages)" ] || skip "this kernel has no nr_memmap counters (before 6.11)"
# The switch counts for pages allocated from then on: those that are optimised already do not mind.
if [ "$(cat "$switch")" = 1 ]; then
	trap 'echo 1 >"$switch"; live_done' EXIT
	echo 0 >"$switch"
fi

had=$(cat "$pool")
printf '[vm]\nhugetlb_optimize_vmemmap = auto\n[hugetlb]\n2M.pages = %d\n' $((had + 512)) >"$WORK/policy.conf"
memmap() {
	echo $(($(vmstat nr_memmap_pages) + $(vmstat nr_memmap_boot_pages)))
}

snapshot >"$WORK/before"
memmap_before=$(memmap)
mmopt --policy "$WORK/policy.conf" --json=short apply >"$WORK/apply.json" || fail "apply: exit $?"
memmap_after=$(memmap)
[ "$(cat "$pool")" = $((had + 512)) ] || skip "this machine has no 512 huge pages to give"
expect "outcomes" "$(json "$WORK/apply.json" 'sorted({i["outcome"] for i in d["steps"]})')" "['applied']"

mmopt --json=short savings >"$WORK/savings.json"
said=$(json "$WORK/savings.json" 'sum(r["saved_bytes"] for r in d["savings"] if r["mechanism"] == "hvo")')
expect "method" "$(json "$WORK/savings.json" '[r["method"] for r in d["savings"] if r["mechanism"] == "hvo"][0]')" measured
expect "bytes saved" "$said" $(((memmap_before - memmap_after) * 4096))
expect "bytes saved" "$said" 14680064

strace -f -o "$WORK/trace" -e trace=openat,open,openat2 "$MMOPTCTL" --policy "$WORK/policy.conf" --json=short apply \
	>"$WORK/again.json" 9>&- || fail "second apply: exit $?"
expect "outcomes" "$(json "$WORK/again.json" 'sorted({i["outcome"] for i in d["steps"]})')" "['already']"
grep -c '/proc/sys' "$WORK/trace" >/dev/null || fail "strace saw nothing of /proc/sys: this check proves nothing"
if grep -E '"/(proc/sys|sys)/[^"]*", .*O_(WRONLY|RDWR)' "$WORK/trace"; then
	fail "the second apply opened a kernel file for writing"
fi

mmopt rollback >"$WORK/rollback" || fail "rollback: exit $?"
snapshot >"$WORK/after"
diff -u "$WORK/before" "$WORK/after" || fail "rollback left a difference"
expect "pages of struct page" "$(memmap)" "$memmap_before"
echo "hvo: $said bytes saved, measured; second apply wrote nothing; rollback left no difference"
