/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/strutil.h"
#include "core/report-step.h"
#include "core/report-views.h"
#include "core/sysctl-conf.h"

#define RANGE_SIZE 256

static const char *saving_model_name(enum saving_model model)
{
	switch (model) {
	case SAVING_NONE:
		return NULL;
	case SAVING_HVO:
		return "hvo";
	case SAVING_KSM:
		return "ksm";
	case SAVING_ZSWAP:
		return "zswap";
	case SAVING_ZERO_PAGE:
		return "huge-zero-page";
	case SAVING_POOL:
		return "pool";
	case SAVING_MIN_FREE:
		return "min-free";
	}
	return NULL;
}

static const char *unit_or_null(enum value_unit unit)
{
	const char *name = value_unit_name(unit);

	return *name ? name : NULL;
}

enum {
	ROW_COLUMN_ID,
	ROW_COLUMN_SCOPE,
	ROW_COLUMN_RANGE,
	ROW_COLUMN_AUTO,
	ROW_COLUMN_SINCE,
	ROW_COLUMN_PATH,
	ROW_COLUMN_ALIAS,
	ROW_COLUMN_KIND,
	ROW_COLUMN_UNIT,
	ROW_COLUMN_LINKED,
	ROW_COLUMN_COMPARE,
	ROW_COLUMN_EFFECT,
	ROW_COLUMN_SAVING,
	ROW_COLUMN_NEEDS,
	ROW_COLUMN_HAZARD,
	ROW_COLUMN_DOC,
	ROW_COLUMN_WHY,
	_ROW_COLUMN_MAX,
};

static const struct column row_columns[_ROW_COLUMN_MAX] = {
	[ROW_COLUMN_ID] = { "id", "TUNABLE", 0 },
	[ROW_COLUMN_SCOPE] = { "scope", "SCOPE", 0 },
	[ROW_COLUMN_RANGE] = { "range", "RANGE", COLUMN_WRAP },
	[ROW_COLUMN_AUTO] = { "auto", "AUTO", COLUMN_DROPPABLE },
	[ROW_COLUMN_SINCE] = { "since", "SINCE", COLUMN_DROPPABLE },
	[ROW_COLUMN_PATH] = { "path", "", COLUMN_JSON_ONLY },
	[ROW_COLUMN_ALIAS] = { "alias_path", "", COLUMN_JSON_ONLY },
	[ROW_COLUMN_KIND] = { "kind", "", COLUMN_JSON_ONLY },
	[ROW_COLUMN_UNIT] = { "unit", "", COLUMN_JSON_ONLY },
	[ROW_COLUMN_LINKED] = { "linked", "", COLUMN_JSON_ONLY },
	[ROW_COLUMN_COMPARE] = { "compare", "", COLUMN_JSON_ONLY },
	[ROW_COLUMN_EFFECT] = { "effect_check", "", COLUMN_JSON_ONLY },
	[ROW_COLUMN_SAVING] = { "saving", "", COLUMN_JSON_ONLY },
	[ROW_COLUMN_NEEDS] = { "needs", "", COLUMN_JSON_ONLY },
	[ROW_COLUMN_HAZARD] = { "hazard", "", COLUMN_JSON_ONLY },
	[ROW_COLUMN_DOC] = { "doc", "", COLUMN_JSON_ONLY },
	[ROW_COLUMN_WHY] = { "why", "WHAT FOR", COLUMN_WRAP },
};

static void add_row(struct report_table *t, const struct tunable *row)
{
	char range[RANGE_SIZE];

	report_row(t);
	report_cell_text(t, ROW_COLUMN_ID, row->id);
	report_cell_text(t, ROW_COLUMN_SCOPE, tunable_scope_name(row->scope));
	report_cell_text(t, ROW_COLUMN_RANGE, tunable_range_text(row, range));
	report_cell_boolean(t, ROW_COLUMN_AUTO, row->auto_rule != NULL);
	report_cell_text(t, ROW_COLUMN_SINCE, row->since);
	report_cell_text(t, ROW_COLUMN_PATH, row->path);
	report_cell_text(t, ROW_COLUMN_ALIAS, row->alias_path);
	report_cell_text(t, ROW_COLUMN_KIND, value_kind_name(row->kind));
	report_cell_text(t, ROW_COLUMN_UNIT, unit_or_null(row->unit));
	report_cell_text(t, ROW_COLUMN_LINKED, row->linked);
	report_cell_text(t, ROW_COLUMN_COMPARE, comparison_name(row->compare));
	report_cell_text(t, ROW_COLUMN_EFFECT, effect_check_name(row->effect));
	report_cell_text(t, ROW_COLUMN_SAVING, saving_model_name(row->saving));
	report_cell_text(t, ROW_COLUMN_NEEDS, row->needs);
	report_cell_text(t, ROW_COLUMN_HAZARD, row->hazard);
	report_cell_text(t, ROW_COLUMN_DOC, row->doc);
	report_cell_text(t, ROW_COLUMN_WHY, row->why);
}

struct report *report_list(void)
{
	struct report *r = report_new("list");
	struct report_table *t = report_add_table(r, "tunables", NULL, row_columns, _ROW_COLUMN_MAX);
	const struct tunable *rows;
	size_t n;

	rows = catalogue_rows(&n);
	for (size_t i = 0; i < n; i++)
		add_row(t, &rows[i]);
	report_verdict(r, 0, "known");
	return r;
}

/* Text that people see only where there is something to see. */
static void optional_text(struct report *r, const char *name, const char *title, const char *text)
{
	report_text(r, name, text ? title : NULL, text);
}

static void add_description(struct report *r, const struct tunable_ref *ref)
{
	const struct tunable *t = ref->tunable;
	_cleanup_free_ char *id = tunable_ref_id(ref), *path = tunable_ref_path(ref),
			    *alias = tunable_ref_alias_path(ref);
	char range[RANGE_SIZE];

	report_text(r, "id", "Tunable", id);
	report_text(r, "why", "What for", t->why);
	optional_text(r, "hazard", "Hazard", t->hazard);
	report_text(r, "scope", "Scope", tunable_scope_name(t->scope));
	optional_text(r, "path", t->scope == SCOPE_BOOT ? "Parameter" : "File", path);
	optional_text(r, "alias_path", "Also", alias);
	report_text(r, "kind", NULL, value_kind_name(t->kind));
	report_text(r, "unit", NULL, unit_or_null(t->unit));
	report_text(r, "range", "Range", tunable_range_text(t, range));
	report_boolean(r, "auto", "Auto", t->auto_rule != NULL);
	optional_text(r, "since", "Since Linux", t->since);
	optional_text(r, "needs", "Needs", t->needs);
	optional_text(r, "linked", "Other form", t->linked);
	report_text(r, "compare", NULL, comparison_name(t->compare));
	report_text(r, "effect_check", "Checked by", effect_check_name(t->effect));
	optional_text(r, "saving", "Saving", saving_model_name(t->saving));
	optional_text(r, "doc", "See", t->doc);
}

static void add_value(struct report *r, const char *name, const char *title, const struct tunable *t, const char *value)
{
	_cleanup_free_ char *text = NULL;

	/* JSON has the canonical value, which the unit beside it explains. */
	report_text(r, name, NULL, value);
	if (!value)
		return;
	text = tunable_value_text(t, value);
	if (text)
		report_text_only(r, title, text);
}

static void add_state(struct report *r, const struct tunable_ref *ref, const struct step *step, const char *current)
{
	_cleanup_free_ char *path = tunable_ref_path(ref);

	if (step && step->current)
		current = step->current;
	add_value(r, "current", "Now", ref->tunable, current);
	/* A line that is missing would leave people to wonder whether it was looked for. */
	if (!current && path && !strchr(path, '{') && ref->tunable->scope != SCOPE_BOOT)
		report_text_only(r, "Now", "not there, or not to be read, on this machine");
	add_value(r, "wanted", "Wanted", ref->tunable, step ? step->wanted : NULL);
	report_text(r, "outcome", NULL, step ? outcome_name(step->outcome) : NULL);
	if (step)
		report_text_only(r, "State", step_state_name(step));
	optional_text(r, "reason", "Reason", step ? step->reason : NULL);
}

enum {
	SETTING_COLUMN_FILE,
	SETTING_COLUMN_LINE,
	SETTING_COLUMN_VALUE,
	SETTING_COLUMN_OPTIONAL,
	SETTING_COLUMN_WINS,
	SETTING_COLUMN_WINS_TEXT,
	_SETTING_COLUMN_MAX,
};

static const struct column setting_columns[_SETTING_COLUMN_MAX] = {
	[SETTING_COLUMN_FILE] = { "file", "FILE", 0 },
	[SETTING_COLUMN_LINE] = { "line", "LINE", COLUMN_RIGHT },
	[SETTING_COLUMN_VALUE] = { "value", "VALUE", COLUMN_WRAP },
	[SETTING_COLUMN_OPTIONAL] = { "optional", "", COLUMN_JSON_ONLY },
	[SETTING_COLUMN_WINS] = { "wins", "", COLUMN_JSON_ONLY },
	[SETTING_COLUMN_WINS_TEXT] = { "wins_text", "", COLUMN_TEXT_ONLY },
};

static void add_settings(struct report *r, const char *id, const struct policy *policy)
{
	struct report_table *t;

	t = report_add_table(r, "settings", "Set by", setting_columns, _SETTING_COLUMN_MAX);
	for (size_t i = 0; policy && id && i < policy->n_settings; i++) {
		const struct setting *s = &policy->settings[i];

		if (!streq(s->id, id))
			continue;
		report_row(t);
		report_cell_text(t, SETTING_COLUMN_FILE, policy->files[s->file].path);
		report_cell_number(t, SETTING_COLUMN_LINE, s->line);
		report_cell_text(t, SETTING_COLUMN_VALUE, s->text);
		report_cell_boolean(t, SETTING_COLUMN_OPTIONAL, s->optional);
		report_cell_boolean(t, SETTING_COLUMN_WINS, s->wins);
		report_cell_text(t, SETTING_COLUMN_WINS_TEXT, s->wins ? "wins" : "overridden");
	}
}

enum {
	WRITER_COLUMN_TEXT,
	_WRITER_COLUMN_MAX,
};

static const struct column writer_columns[_WRITER_COLUMN_MAX] = {
	[WRITER_COLUMN_TEXT] = { "text", "WHERE AND WHAT", COLUMN_WRAP },
};

/* One fact holds all writers of a key, "; " between them. */
static void add_writers_of(struct report_table *t, const struct facts *facts, const char *key)
{
	_cleanup_free_ char *name = key ? xasprintf("writers.%s", key) : NULL, *all = NULL;
	const char *word = name ? facts_word(facts, name) : NULL;
	char *rest, *next;

	if (!word)
		return;
	all = strdup(word);
	for (rest = all; rest; rest = next) {
		next = strstr(rest, "; ");
		if (next) {
			*next = '\0';
			next += strlen("; ");
		}
		report_row(t);
		report_cell_text(t, WRITER_COLUMN_TEXT, rest);
	}
}

/* Other programs know a file below /proc/sys by its name as a sysctl, one below /sys by its path. */
static void add_writers_of_path(struct report_table *t, const struct facts *facts, const char *path)
{
	const char *below = path ? startswith(path, "/proc/sys/") : NULL;
	_cleanup_free_ char *key = below ? strdup(below) : NULL;

	if (key)
		sysctl_path_to_key(key);
	add_writers_of(t, facts, key ?: path);
}

static void add_writers(struct report *r, const struct tunable_ref *ref, const char *id, const struct facts *facts)
{
	_cleanup_free_ char *path = tunable_ref_path(ref), *alias = tunable_ref_alias_path(ref);
	bool is_sysctl = path && startswith(path, "/proc/sys/");
	struct report_table *t;

	t = report_add_table(r, "writers", "Other programs that set it", writer_columns, _WRITER_COLUMN_MAX);
	add_writers_of_path(t, facts, path);
	add_writers_of_path(t, facts, alias);
	if (!is_sysctl)
		add_writers_of(t, facts, id);
}

struct report *report_explain(const struct tunable_ref *ref, const struct policy *policy, const struct plan *plan,
			      const struct facts *facts, const char *current)
{
	_cleanup_free_ char *id = tunable_ref_id(ref);
	const struct step *step = plan && id ? plan_find(plan, id) : NULL;
	struct report *r;

	if (!id)
		return NULL;
	r = report_new("explain");
	add_description(r, ref);
	add_state(r, ref, step, current);
	add_settings(r, id, policy);
	add_writers(r, ref, id, facts);
	report_verdict(r, 0, "known");
	return r;
}
