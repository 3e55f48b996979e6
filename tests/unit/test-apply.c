/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rung 3: plan, apply, verify and rollback over a kernel in memory, the field cases by their numbers. */
#include "engine.h"
#include "machine.h"

static void rollback(struct engine *e, bool all, struct restore *ret)
{
	engine_restart(e);
	assert_int_equal(apply_rollback(e->io, e->store, all, ret), 0);
}

static void test_apply_twice_then_rollback(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());
	_cleanup_free_ char *before = fake_kernel_dump(e.kernel), *after = NULL;
	_cleanup_(restore_clear) struct restore restore = {};
	unsigned writes;

	engine_apply(&e, thirty_items);
	assert_int_equal(e.result, APPLY_DONE);
	writes = fake_kernel_writes(e.kernel);

	/* Case 14 and 26: an equal value is not written again, and no transaction is recorded for nothing. */
	engine_restart(&e);
	engine_apply(&e, thirty_items);
	assert_int_equal(e.result, APPLY_DONE);
	assert_int_equal(fake_kernel_writes(e.kernel), writes);
	for (size_t i = 0; i < e.plan->n_steps; i++)
		engine_expect(&e, e.plan->steps[i].id, OUTCOME_ALREADY);

	rollback(&e, false, &restore);
	assert_int_equal(restore.n_transactions, 1);
	assert_int_equal(restore.n_failed + restore.n_foreign, 0);
	after = fake_kernel_dump(e.kernel);
	assert_string_equal(before, after);
}

static void test_rollback_all(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());
	_cleanup_(restore_clear) struct restore restore = {};

	engine_apply(&e, "[vm]\nswappiness = 10\n");
	engine_restart(&e);
	engine_apply(&e, "[vm]\nswappiness = 20\n");
	engine_restart(&e);
	engine_apply(&e, "[vm]\nswappiness = 30\n");
	rollback(&e, false, &restore);
	engine_expect_value(&e, VM "swappiness", "20");
	restore_clear(&restore);
	rollback(&e, true, &restore);
	assert_int_equal(restore.n_transactions, 2);
	engine_expect_value(&e, VM "swappiness", "60");
	restore_clear(&restore);
	rollback(&e, true, &restore);
	assert_int_equal(restore.n_transactions, 0);
}

static void case_01_fewer_pages_than_asked(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());
	unsigned compactions = 0;

	engine_apply(&e, "[hugetlb]\n2M.node0.pages = 1024\n");
	assert_int_equal(e.result, APPLY_PARTLY);
	engine_expect(&e, "hugetlb.2M.node0.pages", OUTCOME_PARTIAL);
	engine_expect_reason(&e, "hugetlb.2M.node0.pages", "700/1024");
	engine_expect_reason(&e, "hugetlb.2M.node0.pages", "node0");
	assert_string_equal(engine_step(&e, "hugetlb.2M.node0.pages")->actual, "700");
	engine_expect_value(&e, NODE_2M(0) "nr_hugepages", "700");
	for (unsigned i = 0; i < fake_kernel_writes(e.kernel); i++)
		compactions += streq(fake_kernel_write_path(e.kernel, i), VM "compact_memory");
	assert_in_range(compactions, 1, 8);
}

static void case_01_essential_pool(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());

	engine_apply(&e, "[Policy]\nEssential = hugetlb.2M.node0.pages\n[vm]\nswappiness = 10\n"
			 "[hugetlb]\n2M.node0.pages = 1024\n");
	assert_int_equal(e.result, APPLY_UNDONE);
	engine_expect_value(&e, NODE_2M(0) "nr_hugepages", "0");
	engine_expect_value(&e, VM "swappiness", "60");
}

static void case_03_page_size_that_is_not_offered(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());

	engine_apply(&e, "[hugetlb]\n1G.pages = 2\n");
	assert_int_equal(e.result, APPLY_PARTLY);
	engine_expect(&e, "hugetlb.1G.pages", OUTCOME_UNSUPPORTED);
	engine_expect_reason(&e, "hugetlb.1G.pages", "this kernel offers 2M");
	assert_int_equal(fake_kernel_writes(e.kernel), 0);
}

static void case_05_a_pool_is_not_shrunk(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());

	fake_kernel_set(e.kernel, HUGE_2M "nr_hugepages", "1900");
	engine_apply(&e, "[hugetlb]\n2M.pages = 1024\n");
	engine_expect(&e, "hugetlb.2M.pages", OUTCOME_ALREADY);
	engine_expect_reason(&e, "hugetlb.2M.pages", "1900 >= 1024, not shrunk");
	assert_int_equal(fake_kernel_writes(e.kernel), 0);

	engine_restart(&e);
	engine_apply(&e, "[hugetlb]\nshrink = yes\n2M.pages = 1024\n");
	engine_expect(&e, "hugetlb.2M.pages", OUTCOME_APPLIED);
	engine_expect_value(&e, HUGE_2M "nr_hugepages", "1024");
}

static void pages_still_come_when_the_time_is_up(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());
	struct apply_options options = { .pool_timeout_usec = 1 };

	engine_restart(&e);
	engine_plan(&e, "[hugetlb]\n2M.pages = 3G\n");
	assert_int_equal(apply_plan(e.plan, &e.facts, e.io, e.store, &options, &e.diags, &e.result), 0);
	engine_expect(&e, "hugetlb.2M.pages", OUTCOME_PARTIAL);
	engine_expect_reason(&e, "hugetlb.2M.pages", "the time was up");
	engine_plan(&e, "[hugetlb]\n2M.pages = 3G\n");
	assert_int_equal(verify_plan(e.plan, &e.facts, e.io, e.store), 0);
	engine_expect_reason(&e, "hugetlb.2M.pages", "an apply asked for 1536 and got no further");
}

static void case_05_pages_in_use_stay(void **state)
{
	struct fake_file files[ARRAY_SIZE(machine_files)];
	_cleanup_(engine_donep) struct engine e = {};

	memcpy(files, machine_files, sizeof(files));
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (streq(files[i].path, HUGE_2M "nr_hugepages")) {
			files[i].value = "1900";
			files[i].in_use = 1500;
		}
	e = engine_make(fake_kernel_new(files, ARRAY_SIZE(files)));
	engine_apply(&e, "[hugetlb]\nshrink = yes\n2M.pages = 1024\n");
	engine_expect(&e, "hugetlb.2M.pages", OUTCOME_PARTIAL);
	engine_expect_reason(&e, "hugetlb.2M.pages", "pages in use stay");
}

static void case_06_memory_guard(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());

	engine_apply(&e, "[hugetlb]\n2M.pages = 7G\n");
	assert_int_equal(e.result, APPLY_PARTLY);
	engine_expect(&e, "hugetlb.2M.pages", OUTCOME_UNSAFE);
	engine_expect_reason(&e, "hugetlb.2M.pages", "7.0 GiB more asked in all, 7.0 GiB of 8.0 GiB available");
	engine_expect_reason(&e, "hugetlb.2M.pages", "at most 6.2 GiB more would fit");
	assert_int_equal(fake_kernel_writes(e.kernel), 0);

	/* The sum counts, not each by itself; with 25% of memory all is well. */
	engine_restart(&e);
	engine_apply(&e, "[vm]\nmin_free_kbytes = 700M\n[hugetlb]\n2M.pages = 6G\n");
	engine_expect(&e, "hugetlb.2M.pages", OUTCOME_UNSAFE);
	engine_expect(&e, "vm.min_free_kbytes", OUTCOME_UNSAFE);
	engine_restart(&e);
	engine_apply(&e, "[hugetlb]\n2M.pages = 25%\n");
	engine_expect(&e, "hugetlb.2M.pages", OUTCOME_APPLIED);
	engine_expect_value(&e, HUGE_2M "nr_hugepages", "1024");
}

/* Memory went away between the plan and the pool, or while it grew: what must stay is measured before each part. */
static void use_up_memory(void *userdata, unsigned write)
{
	struct engine *e = userdata;

	if (write == 0)
		fake_kernel_set(
			e->kernel, "/proc/meminfo",
			"MemTotal:        8388608 kB\nMemAvailable:     700000 kB\nHugepagesize:       2048 kB");
}

static void case_06_measured_again_while_a_pool_grows(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());

	engine_plan(&e, "[hugetlb]\n2M.pages = 1500\n");
	fake_kernel_on_write(e.kernel, use_up_memory, &e);
	assert_int_equal(engine_try_apply(&e), 0);
	/* A part of 1024 pages was asked for; then 684 MiB were left, 819 MiB of which must stay. */
	engine_expect(&e, "hugetlb.2M.pages", OUTCOME_PARTIAL);
	engine_expect_reason(&e, "hugetlb.2M.pages", "1024/1500");
	engine_expect_reason(&e, "hugetlb.2M.pages", "the rest of memory must stay");
	engine_expect_value(&e, HUGE_2M "nr_hugepages", "1024");
}

static void case_06_floor_and_force(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());

	engine_plan(&e, "[Policy]\nMemoryFloor = 6G\n[hugetlb]\n2M.pages = 1024\n");
	engine_expect(&e, "hugetlb.2M.pages", OUTCOME_UNSAFE);
	engine_plan_with(&e, "[Policy]\nMemoryFloor = 6G\n[hugetlb]\n2M.pages = 1024\n",
			 &(struct plan_options){ .force = true });
	engine_expect(&e, "hugetlb.2M.pages", OUTCOME_PENDING);
}

static void case_06_nothing_in_a_kdump_kernel(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());

	fake_kernel_set(e.kernel, "/proc/vmcore", "");
	engine_apply(&e, "[vm]\nswappiness = 10\n");
	assert_int_equal(e.result, APPLY_DONE);
	engine_expect(&e, "vm.swappiness", OUTCOME_SKIPPED);
	engine_expect_reason(&e, "vm.swappiness", "kdump");
	assert_int_equal(fake_kernel_writes(e.kernel), 0);
}

static void case_08_switch_before_pool(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());

	engine_apply(&e, "[hugetlb]\n2M.pages = 512\n[vm]\nhugetlb_optimize_vmemmap = on\n");
	assert_string_equal(fake_kernel_write_path(e.kernel, 0), VM "hugetlb_optimize_vmemmap");
	assert_string_equal(fake_kernel_write_path(e.kernel, 1), HUGE_2M "nr_hugepages");
}

static void hvo_is_broken(struct facts *facts)
{
	facts_set_word(facts, FACTS_STRUCT_PAGE, FACT_HVO_DEFECT, "restore", CONFIDENCE_PROBED, "test");
	facts_set_boolean(facts, FACTS_STRUCT_PAGE, FACT_HVO_SUPPORTED, true, CONFIDENCE_READ, "test");
	facts_set_boolean(facts, FACTS_STRUCT_PAGE, FACT_HVO_ENABLED, false, CONFIDENCE_READ, "test");
	facts->groups |= FACTS_STRUCT_PAGE;
}

static void hvo_is_broken_and_on(struct facts *facts)
{
	hvo_is_broken(facts);
	facts_set_boolean(facts, FACTS_STRUCT_PAGE, FACT_HVO_ENABLED, true, CONFIDENCE_READ, "test");
}

static void test_broken_hvo_is_left_off(void **state)
{
	static const char *const policies[] = { "[vm]\nhugetlb_optimize_vmemmap = auto\n[hugetlb]\n2M.pages = 64\n",
						"[vm]\nhugetlb_optimize_vmemmap = on\n[hugetlb]\n2M.pages = 64\n" };

	for (size_t i = 0; i < ARRAY_SIZE(policies); i++) {
		_cleanup_(engine_donep) struct engine e = engine_make(machine_new());

		e.preset = hvo_is_broken;
		engine_apply(&e, policies[i]);
		engine_expect(&e, "vm.hugetlb_optimize_vmemmap", OUTCOME_UNSAFE);
		engine_expect_reason(&e, "vm.hugetlb_optimize_vmemmap", "corrupts memory");
		engine_expect_value(&e, VM "hugetlb_optimize_vmemmap", "0");
		engine_expect(&e, "hugetlb.2M.pages", OUTCOME_APPLIED);
	}
}

static void test_broken_hvo_that_is_on_freezes_the_pools(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());

	e.preset = hvo_is_broken_and_on;
	fake_kernel_set(e.kernel, VM "hugetlb_optimize_vmemmap", "1");
	fake_kernel_set(e.kernel, HUGE_2M "nr_hugepages", "512");
	engine_apply(&e, "[hugetlb]\nshrink = yes\n2M.pages = 64\n");
	engine_expect(&e, "hugetlb.2M.pages", OUTCOME_UNSAFE);
	engine_restart(&e);
	engine_apply(&e, "[hugetlb]\n2M.pages = 1024\n");
	engine_expect(&e, "hugetlb.2M.pages", OUTCOME_UNSAFE);
	assert_int_equal(fake_kernel_writes(e.kernel), 0);
	engine_restart(&e);
	engine_apply(&e, "[vm]\nhugetlb_optimize_vmemmap = auto\n");
	engine_expect(&e, "vm.hugetlb_optimize_vmemmap", OUTCOME_UNSAFE);
}

static void case_09_accepted_without_effect(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());

	engine_apply(&e, "[zswap]\ncompressor = zsdt\n");
	assert_int_equal(e.result, APPLY_PARTLY);
	engine_expect(&e, "zswap.compressor", OUTCOME_REFUSED);
	engine_expect_reason(&e, "zswap.compressor", "without effect");
	engine_expect_value(&e, "/sys/module/zswap/parameters/compressor", "lzo");

	engine_restart(&e);
	engine_apply(&e, "[zswap]\ncompressor = zstd\n");
	engine_expect(&e, "zswap.compressor", OUTCOME_APPLIED);
}

static void case_09_wrong_names_in_sys_are_loud(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());

	engine_apply(&e, "[sysfs]\nkernel/mm/transparent_hugepage/enabledd = never\n[sysctl]\nvm.swapiness = 10\n");
	assert_int_equal(e.result, APPLY_PARTLY);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(e.plan->steps[i].outcome, OUTCOME_UNSUPPORTED);
}

static void case_10_thp_before_min_free(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());

	engine_apply(&e, "[vm]\nmin_free_kbytes = 21000\n[thp]\nenabled = always\n");
	assert_string_equal(fake_kernel_write_path(e.kernel, 0), THP "enabled");
	engine_expect(&e, "vm.min_free_kbytes", OUTCOME_APPLIED);
	engine_expect_value(&e, VM "min_free_kbytes", "21000");

	/* The kernel raises it later: told as what it is. */
	fake_kernel_set(e.kernel, VM "min_free_kbytes", "67584");
	engine_restart(&e);
	engine_plan(&e, "[vm]\nmin_free_kbytes = 21000\n");
	assert_int_equal(verify_plan(e.plan, &e.facts, e.io, e.store), 0);
	engine_expect(&e, "vm.min_free_kbytes", OUTCOME_ADJUSTED);
	engine_expect_reason(&e, "vm.min_free_kbytes", "overridden by the kernel: 21000 -> 67584");
}

static void case_10_at_least_never_lowers(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());

	fake_kernel_set(e.kernel, VM "min_free_kbytes", "67584");
	engine_apply(&e, "[vm]\nmin_free_kbytes = >= 20000\nmax_map_count = >= 65530\nswappiness = <= 100\n");
	assert_int_equal(fake_kernel_writes(e.kernel), 0);
	engine_expect(&e, "vm.min_free_kbytes", OUTCOME_ALREADY);
	engine_expect(&e, "vm.max_map_count", OUTCOME_ALREADY);
	engine_expect(&e, "vm.swappiness", OUTCOME_ALREADY);

	engine_restart(&e);
	engine_apply(&e, "[vm]\nmin_free_kbytes = >= 100000\nswappiness = <= 10\n");
	engine_expect_value(&e, VM "min_free_kbytes", "100000");
	engine_expect_value(&e, VM "swappiness", "10");
}

static void case_11_overcommit_off_near_the_limit(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());

	/* 900000 kB are committed; 10% of 8 GiB would be the limit. */
	engine_apply(&e, "[vm]\novercommit_memory = 2\novercommit_ratio = 10\n");
	engine_expect(&e, "vm.overcommit_memory", OUTCOME_UNSAFE);
	engine_expect_reason(&e, "vm.overcommit_memory", "CommitLimit");
	assert_int_equal(fake_kernel_writes(e.kernel), 0);

	engine_restart(&e);
	engine_apply(&e, "[vm]\novercommit_memory = 2\novercommit_ratio = 90\n");
	engine_expect(&e, "vm.overcommit_memory", OUTCOME_APPLIED);
	assert_string_equal(fake_kernel_write_path(e.kernel, 0), VM "overcommit_ratio");
	assert_string_equal(fake_kernel_write_path(e.kernel, 1), VM "overcommit_memory");
}

static void case_11_min_free_too_high(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());

	engine_apply(&e, "[vm]\nmin_free_kbytes = 1048576\n");
	engine_expect(&e, "vm.min_free_kbytes", OUTCOME_UNSAFE);
	engine_expect_reason(&e, "vm.min_free_kbytes", "10% of memory");
	assert_int_equal(fake_kernel_writes(e.kernel), 0);
}

static void case_12_missing_key(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());

	engine_apply(&e, "[sysctl]\nkernel.no_such_key = 1\n");
	assert_int_equal(e.result, APPLY_PARTLY);
	engine_expect(&e, e.plan->steps[0].id, OUTCOME_UNSUPPORTED);

	engine_restart(&e);
	engine_apply(&e, "[sysctl]\n-kernel.no_such_key = 1\n");
	assert_int_equal(e.result, APPLY_DONE);
	assert_int_equal(e.plan->steps[0].outcome, OUTCOME_UNSUPPORTED);
}

static void case_14_white_space_is_no_difference(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());

	engine_apply(&e, "[vm]\nlowmem_reserve_ratio = 256 256   32 0 0\n[thp]\nenabled = madvise\n");
	assert_int_equal(fake_kernel_writes(e.kernel), 0);
	engine_expect(&e, "vm.lowmem_reserve_ratio", OUTCOME_ALREADY);
	engine_expect(&e, "thp.enabled", OUTCOME_ALREADY);
}

static void a_short_list_asks_for_its_own_numbers(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());

	engine_apply(&e, "[vm]\nlowmem_reserve_ratio = 256 256\n");
	assert_int_equal(fake_kernel_writes(e.kernel), 0);
	engine_expect(&e, "vm.lowmem_reserve_ratio", OUTCOME_ALREADY);
	engine_restart(&e);
	engine_apply(&e, "[vm]\nlowmem_reserve_ratio = 256 256 32 0 0 7\n");
	assert_true(fake_kernel_writes(e.kernel) > 0);
}

static void case_14_a_raw_number_in_another_writing(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());

	fake_kernel_set(e.kernel, "/proc/sys/kernel/foo", "10");
	engine_apply(&e, "[sysctl]\nkernel.foo = 0x0a\n");
	assert_int_equal(e.plan->steps[0].outcome, OUTCOME_ALREADY);
	assert_int_equal(fake_kernel_writes(e.kernel), 0);
}

static void case_16_linked_pair_comes_back(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());
	_cleanup_(restore_clear) struct restore restore = {};

	engine_apply(&e, "[vm]\ndirty_bytes = 256M\n");
	engine_expect_value(&e, VM "dirty_ratio", "0");
	engine_expect_value(&e, VM "dirty_bytes", "268435456");
	rollback(&e, false, &restore);
	assert_int_equal(restore.n_failed, 0);
	engine_expect_value(&e, VM "dirty_ratio", "20");
	engine_expect_value(&e, VM "dirty_bytes", "0");
}

static void case_16_linked_pair_of_someone_else_stays(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());
	_cleanup_(restore_clear) struct restore restore = {};

	engine_apply(&e, "[vm]\ndirty_bytes = 256M\n");
	fake_kernel_set(e.kernel, VM "dirty_bytes", "99999999");
	rollback(&e, false, &restore);
	assert_int_equal(restore.n_foreign, 2);
	engine_expect_value(&e, VM "dirty_bytes", "99999999");
}

static void case_25_read_only_in_a_container(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());
	size_t told = 0;

	fake_kernel_set(e.kernel, "/run/systemd/container", "lxc");
	fake_kernel_refuse(e.kernel, VM "swappiness", -EROFS);
	fake_kernel_refuse(e.kernel, VM "vfs_cache_pressure", -EROFS);
	engine_apply(&e, "[vm]\nswappiness = 10\nvfs_cache_pressure = 50\nmax_map_count = 65530\nstat_interval = 10\n");
	assert_int_equal(e.result, APPLY_DONE);
	engine_expect(&e, "vm.swappiness", OUTCOME_SKIPPED);
	engine_expect(&e, "vm.max_map_count", OUTCOME_ALREADY);
	engine_expect(&e, "vm.stat_interval", OUTCOME_APPLIED);
	for (size_t i = 0; i < e.diags.n; i++)
		told += strstr(e.diags.items[i].text,
			       "2 items cannot be set from here: /proc/sys: Read-only file system "
			       "(vm.swappiness, vm.vfs_cache_pressure)") != NULL;
	assert_int_equal(told, 1);
}

/* Set by somebody else, set again, and that taken back: it is mmopt itself that put the other's value there. */
static void what_a_rollback_gives_back_is_no_drift(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());
	_cleanup_(restore_clear) struct restore restore = {};

	engine_apply(&e, "[vm]\nswappiness = 10\n");
	fake_kernel_set(e.kernel, VM "swappiness", "30");
	engine_apply(&e, "[vm]\nswappiness = 10\n");
	engine_expect_value(&e, VM "swappiness", "10");
	rollback(&e, false, &restore);
	engine_expect_value(&e, VM "swappiness", "30");

	/* As one who looks: with all that is on record. */
	undo_store_free(TAKE_PTR(e.store));
	assert_int_equal(undo_store_open(e.dir.fd, BOOT_ID, false, &e.store, NULL), 0);
	engine_plan(&e, "[vm]\nswappiness = 10\n");
	assert_int_equal(verify_plan(e.plan, &e.facts, e.io, e.store), 0);
	engine_expect(&e, "vm.swappiness", OUTCOME_PENDING);
	engine_expect_reason(&e, "vm.swappiness", "is 30, not applied yet");

	fake_kernel_set(e.kernel, VM "swappiness", "31");
	engine_plan(&e, "[vm]\nswappiness = 10\n");
	assert_int_equal(verify_plan(e.plan, &e.facts, e.io, e.store), 0);
	engine_expect(&e, "vm.swappiness", OUTCOME_DRIFTED);
}

static void case_26_undo_leaves_what_others_set(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());
	_cleanup_(restore_clear) struct restore restore = {};

	engine_apply(&e, "[vm]\nswappiness = 10\nvfs_cache_pressure = 50\n");
	fake_kernel_set(e.kernel, VM "swappiness", "30");

	engine_restart(&e);
	engine_plan(&e, "[vm]\nswappiness = 10\n");
	assert_int_equal(plan_recall(e.plan, e.store), 0);
	engine_expect(&e, "vm.swappiness", OUTCOME_PENDING);
	engine_expect_reason(&e, "vm.swappiness", "someone else changed it: 10 -> 30");
	assert_int_equal(verify_plan(e.plan, &e.facts, e.io, e.store), 0);
	engine_expect(&e, "vm.swappiness", OUTCOME_DRIFTED);
	engine_expect_reason(&e, "vm.swappiness", "10 -> 30");

	rollback(&e, false, &restore);
	assert_int_equal(restore.n_foreign, 1);
	engine_expect_value(&e, VM "swappiness", "30");
	engine_expect_value(&e, VM "vfs_cache_pressure", "100");
	for (size_t i = 0; i < restore.n_items; i++)
		if (streq(restore.items[i].id, "vm.swappiness"))
			assert_string_equal(restore.items[i].reason, "now 30, set by someone else: left");
}

static void test_kernel_holds_another_value(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());

	fake_kernel_set(e.kernel, MM "lru_gen/enabled", "0x0001");
	engine_apply(&e, "[faultaround]\nbytes = 100000\n[mglru]\nenabled = 7\n");
	engine_expect(&e, "faultaround.bytes", OUTCOME_ALREADY); /* 64 KiB is what 100000 rounds to */
	engine_expect(&e, "mglru.enabled", OUTCOME_ADJUSTED);
	engine_expect_reason(&e, "mglru.enabled", "holds 3, asked 7");
	assert_int_equal(e.result, APPLY_DONE);

	/* Asked again, that is known: nothing is written, and nothing differs. */
	engine_restart(&e);
	engine_apply(&e, "[mglru]\nenabled = 7\n");
	engine_expect(&e, "mglru.enabled", OUTCOME_ALREADY);
	assert_int_equal(fake_kernel_writes(e.kernel), 1);
	assert_false(plan_differs(e.plan));
}

/* Somebody sets what was written, while the rest is applied. */
static void set_meanwhile(void *userdata, unsigned write)
{
	struct engine *e = userdata;

	if (write == 1)
		fake_kernel_set(e->kernel, VM "stat_interval", "7");
}

static void case_26_taken_back_but_for_what_others_set(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());

	fake_kernel_refuse(e.kernel, VM "swappiness", -EINVAL);
	fake_kernel_on_write(e.kernel, set_meanwhile, &e);
	engine_apply(&e, "[Policy]\nEssential = vm.swappiness\n[vm]\nstat_interval = 10\nswappiness = 10\n");
	assert_int_equal(e.result, APPLY_UNDONE);
	engine_expect_value(&e, VM "stat_interval", "7");
	engine_expect_reason(&e, "vm.stat_interval", "set by someone else: left");
	assert_non_null(strstr(e.diags.items[0].text, "but for what others have changed meanwhile"));
}

static void test_essential_that_cannot_be_reached_begins_nothing(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());

	engine_apply(&e, "[Policy]\nEssential = hugetlb.1G.pages\n[vm]\nswappiness = 10\n[hugetlb]\n1G.pages = 1\n");
	assert_int_equal(e.result, APPLY_UNDONE);
	assert_int_equal(fake_kernel_writes(e.kernel), 0);
	engine_expect(&e, "vm.swappiness", OUTCOME_SKIPPED);
}

static void test_unconfirmed_is_undone_when_its_waiter_is_gone(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());
	_cleanup_(restore_clear) struct restore restore = {};
	unsigned number;
	int fd;

	engine_plan(&e, "[vm]\nswappiness = 10\n");
	engine_restart(&e);
	assert_int_equal(apply_plan(e.plan, &e.facts, e.io, e.store,
				    &(struct apply_options){ .confirm_within_sec = 60 }, &e.diags, &e.result),
			 0);
	fd = undo_confirm_hold(e.dir.fd);
	assert_true(fd >= 0);
	engine_restart(&e);
	assert_int_equal(apply_recover(e.io, e.store, 0, &restore), 0);
	engine_expect_value(&e, VM "swappiness", "10");
	close(fd);
	assert_int_equal(apply_recover(e.io, e.store, 0, &restore), 0);
	engine_expect_value(&e, VM "swappiness", "60");
	assert_int_equal(apply_confirm(e.store, &number), -ENOENT);
}

static void test_confirm(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());
	_cleanup_(restore_clear) struct restore restore = {};
	unsigned number;

	engine_plan(&e, "[vm]\nswappiness = 10\n");
	engine_restart(&e);
	assert_int_equal(apply_plan(e.plan, &e.facts, e.io, e.store,
				    &(struct apply_options){ .confirm_within_sec = 60 }, &e.diags, &e.result),
			 0);
	engine_restart(&e);
	assert_int_equal(apply_confirm(e.store, &number), 0);
	assert_int_equal(apply_recover(e.io, e.store, UINT64_MAX, &restore), 0);
	assert_int_equal(restore.n_transactions, 0);
	engine_expect_value(&e, VM "swappiness", "10");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_apply_twice_then_rollback),
		cmocka_unit_test(test_rollback_all),
		cmocka_unit_test(case_01_fewer_pages_than_asked),
		cmocka_unit_test(case_01_essential_pool),
		cmocka_unit_test(case_03_page_size_that_is_not_offered),
		cmocka_unit_test(case_05_a_pool_is_not_shrunk),
		cmocka_unit_test(pages_still_come_when_the_time_is_up),
		cmocka_unit_test(case_05_pages_in_use_stay),
		cmocka_unit_test(case_06_memory_guard),
		cmocka_unit_test(case_06_measured_again_while_a_pool_grows),
		cmocka_unit_test(case_06_floor_and_force),
		cmocka_unit_test(case_06_nothing_in_a_kdump_kernel),
		cmocka_unit_test(case_08_switch_before_pool),
		cmocka_unit_test(test_broken_hvo_is_left_off),
		cmocka_unit_test(test_broken_hvo_that_is_on_freezes_the_pools),
		cmocka_unit_test(case_09_accepted_without_effect),
		cmocka_unit_test(case_09_wrong_names_in_sys_are_loud),
		cmocka_unit_test(case_10_thp_before_min_free),
		cmocka_unit_test(case_10_at_least_never_lowers),
		cmocka_unit_test(case_11_overcommit_off_near_the_limit),
		cmocka_unit_test(case_11_min_free_too_high),
		cmocka_unit_test(case_12_missing_key),
		cmocka_unit_test(case_14_white_space_is_no_difference),
		cmocka_unit_test(a_short_list_asks_for_its_own_numbers),
		cmocka_unit_test(case_14_a_raw_number_in_another_writing),
		cmocka_unit_test(case_16_linked_pair_comes_back),
		cmocka_unit_test(case_16_linked_pair_of_someone_else_stays),
		cmocka_unit_test(case_25_read_only_in_a_container),
		cmocka_unit_test(what_a_rollback_gives_back_is_no_drift),
		cmocka_unit_test(case_26_undo_leaves_what_others_set),
		cmocka_unit_test(case_26_taken_back_but_for_what_others_set),
		cmocka_unit_test(test_kernel_holds_another_value),
		cmocka_unit_test(test_essential_that_cannot_be_reached_begins_nothing),
		cmocka_unit_test(test_unconfirmed_is_undone_when_its_waiter_is_gone),
		cmocka_unit_test(test_confirm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
