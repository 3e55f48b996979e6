/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>

#include "base/number.h"
#include "base/strutil.h"
#include "core/savings-internal.h"

/*
 * The pools of huge pages, and what they cost: struct pages, and pages that lie in a pool unused.  Kernel documentation:
 * admin-guide/mm/hugetlbpage.rst.
 */

static int read_pool_count(struct measurement *m, uint64_t size_bytes, const char *name, uint64_t *ret)
{
	_cleanup_free_ char *path = NULL;

	path = xasprintf("/sys/kernel/mm/hugepages/hugepages-%" PRIu64 "kB/%s", size_bytes / 1024, name);
	if (!path) {
		m->failed = true;
		return -ENOMEM;
	}
	return measurement_check(m, kernel_io_read_u64(m->io, path, ret));
}

void pools_read(struct measurement *m, struct pools *ret)
{
	_cleanup_(strv_freep) char **sizes = NULL;
	const char *words = facts_word(m->facts, FACT_HUGETLB_SIZES);

	*ret = (struct pools){ 0 };
	if (!words)
		return;
	if (strv_split(words, &sizes) < 0) {
		m->failed = true;
		return;
	}
	ret->items = calloc(strv_length(sizes) + 1, sizeof(*ret->items));
	if (!ret->items) {
		m->failed = true;
		return;
	}
	for (char **s = sizes; *s; s++) {
		struct pool p = { 0 };

		if (parse_size(*s, &p.size_bytes, NULL) < 0 ||
		    read_pool_count(m, p.size_bytes, "nr_hugepages", &p.pages) < 0 ||
		    read_pool_count(m, p.size_bytes, "free_hugepages", &p.free) < 0 ||
		    read_pool_count(m, p.size_bytes, "resv_hugepages", &p.reserved) < 0)
			continue;
		p.counted = read_pool_count(m, p.size_bytes, "vmemmap_optimized_hugepages", &p.optimized) >= 0;
		format_size_exact(p.size_bytes, p.size);
		ret->items[ret->n++] = p;
	}
}

void pools_clear(struct pools *pools)
{
	free(pools->items);
}

int memmap_counters(const char *vmstat, uint64_t *ret_memmap, uint64_t *ret_boot)
{
	uint64_t memmap, boot;

	if (keyed_u64(vmstat, "nr_memmap_pages", &memmap) < 0 || keyed_u64(vmstat, "nr_memmap_boot_pages", &boot) < 0)
		return -ENODATA;
	*ret_memmap = memmap;
	*ret_boot = boot;
	return 0;
}

static void add_unused(struct measurement *m, const struct pool *p, bool what_if)
{
	struct saving *row = measurement_row(m, "hugetlb-unused", p->size);
	uint64_t unused = p->free > p->reserved ? p->free - p->reserved : 0;
	int64_t bytes = bytes_of(unused, p->size_bytes);

	row->what_if = what_if;
	saving_set(row, what_if ? bytes : -bytes, SAVING_MEASURED, false);
	measurement_text(m, &row->formula, "%s(%" PRIu64 " free - %" PRIu64 " reserved) pages x %" PRIu64,
			 what_if ? "" : "-", p->free, p->reserved, p->size_bytes);
	measurement_text(m, &row->sources,
			 "/sys/kernel/mm/hugepages/hugepages-%" PRIu64 "kB/{free_hugepages,resv_hugepages}",
			 p->size_bytes / 1024);
	measurement_text(m, &row->reason, "%s",
			 what_if ? "if the pool shrank to the pages that are in use or reserved"
				 : "taken from the general pool and used by nobody; the policy's choice and not a "
				   "mechanism's doing, hence not in the total");
}

void savings_add_hugetlb_unused(struct measurement *m)
{
	_cleanup_(pools_clear) struct pools pools;
	bool any = false;

	pools_read(m, &pools);
	for (size_t i = 0; i < pools.n; i++) {
		const struct pool *p = &pools.items[i];

		if (!p->pages)
			continue;
		any = true;
		add_unused(m, p, false);
		if (m->what_if && p->free > p->reserved)
			add_unused(m, p, true);
	}
	if (!any)
		measurement_text(m, &measurement_row(m, "hugetlb-unused", NULL)->reason, "there is no huge page pool");
}

void savings_add_struct_page(struct measurement *m)
{
	struct saving *row = measurement_row(m, "struct-page", NULL);
	uint64_t memmap, boot, used, expected;

	if (!m->page_bytes) {
		measurement_text(m, &row->reason, "the page size is not known");
		return;
	}
	if (memmap_counters(m->vmstat, &memmap, &boot) == 0 && !__builtin_add_overflow(memmap, boot, &used)) {
		saving_set(row, -bytes_of(used, m->page_bytes), SAVING_MEASURED, false);
		measurement_text(m, &row->formula, "-(%" PRIu64 " + %" PRIu64 ") pages x %" PRIu64, memmap, boot,
				 m->page_bytes);
		measurement_text(m, &row->sources, "/proc/vmstat");
	} else if (facts_number(m->facts, FACT_SECTION_MEMMAP_PAGES, &expected) == 0) {
		saving_set(row, -bytes_of(expected, m->page_bytes), SAVING_COMPUTED, false);
		measurement_text(m, &row->formula, "-%" PRIu64 " pages x %" PRIu64, expected, m->page_bytes);
		measurement_text(m, &row->sources, "/sys/devices/system/memory");
	} else {
		measurement_text(m, &row->reason,
				 "neither counters in /proc/vmstat nor memory blocks to compute it from");
		return;
	}
	measurement_text(m, &row->reason, "%s, hence not in the total",
			 row->method == SAVING_MEASURED
				 ? "what the kernel needs to describe all memory; what HVO frees is off it already"
				 : "what the kernel needs to describe all memory with nothing freed by HVO");
}
