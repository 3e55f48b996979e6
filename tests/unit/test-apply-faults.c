/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rung 3: at every write of a plan of thirty items, every error; the machine ends as it began, or as is reported. */
#include "engine.h"
#include "machine.h"

static const int errors[] = { -EACCES, -EBUSY, -EINVAL, -EIO, -ENOMEM, -ENOSPC, -EROFS, FAKE_SHORT_WRITE };

static unsigned writes_without_fault(void)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());

	engine_apply(&e, thirty_items);
	assert_int_equal(e.result, APPLY_DONE);
	assert_int_equal(e.plan->n_steps, THIRTY_ITEMS_N);
	for (size_t i = 0; i < e.plan->n_steps; i++)
		engine_expect(&e, e.plan->steps[i].id, OUTCOME_APPLIED);
	return fake_kernel_writes(e.kernel);
}

/* What is reported of each item is what its file holds. */
static void expect_told_truly(struct engine *e)
{
	for (size_t i = 0; i < e->plan->n_steps; i++) {
		struct step *s = &e->plan->steps[i];
		_cleanup_free_ char *now = NULL;

		assert_int_equal(tunable_read(e->io, s->ref.tunable, s->path, &now), 0);
		switch (s->outcome) {
		case OUTCOME_APPLIED:
			assert_string_equal(now, s->wanted);
			break;
		case OUTCOME_ADJUSTED:
			assert_string_equal(now, s->actual);
			break;
		case OUTCOME_REFUSED:
			assert_true(s->error < 0 || s->reason);
			if (!streq(now, s->current) && !(s->reason && strstr(s->reason, now)))
				fail_msg("%s was %s, is %s, told: %s", s->id, s->current, now, s->reason ?: "nothing");
			break;
		case OUTCOME_SKIPPED:
			assert_string_equal(now, s->current);
			break;
		case OUTCOME_PENDING:
		case OUTCOME_ALREADY:
		case OUTCOME_PARTIAL:
		case OUTCOME_UNSUPPORTED:
		case OUTCOME_UNSAFE:
		case OUTCOME_PENDING_REBOOT:
		case OUTCOME_DRIFTED:
			fail_msg("%s: %s", s->id, outcome_name(s->outcome));
		}
	}
}

static void test_every_write_every_error(void **state)
{
	unsigned n = writes_without_fault();

	assert_int_equal(n, THIRTY_ITEMS_N);
	for (unsigned k = 0; k < n; k++)
		for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
			_cleanup_(engine_donep) struct engine e = engine_make(machine_new());
			unsigned refused = 0;

			fake_kernel_fault(e.kernel, k, errors[i]);
			engine_apply(&e, thirty_items);
			assert_int_equal(e.result, APPLY_PARTLY);
			expect_told_truly(&e);
			for (size_t s = 0; s < e.plan->n_steps; s++)
				refused += e.plan->steps[s].outcome == OUTCOME_REFUSED;
			assert_int_equal(refused, 1);
		}
}

static char *with_essential(const char *id)
{
	char *text = xasprintf("[Policy]\nEssential = %s\n%s", id, thirty_items);

	assert_non_null(text);
	return text;
}

/* The step that makes the k-th write: one write each, in the order of the plan. */
static char *id_of_write(unsigned k)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());

	engine_plan(&e, thirty_items);
	return strdup(e.plan->steps[k].id);
}

static void test_essential_missed_takes_everything_back(void **state)
{
	for (unsigned k = 0; k < THIRTY_ITEMS_N; k++)
		for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
			_cleanup_(engine_donep) struct engine e = engine_make(machine_new());
			_cleanup_free_ char *id = id_of_write(k), *policy = with_essential(id);
			_cleanup_free_ char *before = fake_kernel_dump(e.kernel), *after = NULL;

			fake_kernel_fault(e.kernel, k, errors[i]);
			engine_apply(&e, policy);
			assert_int_equal(e.result, APPLY_UNDONE);
			after = fake_kernel_dump(e.kernel);
			assert_string_equal(before, after);
			assert_int_equal(e.diags.n_errors, 1);
		}
}

/* A write on the way back fails as well: the one value is named, the others are back, and the next start mends it. */
static void test_failing_rollback_step(void **state)
{
	for (unsigned k = 1; k < THIRTY_ITEMS_N; k++)
		for (size_t i = 0; i + 1 < ARRAY_SIZE(errors); i++) {
			_cleanup_(engine_donep) struct engine e = engine_make(machine_new());
			_cleanup_free_ char *id = id_of_write(k), *policy = with_essential(id);
			_cleanup_free_ char *before = fake_kernel_dump(e.kernel), *after = NULL;
			_cleanup_(restore_clear) struct restore recovered = {};
			unsigned not_back = 0;

			fake_kernel_fault(e.kernel, k, errors[i]);
			fake_kernel_fault_too(e.kernel, k + 1, errors[i]);
			engine_apply(&e, policy);
			assert_int_equal(e.result, APPLY_STUCK);
			expect_told_truly(&e);
			for (size_t s = 0; s < e.plan->n_steps; s++)
				not_back += e.plan->steps[s].reason &&
					    startswith(e.plan->steps[s].reason, "not taken back");
			assert_in_range(not_back, 1, 2); /* two where the other form of a linked pair hangs on it */

			engine_restart(&e);
			assert_int_equal(apply_recover(e.io, e.store, 0, &recovered), 0);
			assert_int_equal(recovered.n_transactions, 1);
			assert_int_equal(recovered.n_failed, 0);
			after = fake_kernel_dump(e.kernel);
			assert_string_equal(before, after);
		}
}

/* Reads fail after the write: what cannot be seen is not called applied. */
static void hide_on_write(void *userdata, unsigned write)
{
	struct engine *e = userdata;

	if (write == 0)
		fake_kernel_hide(e->kernel, VM "swappiness", -EIO);
}

static void test_unreadable_after_the_write(void **state)
{
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());

	engine_plan(&e, "[vm]\nswappiness = 10\n");
	fake_kernel_on_write(e.kernel, hide_on_write, &e);
	assert_int_equal(engine_try_apply(&e), 0);
	assert_int_equal(e.result, APPLY_PARTLY);
	engine_expect(&e, "vm.swappiness", OUTCOME_REFUSED);
	engine_expect_reason(&e, "vm.swappiness", "cannot be read back");
	engine_expect_value(&e, VM "swappiness", "60");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_write_every_error),
		cmocka_unit_test(test_essential_missed_takes_everything_back),
		cmocka_unit_test(test_failing_rollback_step),
		cmocka_unit_test(test_unreadable_after_the_write),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
