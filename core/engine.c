/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/engine.h"

#include "base/clock.h"
#include "base/strutil.h"
#include "core/engine-internal.h"
#include "core/verify.h"

#define POLICY_DIRECTORIES \
	"/etc/mmopt/policy.d, /run/mmopt/policy.d, /usr/local/lib/mmopt/policy.d or /usr/lib/mmopt/policy.d"
#define BOOT_ID "/proc/sys/kernel/random/boot_id"

int engine_open(struct engine *ret, const char *root, struct diag_list *diags)
{
	struct engine e = { .diags = diags, .root = root };
	int r;

	r = kernel_io_open(root, &e.io);
	if (r < 0)
		return diag_error(diags, r, "cannot open the root directory %s: %s", root ?: "/", strerror(-r));
	e.root_fd = kernel_io_root_fd(e.io);
	if (e.root_fd < 0) {
		r = e.root_fd;
		kernel_io_free(e.io);
		return diag_error(diags, r, "cannot open the root directory: %s", strerror(-r));
	}
	r = live_state_read(e.root_fd, &e.live);
	if (r >= 0)
		r = module_note_read(e.root_fd, &e.module_note);
	if (r < 0) {
		live_state_clear(&e.live);
		kernel_io_free(e.io);
		return diag_error(diags, r, "out of memory");
	}
	*ret = e;
	return 0;
}

void engine_clear(struct engine *e)
{
	undo_store_free(e->store);
	plan_free(e->plan);
	if (!e->policy_borrowed)
		policy_free(e->policy);
	live_state_clear(&e->live);
	module_note_clear(&e->module_note);
	facts_clear(&e->facts);
	kernel_io_free(e->io);
	*e = (struct engine){};
}

void engine_use_policy(struct engine *e, struct policy *policy)
{
	e->policy = policy;
	e->policy_borrowed = true;
}

/*
 * Root of a user namespace that is another user outside is not root to the kernel's files, and the owner of a file may
 * have no number there: nothing to guard, and nothing to guard it by.
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

int engine_load_policy(struct engine *e)
{
	/* What anybody may write to must not steer a process of root's. */
	bool check_owner = e->io->live && is_real_root(e->io);
	size_t errors_before = e->diags->n_errors;
	int r;

	if (e->policy)
		return 0;
	r = policy_load(e->root_fd, e->policy_file, &e->facts, e->io, check_owner, e->diags, &e->policy);
	if (r < 0) {
		if (e->diags->n_errors == errors_before)
			diag_error(e->diags, r, "cannot read the policy: %s", strerror(-r));
		return r;
	}
	return e->diags->n_errors > errors_before ? -EBADMSG : 0;
}

/* A plan without a step is most often a mistake: a file in the wrong place, or a [Match] that was thought to hold. */
static void tell_why_nothing_is_asked(struct engine *e)
{
	if (e->policy->n_files == 0)
		diag_notice(e->diags,
			    "there is no policy file (*.conf) in " POLICY_DIRECTORIES "; see mmopt.policy(5)");
	for (size_t i = 0; i < e->policy->n_files; i++) {
		const struct policy_file *f = &e->policy->files[i];

		if (f->masked)
			diag_add(e->diags, DIAG_NOTICE, f->path, 0, NULL, "is empty, or a link to /dev/null");
		else if (!f->masked_by && !f->matched)
			diag_add(e->diags, DIAG_NOTICE, f->path, 0, NULL, "does not count here: %s",
				 f->match_reason ?: "its [Match] does not hold");
	}
}

int engine_make_plan(struct engine *e, char *const *only)
{
	struct plan_options options = {
		.force = e->force,
		.only = only,
		.live = &e->live,
		.module_note = &e->module_note,
	};
	int r;

	r = plan_make(e->policy, &e->facts, e->io, &options, e->diags, &e->plan);
	if (r >= 0 && e->store)
		r = plan_recall(e->plan, e->store);
	if (r < 0)
		return diag_error(e->diags, r, "cannot make a plan: %s", strerror(-r));
	return 0;
}

int engine_load_plan_for(struct engine *e, char *const *only)
{
	int r = engine_load_policy(e);

	if (r >= 0)
		r = engine_make_plan(e, only);
	if (r >= 0 && e->plan->n_steps == 0)
		tell_why_nothing_is_asked(e);
	return r;
}

int engine_load_plan(struct engine *e)
{
	return engine_load_plan_for(e, NULL);
}

/* A captured system may lack it: its records are then those of one nameless boot. */
static char *read_boot_id(struct engine *e)
{
	char *id;

	return kernel_io_read_line(e->io, BOOT_ID, &id) < 0 ? strdup("unknown") : id;
}

int engine_read_store(struct engine *e)
{
	_cleanup_free_ char *boot_id = read_boot_id(e);
	int r;

	if (!boot_id)
		return diag_error(e->diags, -ENOMEM, "out of memory");
	r = undo_store_open(e->root_fd, boot_id, false, &e->store, NULL);
	if (r == -ENOMEM)
		return diag_error(e->diags, r, "out of memory");
	if (r < 0)
		diag_warning(e->diags, "cannot read the undo record in /run/mmopt, ignoring it: %s", strerror(-r));
	return 0;
}

bool is_write_protected(int error)
{
	return error == -EACCES || error == -EPERM || error == -EROFS;
}

static int busy(struct engine *e, int holder)
{
	if (holder > 0)
		return diag_error(e->diags, -EBUSY, "another mmopt transaction is running (pid %d)", holder);
	return diag_error(e->diags, -EBUSY, "another mmopt transaction is running");
}

int engine_lock_store(struct engine *e)
{
	_cleanup_free_ char *boot_id = read_boot_id(e);
	int r, holder = 0;

	if (!boot_id)
		return diag_error(e->diags, -ENOMEM, "out of memory");
	r = undo_store_open(e->root_fd, boot_id, true, &e->store, &holder);
	if (r == -EBUSY)
		return busy(e, holder);
	if (r == -EINVAL)
		return diag_error(
			e->diags, r,
			"a record in /run/mmopt/transactions is damaged, so what it would take back is not known: "
			"look into the files there, and move the damaged one away");
	if (r < 0 && !is_write_protected(r))
		return diag_error(e->diags, r, "the undo record in /run/mmopt cannot be written: %s", strerror(-r));
	return r;
}

static void tell_recovered(struct engine *e, const struct restore *restore)
{
	if (restore->n_transactions == 0)
		return;
	diag_warning(e->diags, "a transaction that was not finished %s (%zu of %zu %s)",
		     restore->n_failed > 0 ? "could be taken back only in part" : "has been taken back",
		     restore->n_items - restore->n_failed - restore->n_foreign, restore->n_items,
		     restore->n_items == 1 ? "value" : "values");
	for (size_t i = 0; i < restore->n_items; i++) {
		const struct restore_item *item = &restore->items[i];

		if (item->outcome == RESTORE_FOREIGN || item->outcome == RESTORE_FAILED)
			diag_warning(e->diags, "%s: not taken back: %s", item->id, item->reason ?: "unknown");
	}
}

int engine_measure(struct engine *e, bool what_if, struct savings *ret)
{
	int r = savings_measure(&e->facts, e->io, what_if, ret);

	return r < 0 ? diag_error(e->diags, r, "cannot reckon up the savings: %s", strerror(-r)) : 0;
}

int engine_write_store(struct engine *e, struct restore *ret_recovered)
{
	int r = engine_lock_store(e);

	if (r < 0)
		return r;
	r = apply_recover(e->io, e->store, clock_usec(CLOCK_BOOTTIME) / USEC_PER_SEC, ret_recovered);
	if (r < 0)
		return diag_error(e->diags, r, "cannot take back what an earlier run left unfinished: %s",
				  strerror(-r));
	tell_recovered(e, ret_recovered);
	return 0;
}

const struct transaction *engine_unconfirmed(const struct engine *e)
{
	const struct transaction *t = NULL;
	size_t n = 0;

	if (e->store)
		t = undo_store_transactions(e->store, &n);
	while (n-- > 0)
		if (t[n].state == TRANSACTION_UNCONFIRMED)
			return &t[n];
	return NULL;
}
