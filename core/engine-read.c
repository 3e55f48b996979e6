/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The verbs that look and write nothing, a few lines each. */
#include "base/clock.h"
#include "core/engine-internal.h"
#include "core/report-metrics.h"
#include "core/report-views.h"
#include "core/verify.h"

int engine_facts(struct engine *e, struct report **ret)
{
	int r = facts_probe(&e->facts, e->io, FACTS_ALL);

	if (r < 0)
		return diag_error(e->diags, r, "cannot probe the machine: %s", strerror(-r));
	if (e->io->live && e->facts.dirty_cache)
		(void)!facts_cache_save(&e->facts, e->io); /* the next run finds them out again, that is all */
	*ret = report_facts(&e->facts);
	return 0;
}

int engine_plan(struct engine *e, struct report **ret)
{
	int r = engine_read_store(e);

	if (r >= 0)
		r = engine_load_plan(e);
	if (r < 0)
		return r;
	*ret = report_plan(e->plan);
	return 0;
}

/* Plan, undo record and what is on the machine now. */
static int compare(struct engine *e)
{
	int r = engine_load_plan(e);

	if (r >= 0)
		r = engine_read_store(e);
	if (r < 0)
		return r;
	r = verify_plan(e->plan, &e->facts, e->io, e->store);
	if (r < 0)
		return diag_error(e->diags, r, "cannot compare the machine with the policy: %s", strerror(-r));
	return 0;
}

int engine_verify(struct engine *e, struct report **ret)
{
	int r = compare(e);

	if (r < 0)
		return r;
	*ret = report_verify(e->plan);
	return 0;
}

/* What the kernel says now of what a running mmoptd saw earlier. */
static int look_around(struct engine *e, struct status_context *ret)
{
	_cleanup_free_ char *vmstat = NULL;
	int r;

	*ret = (struct status_context){ .now_sec = clock_usec(CLOCK_BOOTTIME) / USEC_PER_SEC, .live = &e->live };
	r = facts_probe(&e->facts, e->io, FACTS_MEMORY);
	if (r < 0)
		return diag_error(e->diags, r, "cannot probe the machine: %s", strerror(-r));
	facts_number(&e->facts, FACT_MEMORY_TOTAL, &ret->memory_bytes);
	ret->zero_page_allocs_known = e->live.zero_page_held &&
				      kernel_io_read(e->io, "/proc/vmstat", &vmstat, NULL) >= 0 &&
				      keyed_u64(vmstat, "thp_zero_page_alloc", &ret->zero_page_allocs) >= 0;
	return 0;
}

int engine_status(struct engine *e, struct report **ret)
{
	_cleanup_(savings_clear) struct savings savings = {};
	struct status_context context;
	int r = compare(e);

	if (r >= 0)
		r = engine_measure(e, false, &savings);
	if (r >= 0)
		r = look_around(e, &context);
	if (r < 0)
		return r;
	*ret = report_status(e->plan, &savings, e->store, &context);
	return 0;
}

int engine_metrics(struct engine *e, char **ret)
{
	_cleanup_(savings_clear) struct savings savings = {};
	struct metrics_input input;
	int r = compare(e);

	if (r >= 0)
		r = engine_measure(e, false, &savings);
	if (r < 0)
		return r;
	input = (struct metrics_input){ e->plan, &savings, e->store, &e->live };
	r = metrics_render(&input, ret);
	return r < 0 ? diag_error(e->diags, r, "out of memory") : 0;
}

int engine_savings(struct engine *e, bool what_if, struct report **ret)
{
	_cleanup_(savings_clear) struct savings savings = {};
	int r = engine_measure(e, what_if, &savings);

	if (r < 0)
		return r;
	*ret = report_savings(&savings);
	return 0;
}

int engine_history(struct engine *e, struct report **ret)
{
	int r = engine_read_store(e);

	if (r < 0)
		return r;
	*ret = report_history(e->store);
	return 0;
}

int engine_export(struct engine *e, enum export_format format, bool resolve, struct report **ret)
{
	_cleanup_free_ char *text = NULL;
	int r = resolve ? engine_load_plan(e) : engine_load_policy(e);

	if (r < 0)
		return r;
	r = export_policy(e->policy, resolve ? e->plan : NULL, format, e->diags, &text);
	if (r < 0)
		return diag_error(e->diags, r, "out of memory");
	*ret = report_export(export_format_names[format], text);
	return 0;
}

int engine_list(struct engine *e, struct report **ret)
{
	*ret = report_list();
	return 0;
}
