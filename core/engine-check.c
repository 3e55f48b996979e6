/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/engine.h"
#include "core/report-views.h"

struct policies {
	struct policy **items;
	size_t n;
};

static void policies_clear(struct policies *p)
{
	for (size_t i = 0; i < p->n; i++)
		policy_free(p->items[i]);
	free(p->items);
}

/* One policy, without a machine: each [Match] is taken as true. NULL: the installed one. */
static int load(struct engine *e, const char *file, struct policies *p)
{
	size_t errors_before = e->diags->n_errors;
	int r;

	r = policy_load(e->root_fd, file, NULL, NULL, false, e->diags, &p->items[p->n]);
	if (r >= 0) {
		p->n++;
		return 0;
	}
	if (e->diags->n_errors == errors_before)
		diag_error(e->diags, r, "%s: %s", file ?: "policy", strerror(-r));
	/* The other files are looked at all the same. */
	return r == -ENOMEM ? r : 0;
}

/* The messages stand apart from the table, on standard error. */
static void add_summary(struct report *r, const struct policies *p, const struct diag_list *diags)
{
	size_t errors = diags->n_errors, warnings = diags->n_warnings, n_files = 0;

	for (size_t i = 0; i < p->n; i++)
		n_files += p->items[i]->n_files;
	if (errors > 0)
		report_line(r, "%zu %s, %zu %s: a policy with mistakes is not applied", errors,
			    errors == 1 ? "mistake" : "mistakes", warnings, warnings == 1 ? "warning" : "warnings");
	else if (warnings > 0)
		report_line(r, "no mistakes, %zu %s", warnings, warnings == 1 ? "warning" : "warnings");
	else if (n_files > 0)
		report_line(r, "no mistakes");
	else
		report_line(r, "there is no policy file to look at");
}

int engine_check(struct engine *e, char *const *files, size_t n_files, struct report **ret)
{
	_cleanup_(policies_clear) struct policies p = {};
	int r = 0;

	p.items = calloc(n_files + 1, sizeof(struct policy *));
	if (!p.items)
		return diag_error(e->diags, -ENOMEM, "out of memory");
	if (n_files == 0)
		r = load(e, e->policy_file, &p);
	for (size_t i = 0; r >= 0 && i < n_files; i++)
		r = load(e, files[i], &p);
	if (r < 0)
		return r;
	*ret = report_check(p.items, p.n);
	add_summary(*ret, &p, e->diags);
	if (e->diags->n_errors > 0)
		report_verdict(*ret, 1, "errors");
	return 0;
}
