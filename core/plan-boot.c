/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Kernel parameters: in effect already, or what has to be done to the command line for them. */
#include "base/number.h"
#include "base/strutil.h"
#include "core/cmdline.h"
#include "core/plan-internal.h"

#define CMDLINE "/proc/cmdline"
#define POOLS "/sys/kernel/mm/hugepages"

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

/* The command line of this boot, and what the kernel made of its huge page parameters. */
struct line {
	char *text;
	struct cmdline params;
	uint64_t *sizes_bytes;
	struct cmdline_hugetlb machine;
	struct cmdline_pool *pools;
	size_t n_pools;
};

static void line_clear(struct line *l)
{
	free(l->text);
	cmdline_clear(&l->params);
	free(l->sizes_bytes);
	free(l->pools);
}

static int line_read(const struct facts *facts, struct kernel_io *io, struct line *l)
{
	int r = read_line(io, &l->text, &l->params);

	if (r < 0)
		return r;
	if (facts_number(facts, FACT_HUGETLB_DEFAULT_SIZE, &l->machine.default_size_bytes) < 0)
		l->machine.default_size_bytes = 0;
	/* A kernel without huge pages has no such directory. */
	r = list_page_sizes(io, POOLS, &l->sizes_bytes, &l->machine.n_sizes);
	if (r == -ENOMEM)
		return r;
	l->machine.sizes_bytes = l->sizes_bytes;
	return cmdline_pools(&l->params, &l->machine, &l->pools, &l->n_pools);
}

static const struct cmdline_pool *pool_of_size(const struct cmdline_pool *pools, size_t n, uint64_t size_bytes)
{
	for (size_t i = 0; i < n; i++)
		if (pools[i].size_bytes == size_bytes)
			return &pools[i];
	return NULL;
}

static bool yields(const struct step *step, const struct cmdline_pool *pools, size_t n)
{
	const struct cmdline_pool *pool = pool_of_size(pools, n, step->ref.size_bytes);
	int64_t wanted;

	return pool && pool->is_counted && parse_i64(step->wanted, &wanted) >= 0 && pool->pages == (uint64_t)wanted;
}

/* Parameters that are a size: default_hugepagesz=2048k is 2M. */
static bool is_size(const struct tunable *t)
{
	return cmdline_repeat(t->path) == CMDLINE_FIRST;
}

static bool same_value(const struct tunable *t, const char *on_line, const char *wanted)
{
	bool a, b;

	if (t->kind == VALUE_BOOLEAN && parse_boolean(on_line, &a) >= 0 && parse_boolean(wanted, &b) >= 0)
		return a == b;
	if (is_size(t))
		return cmdline_size(on_line) == cmdline_size(wanted);
	return streq(on_line, wanted);
}

static bool is_on_line(const struct step *step, const struct line *l)
{
	const struct cmdline_param *param;

	if (step->ref.size_bytes)
		return yields(step, l->pools, l->n_pools);
	param = cmdline_find(&l->params, step->ref.tunable->path);
	return param && param->value && same_value(step->ref.tunable, param->value, step->wanted);
}

static int settle_pending(struct step *step, const struct line *l, const char *path)
{
	_cleanup_free_ char *tokens = tunable_boot_token(&step->ref, step->wanted);

	if (!tokens)
		return -ENOMEM;
	step->differs = true;
	step->is_on_line = is_on_line(step, l);
	if (step->is_on_line)
		return step_settle(
			step, STEP_KEEP, OUTCOME_PENDING_REBOOT,
			xasprintf("\"%s\" is on the kernel command line of this boot, but %s shows %s: the kernel did "
				  "not do it, or somebody changed it since",
				  tokens, path, step->current ?: "nothing"));
	return step_settle(step, STEP_KEEP, OUTCOME_PENDING_REBOOT,
			   xasprintf("add \"%s\" to the kernel command line, then reboot", tokens));
}

int plan_settle_boot(struct step *step, const struct facts *facts, struct kernel_io *io)
{
	_cleanup_free_ char *path = NULL, *expected = NULL;
	_cleanup_(line_clear) struct line l = {};
	bool supported;
	int r;

	r = line_read(facts, io, &l);
	if (r < 0)
		return r;
	r = tunable_boot_effect(&step->ref, step->wanted, &path, &expected);
	if (r == -ENOMEM)
		return r;
	/* A pool that grew at run time is none of the boot. */
	if (r >= 0 && boot_effect_is_there(step, io, path, expected) && (!step->ref.size_bytes || is_on_line(step, &l)))
		return step_settle(step, STEP_KEEP, OUTCOME_ALREADY, xasprintf("in effect: seen in %s", path));
	if (r < 0 && is_on_line(step, &l))
		return step_settle(step, STEP_KEEP, OUTCOME_ALREADY,
				   strdup("on the command line of this boot; no file shows its effect"));
	/* A kernel without HVO takes the parameter and does nothing: no reboot would help. */
	if (streq(step->id, "boot.hugetlb_free_vmemmap") && streq(step->wanted, "1") &&
	    facts_boolean(facts, FACT_HVO_SUPPORTED, &supported) >= 0 && !supported)
		return step_settle(step, STEP_REFUSE, OUTCOME_UNSUPPORTED, plan_why_no_hvo(facts));
	return settle_pending(step, &l, path);
}

static bool is_to_be_added(const struct step *step)
{
	return step->ref.tunable->scope == SCOPE_BOOT && step->outcome == OUTCOME_PENDING_REBOOT && !step->is_on_line;
}

static bool has_something_to_add(const struct plan *plan)
{
	for (size_t i = 0; i < plan->n_steps; i++)
		if (is_to_be_added(&plan->steps[i]))
			return true;
	return false;
}

/* The line with all that is to be added; what belongs to init stays behind. The caller frees; NULL on lack of memory. */
static char *longer_line(const struct plan *plan, const struct line *l)
{
	const struct cmdline_param *last = l->params.n ? &l->params.params[l->params.n - 1] : NULL;
	_cleanup_free_ char *text = strndup(l->text, last ? last->offset + last->length : 0);

	for (size_t i = 0; text && i < plan->n_steps; i++) {
		const struct step *step = &plan->steps[i];
		_cleanup_free_ char *tokens = NULL;
		char *longer;

		if (!is_to_be_added(step))
			continue;
		tokens = tunable_boot_token(&step->ref, step->wanted);
		longer = tokens ? xasprintf("%s %s", text, tokens) : NULL;
		if (!longer)
			return NULL;
		free(text);
		text = longer;
	}
	return TAKE_PTR(text);
}

static char *token_text(const struct line *l, size_t param)
{
	return strndup(l->text + l->params.params[param].offset, l->params.params[param].length);
}

/* conflict is taken over: what is on the line; its place is for "tokens". */
static int set_conflict(struct step *step, char *conflict, const char *tokens)
{
	char *reason;

	if (!conflict || !tokens) {
		free(conflict);
		return -ENOMEM;
	}
	free(step->conflict);
	step->conflict = conflict;
	reason = xasprintf(
		"the kernel command line has \"%s\", which comes first and counts: put \"%s\" in its place, then reboot",
		conflict, tokens);
	return step_settle(step, STEP_KEEP, OUTCOME_PENDING_REBOOT, reason);
}

/* A count that names no size goes to the default size: a new one takes it along. */
static int sizeless_conflict(struct step *step, const struct line *l, const struct cmdline_pool *pool)
{
	_cleanup_free_ char *tokens = tunable_boot_token(&step->ref, step->wanted);
	char size[24], *reason;

	step->conflict = token_text(l, pool->counted_by);
	if (!step->conflict || !tokens)
		return -ENOMEM;
	reason = xasprintf(
		"the kernel command line has \"%s\" without a size before it, which would go to another size then: put "
		"\"hugepagesz=%s %s\" in its place, add \"%s\", then reboot",
		step->conflict, format_size_exact(pool->size_bytes, size), step->conflict, tokens);
	return step_settle(step, STEP_KEEP, OUTCOME_PENDING_REBOOT, reason);
}

static const struct cmdline_pool *sizeless_pool(const struct line *l)
{
	for (size_t i = 0; i < l->n_pools; i++)
		if (l->pools[i].is_counted && l->pools[i].named_by == SIZE_MAX && l->pools[i].size_bytes)
			return &l->pools[i];
	return NULL;
}

static int pool_conflict(struct step *step, const struct line *l)
{
	const struct cmdline_pool *pool = pool_of_size(l->pools, l->n_pools, step->ref.size_bytes), *sizeless;
	_cleanup_free_ char *tokens = NULL, *size = NULL, *count = NULL;
	bool by_default, by_size;

	if (!pool) {
		sizeless = sizeless_pool(l);
		return sizeless ? sizeless_conflict(step, l, sizeless) : 0;
	}
	by_size =
		pool->named_by < l->params.n && cmdline_name_equal(l->params.params[pool->named_by].name, "hugepagesz");
	by_default = pool->named_by < l->params.n && !by_size;
	/* Of the default size the count alone has to change: its name may serve others. */
	tokens = by_default ? xasprintf("hugepages=%s", step->wanted) : tunable_boot_token(&step->ref, step->wanted);
	count = pool->is_counted ? token_text(l, pool->counted_by) : strdup("");
	/* A count before the size was taken for want of one: there it stands alone. */
	if (pool->is_counted && pool->counted_by < pool->named_by)
		by_size = false;
	size = by_size ? token_text(l, pool->named_by) : strdup("");
	if (!count || !size)
		return -ENOMEM;
	return set_conflict(step, xasprintf("%s%s%s", size, *size && *count ? " " : "", count), tokens);
}

/* Pools of sizes that nobody asks for must stay as they are. */
static bool another_pool_changes(const struct cmdline_pool *pool, const struct cmdline_pool *then, size_t n_then)
{
	const struct cmdline_pool *later = pool ? pool_of_size(then, n_then, pool->size_bytes) : NULL;

	return pool && (!later || later->pages != pool->pages);
}

static int check_step(struct step *step, const struct line *l, const struct cmdline_pool *then, size_t n_then)
{
	_cleanup_free_ char *tokens = NULL;
	const struct cmdline_param *param;

	if (step->ref.size_bytes)
		return yields(step, then, n_then) ? 0 : pool_conflict(step, l);
	if (!is_size(step->ref.tunable))
		return 0;
	param = cmdline_find(&l->params, step->ref.tunable->path);
	if (!param)
		return another_pool_changes(sizeless_pool(l), then, n_then)
			       ? sizeless_conflict(step, l, sizeless_pool(l))
			       : 0;
	tokens = tunable_boot_token(&step->ref, step->wanted);
	return set_conflict(step, strndup(l->text + param->offset, param->length), tokens);
}

int plan_check_boot_line(struct plan *plan, const struct facts *facts, struct kernel_io *io)
{
	_cleanup_free_ struct cmdline_pool *then = NULL;
	_cleanup_(cmdline_clear) struct cmdline longer = {};
	_cleanup_(line_clear) struct line l = {};
	_cleanup_free_ char *text = NULL;
	size_t n_then;
	int r;

	if (!has_something_to_add(plan))
		return 0;
	r = line_read(facts, io, &l);
	if (r < 0)
		return r;
	text = longer_line(plan, &l);
	r = text ? cmdline_parse(text, &longer) : -ENOMEM;
	if (r >= 0)
		r = cmdline_pools(&longer, &l.machine, &then, &n_then);
	for (size_t i = 0; r >= 0 && i < plan->n_steps; i++)
		if (is_to_be_added(&plan->steps[i]))
			r = check_step(&plan->steps[i], &l, then, n_then);
	return r;
}
