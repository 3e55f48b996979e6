/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/strutil.h"
#include "core/report-step.h"
#include "core/report-views.h"

enum {
	COLUMN_ID,
	COLUMN_NOW,
	COLUMN_WANTED,
	COLUMN_STATE,
	COLUMN_REASON,
	_COLUMN_MAX,
};

static const struct column columns[_COLUMN_MAX] = {
	[COLUMN_ID] = { "id", "PARAMETER", 0 },
	[COLUMN_NOW] = { "current", "NOW", COLUMN_RIGHT },
	[COLUMN_WANTED] = { "wanted", "WANTED", COLUMN_RIGHT },
	[COLUMN_STATE] = { "outcome", "STATE", COLUMN_OUTCOME },
	[COLUMN_REASON] = { "reason", "REASON", COLUMN_WRAP },
};

static void add_parameters(struct report *r, const struct plan *plan)
{
	struct report_table *t = report_add_table(r, "parameters", NULL, columns, _COLUMN_MAX);

	for (size_t i = 0; i < plan->n_steps; i++) {
		const struct step *step = &plan->steps[i];

		if (step->ref.tunable->scope != SCOPE_BOOT)
			continue;
		report_row(t);
		report_cell_text(t, COLUMN_ID, step->id);
		report_cell_text(t, COLUMN_NOW, step->current);
		report_cell_text(t, COLUMN_WANTED, step->wanted);
		report_cell_text(t, COLUMN_STATE, outcome_name(step->outcome));
		report_cell_text(t, COLUMN_REASON, step->reason);
	}
}

static bool has_conflict(const struct plan *plan)
{
	for (size_t i = 0; i < plan->n_steps; i++)
		if (plan->steps[i].conflict)
			return true;
	return false;
}

static bool is_to_be_added(const struct plan *plan)
{
	for (size_t i = 0; i < plan->n_steps; i++)
		if (plan->steps[i].outcome == OUTCOME_PENDING_REBOOT && !plan->steps[i].is_on_line)
			return true;
	return false;
}

struct report *report_boot_status(const struct plan *plan, const struct boot_view *view)
{
	struct report *r = report_new("boot-status");
	bool waits = plan_count_outcome(plan, OUTCOME_PENDING_REBOOT) > 0,
	     fits = view->length_bytes <= view->limit_bytes;

	report_text(r, "loader", "Boot loader", view->loader);
	report_text(r, "cmdline", "This boot", view->cmdline);
	report_text(r, "wanted_parameters", "Wanted", *view->wanted ? view->wanted : NULL);
	report_bytes(r, "length_bytes", NULL, (int64_t)view->length_bytes);
	report_bytes(r, "limit_bytes", NULL, (int64_t)view->limit_bytes);
	report_boolean(r, "fits", NULL, fits);
	report_text(r, "place", NULL, view->place);
	add_parameters(r, plan);
	if (waits && !fits)
		report_line(
			r,
			"They do not fit: the line would have %zu characters, and this kernel cuts off what is behind %zu "
			"without a word",
			view->length_bytes, view->limit_bytes);
	else if (has_conflict(plan))
		report_line(
			r,
			"mmopt does not write this. Something on the line comes first: change that, as the table says, "
			"where it is written; adding behind it does nothing.");
	else if (is_to_be_added(plan))
		report_line(r, "mmopt does not write this. Add them %s; then reboot.", view->place);
	report_verdict(r, 0, waits ? "pending-reboot" : "in-sync");
	return r;
}
