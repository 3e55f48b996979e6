/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Kernel parameters: the line as a whole, its length, its place. */
#include "core/boot/line.h"
#include "core/boot/place.h"
#include "engine.h"
#include "machine.h"

static void expect_wanted(struct engine *e, const char *policy, const char *wanted)
{
	_cleanup_free_ char *line = NULL;

	engine_plan(e, policy);
	line = boot_line_wanted(e->plan);
	assert_string_equal(line, wanted);
}

static void test_wanted_in_the_order_of_the_kernel(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());

	expect_wanted(&e, "[vm]\nswappiness = 10\n", "");
	expect_wanted(&e,
		      "[hugetlb]\n2M.boot_pages = 512\n1G.boot_pages = 2\n[boot]\ntransparent_hugepage = madvise\n"
		      "default_hugepagesz = 1G\n",
		      "default_hugepagesz=1G transparent_hugepage=madvise hugepagesz=1G hugepages=2 hugepagesz=2M "
		      "hugepages=512");
	/* what is in effect already belongs to the line too */
	fake_kernel_set(e.kernel, HUGE_2M "nr_hugepages", "512");
	expect_wanted(&e, "[hugetlb]\n2M.boot_pages = 512\n", "hugepagesz=2M hugepages=512");
}

static void test_length_counts_what_is_to_be_added(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());

	engine_plan(&e, "[hugetlb]\n2M.boot_pages = 512\n[boot]\nmovablecore = 1G\n");
	assert_int_equal(boot_line_length(e.plan, "ro"),
			 strlen("ro") + strlen(" hugepagesz=2M hugepages=512") + strlen(" movablecore=1G"));
	/* what is there already is not counted twice, what comes in the place of others by the difference */
	fake_kernel_set(e.kernel, "/proc/cmdline", "hugepagesz=2M hugepages=512");
	engine_plan(&e, "[hugetlb]\n2M.boot_pages = 512\n[boot]\nmovablecore = 1G\n");
	assert_int_equal(boot_line_length(e.plan, "ro"), strlen("ro") + strlen(" movablecore=1G"));
	fake_kernel_set(e.kernel, "/proc/cmdline", "hugepages=8");
	engine_plan(&e, "[hugetlb]\n2M.boot_pages = 512\n");
	assert_int_equal(boot_line_length(e.plan, "hugepages=8"), strlen("hugepagesz=2M hugepages=512"));
	fake_kernel_set(e.kernel, "/proc/cmdline", "");
	engine_plan(&e, "[hugetlb]\n2M.boot_pages = 512\n");
	assert_int_equal(boot_line_length(e.plan, ""), strlen("hugepagesz=2M hugepages=512"));
}

static void test_limit(void **state)
{
	assert_int_equal(boot_line_limit("x86_64"), 2047);
	assert_int_equal(boot_line_limit("arm64"), 2047);
	assert_int_equal(boot_line_limit("arm"), 1023);
	assert_int_equal(boot_line_limit("nothing known"), 1023);
	assert_int_equal(boot_line_limit(NULL), 1023);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wanted_in_the_order_of_the_kernel),
		cmocka_unit_test(test_length_counts_what_is_to_be_added),
		cmocka_unit_test(test_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
