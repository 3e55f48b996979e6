/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "daemon/watch-policy.h"
#include "tests/unit/temp-dir.h"

#define QUIET_USEC USEC_PER_SEC
#define LATE_USEC (300 * USEC_PER_MSEC)

/* For the tests of watch-policy: a root directory of its own for each, with what lies in it. */
struct machine {
	struct temp_dir dir;
	int real_root;
	sd_event *event;
	struct watch_policy *watch;
	unsigned told;
	bool free_it;
};

static inline void on_changed(void *userdata)
{
	struct machine *m = userdata;

	m->told++;
	if (m->free_it) {
		watch_policy_free(m->watch);
		m->watch = NULL;
	}
}

static inline int machine_setup(void **state)
{
	struct machine *m = calloc(1, sizeof(*m));

	*state = m;
	assert_non_null(m);
	if (geteuid() != 0)
		return 0;
	m->real_root = open("/", O_DIRECTORY | O_CLOEXEC);
	assert_true(m->real_root >= 0);
	m->dir = temp_dir_make();
	assert_int_equal(chroot(m->dir.path), 0);
	assert_int_equal(chdir("/"), 0);
	assert_true(sd_event_new(&m->event) >= 0);
	return 0;
}

static inline int machine_teardown(void **state)
{
	struct machine *m = *state;

	if (m->event) {
		watch_policy_free(m->watch);
		sd_event_unref(m->event);
		assert_int_equal(fchdir(m->real_root), 0);
		assert_int_equal(chroot("."), 0);
		close(m->real_root);
		temp_dir_donep(&m->dir);
	}
	free(m);
	return 0;
}

static inline struct machine *machine(void **state)
{
	struct machine *m = *state;

	if (!m->event) {
		print_message("not root: no root directory of its own for the test\n");
		skip();
	}
	return m;
}

static inline void watch(struct machine *m)
{
	assert_int_equal(watch_policy_new(m->event, on_changed, m, &m->watch), 0);
}

/* Returns how many times the loop woke up. */
static inline unsigned run(struct machine *m, uint64_t usec)
{
	uint64_t end = clock_usec(CLOCK_MONOTONIC) + usec, now;
	unsigned wakeups = 0;

	while ((now = clock_usec(CLOCK_MONOTONIC)) < end) {
		int r = sd_event_run(m->event, end - now);

		assert_true(r >= 0);
		wakeups += r > 0;
	}
	return wakeups;
}

/* Once, after a second of quiet. */
#define expect_told(m) expect_told_at(m, __LINE__)
static inline void expect_told_at(struct machine *m, int line)
{
	uint64_t start = clock_usec(CLOCK_MONOTONIC), now = start;

	while (m->told == 0 && now < start + 5 * USEC_PER_SEC) {
		assert_true(sd_event_run(m->event, USEC_PER_SEC) >= 0);
		now = clock_usec(CLOCK_MONOTONIC);
	}
	if (m->told != 1 || now - start < QUIET_USEC - LATE_USEC)
		print_error("line %d: told %u times, after %llu us\n", line, m->told,
			    (unsigned long long)(now - start));
	assert_int_equal(m->told, 1);
	assert_true(now - start >= QUIET_USEC - LATE_USEC);
	m->told = 0;
}

/* May wake up, but has nothing to tell. */
#define expect_nothing(m) expect_nothing_at(m, __LINE__)
static inline unsigned expect_nothing_at(struct machine *m, int line)
{
	unsigned wakeups = run(m, QUIET_USEC + LATE_USEC);

	if (m->told)
		print_error("line %d: told\n", line);
	assert_int_equal(m->told, 0);
	return wakeups;
}

static inline void put(struct machine *m, const char *path)
{
	temp_dir_write(&m->dir, path + 1, "[vm]\nswappiness = 10\n");
}

static inline void make_dir(struct machine *m, const char *path)
{
	assert_int_equal(mkdir_p_at(m->dir.fd, path + 1, 0755), 0);
}

static inline void append(const char *path)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "\n", 1), 1);
}
