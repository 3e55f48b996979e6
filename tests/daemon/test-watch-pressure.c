/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/watch-pressure.h"

#include "base/clock.h"
#include "squeeze.h"

static struct squeeze squeeze;

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
	squeeze_stop(&squeeze);
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

/*
 * What was stalled before the watch began is none of its business, and a little is not too much: without
 * CAP_SYS_RESOURCE the kernel's trigger goes off at the first stall, for all those since boot.
 */
static void old_pressure_does_not_count(void **state)
{
	struct heard h = {};

	squeeze_prepare(&squeeze);
	squeeze_start(&squeeze);
	run(*state, NULL, 3 * USEC_PER_SEC);
	squeeze_pause(&squeeze);
	watch(*state, 2500, 10 * USEC_PER_SEC, &h);
	for (unsigned i = 0; i < 8 && !h.exceeded; i++) {
		run(*state, &h, USEC_PER_SEC);
		squeeze_start(&squeeze);
		run(*state, &h, 100 * USEC_PER_MSEC);
		squeeze_pause(&squeeze);
	}
	run(*state, &h, 10 * USEC_PER_SEC);
	assert_int_equal(h.exceeded, 0);
	assert_int_equal(h.finished, 1);
	watch_pressure_free(h.watch);
}

static void hears_of_pressure_once(void **state)
{
	struct heard h = {};

	squeeze_prepare(&squeeze);
	watch(*state, 100, 60 * USEC_PER_SEC, &h);
	squeeze_start(&squeeze);
	run(*state, &h, 30 * USEC_PER_SEC);
	assert_int_equal(h.exceeded, 1);
	assert_int_equal(h.finished, 0);
	assert_int_equal(open_triggers(), 0);
	/* The pressure goes on, and nobody is told any more. */
	assert_int_equal(run(*state, NULL, 5 * USEC_PER_SEC), 0);
	assert_int_equal(h.exceeded, 1);
	watch_pressure_free(h.watch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(ends_in_time, event_loop, event_loop_done),
		cmocka_unit_test_setup_teardown(says_nothing_when_freed, event_loop, event_loop_done),
		cmocka_unit_test_setup_teardown(may_be_freed_when_told, event_loop, event_loop_done),
		cmocka_unit_test_setup_teardown(levels_that_are_none, event_loop, event_loop_done),
		cmocka_unit_test_setup_teardown(old_pressure_does_not_count, event_loop, event_loop_done),
		cmocka_unit_test_setup_teardown(hears_of_pressure_once, event_loop, event_loop_done),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
