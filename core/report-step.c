/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/report-step.h"

#include "base/strutil.h"

enum {
	STEP_COLUMN_ID,
	/* What people see of the values: with unit, relation and "auto". */
	STEP_COLUMN_BEFORE_TEXT,
	STEP_COLUMN_NOW_TEXT,
	STEP_COLUMN_WANTED_TEXT,
	STEP_COLUMN_STATE_TEXT,
	STEP_COLUMN_COST_TEXT,
	STEP_COLUMN_SAVING_TEXT,
	STEP_COLUMN_FROM_TEXT,
	/* What programs see. */
	STEP_COLUMN_PATH,
	STEP_COLUMN_SCOPE,
	STEP_COLUMN_ACTION,
	STEP_COLUMN_OUTCOME,
	STEP_COLUMN_CURRENT,
	STEP_COLUMN_WANTED,
	STEP_COLUMN_ACTUAL,
	STEP_COLUMN_RELATION,
	STEP_COLUMN_UNIT,
	STEP_COLUMN_AUTO,
	STEP_COLUMN_OPTIONAL,
	STEP_COLUMN_ESSENTIAL,
	STEP_COLUMN_DIFFERS,
	STEP_COLUMN_EFFECT_CHECKED,
	STEP_COLUMN_COST,
	STEP_COLUMN_SAVING,
	STEP_COLUMN_ERROR,
	STEP_COLUMN_FILE,
	STEP_COLUMN_LINE,
	STEP_COLUMN_WRITER_PID,
	STEP_COLUMN_WRITER_COMM,
	STEP_COLUMN_GIVEN_UP,
	STEP_COLUMN_REASON,
	_STEP_COLUMN_MAX,
};

/* clang-format off */
#define STEP_COLUMNS(now, wanted, state)                                                  \
	[STEP_COLUMN_ID] = { "id", "TUNABLE", 0 },                                        \
	[STEP_COLUMN_BEFORE_TEXT] = { "before_text", "BEFORE", COLUMN_TEXT_ONLY },        \
	[STEP_COLUMN_NOW_TEXT] = { "now_text", now, COLUMN_TEXT_ONLY },                   \
	[STEP_COLUMN_WANTED_TEXT] = { "wanted_text", wanted, COLUMN_TEXT_ONLY },          \
	[STEP_COLUMN_STATE_TEXT] = { "state_text", state, COLUMN_TEXT_ONLY | COLUMN_OUTCOME }, \
	[STEP_COLUMN_COST_TEXT] = { "cost_text", "COST", COLUMN_TEXT_ONLY | COLUMN_RIGHT }, \
	[STEP_COLUMN_SAVING_TEXT] = { "saving_text", "SAVES", COLUMN_TEXT_ONLY | COLUMN_RIGHT }, \
	[STEP_COLUMN_FROM_TEXT] = { "from_text", "FROM", COLUMN_TEXT_ONLY | COLUMN_DROPPABLE }, \
	[STEP_COLUMN_PATH] = { "path", "", COLUMN_JSON_ONLY },                            \
	[STEP_COLUMN_SCOPE] = { "scope", "", COLUMN_JSON_ONLY },                          \
	[STEP_COLUMN_ACTION] = { "action", "", COLUMN_JSON_ONLY },                        \
	[STEP_COLUMN_OUTCOME] = { "outcome", "", COLUMN_JSON_ONLY },                      \
	[STEP_COLUMN_CURRENT] = { "current", "", COLUMN_JSON_ONLY },                      \
	[STEP_COLUMN_WANTED] = { "wanted", "", COLUMN_JSON_ONLY },                        \
	[STEP_COLUMN_ACTUAL] = { "actual", "", COLUMN_JSON_ONLY },                        \
	[STEP_COLUMN_RELATION] = { "relation", "", COLUMN_JSON_ONLY },                    \
	[STEP_COLUMN_UNIT] = { "unit", "", COLUMN_JSON_ONLY },                            \
	[STEP_COLUMN_AUTO] = { "auto", "", COLUMN_JSON_ONLY },                            \
	[STEP_COLUMN_OPTIONAL] = { "optional", "", COLUMN_JSON_ONLY },                    \
	[STEP_COLUMN_ESSENTIAL] = { "essential", "", COLUMN_JSON_ONLY },                  \
	[STEP_COLUMN_DIFFERS] = { "differs", "", COLUMN_JSON_ONLY },                      \
	[STEP_COLUMN_EFFECT_CHECKED] = { "effect_checked", "", COLUMN_JSON_ONLY },        \
	[STEP_COLUMN_COST] = { "cost_bytes", "", COLUMN_JSON_ONLY },                      \
	[STEP_COLUMN_SAVING] = { "saving_bytes", "", COLUMN_JSON_ONLY },                  \
	[STEP_COLUMN_ERROR] = { "error", "", COLUMN_JSON_ONLY },                          \
	[STEP_COLUMN_FILE] = { "file", "", COLUMN_JSON_ONLY },                            \
	[STEP_COLUMN_LINE] = { "line", "", COLUMN_JSON_ONLY },                            \
	[STEP_COLUMN_WRITER_PID] = { "writer_pid", "", COLUMN_JSON_ONLY },                \
	[STEP_COLUMN_WRITER_COMM] = { "writer_comm", "", COLUMN_JSON_ONLY },              \
	[STEP_COLUMN_GIVEN_UP] = { "given_up", "", COLUMN_JSON_ONLY },                    \
	[STEP_COLUMN_REASON] = { "reason", "REASON", COLUMN_WRAP },

static const struct column plan_columns[_STEP_COLUMN_MAX] = { STEP_COLUMNS("NOW", "WANTED", "ACTION") };
static const struct column apply_columns[_STEP_COLUMN_MAX] = { STEP_COLUMNS("AFTER", "ASKED", "OUTCOME") };
static const struct column verify_columns[_STEP_COLUMN_MAX] = { STEP_COLUMNS("NOW", "ASKED", "STATE") };
/* clang-format on */

const char *relation_prefix(enum relation relation)
{
	switch (relation) {
	case RELATION_EQUAL:
		return "";
	case RELATION_AT_LEAST:
		return ">= ";
	case RELATION_AT_MOST:
		return "<= ";
	}
	return "";
}

static const char *relation_name(enum relation relation)
{
	switch (relation) {
	case RELATION_EQUAL:
		return "equal";
	case RELATION_AT_LEAST:
		return "at-least";
	case RELATION_AT_MOST:
		return "at-most";
	}
	return NULL;
}

static const char *action_name(enum step_action action)
{
	switch (action) {
	case STEP_SET:
		return "set";
	case STEP_KEEP:
		return "keep";
	case STEP_REFUSE:
		return "refuse";
	}
	return NULL;
}

const char *file_name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

char *tunable_value_text(const struct tunable *t, const char *value)
{
	switch (t->unit) {
	case UNIT_NONE:
	case UNIT_PAGES: /* the names of these say so */
	case UNIT_HUGE_PAGES:
		return strdup(value);
	case UNIT_BYTES:
	case UNIT_KIB:
	case UNIT_MIB:
	case UNIT_PERCENT:
	case UNIT_MSEC:
	case UNIT_USEC:
	case UNIT_SEC:
		if (t->kind != VALUE_INTEGER)
			return strdup(value);
		return xasprintf("%s %s", value, value_unit_name(t->unit));
	}
	return NULL;
}

static void cell_value(struct report_table *t, size_t column, const struct step *s, const char *value)
{
	_cleanup_free_ char *text = value ? tunable_value_text(s->ref.tunable, value) : NULL;

	report_cell_text(t, column, text);
}

static void cell_wanted(struct report_table *t, const struct step *s)
{
	_cleanup_free_ char *value = NULL, *text = NULL;

	if (!s->wanted) {
		report_cell_text(t, STEP_COLUMN_WANTED_TEXT, s->is_auto ? "auto" : NULL);
		return;
	}
	value = tunable_value_text(s->ref.tunable, s->wanted);
	if (value)
		text = xasprintf("%s%s%s", relation_prefix(s->relation), value, s->is_auto ? " (auto)" : "");
	report_cell_text(t, STEP_COLUMN_WANTED_TEXT, text);
}

const char *step_state_name(const struct step *s)
{
	bool for_daemon = s->action == STEP_KEEP && s->differs;

	return s->outcome == OUTCOME_PENDING && !for_daemon ? action_name(s->action) : outcome_name(s->outcome);
}

static void cells_for_people(struct report_table *t, const struct step *s, enum step_table_style style)
{
	bool is_open = s->outcome == OUTCOME_PENDING && s->action == STEP_SET;
	_cleanup_free_ char *from = NULL;

	if (style == STEPS_APPLY)
		cell_value(t, STEP_COLUMN_BEFORE_TEXT, s, s->current);
	cell_value(t, STEP_COLUMN_NOW_TEXT, s, s->actual ?: s->current);
	cell_wanted(t, s);
	report_cell_text(t, STEP_COLUMN_STATE_TEXT, style == STEPS_VERIFY && is_open ? "differs" : step_state_name(s));
	if (style == STEPS_PLAN && s->cost_bytes != 0)
		report_cell_bytes(t, STEP_COLUMN_COST_TEXT, s->cost_bytes);
	if (style == STEPS_PLAN && s->saving_bytes != 0)
		report_cell_bytes(t, STEP_COLUMN_SAVING_TEXT, s->saving_bytes);
	/* The name alone is enough: of two files with the same name in two directories only one counts. */
	if (s->file)
		from = s->line > 0 ? xasprintf("%s:%u", file_name_of(s->file), s->line) : strdup(file_name_of(s->file));
	report_cell_text(t, STEP_COLUMN_FROM_TEXT, from);
}

static void cells_for_programs(struct report_table *t, const struct step *s)
{
	const char *unit = value_unit_name(s->ref.tunable->unit);

	report_cell_text(t, STEP_COLUMN_ID, s->id);
	report_cell_text(t, STEP_COLUMN_PATH, s->path);
	report_cell_text(t, STEP_COLUMN_SCOPE, tunable_scope_name(s->ref.tunable->scope));
	report_cell_text(t, STEP_COLUMN_ACTION, action_name(s->action));
	report_cell_text(t, STEP_COLUMN_OUTCOME, outcome_name(s->outcome));
	report_cell_text(t, STEP_COLUMN_CURRENT, s->current);
	report_cell_text(t, STEP_COLUMN_WANTED, s->wanted);
	report_cell_text(t, STEP_COLUMN_ACTUAL, s->actual);
	report_cell_text(t, STEP_COLUMN_RELATION, relation_name(s->relation));
	report_cell_text(t, STEP_COLUMN_UNIT, *unit ? unit : NULL);
	report_cell_boolean(t, STEP_COLUMN_AUTO, s->is_auto);
	report_cell_boolean(t, STEP_COLUMN_OPTIONAL, s->optional);
	report_cell_boolean(t, STEP_COLUMN_ESSENTIAL, s->essential);
	report_cell_boolean(t, STEP_COLUMN_DIFFERS, s->differs);
	report_cell_boolean(t, STEP_COLUMN_EFFECT_CHECKED, s->effect_checked);
	report_cell_bytes(t, STEP_COLUMN_COST, s->cost_bytes);
	report_cell_bytes(t, STEP_COLUMN_SAVING, s->saving_bytes);
	if (s->error != 0)
		report_cell_text(t, STEP_COLUMN_ERROR, strerrorname_np(-s->error) ?: "unknown");
	report_cell_text(t, STEP_COLUMN_FILE, s->file);
	if (s->line > 0)
		report_cell_number(t, STEP_COLUMN_LINE, s->line);
	if (s->writer_pid > 0)
		report_cell_number(t, STEP_COLUMN_WRITER_PID, s->writer_pid);
	report_cell_text(t, STEP_COLUMN_WRITER_COMM, s->writer_comm);
	report_cell_boolean(t, STEP_COLUMN_GIVEN_UP, s->given_up);
	report_cell_text(t, STEP_COLUMN_REASON, s->reason);
}

void report_add_steps(struct report *r, const struct plan *plan, enum step_table_style style)
{
	static const struct column *const columns[] = {
		[STEPS_PLAN] = plan_columns,
		[STEPS_APPLY] = apply_columns,
		[STEPS_VERIFY] = verify_columns,
	};
	struct report_table *t = report_add_table(r, "steps", NULL, columns[style], _STEP_COLUMN_MAX);

	for (size_t i = 0; i < plan->n_steps; i++) {
		const struct step *s = &plan->steps[i];

		report_row(t);
		if (style == STEPS_APPLY && s->outcome == OUTCOME_ALREADY)
			report_row_json_only(t);
		cells_for_programs(t, s);
		cells_for_people(t, s, style);
	}
}

/* Not "pending": a step that is still to be made is told by its action. */
static const struct {
	enum outcome outcome;
	const char *field;
	const char *one, *many; /* for one item, for several */
} summary_words[] = {
	{ OUTCOME_APPLIED, "applied_count", "applied", "applied" },
	{ OUTCOME_ALREADY, "already_count", "already right", "already right" },
	{ OUTCOME_ADJUSTED, "adjusted_count", "adjusted by the kernel", "adjusted by the kernel" },
	{ OUTCOME_PARTIAL, "partial_count", "partial", "partial" },
	{ OUTCOME_DRIFTED, "drifted_count", "drifted", "drifted" },
	{ OUTCOME_REFUSED, "refused_count", "refused", "refused" },
	{ OUTCOME_UNSUPPORTED, "unsupported_count", "unsupported", "unsupported" },
	{ OUTCOME_UNSAFE, "unsafe_count", "unsafe", "unsafe" },
	{ OUTCOME_SKIPPED, "skipped_count", "skipped", "skipped" },
	{ OUTCOME_PENDING_REBOOT, "pending_reboot_count", "waits for a reboot", "wait for a reboot" },
};

size_t plan_count_outcome(const struct plan *plan, enum outcome outcome)
{
	size_t n = 0;

	for (size_t i = 0; i < plan->n_steps; i++)
		n += plan->steps[i].outcome == outcome;
	return n;
}

static size_t count_to_change(const struct plan *plan)
{
	size_t n = 0;

	for (size_t i = 0; i < plan->n_steps; i++)
		n += plan->steps[i].outcome == OUTCOME_PENDING && plan->steps[i].differs;
	return n;
}

/* Steps that are right although nothing had to be found out ("auto" that leaves the machine as it is). */
static size_t count_kept(const struct plan *plan)
{
	size_t n = 0;

	for (size_t i = 0; i < plan->n_steps; i++)
		n += plan->steps[i].outcome == OUTCOME_PENDING && !plan->steps[i].differs;
	return n;
}

/* Appends "N words" with a comma before it where it is not the first. 0 or -ENOMEM. */
static int append_count(char **text, size_t n, const char *one, const char *many)
{
	char *longer;

	if (n == 0)
		return 0;
	longer = xasprintf("%s%s%zu %s", *text ?: "", *text ? ", " : "", n, n == 1 ? one : many);
	if (!longer)
		return -ENOMEM;
	free(*text);
	*text = longer;
	return 0;
}

char *plan_summary(const struct plan *plan)
{
	_cleanup_free_ char *text = NULL;

	if (plan->n_steps == 0)
		return strdup("nothing is asked for here");
	if (append_count(&text, count_to_change(plan), "to change", "to change") < 0)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(summary_words); i++) {
		size_t n = plan_count_outcome(plan, summary_words[i].outcome);

		if (append_count(&text, n, summary_words[i].one, summary_words[i].many) < 0)
			return NULL;
	}
	if (append_count(&text, count_kept(plan), "left as it is", "left as they are") < 0)
		return NULL;
	return TAKE_PTR(text);
}

void report_add_counts(struct report *r, const struct plan *plan)
{
	report_number(r, "items_count", NULL, plan->n_steps);
	report_number(r, "to_change_count", NULL, count_to_change(plan));
	for (size_t i = 0; i < ARRAY_SIZE(summary_words); i++)
		report_number(r, summary_words[i].field, NULL, plan_count_outcome(plan, summary_words[i].outcome));
}

void report_add_summary(struct report *r, const struct plan *plan)
{
	_cleanup_free_ char *summary = plan_summary(plan);

	if (summary)
		report_line(r, "%s", summary);
	if (plan->refused)
		report_line(r, "Nothing is applied here: %s", plan->refused);
}

bool plan_deviates(const struct plan *plan)
{
	return plan_differs(plan) || plan_has_failures(plan);
}
