/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>

#include "cli/cli.h"
#include "core/policy.h"
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
static int load(struct cli *cli, int root_fd, const char *file, struct policies *p)
{
	size_t errors_before = cli->diags.n_errors;
	int r;

	r = policy_load(root_fd, file, NULL, NULL, false, &cli->diags, &p->items[p->n]);
	if (r >= 0) {
		p->n++;
		return 0;
	}
	if (cli->diags.n_errors == errors_before)
		cli_error(cli, r, "%s: %s", file ?: "policy", strerror(-r));
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

int verb_check(struct cli *cli, struct report **ret)
{
	const char *root = cli->line.root ?: "/";
	_cleanup_(policies_clear) struct policies p = {};
	_cleanup_close_ int root_fd = -EBADF;
	int r = 0;

	root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		return cli_error(cli, -errno, "cannot open the root directory %s: %s", root, strerror(errno));
	p.items = calloc(cli->line.n_arguments + 1, sizeof(struct policy *));
	if (!p.items)
		return cli_error(cli, -ENOMEM, "out of memory");
	if (cli->line.n_arguments == 0)
		r = load(cli, root_fd, cli->line.policy, &p);
	for (size_t i = 0; r >= 0 && i < cli->line.n_arguments; i++)
		r = load(cli, root_fd, cli->line.arguments[i], &p);
	if (r < 0)
		return r;
	*ret = report_check(p.items, p.n);
	add_summary(*ret, &p, &cli->diags);
	if (cli->diags.n_errors > 0)
		report_verdict(*ret, 1, "errors");
	return 0;
}
