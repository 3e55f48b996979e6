/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What follows from what a job found or did. */
#include "base/clock.h"
#include "base/number.h"
#include "base/strutil.h"
#include "daemon/journal.h"
#include "daemon/manager-internal.h"

static void take_common(struct manager *m, const struct job_result *result)
{
	if (result->error < 0)
		return;
	m->reboot_required = result->reboot_required;
	m->unconfirmed_seen = result->unconfirmed;
	m->last_transaction = result->transaction;
	if (result->saved_known)
		m->saved_bytes = result->saved_bytes;
	m->wants_zero_page = false;
	for (size_t i = 0; i < result->n_items; i++)
		m->wants_zero_page |= result->items[i].wants_zero_page;
}

static void watch_files(struct manager *m)
{
	_cleanup_(strv_freep) char **paths = NULL;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < m->n_items; i++)
		if (m->items[i].path)
			r = strv_push(&paths, strdup(m->items[i].path));
	if (r >= 0 && m->watch_drift)
		r = watch_drift_set(m->watch_drift, paths ?: (char *[]){ NULL });
	if (r < 0)
		journal(LOG_WARNING, EVENT_NONE, NULL,
			"cannot watch the values that were set, looking at them from time to time: %s", strerror(-r));
}

/*
 * mmopt-apply runs before the bus is there and may load nothing, so it leaves an item that needs the module to mmoptd.
 * What nobody has applied is not applied here either: mmoptd may have been started by somebody's question.
 */
static void load_module(struct manager *m, const struct job_result *result)
{
	struct job_request request = { .kind = JOB_MODULE, .format = FORMAT_JSON_SHORT };
	bool left = !m->module_tried, refused = m->module_retry;

	/* It would be refused.  The comparison after the trial's end leads here again. */
	if (m->unconfirmed > 0 || m->unconfirmed_seen)
		return;
	m->module_retry = false;
	for (size_t i = 0; i < result->n_items; i++) {
		const struct job_item *item = &result->items[i];

		if (!(item->module == MODULE_LEFT && left) && !(item->module == MODULE_REFUSED && refused))
			continue;
		m->module_tried = true;
		m->module_again = item->module == MODULE_REFUSED;
		request.only = (char *[]){ item->id, NULL };
		manager_submit_own(m, &request);
		return;
	}
}

static void on_compared(struct manager *m, const struct job_result *result, bool undisturbed)
{
	bool reset;
	int r;

	if (!undisturbed) {
		m->check_wanted = true;
		return;
	}
	if (result->error < 0) {
		m->last_job_failed = true;
		return;
	}
	/* What mmopt-apply, or an mmoptctl that did not ask us, has written or taken back is nobody's drift. */
	reset = m->reset_wanted || (m->compared && result->record != m->record);
	m->record = result->record;
	m->reset_wanted = false;
	m->last_job_failed = false;
	take_common(m, result);
	m->compared = true;
	m->differs = result->exit_status != 0;
	/* Later changes are on_memory_changed()'s to see: it has yet to act on them. */
	if (m->memory_bytes == 0)
		m->memory_bytes = result->memory_bytes;
	r = manager_compare_items(m, result, reset);
	if (r < 0)
		journal(LOG_ERR, EVENT_NONE, NULL, "cannot keep what was found: %s", strerror(-r));
	watch_files(m);
	manager_update_zero_page(m);
	manager_update_files(m);
	load_module(m, result);
}

static int on_delays(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct manager *m = userdata;

	m->delays_timer = sd_event_source_unref(m->delays_timer);
	manager_submit_own(m, &(struct job_request){ .kind = JOB_DELAYS, .transaction = m->delays_transaction });
	return 0;
}

/* When what was applied has had time to be felt, its price in waiting goes on record. */
static void note_delays_later(struct manager *m, unsigned transaction)
{
	int r;

	m->delays_timer = sd_event_source_unref(m->delays_timer);
	m->delays_transaction = transaction;
	r = sd_event_add_time(m->event, &m->delays_timer, CLOCK_MONOTONIC,
			      clock_usec(CLOCK_MONOTONIC) + m->conf.guard_usec, 0, on_delays, m);
	if (r < 0)
		journal(LOG_WARNING, EVENT_NONE, NULL, "the price of transaction %u will not be on record: %s",
			transaction, strerror(-r));
}

static void on_pressure(void *userdata)
{
	struct manager *m = userdata;

	journal(LOG_WARNING, EVENT_GUARD, NULL,
		"Tasks stall for memory for more than %g%% of the time (GuardAfterApply=): giving back the huge page pools that "
		"have just grown",
		m->conf.guard_permyriad / 100.0);
	manager_submit_own(m, &(struct job_request){ .kind = JOB_GIVE_BACK_POOLS, .format = FORMAT_JSON_SHORT });
}

/* The watch has ended by itself: all is well. */
static void on_no_pressure(void *userdata)
{
	journal(LOG_DEBUG, EVENT_GUARD, NULL, "No memory pressure after the huge page pools grew");
}

static void guard(struct manager *m)
{
	int r;

	watch_pressure_free(TAKE_PTR(m->watch_pressure));
	if (m->conf.guard_permyriad == 0)
		return;
	r = watch_pressure_new(m->event, m->conf.guard_permyriad, m->conf.guard_usec, on_pressure, on_no_pressure, m,
			       &m->watch_pressure);
	if (r < 0)
		journal(LOG_WARNING, EVENT_GUARD, NULL, "memory pressure cannot be watched, pools stay as they are: %s",
			strerror(-r));
}

static const char *apply_result_word(enum apply_result result)
{
	switch (result) {
	case APPLY_DONE:
		return "done";
	case APPLY_PARTLY:
		return "partly";
	case APPLY_UNDONE:
		return "undone";
	case APPLY_STUCK:
		return "stuck";
	}
	return "error";
}

static void on_applied(struct manager *m, const struct job_request *request, const struct job_result *result)
{
	int r;

	if (result->error < 0)
		return;
	if (request->kind == JOB_APPLY) {
		manager_forgive(m);
		m->module_retry = false; /* it has just been tried */
	}
	r = manager_note_written(m, result);
	if (r < 0)
		journal(LOG_ERR, EVENT_NONE, NULL, "cannot keep what was written: %s", strerror(-r));
	m->last_job_failed = result->apply_result == APPLY_UNDONE || result->apply_result == APPLY_STUCK;
	if (!result->changed)
		return;
	manager_bus_emit_applied(m->bus, result->transaction, job_kind_name(request->kind),
				 apply_result_word(result->apply_result),
				 result->saved_known ? result->saved_bytes : 0);
	if (result->pools_grown)
		guard(m);
	note_delays_later(m, result->transaction);
}

/* A transaction is kept or gone: who waits for one on the bus learns it from this. */
static void tell_ended(struct manager *m, const struct job_request *request, const struct job_result *result)
{
	if (result->error >= 0 && (result->changed || request->kind == JOB_CONFIRM))
		manager_bus_emit_applied(m->bus, result->transaction, job_kind_name(request->kind),
					 result->n_values_failed > 0 ? "partly" : "done",
					 result->saved_known ? result->saved_bytes : 0);
}

static void on_written(struct manager *m, const struct job_request *request, const struct job_result *result)
{
	manager_watch_unconfirmed(m, result);
	if (request->kind == JOB_REAPPLY && result->error == -EBUSY)
		manager_take_back_fights(m, request->only);
	if (request->kind == JOB_RECOVER && result->error == -EBUSY)
		manager_recover_later(m);
	/* Another program is writing: the comparison that follows the pause leads to another try. */
	if (request->kind == JOB_MODULE && result->error == -EBUSY) {
		if (m->module_again)
			m->module_retry = true;
		else
			m->module_tried = false;
		manager_recover_later(m);
	}
	if (result->error < 0)
		m->last_job_failed = true;
	else
		m->record = result->record;
	switch (request->kind) {
	case JOB_APPLY:
	case JOB_REAPPLY:
	case JOB_MEMORY:
		on_applied(m, request, result);
		manager_want_check(m, false);
		return;
	case JOB_MODULE:
		on_applied(m, request, result);
		if (result->error >= 0)
			manager_want_check(m, false);
		return;
	case JOB_ROLLBACK:
	case JOB_RECOVER:
	case JOB_GIVE_BACK_POOLS:
		tell_ended(m, request, result);
		/* Values that are no longer as the policy wants them, by mmopt's own doing. */
		manager_want_check(m, true);
		return;
	case JOB_CONFIRM:
		tell_ended(m, request, result);
		manager_want_check(m, false);
		return;
	case JOB_DELAYS:
		manager_want_check(m, false);
		return;
	case JOB_DESCRIBE:
	case JOB_VERIFY:
		return;
	}
}

void manager_on_result(struct manager *m, const struct job_request *request, int error, const struct job_result *result,
		       bool undisturbed)
{
	if (request->kind == JOB_DESCRIBE)
		return;
	if (!result) {
		m->last_job_failed = true;
		/* The record says what became of it: the recovery that follows reads it. */
		if (job_kind_writes(request->kind) && m->unconfirmed == 0)
			manager_release_confirm(m);
		if (request->kind == JOB_RECOVER)
			manager_recover_later(m);
	} else if (job_kind_writes(request->kind)) {
		on_written(m, request, result);
	} else {
		on_compared(m, result, undisturbed);
	}
	manager_publish(m);
}
