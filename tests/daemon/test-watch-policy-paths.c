/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <signal.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "policy-machine.h"

static void directories_that_appear_step_by_step(void **state)
{
	struct machine *m = machine(state);

	make_dir(m, "/usr/local");
	watch(m);
	make_dir(m, "/usr/local/lib");
	run(m, 2 * QUIET_USEC);
	m->told = 0;
	make_dir(m, "/usr/local/lib/mmopt");
	run(m, 2 * QUIET_USEC);
	m->told = 0;
	make_dir(m, "/usr/local/lib/mmopt/policy.d");
	run(m, 2 * QUIET_USEC);
	m->told = 0;
	put(m, "/usr/local/lib/mmopt/policy.d/1.conf");
	expect_told(m);
	/* Its neighbours are not looked at any more. */
	make_dir(m, "/usr/local/lib/python3");
	make_dir(m, "/usr/local/share");
	assert_int_equal(expect_nothing(m), 0);
}

static void directories_that_go_and_come_back(void **state)
{
	struct machine *m = machine(state);

	put(m, "/etc/mmopt/policy.d/1.conf");
	watch(m);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(unlink("/etc/mmopt/policy.d/1.conf"), 0);
		assert_int_equal(rmdir("/etc/mmopt/policy.d"), 0);
		assert_int_equal(rmdir("/etc/mmopt"), 0);
		if (i > 0)
			expect_told(m);
		if (i > 1) {
			assert_int_equal(rmdir("/etc"), 0);
			run(m, 2 * QUIET_USEC);
			m->told = 0;
		}
		put(m, "/etc/mmopt/policy.d/1.conf");
		expect_told(m);
		append("/etc/mmopt/policy.d/1.conf");
		expect_told(m);
	}
}

static void directories_that_are_renamed(void **state)
{
	struct machine *m = machine(state);

	put(m, "/etc/mmopt/policy.d/1.conf");
	put(m, "/etc/mmopt.new/policy.d/2.conf");
	watch(m);
	assert_int_equal(rename("/etc/mmopt/policy.d", "/etc/mmopt/policy.d.old"), 0);
	expect_told(m);
	append("/etc/mmopt/policy.d.old/1.conf");
	assert_int_equal(expect_nothing(m), 0);
	assert_int_equal(rename("/etc/mmopt/policy.d.old", "/etc/mmopt/policy.d"), 0);
	expect_told(m);
	append("/etc/mmopt/policy.d/1.conf");
	expect_told(m);
	assert_int_equal(rename("/etc/mmopt", "/etc/mmopt.old"), 0);
	expect_told(m);
	assert_int_equal(rename("/etc/mmopt.new", "/etc/mmopt"), 0);
	expect_told(m);
	append("/etc/mmopt.old/policy.d/1.conf");
	assert_int_equal(expect_nothing(m), 0);
	append("/etc/mmopt/policy.d/2.conf");
	expect_told(m);
}

/* A shell that stands in it keeps a removed directory alive. */
static void a_directory_that_is_removed_under_somebody(void **state)
{
	struct machine *m = machine(state);
	pid_t pid;

	make_dir(m, "/etc/mmopt/policy.d");
	make_dir(m, "/etc/mmopt/mmoptd.conf.d");
	put(m, "/etc/mmopt/mmoptd.conf");
	watch(m);
	pid = fork();
	if (pid == 0) {
		if (chdir("/etc/mmopt/policy.d") == 0)
			kill(getpid(), SIGSTOP);
		_exit(1);
	}
	assert_int_equal(waitpid(pid, NULL, WUNTRACED), pid);
	assert_int_equal(rmdir("/etc/mmopt/policy.d"), 0);
	run(m, 2 * QUIET_USEC);
	m->told = 0;
	put(m, "/etc/mmopt/policy.d/1.conf");
	run(m, 2 * QUIET_USEC);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(m->told, 1);
}

static void points_to(const char *link, const char *target)
{
	_cleanup_free_ char *new = xasprintf("%s.new", link);

	assert_non_null(new);
	assert_int_equal(symlink(target, new), 0);
	assert_int_equal(rename(new, link), 0);
}

static void a_directory_that_is_a_link(void **state)
{
	struct machine *m = machine(state);

	put(m, "/srv/a/1.conf");
	put(m, "/srv/b/1.conf");
	make_dir(m, "/etc/mmopt");
	points_to("/etc/mmopt/policy.d", "/srv/a");
	watch(m);
	append("/srv/a/1.conf");
	expect_told(m);
	points_to("/etc/mmopt/policy.d", "../../srv/b/.");
	expect_told(m);
	append("/srv/a/1.conf");
	assert_int_equal(expect_nothing(m), 0);
	append("/srv/b/1.conf");
	expect_told(m);
	assert_int_equal(rename("/srv/b", "/srv/c"), 0);
	expect_told(m);
	assert_int_equal(rename("/srv/c", "/srv/b"), 0);
	expect_told(m);
	/* Into nothing, into a circle, and back. */
	points_to("/etc/mmopt/policy.d", "/srv/none/here");
	expect_told(m);
	put(m, "/srv/none/here/1.conf");
	expect_told(m);
	points_to("/etc/mmopt/policy.d", "policy.d");
	expect_told(m);
	points_to("/etc/mmopt/policy.d", "/srv/a");
	expect_told(m);
	append("/srv/a/1.conf");
	expect_told(m);
}

static void a_link_on_the_way(void **state)
{
	struct machine *m = machine(state);

	put(m, "/srv/1/mmopt/policy.d/1.conf");
	put(m, "/srv/2/mmopt/policy.d/1.conf");
	points_to("/srv/now", "1");
	make_dir(m, "/etc");
	points_to("/etc/mmopt", "/srv/now/mmopt");
	watch(m);
	append("/srv/1/mmopt/policy.d/1.conf");
	expect_told(m);
	points_to("/srv/now", "2");
	expect_told(m);
	append("/srv/2/mmopt/policy.d/1.conf");
	expect_told(m);
	append("/srv/1/mmopt/policy.d/1.conf");
	assert_int_equal(expect_nothing(m), 0);
}

static void files_that_are_links(void **state)
{
	struct machine *m = machine(state);

	put(m, "/srv/policy.conf");
	put(m, "/srv/policy.conf.new");
	make_dir(m, "/etc/mmopt/policy.d");
	watch(m);
	points_to("/etc/mmopt/policy.d/1.conf", "/srv/policy.conf");
	expect_told(m);
	append("/srv/policy.conf");
	expect_told(m);
	assert_int_equal(rename("/srv/policy.conf.new", "/srv/policy.conf"), 0);
	expect_told(m);
	append("/srv/policy.conf");
	expect_told(m);
	assert_int_equal(unlink("/srv/policy.conf"), 0);
	expect_told(m);
	put(m, "/srv/policy.conf");
	expect_told(m);
	assert_int_equal(unlink("/etc/mmopt/policy.d/1.conf"), 0);
	expect_told(m);
	append("/srv/policy.conf");
	assert_int_equal(expect_nothing(m), 0);
}

/* As it is mounted into a container: every file leads through one link, which is the only one to change. */
static void files_behind_one_link(void **state)
{
	struct machine *m = machine(state);

	put(m, "/etc/mmopt/policy.d/..1/1.conf");
	put(m, "/etc/mmopt/policy.d/..2/1.conf");
	points_to("/etc/mmopt/policy.d/..data", "..1");
	points_to("/etc/mmopt/policy.d/1.conf", "..data/1.conf");
	watch(m);
	points_to("/etc/mmopt/policy.d/..data", "..2");
	expect_told(m);
	append("/etc/mmopt/policy.d/..2/1.conf");
	expect_told(m);
}

/* A file that is switched off leads to /dev/null, which others write to all the time. */
static void a_file_that_is_switched_off(void **state)
{
	struct machine *m = machine(state);

	make_dir(m, "/dev");
	make_dir(m, "/etc/mmopt/policy.d");
	assert_int_equal(mknod("/dev/null", S_IFCHR | 0666, makedev(1, 3)), 0);
	points_to("/etc/mmopt/policy.d/1.conf", "/dev/null");
	watch(m);
	append("/dev/null");
	put(m, "/dev/shm/x");
	assert_int_equal(expect_nothing(m), 0);
	points_to("/etc/mmopt/policy.d/1.conf", "/dev/shm/x");
	expect_told(m);
}

#define A_TEST(name) cmocka_unit_test_setup_teardown(name, machine_setup, machine_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		A_TEST(directories_that_appear_step_by_step),
		A_TEST(directories_that_go_and_come_back),
		A_TEST(directories_that_are_renamed),
		A_TEST(a_directory_that_is_removed_under_somebody),
		A_TEST(a_directory_that_is_a_link),
		A_TEST(a_link_on_the_way),
		A_TEST(files_that_are_links),
		A_TEST(files_behind_one_link),
		A_TEST(a_file_that_is_switched_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
