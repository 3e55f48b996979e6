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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_pool_beyond_all_numbers_is_refused),
		cmocka_unit_test(test_a_floor_that_thp_has_lifted_is_not_lowered),
		cmocka_unit_test(test_a_lifted_floor_is_taken_back_with_the_rest),
		cmocka_unit_test(test_a_node_pool_is_not_shrunk_after_the_total_grew),
		cmocka_unit_test(test_overcommit_off_and_a_pool_that_takes_the_limit),
		cmocka_unit_test(test_what_may_have_changed_stays_on_record),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
