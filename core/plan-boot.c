/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Kernel parameters: in effect already, or what has to be done to the command line for them. */
#include "base/number.h"
#include "base/strutil.h"
#include "core/cmdline.h"
#include "core/plan-internal.h"

#define CMDLINE "/proc/cmdline"

static bool boot_effect_is_there(struct step *step, struct kernel_io *io, const char *path, const char *expected)
{
	const struct tunable *t = step->ref.tunable;
	_cleanup_(value_clear) struct value now = {}, want = {};
	_cleanup_free_ char *text = NULL;
	enum outcome outcome;

	if (kernel_io_read_line(io, path, &text) < 0 || value_from_kernel(t->kind, t->style, text, &now) < 0)
		return false;
	free(step->current);
	step->current = TAKE_PTR(now.text);
	if (t->kind == VALUE_BOOLEAN && value_from_kernel(t->kind, t->style, expected, &want) >= 0)
		return now.number == want.number;
	outcome = tunable_compare(t, step->relation, expected, step->current);
	return outcome == OUTCOME_APPLIED || outcome == OUTCOME_ADJUSTED;
}

/* The line of this boot; without one it is empty. 0 or -ENOMEM. */
static int read_line(struct kernel_io *io, char **ret_text, struct cmdline *ret)
{
	_cleanup_free_ char *text = NULL;
	int r = kernel_io_read_line(io, CMDLINE, &text);

	if (r < 0 && r != -ENOMEM)
		text = strdup("");
	if (!text)
		return -ENOMEM;
	r = cmdline_parse(text, ret);
	if (r < 0)
		return r;
	*ret_text = TAKE_PTR(text);
	return 0;
}

static bool is_on_line(const struct step *step, const struct cmdline *line)
{
	const struct cmdline_param *param = cmdline_find(line, step->ref.tunable->path);

	return param && param->value && streq(param->value, step->wanted);
}

static const struct cmdline_pool *pool_of_size(const struct cmdline_pool *pools, size_t n, uint64_t size_bytes)
{
	for (size_t i = 0; i < n; i++)
		if (pools[i].size_bytes == size_bytes)
			return &pools[i];
	return NULL;
}

/* The tokens of a pool as they stand on the line. */
static char *pool_tokens(const char *text, const struct cmdline *line, const struct cmdline_pool *pool)
{
	const struct cmdline_param *size = pool->named_by < line->n ? &line->params[pool->named_by] : NULL,
				   *count = pool->is_counted ? &line->params[pool->counted_by] : NULL;

	return xasprintf("%.*s%s%.*s", size ? (int)size->length : 0, size ? text + size->offset : "",
			 size && count ? " " : "", count ? (int)count->length : 0, count ? text + count->offset : "");
}

static int pool_conflict(const struct step *step, const struct facts *facts, const char *text,
			 const struct cmdline *line, const char *tokens, char **ret)
{
	_cleanup_free_ struct cmdline_pool *now = NULL, *then = NULL;
	_cleanup_(cmdline_clear) struct cmdline longer = {};
	_cleanup_free_ char *longer_text = NULL;
	struct cmdline_hugetlb machine = {};
	const struct cmdline_pool *pool;
	size_t n_now, n_then;
	int64_t wanted;
	int r;

	if (facts_number(facts, FACT_HUGETLB_DEFAULT_SIZE, &machine.default_size_bytes) < 0)
		machine.default_size_bytes = 0;
	/* What belongs to init stays behind. */
	longer_text = xasprintf(
		"%.*s %s", line->n ? (int)(line->params[line->n - 1].offset + line->params[line->n - 1].length) : 0,
		text, tokens);
	if (!longer_text)
		return -ENOMEM;
	r = cmdline_parse(longer_text, &longer);
	if (r >= 0)
		r = cmdline_pools(line, &machine, &now, &n_now);
	if (r >= 0)
		r = cmdline_pools(&longer, &machine, &then, &n_then);
	if (r < 0)
		return r;
	pool = pool_of_size(then, n_then, step->ref.size_bytes);
	if (pool && pool->is_counted && parse_i64(step->wanted, &wanted) >= 0 && pool->pages == (uint64_t)wanted)
		return 0;
	pool = pool_of_size(now, n_now, step->ref.size_bytes);
	if (!pool)
		return 0;
	*ret = pool_tokens(text, line, pool);
	return *ret ? 0 : -ENOMEM;
}

/*
 * What is on the line already and would keep the tokens from their effect if they were added behind it: the kernel takes the
 * first pair of a size and the first default size, of most others the last one.  *ret stays NULL where there is nothing.
 */
static int find_conflict(const struct step *step, const struct facts *facts, const char *text,
			 const struct cmdline *line, const char *tokens, char **ret)
{
	const char *name = step->ref.tunable->path;
	const struct cmdline_param *param;

	if (step->ref.size_bytes)
		return pool_conflict(step, facts, text, line, tokens, ret);
	param = cmdline_repeat(name) == CMDLINE_FIRST ? cmdline_find(line, name) : NULL;
	if (!param)
		return 0;
	*ret = strndup(text + param->offset, param->length);
	return *ret ? 0 : -ENOMEM;
}

static int settle_pending(struct step *step, const struct facts *facts, const char *text, const struct cmdline *line)
{
	_cleanup_free_ char *tokens = tunable_boot_token(&step->ref, step->wanted), *conflict = NULL;
	int r;

	if (!tokens)
		return -ENOMEM;
	r = find_conflict(step, facts, text, line, tokens, &conflict);
	if (r < 0)
		return r;
	step->differs = true;
	return step_settle(
		step, STEP_KEEP, OUTCOME_PENDING_REBOOT,
		conflict
			? xasprintf(
				  "the kernel command line has \"%s\", which comes first and counts: put \"%s\" in its "
				  "place, then reboot",
				  conflict, tokens)
			: xasprintf("add \"%s\" to the kernel command line, then reboot", tokens));
}

int plan_settle_boot(struct step *step, const struct facts *facts, struct kernel_io *io)
{
	_cleanup_free_ char *path = NULL, *expected = NULL, *text = NULL;
	_cleanup_(cmdline_clear) struct cmdline line = {};
	bool supported;
	int r;

	r = read_line(io, &text, &line);
	if (r < 0)
		return r;
	r = tunable_boot_effect(&step->ref, step->wanted, &path, &expected);
	if (r == -ENOMEM)
		return r;
	if (r >= 0 && boot_effect_is_there(step, io, path, expected))
		return step_settle(step, STEP_KEEP, OUTCOME_ALREADY, xasprintf("in effect: seen in %s", path));
	if (r < 0 && is_on_line(step, &line))
		return step_settle(step, STEP_KEEP, OUTCOME_ALREADY,
				   strdup("on the command line of this boot; no file shows its effect"));
	/* A kernel without HVO takes the parameter and does nothing: no reboot would help. */
	if (streq(step->id, "boot.hugetlb_free_vmemmap") && streq(step->wanted, "1") &&
	    facts_boolean(facts, FACT_HVO_SUPPORTED, &supported) >= 0 && !supported)
		return step_settle(step, STEP_REFUSE, OUTCOME_UNSUPPORTED, plan_why_no_hvo(facts));
	return settle_pending(step, facts, text, &line);
}
