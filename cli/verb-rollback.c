/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/engine.h"
#include "core/report-views.h"

static int open_store(struct cli *cli, struct engine *e, struct restore *ret_recovered)
{
	int r = engine_open(cli, e);

	if (r >= 0)
		r = engine_write_store(cli, e, ret_recovered);
	if (r < 0 && is_write_protected(r) && cli->diags.n_errors == 0)
		cli_error(cli, r, "the undo record in /run/mmopt cannot be written: %s", strerror(-r));
	return r;
}

int verb_confirm(struct cli *cli, struct report **ret)
{
	_cleanup_(restore_clear) struct restore recovered = {};
	_cleanup_(engine_clear) struct engine e = {};
	unsigned number;
	int r;

	r = open_store(cli, &e, &recovered);
	if (r < 0)
		return r;
	r = apply_confirm(e.store, &number);
	if (r == -ENOENT)
		return cli_error(cli, r, "nothing waits for a confirmation");
	if (r < 0)
		return cli_error(cli, r, "cannot write the confirmation: %s", strerror(-r));
	*ret = report_confirm(number);
	return 0;
}

int verb_rollback(struct cli *cli, struct report **ret)
{
	_cleanup_(restore_clear) struct restore recovered = {}, restore = {};
	_cleanup_(engine_clear) struct engine e = {};
	int r;

	r = open_store(cli, &e, &recovered);
	if (r < 0)
		return r;
	/* What a crash left behind was the last transaction: it has just been taken back. */
	if (recovered.n_transactions > 0 && !cli->line.all) {
		*ret = report_restore("rollback", &recovered);
		engine_tell_root(cli, &e, *ret);
		return 0;
	}
	r = apply_rollback(e.io, e.store, cli->line.all, &restore);
	if (r < 0)
		return cli_error(cli, r, "cannot take it back: %s", strerror(-r));
	*ret = report_restore("rollback", &restore);
	engine_tell_root(cli, &e, *ret);
	return 0;
}
