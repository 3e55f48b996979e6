/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The verbs that write. */
#include "core/engine-internal.h"
#include "core/report-views.h"

/* What an apply saves, where that can be told. */
struct gain {
	struct savings before, after;
	bool measured;
};

static void gain_clear(struct gain *g)
{
	savings_clear(&g->before);
	savings_clear(&g->after);
}

static size_t count_writes(const struct plan *plan)
{
	size_t n = 0;

	for (size_t i = 0; i < plan->n_steps; i++)
		n += plan->steps[i].action == STEP_SET;
	return n;
}

/* What to do about it, behind the error. */
static const char *needs_root(int error)
{
	return (error == -EACCES || error == -EPERM) && geteuid() != 0 ? " (this needs root)" : "";
}

/*
 * The record of what is done comes first: without one nothing may be written, and with nothing to write none is needed.
 */
static int refuse_unrecorded(struct engine *e, int error)
{
	size_t n = count_writes(e->plan);

	if (n == 0)
		return 0;
	return diag_error(e->diags, error,
			  "%zu %s cannot be set from here: the undo record in /run/mmopt cannot be written: %s%s", n,
			  n == 1 ? "item" : "items", strerror(-error), needs_root(error));
}

/* Two transactions that wait would have to be undone in order. */
static int check_unconfirmed(struct engine *e)
{
	const struct transaction *t = engine_unconfirmed(e);

	if (!t)
		return 0;
	return diag_error(e->diags, -EBUSY,
			  "transaction %u waits for its confirmation: mmoptctl confirm or mmoptctl rollback first",
			  t->number);
}

/* After the mistakes, each told already: that a part of the policy has not been applied either. */
static void tell_nothing_changed(struct engine *e, const struct restore *recovered, size_t n)
{
	diag_error(e->diags, -EBADMSG, "nothing was %s: %zu %s in the policy",
		   recovered->n_transactions > 0 ? "applied" : "changed", n, n == 1 ? "mistake" : "mistakes");
}

/*
 * For those who look, for mmoptd, and for the rest of this boot: a module that was refused is not tried at each look.
 * Without the note they find out for themselves.
 */
static void note_module(struct engine *e, enum module_state state, const char *reason)
{
	(void)!module_note_write(e->root_fd, state, reason);
}

static int load_module(struct engine *e, const struct engine_apply_options *options, struct step *step)
{
	_cleanup_free_ char *reason = NULL;
	int r;

	if (!options->load_module) {
		note_module(e, MODULE_LEFT, NULL);
		return plan_leave_loading(step, &e->facts);
	}
	r = options->load_module(options->userdata, e, &reason);
	if (r >= 0)
		r = plan_after_loading(e->plan, step, &e->facts, e->io, reason);
	if (r < 0)
		return r;
	if (step->loaded_module)
		note_module(e, MODULE_UNTRIED, NULL);
	else
		note_module(e, MODULE_REFUSED, reason ?: "it is said to be there, yet there is no " MODULE_SYSCTL);
	return 0;
}

/* What mmoptd was to do is part of what has been taken back. */
static void forget_left(struct engine *e)
{
	struct module_note note;

	if (module_note_read(e->root_fd, &note) >= 0 && note.state == MODULE_LEFT)
		note_module(e, MODULE_UNTRIED, NULL);
	module_note_clear(&note);
}

/* Nothing is loaded into the running kernel for files that it does not look at. */
static int load_modules(struct engine *e, const struct engine_apply_options *options)
{
	int r = 0;

	for (size_t i = 0; e->io->live && r >= 0 && i < e->plan->n_steps; i++)
		if (e->plan->steps[i].load_module)
			r = load_module(e, options, &e->plan->steps[i]);
	return r < 0 ? diag_error(e->diags, r, "out of memory") : 0;
}

/* Lock, recovery and plan: up to where the first write would come. */
static int prepare(struct engine *e, const struct engine_apply_options *options)
{
	_cleanup_(restore_clear) struct restore recovered = {};
	int r, store_error;
	size_t n_errors;

	store_error = engine_write_store(e, &recovered);
	if (store_error < 0 && (!is_write_protected(store_error) || e->store))
		return store_error;
	n_errors = e->diags->n_errors;
	/* Who applies tries again. */
	module_note_clear(&e->module_note);
	r = engine_load_plan_for(e, options->only);
	if (r == -EBADMSG)
		tell_nothing_changed(e, &recovered, e->diags->n_errors - n_errors);
	if (r < 0)
		return r;
	if (store_error < 0)
		return refuse_unrecorded(e, store_error);
	r = check_unconfirmed(e);
	if (r >= 0 && options->before_writing)
		r = options->before_writing(options->userdata, e);
	return r < 0 ? r : load_modules(e, options);
}

static int write_plan(struct engine *e, const struct engine_apply_options *o, enum apply_result *ret_result)
{
	struct apply_options options = {
		.verb = o->verb,
		.pool_timeout_usec = o->pool_timeout_usec,
		.confirm_within_sec = o->confirm_within_sec,
		.progress = o->progress,
		.userdata = o->userdata,
	};
	int r;

	r = apply_plan(e->plan, &e->facts, e->io, e->store, &options, e->diags, ret_result);
	if (r == -ENOMEM)
		return diag_error(e->diags, r, "out of memory");
	if (r < 0)
		return diag_error(e->diags, r,
				  "nothing was changed: the undo record in /run/mmopt cannot be written: %s",
				  strerror(-r));
	return 0;
}

static bool saves_memory(const struct plan *plan)
{
	for (size_t i = 0; i < plan->n_steps; i++)
		if (plan->steps[i].action == STEP_SET && plan->steps[i].ref.tunable->saving != SAVING_NONE)
			return true;
	return false;
}

/* Figures for history, not worth failing for. */
static void note_figures(struct engine *e, const struct gain *gain)
{
	uint64_t memory;

	if (gain->measured && gain->after.total_known)
		(void)!undo_saved(e->store, gain->after.total_bytes);
	if (facts_probe(&e->facts, e->io, FACTS_MEMORY) >= 0 &&
	    facts_number(&e->facts, FACT_MEMORY_TOTAL, &memory) >= 0)
		(void)!undo_memory(e->store, memory);
}

/*
 * Savings are reckoned up only where something in the plan can change them: it takes as long as all the rest.  Files
 * that no kernel looks at save nothing, whatever is written to them.
 */
static int execute(struct engine *e, const struct engine_apply_options *options, struct gain *gain,
		   enum apply_result *ret_result)
{
	size_t n_before, n_after;
	int r;

	gain->measured = e->io->live && saves_memory(e->plan);
	r = gain->measured ? engine_measure(e, false, &gain->before) : 0;
	if (r < 0)
		return r;
	undo_store_transactions(e->store, &n_before);
	r = write_plan(e, options, ret_result);
	if (r >= 0 && gain->measured)
		r = engine_measure(e, false, &gain->after);
	if (r < 0)
		return r;
	undo_store_transactions(e->store, &n_after);
	if (n_after > n_before)
		note_figures(e, gain);
	return 0;
}

int engine_apply(struct engine *e, const struct engine_apply_options *options, enum apply_result *ret_result,
		 struct report **ret)
{
	_cleanup_(gain_clear) struct gain gain = {};
	int r;

	r = prepare(e, options);
	if (r < 0)
		return r;
	if (e->store) {
		r = execute(e, options, &gain, ret_result);
		if (r < 0)
			return r;
	} else {
		*ret_result = plan_has_failures(e->plan) ? APPLY_PARTLY : APPLY_DONE;
	}
	if (*ret_result == APPLY_UNDONE || *ret_result == APPLY_STUCK)
		forget_left(e);
	/* Without it the next run finds the same out again. */
	if (e->facts.dirty_cache)
		(void)!facts_cache_save(&e->facts, e->io);
	*ret = report_apply(e->plan, *ret_result, gain.measured ? &gain.before : NULL,
			    gain.measured ? &gain.after : NULL);
	if (!engine_unconfirmed(e))
		report_text(*ret, "confirmed", NULL, NULL);
	return 0;
}

static int open_record(struct engine *e, struct restore *ret_recovered)
{
	size_t errors_before = e->diags->n_errors;
	int r;

	/* Who waited for one of them decides about that one, also at its deadline: recovery would come first then. */
	r = e->only_transaction > 0 ? engine_lock_store(e) : engine_write_store(e, ret_recovered);
	if (r < 0 && is_write_protected(r) && e->diags->n_errors == errors_before)
		diag_error(e->diags, r, "the undo record in /run/mmopt cannot be written: %s%s", strerror(-r),
			   needs_root(r));
	return r;
}

/* Who waits with a user must not hit what somebody else has decided or applied meanwhile. */
static int check_waits(struct engine *e)
{
	const struct transaction *t = engine_unconfirmed(e);

	if (e->only_transaction == 0 || (t && t->number == e->only_transaction))
		return 0;
	return diag_error(e->diags, -ENOENT, "transaction %u does not wait for its confirmation", e->only_transaction);
}

int engine_confirm(struct engine *e, unsigned *ret_number, struct report **ret)
{
	_cleanup_(restore_clear) struct restore recovered = {};
	int r;

	r = open_record(e, &recovered);
	if (r >= 0)
		r = check_waits(e);
	if (r < 0)
		return r;
	r = apply_confirm(e->store, ret_number);
	if (r == -ENOENT)
		return diag_error(e->diags, r, "nothing waits for a confirmation");
	if (r < 0)
		return diag_error(e->diags, r, "cannot write the confirmation: %s", strerror(-r));
	*ret = report_confirm(*ret_number);
	return 0;
}

static void hand_over(struct restore *restore, struct restore *ret)
{
	if (!ret)
		return;
	*ret = *restore;
	*restore = (struct restore){};
}

int engine_rollback(struct engine *e, bool all, struct restore *ret_restore, struct report **ret)
{
	_cleanup_(restore_clear) struct restore recovered = {}, restore = {};
	int r;

	r = open_record(e, &recovered);
	if (r >= 0)
		r = check_waits(e);
	if (r < 0)
		return r;
	forget_left(e);
	/* What a crash left behind was the last transaction: it has just been taken back. */
	if (recovered.n_transactions > 0 && !all) {
		*ret = report_restore("rollback", &recovered);
		hand_over(&recovered, ret_restore);
		return 0;
	}
	r = apply_rollback(e->io, e->store, all, &restore);
	if (r < 0)
		return diag_error(e->diags, r, "cannot take it back: %s", strerror(-r));
	*ret = report_restore("rollback", &restore);
	hand_over(&restore, ret_restore);
	return 0;
}

int engine_give_back_pools(struct engine *e, struct restore *ret_restore, struct report **ret)
{
	_cleanup_(restore_clear) struct restore recovered = {}, restore = {};
	int r;

	r = open_record(e, &recovered);
	if (r < 0)
		return r;
	r = apply_give_back_pools(e->io, e->store, &restore);
	if (r == -ENOENT)
		return diag_error(e->diags, r, "no huge page pool has been grown that could be given back");
	if (r < 0)
		return diag_error(e->diags, r, "cannot give the pools back: %s", strerror(-r));
	*ret = report_restore("rollback", &restore);
	hand_over(&restore, ret_restore);
	return 0;
}

int engine_recover(struct engine *e, struct restore *ret)
{
	return open_record(e, ret);
}
