/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>
#include <time.h>

#include "base/number.h"
#include "base/strutil.h"
#include "core/apply-internal.h"

#define POOL_TIMEOUT_DEFAULT_USEC (30ULL * 1000 * 1000)
#define POOL_ROUNDS_MAX 8
/* Grown in parts, so that the deadline is looked at and progress can be shown. */
#define POOL_PART_BYTES (2ULL << 30)

static uint64_t now_usec(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/*
 * The kernel takes as many pages as it finds and calls that success, so each write is read back.  A part that falls short is
 * tried again after compaction.  Compaction comes only then: on a machine that has just booted it would cost time and give nothing.
 */
static int grow(struct apply_context *c, struct step *step, int64_t before, int64_t wanted, int *ret_write_error,
		bool *ret_out_of_time)
{
	uint64_t size = step->ref.size_bytes ?: 2ULL << 20;
	int64_t part = (int64_t)MAX(POOL_PART_BYTES / size, 1ULL), have = before;

	if (!c->pool_deadline_usec)
		c->pool_deadline_usec = now_usec() + (c->options->pool_timeout_usec ?: POOL_TIMEOUT_DEFAULT_USEC);
	*ret_write_error = 0;
	*ret_out_of_time = false;
	for (unsigned short_rounds = 0; have < wanted && short_rounds < POOL_ROUNDS_MAX;) {
		int64_t target = MIN(wanted, have + part), got;
		char text[24];
		int r;

		snprintf(text, sizeof(text), "%" PRId64, target);
		r = apply_write(c, step, text, ret_write_error);
		if (r < 0)
			return r;
		if (*ret_write_error < 0 || !step->actual || parse_i64(step->actual, &got) < 0)
			return 0;
		if (got < target) {
			short_rounds++;
			/* No gain after compaction either: what is missing is not there. */
			if (short_rounds > 1 && got <= have)
				return 0;
			if (now_usec() >= c->pool_deadline_usec)
				return 0;
			kernel_io_write(c->io, "/proc/sys/vm/compact_memory", "1");
		}
		have = got;
		if (c->options->progress && have < wanted)
			c->options->progress(c->options->userdata, c->plan, (size_t)(step - c->plan->steps));
		if (have < wanted && now_usec() >= c->pool_deadline_usec) {
			*ret_out_of_time = true;
			return 0;
		}
	}
	return 0;
}

/* Huge pages in use stay, as surplus pages, although the write that took them out of the pool succeeded. */
static int shrink(struct apply_context *c, struct step *step, int *ret_write_error)
{
	return apply_write(c, step, step->wanted, ret_write_error);
}

static char *where(const struct step *step)
{
	char size[24];

	if (step->ref.node >= 0)
		return xasprintf("of %s pages on node%d", format_size_exact(step->ref.size_bytes, size),
				 step->ref.node);
	return xasprintf("of %s pages", format_size_exact(step->ref.size_bytes, size));
}

/* Which node fell short: the global count does not tell. */
static char *per_node(struct apply_context *c, const struct step *step)
{
	_cleanup_(strv_freep) char **nodes = NULL;
	_cleanup_free_ char *text = NULL;

	if (step->ref.node >= 0 || kernel_io_list(c->io, "/sys/devices/system/node", &nodes) < 0)
		return strdup("");
	for (char **node = nodes; node && *node; node++) {
		_cleanup_free_ char *path = NULL, *old = text;
		uint64_t n;

		text = NULL;
		if (startswith(*node, "node") && strspn(*node + 4, "0123456789") == strlen(*node + 4) && (*node)[4])
			path = xasprintf("/sys/devices/system/node/%s/hugepages/hugepages-%" PRIu64 "kB/nr_hugepages",
					 *node, step->ref.size_bytes / 1024);
		if (path && kernel_io_read_u64(c->io, path, &n) >= 0)
			text = xasprintf("%s%s%s %" PRIu64, old ?: "", old ? ", " : "", *node, n);
		else
			text = TAKE_PTR(old);
	}
	return text ? xasprintf(" (%s)", text) : strdup("");
}

static int judge(struct apply_context *c, struct step *step, int64_t before, int64_t wanted, bool out_of_time)
{
	_cleanup_free_ char *what = where(step), *nodes = per_node(c, step);
	int64_t got;

	if (!what || !nodes)
		return -ENOMEM;
	if (!step->actual || parse_i64(step->actual, &got) < 0) {
		step->outcome = OUTCOME_REFUSED;
		return step_reason(step, "the pool %s cannot be read back", what);
	}
	if (got == wanted) {
		step->outcome = OUTCOME_APPLIED;
		step->differs = false;
		return 0;
	}
	step->outcome = OUTCOME_PARTIAL;
	if (wanted < before)
		return step_reason(step, "%" PRId64 " instead of %" PRId64 " %s%s: pages in use stay", got, wanted,
				   what, nodes);
	if (got > wanted) {
		step->outcome = OUTCOME_ADJUSTED;
		step->differs = false;
		return step_reason(step, "%" PRId64 " instead of %" PRId64 " %s%s", got, wanted, what, nodes);
	}
	return step_reason(step, "partial %" PRId64 "/%" PRId64 " %s%s: %s", got, wanted, what, nodes,
			   out_of_time ? "the time was up while pages still came (--pool-timeout)"
				       : "no more free memory in one piece");
}

int apply_pool(struct apply_context *c, struct step *step)
{
	int64_t before, wanted;
	bool settled = false, out_of_time = false;
	int write_error = 0, r;

	r = apply_look(c, step);
	if (r >= 0)
		r = apply_settled_meanwhile(c, step, &settled);
	if (r < 0 || settled)
		return r;
	if (parse_i64(c->present, &before) < 0 || parse_i64(step->wanted, &wanted) < 0)
		return -EINVAL;
	r = undo_before(c->store, step->id, step->path, c->present, step->wanted);
	if (r < 0)
		return r;
	if (wanted > before)
		r = grow(c, step, before, wanted, &write_error, &out_of_time);
	else
		r = shrink(c, step, &write_error);
	if (r < 0)
		return r;
	if (write_error < 0)
		return apply_refused(c, step, write_error);
	return judge(c, step, before, wanted, out_of_time);
}
