/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The functional probes and all facts, on the kernel that runs the test. */
#include "core/probe.h"

#include <sched.h>

#include "facts-root.h"

static const char smaps[] = "00400000-00452000 r-xp 00000000 08:02 173521 /usr/bin/x\n"
			    "Size:                328 kB\n"
			    "Rss:                 100 kB\n"
			    "Referenced:           60 kB\n"
			    "AnonHugePages:         0 kB\n"
			    "VmFlags: rd ex mr mw me\n"
			    "7f0000000000-7f0000200000 rw-p 00000000 00:00 0 \n"
			    "Rss:                2048 kB\n"
			    "Referenced:            4 kB\n"
			    "AnonHugePages:      2048 kB\n"
			    "7f0000200000-7f0000300000 rw-p 00000000 00:00 0 abc-def Rss: 7 kB\n"
			    "Rss:                   8 kB\n";

static void smaps_text(void **state)
{
	struct smaps_entry e = { .rss_bytes = 77 };

	assert_int_equal(smaps_find(smaps, 0x400000, &e), 0);
	assert_int_equal(e.rss_bytes, 100 * 1024);
	assert_int_equal(e.referenced_bytes, 60 * 1024);
	assert_int_equal(e.anon_huge_bytes, 0);
	assert_int_equal(smaps_find(smaps, 0x7f00001fffff, &e), 0);
	assert_int_equal(e.rss_bytes, 2048 * 1024);
	assert_int_equal(e.anon_huge_bytes, 2048 * 1024);
	/* outside of all, and one whose lines are not all there */
	assert_int_equal(smaps_find(smaps, 0x452000, &e), -ENOENT);
	assert_int_equal(smaps_find(smaps, 0x7f0000200000, &e), -ENODATA);
	assert_int_equal(smaps_find("", 0x400000, &e), -ENOENT);
	assert_int_equal(smaps_find("400000-", 0x400000, &e), -ENOENT);
	assert_int_equal(e.rss_bytes, 2048 * 1024);
}

static void captured_machines_are_not_probed(void **state)
{
	_cleanup_root_ struct root r = root_make();
	struct access_flag_probe probe;
	uint64_t a, b;
	bool huge;

	assert_int_equal(probe_access_flag(r.io, &probe), -EOPNOTSUPP);
	assert_int_equal(probe_access_cost(r.io, &a, &b), -EOPNOTSUPP);
	assert_int_equal(probe_fault_around(r.io, &a, &b), -EOPNOTSUPP);
	assert_int_equal(probe_thp_fault(r.io, true, &huge), -EOPNOTSUPP);
}

static struct kernel_io *open_live(void)
{
	struct kernel_io *io;

	assert_int_equal(kernel_io_open(NULL, &io), 0);
	return io;
}

static void the_access_flag_here(void **state)
{
	_cleanup_(kernel_io_freep) struct kernel_io *io = open_live();
	struct access_flag_probe probe = {};
	uint64_t old_ns = 0, young_ns = 0;
	cpu_set_t before, after;

	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	if (probe_access_flag(io, &probe) < 0)
		skip(); /* before Linux 5.4, or memory is locked */
	assert_int_equal(sched_getaffinity(0, sizeof(after), &after), 0);
	assert_true(CPU_EQUAL(&before, &after));
	if (probe.set_by == ACCESS_FLAG_UNKNOWN) {
		assert_non_null(probe.reason);
		return;
	}
	assert_true(probe.rounds_usable > 0);
	assert_true(probe.faults_control <= probe.pages / 16);
	if (probe.set_by == ACCESS_FLAG_SOFTWARE)
		assert_true(probe.faults_old > probe.pages / 2);
	assert_int_equal(probe_access_cost(io, &old_ns, &young_ns), 0);
	assert_true(old_ns < 1000000);
}

static void fault_around_here(void **state)
{
	_cleanup_(kernel_io_freep) struct kernel_io *io = open_live();
	uint64_t window, referenced, page = sysconf(_SC_PAGESIZE);

	if (probe_fault_around(io, &window, &referenced) < 0)
		skip(); /* the kernel does not say: no CONFIG_PROC_PAGE_MONITOR */
	assert_true(window >= page && window % page == 0);
	assert_true(referenced <= window);
	assert_int_equal(window & (window - 1), 0);
}

/* A range that asks for no huge page gets none unless THP is on for all. */
static void huge_page_fault_here(void **state)
{
	_cleanup_(kernel_io_freep) struct kernel_io *io = open_live();
	_cleanup_free_ char *mode = NULL;
	bool huge = true;

	if (kernel_io_read_line(io, "/sys/kernel/mm/transparent_hugepage/enabled", &mode) < 0 ||
	    probe_thp_fault(io, false, &huge) < 0)
		skip();
	if (!strstr(mode, "[always]") && !strstr(mode, "[madvise]"))
		assert_false(huge);
	if (strstr(mode, "[madvise]"))
		assert_false(huge);
}

static void all_facts_of_this_machine(void **state)
{
	_cleanup_(kernel_io_freep) struct kernel_io *io = open_live();
	_cleanup_(facts_clear) struct facts facts = {};
	uint64_t page = 0, expected, now, pools;

	assert_int_equal(facts_probe(&facts, io, FACTS_ALL), 0);
	assert_int_equal(facts.groups, FACTS_ALL);
	assert_int_equal(facts_number(&facts, FACT_PAGE_SIZE, &page), 0);
	assert_int_equal(page, sysconf(_SC_PAGESIZE));
	assert_non_null(facts_get(&facts, FACT_ACCESS_FLAG));
	for (size_t i = 0; i < facts.n; i++)
		assert_true(facts.items[i].source && facts.items[i].source[0]);
	/* Where no huge page can be optimised and there is no page_ext, the memmap is what the blocks need. */
	if (facts_number(&facts, FACT_SECTION_MEMMAP_PAGES, &expected) == 0 &&
	    facts_number(&facts, "memory.memmap_pages", &now) == 0 &&
	    facts_number(&facts, FACT_HUGETLB_BYTES, &pools) == 0 && pools == 0 &&
	    facts_is(&facts, "config.PAGE_EXTENSION", "n"))
		assert_int_equal(now, expected);
	/* Asked again, nothing is probed twice. */
	facts.dirty_cache = false;
	now = facts.n;
	assert_int_equal(facts_probe(&facts, io, FACTS_ALL), 0);
	assert_int_equal(facts.n, now);
	assert_false(facts.dirty_cache);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(smaps_text),		cmocka_unit_test(captured_machines_are_not_probed),
		cmocka_unit_test(the_access_flag_here), cmocka_unit_test(fault_around_here),
		cmocka_unit_test(huge_page_fault_here), cmocka_unit_test(all_facts_of_this_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
