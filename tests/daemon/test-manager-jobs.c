/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Callers who leave before their turn; and what a comparison leaves to others. */
#include "tests/unit/test.h"

#include "daemon/manager-internal.h"

static void on_done(void *userdata, int error, const struct job_result *result)
{
	fail();
}

static uint64_t submit(struct manager *m, enum job_kind kind, unsigned width)
{
	struct job_request request = { .kind = kind, .width = width };
	uint64_t ticket;

	assert_int_equal(manager_submit(m, &request, on_done, NULL, &ticket), 0);
	return ticket;
}

static int set_up(void **state)
{
	struct manager *m;

	if (manager_new(&m) < 0 || sd_event_new(&m->event) < 0)
		return -1;
	*state = m;
	return 0;
}

static int tear_down(void **state)
{
	manager_free(*state);
	return 0;
}

/* Whoever calls and leaves again and again keeps nobody waiting. */
static void a_look_for_nobody_is_dropped(void **state)
{
	struct manager *m = *state;
	uint64_t first = submit(m, JOB_DESCRIBE, 1), second = submit(m, JOB_DESCRIBE, 2);

	manager_forget(m, first);
	assert_int_equal(m->readers.n_waiting, 1);
	assert_non_null(m->readers.waiting);
	assert_true(m->readers.waiting->number == second);
	manager_forget(m, first);
	manager_forget(m, second);
	assert_int_equal(m->readers.n_waiting, 0);
	assert_null(m->readers.waiting);
}

static void what_writes_is_done_all_the_same(void **state)
{
	struct manager *m = *state;
	uint64_t ticket = submit(m, JOB_ROLLBACK, 0);

	manager_forget(m, ticket);
	assert_int_equal(m->writers.n_waiting, 1);
	assert_null(m->writers.waiting->done);
	assert_true(m->writers.waiting->asked);
}

/* While memory settles: what follows from it is done when it has settled, and not passed over as known. */
static void a_comparison_does_not_take_note_of_new_memory(void **state)
{
	static const struct job_request request = { .kind = JOB_VERIFY };
	struct job_result result = { .memory_bytes = 1000 };
	struct manager *m = *state;

	manager_on_result(m, &request, 0, &result, true);
	assert_true(m->compared);
	assert_int_equal(m->memory_bytes, 1000);
	result.memory_bytes = 2000;
	manager_on_result(m, &request, 0, &result, true);
	assert_int_equal(m->memory_bytes, 1000);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	static const struct CMUnitTest tests[] = {
		TEST(a_look_for_nobody_is_dropped),
		TEST(what_writes_is_done_all_the_same),
		TEST(a_comparison_does_not_take_note_of_new_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
