/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "tests/fake-kernel.h"

#define VM "/proc/sys/vm/"
#define MM "/sys/kernel/mm/"
#define THP MM "transparent_hugepage/"
#define HUGE_2M MM "hugepages/hugepages-2048kB/"
#define NODE_2M(n) "/sys/devices/system/node/node" #n "/hugepages/hugepages-2048kB/"

#define NUMBER(p, v, lo, hi)                                                         \
	{                                                                            \
		.path = p, .behaviour = FAKE_PLAIN, .value = v, .min = lo, .max = hi \
	}
#define TEXT(p, v)                                            \
	{                                                     \
		.path = p, .behaviour = FAKE_WORD, .value = v \
	}

/* An x86_64 machine of 8 GiB: 7 GiB available, one node, room for 2000 huge pages of 2M. */
static const struct fake_file machine_files[] = {
	TEXT("/proc/sys/kernel/osrelease", "6.18.0"),
	TEXT("/proc/sys/kernel/arch", "x86_64"),
	TEXT("/proc/sys/kernel/random/boot_id", "11111111-2222-3333-4444-555555555555"),
	TEXT("/proc/cmdline", "ro quiet"),
	TEXT("/proc/meminfo", "MemTotal:        8388608 kB\nMemFree:         7000000 kB\nMemAvailable:    7340032 kB\n"
			      "SwapTotal:             0 kB\nSwapFree:              0 kB\nCommitLimit:     4194304 kB\n"
			      "Committed_AS:     900000 kB\nHugetlb:               0 kB\nHugepagesize:       2048 kB"),
	TEXT("/proc/zoneinfo",
	     "Node 0, zone   Normal\n  pages free     1750000\n        min      16896\n        low      21120\n"
	     "        high     25344"),
	NUMBER(VM "swappiness", "60", 0, 200),
	NUMBER(VM "vfs_cache_pressure", "100", 0, 1000000),
	NUMBER(VM "watermark_scale_factor", "10", 1, 3000),
	NUMBER(VM "watermark_boost_factor", "15000", 0, 1000000),
	NUMBER(VM "min_free_kbytes", "20000", 0, 100000000),
	NUMBER(VM "percpu_pagelist_high_fraction", "0", 0, 1000),
	NUMBER(VM "compaction_proactiveness", "20", 0, 100),
	NUMBER(VM "extfrag_threshold", "500", 0, 1000),
	NUMBER(VM "compact_unevictable_allowed", "1", 0, 1),
	NUMBER(VM "page-cluster", "3", 0, 31),
	NUMBER(VM "overcommit_memory", "0", 0, 2),
	{ .path = VM "overcommit_ratio", .value = "50", .max = 1000, .linked = VM "overcommit_kbytes" },
	{ .path = VM "overcommit_kbytes", .value = "0", .max = 100000000, .linked = VM "overcommit_ratio" },
	NUMBER(VM "admin_reserve_kbytes", "8192", 0, 100000000),
	NUMBER(VM "user_reserve_kbytes", "131072", 0, 100000000),
	{ .path = VM "dirty_ratio", .value = "20", .max = 100, .linked = VM "dirty_bytes" },
	{ .path = VM "dirty_bytes", .value = "0", .min = 8192, .max = 1LL << 40, .linked = VM "dirty_ratio" },
	{ .path = VM "dirty_background_ratio", .value = "10", .max = 100, .linked = VM "dirty_background_bytes" },
	{ .path = VM "dirty_background_bytes",
	  .value = "0",
	  .min = 1,
	  .max = 1LL << 40,
	  .linked = VM "dirty_background_ratio" },
	NUMBER(VM "dirty_expire_centisecs", "3000", 0, 1000000),
	NUMBER(VM "dirty_writeback_centisecs", "500", 0, 1000000),
	NUMBER(VM "max_map_count", "65530", 0, 100000000),
	NUMBER(VM "page_lock_unfairness", "5", 0, 1000),
	NUMBER(VM "stat_interval", "1", 0, 1000),
	NUMBER(VM "oom_kill_allocating_task", "0", 0, 1),
	NUMBER(VM "panic_on_oom", "0", 0, 2),
	NUMBER(VM "hugetlb_optimize_vmemmap", "0", 0, 1),
	{ .path = VM "lowmem_reserve_ratio", .behaviour = FAKE_LIST, .value = "256\t256\t32\t0\t0" },
	{ .path = VM "compact_memory", .behaviour = FAKE_WRITE_ONLY, .value = "" },
	{ .path = HUGE_2M "nr_hugepages", .behaviour = FAKE_POOL, .value = "0", .max = 2000 },
	NUMBER(HUGE_2M "nr_overcommit_hugepages", "0", 0, 1000000),
	TEXT(HUGE_2M "free_hugepages", "0"),
	TEXT(HUGE_2M "resv_hugepages", "0"),
	TEXT(HUGE_2M "surplus_hugepages", "0"),
	{ .path = NODE_2M(0) "nr_hugepages", .behaviour = FAKE_POOL, .value = "0", .max = 700 },
	{ .path = THP "enabled",
	  .behaviour = FAKE_CHOICE,
	  .value = "always [madvise] never",
	  .raises = VM "min_free_kbytes",
	  .raises_to = 67584 },
	{ .path = THP "defrag", .behaviour = FAKE_CHOICE, .value = "always defer defer+madvise [madvise] never" },
	{ .path = THP "shmem_enabled",
	  .behaviour = FAKE_CHOICE,
	  .value = "always within_size advise [never] deny force" },
	NUMBER(THP "use_zero_page", "1", 0, 1),
	NUMBER(THP "khugepaged/max_ptes_none", "511", 0, 511),
	NUMBER(THP "khugepaged/pages_to_scan", "4096", 1, 100000000),
	NUMBER(THP "khugepaged/scan_sleep_millisecs", "10000", 0, 100000000),
	NUMBER(THP "khugepaged/defrag", "1", 0, 1),
	NUMBER(MM "ksm/run", "0", 0, 2),
	NUMBER(MM "ksm/sleep_millisecs", "20", 0, 100000),
	{ .path = MM "lru_gen/enabled", .behaviour = FAKE_MASK, .value = "0x0003", .max = 3 },
	NUMBER(MM "lru_gen/min_ttl_ms", "0", 0, 1000000),
	{ .path = "/sys/module/zswap/parameters/enabled", .behaviour = FAKE_BOOLEAN_NY, .value = "N" },
	TEXT("/sys/module/zswap/parameters/compressor", "lzo"),
	TEXT("/proc/crypto", "name         : lzo\ndriver       : lzo-generic\n\nname         : zstd"),
	{ .path = "/sys/kernel/debug/fault_around_bytes", .behaviour = FAKE_POWER_OF_2, .value = "65536" },
	TEXT("/sys/kernel/debug/sched/features", "x"),
	NUMBER("/proc/sys/kernel/numa_balancing", "1", 0, 4),
};

/* Thirty values that all differ from the machine's. */
static const char thirty_items[] =
	"[vm]\nswappiness = 10\nvfs_cache_pressure = 50\nwatermark_scale_factor = 125\nwatermark_boost_factor = 14000\n"
	"min_free_kbytes = 131072\npercpu_pagelist_high_fraction = 16\ncompaction_proactiveness = 30\n"
	"extfrag_threshold = 400\ncompact_unevictable_allowed = 0\npage-cluster = 0\novercommit_ratio = 90\n"
	"admin_reserve_kbytes = 16384\nuser_reserve_kbytes = 65536\ndirty_bytes = 268435456\n"
	"dirty_background_ratio = 15\ndirty_expire_centisecs = 1500\ndirty_writeback_centisecs = 250\n"
	"max_map_count = 262144\npage_lock_unfairness = 10\nstat_interval = 10\noom_kill_allocating_task = 1\n"
	"lowmem_reserve_ratio = 256 256 64 0 0\n"
	"[thp]\nenabled = always\ndefrag = defer\n"
	"[khugepaged]\nmax_ptes_none = 64\npages_to_scan = 2048\nscan_sleep_millisecs = 20000\n"
	"[ksm]\nsleep_millisecs = 100\n"
	"[mglru]\nmin_ttl_ms = 1000\n"
	"[zswap]\nenabled = yes\n";
#define THIRTY_ITEMS_N 30

#define machine_new() fake_kernel_new(machine_files, sizeof(machine_files) / sizeof(machine_files[0]))
