/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "temp-dir.h"

#include "core/savings.h"

/* A machine in files, with the facts that its probe would give. */
struct machine {
	struct temp_dir dir;
	struct kernel_io *io;
	struct facts facts;
};

static void number(struct machine *m, const char *name, uint64_t n)
{
	assert_int_equal(facts_set_number(&m->facts, FACTS_KERNEL, name, n, CONFIDENCE_READ, "test"), 0);
}

/* 24 GiB in 192 blocks of 128 MiB, 4 KiB pages, struct page of 64 bytes; pools empty, no counters. */
static void machine_make(struct machine *m)
{
	*m = (struct machine){ .dir = temp_dir_make() };
	assert_int_equal(kernel_io_open(m->dir.path, &m->io), 0);
	m->facts.groups = FACTS_ALL;
	number(m, FACT_PAGE_SIZE, 4096);
	number(m, FACT_MEMORY_TOTAL, UINT64_C(24) << 30);
	number(m, FACT_STRUCT_PAGE, 64);
	number(m, FACT_SECTION_MEMMAP_PAGES, 98304);
	number(m, FACT_THP_PMD_SIZE, 2097152);
	assert_int_equal(facts_set_boolean(&m->facts, FACTS_KERNEL, FACT_HVO_SUPPORTED, true, CONFIDENCE_READ, "test"),
			 0);
	assert_int_equal(facts_set_word(&m->facts, FACTS_KERNEL, FACT_HUGETLB_SIZES, "2M 1G", CONFIDENCE_READ, "test"),
			 0);
	temp_dir_write(&m->dir, "proc/sys/vm/hugetlb_optimize_vmemmap", "0\n");
}

static void machine_donep(struct machine *m)
{
	kernel_io_free(m->io);
	facts_clear(&m->facts);
	temp_dir_donep(&m->dir);
}

static void put(struct machine *m, const char *path, const char *text)
{
	temp_dir_write(&m->dir, path, text);
}

static void pool(struct machine *m, const char *size, const char *pages, const char *free, const char *reserved)
{
	static const char *const names[] = { "nr_hugepages", "free_hugepages", "resv_hugepages" };
	const char *const values[] = { pages, free, reserved };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_free_ char *path = xasprintf("sys/kernel/mm/hugepages/hugepages-%s/%s", size, names[i]);

		put(m, path, values[i]);
	}
}

static void measure(struct machine *m, bool what_if, struct savings *ret)
{
	assert_int_equal(savings_measure(&m->facts, m->io, what_if, ret), 0);
}

static const struct saving *find(const struct savings *s, const char *mechanism, const char *detail, bool what_if)
{
	for (size_t i = 0; i < s->n_rows; i++) {
		const struct saving *row = &s->rows[i];

		if (!streq(row->mechanism, mechanism) || row->what_if != what_if)
			continue;
		if (detail ? row->detail && streq(row->detail, detail) : !row->detail)
			return row;
	}
	return NULL;
}

static const struct saving *known(const struct savings *s, const char *mechanism, const char *detail, int64_t bytes)
{
	const struct saving *row = find(s, mechanism, detail, false);

	assert_non_null(row);
	assert_true(row->known);
	assert_true(row->bytes == bytes);
	/* No number without its formula and its source. */
	assert_non_null(row->formula);
	assert_non_null(row->sources);
	return row;
}

static const struct saving *no_data(const struct savings *s, const char *mechanism, const char *detail, bool what_if)
{
	const struct saving *row = find(s, mechanism, detail, what_if);

	assert_non_null(row);
	assert_false(row->known);
	assert_non_null(row->reason);
	return row;
}

/* 512 pages of 2M allocated with HVO on: 8 boot pages of struct page freed and 1 allocated for each. */
static void hvo_is_measured_to_the_page(void **state)
{
	_cleanup_(machine_donep) struct machine m;
	_cleanup_(savings_clear) struct savings s;
	const struct saving *row;
	int64_t bytes;

	machine_make(&m);
	put(&m, "proc/vmstat", "nr_memmap_pages 512\nnr_memmap_boot_pages 94208\n");
	pool(&m, "2048kB", "512\n", "512\n", "0\n");
	measure(&m, false, &s);
	row = known(&s, "hvo", NULL, 14680064);
	assert_int_equal(row->method, SAVING_MEASURED);
	assert_true(row->in_total);
	assert_string_equal(row->formula, "98304 - (512 + 94208) pages x 4096");
	assert_true(s.total_known);
	assert_true(s.total_bytes == 14680064);
	assert_int_equal(savings_hvo_measured(&m.facts, m.io, &bytes), 0);
	assert_true(bytes == 14680064);
}

static void hvo_on_an_inferred_struct_page_is_an_estimate(void **state)
{
	_cleanup_(machine_donep) struct machine m;
	_cleanup_(savings_clear) struct savings s;

	machine_make(&m);
	put(&m, "proc/vmstat", "nr_memmap_pages 512\nnr_memmap_boot_pages 94208\n");
	assert_int_equal(facts_set_number(&m.facts, FACTS_STRUCT_PAGE, FACT_SECTION_MEMMAP_PAGES, 98304,
					  CONFIDENCE_INFERRED, "test"),
			 0);
	measure(&m, false, &s);
	assert_int_equal(known(&s, "hvo", NULL, 14680064)->method, SAVING_ESTIMATED);
}

static void hvo_nothing_freed_is_a_measured_zero(void **state)
{
	_cleanup_(machine_donep) struct machine m;
	_cleanup_(savings_clear) struct savings s;

	machine_make(&m);
	put(&m, "proc/vmstat", "nr_memmap_pages 0\nnr_memmap_boot_pages 98304\n");
	measure(&m, false, &s);
	known(&s, "hvo", NULL, 0);
}

static void hvo_page_ext_gives_no_negative_saving(void **state)
{
	_cleanup_(machine_donep) struct machine m;
	_cleanup_(savings_clear) struct savings s;
	int64_t bytes = 4711;

	machine_make(&m);
	put(&m, "proc/vmstat", "nr_memmap_pages 24576\nnr_memmap_boot_pages 98304\n");
	measure(&m, false, &s);
	assert_non_null(strstr(no_data(&s, "hvo", NULL, false)->reason, "page_ext"));
	assert_false(s.total_known);
	assert_int_equal(savings_hvo_measured(&m.facts, m.io, &bytes), -ENODATA);
	assert_true(bytes == 4711);
}

/* Linux before 6.12.101: -1 as an unsigned number. */
static void hvo_counter_that_ran_below_zero(void **state)
{
	_cleanup_(machine_donep) struct machine m;
	_cleanup_(savings_clear) struct savings s;

	machine_make(&m);
	put(&m, "proc/vmstat", "nr_memmap_pages 18446744073709551615\nnr_memmap_boot_pages 98304\n");
	measure(&m, false, &s);
	no_data(&s, "hvo", NULL, false);
}

static void hvo_without_counters_is_computed(void **state)
{
	_cleanup_(machine_donep) struct machine m;
	_cleanup_(savings_clear) struct savings s;
	const struct saving *row;
	int64_t bytes = 4711;

	machine_make(&m);
	put(&m, "proc/vmstat", "nr_free_pages 1\n");
	put(&m, "proc/sys/vm/hugetlb_optimize_vmemmap", "1\n");
	pool(&m, "2048kB", "64\n", "64\n", "0\n");
	pool(&m, "1048576kB", "1\n", "1\n", "0\n");
	measure(&m, false, &s);
	row = known(&s, "hvo", NULL, (64 * 7 + 4095) * 4096);
	assert_int_equal(row->method, SAVING_COMPUTED);
	assert_non_null(strstr(row->reason, "upper bound"));
	assert_int_equal(savings_hvo_measured(&m.facts, m.io, &bytes), -ENODATA);
}

static void hvo_computed_is_bounded_by_memory(void **state)
{
	_cleanup_(machine_donep) struct machine m;
	_cleanup_(savings_clear) struct savings s;

	machine_make(&m);
	put(&m, "proc/sys/vm/hugetlb_optimize_vmemmap", "1\n");
	pool(&m, "2048kB", "18446744073709551615\n", "0\n", "0\n");
	measure(&m, false, &s);
	known(&s, "hvo", NULL, INT64_C(24) << 30);
}

static void hvo_off_without_counters_is_no_data(void **state)
{
	_cleanup_(machine_donep) struct machine m;
	_cleanup_(savings_clear) struct savings s;

	machine_make(&m);
	pool(&m, "2048kB", "64\n", "64\n", "0\n");
	measure(&m, false, &s);
	assert_non_null(strstr(no_data(&s, "hvo", NULL, false)->reason, "HVO is off"));
	savings_clear(&s);
	/* Without huge pages there is nothing that could be optimised. */
	pool(&m, "2048kB", "0\n", "0\n", "0\n");
	measure(&m, false, &s);
	known(&s, "hvo", NULL, 0);
}

static void hvo_not_in_this_kernel(void **state)
{
	_cleanup_(machine_donep) struct machine m;
	_cleanup_(savings_clear) struct savings s;

	machine_make(&m);
	assert_int_equal(facts_set_boolean(&m.facts, FACTS_KERNEL, FACT_HVO_SUPPORTED, false, CONFIDENCE_READ, "test"),
			 0);
	assert_int_equal(unlinkat(m.dir.fd, "proc/sys/vm/hugetlb_optimize_vmemmap", 0), 0);
	put(&m, "proc/vmstat", "nr_memmap_pages 0\nnr_memmap_boot_pages 98304\n");
	pool(&m, "2048kB", "64\n", "64\n", "0\n");
	measure(&m, true, &s);
	no_data(&s, "hvo", NULL, false);
	assert_null(find(&s, "hvo", NULL, true));
}

static void defect(struct machine *m, const char *word)
{
	assert_int_equal(facts_set_word(&m->facts, FACTS_KERNEL, FACT_HVO_DEFECT, word, CONFIDENCE_INFERRED, "test"),
			 0);
}

static const struct saving *hvo_what_if(struct machine *m, struct savings *ret)
{
	measure(m, true, ret);
	return find(ret, "hvo", NULL, true);
}

static void optimized(struct machine *m, const char *size, const char *pages)
{
	_cleanup_free_ char *path = xasprintf("sys/kernel/mm/hugepages/hugepages-%s/vmemmap_optimized_hugepages", size);

	put(m, path, pages);
}

/* Linux 6.1 has no other counter: what was optimised while HVO was on is known although it is off by now. */
static void hvo_counted_by_the_kernel_is_exact(void **state)
{
	_cleanup_(machine_donep) struct machine m;
	_cleanup_(savings_clear) struct savings s;
	const struct saving *row;
	int64_t bytes;

	machine_make(&m);
	put(&m, "proc/vmstat", "nr_free_pages 1\n");
	pool(&m, "2048kB", "100\n", "64\n", "0\n");
	pool(&m, "1048576kB", "2\n", "1\n", "0\n");
	optimized(&m, "2048kB", "64\n");
	optimized(&m, "1048576kB", "1\n");
	measure(&m, false, &s);
	row = known(&s, "hvo", NULL, (64 * 7 + 4095) * 4096);
	assert_int_equal(row->method, SAVING_MEASURED);
	assert_true(row->in_total);
	assert_string_equal(row->formula, "(64 x 7 + 1 x 4095) pages x 4096");
	assert_null(row->reason);
	assert_false(known(&s, "hvo", "2M", 64 * 7 * 4096)->in_total);
	assert_false(known(&s, "hvo", "1G", 4095 * 4096)->in_total);
	assert_true(s.total_bytes == (64 * 7 + 4095) * 4096);
	assert_int_equal(savings_hvo_measured(&m.facts, m.io, &bytes), 0);
	assert_true(bytes == (64 * 7 + 4095) * 4096);
	savings_clear(&s);

	/* What is not optimised yet is what could still be had. */
	defect(&m, "none");
	row = hvo_what_if(&m, &s);
	assert_non_null(row);
	assert_true(row->known && row->bytes == (36 * 7 + 4095) * 4096);
	assert_null(strstr(row->reason, "cannot be told"));
	savings_clear(&s);

	optimized(&m, "2048kB", "0\n");
	optimized(&m, "1048576kB", "0\n");
	measure(&m, false, &s);
	assert_string_equal(known(&s, "hvo", NULL, 0)->formula, "(0) pages x 4096");
	assert_null(find(&s, "hvo", "2M", false));
}

static void hvo_counters_are_held_against_each_other(void **state)
{
	_cleanup_(machine_donep) struct machine m;
	_cleanup_(savings_clear) struct savings s;

	machine_make(&m);
	put(&m, "proc/vmstat", "nr_memmap_pages 512\nnr_memmap_boot_pages 94208\n");
	pool(&m, "2048kB", "512\n", "512\n", "0\n");
	optimized(&m, "2048kB", "512\n");
	/* 1G cannot be counted on: it has no pool here and no files at all */
	measure(&m, false, &s);
	assert_null(known(&s, "hvo", NULL, 14680064)->reason);
	savings_clear(&s);
	optimized(&m, "2048kB", "500\n");
	measure(&m, false, &s);
	assert_non_null(strstr(known(&s, "hvo", NULL, 500 * 7 * 4096)->reason, "make it 14.0 MiB, not 13.7 MiB"));
}

/* Half a count is none. */
static void hvo_counted_for_one_size_only(void **state)
{
	_cleanup_(machine_donep) struct machine m;
	_cleanup_(savings_clear) struct savings s;

	machine_make(&m);
	put(&m, "proc/vmstat", "nr_memmap_pages 512\nnr_memmap_boot_pages 94208\n");
	pool(&m, "2048kB", "512\n", "512\n", "0\n");
	pool(&m, "1048576kB", "1\n", "1\n", "0\n");
	optimized(&m, "2048kB", "1\n");
	measure(&m, false, &s);
	assert_string_equal(known(&s, "hvo", NULL, 14680064)->formula, "98304 - (512 + 94208) pages x 4096");
	assert_null(find(&s, "hvo", "2M", false));
}

static void a_counter_gone_wild(void **state)
{
	_cleanup_(machine_donep) struct machine m;
	_cleanup_(savings_clear) struct savings s;

	machine_make(&m);
	pool(&m, "2048kB", "1\n", "1\n", "0\n");
	optimized(&m, "2048kB", "18446744073709551615\n");
	measure(&m, false, &s);
	known(&s, "hvo", NULL, INT64_MAX);
}

/* Half of the pool was there before HVO was on. */
static void what_if_hvo_is_what_comes_on_top(void **state)
{
	_cleanup_(machine_donep) struct machine m;
	_cleanup_(savings_clear) struct savings s;
	const struct saving *row;

	machine_make(&m);
	defect(&m, "none");
	put(&m, "proc/vmstat", "nr_memmap_pages 256\nnr_memmap_boot_pages 96256\n");
	pool(&m, "2048kB", "512\n", "0\n", "0\n");
	pool(&m, "1048576kB", "1\n", "0\n", "0\n");
	row = hvo_what_if(&m, &s);
	known(&s, "hvo", NULL, 256 * 7 * 4096);
	assert_non_null(row);
	assert_true(row->known && row->bytes == (256 * 7 + 4095) * 4096 && !row->in_total);
	assert_int_equal(row->method, SAVING_COMPUTED);
	assert_string_equal(row->formula, "(512 x 7 + 1 x 4095) pages x 4096 - 7340032 now");
	assert_null(strstr(row->reason, "sound"));
	assert_true(s.total_bytes == 256 * 7 * 4096);
	savings_clear(&s);

	defect(&m, "unknown");
	assert_non_null(strstr(hvo_what_if(&m, &s)->reason, "sound"));
	savings_clear(&s);
	defect(&m, "restore");
	assert_false(hvo_what_if(&m, &s)->known);
	savings_clear(&s);

	/* All of it is optimised: nothing is left to be had. */
	defect(&m, "none");
	put(&m, "proc/vmstat", "nr_memmap_pages 513\nnr_memmap_boot_pages 90112\n");
	assert_null(hvo_what_if(&m, &s));
	savings_clear(&s);
	measure(&m, false, &s);
	for (size_t i = 0; i < s.n_rows; i++)
		assert_false(s.rows[i].what_if);
}

static void what_if_hvo_without_a_pool_tells_what_a_page_gives(void **state)
{
	_cleanup_(machine_donep) struct machine m;
	_cleanup_(savings_clear) struct savings s;
	const struct saving *row;

	machine_make(&m);
	put(&m, "proc/vmstat", "nr_memmap_pages 0\nnr_memmap_boot_pages 98304\n");
	pool(&m, "2048kB", "0\n", "0\n", "0\n");
	row = hvo_what_if(&m, &s);
	assert_non_null(row);
	assert_false(row->known);
	assert_string_equal(row->reason, "28.0 KiB for each page of 2M; there is no pool yet");
}

/* What is not known beforehand is not guessed. */
static void what_if_makes_nothing_up(void **state)
{
	_cleanup_(machine_donep) struct machine m;
	_cleanup_(savings_clear) struct savings s;

	machine_make(&m);
	put(&m, "sys/kernel/mm/ksm/run", "0\n");
	put(&m, "sys/kernel/mm/ksm/pages_shared", "0\n");
	put(&m, "sys/kernel/mm/ksm/pages_sharing", "0\n");
	put(&m, "sys/kernel/mm/ksm/general_profit", "0\n");
	put(&m, "proc/meminfo", "Zswap:  0 kB\nZswapped:  0 kB\n");
	measure(&m, true, &s);
	no_data(&s, "ksm", NULL, false);
	no_data(&s, "ksm", NULL, true);
	/* A kernel without zswap cannot switch it on. */
	assert_null(find(&s, "zswap", NULL, true));
	savings_clear(&s);
	put(&m, "sys/module/zswap/parameters/enabled", "N\n");
	measure(&m, true, &s);
	no_data(&s, "zswap", NULL, true);
	no_data(&s, "zram", NULL, true);
}

static void unused_huge_pages_are_a_cost(void **state)
{
	_cleanup_(machine_donep) struct machine m;
	_cleanup_(savings_clear) struct savings s;
	const struct saving *row;

	machine_make(&m);
	pool(&m, "2048kB", "512\n", "100\n", "40\n");
	measure(&m, true, &s);
	row = known(&s, "hugetlb-unused", "2M", -60 * 2097152);
	assert_false(row->in_total);
	assert_int_equal(row->method, SAVING_MEASURED);
	row = find(&s, "hugetlb-unused", "2M", true);
	assert_non_null(row);
	assert_true(row->known && row->bytes == 60 * 2097152);
	assert_null(find(&s, "hugetlb-unused", "1G", false));
}

static void no_pool_no_loss(void **state)
{
	_cleanup_(machine_donep) struct machine m;
	_cleanup_(savings_clear) struct savings s;

	machine_make(&m);
	measure(&m, true, &s);
	no_data(&s, "hugetlb-unused", NULL, false);
}

static void struct_page_is_a_cost_beside_the_total(void **state)
{
	_cleanup_(machine_donep) struct machine m;
	_cleanup_(savings_clear) struct savings s;
	const struct saving *row;

	machine_make(&m);
	put(&m, "proc/vmstat", "nr_memmap_pages 512\nnr_memmap_boot_pages 94208\n");
	measure(&m, false, &s);
	row = known(&s, "struct-page", NULL, -94720 * 4096);
	assert_int_equal(row->method, SAVING_MEASURED);
	assert_false(row->in_total);
	savings_clear(&s);
	put(&m, "proc/vmstat", "nr_free_pages 1\n");
	measure(&m, false, &s);
	row = known(&s, "struct-page", NULL, -98304 * 4096);
	assert_int_equal(row->method, SAVING_COMPUTED);
}

static void ksm_files(struct machine *m, const char *shared, const char *sharing, const char *profit)
{
	put(m, "sys/kernel/mm/ksm/run", "1\n");
	put(m, "sys/kernel/mm/ksm/pages_shared", shared);
	put(m, "sys/kernel/mm/ksm/pages_sharing", sharing);
	if (profit)
		put(m, "sys/kernel/mm/ksm/general_profit", profit);
}

/* The case's own figures: sharing is the saving, net is negative, zram is empty, zswap stands before zram. */
static void case_28_memory_saved_that_is_not_true(void **state)
{
	_cleanup_(machine_donep) struct machine m;
	_cleanup_(savings_clear) struct savings s;
	const struct saving *row;

	machine_make(&m);
	ksm_files(&m, "100\n", "40\n", "-73728\n");
	put(&m, "sys/block/zram0/mm_stat",
	    "       0        0        0        0        0        0        0        0        0\n");
	put(&m, "sys/block/vda/size", "1\n");
	put(&m, "sys/module/zswap/parameters/enabled", "Y\n");
	put(&m, "proc/swaps", "Filename\tType\tSize\tUsed\tPriority\n/dev/zram0    partition\t8388604\t0\t100\n");
	put(&m, "proc/meminfo", "SwapCached: 0 kB\nZswap:  0 kB\nZswapped:  0 kB\n");
	put(&m, "proc/vmstat", "thp_zero_page_alloc 3\n");
	measure(&m, false, &s);

	row = known(&s, "ksm", "pages-sharing", 40 * 4096);
	assert_int_equal(row->method, SAVING_MEASURED);
	assert_string_equal(row->formula, "40 pages x 4096");
	assert_string_equal(row->sources, "/sys/kernel/mm/ksm/pages_sharing");
	/* Gross and net count the same pages: one of them is in the total. */
	assert_false(row->in_total);
	row = known(&s, "ksm", "general-profit", -73728);
	assert_true(row->in_total);

	row = no_data(&s, "zram", "zram0", false);
	assert_non_null(strstr(row->reason, "warning: zswap stands before zram"));
	row = no_data(&s, "zswap", NULL, false);
	assert_non_null(strstr(row->reason, "warning: zswap stands before zram"));
	no_data(&s, "huge-zero-page", NULL, false);

	/* HVO has neither counters nor huge pages here and adds 0. */
	known(&s, "hvo", NULL, 0);
	assert_true(s.total_known);
	assert_true(s.total_bytes == -73728);
}

static void case_28_ksm_without_general_profit(void **state)
{
	_cleanup_(machine_donep) struct machine m;
	_cleanup_(savings_clear) struct savings s;

	machine_make(&m);
	ksm_files(&m, "100\n", "40\n", NULL);
	measure(&m, false, &s);
	assert_true(known(&s, "ksm", "pages-sharing", 40 * 4096)->in_total);
	assert_null(find(&s, "ksm", "general-profit", false));
	savings_clear(&s);
	ksm_files(&m, "0\n", "0\n", NULL);
	measure(&m, false, &s);
	no_data(&s, "ksm", "pages-sharing", false);
}

static void case_28_ksm_merges_into_zero_pages_too(void **state)
{
	_cleanup_(machine_donep) struct machine m;
	_cleanup_(savings_clear) struct savings s;

	machine_make(&m);
	ksm_files(&m, "0\n", "0\n", "4096\n");
	put(&m, "sys/kernel/mm/ksm/ksm_zero_pages", "5\n");
	measure(&m, false, &s);
	known(&s, "ksm", "pages-sharing", 5 * 4096);
	assert_true(s.total_bytes == 4096);
}

static void case_28_total_leaves_zram_behind_zswap_out(void **state)
{
	_cleanup_(machine_donep) struct machine m;
	_cleanup_(savings_clear) struct savings s;
	const struct saving *row;

	machine_make(&m);
	put(&m, "sys/block/zram0/mm_stat", "1048576 300000 400000 0 400000 0 0 0 0\n");
	put(&m, "sys/module/zswap/parameters/enabled", "Y\n");
	put(&m, "proc/swaps", "Filename\tType\tSize\tUsed\tPriority\n/dev/zram0    partition\t8388604\t0\t100\n");
	put(&m, "proc/meminfo", "SwapCached: 8 kB\nZswap:  100 kB\nZswapped:  400 kB\n");
	measure(&m, false, &s);
	row = known(&s, "zram", "zram0", 1048576 - 400000);
	assert_false(row->in_total);
	row = known(&s, "zswap", NULL, 300 * 1024);
	assert_true(row->in_total);
	assert_non_null(strstr(row->reason, "8 KiB of it is in the swap cache"));
	assert_true(s.total_bytes == 300 * 1024);
}

static void zram_devices_are_told_apart(void **state)
{
	_cleanup_(machine_donep) struct machine m;
	_cleanup_(savings_clear) struct savings s;

	machine_make(&m);
	/* The pool may be larger than what it holds: shown negative. */
	put(&m, "sys/block/zram0/mm_stat", "4096 74 12288 0 12288 0 0 0 0\n");
	put(&m, "sys/block/zram1/mm_stat", "1048576 300000 400000 0 400000 0 0 0 0\n");
	put(&m, "sys/block/zram1/bd_stat", "      16        0       16\n");
	/* A file system, no swap. "zram1" is no prefix match for "zram10". */
	put(&m, "sys/block/zram10/mm_stat", "8192 100 4096 0 4096 0 0 0 0\n");
	put(&m, "sys/block/zram2/mm_stat", "broken\n");
	put(&m, "proc/swaps",
	    "Filename\tType\tSize\tUsed\tPriority\n/dev/zram0 partition\t1\t0\t1\n/dev/zram1\tpartition\t1\t0\t1\n");
	measure(&m, false, &s);
	assert_true(known(&s, "zram", "zram0", -8192)->in_total);
	assert_true(known(&s, "zram", "zram1", 1048576 - 65536 - 400000)->in_total);
	assert_false(known(&s, "zram", "zram10", 4096)->in_total);
	no_data(&s, "zram", "zram2", false);
	assert_true(s.total_bytes == -8192 + 1048576 - 65536 - 400000);
}

static void zswap_from_debugfs_where_meminfo_has_none(void **state)
{
	_cleanup_(machine_donep) struct machine m;
	_cleanup_(savings_clear) struct savings s;

	machine_make(&m);
	put(&m, "proc/meminfo", "MemTotal: 1 kB\n");
	put(&m, "sys/kernel/debug/zswap/stored_pages", "10\n");
	put(&m, "sys/kernel/debug/zswap/pool_total_size", "49152\n");
	measure(&m, false, &s);
	known(&s, "zswap", NULL, 40960 - 49152);
}

static void min_free_against_the_kernels_own_reckoning(void **state)
{
	static const char zoneinfo[] =
		"Node 0, zone      DMA\n  per-node stats\n      nr_inactive_anon 1\n  pages free     3840\n"
		"        min      11\n        present  3998\n        managed  3840\n"
		"Node 0, zone    DMA32\n  pages free     1\n        managed  762880\n"
		"Node 0, zone   Normal\n  pages free     1\n        managed  5404185\n"
		"Node 0, zone  Movable\n  pages free     0\n        managed  1000000\n";
	_cleanup_(machine_donep) struct machine m;
	_cleanup_(savings_clear) struct savings s;

	machine_make(&m);
	put(&m, "proc/zoneinfo", zoneinfo);
	put(&m, "proc/sys/vm/min_free_kbytes", "67584\n");
	put(&m, "sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
	/* 512 pages x 3 zones x (2 + 9) x 4 KiB = 67584 KiB: the kernel's own value on such a machine. */
	measure(&m, false, &s);
	known(&s, "min-free", NULL, 0);
	savings_clear(&s);
	put(&m, "proc/sys/vm/min_free_kbytes", "262144\n");
	measure(&m, false, &s);
	assert_false(known(&s, "min-free", NULL, (67584 - 262144) * INT64_C(1024))->in_total);
	savings_clear(&s);
	/* Without THP: the root of 16 times the memory in KiB. */
	put(&m, "sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n");
	put(&m, "proc/sys/vm/min_free_kbytes", "20000\n");
	measure(&m, false, &s);
	known(&s, "min-free", NULL, 0);
	savings_clear(&s);
	put(&m, "proc/sys/vm/min_free_kbytes", "10000\n");
	measure(&m, false, &s);
	known(&s, "min-free", NULL, (19873 - 10000) * INT64_C(1024));
}

static void an_empty_machine_gives_no_data(void **state)
{
	struct machine m = { .dir = temp_dir_make(), .facts.groups = FACTS_ALL };
	struct savings s;
	int64_t bytes;

	assert_int_equal(kernel_io_open(m.dir.path, &m.io), 0);
	measure(&m, true, &s);
	for (size_t i = 0; i < s.n_rows; i++) {
		assert_false(s.rows[i].known);
		assert_non_null(s.rows[i].reason);
	}
	assert_int_not_equal(s.n_rows, 0);
	assert_false(s.total_known);
	assert_int_equal(savings_hvo_measured(&m.facts, m.io, &bytes), -ENODATA);
	savings_clear(&s);
	machine_donep(&m);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(hvo_is_measured_to_the_page),
		cmocka_unit_test(hvo_on_an_inferred_struct_page_is_an_estimate),
		cmocka_unit_test(hvo_nothing_freed_is_a_measured_zero),
		cmocka_unit_test(hvo_page_ext_gives_no_negative_saving),
		cmocka_unit_test(hvo_counter_that_ran_below_zero),
		cmocka_unit_test(hvo_without_counters_is_computed),
		cmocka_unit_test(hvo_computed_is_bounded_by_memory),
		cmocka_unit_test(hvo_off_without_counters_is_no_data),
		cmocka_unit_test(hvo_not_in_this_kernel),
		cmocka_unit_test(hvo_counted_by_the_kernel_is_exact),
		cmocka_unit_test(hvo_counters_are_held_against_each_other),
		cmocka_unit_test(hvo_counted_for_one_size_only),
		cmocka_unit_test(a_counter_gone_wild),
		cmocka_unit_test(what_if_hvo_is_what_comes_on_top),
		cmocka_unit_test(what_if_hvo_without_a_pool_tells_what_a_page_gives),
		cmocka_unit_test(what_if_makes_nothing_up),
		cmocka_unit_test(unused_huge_pages_are_a_cost),
		cmocka_unit_test(no_pool_no_loss),
		cmocka_unit_test(struct_page_is_a_cost_beside_the_total),
		cmocka_unit_test(case_28_memory_saved_that_is_not_true),
		cmocka_unit_test(case_28_ksm_without_general_profit),
		cmocka_unit_test(case_28_ksm_merges_into_zero_pages_too),
		cmocka_unit_test(case_28_total_leaves_zram_behind_zswap_out),
		cmocka_unit_test(zram_devices_are_told_apart),
		cmocka_unit_test(zswap_from_debugfs_where_meminfo_has_none),
		cmocka_unit_test(min_free_against_the_kernels_own_reckoning),
		cmocka_unit_test(an_empty_machine_gives_no_data),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
