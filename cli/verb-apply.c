/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <time.h>

#include "base/strutil.h"
#include "cli/confirm-wait.h"
#include "cli/engine.h"
#include "cli/progress.h"
#include "core/report-views.h"
#include "core/savings.h"

/* One run of apply. */
struct run {
	struct engine e;
	struct savings before, after;
	bool measured;
	enum apply_result result;
	sigset_t signals; /* with --confirm-within: what means "go back" while it waits */
	int waiter_fd;	  /* held while it waits, so that everybody knows that somebody does */
};

static void run_clear(struct run *r)
{
	savings_clear(&r->before);
	savings_clear(&r->after);
	engine_clear(&r->e);
	closep(&r->waiter_fd);
}

static size_t count_writes(const struct plan *plan)
{
	size_t n = 0;

	for (size_t i = 0; i < plan->n_steps; i++)
		n += plan->steps[i].action == STEP_SET;
	return n;
}

/* The record of what is done comes first: without one nothing may be written, and with nothing to write none is needed. */
static int refuse_unrecorded(struct cli *cli, const struct run *run, int error)
{
	size_t n = count_writes(run->e.plan);

	if (n == 0)
		return 0;
	return cli_error(cli, error,
			 "%zu %s cannot be set from here: the undo record in /run/mmopt cannot be written: %s", n,
			 n == 1 ? "item" : "items", strerror(-error));
}

/* Two transactions that wait would have to be undone in order. */
static int check_unconfirmed(struct cli *cli, const struct run *run)
{
	const struct transaction *t = engine_unconfirmed(&run->e);

	if (!t)
		return 0;
	return cli_error(cli, -EBUSY,
			 "transaction %u waits for its confirmation: mmoptctl confirm or mmoptctl rollback first",
			 t->number);
}

static int prepare_wait(struct cli *cli, struct run *run)
{
	int r;

	r = undo_confirm_hold(run->e.store);
	if (r == -EBUSY)
		return cli_error(cli, r, "another mmoptctl waits for confirmation");
	if (r < 0)
		return cli_error(cli, r, "cannot lock /run/mmopt/confirm.lock: %s", strerror(-r));
	run->waiter_fd = r;
	r = confirm_block_signals(&run->signals);
	if (r < 0)
		return cli_error(cli, r, "cannot block signals: %s", strerror(-r));
	return 0;
}

static int measure(struct cli *cli, struct run *run, struct savings *ret)
{
	int r = savings_measure(&run->e.facts, run->e.io, false, ret);

	return r < 0 ? cli_error(cli, r, "cannot reckon up the savings: %s", strerror(-r)) : 0;
}

static int write_plan(struct cli *cli, struct run *run)
{
	struct progress progress;
	struct apply_options options = {
		.pool_timeout_usec = cli->line.pool_timeout_usec,
		.confirm_within_sec = cli->line.confirm_within_sec,
		.progress = progress_step,
		.userdata = &progress,
	};
	int r;

	progress_begin(&progress, cli->line.quiet);
	r = apply_plan(run->e.plan, &run->e.facts, run->e.io, run->e.store, &options, &cli->diags, &run->result);
	progress_end(&progress);
	if (r == -ENOMEM)
		return cli_error(cli, r, "out of memory");
	if (r < 0)
		return cli_error(cli, r, "nothing was changed: the undo record in /run/mmopt cannot be written: %s",
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

/*
 * Savings are reckoned up only where something in the plan can change them: it takes as long as all the rest.  Files that no
 * kernel looks at save nothing, whatever is written to them.
 */
static int execute(struct cli *cli, struct run *run)
{
	size_t n_before, n_after;
	int r;

	run->measured = run->e.io->live && saves_memory(run->e.plan);
	r = run->measured ? measure(cli, run, &run->before) : 0;
	if (r < 0)
		return r;
	undo_store_transactions(run->e.store, &n_before);
	r = write_plan(cli, run);
	if (r < 0 || !run->measured)
		return r;
	r = measure(cli, run, &run->after);
	if (r < 0)
		return r;
	undo_store_transactions(run->e.store, &n_after);
	/* A number for history, not worth failing for. */
	if (n_after > n_before && run->after.total_known)
		(void)!undo_saved(run->e.store, run->after.total_bytes);
	return 0;
}

/* After the mistakes, each told already: that a part of the policy has not been applied either. */
static void tell_nothing_changed(struct cli *cli, const struct restore *recovered, size_t n)
{
	cli_error(cli, -EBADMSG, "nothing was %s: %zu %s in the policy",
		  recovered->n_transactions > 0 ? "applied" : "changed", n, n == 1 ? "mistake" : "mistakes");
}

static int prepare(struct cli *cli, struct run *run)
{
	_cleanup_(restore_clear) struct restore recovered = {};
	int r, store_error;
	size_t n_errors;

	r = engine_open(cli, &run->e);
	if (r < 0)
		return r;
	store_error = engine_write_store(cli, &run->e, &recovered);
	if (store_error < 0 && (!is_write_protected(store_error) || run->e.store))
		return store_error;
	n_errors = cli->diags.n_errors;
	r = engine_load_plan(cli, &run->e);
	if (r == -EBADMSG)
		tell_nothing_changed(cli, &recovered, cli->diags.n_errors - n_errors);
	if (r < 0)
		return r;
	if (store_error < 0)
		return refuse_unrecorded(cli, run, store_error);
	r = check_unconfirmed(cli, run);
	if (r >= 0 && cli->line.confirm_within_sec > 0)
		r = prepare_wait(cli, run);
	return r;
}

static struct report *make_report(const struct run *run)
{
	return report_apply(run->e.plan, run->result, run->measured ? &run->before : NULL,
			    run->measured ? &run->after : NULL);
}

/* What became of one transaction, by a fresh look at the record. */
struct watched {
	int root_fd;
	char *boot_id;
	unsigned number;
	enum transaction_state state;
};

static int is_decided(void *userdata)
{
	_cleanup_(undo_store_freep) struct undo_store *store = NULL;
	struct watched *w = userdata;
	const struct transaction *t;
	size_t n;
	int r;

	r = undo_store_open(w->root_fd, w->boot_id, false, &store, NULL);
	if (r < 0)
		return r;
	t = undo_store_transactions(store, &n);
	while (n-- > 0) {
		if (t[n].number != w->number)
			continue;
		w->state = t[n].state;
		return w->state != TRANSACTION_UNCONFIRMED;
	}
	/* Somebody has removed the record: nobody can take it back any more. */
	return -ENOENT;
}

static const char *answer_text(enum confirm_answer answer)
{
	switch (answer) {
	case CONFIRM_ENTER:
	case CONFIRM_RECORD:
		return NULL;
	case CONFIRM_DEADLINE:
		return "not confirmed in time";
	case CONFIRM_SIGNAL:
		return "interrupted";
	case CONFIRM_HANGUP:
		return "the terminal is gone";
	}
	return NULL;
}

/* Somebody may be looking at the record just now: the lock is soon free again. */
static int lock_patiently(struct cli *cli, struct engine *e)
{
	struct timespec pause = { .tv_nsec = 100 * 1000 * 1000 };
	struct diag_list kept = cli->diags;
	int r = -EBUSY;

	for (unsigned i = 0; i < 100 && r == -EBUSY; i++) {
		cli->diags = (struct diag_list){};
		r = engine_lock_store(cli, e);
		if (r == -EBUSY)
			nanosleep(&pause, NULL);
		diag_list_clear(&cli->diags);
	}
	cli->diags = kept;
	if (r < 0)
		return cli_error(cli, r, "the undo record in /run/mmopt cannot be locked, the next start goes back: %s",
				 strerror(-r));
	return 0;
}

static int go_back(struct cli *cli, struct run *run, struct watched *w, const char *why, struct report **ret)
{
	_cleanup_(restore_clear) struct restore restore = {};
	const struct transaction *t;
	int r;

	r = lock_patiently(cli, &run->e);
	if (r < 0)
		return r;
	/* Confirmed or taken back between the answer and the lock? */
	t = engine_unconfirmed(&run->e);
	if (!t || t->number != w->number) {
		r = is_decided(w);
		return r < 0 ? cli_error(cli, r, "cannot read the undo record: %s", strerror(-r)) : 0;
	}
	r = apply_rollback(run->e.io, run->e.store, false, &restore);
	if (r < 0)
		return cli_error(cli, r, "cannot go back: %s", strerror(-r));
	cli_error(cli, -ECANCELED, "%s: %s", why,
		  restore.n_failed > 0 ? "not everything could be taken back" : "everything was taken back");
	w->state = TRANSACTION_UNDONE;
	if (cli->line.json == JSON_OFF) {
		report_free(*ret);
		*ret = report_restore("rollback", &restore);
	}
	return 0;
}

static int keep(struct cli *cli, struct run *run, struct watched *w)
{
	unsigned number;
	int r;

	r = lock_patiently(cli, &run->e);
	if (r < 0)
		return r;
	r = apply_confirm(run->e.store, &number);
	if (r == -ENOENT) {
		/* Decided from elsewhere between Enter and the lock. */
		r = is_decided(w);
		return r < 0 ? cli_error(cli, r, "cannot read the undo record: %s", strerror(-r)) : 0;
	}
	if (r < 0)
		return cli_error(cli, r, "cannot write the confirmation: %s", strerror(-r));
	w->state = TRANSACTION_COMMITTED;
	return 0;
}

static int wait_and_decide(struct cli *cli, struct run *run, struct watched *w, uint64_t deadline_sec,
			   struct report **ret)
{
	struct confirm_wait wait = {
		.deadline_sec = deadline_sec,
		.root_fd = run->e.root_fd,
		.quiet = cli->line.quiet,
		.is_decided = is_decided,
		.userdata = w,
	};
	enum confirm_answer answer;
	int r;

	r = confirm_wait(&wait, &run->signals, &answer);
	if (r < 0) {
		cli_error(cli, r, "cannot wait for the confirmation: %s", strerror(-r));
		return go_back(cli, run, w, "no confirmation is possible", ret);
	}
	switch (answer) {
	case CONFIRM_ENTER:
		return keep(cli, run, w);
	case CONFIRM_RECORD:
		return 0;
	case CONFIRM_DEADLINE:
	case CONFIRM_SIGNAL:
	case CONFIRM_HANGUP:
		return go_back(cli, run, w, answer_text(answer), ret);
	}
	return -EINVAL;
}

/* JSON is one document, that of apply; text has shown it before the wait, and goes on from there. */
static void tell_kept(const struct cli *cli, unsigned number, struct report **ret)
{
	int exit_status = report_failed(*ret) ? EXIT_FAILURE : report_exit_status(*ret);

	if (cli->line.json != JSON_OFF) {
		report_boolean(*ret, "confirmed", NULL, true);
		return;
	}
	report_free(*ret);
	*ret = report_confirm(number);
	report_verdict(*ret, exit_status, "confirmed");
}

static void tell_not_kept(struct cli *cli, struct report **ret)
{
	if (cli->diags.n_errors == 0) {
		cli_error(cli, -ECANCELED, "taken back from elsewhere");
		if (cli->line.json == JSON_OFF) {
			report_free(*ret);
			*ret = report_error("apply");
		}
	}
	report_boolean(*ret, "confirmed", NULL, false);
	report_verdict(*ret, EXIT_FAILURE, "not-confirmed");
}

/* After a transaction that waits for its confirmation: waits, and makes *ret tell how it ended. */
static int wait_for_confirmation(struct cli *cli, struct run *run, struct report **ret)
{
	const struct transaction *t = engine_unconfirmed(&run->e);
	_cleanup_free_ char *boot_id = NULL;
	struct watched w = { .root_fd = run->e.root_fd };
	uint64_t deadline_sec;
	int r;

	if (!t) {
		report_text(*ret, "confirmed", NULL, NULL);
		return 0;
	}
	boot_id = strdup(t->boot_id);
	if (!boot_id)
		return -ENOMEM;
	w.boot_id = boot_id;
	w.number = t->number;
	deadline_sec = t->deadline_sec;
	cli_show_early(cli, *ret);
	/* Others have to get at the record, to confirm. */
	undo_store_free(TAKE_PTR(run->e.store));
	r = wait_and_decide(cli, run, &w, deadline_sec, ret);
	if (r < 0)
		return r;
	if (w.state == TRANSACTION_COMMITTED)
		tell_kept(cli, w.number, ret);
	else
		tell_not_kept(cli, ret);
	return 0;
}

static int apply(struct cli *cli, struct run *run, struct report **ret)
{
	int r;

	r = prepare(cli, run);
	if (r < 0)
		return r;
	if (run->e.store) {
		r = execute(cli, run);
		if (r < 0)
			return r;
	} else {
		run->result = plan_has_failures(run->e.plan) ? APPLY_PARTLY : APPLY_DONE;
	}
	/* Without it the next run finds the same out again. */
	if (run->e.facts.dirty_cache)
		(void)!facts_cache_save(&run->e.facts, run->e.io);
	*ret = make_report(run);
	engine_tell_root(cli, &run->e, *ret);
	if (cli->line.confirm_within_sec == 0 || !run->e.store) {
		report_text(*ret, "confirmed", NULL, NULL);
		return 0;
	}
	r = wait_for_confirmation(cli, run, ret);
	if (r < 0)
		report_free(TAKE_PTR(*ret));
	return r;
}

int verb_apply(struct cli *cli, struct report **ret)
{
	_cleanup_(run_clear) struct run run = { .waiter_fd = -EBADF };

	return cli->line.dry_run ? verb_plan(cli, ret) : apply(cli, &run, ret);
}
