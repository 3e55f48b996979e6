/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/number.h"
#include "core/report-saving.h"
#include "core/report-step.h"
#include "core/report-views.h"

struct report *report_plan(const struct plan *plan)
{
	struct report *r = report_new("plan");

	report_text(r, "refused", NULL, plan->refused);
	report_boolean(r, "shrink", NULL, plan->shrink);
	report_bytes(r, "memory_floor_bytes", NULL, (int64_t)plan->memory_floor_bytes);
	report_add_counts(r, plan);
	report_add_steps(r, plan, STEPS_PLAN);
	report_add_summary(r, plan);
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
	report_add_summary(r, plan);
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
	report_add_summary(r, plan);
	add_saved_line(r, before, after);
	if (sentence)
		report_line(r, "%s", sentence);
	apply_verdict(r, result);
	return r;
}
