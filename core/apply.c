/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>
#include <stdarg.h>

#include "base/clock.h"
#include "base/number.h"
#include "base/strutil.h"
#include "core/apply-internal.h"
#include "core/effect.h"
#include "core/plan-internal.h"
#include "core/savings.h"
#include "core/verify.h"

int step_reason(struct step *step, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0)
		return -ENOMEM;
	free(step->reason);
	step->reason = text;
	return 0;
}

static int read_actual(struct apply_context *c, struct step *step)
{
	char *text = NULL;
	int r = tunable_read(c->io, step->ref.tunable, step->path, &text);

	free(step->actual);
	step->actual = text;
	return r;
}

int apply_look(struct apply_context *c, struct step *step)
{
	char *now = NULL;
	int r = tunable_read(c->io, step->ref.tunable, step->path, &now);

	if (r == -ENOMEM)
		return r;
	if (r < 0)
		now = strdup(step->current);
	free(c->present);
	c->present = now;
	return now ? 0 : -ENOMEM;
}

int apply_write(struct apply_context *c, struct step *step, const char *value, int *ret_write_error)
{
	int write_error = kernel_io_write(c->io, step->path, value);
	int r = read_actual(c, step);

	if (r == -ENOMEM)
		return r;
	if (step->actual) {
		r = undo_after(c->store, step->id, step->path, step->actual);
		if (r < 0)
			return r;
	}
	*ret_write_error = write_error;
	return 0;
}

/* Adds to what is said of a refused value: how it stands now, where that is not how it stood when the plan was made. */
static int tell_where_it_stands(struct apply_context *c, struct step *step, int write_error)
{
	_cleanup_free_ char *why = TAKE_PTR(step->reason);

	if (!step->actual)
		return step_reason(step, "%s; %s was written again, but cannot be read back", why ?: "", c->present);
	if (!streq(step->actual, c->present))
		return step_reason(step, "%s; it holds %s now and could not be put back to %s%s%s", why ?: "",
				   step->actual, c->present, write_error < 0 ? ": " : "",
				   write_error < 0 ? strerror(-write_error) : "");
	if (!streq(c->present, step->current))
		return step_reason(step, "%s; it holds %s, moved from %s by an earlier item", why ?: "", c->present,
				   step->current);
	step->reason = TAKE_PTR(why);
	return 0;
}

/* A write that failed or did not do what it should may have changed the value all the same (a short write does). */
static int put_back(struct apply_context *c, struct step *step)
{
	int write_error = 0, r = 0;

	if (!step->actual || !streq(step->actual, c->present))
		r = apply_write(c, step, c->present, &write_error);
	return r < 0 ? r : tell_where_it_stands(c, step, write_error);
}

static bool is_confined(struct apply_context *c)
{
	const char *container;
	_cleanup_free_ char *map = NULL;
	_cleanup_(strv_freep) char **words = NULL;

	if (facts_probe(c->facts, c->io, FACTS_VIRT) < 0)
		return false;
	container = facts_word(c->facts, FACT_CONTAINER);
	if (container && !streq(container, "none"))
		return true;
	/* A user namespace of its own: uid 0 there is not root to the kernel's files. */
	return kernel_io_read_line(c->io, "/proc/self/uid_map", &map) >= 0 && strv_split(map, &words) >= 0 &&
	       strv_length(words) >= 3 && !streq(words[2], "4294967295");
}

static bool is_no_access(int error)
{
	return error == -EROFS || error == -EACCES || error == -EPERM;
}

int apply_refused(struct apply_context *c, struct step *step, int error)
{
	int r;

	step->error = error;
	if (is_no_access(error)) {
		c->n_unwritable++;
		c->unwritable_error = error;
		c->unwritable_path = startswith(step->path, "/proc/sys/") ? "/proc/sys" : "/sys";
	}
	step->outcome = is_no_access(error) && is_confined(c) ? OUTCOME_SKIPPED : OUTCOME_REFUSED;
	r = step_reason(step, "writing %s to %s: %s", step->wanted, step->path, strerror(-error));
	return r < 0 ? r : put_back(c, step);
}

/*
 * The two forms of one setting (vm.dirty_ratio, vm.dirty_bytes) zero each other.  The one that is about to be zeroed goes on record
 * after the one that is written, so that undo, which goes backwards, puts it back first and thereby zeroes the other.
 */
static int record_partner(struct apply_context *c, struct step *step)
{
	_cleanup_(tunable_ref_clear) struct tunable_ref ref = { .node = -1 };
	_cleanup_free_ char *path = NULL, *value = NULL;
	int r;

	if (!step->ref.tunable->linked || !streq(c->present, "0"))
		return 0;
	if (catalogue_find_id(step->ref.tunable->linked, &ref) < 0)
		return 0;
	path = tunable_ref_path(&ref);
	if (!path)
		return -ENOMEM;
	r = tunable_read(c->io, ref.tunable, path, &value);
	if (r == -ENOMEM)
		return r;
	if (r < 0 || streq(value, "0"))
		return 0;
	return undo_before(c->store, step->ref.tunable->linked, path, value, "0");
}

static int judge_effect(struct apply_context *c, struct step *step)
{
	_cleanup_free_ char *reason = NULL, *first = NULL;
	int r;

	/* HVO shows in its pool, which comes later. */
	if (step->ref.tunable->effect == EFFECT_HVO)
		return 0;
	r = effect_check_step(step, c->facts, c->io, &step->effect_checked, &reason);
	if (r == -EBADE) {
		step->outcome = OUTCOME_REFUSED;
		step->differs = true;
		r = step_reason(step, "written and read back, but without effect: %s", reason);
		if (r >= 0 && step->action == STEP_SET)
			r = put_back(c, step);
		return r;
	}
	if (r < 0 || !reason)
		return r;
	if (!step->reason)
		return step_reason(step, "%s", reason);
	/* Why a value was chosen matters more than what a look has confirmed, but not more than that nothing was to be seen. */
	if (step->effect_checked)
		return 0;
	first = TAKE_PTR(step->reason);
	return step_reason(step, "%s; effect: %s", first, reason);
}

static int judge_value(struct apply_context *c, struct step *step)
{
	int r = 0;

	if (!step->actual) {
		step->outcome = OUTCOME_REFUSED;
		r = step_reason(step, "%s was written to %s, which cannot be read back", step->wanted, step->path);
		return r < 0 ? r : put_back(c, step);
	}
	step->outcome = tunable_compare(step->ref.tunable, step->relation, step->wanted, step->actual);
	if (step->outcome == OUTCOME_ADJUSTED)
		r = step_reason(step, "the kernel holds %s, asked %s", step->actual, step->wanted);
	if (step->outcome == OUTCOME_REFUSED || step->outcome == OUTCOME_PARTIAL) {
		step->outcome = OUTCOME_REFUSED;
		r = step_reason(step, "overridden by the kernel: %s was written, %s is there", step->wanted,
				step->actual);
		return r < 0 ? r : put_back(c, step);
	}
	if (r < 0)
		return r;
	step->differs = false;
	return judge_effect(c, step);
}

/*
 * The kernel may move another tunable along with this one (THP raises vm.min_free_kbytes).  Its value goes on record before this one's,
 * so that undo, which goes backwards, puts it back last: when what moved it is back already.
 */
struct disturbed {
	struct tunable_ref ref;
	char *path; /* NULL: there is none */
};

static void disturbed_clear(struct disturbed *d)
{
	tunable_ref_clear(&d->ref);
	free(d->path);
}

static int record_disturbed(struct apply_context *c, struct step *step, struct disturbed *ret)
{
	const char *id = step->ref.tunable->disturbs;
	_cleanup_free_ char *path = NULL, *value = NULL;
	int r;

	if (!id || catalogue_find_id(id, &ret->ref) < 0)
		return 0;
	path = tunable_ref_path(&ret->ref);
	if (!path)
		return -ENOMEM;
	r = tunable_read(c->io, ret->ref.tunable, path, &value);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	r = undo_before(c->store, id, path, value, value);
	if (r >= 0)
		ret->path = TAKE_PTR(path);
	return r;
}

static int record_disturbance(struct apply_context *c, const struct disturbed *d)
{
	_cleanup_free_ char *value = NULL;
	int r;

	if (!d->path)
		return 0;
	r = tunable_read(c->io, d->ref.tunable, d->path, &value);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	return undo_after(c->store, d->ref.tunable->id, d->path, value);
}

int apply_settled_meanwhile(struct apply_context *c, struct step *step, bool *ret)
{
	char *planned = step->current;
	int r;

	*ret = false;
	if (streq(c->present, planned))
		return 0;
	step->current = c->present;
	r = plan_settle_by_value(c->plan, step);
	step->current = planned;
	*ret = step->action != STEP_SET;
	step->action = STEP_SET; /* it was to be set: if all is taken back, so is what made it right */
	if (r < 0 || !*ret)
		return r;
	step->differs = false;
	free(step->actual);
	step->actual = strdup(c->present);
	if (!step->actual)
		return -ENOMEM;
	return step->reason ? 0 : step_reason(step, "it was %s when the plan was made", planned);
}

static int apply_value(struct apply_context *c, struct step *step)
{
	_cleanup_(disturbed_clear) struct disturbed disturbed = { .ref.node = -1 };
	bool settled = false;
	int write_error, r;

	r = apply_look(c, step);
	if (r >= 0)
		r = apply_settled_meanwhile(c, step, &settled);
	if (settled && r >= 0)
		return judge_effect(c, step);
	if (r >= 0)
		r = record_disturbed(c, step, &disturbed);
	if (r >= 0)
		r = undo_before(c->store, step->id, step->path, c->present, step->wanted);
	if (r >= 0)
		r = record_partner(c, step);
	if (r >= 0)
		r = apply_write(c, step, step->wanted, &write_error);
	if (r >= 0)
		r = record_disturbance(c, &disturbed);
	if (r < 0)
		return r;
	return write_error < 0 ? apply_refused(c, step, write_error) : judge_value(c, step);
}

static bool reached(const struct step *step)
{
	/* Left to mmoptd, which does it when all else is done. */
	if (step->action == STEP_KEEP && step->outcome == OUTCOME_PENDING)
		return true;
	switch (step->outcome) {
	case OUTCOME_APPLIED:
	case OUTCOME_ALREADY:
	case OUTCOME_ADJUSTED:
	case OUTCOME_PENDING_REBOOT:
		return true;
	case OUTCOME_PENDING:
	case OUTCOME_PARTIAL:
	case OUTCOME_REFUSED:
	case OUTCOME_UNSUPPORTED:
	case OUTCOME_UNSAFE:
	case OUTCOME_DRIFTED:
	case OUTCOME_SKIPPED:
		break;
	}
	return false;
}

static int not_tried(struct plan *plan, const char *cause)
{
	for (size_t i = 0; i < plan->n_steps; i++)
		if (plan->steps[i].outcome == OUTCOME_PENDING) {
			plan->steps[i].outcome = OUTCOME_SKIPPED;
			if (step_reason(&plan->steps[i], "not tried: %s", cause) < 0)
				return -ENOMEM;
		}
	return 0;
}

static const struct restore_item *find_item(const struct restore *restore, const struct step *step)
{
	for (size_t i = 0; i < restore->n_items; i++)
		if (streq(restore->items[i].id, step->id))
			return &restore->items[i];
	return NULL;
}

static int tell_taken_back(struct apply_context *c, const struct restore *restore, const char *cause)
{
	for (size_t i = 0; i < c->plan->n_steps; i++) {
		struct step *step = &c->plan->steps[i];
		const struct restore_item *item = step->action == STEP_SET ? find_item(restore, step) : NULL;
		int r = 0;

		if (!item && (step->action != STEP_SET || step->outcome != OUTCOME_ALREADY))
			continue;
		read_actual(c, step);
		if (item && (item->outcome == RESTORE_FAILED || item->outcome == RESTORE_FOREIGN)) {
			step->outcome = OUTCOME_REFUSED;
			step->error = item->error;
			r = step_reason(step, "not taken back, it is %s and was %s: %s", step->actual ?: "unreadable",
					step->current, item->reason);
		} else if (reached(step) || step->outcome == OUTCOME_PARTIAL) {
			step->outcome = OUTCOME_SKIPPED;
			step->differs = true;
			r = step_reason(step, "taken back: %s", cause);
		}
		if (r < 0)
			return r;
	}
	return 0;
}

static char *engine_failure(int error)
{
	if (error == -ENOMEM)
		return strdup("out of memory");
	return xasprintf("the undo record cannot be written: %s", strerror(-error));
}

static int take_all_back(struct apply_context *c, const char *cause, enum apply_result *ret_result)
{
	_cleanup_(restore_clear) struct restore restore = {};
	bool stuck;
	int r = restore_transaction(c->io, c->store, undo_current(c->store), &restore), t;

	stuck = r < 0 || restore.n_failed > 0;
	/* Where something is left to be put back the record stays open: the next start tries again. */
	undo_end(c->store, stuck ? TRANSACTION_OPEN : TRANSACTION_UNDONE, 0, cause);
	t = tell_taken_back(c, &restore, cause);
	if (t >= 0)
		t = not_tried(c->plan, cause);
	diag_add(c->diags, DIAG_ERROR, NULL, 0, NULL, "%s: %s", cause,
		 stuck		     ? "not everything could be taken back, see the items"
		 : restore.n_foreign ? "taken back but for what others have changed meanwhile, see the items"
				     : "everything was taken back");
	*ret_result = stuck ? APPLY_STUCK : APPLY_UNDONE;
	return r < 0 ? r : t;
}

static bool pool_grew(const struct plan *plan)
{
	for (size_t i = 0; i < plan->n_steps; i++) {
		const struct step *step = &plan->steps[i];
		int64_t before, now;

		if (step_is_pool(step) && step->current && step->actual && parse_i64(step->current, &before) >= 0 &&
		    parse_i64(step->actual, &now) >= 0 && now > before)
			return true;
	}
	return false;
}

/* With HVO on, each page that a pool gained gives back all but one page of its struct pages, or something is wrong. */
static int judge_hvo(struct apply_context *c, bool known_before, int64_t saved_before)
{
	struct step *hvo = plan_find(c->plan, "vm.hugetlb_optimize_vmemmap");
	_cleanup_free_ char *reason = NULL;
	int64_t saved, expected;
	char a[24], b[24];
	int r;

	if (!hvo || !hvo->wanted || !streq(hvo->wanted, "1") || !reached(hvo))
		return 0;
	expected = hvo->saving_bytes;
	r = effect_check_hvo(hvo, pool_grew(c->plan) || effect_pools_grew(c->store), c->facts, c->io,
			     &hvo->effect_checked, &reason);
	if (r == -EBADE) {
		hvo->outcome = OUTCOME_REFUSED;
		hvo->differs = true;
		return step_reason(hvo, "the value is there, but without effect: %s", reason);
	}
	if (r < 0)
		return r;
	for (size_t i = 0; i < c->plan->n_steps; i++)
		if (c->plan->steps[i].outcome == OUTCOME_PARTIAL)
			expected = 0; /* fewer pages came than reckoned with */
	if (known_before && expected > 0 && savings_hvo_measured(c->facts, c->io, &saved) >= 0) {
		hvo->effect_checked = true;
		if (saved - saved_before < expected) {
			hvo->outcome = OUTCOME_PARTIAL;
			hvo->differs = true;
			return step_reason(hvo, "the pools' new pages save %s, %s was expected (the kernel's counters)",
					   format_bytes(saved - saved_before, a), format_bytes(expected, b));
		}
	}
	return reason ? step_reason(hvo, "%s", reason) : 0;
}

/* The guard reckoned before; this is what is. */
static void judge_memory(struct apply_context *c, bool *ret_short)
{
	_cleanup_free_ char *meminfo = NULL;
	uint64_t kib;
	char a[24], b[24];

	*ret_short = false;
	if (!c->plan->memory_floor_bytes || kernel_io_read(c->io, "/proc/meminfo", &meminfo, NULL) < 0 ||
	    keyed_u64(meminfo, "MemAvailable", &kib) < 0 || kib * 1024 >= c->plan->memory_floor_bytes)
		return;
	*ret_short = true;
	diag_add(c->diags, DIAG_WARNING, NULL, 0, NULL,
		 "only %s are available now, at least %s should stay: consider mmoptctl rollback",
		 format_bytes((int64_t)kib * 1024, a), format_bytes((int64_t)c->plan->memory_floor_bytes, b));
}

static int apply_steps(struct apply_context *c, bool *ret_grew, char **ret_cause)
{
	for (size_t i = 0; i < c->plan->n_steps; i++) {
		struct step *step = &c->plan->steps[i];
		int r;

		if (step->action == STEP_SET) {
			if (c->options->progress)
				c->options->progress(c->options->userdata, c->plan, i);
			*ret_grew |= step->cost_bytes > 0;
			r = step_is_pool(step) ? apply_pool(c, step) : apply_value(c, step);
		} else {
			r = step->outcome == OUTCOME_ALREADY ? judge_effect(c, step) : 0;
		}
		if (r < 0) {
			*ret_cause = engine_failure(r);
			return r;
		}
		if (step->essential && !reached(step)) {
			*ret_cause = xasprintf("essential %s was not reached (%s)", step->id,
					       step->reason ?: outcome_name(step->outcome));
			return -ECANCELED;
		}
	}
	return 0;
}

/* One line, however much it is: in a container it may be all there is. */
static void tell_unwritable(struct apply_context *c)
{
	_cleanup_free_ char *ids = NULL;

	if (c->n_unwritable == 0)
		return;
	for (size_t i = 0; i < c->plan->n_steps; i++) {
		const struct step *step = &c->plan->steps[i];
		char *longer;

		if (!is_no_access(step->error))
			continue;
		longer = xasprintf("%s%s%s", ids ?: "", ids ? ", " : "", step->id);
		free(ids);
		ids = longer;
	}
	diag_add(c->diags, DIAG_NOTICE, NULL, 0, NULL, "%u item%s cannot be set from here: %s: %s (%s)",
		 c->n_unwritable, c->n_unwritable == 1 ? "" : "s", c->unwritable_path, strerror(-c->unwritable_error),
		 ids ?: "?");
}

static bool may_have_changed(struct kernel_io *io, const struct undo_entry *e)
{
	_cleanup_(tunable_ref_clear) struct tunable_ref ref = { .node = -1 };
	_cleanup_free_ char *now = NULL;

	if (e->after)
		return !streq(e->after, e->before);
	/* Not read back after the write.  What cannot be seen now either may have been changed: it has to stay on record. */
	return catalogue_find_id(e->id, &ref) < 0 || tunable_read(io, ref.tunable, e->path, &now) < 0 ||
	       !streq(now, e->before);
}

static bool changed_something(struct kernel_io *io, const struct transaction *t)
{
	for (size_t i = 0; i < t->n_entries; i++)
		if (may_have_changed(io, &t->entries[i]))
			return true;
	return false;
}

static int commit(struct apply_context *c)
{
	uint64_t within = c->options->confirm_within_sec;

	if (!changed_something(c->io, undo_current(c->store)))
		return undo_end(c->store, TRANSACTION_UNDONE, 0, "nothing was changed");
	if (within)
		return undo_end(c->store, TRANSACTION_UNCONFIRMED, clock_usec(CLOCK_BOOTTIME) / USEC_PER_SEC + within,
				NULL);
	return undo_end(c->store, TRANSACTION_COMMITTED, 0, NULL);
}

/* An essential item that is refused beforehand: nothing is begun. */
static int check_essential(struct plan *plan, struct diag_list *diags, enum apply_result *ret_result)
{
	for (size_t i = 0; i < plan->n_steps; i++) {
		const struct step *step = &plan->steps[i];
		_cleanup_free_ char *cause = NULL;

		if (!step->essential || step->action != STEP_REFUSE)
			continue;
		cause = xasprintf("essential %s cannot be reached (%s)", step->id, step->reason ?: "refused");
		if (!cause)
			return -ENOMEM;
		diag_add(diags, DIAG_ERROR, step->file, step->line, NULL, "%s: nothing was changed", cause);
		*ret_result = APPLY_UNDONE;
		return not_tried(plan, cause);
	}
	return 0;
}

static bool has_writes(const struct plan *plan)
{
	for (size_t i = 0; i < plan->n_steps; i++)
		if (plan->steps[i].action == STEP_SET)
			return true;
	return false;
}

static int run(struct apply_context *c, enum apply_result *ret_result)
{
	bool known_before, grew = false, is_short = false;
	_cleanup_free_ char *cause = NULL;
	struct step *hvo = plan_find(c->plan, "vm.hugetlb_optimize_vmemmap");
	int64_t saved_before = 0;
	int r;

	known_before = hvo && hvo->saving_bytes > 0 && savings_hvo_measured(c->facts, c->io, &saved_before) >= 0;
	r = undo_begin(c->store, c->options->verb ?: "apply");
	if (r < 0)
		return r;
	r = apply_steps(c, &grew, &cause);
	free(TAKE_PTR(c->present));
	if (r < 0)
		return take_all_back(c, cause ?: "out of memory", ret_result);
	r = judge_hvo(c, known_before, saved_before);
	if (r >= 0 && hvo && hvo->essential && hvo->action == STEP_SET && !reached(hvo)) {
		cause = xasprintf("essential %s was not reached (%s)", hvo->id, hvo->reason ?: "no effect");
		return take_all_back(c, cause ?: "out of memory", ret_result);
	}
	if (r >= 0)
		r = commit(c);
	if (r < 0) {
		cause = engine_failure(r);
		return take_all_back(c, cause ?: "out of memory", ret_result);
	}
	if (grew)
		judge_memory(c, &is_short);
	tell_unwritable(c);
	*ret_result = is_short || plan_has_failures(c->plan) ? APPLY_PARTLY : APPLY_DONE;
	return 0;
}

int apply_plan(struct plan *plan, struct facts *facts, struct kernel_io *io, struct undo_store *store,
	       const struct apply_options *options, struct diag_list *diags, enum apply_result *ret_result)
{
	struct apply_context c = {
		.plan = plan,
		.facts = facts,
		.io = io,
		.store = store,
		.options = options,
		.diags = diags,
	};
	enum apply_result result = APPLY_DONE;
	int r;

	r = plan_recall(plan, store);
	if (r >= 0)
		r = check_essential(plan, diags, &result);
	if (r < 0)
		return r;
	if (result == APPLY_DONE && has_writes(plan)) {
		r = run(&c, &result);
		if (r < 0)
			return r;
	} else if (result == APPLY_DONE) {
		for (size_t i = 0; i < plan->n_steps; i++) {
			r = plan->steps[i].outcome == OUTCOME_ALREADY ? judge_effect(&c, &plan->steps[i]) : 0;
			if (r < 0)
				return r;
		}
		r = judge_hvo(&c, false, 0);
		if (r < 0)
			return r;
		result = plan_has_failures(plan) ? APPLY_PARTLY : APPLY_DONE;
	}
	*ret_result = result;
	return 0;
}
