/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>
#include <stdarg.h>

#include "base/number.h"
#include "base/strutil.h"
#include "base/time-span.h"
#include "core/report-saving.h"
#include "core/report-step.h"
#include "core/report-views.h"

/* A line of text output with a title, printf-like. */
static void _printf_(3, 4) text_line(struct report *r, const char *title, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	if (text)
		report_text_only(r, title, text);
	free(text);
}

static void bytes_or_null(struct report *r, const char *name, uint64_t bytes)
{
	if (bytes > 0)
		report_bytes(r, name, NULL, (int64_t)bytes);
	else
		report_text(r, name, NULL, NULL);
}

static void add_transaction_line(struct report *r, const struct transaction *t)
{
	char time[32];

	text_line(r, "Last change", "%s at %s, %s", t->verb, format_time((int64_t)t->time_sec, time),
		  transaction_state_name(t->state));
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
	uint64_t left;

	if (!t || !waiting)
		report_text(r, "confirm_left_sec", NULL, NULL);
	if (!t) {
		report_text(r, "confirm_waiting", NULL, NULL);
		return;
	}
	if (!waiting) {
		report_boolean(r, "confirm_waiting", NULL, false);
		report_text_only(r, "Not confirmed", "nobody waits for it any more: the next change takes it back");
		return;
	}
	left = t->deadline_sec > now_sec ? t->deadline_sec - now_sec : 0;
	report_number(r, "confirm_left_sec", NULL, (int64_t)left);
	report_boolean(r, "confirm_waiting", NULL, true);
	text_line(r, "Not confirmed", "%" PRIu64 " s left: mmoptctl confirm keeps it, else it goes back", left);
}

static const char *status_verdict(const struct plan *plan, const struct transaction *unconfirmed)
{
	if (plan->n_steps == 0)
		return "no-policy";
	if (plan_deviates(plan))
		return "differs";
	return unconfirmed ? "unconfirmed" : "in-sync";
}

/*
 * The memory that the machine has, and what it had when the policy was applied as a whole.  That mmoptd has reckoned
 * shares of it anew since is a transaction of another name.
 */
static void add_memory(struct report *r, struct undo_store *store, uint64_t now_bytes)
{
	const struct transaction *all = NULL;
	uint64_t at_apply_bytes = 0;
	char now[24], then[24];
	size_t n = 0;

	if (store)
		all = undo_store_transactions(store, &n);
	while (n-- > 0 && at_apply_bytes == 0)
		if (all[n].state != TRANSACTION_UNDONE && streq(all[n].verb, "apply"))
			at_apply_bytes = all[n].memory_bytes;
	bytes_or_null(r, "memory_total_bytes", now_bytes);
	bytes_or_null(r, "memory_total_at_apply_bytes", at_apply_bytes);
	if (now_bytes == 0 || at_apply_bytes == 0 || now_bytes == at_apply_bytes)
		return;
	text_line(r, "Memory", "%s, %s at the last apply", format_bytes((int64_t)now_bytes, now),
		  format_bytes((int64_t)at_apply_bytes, then));
}

/* How often the kernel had to make the page anew since mmoptd took hold of it: 0 as long as it is of use. */
static void add_zero_page_allocs(struct report *r, const struct status_context *c)
{
	const struct live_state *live = c->live;

	if (!live->zero_page_held || !live->zero_page_allocs_known || !c->zero_page_allocs_known ||
	    c->zero_page_allocs < live->zero_page_allocs)
		report_text(r, "zero_page_allocs_count", NULL, NULL);
	else
		report_number(r, "zero_page_allocs_count", NULL,
			      (int64_t)(c->zero_page_allocs - live->zero_page_allocs));
}

static void add_zero_page_line(struct report *r, const struct status_context *c)
{
	const struct live_state *live = c->live;
	char size[24], since[32];

	if (!live->zero_page_held) {
		if (live->zero_page_error)
			text_line(r, "Huge zero page", "not held: %s", live->zero_page_error);
		return;
	}
	format_bytes((int64_t)live->zero_page_bytes, size);
	format_time((int64_t)live->zero_page_since_sec, since);
	if (live->zero_page_allocs_known && c->zero_page_allocs_known && c->zero_page_allocs >= live->zero_page_allocs)
		text_line(r, "Huge zero page", "%s held since %s, allocated %" PRIu64 " times since", size, since,
			  c->zero_page_allocs - live->zero_page_allocs);
	else
		text_line(r, "Huge zero page", "%s held since %s", size, since);
}

static void add_daemon_lines(struct report *r, const struct status_context *c)
{
	char since[32];

	text_line(r, "Daemon", "mmoptd (pid %d) since %s", (int)c->live->pid,
		  format_time((int64_t)c->live->since_sec, since));
	if (c->live->policy_error)
		text_line(r, "Policy", "has mistakes, the one before it stays in force: %s", c->live->policy_error);
	add_zero_page_line(r, c);
}

/* What only a running mmoptd knows. */
static void add_daemon(struct report *r, const struct status_context *c)
{
	const struct live_state *live = c->live;

	report_boolean(r, "daemon_running", NULL, live->running);
	if (!live->running) {
		report_text(r, "daemon_pid", NULL, NULL);
		report_text(r, "daemon_since", NULL, NULL);
		report_text(r, "policy_error", NULL, NULL);
		report_text(r, "zero_page_held", NULL, NULL);
		report_text(r, "zero_page_bytes", NULL, NULL);
		report_text(r, "zero_page_since", NULL, NULL);
		report_text(r, "zero_page_allocs_count", NULL, NULL);
		return;
	}
	report_number(r, "daemon_pid", NULL, live->pid);
	report_time(r, "daemon_since", NULL, live->since_sec);
	report_text(r, "policy_error", NULL, live->policy_error);
	report_boolean(r, "zero_page_held", NULL, live->zero_page_held);
	bytes_or_null(r, "zero_page_bytes", live->zero_page_held ? live->zero_page_bytes : 0);
	if (live->zero_page_held)
		report_time(r, "zero_page_since", NULL, live->zero_page_since_sec);
	else
		report_text(r, "zero_page_since", NULL, NULL);
	add_zero_page_allocs(r, c);
	add_daemon_lines(r, c);
}

struct report *report_status(const struct plan *plan, const struct savings *savings, struct undo_store *store,
			     const struct status_context *c)
{
	const struct transaction *unconfirmed = find_unconfirmed(store);
	const char *verdict = status_verdict(plan, unconfirmed);
	struct report *r = report_new("status");
	bool reboot = plan_count_outcome(plan, OUTCOME_PENDING_REBOOT) > 0;

	report_text(r, "state", "State", verdict);
	report_boolean(r, "reboot_required", "Reboot needed", reboot);
	report_add_total(r, "saved_bytes", "Memory saved", savings);
	add_last_transaction(r, store);
	add_confirmation(r, unconfirmed, unconfirmed && undo_confirm_waiting(store), c->now_sec);
	add_memory(r, store, c->memory_bytes);
	add_daemon(r, c);
	report_text(r, "refused", NULL, plan->refused);
	report_add_counts(r, plan);
	report_add_steps(r, plan, STEPS_VERIFY);
	if (savings)
		report_add_savings(r, "savings", savings);
	report_add_summary(r, plan);
	report_verdict(r, 0, verdict);
	return r;
}
