/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/watch-netlink.h"

#include "base/clock.h"
#include "knobs.h"
#include "squeeze.h"

#define SWITCH "/proc/sys/kernel/task_delayacct"
#define SLEEPERS 1000

static struct {
	int lock;
	char *before;
} accounting = { .lock = -EBADF };

static struct squeeze squeeze;

static int setup(void **state)
{
	struct delays d;

	if (delays_read(&d) == -EOPNOTSUPP || access(SWITCH, W_OK) < 0)
		return 0;
	accounting.lock = knobs_lock();
	accounting.before = knob_read(SWITCH);
	return 0;
}

static int teardown(void **state)
{
	squeeze_stop(&squeeze);
	if (accounting.lock < 0)
		return 0;
	knob_write(SWITCH, strstrip(accounting.before));
	free(accounting.before);
	close(accounting.lock);
	return 0;
}

static void need_switch(void)
{
	if (accounting.lock < 0) {
		print_message("no delay accounting that this test may switch\n");
		skip();
	}
}

static pid_t start(void (*body)(void))
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		body();
		_exit(0);
	}
	return pid;
}

static void stop(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void sleep_on(void)
{
	pause();
}

static void off_is_told(void **state)
{
	struct delays d = { .n_processes = 7 };

	need_switch();
	knob_write(SWITCH, "0");
	assert_int_equal(delays_read(&d), -ENODATA);
	assert_int_equal(d.n_processes, 7);
}

static size_t processes(void)
{
	_cleanup_closedir_ DIR *dir = opendir("/proc");
	struct dirent *de;
	size_t n = 0;

	assert_non_null(dir);
	while ((de = readdir(dir)))
		n += de->d_name[0] >= '1' && de->d_name[0] <= '9';
	return n;
}

static void all_processes_are_asked_quickly(void **state)
{
	pid_t sleepers[SLEEPERS];
	struct delays few, many;
	uint64_t took;
	size_t n;

	need_switch();
	knob_write(SWITCH, "1");
	assert_int_equal(delays_read(&few), 0);
	n = processes();
	assert_true(few.n_processes + 50 > n && few.n_processes < n + 50);
	for (size_t i = 0; i < SLEEPERS; i++)
		sleepers[i] = start(sleep_on);
	took = clock_usec(CLOCK_MONOTONIC);
	assert_int_equal(delays_read(&many), 0);
	took = clock_usec(CLOCK_MONOTONIC) - took;
	for (size_t i = 0; i < SLEEPERS; i++)
		stop(sleepers[i]);
	assert_true(many.n_processes + 50 > few.n_processes + SLEEPERS);
	print_message("%zu processes in %llu us\n", many.n_processes, (unsigned long long)took);
	assert_true(took / many.n_processes < 500);
}

static pid_t victims[SLEEPERS];

/* From the last to the first, towards the one that counts them. */
static void kill_all(void)
{
	for (size_t i = SLEEPERS; i-- > 0;)
		kill(victims[i], SIGKILL);
}

/* The names in /proc are read many at a time, so some of them are of processes that have ended meanwhile. */
static void vanished_processes_do_not_matter(void **state)
{
	struct delays d, start_value;
	pid_t killer;
	int error = 0;

	need_switch();
	knob_write(SWITCH, "1");
	assert_int_equal(delays_read(&start_value), 0);
	/* Nobody has to wait for those that end: they are gone at once. */
	signal(SIGCHLD, SIG_IGN);
	for (size_t i = 0; i < SLEEPERS; i++)
		victims[i] = start(sleep_on);
	killer = start(kill_all);
	do
		error = delays_read(&d);
	while (error == 0 && d.n_processes > start_value.n_processes + 50);
	while (kill(killer, 0) == 0)
		usleep(1000);
	signal(SIGCHLD, SIG_DFL);
	assert_int_equal(error, 0);
}

static void reclaim_is_counted(void **state)
{
	struct delays before, after;
	uint64_t end;

	need_switch();
	squeeze_prepare(&squeeze);
	knob_write(SWITCH, "1");
	assert_int_equal(delays_read(&before), 0);
	squeeze_start(&squeeze);
	end = clock_usec(CLOCK_MONOTONIC) + 20 * USEC_PER_SEC;
	do {
		usleep(100 * USEC_PER_MSEC);
		assert_int_equal(delays_read(&after), 0);
	} while (after.reclaim_nsec - before.reclaim_nsec < 10000000 && clock_usec(CLOCK_MONOTONIC) < end);
	print_message("reclaim %lld, swapin %lld, thrashing %lld us\n",
		      (long long)(after.reclaim_nsec - before.reclaim_nsec) / 1000,
		      (long long)(after.swapin_nsec - before.swapin_nsec) / 1000,
		      (long long)(after.thrashing_nsec - before.thrashing_nsec) / 1000);
	assert_true(after.reclaim_nsec - before.reclaim_nsec >= 10000000);
	assert_true(after.reclaim_nsec - before.reclaim_nsec < 60000000000);
	/* There is no swap space that it could have waited for. */
	assert_true(after.swapin_nsec - before.swapin_nsec < 1000000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(off_is_told),
		cmocka_unit_test(all_processes_are_asked_quickly),
		cmocka_unit_test(vanished_processes_do_not_matter),
		cmocka_unit_test(reclaim_is_counted),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
