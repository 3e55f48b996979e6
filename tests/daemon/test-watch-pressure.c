/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/watch-pressure.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/fileio.h"
#include "tests/unit/test.h"

#define FILE_BYTES (48 << 20)
#define LIMIT "16M"

struct heard {
	unsigned exceeded, finished;
	struct watch_pressure *watch;
	bool free_it;
};

static void told(struct heard *h)
{
	if (h->free_it) {
		watch_pressure_free(h->watch);
		h->watch = NULL;
	}
}

static void on_exceeded(void *userdata)
{
	struct heard *h = userdata;

	h->exceeded++;
	told(h);
}

static void on_finished(void *userdata)
{
	struct heard *h = userdata;

	h->finished++;
	told(h);
}

static int event_loop(void **state)
{
	sd_event *event = NULL;

	assert_true(sd_event_new(&event) >= 0);
	*state = event;
	return 0;
}

static int event_loop_done(void **state)
{
	sd_event_unref(*state);
	return 0;
}

/* For so long, or until one of both was told. Returns how many times the loop woke up. */
static unsigned run(sd_event *event, const struct heard *h, uint64_t usec)
{
	uint64_t end = clock_usec(CLOCK_MONOTONIC) + usec, now;
	unsigned wakeups = 0;

	while ((now = clock_usec(CLOCK_MONOTONIC)) < end && !(h && h->exceeded + h->finished)) {
		int r = sd_event_run(event, end - now);

		assert_true(r >= 0);
		wakeups += r > 0;
	}
	return wakeups;
}

static unsigned open_triggers(void)
{
	_cleanup_closedir_ DIR *dir = opendir("/proc/self/fd");
	char target[256];
	struct dirent *de;
	unsigned n = 0;

	assert_non_null(dir);
	while ((de = readdir(dir))) {
		ssize_t size = readlinkat(dirfd(dir), de->d_name, target, sizeof(target) - 1);

		if (size < 0)
			continue;
		target[size] = '\0';
		n += streq(target, "/proc/pressure/memory");
	}
	return n;
}

static struct watch_pressure *watch(sd_event *event, unsigned level, uint64_t usec, struct heard *h)
{
	int r = watch_pressure_new(event, level, usec, on_exceeded, on_finished, h, &h->watch);

	if (r == -EOPNOTSUPP) {
		print_message("this kernel has no pressure stall information\n");
		skip();
	}
	assert_int_equal(r, 0);
	assert_int_equal(open_triggers(), 1);
	return h->watch;
}

static void ends_in_time(void **state)
{
	struct heard h = {};
	uint64_t start = clock_usec(CLOCK_BOOTTIME), took;

	watch(*state, 10000, USEC_PER_SEC, &h);
	run(*state, &h, 10 * USEC_PER_SEC);
	took = clock_usec(CLOCK_BOOTTIME) - start;
	assert_int_equal(h.finished, 1);
	assert_int_equal(h.exceeded, 0);
	assert_true(took >= USEC_PER_SEC && took < 3 * USEC_PER_SEC);
	assert_int_equal(open_triggers(), 0);
	assert_int_equal(run(*state, NULL, 2 * USEC_PER_SEC), 0);
	assert_int_equal(h.finished, 1);
	watch_pressure_free(h.watch);
}

static void says_nothing_when_freed(void **state)
{
	struct heard h = {};

	watch(*state, 10000, USEC_PER_SEC / 2, &h);
	watch_pressure_free(h.watch);
	assert_int_equal(open_triggers(), 0);
	assert_int_equal(run(*state, NULL, USEC_PER_SEC), 0);
	assert_int_equal(h.exceeded + h.finished, 0);
	watch_pressure_free(NULL);
}

static void may_be_freed_when_told(void **state)
{
	struct heard h = { .free_it = true };

	watch(*state, 10000, 1000, &h);
	run(*state, &h, 10 * USEC_PER_SEC);
	assert_int_equal(h.finished, 1);
	assert_null(h.watch);
	assert_int_equal(run(*state, NULL, USEC_PER_SEC / 2), 0);
}

static void levels_that_are_none(void **state)
{
	struct heard h = {};

	assert_int_equal(watch_pressure_new(*state, 0, 1, on_exceeded, on_finished, &h, &h.watch), -EINVAL);
	assert_int_equal(watch_pressure_new(*state, 10001, 1, on_exceeded, on_finished, &h, &h.watch), -EINVAL);
	assert_null(h.watch);
	assert_int_equal(open_triggers(), 0);
}

/* A control group with little memory. 0 where there can be none. */
static int make_group(char *ret, size_t size)
{
	static const struct {
		const char *root, *file;
	} places[] = {
		{ "/sys/fs/cgroup/memory", "memory.limit_in_bytes" },
		{ "/sys/fs/cgroup", "memory.max" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		_cleanup_close_ int dir = -EBADF, fd = -EBADF;

		snprintf(ret, size, "%s/mmopt-test-%d", places[i].root, (int)getpid());
		if (mkdir(ret, 0755) < 0)
			continue;
		dir = open(ret, O_DIRECTORY | O_CLOEXEC);
		fd = openat(dir, places[i].file, O_WRONLY | O_CLOEXEC);
		if (fd >= 0 && write(fd, LIMIT, strlen(LIMIT)) == (ssize_t)strlen(LIMIT))
			return 1;
		rmdir(ret);
	}
	return 0;
}

/* In a child: reads a file that is larger than the group's memory, again and again. */
static void thrash(const char *group)
{
	static char buffer[1 << 20];
	_cleanup_free_ char *procs = xasprintf("%s/cgroup.procs", group);
	char path[] = "/var/tmp/mmopt-test-XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC), procs_fd = procs ? open(procs, O_WRONLY | O_CLOEXEC) : -1;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (fd < 0 || unlink(path) < 0 || write(procs_fd, "0", 1) != 1)
		_exit(1);
	for (size_t i = 0; i < FILE_BYTES / sizeof(buffer); i++)
		if (write_all(fd, buffer, sizeof(buffer)) < 0)
			_exit(1);
	for (uint64_t end = clock_usec(CLOCK_MONOTONIC) + 60 * USEC_PER_SEC; clock_usec(CLOCK_MONOTONIC) < end;) {
		if (pread(fd, buffer, 1, (off_t)(random() % FILE_BYTES)) != 1 || lseek(fd, 0, SEEK_SET) < 0)
			_exit(1);
		while (read(fd, buffer, sizeof(buffer)) > 0)
			;
	}
	_exit(0);
}

static void hears_of_pressure_once(void **state)
{
	struct heard h = {};
	char group[256];
	pid_t pid;

	if (geteuid() != 0 || !make_group(group, sizeof(group))) {
		print_message("no control group can be made for the one that presses\n");
		skip();
	}
	watch(*state, 100, 60 * USEC_PER_SEC, &h);
	pid = fork();
	if (pid == 0)
		thrash(group);
	run(*state, &h, 30 * USEC_PER_SEC);
	/* The pressure goes on, and nobody is told any more. */
	if (h.exceeded)
		h.exceeded += 100 * run(*state, NULL, 5 * USEC_PER_SEC);
	if (pid > 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	assert_int_equal(rmdir(group), 0);
	assert_int_equal(h.exceeded, 1);
	assert_int_equal(h.finished, 0);
	assert_int_equal(open_triggers(), 0);
	watch_pressure_free(h.watch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(ends_in_time, event_loop, event_loop_done),
		cmocka_unit_test_setup_teardown(says_nothing_when_freed, event_loop, event_loop_done),
		cmocka_unit_test_setup_teardown(may_be_freed_when_told, event_loop, event_loop_done),
		cmocka_unit_test_setup_teardown(levels_that_are_none, event_loop, event_loop_done),
		cmocka_unit_test_setup_teardown(hears_of_pressure_once, event_loop, event_loop_done),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
