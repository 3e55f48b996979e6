/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The verbs that look and write nothing. */
#include "cli/cli.h"

static int run(struct cli *cli, int (*view)(struct engine *e, struct report **ret), struct report **ret)
{
	_cleanup_(engine_clear) struct engine e = {};
	int r = cli_open_engine(cli, &e);

	return r < 0 ? r : view(&e, ret);
}

int verb_status(struct cli *cli, struct report **ret)
{
	return run(cli, engine_status, ret);
}

int verb_facts(struct cli *cli, struct report **ret)
{
	return run(cli, engine_facts, ret);
}

int verb_plan(struct cli *cli, struct report **ret)
{
	return run(cli, engine_plan, ret);
}

int verb_verify(struct cli *cli, struct report **ret)
{
	return run(cli, engine_verify, ret);
}

int verb_history(struct cli *cli, struct report **ret)
{
	return run(cli, engine_history, ret);
}

int verb_savings(struct cli *cli, struct report **ret)
{
	_cleanup_(engine_clear) struct engine e = {};
	int r = cli_open_engine(cli, &e);

	return r < 0 ? r : engine_savings(&e, cli->line.what_if, ret);
}

int verb_explain(struct cli *cli, struct report **ret)
{
	_cleanup_(engine_clear) struct engine e = {};
	int r = cli_open_engine(cli, &e);

	return r < 0 ? r : engine_explain(&e, cli->line.arguments[0], ret);
}

int verb_boot(struct cli *cli, struct report **ret)
{
	return run(cli, engine_boot_status, ret);
}

int verb_export(struct cli *cli, struct report **ret)
{
	_cleanup_(engine_clear) struct engine e = {};
	int r = cli_open_engine(cli, &e);

	return r < 0 ? r : engine_export(&e, cli->line.format, cli->line.resolve, ret);
}

int verb_check(struct cli *cli, struct report **ret)
{
	_cleanup_(engine_clear) struct engine e = {};
	int r = cli_open_engine(cli, &e);

	return r < 0 ? r : engine_check(&e, cli->line.arguments, cli->line.n_arguments, ret);
}

/* Needs no machine. */
int verb_list(struct cli *cli, struct report **ret)
{
	return engine_list(NULL, ret);
}
