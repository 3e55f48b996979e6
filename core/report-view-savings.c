/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/report-saving.h"
#include "core/report-views.h"

enum {
	SAVING_COLUMN_MECHANISM,
	SAVING_COLUMN_DETAIL,
	SAVING_COLUMN_BYTES,
	SAVING_COLUMN_METHOD,
	SAVING_COLUMN_IN_TOTAL,
	SAVING_COLUMN_FORMULA,
	SAVING_COLUMN_SOURCES,
	SAVING_COLUMN_REASON,
	_SAVING_COLUMN_MAX,
};

static const struct column full_columns[_SAVING_COLUMN_MAX] = {
	[SAVING_COLUMN_MECHANISM] = { "mechanism", "MECHANISM", 0 },
	[SAVING_COLUMN_DETAIL] = { "detail", "OF", 0 },
	[SAVING_COLUMN_BYTES] = { "saved_bytes", "SAVED", COLUMN_RIGHT },
	[SAVING_COLUMN_METHOD] = { "method", "METHOD", COLUMN_DROPPABLE },
	[SAVING_COLUMN_IN_TOTAL] = { "in_total", "COUNTED", COLUMN_DROPPABLE },
	[SAVING_COLUMN_FORMULA] = { "formula", "FORMULA", COLUMN_WRAP },
	[SAVING_COLUMN_SOURCES] = { "sources", "", COLUMN_JSON_ONLY },
	[SAVING_COLUMN_REASON] = { "reason", "REMARK", COLUMN_WRAP },
};

/* Where savings are not the subject: what they are, not how they were found. */
static const struct column brief_columns[_SAVING_COLUMN_MAX] = {
	[SAVING_COLUMN_MECHANISM] = { "mechanism", "MECHANISM", 0 },
	[SAVING_COLUMN_DETAIL] = { "detail", "OF", 0 },
	[SAVING_COLUMN_BYTES] = { "saved_bytes", "SAVED", COLUMN_RIGHT },
	[SAVING_COLUMN_METHOD] = { "method", "METHOD", COLUMN_DROPPABLE },
	[SAVING_COLUMN_IN_TOTAL] = { "in_total", "", COLUMN_JSON_ONLY },
	[SAVING_COLUMN_FORMULA] = { "formula", "", COLUMN_JSON_ONLY },
	[SAVING_COLUMN_SOURCES] = { "sources", "", COLUMN_JSON_ONLY },
	[SAVING_COLUMN_REASON] = { "reason", "", COLUMN_JSON_ONLY },
};

static void add_row(struct report_table *t, const struct saving *s)
{
	report_row(t);
	report_cell_text(t, SAVING_COLUMN_MECHANISM, s->mechanism);
	report_cell_text(t, SAVING_COLUMN_DETAIL, s->detail);
	if (s->known) {
		report_cell_bytes(t, SAVING_COLUMN_BYTES, s->bytes);
		report_cell_text(t, SAVING_COLUMN_METHOD, saving_method_name(s->method));
	}
	report_cell_boolean(t, SAVING_COLUMN_IN_TOTAL, s->in_total);
	report_cell_text(t, SAVING_COLUMN_FORMULA, s->formula);
	report_cell_text(t, SAVING_COLUMN_SOURCES, s->sources);
	report_cell_text(t, SAVING_COLUMN_REASON, s->reason);
}

static void add_table(struct report *r, const char *name, const char *heading, const struct column *columns, bool brief,
		      const struct savings *savings, bool what_if)
{
	struct report_table *t = report_add_table(r, name, heading, columns, _SAVING_COLUMN_MAX);

	for (size_t i = 0; i < savings->n_rows; i++) {
		const struct saving *s = &savings->rows[i];

		if (s->what_if != what_if)
			continue;
		add_row(t, s);
		if (brief && (!s->known || s->bytes == 0 || !s->in_total))
			report_row_json_only(t);
	}
}

void report_add_savings(struct report *r, const char *name, const struct savings *savings)
{
	add_table(r, name, "Memory saved", brief_columns, true, savings, false);
}

void report_add_total(struct report *r, const char *name, const char *title, const struct savings *savings)
{
	if (savings && savings->total_known)
		report_bytes(r, name, title, savings->total_bytes);
	else
		report_text(r, name, title, NULL);
}

struct report *report_savings(const struct savings *savings)
{
	struct report *r = report_new("savings");

	report_add_total(r, "total_saved_bytes", "Memory saved", savings);
	add_table(r, "savings", NULL, full_columns, false, savings, false);
	add_table(r, "what_if", "Not on yet: what it would save", full_columns, false, savings, true);
	report_verdict(r, 0, savings->total_known ? "known" : "no-data");
	return r;
}
