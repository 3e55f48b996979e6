/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/cli.h"

int verb_confirm(struct cli *cli, struct report **ret)
{
	_cleanup_(engine_clear) struct engine e = {};
	unsigned number;
	int r = cli_open_engine(cli, &e);

	return r < 0 ? r : engine_confirm(&e, &number, ret);
}

int verb_rollback(struct cli *cli, struct report **ret)
{
	_cleanup_(engine_clear) struct engine e = {};
	int r = cli_open_engine(cli, &e);

	if (r >= 0)
		r = engine_rollback(&e, cli->line.all, NULL, ret);
	if (r >= 0)
		cli_tell_root(cli, &e, *ret);
	return r;
}
