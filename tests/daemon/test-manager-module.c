/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* When mmoptd has the kernel module loaded: what mmopt-apply left, once; what was refused, after a reload only. */
#include "tests/unit/temp-dir.h"

#include <fcntl.h>

#include "daemon/manager-internal.h"

#define ID "vm.want_old_faultaround_pte"

static struct temp_dir root;

static int set_up(void **state)
{
	struct manager *m;

	if (manager_new(&m) < 0 || sd_event_new(&m->event) < 0)
		return -1;
	root = temp_dir_make();
	assert_int_equal(mkdir_p_at(root.fd, "run", 0755), 0);
	m->root_fd = fcntl(root.fd, F_DUPFD_CLOEXEC, 3);
	*state = m;
	return 0;
}

static int tear_down(void **state)
{
	manager_free(*state);
	temp_dir_donep(&root);
	return 0;
}

/* How many jobs that load it wait; they are then taken out, as if they were running. */
static unsigned tries(struct manager *m)
{
	unsigned n = 0;

	for (const struct ticket *t = m->writers.waiting; t; t = t->next) {
		if (t->request.kind != JOB_MODULE)
			continue;
		n++;
		assert_string_equal(t->request.only[0], ID);
		assert_null(t->request.only[1]);
	}
	lane_clear(&m->writers);
	return n;
}

/* A comparison that found the module in this state, next to an item that has nothing to do with it. */
static unsigned compare_with(struct manager *m, enum module_state state, bool unconfirmed, bool undisturbed)
{
	static const struct job_request request = { .kind = JOB_VERIFY };
	struct job_item items[] = {
		{ .id = (char *)"thp.enabled", .outcome = OUTCOME_ALREADY },
		{ .id = (char *)ID, .outcome = OUTCOME_PENDING, .differs = true, .module = state },
	};
	struct job_result result = { .items = items, .n_items = 2, .unconfirmed = unconfirmed, .exit_status = 2 };

	manager_on_result(m, &request, 0, &result, undisturbed);
	return tries(m);
}

static unsigned compare(struct manager *m, enum module_state state)
{
	return compare_with(m, state, false, true);
}

/* One that writes has ended; error: that another program was writing, or 0. */
static void end(struct manager *m, enum job_kind kind, int error)
{
	struct job_request request = { .kind = kind };
	struct job_result result = { .error = error, .apply_result = APPLY_PARTLY };

	manager_on_result(m, &request, 0, &result, true);
	lane_clear(&m->writers);
}

/* As manager_reload() leaves it. */
static void reload(struct manager *m)
{
	m->module_tried = false;
	m->module_retry = true;
}

static void nothing_to_load(void **state)
{
	struct manager *m = *state;

	assert_int_equal(compare(m, MODULE_UNTRIED), 0);
	reload(m);
	assert_int_equal(compare(m, MODULE_UNTRIED), 0);
}

static void left_is_tried_once(void **state)
{
	struct manager *m = *state;

	assert_int_equal(compare(m, MODULE_LEFT), 1);
	assert_int_equal(compare(m, MODULE_LEFT), 0);
	end(m, JOB_MODULE, 0);
	assert_int_equal(compare(m, MODULE_LEFT), 0);
}

/* Also by an mmoptd that has just been started and does not know of the try: the note does. */
static void refused_is_not_tried_again(void **state)
{
	struct manager *m = *state;

	assert_int_equal(compare(m, MODULE_REFUSED), 0);
	assert_int_equal(compare(m, MODULE_LEFT), 1);
	end(m, JOB_MODULE, 0);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(compare(m, MODULE_REFUSED), 0);
}

static void refused_is_tried_once_after_a_reload(void **state)
{
	struct manager *m = *state;

	reload(m);
	assert_int_equal(compare(m, MODULE_REFUSED), 1);
	end(m, JOB_MODULE, 0);
	assert_int_equal(compare(m, MODULE_REFUSED), 0);
	/* What there was nothing to try for is not tried much later either. */
	reload(m);
	assert_int_equal(compare(m, MODULE_UNTRIED), 0);
	assert_int_equal(compare(m, MODULE_REFUSED), 0);
}

/* The new policy has been applied, and with it the module tried: once is enough. */
static void an_apply_after_a_reload_is_the_try(void **state)
{
	struct manager *m = *state;

	reload(m);
	end(m, JOB_APPLY, 0);
	assert_int_equal(compare(m, MODULE_REFUSED), 0);
	/* Nothing was tried where the apply did not get so far. */
	reload(m);
	end(m, JOB_APPLY, -EBUSY);
	assert_int_equal(compare(m, MODULE_REFUSED), 1);
}

/* Another program was writing: that was no try. */
static void busy_is_no_try(void **state)
{
	struct manager *m = *state;

	assert_int_equal(compare(m, MODULE_LEFT), 1);
	end(m, JOB_MODULE, -EBUSY);
	/* That program has tried it, and in vain. */
	assert_int_equal(compare(m, MODULE_REFUSED), 0);
	assert_int_equal(compare(m, MODULE_LEFT), 1);
	end(m, JOB_MODULE, 0);
	reload(m);
	assert_int_equal(compare(m, MODULE_REFUSED), 1);
	end(m, JOB_MODULE, -EBUSY);
	assert_int_equal(compare(m, MODULE_REFUSED), 1);
	end(m, JOB_MODULE, 0);
	assert_int_equal(compare(m, MODULE_REFUSED), 0);
}

/* It would be refused while a trial waits; what overlapped with mmopt's own writing says nothing. */
static void not_now(void **state)
{
	struct manager *m = *state;

	assert_int_equal(compare_with(m, MODULE_LEFT, true, true), 0);
	assert_int_equal(compare_with(m, MODULE_LEFT, false, false), 0);
	assert_int_equal(compare(m, MODULE_LEFT), 1);
	reload(m);
	assert_int_equal(compare_with(m, MODULE_REFUSED, true, true), 0);
	assert_int_equal(compare_with(m, MODULE_REFUSED, false, false), 0);
	assert_int_equal(compare(m, MODULE_REFUSED), 1);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	static const struct CMUnitTest tests[] = {
		TEST(nothing_to_load),
		TEST(left_is_tried_once),
		TEST(refused_is_not_tried_again),
		TEST(refused_is_tried_once_after_a_reload),
		TEST(an_apply_after_a_reload_is_the_try),
		TEST(busy_is_no_try),
		TEST(not_now),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
