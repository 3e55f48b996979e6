/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/watch-netlink.h"

#include <glob.h>
#include <linux/netlink.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "knobs.h"

#define BLOCKS "/sys/devices/system/memory"
#define SETTLE_USEC (800 * USEC_PER_MSEC)
/* Quiet for so long means that nothing comes: the event loop may be late by a quarter of a second, to be so together with others. */
#define QUIET_USEC (SETTLE_USEC + 500 * USEC_PER_MSEC)

/* Two of these tests at a time on one machine would hear each other. */
static int lock = -EBADF;

struct heard {
	sd_event *event;
	struct watch_memory *watch;
	unsigned told;
	bool free_it;
};

static void on_changed(void *userdata)
{
	struct heard *h = userdata;

	h->told++;
	if (h->free_it) {
		watch_memory_free(h->watch);
		h->watch = NULL;
	}
}

static int setup(void **state)
{
	struct heard *h = calloc(1, sizeof(*h));

	assert_non_null(h);
	assert_true(sd_event_new(&h->event) >= 0);
	assert_int_equal(watch_memory_new(h->event, SETTLE_USEC, on_changed, h, &h->watch), 0);
	*state = h;
	return 0;
}

static int teardown(void **state)
{
	struct heard *h = *state;

	watch_memory_free(h->watch);
	sd_event_unref(h->event);
	free(h);
	return 0;
}

/* Returns how many times the loop woke up. */
static unsigned run(struct heard *h, uint64_t usec)
{
	uint64_t end = clock_usec(CLOCK_MONOTONIC) + usec, now;
	unsigned wakeups = 0;

	while ((now = clock_usec(CLOCK_MONOTONIC)) < end) {
		int r = sd_event_run(h->event, end - now);

		assert_true(r >= 0);
		wakeups += r > 0;
	}
	return wakeups;
}

/* That it is told the n-th time, and not before it was quiet for long enough. */
static void expect_told(struct heard *h, unsigned n)
{
	uint64_t start = clock_usec(CLOCK_MONOTONIC), now = start;

	while (h->told < n && now < start + 20 * USEC_PER_SEC) {
		assert_true(sd_event_run(h->event, USEC_PER_SEC) >= 0);
		now = clock_usec(CLOCK_MONOTONIC);
	}
	assert_int_equal(h->told, n);
	assert_true(now - start >= SETTLE_USEC);
}

/* The kernel sends an event of its own for a device when asked to, which changes nothing. */
static void need_events(void)
{
	if (access(BLOCKS "/uevent", W_OK) < 0 && access(BLOCKS "/memory0/uevent", W_OK) < 0) {
		print_message("no memory blocks whose events could be asked for\n");
		skip();
	}
}

static void send_event(const char *action)
{
	knob_write(BLOCKS "/memory0/uevent", action);
}

static void each_action_is_heard(void **state)
{
	static const char *const actions[] = { "add", "remove", "change", "online", "offline" };
	struct heard *h = *state;

	need_events();
	for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
		send_event(actions[i]);
		expect_told(h, i + 1);
	}
	assert_int_equal(run(h, QUIET_USEC), 0);
}

static void a_burst_is_told_once_when_it_is_over(void **state)
{
	struct heard *h = *state;

	need_events();
	for (unsigned i = 0; i < 10; i++) {
		for (unsigned k = 0; k < 100; k++)
			send_event("online");
		run(h, SETTLE_USEC / 2);
		assert_int_equal(h->told, 0);
	}
	send_event("online");
	expect_told(h, 1);
	assert_int_equal(run(h, QUIET_USEC), 0);
}

static void more_than_the_buffer_holds(void **state)
{
	struct heard *h = *state;

	need_events();
	for (unsigned k = 0; k < 20000; k++)
		send_event("online");
	expect_told(h, 1);
	send_event("offline");
	expect_told(h, 2);
}

/* Not even the process is woken up. */
static void other_devices_are_not_heard(void **state)
{
	static const char *const others[] = {
		"/sys/devices/system/cpu/cpu0/uevent",
		"/sys/devices/virtual/mem/null/uevent",
		"/sys/devices/virtual/net/lo/uevent",
		"/sys/devices/system/node/node0/uevent",
		"/sys/bus/memory/uevent",
		"/sys/devices/virtual/tty/tty0/uevent",
	};
	struct heard *h = *state;
	unsigned sent = 0;

	need_events();
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		for (unsigned k = 0; k < 20; k++)
			sent += knob_try_write(others[i], "change") == 0;
	assert_true(sent >= 20);
	assert_int_equal(run(h, QUIET_USEC), 0);
	assert_int_equal(h->told, 0);
}

/* Any program with CAP_NET_ADMIN can send to the group of the kernel. */
static void other_programs_are_not_believed(void **state)
{
	static const char text[] = "online@/devices/system/memory/memory0\0ACTION=online\0SUBSYSTEM=memory";
	struct sockaddr_nl to = { .nl_family = AF_NETLINK, .nl_groups = 1 };
	_cleanup_close_ int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT);
	struct heard *h = *state;

	assert_true(fd >= 0);
	if (sendto(fd, text, sizeof(text), 0, (struct sockaddr *)&to, sizeof(to)) < 0 && errno != ECONNREFUSED) {
		print_message("cannot send to the kernel's group: %s\n", strerror(errno));
		skip();
	}
	assert_true(run(h, QUIET_USEC) > 0);
	assert_int_equal(h->told, 0);
}

static void may_be_freed_when_told(void **state)
{
	struct heard *h = *state;

	need_events();
	h->free_it = true;
	send_event("online");
	expect_told(h, 1);
	assert_null(h->watch);
	send_event("online");
	assert_int_equal(run(h, QUIET_USEC), 0);
}

/* For real: the last block that is online and can be removed goes and comes back. */
static void memory_that_goes_and_comes_back(void **state)
{
	struct heard *h = *state;
	int gone = -1;
	glob_t blocks;

	need_events();
	assert_int_equal(glob(BLOCKS "/memory[0-9]*/online", 0, NULL, &blocks), 0);
	for (size_t i = blocks.gl_pathc; i-- > 0 && gone < 0;) {
		_cleanup_free_ char *online = knob_read(blocks.gl_pathv[i]);

		if (streq(strstrip(online), "1") && knob_try_write(blocks.gl_pathv[i], "0") == 0)
			gone = (int)i;
	}
	if (gone >= 0) {
		run(h, QUIET_USEC);
		knob_write(blocks.gl_pathv[gone], "1");
		run(h, QUIET_USEC);
	}
	globfree(&blocks);
	if (gone < 0) {
		print_message("no memory block can be taken offline here\n");
		skip();
	}
	assert_int_equal(h->told, 2);
}

static int take_lock(void **state)
{
	if (geteuid() == 0)
		lock = knobs_lock();
	return 0;
}

static int leave_lock(void **state)
{
	closep(&lock);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_action_is_heard, setup, teardown),
		cmocka_unit_test_setup_teardown(a_burst_is_told_once_when_it_is_over, setup, teardown),
		cmocka_unit_test_setup_teardown(more_than_the_buffer_holds, setup, teardown),
		cmocka_unit_test_setup_teardown(other_devices_are_not_heard, setup, teardown),
		cmocka_unit_test_setup_teardown(other_programs_are_not_believed, setup, teardown),
		cmocka_unit_test_setup_teardown(may_be_freed_when_told, setup, teardown),
		cmocka_unit_test_setup_teardown(memory_that_goes_and_comes_back, setup, teardown),
	};

	return cmocka_run_group_tests(tests, take_lock, leave_lock);
}
