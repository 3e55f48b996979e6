/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/job-log.h"

#include "base/number.h"
#include "base/strutil.h"
#include "core/report-step.h"
#include "daemon/journal.h"

static void log_step(const struct step *step, enum event event, int priority, unsigned transaction)
{
	const char *word = outcome_name(step->outcome), *now = step->actual ?: step->current;
	struct journal_fields fields = {
		.tunable = step->id,
		.old_value = step->current,
		.new_value = now,
		.outcome = word,
		.reason = step->reason,
		.file = step->file,
		.line = step->line,
		.transaction = transaction,
	};

	if (step->current && now && !streq(step->current, now))
		journal(priority, event, &fields, "%s: %s, %s -> %s%s%s", step->id, word, step->current, now,
			step->reason ? ": " : "", step->reason ?: "");
	else
		journal(priority, event, &fields, "%s: %s%s%s", step->id, word, step->reason ? ": " : "",
			step->reason ?: "");
}

static void log_item(const struct step *step, unsigned transaction)
{
	switch (step->outcome) {
	case OUTCOME_APPLIED:
	case OUTCOME_ADJUSTED:
		log_step(step, EVENT_ITEM, LOG_INFO, transaction);
		return;
	case OUTCOME_PARTIAL:
	case OUTCOME_REFUSED:
	case OUTCOME_UNSUPPORTED:
	case OUTCOME_UNSAFE:
		/* "auto" that does not fit and "-" items are no failure: they are on record all the same. */
		log_step(step, EVENT_ITEM_SHORT, step->optional || step->is_auto ? LOG_INFO : LOG_WARNING, transaction);
		return;
	case OUTCOME_PENDING_REBOOT:
		log_step(step, EVENT_REBOOT_REQUIRED, LOG_NOTICE, transaction);
		return;
	case OUTCOME_PENDING:
	case OUTCOME_ALREADY:
	case OUTCOME_DRIFTED:
	case OUTCOME_SKIPPED:
		return;
	}
}

/* Who wonders why this kernel is tainted finds the answer where the kernel's own message is. */
static void log_module(const struct step *step, unsigned transaction)
{
	struct journal_fields fields = {
		.tunable = step->id,
		.file = step->file,
		.line = step->line,
		.transaction = transaction,
	};

	if (step->loaded_module)
		journal(LOG_NOTICE, EVENT_MODULE, &fields,
			"The kernel module " MODULE_NAME
			" was loaded for %s; being from outside the kernel's tree, it marks "
			"the kernel as tainted (4096, and 8192 where it is not signed)",
			step->id);
	else if (step->load_module)
		log_step(step, EVENT_NONE, LOG_INFO, transaction);
}

static void log_applied(const struct job_request *request, const struct engine *e, const struct job_result *result)
{
	struct journal_fields fields = { .transaction = result->changed ? result->transaction : 0 };
	_cleanup_free_ char *summary = plan_summary(e->plan);
	char saved[24];

	for (size_t i = 0; i < e->plan->n_steps; i++) {
		log_module(&e->plan->steps[i], fields.transaction);
		log_item(&e->plan->steps[i], fields.transaction);
	}
	if (e->plan->refused)
		journal(LOG_WARNING, EVENT_APPLY_FAILED, &fields, "%s", e->plan->refused);
	switch (result->apply_result) {
	case APPLY_DONE:
	case APPLY_PARTLY:
		journal(LOG_NOTICE, request->kind == JOB_REAPPLY ? EVENT_REAPPLIED : EVENT_APPLIED, &fields,
			"%s: %s%s%s", request->kind == JOB_REAPPLY ? "Policy applied again" : "Policy applied",
			summary ?: "", result->saved_known ? ", memory saved: " : "",
			result->saved_known ? format_bytes(result->saved_bytes, saved) : "");
		return;
	case APPLY_UNDONE:
		journal(LOG_ERR, EVENT_APPLY_FAILED, &fields, "Not applied: everything written was taken back (%s)",
			summary ?: "");
		return;
	case APPLY_STUCK:
		journal(LOG_ERR, EVENT_APPLY_FAILED, &fields,
			"Not applied, and not everything written could be taken back (%s)", summary ?: "");
		return;
	}
}

static void log_restored(const struct restore_item *item, enum event event, unsigned transaction)
{
	struct journal_fields fields = {
		.tunable = item->id,
		.old_value = item->from,
		.new_value = item->to,
		.outcome = restore_outcome_name(item->outcome),
		.reason = item->reason,
		.transaction = transaction,
	};

	switch (item->outcome) {
	case RESTORE_DONE:
		journal(LOG_INFO, event, &fields, "%s: back from %s to %s", item->id, item->from ?: "?", item->to);
		return;
	case RESTORE_ALREADY:
		return;
	case RESTORE_FOREIGN:
	case RESTORE_FAILED:
		journal(LOG_WARNING, event, &fields, "%s: not taken back: %s", item->id, item->reason ?: "unknown");
		return;
	}
}

static void log_back(const struct restore *restore, enum event event, const char *what)
{
	size_t n_right = restore->n_items - restore->n_foreign - restore->n_failed;

	if (restore->n_transactions == 0)
		return;
	for (size_t i = 0; i < restore->n_items; i++)
		log_restored(&restore->items[i], event, 0);
	journal(restore->n_failed > 0 ? LOG_WARNING : LOG_NOTICE, event, NULL,
		"%s: %zu %s back to what %s, %zu left to others, %zu failed", what, n_right,
		n_right == 1 ? "value" : "values", n_right == 1 ? "it was" : "they were", restore->n_foreign,
		restore->n_failed);
}

static void log_failed(const struct job_request *request, const struct job_result *result)
{
	journal_diags(EVENT_APPLY_FAILED, &result->diags);
	if (result->diags.n_errors == 0)
		journal(LOG_ERR, EVENT_APPLY_FAILED, NULL, "%s: nothing was done: %s", job_kind_name(request->kind),
			strerror(-result->error));
}

void job_log(const struct job_request *request, const struct engine *e, const struct restore *restore,
	     const struct job_result *result)
{
	if (!job_kind_writes(request->kind))
		return;
	if (result->error < 0) {
		log_failed(request, result);
		return;
	}
	journal_diags(EVENT_NONE, &result->diags);
	switch (request->kind) {
	case JOB_APPLY:
	case JOB_REAPPLY:
	case JOB_MEMORY:
	case JOB_MODULE:
		log_applied(request, e, result);
		return;
	case JOB_ROLLBACK:
		log_back(restore, EVENT_ROLLED_BACK, "Taken back");
		return;
	case JOB_GIVE_BACK_POOLS:
		log_back(restore, EVENT_GUARD, "Huge page pools given back");
		return;
	case JOB_RECOVER:
	case JOB_DELAYS:
		log_back(restore, EVENT_RECOVERED, "What was left unfinished or unconfirmed was taken back");
		return;
	case JOB_CONFIRM:
		journal(LOG_NOTICE, EVENT_NONE, &(struct journal_fields){ .transaction = result->transaction },
			"Transaction %u is confirmed and stays", result->transaction);
		return;
	case JOB_DESCRIBE:
	case JOB_VERIFY:
		return;
	}
}
