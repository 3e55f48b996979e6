/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/plan.h"
#include "core/undo.h"

struct apply_options {
	const char *verb;	     /* in the record; NULL: "apply" */
	uint64_t pool_timeout_usec;  /* for growing huge page pools, all together; 0: the default, 30 s */
	uint64_t confirm_within_sec; /* 0: committed at once */
	/* Called before each step with its index, and while a pool grows; may be NULL. */
	void (*progress)(void *userdata, const struct plan *plan, size_t step);
	void *userdata;
};

enum apply_result {
	APPLY_DONE,   /* everything that is not optional is applied, adjusted or already */
	APPLY_PARTLY, /* done, but an item is partial, refused, unsupported or unsafe */
	APPLY_UNDONE, /* an essential item was missed or the engine failed: everything was taken back */
	APPLY_STUCK,  /* likewise, but not everything could be taken back: see the items */
};

/*
 * Applies a plan and fills in each step's outcome, actual, error and reason.  Where nothing is to be written, nothing is:
 * no transaction is recorded either.  store holds the lock.
 * 0 and *ret_result, or a negative errno where nothing was begun (the undo record cannot be written: nothing was changed).
 */
int apply_plan(struct plan *plan, struct facts *facts, struct kernel_io *io, struct undo_store *store,
	       const struct apply_options *options, struct diag_list *diags, enum apply_result *ret_result);

/* What became of one value on the way back. */
enum restore_outcome {
	RESTORE_DONE,	 /* written back and read back */
	RESTORE_ALREADY, /* had its old value */
	RESTORE_FOREIGN, /* someone else changed it since: left as it is */
	RESTORE_FAILED,
};

struct restore_item {
	char *id;
	char *path;
	char *from; /* what it was when looked at, or NULL */
	char *to;   /* the value it had before */
	enum restore_outcome outcome;
	int error;
	char *reason;
};

struct restore {
	struct restore_item *items; /* in the order undone */
	size_t n_items;
	size_t n_transactions; /* how many were undone */
	size_t n_foreign, n_failed;
};

/*
 * Takes transactions back, in reverse, each value only where it is still ours (compare-and-swap).
 * all: every transaction of this boot, to the values before the first; else the last one that is not undone.
 * 0 (also where there was nothing to undo: n_transactions is 0) or a negative errno.
 */
int apply_rollback(struct kernel_io *io, struct undo_store *store, bool all, struct restore *ret);

/*
 * Finishes what a crash left: undoes open transactions, and unconfirmed ones whose deadline is over or whose waiter is gone.
 * now_sec: CLOCK_BOOTTIME.
 */
int apply_recover(struct kernel_io *io, struct undo_store *store, uint64_t now_sec, struct restore *ret);

/*
 * Takes back only the huge page pools that grew in the last transaction, not undone, that grew one; its other values stay, and stay
 * on record.  Nothing is taken from a pool where this kernel would corrupt memory by it.
 * 0 (see the items), -ENOENT where no transaction grew a pool, or another negative errno.
 */
int apply_give_back_pools(struct kernel_io *io, struct undo_store *store, struct restore *ret);

/* Makes the unconfirmed transaction permanent. 0, -ENOENT where there is none. */
int apply_confirm(struct undo_store *store, unsigned *ret_number);

void restore_clear(struct restore *r);
const char *restore_outcome_name(enum restore_outcome outcome); /* "restored", "already", "foreign", "failed" */
