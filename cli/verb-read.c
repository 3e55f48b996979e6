/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The verbs that look and write nothing, a few lines each. */
#include "base/clock.h"
#include "cli/engine.h"
#include "core/report-views.h"
#include "core/savings.h"
#include "core/verify.h"

int verb_facts(struct cli *cli, struct report **ret)
{
	_cleanup_(engine_clear) struct engine e = {};
	int r;

	r = engine_open(cli, &e);
	if (r < 0)
		return r;
	r = facts_probe(&e.facts, e.io, FACTS_ALL);
	if (r < 0)
		return cli_error(cli, r, "cannot probe the machine: %s", strerror(-r));
	if (e.io->live && e.facts.dirty_cache)
		(void)!facts_cache_save(&e.facts, e.io); /* the next run finds them out again, that is all */
	*ret = report_facts(&e.facts);
	return 0;
}

int verb_plan(struct cli *cli, struct report **ret)
{
	_cleanup_(engine_clear) struct engine e = {};
	int r;

	r = engine_open(cli, &e);
	if (r >= 0)
		r = engine_read_store(cli, &e);
	if (r >= 0)
		r = engine_load_plan(cli, &e);
	if (r < 0)
		return r;
	*ret = report_plan(e.plan);
	return 0;
}

/* Plan, undo record and what is on the machine now. */
static int compare(struct cli *cli, struct engine *e)
{
	int r;

	r = engine_open(cli, e);
	if (r >= 0)
		r = engine_load_plan(cli, e);
	if (r >= 0)
		r = engine_read_store(cli, e);
	if (r < 0)
		return r;
	r = verify_plan(e->plan, &e->facts, e->io, e->store);
	if (r < 0)
		return cli_error(cli, r, "cannot compare the machine with the policy: %s", strerror(-r));
	return 0;
}

int verb_verify(struct cli *cli, struct report **ret)
{
	_cleanup_(engine_clear) struct engine e = {};
	int r;

	r = compare(cli, &e);
	if (r < 0)
		return r;
	*ret = report_verify(e.plan);
	return 0;
}

int verb_status(struct cli *cli, struct report **ret)
{
	_cleanup_(savings_clear) struct savings savings = {};
	_cleanup_(engine_clear) struct engine e = {};
	int r;

	r = compare(cli, &e);
	if (r < 0)
		return r;
	r = savings_measure(&e.facts, e.io, false, &savings);
	if (r < 0)
		return cli_error(cli, r, "cannot reckon up the savings: %s", strerror(-r));
	*ret = report_status(e.plan, &savings, e.store, clock_usec(CLOCK_BOOTTIME) / USEC_PER_SEC);
	return 0;
}

int verb_savings(struct cli *cli, struct report **ret)
{
	_cleanup_(savings_clear) struct savings savings = {};
	_cleanup_(engine_clear) struct engine e = {};
	int r;

	r = engine_open(cli, &e);
	if (r < 0)
		return r;
	r = savings_measure(&e.facts, e.io, cli->line.what_if, &savings);
	if (r < 0)
		return cli_error(cli, r, "cannot reckon up the savings: %s", strerror(-r));
	*ret = report_savings(&savings);
	return 0;
}

int verb_history(struct cli *cli, struct report **ret)
{
	_cleanup_(engine_clear) struct engine e = {};
	int r;

	r = engine_open(cli, &e);
	if (r >= 0)
		r = engine_read_store(cli, &e);
	if (r < 0)
		return r;
	*ret = report_history(e.store);
	return 0;
}

int verb_list(struct cli *cli, struct report **ret)
{
	*ret = report_list();
	return 0;
}
