/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>

#include "base/number.h"
#include "base/strutil.h"
#include "core/report-saving.h"
#include "core/report-step.h"
#include "core/report-views.h"

static void add_summary(struct report *r, const struct plan *plan)
{
	_cleanup_free_ char *summary = plan_summary(plan);

	if (summary)
		report_line(r, "%s", summary);
	if (plan->refused)
		report_line(r, "Nothing is applied here: %s", plan->refused);
}

/* Not as the policy wants it: something to do, or something that cannot be done. */
static bool plan_deviates(const struct plan *plan)
{
	return plan_differs(plan) || plan_has_failures(plan);
}

struct report *report_plan(const struct plan *plan)
{
	struct report *r = report_new("plan");

	report_text(r, "refused", NULL, plan->refused);
	report_boolean(r, "shrink", NULL, plan->shrink);
	report_bytes(r, "memory_floor_bytes", NULL, (int64_t)plan->memory_floor_bytes);
	report_add_counts(r, plan);
	report_add_steps(r, plan, STEPS_PLAN);
	add_summary(r, plan);
	if (plan_deviates(plan))
		report_verdict(r, 2, "differs");
	else
		report_verdict(r, 0, "in-sync");
	return r;
}

struct report *report_verify(const struct plan *plan)
{
	struct report *r = report_new("verify");

	report_add_counts(r, plan);
	report_add_steps(r, plan, STEPS_VERIFY);
	add_summary(r, plan);
	if (plan_deviates(plan))
		report_verdict(r, 2, "differs");
	else
		report_verdict(r, 0, "in-sync");
	return r;
}

static void apply_verdict(struct report *r, enum apply_result result)
{
	switch (result) {
	case APPLY_DONE:
		report_verdict(r, 0, "done");
		return;
	case APPLY_PARTLY:
		report_verdict(r, 3, "partly");
		return;
	case APPLY_UNDONE:
		report_verdict(r, 1, "undone");
		return;
	case APPLY_STUCK:
		report_verdict(r, 1, "stuck");
		return;
	}
}

static const char *apply_sentence(enum apply_result result)
{
	switch (result) {
	case APPLY_DONE:
	case APPLY_PARTLY:
		return NULL;
	case APPLY_UNDONE:
		return "Not applied: everything written was taken back";
	case APPLY_STUCK:
		return "Not applied, and not everything written could be taken back: see the items above";
	}
	return NULL;
}

static void add_saved_line(struct report *r, const struct savings *before, const struct savings *after)
{
	char now[24], change[24];
	int64_t difference;

	if (!after || !after->total_known)
		return;
	difference = before && before->total_known ? after->total_bytes - before->total_bytes : 0;
	if (difference != 0)
		report_line(r, "Memory saved: %s (%s%s)", format_bytes(after->total_bytes, now),
			    difference > 0 ? "+" : "", format_bytes(difference, change));
	else
		report_line(r, "Memory saved: %s", format_bytes(after->total_bytes, now));
}

struct report *report_apply(const struct plan *plan, enum apply_result result, const struct savings *before,
			    const struct savings *after)
{
	struct report *r = report_new("apply");
	const char *sentence = apply_sentence(result);

	report_text(r, "refused", NULL, plan->refused);
	report_add_counts(r, plan);
	report_add_total(r, "saved_before_bytes", NULL, before);
	report_add_total(r, "saved_after_bytes", NULL, after);
	report_add_steps(r, plan, STEPS_APPLY);
	add_summary(r, plan);
	add_saved_line(r, before, after);
	if (sentence)
		report_line(r, "%s", sentence);
	apply_verdict(r, result);
	return r;
}

static void add_transaction_line(struct report *r, const struct transaction *t)
{
	_cleanup_free_ char *text = NULL;
	char time[32];

	text = xasprintf("%s at %s, %s", t->verb, format_time((int64_t)t->time_sec, time),
			 transaction_state_name(t->state));
	if (text)
		report_text_only(r, "Last change", text);
}

/* How the machine came to be so: the last transaction of this boot. */
static void add_last_transaction(struct report *r, struct undo_store *store)
{
	const struct transaction *t = NULL, *all;
	size_t n = 0;

	if (store) {
		all = undo_store_transactions(store, &n);
		if (n > 0)
			t = &all[n - 1];
	}
	if (!t) {
		report_text(r, "last_transaction", NULL, NULL);
		report_text(r, "last_verb", NULL, NULL);
		report_text(r, "last_state", NULL, NULL);
		report_text(r, "last_time", NULL, NULL);
		return;
	}
	report_number(r, "last_transaction", NULL, t->number);
	report_text(r, "last_verb", NULL, t->verb);
	report_text(r, "last_state", NULL, transaction_state_name(t->state));
	report_time(r, "last_time", NULL, t->time_sec);
	add_transaction_line(r, t);
}

static const struct transaction *find_unconfirmed(struct undo_store *store)
{
	const struct transaction *all;
	size_t n = 0;

	if (!store)
		return NULL;
	all = undo_store_transactions(store, &n);
	while (n-- > 0)
		if (all[n].state == TRANSACTION_UNCONFIRMED)
			return &all[n];
	return NULL;
}

/* How long what was applied on trial stays, and what makes it stay. */
static void add_confirmation(struct report *r, const struct transaction *t, bool waiting, uint64_t now_sec)
{
	_cleanup_free_ char *text = NULL;
	uint64_t left;

	if (!t || !waiting)
		report_text(r, "confirm_left_sec", NULL, NULL);
	if (!t) {
		report_text(r, "confirm_waiting", NULL, NULL);
		return;
	}
	if (!waiting) {
		report_boolean(r, "confirm_waiting", NULL, false);
		report_text_only(r, "Not confirmed", "nobody waits for it any more: the next apply takes it back");
		return;
	}
	left = t->deadline_sec > now_sec ? t->deadline_sec - now_sec : 0;
	report_number(r, "confirm_left_sec", NULL, (int64_t)left);
	report_boolean(r, "confirm_waiting", NULL, true);
	text = xasprintf("%" PRIu64 " s left: mmoptctl confirm keeps it, else it goes back", left);
	if (text)
		report_text_only(r, "Not confirmed", text);
}

static const char *status_verdict(const struct plan *plan, const struct transaction *unconfirmed)
{
	if (plan->n_steps == 0)
		return "no-policy";
	if (plan_deviates(plan))
		return "differs";
	return unconfirmed ? "unconfirmed" : "in-sync";
}

struct report *report_status(const struct plan *plan, const struct savings *savings, struct undo_store *store,
			     uint64_t now_sec)
{
	const struct transaction *unconfirmed = find_unconfirmed(store);
	const char *verdict = status_verdict(plan, unconfirmed);
	struct report *r = report_new("status");
	bool reboot = plan_count_outcome(plan, OUTCOME_PENDING_REBOOT) > 0;

	report_text(r, "state", "State", verdict);
	report_boolean(r, "reboot_required", "Reboot needed", reboot);
	report_add_total(r, "saved_bytes", "Memory saved", savings);
	add_last_transaction(r, store);
	add_confirmation(r, unconfirmed, unconfirmed && undo_confirm_waiting(store), now_sec);
	report_text(r, "refused", NULL, plan->refused);
	report_add_counts(r, plan);
	report_add_steps(r, plan, STEPS_VERIFY);
	if (savings)
		report_add_savings(r, "savings", savings);
	add_summary(r, plan);
	report_verdict(r, 0, verdict);
	return r;
}
