/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/engine.h"

#include "base/clock.h"
#include "base/strutil.h"
#include "core/verify.h"

#define POLICY_DIRECTORIES \
	"/etc/mmopt/policy.d, /run/mmopt/policy.d, /usr/local/lib/mmopt/policy.d or /usr/lib/mmopt/policy.d"
#define BOOT_ID "/proc/sys/kernel/random/boot_id"

int engine_open(struct cli *cli, struct engine *ret)
{
	struct engine e = {};
	int r;

	r = kernel_io_open(cli->line.root, &e.io);
	if (r < 0)
		return cli_error(cli, r, "cannot open the root directory %s: %s", cli->line.root ?: "/", strerror(-r));
	e.root_fd = kernel_io_root_fd(e.io);
	if (e.root_fd < 0) {
		r = e.root_fd;
		kernel_io_free(e.io);
		return cli_error(cli, r, "cannot open the root directory: %s", strerror(-r));
	}
	*ret = e;
	return 0;
}

void engine_clear(struct engine *e)
{
	undo_store_free(e->store);
	plan_free(e->plan);
	policy_free(e->policy);
	facts_clear(&e->facts);
	kernel_io_free(e->io);
	*e = (struct engine){};
}

/*
 * Root of a user namespace that is another user outside is not root to the kernel's files, and the owner of a file may have
 * no number there: nothing to guard, and nothing to guard it by.
 */
static bool is_real_root(struct kernel_io *io)
{
	_cleanup_(strv_freep) char **words = NULL;
	_cleanup_free_ char *map = NULL;

	if (geteuid() != 0)
		return false;
	if (kernel_io_read_line(io, "/proc/self/uid_map", &map) < 0 || strv_split(map, &words) < 0)
		return true;
	return strv_length(words) < 3 || !streq(words[0], "0") || streq(words[1], "0");
}

int engine_load_policy(struct cli *cli, struct engine *e)
{
	/* What anybody may write to must not steer a process of root's. */
	bool check_owner = e->io->live && is_real_root(e->io);
	size_t errors_before = cli->diags.n_errors;
	int r;

	r = policy_load(e->root_fd, cli->line.policy, &e->facts, e->io, check_owner, &cli->diags, &e->policy);
	if (r < 0) {
		if (cli->diags.n_errors == errors_before)
			cli_error(cli, r, "cannot read the policy: %s", strerror(-r));
		return r;
	}
	return cli->diags.n_errors > errors_before ? -EBADMSG : 0;
}

/* A plan without a step is most often a mistake: a file in the wrong place, or a [Match] that was thought to hold. */
static void tell_why_nothing_is_asked(struct cli *cli, const struct policy *policy)
{
	if (policy->n_files == 0)
		cli_notice(cli, "there is no policy file (*.conf) in " POLICY_DIRECTORIES "; see mmopt.policy(5)");
	for (size_t i = 0; i < policy->n_files; i++) {
		const struct policy_file *f = &policy->files[i];

		if (f->masked)
			diag_add(&cli->diags, DIAG_NOTICE, f->path, 0, NULL, "is empty, or a link to /dev/null");
		else if (!f->masked_by && !f->matched)
			diag_add(&cli->diags, DIAG_NOTICE, f->path, 0, NULL, "does not count here: %s",
				 f->match_reason ?: "its [Match] does not hold");
	}
}

int engine_plan(struct cli *cli, struct engine *e)
{
	struct plan_options options = { .force = cli->line.force };
	int r;

	r = plan_make(e->policy, &e->facts, e->io, &options, &cli->diags, &e->plan);
	if (r >= 0 && e->store)
		r = plan_recall(e->plan, e->store);
	if (r < 0)
		return cli_error(cli, r, "cannot make a plan: %s", strerror(-r));
	return 0;
}

int engine_load_plan(struct cli *cli, struct engine *e)
{
	int r = engine_load_policy(cli, e);

	if (r >= 0)
		r = engine_plan(cli, e);
	if (r >= 0 && e->plan->n_steps == 0)
		tell_why_nothing_is_asked(cli, e->policy);
	return r;
}

/* A captured system may lack it: its records are then those of one nameless boot. */
static char *read_boot_id(struct engine *e)
{
	char *id;

	return kernel_io_read_line(e->io, BOOT_ID, &id) < 0 ? strdup("unknown") : id;
}

int engine_read_store(struct cli *cli, struct engine *e)
{
	_cleanup_free_ char *boot_id = read_boot_id(e);
	int r;

	if (!boot_id)
		return cli_error(cli, -ENOMEM, "out of memory");
	r = undo_store_open(e->root_fd, boot_id, false, &e->store, NULL);
	if (r == -ENOMEM)
		return cli_error(cli, r, "out of memory");
	if (r < 0)
		cli_warning(cli, "cannot read the undo record in /run/mmopt, ignoring it: %s", strerror(-r));
	return 0;
}

bool is_write_protected(int error)
{
	return error == -EACCES || error == -EPERM || error == -EROFS;
}

static int busy(struct cli *cli, int holder)
{
	if (holder > 0)
		return cli_error(cli, -EBUSY, "another mmopt transaction is running (pid %d)", holder);
	return cli_error(cli, -EBUSY, "another mmopt transaction is running");
}

int engine_lock_store(struct cli *cli, struct engine *e)
{
	_cleanup_free_ char *boot_id = read_boot_id(e);
	int r, holder = 0;

	if (!boot_id)
		return cli_error(cli, -ENOMEM, "out of memory");
	r = undo_store_open(e->root_fd, boot_id, true, &e->store, &holder);
	if (r == -EBUSY)
		return busy(cli, holder);
	if (r == -EINVAL)
		return cli_error(
			cli, r,
			"a record in /run/mmopt/transactions is damaged, so what it would take back is not known: "
			"look into the files there, and move the damaged one away");
	if (r < 0 && !is_write_protected(r))
		return cli_error(cli, r, "the undo record in /run/mmopt cannot be written: %s", strerror(-r));
	return r;
}

static void tell_recovered(struct cli *cli, const struct restore *restore)
{
	if (restore->n_transactions == 0)
		return;
	cli_warning(cli, "a transaction that was not finished %s (%zu of %zu %s)",
		    restore->n_failed > 0 ? "could be taken back only in part" : "has been taken back",
		    restore->n_items - restore->n_failed - restore->n_foreign, restore->n_items,
		    restore->n_items == 1 ? "value" : "values");
	for (size_t i = 0; i < restore->n_items; i++) {
		const struct restore_item *item = &restore->items[i];

		if (item->outcome == RESTORE_FOREIGN || item->outcome == RESTORE_FAILED)
			cli_warning(cli, "%s: not taken back: %s", item->id, item->reason ?: "unknown");
	}
}

int engine_write_store(struct cli *cli, struct engine *e, struct restore *ret_recovered)
{
	int r = engine_lock_store(cli, e);

	if (r < 0)
		return r;
	r = apply_recover(e->io, e->store, clock_usec(CLOCK_BOOTTIME) / USEC_PER_SEC, ret_recovered);
	if (r < 0)
		return cli_error(cli, r, "cannot take back what an earlier run left unfinished: %s", strerror(-r));
	tell_recovered(cli, ret_recovered);
	return 0;
}

void engine_tell_root(struct cli *cli, const struct engine *e, struct report *r)
{
	static const char format[] = "below %s only: nothing on this machine was changed";

	if (e->io->live)
		return;
	if (cli->line.json == JSON_OFF)
		report_line(r, format, cli->line.root);
	else
		cli_notice(cli, format, cli->line.root);
}

const struct transaction *engine_unconfirmed(const struct engine *e)
{
	size_t n = 0;
	const struct transaction *t = undo_store_transactions(e->store, &n);

	while (n-- > 0)
		if (t[n].state == TRANSACTION_UNCONFIRMED)
			return &t[n];
	return NULL;
}
