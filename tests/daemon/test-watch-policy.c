/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy-machine.h"

static void each_change_of_a_file(void **state)
{
	struct machine *m = machine(state);

	put(m, "/etc/mmopt/policy.d/10.conf");
	put(m, "/other/20.conf");
	watch(m);
	assert_int_equal(expect_nothing(m), 0);
	append("/etc/mmopt/policy.d/10.conf");
	expect_told(m);
	assert_int_equal(chmod("/etc/mmopt/policy.d/10.conf", 0600), 0);
	expect_told(m);
	assert_int_equal(truncate("/etc/mmopt/policy.d/10.conf", 0), 0);
	expect_told(m);
	assert_int_equal(rename("/other/20.conf", "/etc/mmopt/policy.d/20.conf"), 0);
	expect_told(m);
	assert_int_equal(rename("/etc/mmopt/policy.d/20.conf", "/other/20.conf"), 0);
	expect_told(m);
	assert_int_equal(link("/other/20.conf", "/etc/mmopt/policy.d/20.conf"), 0);
	expect_told(m);
	assert_int_equal(unlink("/etc/mmopt/policy.d/20.conf"), 0);
	expect_told(m);
	assert_int_equal(chmod("/etc/mmopt/policy.d", 0777), 0);
	expect_told(m);
	assert_int_equal(chmod("/etc/mmopt", 0777), 0);
	expect_told(m);
	assert_int_equal(expect_nothing(m), 0);
}

static void in_each_place(void **state)
{
	static const char *const paths[] = {
		"/etc/mmopt/policy.d/1.conf",
		"/run/mmopt/policy.d/1.conf",
		"/usr/local/lib/mmopt/policy.d/1.conf",
		"/usr/lib/mmopt/policy.d/1.conf",
		"/etc/mmopt/mmoptd.conf",
		"/usr/lib/mmopt/mmoptd.conf",
		"/run/mmopt/mmoptd.conf",
		"/usr/local/lib/mmopt/mmoptd.conf",
		"/etc/mmopt/mmoptd.conf.d/1.conf",
		"/usr/lib/mmopt/mmoptd.conf.d/1.conf",
		"/usr/local/lib/mmopt/mmoptd.conf.d/1.conf",
	};
	struct machine *m = machine(state);

	/* Nothing of it is there at first. */
	watch(m);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		put(m, paths[i]);
		expect_told(m);
	}
	for (size_t i = 0; i < ARRAY_SIZE(paths); i += 3) {
		append(paths[i]);
		expect_told(m);
	}
	assert_int_equal(unlink("/run/mmopt/mmoptd.conf"), 0);
	expect_told(m);
	assert_int_equal(expect_nothing(m), 0);
}

static void other_names_do_not_count(void **state)
{
	static const char *const names[] = {
		".1.conf.swp",	 ".1.conf", "1.conf~", "#1.conf#",    "1.conf.dpkg-new",
		"1.conf.rpmnew", "4913",    "README",  "1.conf;5f3a", "conf",
	};
	struct machine *m = machine(state);

	put(m, "/etc/mmopt/policy.d/1.conf");
	watch(m);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_free_ char *path = xasprintf("/etc/mmopt/policy.d/%s", names[i]);

		assert_non_null(path);
		put(m, path);
		append(path);
	}
	assert_int_equal(symlink("joe@host.1:2", "/etc/mmopt/policy.d/.#1.conf"), 0);
	put(m, "/etc/mmopt/notes.conf");
	put(m, "/etc/mmopt/mmoptd.conf.bak");
	make_dir(m, "/etc/other");
	put(m, "/etc/passwd");
	assert_int_equal(unlink("/etc/mmopt/policy.d/4913"), 0);
	assert_true(expect_nothing(m) > 0);
	assert_int_equal(rename("/etc/mmopt/policy.d/1.conf.dpkg-new", "/etc/mmopt/policy.d/1.conf"), 0);
	expect_told(m);
}

/* What the daemon keeps in /run/mmopt itself. */
static void state_files_do_not_count(void **state)
{
	struct machine *m = machine(state);

	put(m, "/run/mmopt/daemon");
	put(m, "/run/mmopt/lock");
	put(m, "/run/mmopt/transactions/1");
	watch(m);
	/* Where nothing gets another name, not even the process wakes up. */
	append("/run/mmopt/lock");
	append("/run/mmopt/daemon");
	append("/run/mmopt/transactions/1");
	put(m, "/run/mmopt/transactions/2");
	put(m, "/run/other/x");
	put(m, "/run/x");
	assert_int_equal(expect_nothing(m), 0);
	put(m, "/run/mmopt/probes/x");
	put(m, "/run/mmopt/daemon.new");
	assert_int_equal(rename("/run/mmopt/daemon.new", "/run/mmopt/daemon"), 0);
	assert_int_equal(unlink("/run/mmopt/lock"), 0);
	expect_nothing(m);
	put(m, "/run/mmopt/policy.d/1.conf");
	expect_told(m);
}

static void a_burst_is_told_once(void **state)
{
	struct machine *m = machine(state);

	put(m, "/etc/mmopt/policy.d/1.conf");
	watch(m);
	for (unsigned i = 0; i < 10; i++) {
		append("/etc/mmopt/policy.d/1.conf");
		run(m, 400 * USEC_PER_MSEC);
		assert_int_equal(m->told, 0);
	}
	append("/etc/mmopt/policy.d/1.conf");
	expect_told(m);
}

/* Somebody copies a policy to where there was none, slowly. */
static void a_burst_in_a_new_directory_is_told_once(void **state)
{
	struct machine *m = machine(state);

	watch(m);
	for (unsigned i = 0; i < 10; i++) {
		_cleanup_free_ char *path = xasprintf("/etc/mmopt/policy.d/%u.conf", i);

		assert_non_null(path);
		put(m, path);
		run(m, 400 * USEC_PER_MSEC);
		assert_int_equal(m->told, 0);
	}
	put(m, "/etc/mmopt/policy.d/last.conf");
	expect_told(m);
}

static void a_burst_without_end_is_told_after_10_s(void **state)
{
	struct machine *m = machine(state);
	uint64_t start = clock_usec(CLOCK_MONOTONIC), took;

	put(m, "/etc/mmopt/policy.d/1.conf");
	watch(m);
	while (!m->told && clock_usec(CLOCK_MONOTONIC) < start + 15 * USEC_PER_SEC) {
		append("/etc/mmopt/policy.d/1.conf");
		run(m, 100 * USEC_PER_MSEC);
	}
	took = clock_usec(CLOCK_MONOTONIC) - start;
	assert_int_equal(m->told, 1);
	assert_true(took >= 10 * USEC_PER_SEC - LATE_USEC && took < 10 * USEC_PER_SEC + 2 * LATE_USEC);
}

/* More events than the kernel keeps (fs.inotify.max_queued_events, 16384 by default). */
static void lost_events(void **state)
{
	struct machine *m = machine(state);

	put(m, "/etc/mmopt/policy.d/x");
	put(m, "/etc/mmopt/policy.d/y");
	watch(m);
	for (unsigned i = 0; i < 20000; i++)
		append(i % 2 ? "/etc/mmopt/policy.d/x" : "/etc/mmopt/policy.d/y");
	/* This one is lost, and none of the others counts. */
	put(m, "/etc/mmopt/policy.d/1.conf");
	expect_told(m);
	append("/etc/mmopt/policy.d/1.conf");
	expect_told(m);
}

static void may_be_freed_when_told(void **state)
{
	struct machine *m = machine(state);

	make_dir(m, "/etc/mmopt/policy.d");
	watch(m);
	m->free_it = true;
	put(m, "/etc/mmopt/policy.d/1.conf");
	expect_told(m);
	assert_null(m->watch);
	append("/etc/mmopt/policy.d/1.conf");
	assert_int_equal(expect_nothing(m), 0);
	watch_policy_free(NULL);
}

/* Files that follow each other in a new directory: none may be missed when it is told. */
static void what_comes_while_it_is_told(void **state)
{
	struct machine *m = machine(state);

	watch(m);
	for (unsigned i = 0; i < 5; i++) {
		_cleanup_free_ char *path = xasprintf("/etc/mmopt/policy.d/%u.conf", i);

		assert_non_null(path);
		put(m, path);
		while (!m->told)
			assert_true(sd_event_run(m->event, USEC_PER_SEC) >= 0);
		m->told = 0;
	}
	assert_int_equal(expect_nothing(m), 0);
}

#define A_TEST(name) cmocka_unit_test_setup_teardown(name, machine_setup, machine_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		A_TEST(each_change_of_a_file),
		A_TEST(in_each_place),
		A_TEST(other_names_do_not_count),
		A_TEST(state_files_do_not_count),
		A_TEST(a_burst_is_told_once),
		A_TEST(a_burst_in_a_new_directory_is_told_once),
		A_TEST(a_burst_without_end_is_told_after_10_s),
		A_TEST(lost_events),
		A_TEST(may_be_freed_when_told),
		A_TEST(what_comes_while_it_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
