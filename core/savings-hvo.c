/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>

#include "base/number.h"
#include "base/strutil.h"
#include "core/savings-internal.h"

/*
 * The struct pages of huge pages that HVO gives back.  Three ways to know, best first: the kernel counts the pages it has
 * optimised, size by size; it counts all memory for struct pages (Linux 6.11); or the pools alone, by arithmetic.  Kernel
 * documentation: mm/vmemmap_dedup.rst.
 */

#define HVO_SWITCH "/proc/sys/vm/hugetlb_optimize_vmemmap"

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

/*
 * Pages of struct page that all pools' huge pages free, or those of them that the kernel counts as optimised.  *ret_terms
 * becomes "512 x 7 + 1 x 4095", NULL where there is nothing; the caller frees.
 */
static uint64_t sum_of_pools(struct measurement *m, const struct pools *pools, bool optimized, char **ret_terms)
{
	_cleanup_free_ char *terms = NULL;
	uint64_t sum = 0;

	for (size_t i = 0; i < pools->n; i++) {
		const struct pool *p = &pools->items[i];
		uint64_t each = optimisable_pages(m, p->size_bytes), n = optimized ? p->optimized : p->pages, pages;
		_cleanup_free_ char *before = NULL;

		if (!each || !n)
			continue;
		before = TAKE_PTR(terms);
		measurement_text(m, &terms, "%s%s%" PRIu64 " x %" PRIu64, before ?: "", before ? " + " : "", n, each);
		if (__builtin_mul_overflow(n, each, &pages) || __builtin_add_overflow(sum, pages, &sum))
			sum = UINT64_MAX;
	}
	*ret_terms = TAKE_PTR(terms);
	return sum;
}

/* Does the kernel count the optimised pages of each size that can be optimised? */
static bool all_counted(const struct measurement *m, const struct pools *pools)
{
	bool any = false;

	for (size_t i = 0; i < pools->n; i++) {
		if (!optimisable_pages(m, pools->items[i].size_bytes))
			continue;
		if (!pools->items[i].counted)
			return false;
		any = true;
	}
	return any;
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

static int measured_by_memmap(struct facts *facts, struct kernel_io *io, int64_t *ret_bytes)
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

int savings_hvo_pools(struct facts *facts, struct kernel_io *io, struct hvo_pools *ret)
{
	struct measurement m = { .facts = facts, .io = io };
	_cleanup_(pools_clear) struct pools pools = {};
	_cleanup_free_ char *full = NULL, *now = NULL;
	struct hvo_pools h = {};
	int r;

	r = facts_probe(facts, io, FACTS_KERNEL | FACTS_MEMORY | FACTS_HUGETLB | FACTS_STRUCT_PAGE);
	if (r < 0)
		return r;
	if (facts_number(facts, FACT_PAGE_SIZE, &m.page_bytes) < 0)
		return -ENODATA;
	pools_read(&m, &pools);
	h.full_bytes = bytes_of(sum_of_pools(&m, &pools, false, &full), m.page_bytes);
	h.counted = all_counted(&m, &pools);
	if (h.counted)
		h.bytes = bytes_of(sum_of_pools(&m, &pools, true, &now), m.page_bytes);
	for (size_t i = 0; i < pools.n; i++) {
		if (!optimisable_pages(&m, pools.items[i].size_bytes))
			continue;
		h.pages += pools.items[i].pages;
		h.optimized += h.counted ? pools.items[i].optimized : 0;
	}
	if (m.failed)
		return -ENOMEM;
	*ret = h;
	return 0;
}

/* Has any size the file at all?  Cheap: it saves older kernels the facts. */
static bool has_counter(struct kernel_io *io)
{
	_cleanup_(strv_freep) char **names = NULL;

	if (kernel_io_list(io, "/sys/kernel/mm/hugepages", &names) < 0)
		return false;
	for (char **name = names; name && *name; name++) {
		_cleanup_free_ char *path = xasprintf("/sys/kernel/mm/hugepages/%s/vmemmap_optimized_hugepages", *name);

		if (path && kernel_io_exists(io, path))
			return true;
	}
	return false;
}

int savings_hvo_measured(struct facts *facts, struct kernel_io *io, int64_t *ret_bytes)
{
	struct hvo_pools pools;
	int r;

	if (has_counter(io)) {
		r = savings_hvo_pools(facts, io, &pools);
		if (r == -ENOMEM)
			return r;
		if (r >= 0 && pools.counted) {
			*ret_bytes = pools.bytes;
			return 0;
		}
	}
	return measured_by_memmap(facts, io, ret_bytes);
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

/* Where the size of struct page is a conclusion, so is all that follows from it. */
static enum saving_method counted_method(const struct measurement *m)
{
	const struct fact *size = facts_get(m->facts, FACT_STRUCT_PAGE);

	return size && size->confidence == CONFIDENCE_INFERRED ? SAVING_ESTIMATED : SAVING_MEASURED;
}

/* The kernel's own count; where it counts its memory for struct pages too, both have to say the same. */
static void add_hvo_counted(struct measurement *m, const struct pools *pools, const struct memmap *v)
{
	struct saving *row = measurement_row(m, "hvo", NULL);
	_cleanup_free_ char *terms = NULL;
	uint64_t freed = sum_of_pools(m, pools, true, &terms);
	char a[24], b[24];

	saving_set(row, bytes_of(freed, m->page_bytes), counted_method(m), true);
	if (row->method == SAVING_ESTIMATED)
		measurement_text(m, &row->reason, "the size of struct page, on which it rests, is inferred");
	measurement_text(m, &row->formula, "(%s) pages x %" PRIu64, terms ?: "0", m->page_bytes);
	measurement_text(m, &row->sources, "/sys/kernel/mm/hugepages/hugepages-*kB/vmemmap_optimized_hugepages%s",
			 v ? " /proc/vmstat" : "");
	if (v && v->freed != freed)
		measurement_remark(m, row,
				   "the counters disagree: nr_memmap_pages and nr_memmap_boot_pages in /proc/vmstat "
				   "make it %s, not %s (page_ext and device memory count there too)",
				   format_bytes(bytes_of(v->freed, m->page_bytes), a),
				   format_bytes(bytes_of(freed, m->page_bytes), b));
}

/* The same size by size: parts of the row above, hence not in the total. */
static void add_hvo_by_size(struct measurement *m, const struct pools *pools)
{
	for (size_t i = 0; i < pools->n; i++) {
		const struct pool *p = &pools->items[i];
		uint64_t each = optimisable_pages(m, p->size_bytes), pages;
		struct saving *row;

		if (!each || !p->optimized)
			continue;
		row = measurement_row(m, "hvo", p->size);
		if (__builtin_mul_overflow(p->optimized, each, &pages))
			pages = UINT64_MAX;
		saving_set(row, bytes_of(pages, m->page_bytes), counted_method(m), false);
		measurement_text(m, &row->formula, "%" PRIu64 " x %" PRIu64 " pages x %" PRIu64, p->optimized, each,
				 m->page_bytes);
		measurement_text(m, &row->sources,
				 "/sys/kernel/mm/hugepages/hugepages-%" PRIu64 "kB/vmemmap_optimized_hugepages",
				 p->size_bytes / 1024);
		measurement_text(m, &row->reason,
				 "%" PRIu64 " huge pages are optimised; counted in the sum over all sizes",
				 p->optimized);
	}
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
	if (supported && m->page_bytes && all_counted(m, pools)) {
		add_hvo_counted(m, pools, r == 0 ? &v : NULL);
	} else if (supported && m->page_bytes && r == 0) {
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

/* What all pools together would give on top of now if each of their pages were optimised. */
static void add_hvo_what_if(struct measurement *m, const struct pools *pools)
{
	bool known = last_row(m)->known;
	int64_t now = known ? last_row(m)->bytes : 0, more;
	_cleanup_free_ char *terms = NULL;
	uint64_t pages = sum_of_pools(m, pools, false, &terms);
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

	pools_read(m, &pools);
	add_hvo_now(m, &pools, supported);
	if (m->what_if && supported)
		add_hvo_what_if(m, &pools);
	if (supported && all_counted(m, &pools))
		add_hvo_by_size(m, &pools);
}
