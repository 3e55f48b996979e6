# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash disable=SC2034  # variables are for the tests
# What the tests of HVO in the kernel share. Pages here are the 2 MiB ones, unless a size is given in kB.

switch=/proc/sys/vm/hugetlb_optimize_vmemmap
bad_page=32
# A 2 MiB page has 512 struct pages of 64 bytes, which are 8 pages; one of them stays.
saved_pages=7
nr_hugepages=/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages
page_kb=$(($(getconf PAGESIZE) / 1024))

# pool FILE [SIZE_KB]: path of a file of the pool.
pool() {
	echo "/sys/kernel/mm/hugepages/hugepages-${2:-2048}kB/$1"
}

# resize PAGES [SIZE_KB]: asks for it; what came of it the caller has to read back.
resize() {
	echo "$1" >"$(pool nr_hugepages "${2:-2048}")"
}

# size SIZE_KB, optimized SIZE_KB
size() {
	cat "$(pool nr_hugepages "$1")"
}

optimized() {
	cat "$(pool vmemmap_optimized_hugepages "$1")"
}

# Pages that hold struct pages; 0 on kernels before 6.11, which do not count them.
memmap() {
	echo $(($(vmstat nr_memmap_pages) + $(vmstat nr_memmap_boot_pages)))
}

# Free memory in kB, with the pages in the lists of the CPUs. stat_refresh adds up what each CPU has counted.
free_kb() {
	cat /proc/sys/vm/stat_refresh
	echo $(($(meminfo MemFree) + page_kb * $(awk '$1 == "count:" { n += $2 } END { print n }' /proc/zoneinfo)))
}

bad_page_reports() {
	dmesg | grep -c "BUG: Bad page state" || :
}

# expect_size WHAT PAGES [SIZE_KB]
expect_size() {
	expect_eq "$1: pages of ${3:-2048} kB" "$(size "${3:-2048}")" "$2"
}

# expect_optimized WHAT PAGES [SIZE_KB]
expect_optimized() {
	expect_eq "$1: optimised pages of ${3:-2048} kB" "$(optimized "${3:-2048}")" "$2"
}

# expect_saved WHAT MEMMAP PAGES: where the kernel counts struct pages, so many are saved since there were MEMMAP.
expect_saved() {
	[ "$2" = 0 ] || expect_eq "$1: pages of struct pages saved" $(($2 - $(memmap))) "$3"
}

# hvo_oom_kills: how often the OOM killer was called, by the stacks of its reports, to optimise or restore a huge page.
hvo_oom_kills() {
	dmesg | awk '
		/ invoked oom-killer: / { report = 1; counted = 0 }
		/ Mem-Info:/ { report = 0 }
		report && !counted && /vmemmap_/ { counted = 1; n++ }
		END { print n + 0 }'
}

# keep_programs: what runs, and what the test is going to run, stays in memory. Else the processes beside a huge page pool that
# takes all memory fault their programs in again and again, and the kernel calls the OOM killer for that, HVO or not.
keep_programs() {
	local files

	mapfile -t files < <(
		cat /proc/[0-9]*/maps 2>/dev/null | awk '$6 ~ /^\// && !seen[$6]++ { print $6 }'
		type -P cat awk sleep grep dmesg sed getconf
	)
	vmtouch -q -d -l "${files[@]}"
	wait_for 30 "programs kept in memory" test "$(meminfo Mlocked)" -gt 0
	figure "programs kept in memory: $(meminfo Mlocked) kB"
}

# ask_too_much: a pool of ten times the memory; sets wanted. It takes all memory down to vm.min_free_kbytes, which is lowered
# then, or the next fork would call the OOM killer; leave_room puts it back, when the pool is gone.
ask_too_much() {
	wanted=$((10 * $(meminfo MemTotal) / 2048))
	floor=$(</proc/sys/vm/min_free_kbytes)
	# Builtins: nothing is forked in between.
	echo "$wanted" >"$nr_hugepages"
	echo $((floor / 4)) >/proc/sys/vm/min_free_kbytes
}

leave_room() {
	echo "$floor" >/proc/sys/vm/min_free_kbytes
}

# start_victims: processes that the OOM killer would take first.
start_victims() {
	local i never=/run/never

	mkfifo $never
	victims=()
	for i in 1 2 3 4; do
		(
			echo 1000 >/proc/self/oom_score_adj
			ballast=$(head -c 8M /dev/zero | tr '\0' x)
			read -r ballast <>$never
		) &
		victims+=($!)
	done
	sleep 2
}
