/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the plan says before anything is written. */
#include "engine.h"
#include "machine.h"

static void test_boot_parameter_by_its_effect(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());

	engine_plan(&e, "[boot]\ntransparent_hugepage = madvise\n");
	engine_expect(&e, "boot.transparent_hugepage", OUTCOME_ALREADY);
	assert_false(plan_differs(e.plan));

	/* A token on the command line is no proof: the kernel says something else. */
	fake_kernel_set(e.kernel, "/proc/cmdline", "ro transparent_hugepage=never");
	engine_plan(&e, "[boot]\ntransparent_hugepage = never\n");
	engine_expect(&e, "boot.transparent_hugepage", OUTCOME_PENDING_REBOOT);
	engine_expect_reason(&e, "boot.transparent_hugepage", "\"transparent_hugepage=never\"");
	assert_true(plan_differs(e.plan));
	assert_false(plan_has_failures(e.plan));
}

static void test_boot_parameter_without_a_file(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());

	engine_plan(&e, "[boot]\nmovablecore = 1G\n");
	engine_expect(&e, "boot.movablecore", OUTCOME_PENDING_REBOOT);
	fake_kernel_set(e.kernel, "/proc/cmdline", "ro movablecore=1G -- movablecore=2G");
	engine_plan(&e, "[boot]\nmovablecore = 1G\n");
	engine_expect(&e, "boot.movablecore", OUTCOME_ALREADY);
}

static void test_boot_pool_is_a_pair(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());

	engine_plan(&e, "[hugetlb]\n2M.boot_pages = 512\n");
	engine_expect(&e, "hugetlb.2M.boot_pages", OUTCOME_PENDING_REBOOT);
	engine_expect_reason(&e, "hugetlb.2M.boot_pages", "\"hugepagesz=2M hugepages=512\"");
	fake_kernel_set(e.kernel, HUGE_2M "nr_hugepages", "512");
	engine_plan(&e, "[hugetlb]\n2M.boot_pages = 512\n");
	engine_expect(&e, "hugetlb.2M.boot_pages", OUTCOME_ALREADY);
}

static void test_cost_is_told(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());

	engine_plan(&e, "[vm]\nmin_free_kbytes = 30000\n[hugetlb]\n2M.pages = 512\n");
	assert_int_equal(engine_step(&e, "hugetlb.2M.pages")->cost_bytes, 1LL << 30);
	assert_int_equal(engine_step(&e, "vm.min_free_kbytes")->cost_bytes, 10000 * 1024);
	assert_string_equal(engine_step(&e, "hugetlb.2M.pages")->current, "0");
	assert_string_equal(engine_step(&e, "hugetlb.2M.pages")->wanted, "512");
	assert_string_equal(engine_step(&e, "hugetlb.2M.pages")->file, "50-test.conf");
	assert_int_equal(engine_step(&e, "hugetlb.2M.pages")->line, 4);
}

static void test_too_old_a_kernel_is_named(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());

	fake_kernel_set(e.kernel, "/proc/sys/kernel/osrelease", "6.1.0-50-amd64");
	engine_plan(&e, "[vm]\ndefrag_mode = 1\n");
	engine_expect(&e, "vm.defrag_mode", OUTCOME_UNSUPPORTED);
	engine_expect_reason(&e, "vm.defrag_mode", "this kernel (6.1.0-50-amd64) is older than 6.15");
}

static void test_auto_that_does_not_fit_is_no_failure(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());

	engine_plan(&e, "[vm]\nwant_old_faultaround_pte = auto\n");
	engine_expect(&e, "vm.want_old_faultaround_pte", OUTCOME_UNSUPPORTED);
	assert_false(plan_has_failures(e.plan));
	engine_plan(&e, "[vm]\nwant_old_faultaround_pte = 1\n");
	assert_true(plan_has_failures(e.plan));
}

static void test_held_by_the_daemon(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());

	engine_plan(&e, "[thp]\npersistent_zero_page = yes\n");
	engine_expect(&e, "thp.persistent_zero_page", OUTCOME_UNSUPPORTED);
	engine_expect_reason(&e, "thp.persistent_zero_page", "mmoptd");
}

static void test_node_that_is_not_there(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());

	engine_plan(&e, "[hugetlb]\n2M.node7.pages = 5\n");
	engine_expect(&e, "hugetlb.2M.node7.pages", OUTCOME_UNSUPPORTED);
	engine_expect_reason(&e, "hugetlb.2M.node7.pages", "there is no node 7");
}

static void test_file_that_cannot_be_read(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());

	fake_kernel_hide(e.kernel, VM "swappiness", -EACCES);
	engine_plan(&e, "[vm]\nswappiness = 10\n");
	engine_expect(&e, "vm.swappiness", OUTCOME_REFUSED);
	engine_expect_reason(&e, "vm.swappiness", "cannot be read: Permission denied");
}

static void case_10_lowering_a_floor_is_told(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());
	char *text;

	engine_plan(&e, "[vm]\nmin_free_kbytes = 10000\nswappiness = 10\n");
	assert_int_equal(e.diags.n_warnings, 1);
	text = diag_format(&e.diags.items[0]);
	assert_string_equal(
		text, "50-test.conf:2: vm.min_free_kbytes: lowers it from 20000 to 10000; \">= 10000\" would only "
		      "ever raise it");
	free(text);
	engine_plan(&e, "[vm]\nmin_free_kbytes = >= 10000\n");
	assert_int_equal(e.diags.n_warnings, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_boot_parameter_by_its_effect),
		cmocka_unit_test(test_boot_parameter_without_a_file),
		cmocka_unit_test(test_boot_pool_is_a_pair),
		cmocka_unit_test(case_10_lowering_a_floor_is_told),
		cmocka_unit_test(test_cost_is_told),
		cmocka_unit_test(test_too_old_a_kernel_is_named),
		cmocka_unit_test(test_auto_that_does_not_fit_is_no_failure),
		cmocka_unit_test(test_held_by_the_daemon),
		cmocka_unit_test(test_node_that_is_not_there),
		cmocka_unit_test(test_file_that_cannot_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
