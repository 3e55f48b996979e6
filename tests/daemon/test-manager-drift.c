/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What mmoptd makes of values that others change: told once, set again a few times at most. */
#include "tests/unit/test.h"

#include "base/strutil.h"
#include "daemon/manager-internal.h"

/* What the manager did, in place of the rest of mmoptd. */
static struct {
	unsigned signals;
	char id[64], from[32], to[32], comm[16];
	pid_t pid;
	unsigned reapplies;
	char only[64];
	unsigned checks;
} seen;

void manager_bus_emit_drifted(struct manager_bus *b, const char *id, const char *from, const char *to, pid_t pid,
			      const char *comm)
{
	seen.signals++;
	snprintf(seen.id, sizeof(seen.id), "%s", id);
	snprintf(seen.from, sizeof(seen.from), "%s", from);
	snprintf(seen.to, sizeof(seen.to), "%s", to);
	snprintf(seen.comm, sizeof(seen.comm), "%s", comm);
	seen.pid = pid;
}

void manager_submit_own(struct manager *m, const struct job_request *request)
{
	assert_int_equal(request->kind, JOB_REAPPLY);
	seen.reapplies++;
	snprintf(seen.only, sizeof(seen.only), "%s%s%s", request->only[0], request->only[1] ? " " : "",
		 request->only[1] ?: "");
}

bool manager_is_busy(const struct manager *m)
{
	return false;
}

void manager_bus_properties_changed(struct manager_bus *b)
{
}

int manager_submit_own_for(struct manager *m, const struct job_request *request, job_done done, void *userdata)
{
	return -EOPNOTSUPP;
}

void manager_want_check(struct manager *m, bool reset)
{
	seen.checks++;
}

static int set_up(void **state)
{
	struct manager *m = calloc(1, sizeof(*m));

	seen = (typeof(seen)){};
	if (!m || sd_event_new(&m->event) < 0)
		return -1;
	*state = m;
	return 0;
}

static int tear_down(void **state)
{
	struct manager *m = *state;

	watched_items_clear(m);
	sd_event_source_unref(m->check_timer);
	sd_event_source_unref(m->reapply_timer);
	sd_event_source_unref(m->drift_timer);
	sd_event_unref(m->event);
	free(m);
	return 0;
}

/* One comparison that found swappiness as given, and another item as ever. */
static void find_with(struct manager *m, enum outcome outcome, const char *before, const char *after, bool differs,
		      bool reset)
{
	struct job_item items[] = {
		{ .id = (char *)"vm.swappiness",
		  .path = (char *)"/proc/sys/vm/swappiness",
		  .outcome = outcome,
		  .before = (char *)before,
		  .after = (char *)after,
		  .differs = differs },
		{ .id = (char *)"thp.enabled",
		  .path = (char *)"/sys/kernel/mm/transparent_hugepage/enabled",
		  .outcome = OUTCOME_ALREADY,
		  .before = (char *)"madvise",
		  .after = (char *)"madvise" },
	};
	struct job_result result = { .items = items, .n_items = 2 };

	assert_int_equal(manager_compare_items(m, &result, reset), 0);
}

static void in_order(struct manager *m, bool reset)
{
	find_with(m, OUTCOME_ALREADY, "10", "10", false, reset);
}

/* As the engine says of a value that mmopt had written. */
static void drifted(struct manager *m, const char *to)
{
	find_with(m, OUTCOME_DRIFTED, "10", to, true, false);
}

static void rewritten(struct manager *m)
{
	struct job_item item = {
		.id = (char *)"vm.swappiness", .outcome = OUTCOME_APPLIED, .before = (char *)"60", .after = (char *)"10"
	};
	struct job_result result = { .items = &item, .n_items = 1 };

	assert_int_equal(manager_note_written(m, &result), 0);
}

static void run_once(struct manager *m)
{
	assert_true(sd_event_run(m->event, 20000) >= 0);
}

static void told_once(void **state)
{
	struct manager *m = *state;

	in_order(m, true);
	assert_int_equal(seen.signals, 0);
	drifted(m, "60");
	assert_int_equal(seen.signals, 1);
	assert_string_equal(seen.id, "vm.swappiness");
	assert_string_equal(seen.from, "10");
	assert_string_equal(seen.to, "60");
	assert_int_equal(manager_drift_count(m), 1);
	drifted(m, "60");
	drifted(m, "60");
	assert_int_equal(seen.signals, 1);
	/* Changed once more: that is news, from what it was in between. */
	drifted(m, "70");
	assert_int_equal(seen.signals, 2);
	assert_string_equal(seen.from, "60");
	assert_string_equal(seen.to, "70");
	in_order(m, false);
	assert_int_equal(manager_drift_count(m), 0);
	drifted(m, "60");
	assert_int_equal(seen.signals, 3);
	assert_string_equal(seen.from, "10");
}

/* It was as wanted from the start, so there is no record of a write. */
static void never_written_by_mmopt(void **state)
{
	struct manager *m = *state;

	in_order(m, true);
	find_with(m, OUTCOME_PENDING, "60", "60", true, false);
	assert_int_equal(seen.signals, 1);
	assert_string_equal(seen.from, "10");
	assert_string_equal(seen.to, "60");
}

/* A new policy: the machine is not so yet, and nobody changed anything. */
static void a_new_policy_is_no_drift(void **state)
{
	struct manager *m = *state;

	in_order(m, true);
	find_with(m, OUTCOME_PENDING, "10", "10", true, true);
	find_with(m, OUTCOME_PENDING, "10", "10", true, false);
	assert_int_equal(seen.signals, 0);
	find_with(m, OUTCOME_PENDING, "11", "11", true, false);
	assert_int_equal(seen.signals, 1);
}

/* Another value that is in order all the same ("at least"). */
static void moved_within_what_is_wanted(void **state)
{
	struct manager *m = *state;

	in_order(m, true);
	find_with(m, OUTCOME_ADJUSTED, "10", "12", false, false);
	assert_int_equal(seen.signals, 0);
}

static void the_writer_is_named(void **state)
{
	struct drift_writer writer = { .pid = 4242, .comm = "sysctl" }, other = { .pid = 17, .comm = "cat" };
	struct manager *m = *state;

	in_order(m, true);
	manager_on_write_seen(m, "/proc/sys/vm/swappiness", &writer);
	manager_on_write_seen(m, "/sys/kernel/mm/transparent_hugepage/enabled", &other);
	run_once(m);
	assert_int_equal(seen.checks, 1);
	drifted(m, "60");
	assert_int_equal(seen.pid, 4242);
	assert_string_equal(seen.comm, "sysctl");
	/* Back in order and changed by the kernel: not sysctl's doing. */
	in_order(m, false);
	drifted(m, "61");
	assert_int_equal(seen.pid, 0);
	assert_string_equal(seen.comm, "");
}

static void our_own_write_names_nobody(void **state)
{
	struct drift_writer own = { .pid = 99, .comm = "mmopt-worker" };
	struct manager *m = *state;

	in_order(m, true);
	m->writers.job.pid = 99;
	manager_on_write_seen(m, "/proc/sys/vm/swappiness", &own);
	drifted(m, "60");
	assert_int_equal(seen.pid, 0);
}

static void writes_in_a_loop_are_compared_once_a_second(void **state)
{
	struct drift_writer writer = { .pid = 1 };
	struct manager *m = *state;

	in_order(m, true);
	for (int i = 0; i < 20; i++) {
		manager_on_write_seen(m, "/proc/sys/vm/swappiness", &writer);
		run_once(m);
	}
	assert_int_equal(seen.checks, 1);
}

static void only_reported(void **state)
{
	struct manager *m = *state;

	m->conf.on_drift = ON_CHANGE_REPORT;
	in_order(m, true);
	drifted(m, "60");
	run_once(m);
	assert_int_equal(seen.reapplies, 0);
	assert_null(m->reapply_timer);
}

/* Three times, then it is left to the other. */
static void fights_end(void **state)
{
	struct manager *m = *state;
	unsigned rounds = 0;

	m->conf.on_drift = ON_CHANGE_APPLY;
	in_order(m, true);
	for (rounds = 0; rounds < 6; rounds++) {
		m->last_reapply_usec = 0; /* as if the pause were over */
		drifted(m, "60");
		run_once(m);
		rewritten(m);
		in_order(m, false);
	}
	assert_int_equal(seen.reapplies, 3);
	assert_string_equal(seen.only, "vm.swappiness");
	assert_int_equal(seen.signals, 6);
	/* Asked for by the administrator: from the start. */
	manager_forgive(m);
	m->last_reapply_usec = 0;
	drifted(m, "60");
	run_once(m);
	assert_int_equal(seen.reapplies, 4);
}

static void set_again_with_pauses(void **state)
{
	struct manager *m = *state;

	m->conf.on_drift = ON_CHANGE_APPLY;
	in_order(m, true);
	drifted(m, "60");
	run_once(m);
	assert_int_equal(seen.reapplies, 1);
	rewritten(m);
	in_order(m, false);
	drifted(m, "60");
	run_once(m);
	run_once(m);
	assert_int_equal(seen.reapplies, 1);
	assert_non_null(m->reapply_timer);
}

/* A try that came to nothing is no reason to leave a value as it is, nor is one that nobody would have heard of. */
static void tried_again_after_a_failure(void **state)
{
	struct manager *m = *state;

	m->conf.on_drift = ON_CHANGE_APPLY;
	in_order(m, true);
	for (unsigned i = 0; i < 6; i++) {
		m->last_reapply_usec = 0; /* as if the pause were over */
		drifted(m, "60");
		if (m->reapply_timer)
			run_once(m);
	}
	assert_int_equal(seen.signals, 1);
	assert_int_equal(seen.reapplies, 3);
}

/* Nothing can be set while a transaction waits for its confirmation. */
static void not_set_again_during_a_trial(void **state)
{
	struct manager *m = *state;

	m->conf.on_drift = ON_CHANGE_APPLY;
	in_order(m, true);
	m->unconfirmed = 7;
	drifted(m, "60");
	run_once(m);
	assert_int_equal(seen.reapplies, 0);
	m->unconfirmed = 0;
	m->last_reapply_usec = 0;
	drifted(m, "60");
	run_once(m);
	assert_int_equal(seen.reapplies, 1);
	assert_int_equal(m->items[1].fights, 1);
}

/* Another program held the lock: that was no fight. */
static void a_lock_is_no_fight(void **state)
{
	struct manager *m = *state;

	m->conf.on_drift = ON_CHANGE_APPLY;
	in_order(m, true);
	for (unsigned i = 0; i < 6; i++) {
		m->last_reapply_usec = 0;
		drifted(m, "60");
		run_once(m);
		manager_take_back_fights(m, (char *[]){ (char *)"vm.swappiness", NULL });
	}
	assert_int_equal(seen.reapplies, 6);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	static const struct CMUnitTest tests[] = {
		TEST(told_once),
		TEST(never_written_by_mmopt),
		TEST(a_new_policy_is_no_drift),
		TEST(moved_within_what_is_wanted),
		TEST(the_writer_is_named),
		TEST(our_own_write_names_nobody),
		TEST(writes_in_a_loop_are_compared_once_a_second),
		TEST(only_reported),
		TEST(fights_end),
		TEST(set_again_with_pauses),
		TEST(tried_again_after_a_failure),
		TEST(not_set_again_during_a_trial),
		TEST(a_lock_is_no_fight),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
