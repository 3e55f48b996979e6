/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rung 3: what depends on the order of events: items that move each other, crashes half way, ways back that fail once. */
#include "engine.h"
#include "machine.h"

static void rollback(struct engine *e, bool all, struct restore *ret)
{
	engine_restart(e);
	assert_int_equal(apply_rollback(e->io, e->store, all, ret), 0);
}

/* 2^43 pages of 2M are 2^64 bytes: the sum must not come out as nothing. */
static void test_a_pool_beyond_all_numbers_is_refused(void **state)
{
	static const char *const counts[] = { "8796093022208", "8796093022209", "9223372036854775807" };

	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		_cleanup_(engine_donep) struct engine e = engine_make(machine_new());
		_cleanup_free_ char *policy = xasprintf("[hugetlb]\n2M.pages = %s\n", counts[i]);

		engine_apply(&e, policy);
		engine_expect(&e, "hugetlb.2M.pages", OUTCOME_UNSAFE);
		assert_int_equal(fake_kernel_writes(e.kernel), 0);
	}
}

static void test_a_floor_that_thp_has_lifted_is_not_lowered(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());
	_cleanup_(restore_clear) struct restore restore = {};

	engine_apply(&e, "[vm]\nmin_free_kbytes = >= 30000\n[thp]\nenabled = always\n");
	assert_int_equal(e.result, APPLY_DONE);
	engine_expect(&e, "vm.min_free_kbytes", OUTCOME_ALREADY);
	assert_string_equal(engine_step(&e, "vm.min_free_kbytes")->actual, "67584");
	engine_expect_value(&e, VM "min_free_kbytes", "67584");
	rollback(&e, false, &restore);
	engine_expect_value(&e, VM "min_free_kbytes", "20000");
}

static void test_a_lifted_floor_is_taken_back_with_the_rest(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());

	fake_kernel_refuse(e.kernel, VM "swappiness", -EIO);
	engine_apply(&e, "[Policy]\nEssential = vm.swappiness\n"
			 "[vm]\nswappiness = 10\nmin_free_kbytes = >= 30000\n[thp]\nenabled = always\n");
	assert_int_equal(e.result, APPLY_UNDONE);
	engine_expect(&e, "vm.min_free_kbytes", OUTCOME_SKIPPED);
	assert_string_equal(engine_step(&e, "vm.min_free_kbytes")->actual, "20000");
}

/* The kernel spreads the total over the nodes: a node that has more than its own count by then is not shrunk. */
static void spread_over_nodes(void *userdata, unsigned write)
{
	struct engine *e = userdata;

	if (write == 0)
		fake_kernel_set(e->kernel, NODE_2M(0) "nr_hugepages", "256");
}

static void test_a_node_pool_is_not_shrunk_after_the_total_grew(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());

	engine_plan(&e, "[hugetlb]\n2M.pages = 512\n2M.node0.pages = 100\n");
	fake_kernel_on_write(e.kernel, spread_over_nodes, &e);
	assert_int_equal(engine_try_apply(&e), 0);
	engine_expect(&e, "hugetlb.2M.node0.pages", OUTCOME_ALREADY);
	engine_expect_reason(&e, "hugetlb.2M.node0.pages", "256 >= 100, not shrunk");
	engine_expect_value(&e, NODE_2M(0) "nr_hugepages", "256");
}

static void test_overcommit_off_and_a_pool_that_takes_the_limit(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());

	/* Half of what 6100 MiB leave of 8 GiB is about 1 GiB; 900000 kB are committed. */
	engine_plan(&e, "[hugetlb]\n2M.pages = 3050\n");
	engine_expect(&e, "hugetlb.2M.pages", OUTCOME_PENDING);
	fake_kernel_set(e.kernel, VM "overcommit_memory", "2");
	engine_plan(&e, "[hugetlb]\n2M.pages = 3050\n");
	engine_expect(&e, "hugetlb.2M.pages", OUTCOME_UNSAFE);
	engine_expect_reason(&e, "hugetlb.2M.pages", "CommitLimit");
}

/* zswap asks for its compressor when it starts, and the kernel loads the module then: not in /proc/crypto is not missing. */
static void case_09_a_compressor_that_is_not_loaded_yet(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());

	fake_kernel_set(e.kernel, "/lib/modules/6.18.0/modules.alias",
			"# Aliases\nalias crypto-lz4hc lz4hc\nalias crypto-lz4 lz4\n");
	engine_apply(&e, "[zswap]\ncompressor = lz4\n");
	engine_expect(&e, "zswap.compressor", OUTCOME_APPLIED);
	engine_expect_reason(&e, "zswap.compressor", "not loaded yet");
	engine_restart(&e);
	engine_apply(&e, "[zswap]\ncompressor = lz\n");
	engine_expect(&e, "zswap.compressor", OUTCOME_REFUSED);
}

/* Under the units, which shut /usr/lib/modules, there may be a module for it or not: no failure. */
static void test_a_compressor_whose_module_is_out_of_sight(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());

	fake_kernel_set(e.kernel, "/lib/modules/6.18.0/modules.alias", "# Aliases\n");
	fake_kernel_hide(e.kernel, "/lib/modules/6.18.0/modules.alias", -EACCES);
	engine_apply(&e, "[zswap]\ncompressor = lz4\n");
	engine_expect(&e, "zswap.compressor", OUTCOME_APPLIED);
	engine_expect_reason(&e, "zswap.compressor", "cannot be seen from here: mmoptctl verify --direct");
}

static void hide_for_good(void *userdata, unsigned write)
{
	struct engine *e = userdata;

	/* The second write is the try to put it back. */
	if (write == 0)
		fake_kernel_hide(e->kernel, VM "swappiness", -EIO);
	else
		fake_kernel_refuse(e->kernel, VM "swappiness", -EIO);
}

static void test_what_may_have_changed_stays_on_record(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());
	_cleanup_(restore_clear) struct restore restore = {};

	engine_plan(&e, "[vm]\nswappiness = 10\n");
	fake_kernel_on_write(e.kernel, hide_for_good, &e);
	assert_int_equal(engine_try_apply(&e), 0);
	engine_expect(&e, "vm.swappiness", OUTCOME_REFUSED);
	engine_expect_value(&e, VM "swappiness", "10");

	fake_kernel_on_write(e.kernel, NULL, NULL);
	fake_kernel_hide(e.kernel, VM "swappiness", 0);
	fake_kernel_refuse(e.kernel, VM "swappiness", 0);
	rollback(&e, false, &restore);
	assert_int_equal(restore.n_transactions, 1);
	engine_expect_value(&e, VM "swappiness", "60");
}

static void test_rollback_all_goes_on_where_it_stopped(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());
	_cleanup_(restore_clear) struct restore restore = {};

	engine_apply(&e, "[vm]\nswappiness = 10\ndirty_bytes = 256M\n");
	engine_restart(&e);
	engine_apply(&e, "[vm]\nswappiness = 20\ndirty_ratio = 30\n");
	fake_kernel_refuse(e.kernel, VM "swappiness", -EBUSY);
	fake_kernel_refuse(e.kernel, VM "dirty_bytes", -EBUSY);
	rollback(&e, true, &restore);
	assert_true(restore.n_failed > 0);
	assert_int_equal(restore.n_foreign, 0);

	fake_kernel_refuse(e.kernel, VM "swappiness", 0);
	fake_kernel_refuse(e.kernel, VM "dirty_bytes", 0);
	restore_clear(&restore);
	rollback(&e, true, &restore);
	assert_int_equal(restore.n_failed, 0);
	engine_expect_value(&e, VM "swappiness", "60");
	engine_expect_value(&e, VM "dirty_ratio", "20");
	engine_expect_value(&e, VM "dirty_bytes", "0");
}

/* The second part of a pool has come, and the end with it before that was noted. */
static void test_crash_between_two_parts_of_a_pool(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());
	_cleanup_(restore_clear) struct restore restore = {};

	engine_restart(&e);
	assert_int_equal(undo_begin(e.store, "apply"), 0);
	assert_int_equal(undo_before(e.store, "hugetlb.2M.pages", HUGE_2M "nr_hugepages", "0", "2000"), 0);
	assert_int_equal(undo_after(e.store, "hugetlb.2M.pages", HUGE_2M "nr_hugepages", "1024"), 0);
	fake_kernel_set(e.kernel, HUGE_2M "nr_hugepages", "1990");
	engine_restart(&e);
	assert_int_equal(apply_recover(e.io, e.store, 0, &restore), 0);
	assert_int_equal(restore.n_foreign + restore.n_failed, 0);
	engine_expect_value(&e, HUGE_2M "nr_hugepages", "0");
}

/* THP going back on makes the kernel raise it anew, or going off lower it: that is not someone else's doing. */
static void move_min_free(void *userdata, unsigned write)
{
	struct engine *e = userdata;

	if (streq(fake_kernel_write_path(e->kernel, write), THP "enabled"))
		fake_kernel_set(e->kernel, VM "min_free_kbytes", "70000");
}

static void test_what_the_way_back_moves_comes_back_too(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());
	_cleanup_(restore_clear) struct restore restore = {};

	engine_apply(&e, "[thp]\nenabled = always\n");
	engine_expect_value(&e, VM "min_free_kbytes", "67584");
	fake_kernel_on_write(e.kernel, move_min_free, &e);
	rollback(&e, false, &restore);
	assert_int_equal(restore.n_foreign + restore.n_failed, 0);
	engine_expect_value(&e, VM "min_free_kbytes", "20000");
}

static void test_a_foreign_value_stays_though_the_way_back_moves_it(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());
	_cleanup_(restore_clear) struct restore restore = {};

	engine_apply(&e, "[thp]\nenabled = always\n");
	fake_kernel_set(e.kernel, VM "min_free_kbytes", "69000");
	fake_kernel_on_write(e.kernel, move_min_free, &e);
	rollback(&e, false, &restore);
	assert_int_equal(restore.n_foreign, 1);
	engine_expect_value(&e, VM "min_free_kbytes", "70000");
}

static void test_half_taken_back_cannot_be_confirmed(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());
	_cleanup_(restore_clear) struct restore restore = {};
	unsigned number;

	engine_plan(&e, "[vm]\nswappiness = 10\nvfs_cache_pressure = 50\n");
	engine_restart(&e);
	assert_int_equal(apply_plan(e.plan, &e.facts, e.io, e.store,
				    &(struct apply_options){ .confirm_within_sec = 60 }, &e.diags, &e.result),
			 0);
	fake_kernel_refuse(e.kernel, VM "swappiness", -EBUSY);
	engine_restart(&e);
	assert_int_equal(apply_recover(e.io, e.store, UINT64_MAX, &restore), 0);
	assert_int_equal(restore.n_failed, 1);
	engine_restart(&e);
	assert_int_equal(apply_confirm(e.store, &number), -ENOENT);

	fake_kernel_refuse(e.kernel, VM "swappiness", 0);
	restore_clear(&restore);
	assert_int_equal(apply_recover(e.io, e.store, 0, &restore), 0);
	engine_expect_value(&e, VM "swappiness", "60");
	engine_expect_value(&e, VM "vfs_cache_pressure", "100");
}

/* The try leaves half a value ("60" written short is 6), or pages in use: still mmopt's own at the next try. */
static void test_a_way_back_that_got_half_way_is_taken_up_again(void **state)
{
	struct fake_file files[ARRAY_SIZE(machine_files)];
	_cleanup_(engine_donep) struct engine e = {};
	_cleanup_(restore_clear) struct restore restore = {};

	memcpy(files, machine_files, sizeof(files));
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (streq(files[i].path, HUGE_2M "nr_hugepages"))
			files[i].in_use = 300;
	e = engine_make(fake_kernel_new(files, ARRAY_SIZE(files)));
	engine_apply(&e, "[vm]\nswappiness = 10\n[hugetlb]\n2M.pages = 700\n");
	fake_kernel_fault(e.kernel, 0, FAKE_SHORT_WRITE);
	rollback(&e, false, &restore);
	assert_int_equal(restore.n_failed, 2);
	engine_expect_value(&e, VM "swappiness", "6");
	engine_expect_value(&e, HUGE_2M "nr_hugepages", "300");

	restore_clear(&restore);
	rollback(&e, false, &restore);
	assert_int_equal(restore.n_foreign, 0);
	assert_int_equal(restore.n_failed, 1);
	engine_expect_value(&e, VM "swappiness", "60");
}

static void memmap_counters_tell(struct facts *facts)
{
	facts_set_number(facts, FACTS_STRUCT_PAGE, FACT_STRUCT_PAGE, 64, CONFIDENCE_READ, "test");
	facts_set_number(facts, FACTS_STRUCT_PAGE, FACT_SECTION_MEMMAP_PAGES, 32768, CONFIDENCE_COMPUTED, "test");
	facts_set_boolean(facts, FACTS_STRUCT_PAGE, FACT_HVO_SUPPORTED, true, CONFIDENCE_READ, "test");
	facts_set_number(facts, FACTS_KERNEL, FACT_PAGE_SIZE, 4096, CONFIDENCE_READ, "test");
	facts->groups |= FACTS_STRUCT_PAGE | FACTS_KERNEL;
}

/* The switch reads 1 and the pool has its pages, but not one page of descriptors came free. */
static void test_essential_hvo_without_effect(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());

	e.preset = memmap_counters_tell;
	fake_kernel_set(e.kernel, "/proc/vmstat", "nr_memmap_pages 0\nnr_memmap_boot_pages 32768\n");
	engine_apply(&e, "[Policy]\nEssential = vm.hugetlb_optimize_vmemmap\n"
			 "[vm]\nhugetlb_optimize_vmemmap = on\n[hugetlb]\n2M.pages = 64\n");
	assert_int_equal(e.result, APPLY_UNDONE);
	engine_expect_value(&e, VM "hugetlb_optimize_vmemmap", "0");
	engine_expect_value(&e, HUGE_2M "nr_hugepages", "0");
}

static void hvo_is_broken_and_was_on(struct facts *facts)
{
	facts_set_word(facts, FACTS_STRUCT_PAGE, FACT_HVO_DEFECT, "restore", CONFIDENCE_PROBED, "test");
	facts_set_boolean(facts, FACTS_STRUCT_PAGE, FACT_HVO_SUPPORTED, true, CONFIDENCE_READ, "test");
	facts_set_boolean(facts, FACTS_STRUCT_PAGE, FACT_HVO_ENABLED, false, CONFIDENCE_READ, "test");
	facts_set_number(facts, FACTS_STRUCT_PAGE, FACT_SECTION_MEMMAP_PAGES, 32768, CONFIDENCE_COMPUTED, "test");
	facts->groups |= FACTS_STRUCT_PAGE;
}

static void hvo_is_perhaps_broken(struct facts *facts)
{
	facts_set_word(facts, FACTS_STRUCT_PAGE, FACT_HVO_DEFECT, "unknown", CONFIDENCE_INFERRED, "test");
	facts_set_boolean(facts, FACTS_STRUCT_PAGE, FACT_HVO_DEFECT_SUSPECTED, true, CONFIDENCE_INFERRED, "test");
	facts_set_boolean(facts, FACTS_STRUCT_PAGE, FACT_HVO_SUPPORTED, true, CONFIDENCE_READ, "test");
	facts_set_boolean(facts, FACTS_STRUCT_PAGE, FACT_HVO_ENABLED, false, CONFIDENCE_READ, "test");
	facts->groups |= FACTS_STRUCT_PAGE;
}

/* Switched off, but 512 pages that were optimised before are in the pool still. */
static void test_broken_hvo_that_was_on_freezes_the_pools(void **state)
{
	static const char policy[] = "[hugetlb]\nshrink = yes\n2M.pages = 64\n";
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());

	e.preset = hvo_is_broken_and_was_on;
	fake_kernel_set(e.kernel, HUGE_2M "nr_hugepages", "512");
	fake_kernel_set(e.kernel, "/proc/vmstat", "nr_memmap_pages 512\nnr_memmap_boot_pages 28672\n");
	engine_apply(&e, policy);
	engine_expect(&e, "hugetlb.2M.pages", OUTCOME_UNSAFE);
	engine_expect_reason(&e, "hugetlb.2M.pages", "corrupts memory");
	assert_int_equal(fake_kernel_writes(e.kernel), 0);

	/* Nothing is optimised. */
	fake_kernel_set(e.kernel, "/proc/vmstat", "nr_memmap_pages 0\nnr_memmap_boot_pages 32768\n");
	engine_apply(&e, policy);
	engine_expect(&e, "hugetlb.2M.pages", OUTCOME_APPLIED);
}

static void test_a_suspected_kernel_is_taken_for_broken(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());

	e.preset = hvo_is_perhaps_broken;
	engine_apply(&e, "[vm]\nhugetlb_optimize_vmemmap = on\n");
	engine_expect(&e, "vm.hugetlb_optimize_vmemmap", OUTCOME_UNSAFE);
	engine_expect_reason(&e, "vm.hugetlb_optimize_vmemmap", "may corrupt memory");
	assert_int_equal(fake_kernel_writes(e.kernel), 0);
}

/* Undo is bound by it as well.  Files serve as the kernel, with the defect as a fact that an earlier run has found. */
static void test_rollback_does_not_shrink_a_pool_of_a_broken_kernel(void **state)
{
	_cleanup_(temp_dir_donep) struct temp_dir d = temp_dir_make();
	_cleanup_(undo_store_freep) struct undo_store *store = NULL;
	_cleanup_(kernel_io_freep) struct kernel_io *io = NULL;
	_cleanup_(restore_clear) struct restore restore = {}, pools = {};
	_cleanup_free_ char *now = NULL;

	temp_dir_write(&d, "proc/sys/kernel/random/boot_id", BOOT_ID "\n");
	temp_dir_write(&d, "proc/sys/vm/hugetlb_optimize_vmemmap", "1\n");
	temp_dir_write(&d, &(HUGE_2M "nr_hugepages")[1], "512\n");
	temp_dir_write(&d, "run/mmopt/probes", "mmopt-probes 1 " BOOT_ID "\nhvo.defect\tword\trestore\tprobed\ttest\n");
	assert_int_equal(kernel_io_open(d.path, &io), 0);
	assert_int_equal(undo_store_open(d.fd, BOOT_ID, true, &store, NULL), 0);
	assert_int_equal(undo_begin(store, "apply"), 0);
	assert_int_equal(undo_before(store, "hugetlb.2M.pages", HUGE_2M "nr_hugepages", "0", "512"), 0);
	assert_int_equal(undo_after(store, "hugetlb.2M.pages", HUGE_2M "nr_hugepages", "512"), 0);
	assert_int_equal(undo_end(store, TRANSACTION_COMMITTED, 0, NULL), 0);

	assert_int_equal(apply_rollback(io, store, false, &restore), 0);
	assert_int_equal(restore.n_failed, 1);
	assert_non_null(strstr(restore.items[0].reason, "corrupts memory"));
	assert_int_equal(apply_give_back_pools(io, store, &pools), 0);
	assert_int_equal(pools.n_failed, 1);
	assert_non_null(strstr(pools.items[0].reason, "corrupts memory"));
	assert_int_equal(kernel_io_read_line(io, HUGE_2M "nr_hugepages", &now), 0);
	assert_string_equal(now, "512");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_pool_beyond_all_numbers_is_refused),
		cmocka_unit_test(test_a_floor_that_thp_has_lifted_is_not_lowered),
		cmocka_unit_test(test_a_lifted_floor_is_taken_back_with_the_rest),
		cmocka_unit_test(test_a_node_pool_is_not_shrunk_after_the_total_grew),
		cmocka_unit_test(test_overcommit_off_and_a_pool_that_takes_the_limit),
		cmocka_unit_test(case_09_a_compressor_that_is_not_loaded_yet),
		cmocka_unit_test(test_a_compressor_whose_module_is_out_of_sight),
		cmocka_unit_test(test_what_may_have_changed_stays_on_record),
		cmocka_unit_test(test_rollback_all_goes_on_where_it_stopped),
		cmocka_unit_test(test_crash_between_two_parts_of_a_pool),
		cmocka_unit_test(test_what_the_way_back_moves_comes_back_too),
		cmocka_unit_test(test_a_foreign_value_stays_though_the_way_back_moves_it),
		cmocka_unit_test(test_half_taken_back_cannot_be_confirmed),
		cmocka_unit_test(test_a_way_back_that_got_half_way_is_taken_up_again),
		cmocka_unit_test(test_essential_hvo_without_effect),
		cmocka_unit_test(test_broken_hvo_that_was_on_freezes_the_pools),
		cmocka_unit_test(test_a_suspected_kernel_is_taken_for_broken),
		cmocka_unit_test(test_rollback_does_not_shrink_a_pool_of_a_broken_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
