/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/plan.h"
#include "core/report.h"

/* The table of steps that plan, apply, verify and status share: the same members in JSON, each with its own headings. */

enum step_table_style {
	STEPS_PLAN,   /* now -> wanted */
	STEPS_APPLY,  /* before -> after; what was right already is left out of the text */
	STEPS_VERIFY, /* asked and found */
};

void report_add_steps(struct report *r, const struct plan *plan, enum step_table_style style);

/* "3 to change, 5 already right, 1 unsupported, 1 waits for a reboot"; the caller frees; NULL on lack of memory. */
char *plan_summary(const struct plan *plan);

/* The same numbers as fields: items_count, to_change_count, already_count, ... */
void report_add_counts(struct report *r, const struct plan *plan);

/* The summary as a line, and why nothing is applied here at all. */
void report_add_summary(struct report *r, const struct plan *plan);

/* Not as the policy wants it: something to do, or something that cannot be done. */
bool plan_deviates(const struct plan *plan);

size_t plan_count_outcome(const struct plan *plan, enum outcome outcome);

/* An integer with its unit where it has one that is not plain from the name: "67584 KiB". Caller frees; NULL on lack of memory. */
char *tunable_value_text(const struct tunable *t, const char *value);

/* The outcome, or where nothing was tried yet what apply would do: "set", "keep". */
const char *step_state_name(const struct step *s);

const char *relation_prefix(enum relation relation); /* "", ">= ", "<= " */
const char *file_name_of(const char *path);	     /* after the last slash */
