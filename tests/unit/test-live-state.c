/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sys/wait.h>

#include "core/live-state.h"
#include "temp-dir.h"

static struct live_drift drifts[] = {
	{ .id = (char *)"vm.swappiness",
	  .from = (char *)"10",
	  .to = (char *)"60",
	  .pid = 4242,
	  .comm = (char *)"odd) \tname\n",
	  .time_sec = 1700000001,
	  .times = 3,
	  .given_up = true },
	{ .id = (char *)"thp.enabled",
	  .from = (char *)"madvise",
	  .to = (char *)"always",
	  .time_sec = 1700000002,
	  .times = 1 },
};

static struct live_state full_state(void)
{
	return (struct live_state){
		.pid = getpid(),
		.since_sec = 1700000000,
		.zero_page_held = true,
		.zero_page_bytes = 2 << 20,
		.zero_page_since_sec = 1700000003,
		.zero_page_allocs_known = true,
		.zero_page_allocs = 17,
		.zero_page_error = (char *)"",
		.policy_error = (char *)"/etc/mmopt/policy.d/a\tb.conf:3: what is this",
		.drifts = drifts,
		.n_drifts = ARRAY_SIZE(drifts),
	};
}

static void expect_full(const struct live_state *s)
{
	const struct live_drift *d = live_state_find(s, "vm.swappiness");

	assert_true(s->running);
	assert_int_equal(s->pid, getpid());
	assert_int_equal(s->since_sec, 1700000000);
	assert_true(s->zero_page_held && s->zero_page_allocs_known);
	assert_int_equal(s->zero_page_bytes, 2 << 20);
	assert_int_equal(s->zero_page_since_sec, 1700000003);
	assert_int_equal(s->zero_page_allocs, 17);
	assert_string_equal(s->zero_page_error, "");
	assert_string_equal(s->policy_error, "/etc/mmopt/policy.d/a\tb.conf:3: what is this");
	assert_int_equal(s->n_drifts, 2);
	assert_string_equal(s->drifts[0].id, "thp.enabled");
	assert_null(s->drifts[0].comm);
	assert_int_equal(s->drifts[0].pid, 0);
	assert_false(s->drifts[0].given_up);
	assert_non_null(d);
	assert_string_equal(d->from, "10");
	assert_string_equal(d->to, "60");
	assert_int_equal(d->pid, 4242);
	assert_string_equal(d->comm, "odd) \tname\n");
	assert_int_equal(d->time_sec, 1700000001);
	assert_int_equal(d->times, 3);
	assert_true(d->given_up);
	assert_null(live_state_find(s, "vm.min_free_kbytes"));
}

static void read_not_running(const struct temp_dir *d)
{
	struct live_state s = { .pid = 1 };

	assert_int_equal(live_state_read(d->fd, &s), 0);
	assert_false(s.running);
	assert_int_equal(s.pid, 0);
	assert_int_equal(s.n_drifts, 0);
}

static void test_it_counts_while_the_lock_is_held(void **state)
{
	_cleanup_(temp_dir_donep) struct temp_dir d = temp_dir_make();
	_cleanup_(live_state_clear) struct live_state s = {};
	struct live_state written = full_state();
	int fd;

	read_not_running(&d);
	fd = live_state_hold(d.fd);
	assert_true(fd >= 0);
	/* Started, and nothing written yet. */
	read_not_running(&d);
	assert_int_equal(live_state_hold(d.fd), -EBUSY);
	assert_int_equal(live_state_write(d.fd, &written), 0);
	assert_int_equal(live_state_read(d.fd, &s), 0);
	expect_full(&s);
	close(fd);
	read_not_running(&d);
}

static void test_one_with_nothing_to_tell(void **state)
{
	_cleanup_(temp_dir_donep) struct temp_dir d = temp_dir_make();
	_cleanup_(live_state_clear) struct live_state s = {};
	_cleanup_close_ _unused_ int fd = live_state_hold(d.fd);
	struct live_state written = { .pid = getpid(), .zero_page_held = true };

	assert_int_equal(live_state_write(d.fd, &written), 0);
	assert_int_equal(live_state_read(d.fd, &s), 0);
	assert_true(s.running && s.zero_page_held);
	assert_false(s.zero_page_allocs_known);
	assert_null(s.zero_page_error);
	assert_null(s.policy_error);
	assert_int_equal(s.n_drifts, 0);
}

static int look_as_nobody(const struct temp_dir *d)
{
	struct live_state s = {};

	if (setgid(65534) < 0 || setuid(65534) < 0 || live_state_read(d->fd, &s) < 0)
		return 2;
	return s.running;
}

/* What a user who may not look at the lock sees: the process has to be the one that wrote it. */
static void expect_for_nobody(const struct temp_dir *d, bool running)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(look_as_nobody(d));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, running << 8);
}

static void test_a_user_goes_by_the_process(void **state)
{
	_cleanup_(temp_dir_donep) struct temp_dir d = temp_dir_make();
	_cleanup_close_ int fd = -EBADF;
	struct live_state written = { .pid = getpid() };
	char path[64], *text = NULL;

	if (geteuid() != 0)
		skip();
	assert_int_equal(fchmod(d.fd, 0755), 0);
	fd = live_state_hold(d.fd);
	assert_true(fd >= 0);
	assert_int_equal(live_state_write(d.fd, &written), 0);
	/* No such process below this root. */
	expect_for_nobody(&d, false);
	snprintf(path, sizeof(path), "/proc/%d/stat", getpid());
	assert_int_equal(read_file_at(AT_FDCWD, path, 0, &text, NULL), 0);
	temp_dir_write(&d, path + 1, text);
	assert_int_equal(live_state_write(d.fd, &written), 0);
	expect_for_nobody(&d, true);
	/* The pid is another process' now. */
	temp_dir_write(&d, path + 1, "1 (a) b) S 1 1 1 0 -1 4194560 1 1 1 1 1 1 1 1 20 0 1 0 7 1 1");
	expect_for_nobody(&d, false);
	free(text);
}

static void expect_broken(const char *text)
{
	struct live_state s = {};
	uint64_t start;

	if (live_state_parse(text, strlen(text), &s, &start) != -EINVAL)
		fail_msg("taken: %s", text);
}

#define HEADER "mmopt-daemon 1\t1\t2\t3\n"

static void test_what_is_no_state(void **state)
{
	struct live_state s = {};
	uint64_t start = 0;

	assert_int_equal(live_state_parse(HEADER "end\n", strlen(HEADER "end\n"), &s, &start), 0);
	assert_int_equal(start, 2);
	live_state_clear(&s);
	expect_broken("");
	expect_broken("end\n");
	expect_broken("mmopt-daemon 2\t1\t2\t3\nend\n");
	expect_broken("mmopt-daemon 1\t0\t2\t3\nend\n");
	expect_broken("mmopt-daemon 1\t99999999999\t2\t3\nend\n");
	expect_broken("mmopt-daemon 1\t1\t2\nend\n");
	expect_broken(HEADER);
	expect_broken(HEADER "end");
	expect_broken(HEADER "what\n");
	expect_broken(HEADER "zero-page\t1\t2\tx\nend\n");
	expect_broken(HEADER "zero-page\t-1\t2\t\nend\n");
	expect_broken(HEADER "policy-error\tbad \\escape\nend\n");
	expect_broken(HEADER "drift\ta\t1\t2\t3\tc\t4\t5\nend\n");
	expect_broken(HEADER "drift\t\t1\t2\t3\tc\t4\t5\t0\nend\n");
	expect_broken(HEADER "drift\ta\t1\t2\t3\tc\t4\t5\t2\nend\n");
	expect_broken(HEADER "drift\ta\t1\t2\t3\tc\t4\t4294967296\t0\nend\n");
	assert_int_equal(live_state_parse("mmopt-daemon 1\t1\t2\t3\0\nend\n", 24, &s, &start), -EINVAL);
}

static void test_files_that_are_not_ours(void **state)
{
	_cleanup_(temp_dir_donep) struct temp_dir d = temp_dir_make();
	_cleanup_close_ _unused_ int fd = live_state_hold(d.fd);
	struct live_state written = full_state(), s = {};

	assert_int_equal(live_state_write(d.fd, &written), 0);
	assert_int_equal(fchmodat(d.fd, "run/mmopt/daemon", 0666, 0), 0);
	read_not_running(&d);
	assert_int_equal(unlinkat(d.fd, "run/mmopt/daemon", 0), 0);
	assert_int_equal(mkfifoat(d.fd, "run/mmopt/daemon", 0644), 0);
	read_not_running(&d);
	assert_int_equal(unlinkat(d.fd, "run/mmopt/daemon", 0), 0);
	assert_int_equal(symlinkat("elsewhere", d.fd, "run/mmopt/daemon"), 0);
	read_not_running(&d);
	/* Replaced, not followed. */
	assert_int_equal(live_state_write(d.fd, &written), 0);
	assert_int_equal(live_state_read(d.fd, &s), 0);
	expect_full(&s);
	live_state_clear(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_it_counts_while_the_lock_is_held),
		cmocka_unit_test(test_one_with_nothing_to_tell),
		cmocka_unit_test(test_a_user_goes_by_the_process),
		cmocka_unit_test(test_what_is_no_state),
		cmocka_unit_test(test_files_that_are_not_ours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
