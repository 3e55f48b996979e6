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
	/* A pool of the run time will not be there after the next boot. */
	fake_kernel_set(e.kernel, HUGE_2M "nr_hugepages", "512");
	engine_plan(&e, "[hugetlb]\n2M.boot_pages = 512\n");
	engine_expect(&e, "hugetlb.2M.boot_pages", OUTCOME_PENDING_REBOOT);
	fake_kernel_set(e.kernel, "/proc/cmdline", "hugepages=512");
	engine_plan(&e, "[hugetlb]\n2M.boot_pages = 512\n");
	engine_expect(&e, "hugetlb.2M.boot_pages", OUTCOME_ALREADY);
	/* It is there, and did not help. */
	fake_kernel_set(e.kernel, HUGE_2M "nr_hugepages", "100");
	engine_plan(&e, "[hugetlb]\n2M.boot_pages = 512\n");
	engine_expect(&e, "hugetlb.2M.boot_pages", OUTCOME_PENDING_REBOOT);
	engine_expect_reason(&e, "hugetlb.2M.boot_pages", "is on the kernel command line of this boot, but");
	engine_expect_reason(&e, "hugetlb.2M.boot_pages", "nr_hugepages shows 100");
}

/* What stands on the line is compared by its meaning. */
static void test_boot_parameter_in_another_spelling(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());

	fake_kernel_set(e.kernel, "/proc/cmdline", "psi=on init-on-alloc=1 default_hugepagesz=2048k");
	engine_plan(&e, "[boot]\npsi = yes\ninit_on_alloc = yes\ninit_on_free = yes\ndefault_hugepagesz = 2M\n");
	engine_expect(&e, "boot.psi", OUTCOME_ALREADY);
	engine_expect(&e, "boot.init_on_alloc", OUTCOME_ALREADY);
	engine_expect(&e, "boot.default_hugepagesz", OUTCOME_ALREADY);
	engine_expect(&e, "boot.init_on_free", OUTCOME_PENDING_REBOOT);
}

static void expect_boot_reason(struct engine *e, const char *line, const char *policy, const char *id,
			       const char *reason)
{
	fake_kernel_set(e->kernel, "/proc/cmdline", line);
	engine_plan(e, policy);
	engine_expect(e, id, OUTCOME_PENDING_REBOOT);
	engine_expect_reason(e, id, reason);
}

/* Adding at the end would do nothing, or worse: the kernel takes the first pair of a size. */
static void test_boot_parameter_that_another_keeps_out(void **state)
{
	static const char pool[] = "[hugetlb]\n2M.boot_pages = 512\n", id[] = "hugetlb.2M.boot_pages";
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());

	expect_boot_reason(
		&e, "ro hugepagesz=2M hugepages=8 quiet", pool, id,
		"has \"hugepagesz=2M hugepages=8\", which comes first and counts: put \"hugepagesz=2M hugepages=512\" in");
	expect_boot_reason(&e, "ro hugepages=8", pool, id, "has \"hugepages=8\", which comes first");
	expect_boot_reason(&e, "hugepages=8 hugepagesz=2M hugepages=9", pool, id,
			   "has \"hugepages=8\", which comes first");
	expect_boot_reason(&e, "hugepagesz=2048k quiet -- x", pool, id, "has \"hugepagesz=2048k\", which comes first");
	/* not in the way */
	expect_boot_reason(&e, "ro hugepagesz=1G hugepages=1", pool, id, "add \"hugepagesz=2M hugepages=512\"");
	expect_boot_reason(&e, "default_hugepagesz=2M", pool, id, "add \"");
	expect_boot_reason(&e, "ro -- hugepagesz=2M hugepages=8", pool, id, "add \"");
	expect_boot_reason(&e, "", pool, id, "add \"");

	expect_boot_reason(&e, "ro default_hugepagesz=2M", "[boot]\ndefault_hugepagesz = 1G\n",
			   "boot.default_hugepagesz", "has \"default_hugepagesz=2M\", which comes first");
	/* the size of the default has a name of its own, which stays */
	expect_boot_reason(&e, "default_hugepagesz=2M hugepages=4", "[hugetlb]\n2M.boot_pages = 8\n",
			   "hugetlb.2M.boot_pages",
			   "has \"hugepages=4\", which comes first and counts: put \"hugepages=8\" in its place");
	fake_kernel_set(e.kernel, "/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages", "0");
	/* all that is added together: the count without a size would go to the new default size */
	expect_boot_reason(&e, "ro hugepages=512", "[boot]\ndefault_hugepagesz = 1G\n[hugetlb]\n1G.boot_pages = 4\n",
			   "boot.default_hugepagesz",
			   "has \"hugepages=512\" without a size before it, which would go to another size then: put "
			   "\"hugepagesz=2M hugepages=512\" in its place, add \"default_hugepagesz=1G\"");
	engine_expect_reason(&e, "hugetlb.1G.boot_pages", "has \"hugepages=512\" without a size before it");
	expect_boot_reason(&e, "transparent_hugepage=always", "[boot]\ntransparent_hugepage = never\n",
			   "boot.transparent_hugepage", "add \"transparent_hugepage=never\"");
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

#define ZERO_PAGE "thp.persistent_zero_page"

static void zero_page_is_2m(struct facts *facts)
{
	facts_set_number(facts, FACTS_THP, FACT_THP_PMD_SIZE, 2 << 20, CONFIDENCE_READ, "test");
	facts->groups |= FACTS_THP;
}

static void expect_zero_page(const char *wanted, const struct live_state *live, enum step_action action,
			     enum outcome outcome, bool differs, const char *reason)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());
	_cleanup_free_ char *policy = xasprintf("[thp]\npersistent_zero_page = %s\n", wanted);

	e.preset = zero_page_is_2m;
	engine_plan_with(&e, policy, &(struct plan_options){ .live = live });
	engine_expect(&e, ZERO_PAGE, outcome);
	engine_expect_reason(&e, ZERO_PAGE, reason);
	assert_int_equal(engine_step(&e, ZERO_PAGE)->action, action);
	assert_int_equal(engine_step(&e, ZERO_PAGE)->differs, differs);
	assert_string_equal(engine_step(&e, ZERO_PAGE)->wanted, streq(wanted, "yes") ? "1" : "0");
}

static void zero_page_is_the_kernels(struct facts *facts)
{
	zero_page_is_2m(facts);
	facts_set_boolean(facts, FACTS_THP, FACT_ZERO_PAGE_PERSISTENT, true, CONFIDENCE_READ, "/proc/config.gz");
}

/* Nobody has to run for it, whatever the policy says. */
static void test_held_by_the_kernel(void **state)
{
	static const char *const policies[] = { "[thp]\npersistent_zero_page = yes\n",
						"[thp]\npersistent_zero_page = auto\n" };

	for (size_t i = 0; i < ARRAY_SIZE(policies); i++) {
		_cleanup_(engine_donep) struct engine e = engine_make(machine_new());

		e.preset = zero_page_is_the_kernels;
		engine_plan(&e, policies[i]);
		engine_expect(&e, ZERO_PAGE, OUTCOME_ALREADY);
		assert_int_equal(engine_step(&e, ZERO_PAGE)->action, STEP_KEEP);
		assert_false(engine_step(&e, ZERO_PAGE)->differs);
	}
}

static void test_held_by_the_daemon(void **state)
{
	struct live_state running = { .running = true, .pid = 1 };
	struct live_state held = { .running = true,
				   .pid = 1,
				   .zero_page_held = true,
				   .zero_page_bytes = 2 << 20,
				   .zero_page_since_sec = 1700000000 };
	struct live_state failed = { .running = true, .pid = 1, .zero_page_error = (char *)"thp.enabled is never" };
	struct live_state none = {};

	expect_zero_page("yes", NULL, STEP_REFUSE, OUTCOME_UNSUPPORTED, false, "systemctl enable --now mmoptd");
	expect_zero_page("yes", &none, STEP_REFUSE, OUTCOME_UNSUPPORTED, false, "systemctl enable --now mmoptd");
	expect_zero_page("yes", &running, STEP_KEEP, OUTCOME_PENDING, true, "mmoptd takes it (2M)");
	expect_zero_page("yes", &held, STEP_KEEP, OUTCOME_ALREADY, false,
			 "held by mmoptd since 2023-11-14T22:13:20Z, takes 2M");
	expect_zero_page("yes", &failed, STEP_REFUSE, OUTCOME_REFUSED, true, "thp.enabled is never");
	expect_zero_page("no", NULL, STEP_KEEP, OUTCOME_ALREADY, false, "not held");
	expect_zero_page("no", &running, STEP_KEEP, OUTCOME_ALREADY, false, "not held");
	expect_zero_page("no", &held, STEP_KEEP, OUTCOME_PENDING, true, "mmoptd lets go of it (2M)");
}

/* It is for mmoptd to do when the rest is done: no failure, nothing to write, and not yet as it should be. */
static void test_an_apply_leaves_it_to_the_daemon(void **state)
{
	struct live_state running = { .running = true, .pid = 1 };
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());

	engine_plan_with(
		&e, "[Policy]\nEssential = " ZERO_PAGE "\n[vm]\nswappiness = 10\n[thp]\npersistent_zero_page = yes\n",
		&(struct plan_options){ .live = &running });
	assert_int_equal(engine_try_apply(&e), 0);
	assert_int_equal(e.result, APPLY_DONE);
	engine_expect(&e, "vm.swappiness", OUTCOME_APPLIED);
	engine_expect(&e, ZERO_PAGE, OUTCOME_PENDING);
	assert_true(plan_differs(e.plan));
	assert_int_equal(fake_kernel_writes(e.kernel), 1);
}

static void expect_writer(struct engine *e, struct live_drift *drift, const char *reason, pid_t pid, const char *comm)
{
	struct live_state live = { .running = true, .pid = 1, .drifts = drift, .n_drifts = 1 };
	const struct step *step;

	engine_restart(e);
	engine_plan_with(e, "[vm]\nswappiness = 10\n", &(struct plan_options){ .live = &live });
	assert_int_equal(verify_plan(e->plan, &e->facts, e->io, e->store), 0);
	engine_expect(e, "vm.swappiness", OUTCOME_DRIFTED);
	step = engine_step(e, "vm.swappiness");
	assert_string_equal(step->reason, reason);
	assert_int_equal(step->writer_pid, pid);
	if (comm)
		assert_string_equal(step->writer_comm, comm);
	else
		assert_null(step->writer_comm);
	assert_int_equal(step->given_up, drift->given_up && streq(drift->to, "77"));
}

static void test_who_changed_a_value(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());
	struct live_drift d = { .id = (char *)"vm.swappiness", .from = (char *)"10", .to = (char *)"77" };

	engine_apply(&e, "[vm]\nswappiness = 10\n");
	fake_kernel_set(e.kernel, VM "swappiness", "77");
	expect_writer(&e, &d, "changed by an unknown process: 10 -> 77", 0, NULL);
	d.pid = 4242;
	expect_writer(&e, &d, "changed by process 4242: 10 -> 77", 4242, NULL);
	d.comm = (char *)"sysctl";
	expect_writer(&e, &d, "changed by sysctl (pid 4242): 10 -> 77", 4242, "sysctl");
	d.given_up = true;
	d.times = 6;
	expect_writer(&e, &d, "changed by sysctl (pid 4242): 10 -> 77; changed 6 times, mmoptd no longer sets it again",
		      4242, "sysctl");
	/* It saw another change than the one that made this value. */
	d.to = (char *)"78";
	expect_writer(&e, &d, "someone else changed it: 10 -> 77", 0, NULL);
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
		cmocka_unit_test(test_boot_parameter_in_another_spelling),
		cmocka_unit_test(test_boot_parameter_that_another_keeps_out),
		cmocka_unit_test(case_10_lowering_a_floor_is_told),
		cmocka_unit_test(test_cost_is_told),
		cmocka_unit_test(test_too_old_a_kernel_is_named),
		cmocka_unit_test(test_auto_that_does_not_fit_is_no_failure),
		cmocka_unit_test(test_held_by_the_daemon),
		cmocka_unit_test(test_held_by_the_kernel),
		cmocka_unit_test(test_an_apply_leaves_it_to_the_daemon),
		cmocka_unit_test(test_who_changed_a_value),
		cmocka_unit_test(test_node_that_is_not_there),
		cmocka_unit_test(test_file_that_cannot_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
