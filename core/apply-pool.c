/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>

#include "base/clock.h"
#include "base/number.h"
#include "base/strutil.h"
#include "core/apply-internal.h"

#define POOL_TIMEOUT_DEFAULT_USEC (30 * USEC_PER_SEC)
#define POOL_ROUNDS_MAX 8
/* Grown in parts, so that the deadline is looked at and progress can be shown. */
#define POOL_PART_BYTES (2ULL << 30)

/* Why a pool stopped growing short of what was wanted. */
enum stop {
	STOP_FRAGMENTED,
	STOP_TIME,
	STOP_FLOOR,
};

/*
 * Pages that can still be asked for without going below what must stay.  The plan has reckoned with memory as it was then; asking for
 * more than there is can call the OOM killer on kernels with HVO, so it is measured again before each part.
 */
static int64_t room_for_pages(struct apply_context *c, uint64_t page_bytes)
{
	_cleanup_free_ char *meminfo = NULL;
	uint64_t kib, floor = c->plan->memory_floor_bytes;

	if (!floor || kernel_io_read(c->io, "/proc/meminfo", &meminfo, NULL) < 0 ||
	    keyed_u64(meminfo, "MemAvailable", &kib) < 0)
		return INT64_MAX;
	return kib * 1024 > floor ? (int64_t)((kib * 1024 - floor) / page_bytes) : 0;
}

/*
 * The kernel takes as many pages as it finds and calls that success, so each write is read back.  A part that falls short is
 * tried again after compaction.  Compaction comes only then: on a machine that has just booted it would cost time and give nothing.
 */
static int grow(struct apply_context *c, struct step *step, int64_t before, int64_t wanted, int *ret_write_error,
		enum stop *ret_stop)
{
	uint64_t size = step->ref.size_bytes ?: 2ULL << 20;
	int64_t part = (int64_t)MAX(POOL_PART_BYTES / size, 1ULL), have = before;

	if (!c->pool_deadline_usec)
		c->pool_deadline_usec =
			clock_usec(CLOCK_MONOTONIC) + (c->options->pool_timeout_usec ?: POOL_TIMEOUT_DEFAULT_USEC);
	*ret_write_error = 0;
	*ret_stop = STOP_FRAGMENTED;
	for (unsigned short_rounds = 0; have < wanted && short_rounds < POOL_ROUNDS_MAX;) {
		int64_t asked = MIN(part, wanted - have), room = room_for_pages(c, size), got;
		char text[24];
		int r;

		asked = MIN(asked, room);
		if (asked <= 0) {
			*ret_stop = STOP_FLOOR;
			return 0;
		}
		snprintf(text, sizeof(text), "%" PRId64, have + asked);
		r = apply_write(c, step, text, ret_write_error);
		if (r < 0)
			return r;
		if (*ret_write_error < 0 || !step->actual || parse_i64(step->actual, &got) < 0)
			return 0;
		if (got < have + asked) {
			short_rounds++;
			/* No gain after compaction either: what is missing is not there. */
			if (short_rounds > 1 && got <= have)
				return 0;
			if (clock_usec(CLOCK_MONOTONIC) >= c->pool_deadline_usec)
				return 0;
			kernel_io_write(c->io, "/proc/sys/vm/compact_memory", "1");
		}
		have = got;
		if (c->options->progress && have < wanted)
			c->options->progress(c->options->userdata, c->plan, (size_t)(step - c->plan->steps));
		if (have < wanted && clock_usec(CLOCK_MONOTONIC) >= c->pool_deadline_usec) {
			*ret_stop = STOP_TIME;
			return 0;
		}
	}
	return 0;
}

static const char *why_stopped(enum stop stop)
{
	switch (stop) {
	case STOP_FRAGMENTED:
		break;
	case STOP_TIME:
		return "the time was up while pages still came (--pool-timeout)";
	case STOP_FLOOR:
		return "the rest of memory must stay ([Policy] MemoryFloor)";
	}
	return "no more free memory in one piece";
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

static int judge(struct apply_context *c, struct step *step, int64_t before, int64_t wanted, enum stop stop)
{
	_cleanup_free_ char *what = where(step), *nodes = per_node(c, step);
	int64_t got;

	if (!what || !nodes)
		return -ENOMEM;
	if (!step->actual && stop == STOP_FLOOR)
		step->actual = strdup(c->present);
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
			   why_stopped(stop));
}

int apply_pool(struct apply_context *c, struct step *step)
{
	int64_t before, wanted;
	enum stop stop = STOP_FRAGMENTED;
	bool settled = false;
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
		r = grow(c, step, before, wanted, &write_error, &stop);
	else
		r = shrink(c, step, &write_error);
	if (r < 0)
		return r;
	if (write_error < 0)
		return apply_refused(c, step, write_error);
	return judge(c, step, before, wanted, stop);
}
