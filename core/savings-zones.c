/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>

#include "base/strutil.h"
#include "core/savings-internal.h"

/* The huge zero page, and what vm.min_free_kbytes keeps out of use. */

void savings_add_huge_zero_page(struct measurement *m)
{
	struct saving *row = measurement_row(m, "huge-zero-page", NULL);
	uint64_t made;

	measurement_text(m, &row->sources, "/proc/vmstat");
	if (keyed_u64(m->vmstat, "thp_zero_page_alloc", &made) < 0)
		measurement_text(m, &row->reason, "this kernel has no huge zero page");
	else if (!made)
		measurement_text(m, &row->reason, "the huge zero page was never used in this boot");
	else
		measurement_text(m, &row->reason,
				 "the kernel counts how often it made the huge zero page (%" PRIu64
				 "), not how many pages it stands for",
				 made);
}

/* What the kernel reckons vm.min_free_kbytes from. */
struct zones {
	uint64_t managed_pages; /* of the zones up to Normal */
	uint64_t populated;	/* zones with memory, among the same */
};

/* "Node 0, zone   Normal": the zone's name. */
static bool is_kernel_zone(const char *line)
{
	static const char *const names[] = { "DMA", "DMA32", "Normal" };
	const char *p = strstr(line, "zone");
	const char *end = strchrnul(line, '\n');

	if (!p || p >= end)
		return false;
	p += strlen("zone");
	while (*p == ' ')
		p++;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if ((size_t)(end - p) == strlen(names[i]) && startswith(p, names[i]))
			return true;
	return false;
}

static void read_zones(const char *zoneinfo, struct zones *ret)
{
	bool counts = false;
	const char *next;

	*ret = (struct zones){ 0 };
	for (const char *line = zoneinfo; line; line = next) {
		uint64_t n;

		next = strchr(line, '\n');
		if (next)
			next++;
		if (startswith(line, "Node ")) {
			counts = is_kernel_zone(line);
			continue;
		}
		if (!counts)
			continue;
		while (*line == ' ')
			line++;
		if (!startswith(line, "managed ") || keyed_u64(line, "managed", &n) < 0)
			continue;
		ret->managed_pages += n;
		ret->populated += n > 0;
	}
}

static uint64_t square_root(uint64_t n)
{
	uint64_t root = 0;

	for (uint64_t bit = UINT64_C(1) << 31; bit; bit >>= 1)
		if ((root + bit) * (root + bit) <= n)
			root += bit;
	return root;
}

static bool thp_is_on(struct measurement *m)
{
	_cleanup_free_ char *text = NULL;
	int r;

	r = measurement_check(m, kernel_io_read_line(m->io, "/sys/kernel/mm/transparent_hugepage/enabled", &text));
	return r == 0 && (strstr(text, "[always]") || strstr(text, "[madvise]"));
}

/*
 * What the kernel would set by itself: calculate_min_free_kbytes() in mm/page_alloc.c, raised by
 * set_recommended_min_free_kbytes() in mm/khugepaged.c where THP is on.
 */
static uint64_t default_min_free_kib(const struct measurement *m, const struct zones *z, bool thp)
{
	uint64_t page_kib = m->page_bytes / 1024, pmd_bytes, block_pages, pages;
	uint64_t kib = square_root(z->managed_pages * page_kib * 16);

	kib = MIN(MAX(kib, 128ULL), 262144ULL);
	if (!thp || facts_number(m->facts, FACT_THP_PMD_SIZE, &pmd_bytes) < 0)
		return kib;
	/* Two page blocks a zone, and for each of the 3 migrate types a block for each it can fall back to. */
	block_pages = pmd_bytes / m->page_bytes;
	pages = MIN(block_pages * z->populated * (2 + 3 * 3), z->managed_pages / 20);
	return MAX(kib, pages * page_kib);
}

void savings_add_min_free(struct measurement *m)
{
	struct saving *row = measurement_row(m, "min-free", NULL);
	_cleanup_free_ char *zoneinfo = NULL;
	uint64_t kib, usual;
	struct zones z;
	bool thp = thp_is_on(m);

	if (m->page_bytes < 1024 ||
	    measurement_check(m, kernel_io_read_u64(m->io, "/proc/sys/vm/min_free_kbytes", &kib)) < 0 ||
	    measurement_check(m, kernel_io_read(m->io, "/proc/zoneinfo", &zoneinfo, NULL)) < 0) {
		measurement_text(m, &row->reason, "vm.min_free_kbytes or /proc/zoneinfo cannot be read");
		return;
	}
	read_zones(zoneinfo, &z);
	if (!z.managed_pages) {
		measurement_text(m, &row->reason, "/proc/zoneinfo names no memory");
		return;
	}
	usual = default_min_free_kib(m, &z, thp);
	measurement_text(m, &row->formula, "(%" PRIu64 " - %" PRIu64 ") KiB", usual, kib);
	measurement_text(m, &row->sources, "/proc/sys/vm/min_free_kbytes /proc/zoneinfo%s",
			 thp ? " /sys/kernel/mm/transparent_hugepage/enabled" : "");
	/* The kernel reckoned at boot, from slightly less memory. */
	if (kib > usual - usual / 100 && kib < usual + usual / 100) {
		saving_set(row, 0, SAVING_COMPUTED, false);
		measurement_text(m, &row->reason, "within 1%% of what the kernel sets by itself%s",
				 thp ? " with THP on" : "");
		return;
	}
	saving_set(row, bytes_of(usual, 1024) - bytes_of(kib, 1024), SAVING_COMPUTED, false);
	measurement_text(
		m, &row->reason,
		"against what the kernel sets by itself%s; a reserve, not memory saved, hence not in the total",
		thp ? " with THP on" : "");
}
