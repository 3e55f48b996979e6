/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/number.h"
#include "base/strutil.h"
#include "core/facts-internal.h"
#include "core/mounts.h"

#define LRU_GEN "/sys/kernel/mm/lru_gen"
#define KSM "/sys/kernel/mm/ksm"
#define ZSWAP "/sys/module/zswap/parameters"
#define SWAPS "/proc/swaps"

static void put_mglru(struct prober *p)
{
	if (!kernel_io_exists(p->io, LRU_GEN)) {
		put_unknown(p, FACT_MGLRU_ENABLED, LRU_GEN " is not there: not in this kernel");
		return;
	}
	put_file_word(p, FACT_MGLRU_ENABLED, LRU_GEN "/enabled");
	put_file_number(p, "mglru.min_ttl_ms", LRU_GEN "/min_ttl_ms");
}

int parse_swaps(const char *text, struct swaps *ret)
{
	_cleanup_free_ char *copy = strdup(text);
	struct swaps s = {};
	char *next = copy;

	if (!copy)
		return -ENOMEM;
	/* "Filename Type Size Used Priority", then the same per area in KiB; blanks in the name are written as \040. */
	strsep(&next, "\n");
	while (next) {
		char *line = strsep(&next, "\n"), *field[4];
		uint64_t size, used;
		const char *base;
		size_t n = 0;

		for (; n < ARRAY_SIZE(field) && line;) {
			field[n] = strsep(&line, " \t");
			n += field[n][0] != '\0';
		}
		if (n < ARRAY_SIZE(field) || parse_u64(field[2], &size) < 0 || parse_u64(field[3], &used) < 0)
			continue;
		mount_unescape(field[0]);
		base = strrchr(field[0], '/');
		if (startswith(base ? base + 1 : field[0], "zram") && streq(field[1], "partition"))
			s.zram++;
		else
			s.disk++;
		s.total_bytes += size * 1024;
		s.used_bytes += used * 1024;
	}
	*ret = s;
	return 0;
}

static void put_swap(struct prober *p)
{
	_cleanup_free_ char *text = NULL;
	struct swaps s;
	int r;

	text = prober_read(p, SWAPS, &r);
	if (text)
		r = parse_swaps(text, &s);
	if (r == -ENOENT) {
		/* The file is there if and only if the kernel can swap. */
		put_number(p, FACT_SWAP_TOTAL, 0, CONFIDENCE_READ, SWAPS " is not there: no swap in this kernel");
		put_word(p, FACT_SWAP_KIND, "none", CONFIDENCE_READ, SWAPS " is not there: no swap in this kernel");
		return;
	}
	if (r < 0) {
		put_unreadable(p, FACT_SWAP_TOTAL, SWAPS, r);
		put_unreadable(p, FACT_SWAP_KIND, SWAPS, r);
		return;
	}
	put_number(p, FACT_SWAP_TOTAL, s.total_bytes, CONFIDENCE_READ, SWAPS);
	put_number(p, "swap.used_bytes", s.used_bytes, CONFIDENCE_READ, SWAPS);
	put_word(p, FACT_SWAP_KIND,
		 s.zram && s.disk ? "mixed"
		 : s.zram	  ? "zram"
		 : s.disk	  ? "disk"
				  : "none",
		 CONFIDENCE_READ, SWAPS);
}

static void put_zswap(struct prober *p)
{
	if (!kernel_io_exists(p->io, ZSWAP)) {
		put_unknown(p, FACT_ZSWAP_ENABLED, ZSWAP " is not there: not in this kernel");
		return;
	}
	put_file_boolean(p, FACT_ZSWAP_ENABLED, ZSWAP "/enabled");
	put_file_word(p, "zswap.compressor", ZSWAP "/compressor");
	put_file_number(p, "zswap.max_pool_percent", ZSWAP "/max_pool_percent");
}

static void put_zram(struct prober *p)
{
	_cleanup_(strv_freep) char **names = NULL;
	uint64_t devices = 0, total = 0;

	if (kernel_io_list(p->io, "/sys/block", &names) < 0) {
		put_unknown(p, "zram.devices", "/sys/block cannot be listed");
		return;
	}
	for (size_t i = 0; names && names[i]; i++) {
		_cleanup_free_ char *path = NULL;
		uint64_t bytes;

		if (!startswith(names[i], "zram"))
			continue;
		devices++;
		path = prober_format(p, "/sys/block/%s/disksize", names[i]);
		if (path && kernel_io_read_u64(p->io, path, &bytes) == 0)
			total += bytes;
	}
	put_number(p, "zram.devices", devices, CONFIDENCE_READ, "/sys/block");
	if (devices)
		put_number(p, "zram.disksize_bytes", total, CONFIDENCE_READ, "/sys/block/zram*/disksize");
}

static void put_ksm(struct prober *p)
{
	if (!kernel_io_exists(p->io, KSM)) {
		put_unknown(p, "ksm.run", KSM " is not there: not in this kernel");
		return;
	}
	put_file_number(p, "ksm.run", KSM "/run");
	put_file_number(p, "ksm.pages_shared", KSM "/pages_shared");
	put_file_number(p, "ksm.pages_sharing", KSM "/pages_sharing");
}

static void put_damon(struct prober *p)
{
	bool reclaim = kernel_io_exists(p->io, "/sys/module/damon_reclaim"),
	     lru_sort = kernel_io_exists(p->io, "/sys/module/damon_lru_sort");

	put_word(p, "damon.modules",
		 reclaim && lru_sort ? "damon_reclaim damon_lru_sort"
		 : reclaim	     ? "damon_reclaim"
		 : lru_sort	     ? "damon_lru_sort"
				     : "none",
		 CONFIDENCE_READ, "/sys/module");
	put_boolean(p, "damon.sysfs", kernel_io_exists(p->io, "/sys/kernel/mm/damon/admin"), CONFIDENCE_READ,
		    "/sys/kernel/mm/damon/admin is there or not");
}

void facts_probe_reclaim(struct prober *p)
{
	put_mglru(p);
	put_large_folios(p);
	put_swap(p);
	put_zswap(p);
	put_zram(p);
	put_ksm(p);
	put_damon(p);
	put_boolean(p, "psi.available", kernel_io_exists(p->io, "/proc/pressure/memory"), CONFIDENCE_READ,
		    "/proc/pressure/memory is there or not");
}
