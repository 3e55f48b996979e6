/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/verify.h"
#include "base/strutil.h"
#include "core/effect.h"

static int set_reason(struct step *step, char *reason)
{
	if (!reason)
		return -ENOMEM;
	free(step->reason);
	step->reason = reason;
	return 0;
}

/* The kernel may move a value later on as well (khugepaged raises vm.min_free_kbytes). */
static bool moved_by_kernel(const struct step *step)
{
	return tunable_compare(step->ref.tunable, step->relation, step->wanted, step->current) == OUTCOME_ADJUSTED;
}

/* What a running mmoptd saw of the change that made the present value, or NULL. */
static const struct live_drift *find_drift(const struct plan *plan, const struct step *step)
{
	const struct live_drift *d = plan->live ? live_state_find(plan->live, step->id) : NULL;

	return d && streq(d->to, step->current) ? d : NULL;
}

static char *writer_text(const struct live_drift *d)
{
	if (d->pid > 0 && d->comm)
		return xasprintf("changed by %s (pid %d)", d->comm, (int)d->pid);
	if (d->pid > 0)
		return xasprintf("changed by process %d", (int)d->pid);
	return strdup("changed by an unknown process");
}

static int note_writer(struct step *step, const struct live_drift *d, const char *left)
{
	_cleanup_free_ char *writer = writer_text(d), *comm = d->comm ? strdup(d->comm) : NULL;

	if (!writer || (d->comm && !comm))
		return -ENOMEM;
	free(step->writer_comm);
	step->writer_comm = TAKE_PTR(comm);
	step->writer_pid = d->pid;
	step->given_up = d->given_up;
	if (d->given_up)
		return set_reason(step, xasprintf("%s: %s -> %s; changed %u times, mmoptd no longer sets it again",
						  writer, left, step->current, d->times));
	return set_reason(step, xasprintf("%s: %s -> %s", writer, left, step->current));
}

static int say_who_changed_it(const struct plan *plan, struct step *step, const char *left)
{
	const struct live_drift *d = find_drift(plan, step);
	bool by_kernel = moved_by_kernel(step);

	if (d && (d->pid > 0 || !by_kernel))
		return note_writer(step, d, left);
	return set_reason(step,
			  xasprintf("%s: %s -> %s", by_kernel ? "overridden by the kernel" : "someone else changed it",
				    left, step->current));
}

/* What mmopt left there: what it wrote last, unless that was taken back and gave what is there now. NULL: nothing. */
static const char *left_by_us(const struct undo_entry *entry, const struct step *step, struct undo_store *store)
{
	const struct undo_entry *back = store ? undo_last_given_back(store, step->path) : NULL;

	if (back && streq(back->before, step->current))
		return NULL;
	return entry ? entry->after : NULL;
}

static int verify_changed(const struct plan *plan, struct step *step, struct undo_store *store)
{
	const struct undo_entry *entry = store ? undo_last_entry(store, step->path) : NULL;
	const char *left = left_by_us(entry, step, store);

	if (!step->reason && left && streq(left, step->current) && streq(entry->intended, step->wanted))
		return set_reason(step,
				  xasprintf("is %s: an apply asked for %s and got no further", left, entry->intended));
	if (!left || streq(left, step->current))
		return step->reason ? 0 : set_reason(step, xasprintf("is %s, not applied yet", step->current));
	step->outcome = OUTCOME_DRIFTED;
	if (moved_by_kernel(step)) {
		step->outcome = OUTCOME_ADJUSTED;
		step->differs = false;
	}
	return say_who_changed_it(plan, step, left);
}

static int verify_kept(struct step *step, struct facts *facts, struct kernel_io *io, struct undo_store *store)
{
	_cleanup_free_ char *reason = NULL;
	int r;

	if (step->ref.tunable->effect == EFFECT_HVO)
		r = effect_check_hvo(step, store && effect_pools_grew(store), facts, io, &step->effect_checked,
				     &reason);
	else
		r = effect_check_step(step, facts, io, &step->effect_checked, &reason);

	if (r == -EBADE) {
		step->outcome = OUTCOME_REFUSED;
		step->differs = true;
		return set_reason(step, xasprintf("the value is there, but without effect: %s", reason));
	}
	if (r < 0)
		return r;
	if (!reason || (step->reason && step->effect_checked))
		return 0;
	return set_reason(step, step->reason ? xasprintf("%s; effect: %s", step->reason, reason) : TAKE_PTR(reason));
}

/* Did the kernel make the present value of the wanted one?  A pool that fell short is worth another try. */
static bool is_as_good(const struct step *step, const struct undo_entry *e)
{
	return step->ref.tunable->effect != EFFECT_POOL && streq(e->intended, step->wanted) &&
	       streq(e->after, step->current) && moved_by_kernel(step);
}

int plan_recall(struct plan *plan, struct undo_store *store)
{
	for (size_t i = 0; i < plan->n_steps; i++) {
		struct step *step = &plan->steps[i];
		const struct undo_entry *e = step->action == STEP_SET ? undo_last_entry(store, step->path) : NULL;
		const char *left;
		int r = 0;

		if (!e || !e->after)
			continue;
		if (is_as_good(step, e)) {
			step->action = STEP_KEEP;
			step->outcome = OUTCOME_ALREADY;
			step->differs = false;
			r = set_reason(step, xasprintf("the kernel holds %s for %s", step->current, step->wanted));
			if (r < 0)
				return r;
			continue;
		}
		left = left_by_us(e, step, store);
		if (!step->reason && left && !streq(left, step->current))
			r = say_who_changed_it(plan, step, left);
		if (r < 0)
			return r;
	}
	return 0;
}

/* The module that gave the file was removed, and with it the value that mmopt had put there. */
static int verify_vanished(struct step *step, struct undo_store *store)
{
	const struct undo_entry *entry = undo_last_entry(store, MODULE_SYSCTL);

	if (!entry || !entry->after)
		return 0;
	step->outcome = OUTCOME_DRIFTED;
	step->differs = true;
	return set_reason(step, xasprintf("someone else removed the module " MODULE_NAME
					  ", and with it the setting, which was %s",
					  entry->after));
}

int verify_plan(struct plan *plan, struct facts *facts, struct kernel_io *io, struct undo_store *store)
{
	int r = store ? plan_recall(plan, store) : 0;

	for (size_t i = 0; r >= 0 && i < plan->n_steps; i++) {
		struct step *step = &plan->steps[i];

		if (step->current) {
			free(step->actual);
			step->actual = strdup(step->current);
			if (!step->actual)
				return -ENOMEM;
		}
		if (step->lacks_module && store)
			r = verify_vanished(step, store);
		else if (step->action == STEP_SET && step->path)
			r = verify_changed(plan, step, store);
		else if (step->outcome == OUTCOME_ALREADY)
			r = verify_kept(step, facts, io, store);
	}
	return r;
}
