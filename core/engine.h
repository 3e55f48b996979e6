/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/apply.h"
#include "core/diag.h"
#include "core/export.h"
#include "core/facts.h"
#include "core/kernel-io.h"
#include "core/live-state.h"
#include "core/plan.h"
#include "core/policy.h"
#include "core/report.h"
#include "core/savings.h"
#include "core/undo.h"

/*
 * One run of the engine from the policy to a report: what mmoptctl and mmoptd both do, so that both say the same.
 * Where a function fails, the reason is a message in *diags.  A run is used for one verb and then cleared.
 */
struct engine {
	struct diag_list *diags; /* borrowed */
	struct kernel_io *io;
	int root_fd;		 /* belongs to io */
	const char *root;	 /* borrowed, or NULL: the running machine */
	const char *policy_file; /* borrowed: this file alone, or NULL */
	bool force;		 /* plan_options.force */
	/*
	 * For confirm and rollback: this transaction and no other, and only while it waits for its confirmation. 0: the
	 * last.
	 */
	unsigned only_transaction;
	struct facts facts;
	struct policy *policy;
	bool policy_borrowed; /* engine_use_policy() */
	struct plan *plan;
	struct undo_store *store;
	struct live_state live;		/* what a running mmoptd says of itself */
	struct module_note module_note; /* how an earlier try to load the module ended, for the verbs that look */
};

/* root NULL: the running machine.  The live state of a running mmoptd is read (without one it says so, no error). */
int engine_open(struct engine *ret, const char *root, struct diag_list *diags);
void engine_clear(struct engine *e);

/* The run takes this policy instead of reading one; it stays the caller's. */
void engine_use_policy(struct engine *e, struct policy *policy);

/* -EBADMSG where the policy has errors; e->policy is there all the same, to be looked at and not to be applied. */
int engine_load_policy(struct engine *e);
/* Policy (unless it is there) and plan. */
int engine_load_plan(struct engine *e);

/* The transaction that waits for confirmation, or NULL. */
const struct transaction *engine_unconfirmed(const struct engine *e);

/* The verbs that look and write nothing to the kernel. 0 and *ret, or a negative errno with a message. */
int engine_status(struct engine *e, struct report **ret);
int engine_facts(struct engine *e, struct report **ret);
int engine_plan(struct engine *e, struct report **ret);
int engine_verify(struct engine *e, struct report **ret);
int engine_savings(struct engine *e, bool what_if, struct report **ret);
int engine_list(struct engine *e, struct report **ret);
int engine_explain(struct engine *e, const char *id, struct report **ret);
int engine_history(struct engine *e, struct report **ret);
/* files: n of them; none: the installed policy. */
int engine_check(struct engine *e, char *const *files, size_t n_files, struct report **ret);
/* What the policy wants on the kernel command line, what is there, and where it goes. */
int engine_boot_status(struct engine *e, struct report **ret);
/* resolve: what depends on the machine is taken as it comes to on this one; core/export.h. */
int engine_export(struct engine *e, enum export_format format, bool resolve, struct report **ret);
/* Metrics for node_exporter's textfile collector, see core/report-metrics.h; the caller frees *ret. */
int engine_metrics(struct engine *e, char **ret);

struct engine_apply_options {
	uint64_t pool_timeout_usec;
	uint64_t confirm_within_sec; /* 0: committed at once. Else somebody has to hold undo_confirm_hold(). */
	/* Only these ids are written (a NULL-terminated array), the others are left as they are; NULL: all. */
	char *const *only;
	const char *verb; /* in the record: "apply", "reapply", "memory" */
	/*
	 * Called once, when the lock is held, the plan is made and nothing is written yet; a negative errno (with a
	 * message) ends it there.  May be NULL.
	 */
	int (*before_writing)(void *userdata, struct engine *e);
	/*
	 * Called after that, and only on the running machine, where an item of the plan waits for the kernel module
	 * (core/module.h): tries to load it.  *ret_reason: why it could not be, as far as known, or NULL; the caller frees
	 * it.  What counts is whether the kernel's file is there then.  0 or -ENOMEM.
	 * NULL: this program cannot load it, and leaves that to mmoptd.
	 */
	int (*load_module)(void *userdata, struct engine *e, char **ret_reason);
	void (*progress)(void *userdata, const struct plan *plan, size_t step);
	void *userdata;
};

/*
 * Applies: takes the lock, finishes what a crash left, plans, writes, measures.  e->plan holds what became of each
 * item, *ret_result how it ended.  e->store stays open (NULL where nothing could be recorded and nothing was to be
 * written).
 * The report still lacks its member "confirmed" where a transaction waits now (engine_unconfirmed()): a boolean, for
 * whoever waits.
 */
int engine_apply(struct engine *e, const struct engine_apply_options *options, enum apply_result *ret_result,
		 struct report **ret);
/* The same with *ret_number, the transaction that is now permanent. */
int engine_confirm(struct engine *e, unsigned *ret_number, struct report **ret);
/* *ret_restore (may be NULL) belongs to the caller. */
int engine_rollback(struct engine *e, bool all, struct restore *ret_restore, struct report **ret);
/*
 * Takes back only the huge page pools that the last transaction grew; its other values stay, and on record.  -ENOENT
 * where there is nothing of that kind.
 */
int engine_give_back_pools(struct engine *e, struct restore *ret_restore, struct report **ret);
/*
 * Only finishes what an earlier run left: open transactions, and unconfirmed ones whose deadline is over or that nobody
 * waits for. ret->n_transactions is 0 where there was nothing.
 */
int engine_recover(struct engine *e, struct restore *ret);

/*
 * Opens the record for writing and takes its lock, without recovery, for what comes after a wait. 0, -EBUSY, or another
 * negative errno; no message for the errors of is_write_protected().
 */
int engine_lock_store(struct engine *e);

/* True for the errors of a place that this process may not write to. */
bool is_write_protected(int error);
