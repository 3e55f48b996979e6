/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/report-views.h"

enum {
	FILE_COLUMN_PATH,
	FILE_COLUMN_STATE,
	FILE_COLUMN_SETTINGS,
	FILE_COLUMN_REASON,
	_FILE_COLUMN_MAX,
};

static const struct column file_columns[_FILE_COLUMN_MAX] = {
	[FILE_COLUMN_PATH] = { "path", "FILE", 0 },
	[FILE_COLUMN_STATE] = { "state", "STATE", 0 },
	[FILE_COLUMN_SETTINGS] = { "settings_count", "SETTINGS", COLUMN_RIGHT | COLUMN_DROPPABLE },
	[FILE_COLUMN_REASON] = { "reason", "REASON", COLUMN_WRAP },
};

/* Settings per file, counted once for all files; NULL on lack of memory. */
static size_t *count_settings(const struct policy *policy)
{
	size_t *n = calloc(policy->n_files + 1, sizeof(*n));

	for (size_t i = 0; n && i < policy->n_settings; i++)
		n[policy->settings[i].file]++;
	return n;
}

static const char *file_state(const struct policy_file *f)
{
	if (f->masked_by)
		return "hidden";
	if (f->masked)
		return "masked";
	if (f->matched)
		return "read";
	return f->match_reason ? "not-matched" : "not-read";
}

static int add_files(struct report_table *t, const struct policy *policy)
{
	_cleanup_free_ size_t *n_settings = count_settings(policy);

	if (!n_settings)
		return -ENOMEM;
	for (size_t i = 0; i < policy->n_files; i++) {
		const struct policy_file *f = &policy->files[i];

		report_row(t);
		report_cell_text(t, FILE_COLUMN_PATH, f->path);
		report_cell_text(t, FILE_COLUMN_STATE, file_state(f));
		report_cell_number(t, FILE_COLUMN_SETTINGS, n_settings[i]);
		report_cell_text(t, FILE_COLUMN_REASON, f->masked_by ?: f->match_reason);
	}
	return 0;
}

struct report *report_check(struct policy *const *policies, size_t n)
{
	struct report *r = report_new("check");
	struct report_table *t = report_add_table(r, "files", NULL, file_columns, _FILE_COLUMN_MAX);

	for (size_t i = 0; i < n; i++) {
		if (add_files(t, policies[i]) < 0) {
			report_free(r);
			return NULL;
		}
	}
	report_verdict(r, 0, "ok");
	return r;
}

struct report *report_error(const char *verb)
{
	struct report *r = report_new("error");

	report_text(r, "verb", NULL, verb);
	report_verdict(r, 1, "error");
	return r;
}

struct report *report_export(const char *format, const char *text)
{
	struct report *r = report_new("export");

	report_text(r, "format", NULL, format);
	report_text(r, "text", NULL, text);
	while (*text) {
		size_t n = strcspn(text, "\n");

		report_line(r, "%.*s", (int)n, text);
		text += n + (text[n] == '\n');
	}
	report_verdict(r, 0, "known");
	return r;
}
