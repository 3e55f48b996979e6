/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/number.h"
#include "base/strutil.h"
#include "core/facts-internal.h"

#define THP "/sys/kernel/mm/transparent_hugepage"

static void put_sizes(struct prober *p)
{
	_cleanup_free_ uint64_t *sizes = NULL;
	_cleanup_free_ char *word = NULL;
	size_t n = 0;
	int r;

	r = list_page_sizes(p->io, THP, &sizes, &n);
	if (r < 0 || n == 0) {
		put_unknown(p, "mthp.sizes", THP " has no sizes: before Linux 6.8, or no huge pages");
		return;
	}
	for (size_t i = 0; i < n; i++) {
		char size[24], *longer;

		format_size_exact(sizes[i], size);
		longer = prober_format(p, "%s%s%s", word ?: "", word ? " " : "", size);
		free(word);
		word = longer;
	}
	put_word(p, "mthp.sizes", word, CONFIDENCE_READ, THP);
	for (size_t i = 0; i < n; i++) {
		static const char *const files[] = { "enabled", "shmem_enabled" };
		char size[24];

		format_size_exact(sizes[i], size);
		for (size_t k = 0; k < ARRAY_SIZE(files); k++) {
			_cleanup_free_ char *name = prober_format(p, "mthp.%s.%s", size, files[k]);
			_cleanup_free_ char *path = prober_format(p, THP "/hugepages-%llukB/%s",
								  (unsigned long long)(sizes[i] / 1024), files[k]);

			if (name && path && kernel_io_exists(p->io, path))
				put_file_choice(p, name, path);
		}
	}
}

static void put_counters(struct prober *p)
{
	static const char *const names[][2] = {
		{ "thp.zero_page_allocations", "thp_zero_page_alloc" },
		{ "thp.zero_page_allocation_failures", "thp_zero_page_alloc_failed" },
		{ "thp.fault_allocations", "thp_fault_alloc" },
		{ "thp.fault_fallbacks", "thp_fault_fallback" },
		{ "thp.collapses", "thp_collapse_alloc" },
		{ "thp.splits", "thp_split_page" },
	};
	_cleanup_free_ char *text = NULL;
	uint64_t n;

	text = prober_read(p, "/proc/vmstat", NULL);
	for (size_t i = 0; text && i < ARRAY_SIZE(names); i++) {
		_cleanup_free_ char *source = prober_format(p, "/proc/vmstat %s", names[i][1]);

		if (keyed_u64(text, names[i][1], &n) == 0)
			put_number(p, names[i][0], n, CONFIDENCE_READ, source);
	}
}

/*
 * Whether the huge zero page is allocated once and never given back: a build option (Linux 6.18), which nothing else
 * shows unless shrinkers can be seen in debugfs.
 */
static void put_persistent(struct prober *p)
{
	static const char option[] = "config.PERSISTENT_HUGE_ZERO_FOLIO";
	const char *source = facts_word(p->facts, FACT_CONFIG_SOURCE);

	if (facts_is(p->facts, option, "y"))
		put_boolean(p, FACT_ZERO_PAGE_PERSISTENT, true, CONFIDENCE_READ, source ?: option);
	else if (source)
		put_boolean(p, FACT_ZERO_PAGE_PERSISTENT, false, CONFIDENCE_READ, source);
	else
		put_unknown(p, FACT_ZERO_PAGE_PERSISTENT,
			    "a build option, and the kernel's configuration cannot be read");
}

void facts_probe_thp(struct prober *p)
{
	static const char *const numbers[][2] = {
		{ "khugepaged.pages_to_scan", THP "/khugepaged/pages_to_scan" },
		{ "khugepaged.scan_sleep_msec", THP "/khugepaged/scan_sleep_millisecs" },
		{ "khugepaged.max_ptes_none", THP "/khugepaged/max_ptes_none" },
	};

	if (!kernel_io_exists(p->io, THP)) {
		put_unknown(p, FACT_THP_ENABLED, THP " is not there: no transparent huge pages in this kernel");
		put_unknown(p, FACT_THP_PMD_SIZE, THP " is not there");
		return;
	}
	put_file_choice(p, FACT_THP_ENABLED, THP "/enabled");
	put_file_choice(p, "thp.defrag", THP "/defrag");
	put_file_choice(p, "thp.shmem_enabled", THP "/shmem_enabled");
	put_file_number(p, FACT_THP_PMD_SIZE, THP "/hpage_pmd_size");
	put_file_boolean(p, "thp.use_zero_page", THP "/use_zero_page");
	put_persistent(p);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		put_file_number(p, numbers[i][0], numbers[i][1]);
	put_sizes(p);
	put_counters(p);
}
