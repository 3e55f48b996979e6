/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>

#include "base/number.h"
#include "base/strutil.h"
#include "core/savings-internal.h"

/*
 * What huge pages save and cost: the struct pages that HVO frees, those that are left, and pages that lie in a pool
 * unused.  Kernel documentation: mm/vmemmap_dedup.rst, admin-guide/mm/hugetlbpage.rst.
 */

#define HVO_SWITCH "/proc/sys/vm/hugetlb_optimize_vmemmap"

/* One size's pool as it is now. */
struct pool {
	char size[24]; /* "2M" */
	uint64_t size_bytes;
	uint64_t pages; /* surplus pages among them */
	uint64_t free, reserved;
};

struct pools {
	struct pool *items;
	size_t n;
};

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

/* Counts are read here and not taken from the facts: a pool may have grown since the facts were probed. */
static void read_pools(struct measurement *m, struct pools *ret)
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
		format_size_exact(p.size_bytes, p.size);
		ret->items[ret->n++] = p;
	}
}

static void pools_clear(struct pools *pools)
{
	free(pools->items);
}

/*
 * Pages of struct page that HVO frees for one huge page: all but one.  0 where the kernel does not optimise this size
 * (hugetlb_vmemmap_init(): struct page not a power of two, or no more than one page of them).
 */
static uint64_t optimisable_pages(const struct measurement *m, uint64_t size_bytes)
{
	uint64_t struct_page, pages;

	if (!m->page_bytes || facts_number(m->facts, FACT_STRUCT_PAGE, &struct_page) < 0 || !struct_page ||
	    (struct_page & (struct_page - 1)))
		return 0;
	pages = size_bytes / m->page_bytes * struct_page / m->page_bytes;
	return pages > 1 ? pages - 1 : 0;
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

struct memmap {
	uint64_t expected; /* S0: with nothing optimised */
	uint64_t memmap, boot;
	uint64_t freed; /* S0 less the other two */
};

/* 0; -ENODATA where a number is lacking; -ERANGE where more is in use than S0: then S0 is not the whole of it. */
static int read_memmap(const struct facts *facts, const char *vmstat, struct memmap *ret)
{
	struct memmap v;
	uint64_t used;

	if (memmap_counters(vmstat, &v.memmap, &v.boot) < 0 ||
	    facts_number(facts, FACT_SECTION_MEMMAP_PAGES, &v.expected) < 0)
		return -ENODATA;
	/* Before 6.12.101 a counter could run below zero, which shows as a number near 2^64. */
	if (__builtin_add_overflow(v.memmap, v.boot, &used) || used > v.expected)
		return -ERANGE;
	v.freed = v.expected - used;
	*ret = v;
	return 0;
}

int savings_hvo_measured(struct facts *facts, struct kernel_io *io, int64_t *ret_bytes)
{
	_cleanup_free_ char *vmstat = NULL;
	struct memmap v;
	uint64_t page_bytes;
	int r;

	r = kernel_io_read(io, "/proc/vmstat", &vmstat, NULL);
	if (r < 0)
		return r == -ENOMEM ? r : -ENODATA;
	/* Old kernels have no counters: there the facts, which are not free to have, are not needed. */
	if (memmap_counters(vmstat, &v.memmap, &v.boot) < 0)
		return -ENODATA;
	r = facts_probe(facts, io, FACTS_KERNEL | FACTS_MEMORY | FACTS_STRUCT_PAGE);
	if (r < 0)
		return r;
	if (facts_number(facts, FACT_PAGE_SIZE, &page_bytes) < 0 || read_memmap(facts, vmstat, &v) < 0)
		return -ENODATA;
	*ret_bytes = bytes_of(v.freed, page_bytes);
	return 0;
}

/* Without counters: the kernel's own arithmetic on the pools, and only where they can be taken to be optimised. */
static void add_hvo_computed(struct measurement *m, const struct pools *pools)
{
	struct saving *row = measurement_row(m, "hvo", NULL);
	uint64_t huge_pages = 0, freed = 0, on, total_bytes;
	int64_t bytes;

	for (size_t i = 0; i < pools->n; i++) {
		uint64_t each = optimisable_pages(m, pools->items[i].size_bytes);

		huge_pages += each ? pools->items[i].pages : 0;
		if (__builtin_mul_overflow(each, pools->items[i].pages, &each) ||
		    __builtin_add_overflow(freed, each, &freed))
			freed = UINT64_MAX;
	}
	if (huge_pages && measurement_check(m, kernel_io_read_u64(m->io, HVO_SWITCH, &on)) == 0 && !on) {
		measurement_text(m, &row->reason,
				 "HVO is off and this kernel has no counters for it (Linux 6.11 has): huge pages that "
				 "were optimised while it was on cannot be told from the others");
		return;
	}
	bytes = bytes_of(freed, m->page_bytes);
	measurement_text(m, &row->formula, "%" PRIu64 " pages of struct page of %" PRIu64 " huge pages x %" PRIu64,
			 freed, huge_pages, m->page_bytes);
	measurement_text(m, &row->sources,
			 "/sys/kernel/mm/hugepages/hugepages-*kB/nr_hugepages " HVO_SWITCH " /proc/meminfo");
	if (huge_pages)
		measurement_remark(
			m, row,
			"an upper bound: huge pages that were allocated before HVO was on are not optimised, "
			"and this kernel has no counters to tell");
	if (facts_number(m->facts, FACT_MEMORY_TOTAL, &total_bytes) == 0 && (uint64_t)bytes > total_bytes) {
		bytes = bytes_of(total_bytes, 1);
		measurement_remark(m, row, "cut to the memory of the machine");
	}
	saving_set(row, bytes, SAVING_COMPUTED, true);
}

static void add_hvo_measured(struct measurement *m, const struct memmap *v)
{
	struct saving *row = measurement_row(m, "hvo", NULL);
	bool inferred = facts_get(m->facts, FACT_SECTION_MEMMAP_PAGES)->confidence == CONFIDENCE_INFERRED;

	saving_set(row, bytes_of(v->freed, m->page_bytes), inferred ? SAVING_ESTIMATED : SAVING_MEASURED, true);
	if (inferred)
		measurement_text(m, &row->reason, "the size of struct page, on which it rests, is inferred");
	measurement_text(m, &row->formula, "%" PRIu64 " - (%" PRIu64 " + %" PRIu64 ") pages x %" PRIu64, v->expected,
			 v->memmap, v->boot, m->page_bytes);
	measurement_text(m, &row->sources, "/proc/vmstat /sys/devices/system/memory");
}

static void add_hvo_now(struct measurement *m, const struct pools *pools, bool supported)
{
	struct memmap v;
	uint64_t struct_page;
	int r;

	r = read_memmap(m->facts, m->vmstat, &v);
	if (supported && m->page_bytes && r == 0) {
		add_hvo_measured(m, &v);
	} else if (!supported) {
		measurement_text(m, &measurement_row(m, "hvo", NULL)->reason,
				 "this kernel or machine cannot free struct pages of huge pages (no " HVO_SWITCH ")");
	} else if (r == -ERANGE) {
		/* Never a negative saving made of what is merely not in S0. */
		measurement_text(
			m, &measurement_row(m, "hvo", NULL)->reason,
			"/proc/vmstat counts more memory for struct pages than all memory blocks need: page_ext "
			"or device memory is among it, so the part that HVO freed cannot be told");
	} else if (m->page_bytes && facts_number(m->facts, FACT_STRUCT_PAGE, &struct_page) == 0) {
		add_hvo_computed(m, pools);
	} else {
		measurement_text(m, &measurement_row(m, "hvo", NULL)->reason, "the size of struct page is not known");
	}
}

/* The row of what HVO gives now, as added last. */
static const struct saving *last_row(const struct measurement *m)
{
	return m->savings->n_rows ? &m->savings->rows[m->savings->n_rows - 1] : &m->spare;
}

/* What one page of each size would give, for a machine that has no pool yet. */
static void describe_each(struct measurement *m, const struct pools *pools, struct saving *row)
{
	for (size_t i = 0; i < pools->n; i++) {
		uint64_t each = optimisable_pages(m, pools->items[i].size_bytes);
		char buf[24];

		if (each)
			measurement_remark(m, row, "%s for each page of %s",
					   format_bytes(bytes_of(each, m->page_bytes), buf), pools->items[i].size);
	}
	if (!row->reason)
		measurement_text(m, &row->reason, "no huge page size here can be optimised");
	else
		measurement_remark(m, row, "there is no pool yet");
}

/* "512 x 7 + 1 x 4095", and the sum. */
static uint64_t whole_pools(struct measurement *m, const struct pools *pools, char **ret_terms)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < pools->n; i++) {
		const struct pool *p = &pools->items[i];
		uint64_t each = optimisable_pages(m, p->size_bytes), pages;
		char *before = *ret_terms;

		if (!each || !p->pages)
			continue;
		*ret_terms = NULL;
		measurement_text(m, ret_terms, "%s%s%" PRIu64 " x %" PRIu64, before ?: "", before ? " + " : "",
				 p->pages, each);
		free(before);
		if (__builtin_mul_overflow(p->pages, each, &pages) || __builtin_add_overflow(sum, pages, &sum))
			sum = UINT64_MAX;
	}
	return sum;
}

/* What all pools together would give on top of now if each of their pages were optimised. */
static void add_hvo_what_if(struct measurement *m, const struct pools *pools)
{
	bool known = last_row(m)->known;
	int64_t now = known ? last_row(m)->bytes : 0, more;
	_cleanup_free_ char *terms = NULL;
	uint64_t pages = whole_pools(m, pools, &terms);
	struct saving *row;

	more = bytes_less(bytes_of(pages, m->page_bytes), now);
	if (pages && more <= 0)
		return;
	row = measurement_row(m, "hvo", NULL);
	row->what_if = true;
	if (facts_is(m->facts, FACT_HVO_DEFECT, "restore")) {
		measurement_text(m, &row->reason,
				 "HVO loses memory on this kernel when a pool shrinks: not to be used");
		return;
	}
	if (!pages) {
		describe_each(m, pools, row);
		return;
	}
	saving_set(row, more, SAVING_COMPUTED, false);
	measurement_text(m, &row->formula, "(%s) pages x %" PRIu64 " - %" PRIi64 " now", terms ?: "", m->page_bytes,
			 now);
	measurement_text(m, &row->sources, "/sys/kernel/mm/hugepages/hugepages-*kB/nr_hugepages /proc/vmstat");
	measurement_text(
		m, &row->reason,
		"if every page of the present pools had been allocated with HVO on; those that were not have to be "
		"given back and allocated again");
	if (!known)
		measurement_remark(m, row, "at most: what is optimised already cannot be told");
	if (!facts_is(m->facts, FACT_HVO_DEFECT, "none"))
		measurement_remark(m, row, "whether this kernel's HVO is sound is not known");
}

void savings_add_hvo(struct measurement *m)
{
	_cleanup_(pools_clear) struct pools pools;
	bool supported = facts_true(m->facts, FACT_HVO_SUPPORTED) || kernel_io_exists(m->io, HVO_SWITCH);

	read_pools(m, &pools);
	add_hvo_now(m, &pools, supported);
	if (m->what_if && supported)
		add_hvo_what_if(m, &pools);
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

	read_pools(m, &pools);
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
