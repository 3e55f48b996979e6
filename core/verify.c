/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/verify.h"
#include "base/strutil.h"
#include "core/effect.h"

/* What mmopt itself left in that file in this boot, or NULL. */
static const char *value_we_left(struct undo_store *store, const char *path)
{
	const struct transaction *t;
	size_t n;

	if (!store)
		return NULL;
	t = undo_store_transactions(store, &n);
	while (n-- > 0) {
		if (t[n].state == TRANSACTION_UNDONE)
			continue;
		for (size_t i = t[n].n_entries; i-- > 0;)
			if (streq(t[n].entries[i].path, path))
				return t[n].entries[i].after;
	}
	return NULL;
}

static int set_reason(struct step *step, char *reason)
{
	if (!reason)
		return -ENOMEM;
	free(step->reason);
	step->reason = reason;
	return 0;
}

static int verify_changed(struct step *step, struct undo_store *store)
{
	const char *left = value_we_left(store, step->path);
	enum outcome o;

	if (!left || streq(left, step->current))
		return step->reason ? 0 : set_reason(step, xasprintf("is %s, not applied yet", step->current));
	/* The kernel may move the value later on as well (khugepaged raises vm.min_free_kbytes). */
	o = tunable_compare(step->ref.tunable, step->relation, step->wanted, step->current);
	if (o == OUTCOME_ADJUSTED) {
		step->outcome = OUTCOME_ADJUSTED;
		step->differs = false;
		return set_reason(step, xasprintf("overridden by the kernel: %s -> %s", left, step->current));
	}
	step->outcome = OUTCOME_DRIFTED;
	return set_reason(step, xasprintf("someone else changed it: %s -> %s", left, step->current));
}

static int verify_kept(struct step *step, struct facts *facts, struct kernel_io *io)
{
	_cleanup_free_ char *reason = NULL;
	int r = effect_check_step(step, facts, io, &step->effect_checked, &reason);

	if (r == -EBADE) {
		step->outcome = OUTCOME_REFUSED;
		step->differs = true;
		return set_reason(step, xasprintf("the value is there, but without effect: %s", reason));
	}
	if (r < 0)
		return r;
	return reason && !step->reason ? set_reason(step, TAKE_PTR(reason)) : 0;
}

int verify_plan(struct plan *plan, struct facts *facts, struct kernel_io *io, struct undo_store *store)
{
	for (size_t i = 0; i < plan->n_steps; i++) {
		struct step *step = &plan->steps[i];
		int r = 0;

		if (step->current) {
			free(step->actual);
			step->actual = strdup(step->current);
			if (!step->actual)
				return -ENOMEM;
		}
		if (step->action == STEP_SET && step->path)
			r = verify_changed(step, store);
		else if (step->outcome == OUTCOME_ALREADY)
			r = verify_kept(step, facts, io);
		if (r < 0)
			return r;
	}
	return 0;
}
