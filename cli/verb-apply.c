/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <time.h>

#include "base/strutil.h"
#include "cli/cli.h"
#include "cli/confirm-wait.h"
#include "cli/progress.h"
#include "core/report-views.h"

/* One run of apply. */
struct run {
	struct cli *cli;
	struct engine e;
	struct progress progress;
	sigset_t signals; /* with --confirm-within: what means "go back" while it waits */
	int waiter_fd;	  /* held while it waits, so that everybody knows that somebody does */
};

static void run_clear(struct run *r)
{
	engine_clear(&r->e);
	closep(&r->waiter_fd);
}

static int prepare_wait(struct cli *cli, struct run *run)
{
	int r;

	r = undo_confirm_hold(run->e.root_fd);
	if (r == -EBUSY)
		return diag_error(&cli->diags, r, "another mmoptctl waits for confirmation");
	if (r < 0)
		return diag_error(&cli->diags, r, "cannot lock /run/mmopt/confirm.lock: %s", strerror(-r));
	run->waiter_fd = r;
	r = confirm_block_signals(&run->signals);
	if (r < 0)
		return diag_error(&cli->diags, r, "cannot block signals: %s", strerror(-r));
	return 0;
}

static int before_writing(void *userdata, struct engine *e)
{
	struct run *run = userdata;

	progress_begin(&run->progress, run->cli->line.quiet);
	return run->cli->line.confirm_within_sec > 0 ? prepare_wait(run->cli, run) : 0;
}

static int load_module(void *userdata, struct engine *e, char **ret_reason)
{
	return module_load(e->io, &e->facts, MODULE_MODPROBE, MODULE_KERNEL_LOG, ret_reason);
}

static void show_step(void *userdata, const struct plan *plan, size_t step)
{
	struct run *run = userdata;

	progress_step(&run->progress, plan, step);
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

/* Somebody may be looking at the record just now: the lock is soon free again. */
static int lock_patiently(struct cli *cli, struct engine *e)
{
	struct timespec pause = { .tv_nsec = 100 * 1000 * 1000 };
	struct diag_list kept = cli->diags;
	int r = -EBUSY;

	for (unsigned i = 0; i < 100 && r == -EBUSY; i++) {
		cli->diags = (struct diag_list){};
		r = engine_lock_store(e);
		if (r == -EBUSY)
			nanosleep(&pause, NULL);
		diag_list_clear(&cli->diags);
	}
	cli->diags = kept;
	if (r < 0)
		return diag_error(&cli->diags, r,
				  "the undo record in /run/mmopt cannot be locked, the next start goes back: %s",
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
		return r < 0 ? diag_error(&cli->diags, r, "cannot read the undo record: %s", strerror(-r)) : 0;
	}
	r = apply_rollback(run->e.io, run->e.store, false, &restore);
	if (r < 0)
		return diag_error(&cli->diags, r, "cannot go back: %s", strerror(-r));
	diag_error(&cli->diags, -ECANCELED, "%s: %s", why,
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
		return r < 0 ? diag_error(&cli->diags, r, "cannot read the undo record: %s", strerror(-r)) : 0;
	}
	if (r < 0)
		return diag_error(&cli->diags, r, "cannot write the confirmation: %s", strerror(-r));
	w->state = TRANSACTION_COMMITTED;
	return 0;
}

static int wait_and_decide(struct cli *cli, struct run *run, struct watched *w, uint64_t deadline_sec,
			   struct report **ret)
{
	struct confirm_wait wait = {
		.deadline_sec = deadline_sec,
		.decision_fd = -EBADF,
		.root_fd = run->e.root_fd,
		.quiet = cli->line.quiet,
		.is_decided = is_decided,
		.userdata = w,
	};
	enum confirm_answer answer;
	int r;

	r = confirm_wait(&wait, &run->signals, &answer);
	if (r < 0) {
		diag_error(&cli->diags, r, "cannot wait for the confirmation: %s", strerror(-r));
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
		return go_back(cli, run, w, confirm_answer_text(answer), ret);
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
		diag_error(&cli->diags, -ECANCELED, "taken back from elsewhere");
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

	if (!t)
		return 0;
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
	struct engine_apply_options options = {
		.verb = "apply",
		.pool_timeout_usec = cli->line.pool_timeout_usec,
		.confirm_within_sec = cli->line.confirm_within_sec,
		.before_writing = before_writing,
		.load_module = load_module,
		.progress = show_step,
		.userdata = run,
	};
	enum apply_result result;
	int r;

	r = cli_open_engine(cli, &run->e);
	if (r >= 0)
		r = engine_apply(&run->e, &options, &result, ret);
	progress_end(&run->progress);
	if (r < 0)
		return r;
	cli_tell_root(cli, &run->e, *ret);
	r = wait_for_confirmation(cli, run, ret);
	if (r < 0)
		report_free(TAKE_PTR(*ret));
	return r;
}

int verb_apply(struct cli *cli, struct report **ret)
{
	_cleanup_(run_clear) struct run run = { .cli = cli, .waiter_fd = -EBADF };

	return cli->line.dry_run ? verb_plan(cli, ret) : apply(cli, &run, ret);
}
