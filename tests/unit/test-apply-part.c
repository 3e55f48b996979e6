/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs that are not about the whole policy or the whole transaction: what a daemon does after drift and under pressure. */
#include "engine.h"
#include "machine.h"

#define POLICY                                                                                                    \
	"[Policy]\nEssential = vm.vfs_cache_pressure vm.compaction_proactiveness\n"                               \
	"[vm]\nswappiness = 10\nvfs_cache_pressure = 50\ncompaction_proactiveness = 0\nmin_free_kbytes = 30000\n" \
	"[thp]\nenabled = always\n"

static void plan_only(struct engine *e, const char *policy, const char *const *ids)
{
	engine_plan_with(e, policy, &(struct plan_options){ .only = (char *const *)ids });
}

#define ONLY(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void test_only_what_is_named_is_written(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());

	/* One of them could not be set at all: no matter, the run is not about it. */
	fake_kernel_hide(e.kernel, VM "compaction_proactiveness", -EIO);
	plan_only(&e, POLICY, ONLY("vm.swappiness"));
	assert_int_equal(engine_try_apply(&e), 0);
	assert_int_equal(e.result, APPLY_DONE);
	engine_expect(&e, "vm.swappiness", OUTCOME_APPLIED);
	engine_expect(&e, "vm.vfs_cache_pressure", OUTCOME_SKIPPED);
	engine_expect_reason(&e, "vm.vfs_cache_pressure", "left as it is in this run");
	engine_expect(&e, "vm.compaction_proactiveness", OUTCOME_SKIPPED);
	engine_expect_value(&e, VM "swappiness", "10");
	engine_expect_value(&e, VM "vfs_cache_pressure", "100");
	assert_int_equal(fake_kernel_writes(e.kernel), 1);
	/* It does not count as in sync because of that. */
	assert_true(engine_step(&e, "vm.vfs_cache_pressure")->differs);
}

static void test_what_the_kernel_moves_along_is_set_too(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());

	plan_only(&e, POLICY, ONLY("thp.enabled"));
	assert_int_equal(engine_try_apply(&e), 0);
	engine_expect(&e, "thp.enabled", OUTCOME_APPLIED);
	engine_expect(&e, "vm.min_free_kbytes", OUTCOME_APPLIED);
	engine_expect(&e, "vm.swappiness", OUTCOME_SKIPPED);
	engine_expect_value(&e, VM "min_free_kbytes", "30000");
}

static void test_names_that_are_not_in_the_policy(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());

	plan_only(&e, POLICY, ONLY("vm.panic_on_oom"));
	assert_int_equal(engine_try_apply(&e), 0);
	assert_int_equal(e.result, APPLY_DONE);
	assert_int_equal(fake_kernel_writes(e.kernel), 0);
}

/* The pools that are left alone take no memory in this run: the guard does not count them. */
static void test_the_guard_counts_what_is_named(void **state)
{
	static const char policy[] = "[vm]\nmin_free_kbytes = 700M\n[hugetlb]\n2M.pages = 6G\n";
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());

	engine_plan(&e, policy);
	engine_expect(&e, "hugetlb.2M.pages", OUTCOME_UNSAFE);
	plan_only(&e, policy, ONLY("hugetlb.2M.pages"));
	engine_expect(&e, "hugetlb.2M.pages", OUTCOME_PENDING);
}

static int give_back(struct engine *e, struct restore *ret)
{
	engine_restart(e);
	return apply_give_back_pools(e->io, e->store, ret);
}

static void test_only_the_pools_are_given_back(void **state)
{
	_cleanup_(restore_clear) struct restore restore = {}, again = {}, all = {};
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());

	engine_apply(&e, "[vm]\nswappiness = 10\n[hugetlb]\n2M.pages = 512\n");
	engine_restart(&e);
	engine_apply(&e, "[vm]\nvfs_cache_pressure = 50\n");
	assert_int_equal(give_back(&e, &restore), 0);
	assert_int_equal(restore.n_transactions, 1);
	assert_int_equal(restore.n_items, 1);
	assert_int_equal(restore.items[0].outcome, RESTORE_DONE);
	engine_expect_value(&e, HUGE_2M "nr_hugepages", "0");
	engine_expect_value(&e, VM "swappiness", "10");
	/* Nobody else changed it. */
	engine_restart(&e);
	engine_plan(&e, "[hugetlb]\n2M.pages = 512\n");
	assert_int_equal(verify_plan(e.plan, &e.facts, e.io, e.store), 0);
	engine_expect(&e, "hugetlb.2M.pages", OUTCOME_PENDING);
	/* There is nothing more to give. */
	assert_int_equal(give_back(&e, &again), -ENOENT);
	/* The rest of the transaction can still be taken back. */
	engine_restart(&e);
	assert_int_equal(apply_rollback(e.io, e.store, true, &all), 0);
	assert_int_equal(all.n_failed + all.n_foreign, 0);
	assert_int_equal(all.n_transactions, 2);
	engine_expect_value(&e, VM "swappiness", "60");
	engine_expect_value(&e, VM "vfs_cache_pressure", "100");
}

static void test_a_pool_of_someone_else_is_not_touched(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());
	_cleanup_(restore_clear) struct restore restore = {};

	engine_apply(&e, "[hugetlb]\n2M.pages = 512\n");
	fake_kernel_set(e.kernel, HUGE_2M "nr_hugepages", "600");
	assert_int_equal(give_back(&e, &restore), 0);
	assert_int_equal(restore.n_foreign, 1);
	engine_expect_value(&e, HUGE_2M "nr_hugepages", "600");
}

static void test_no_pool_to_give_back(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());
	_cleanup_(restore_clear) struct restore restore = {}, rollback = {};

	assert_int_equal(give_back(&e, &restore), -ENOENT);
	engine_apply(&e, "[vm]\nswappiness = 10\n");
	assert_int_equal(give_back(&e, &restore), -ENOENT);
	engine_restart(&e);
	engine_apply(&e, "[hugetlb]\n2M.pages = 512\n");
	assert_int_equal(apply_rollback(e.io, e.store, false, &rollback), 0);
	assert_int_equal(give_back(&e, &restore), -ENOENT);
}

/* Given back while it waits for its confirmation: it still waits, until the same time. */
static void test_an_unconfirmed_transaction_stays_so(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());
	_cleanup_(restore_clear) struct restore restore = {};
	const struct transaction *t;
	uint64_t deadline_sec;
	size_t n;

	engine_plan(&e, "[hugetlb]\n2M.pages = 512\n");
	engine_restart(&e);
	assert_int_equal(apply_plan(e.plan, &e.facts, e.io, e.store,
				    &(struct apply_options){ .verb = "memory", .confirm_within_sec = 60 }, &e.diags,
				    &e.result),
			 0);
	deadline_sec = undo_store_transactions(e.store, &n)->deadline_sec;
	assert_int_equal(give_back(&e, &restore), 0);
	engine_restart(&e);
	t = undo_store_transactions(e.store, &n);
	assert_int_equal(n, 1);
	assert_int_equal(t->state, TRANSACTION_UNCONFIRMED);
	assert_int_equal(t->deadline_sec, deadline_sec);
	assert_string_equal(t->verb, "memory");
	assert_string_equal(t->note, "huge page pools given back");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_what_is_named_is_written),
		cmocka_unit_test(test_what_the_kernel_moves_along_is_set_too),
		cmocka_unit_test(test_names_that_are_not_in_the_policy),
		cmocka_unit_test(test_the_guard_counts_what_is_named),
		cmocka_unit_test(test_only_the_pools_are_given_back),
		cmocka_unit_test(test_a_pool_of_someone_else_is_not_touched),
		cmocka_unit_test(test_no_pool_to_give_back),
		cmocka_unit_test(test_an_unconfirmed_transaction_stays_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
