/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/apply.h"

/* Between apply.c, apply-pool.c and restore.c. */

struct apply_context {
	struct plan *plan;
	struct facts *facts;
	struct kernel_io *io;
	struct undo_store *store;
	const struct apply_options *options;
	struct diag_list *diags;
	char *present;		     /* canonical: what the file of the step at hand held just before the first write */
	uint64_t pool_deadline_usec; /* CLOCK_MONOTONIC; 0 until the first pool */
	unsigned n_unwritable;	     /* items that cannot be set from inside this container */
	int unwritable_error;	     /* of the last of them */
	const char *unwritable_path;
};

/*
 * Writes, reads back and records what was read; the undo record for the file is in place already.  *ret_write_error is what the
 * write said (0 or a negative errno), step->actual what the file says afterwards (NULL where it cannot be read).
 * A negative result is the engine's own failure (the record could not be written).
 */
int apply_write(struct apply_context *c, struct step *step, const char *value, int *ret_write_error);

/* Reads c->present: an earlier step may have moved the value since the plan was made. 0 or -ENOMEM. */
int apply_look(struct apply_context *c, struct step *step);

/*
 * Where an earlier item has moved the value since the plan was made it may be as wanted now (a floor that THP has lifted already):
 * then the step is settled, *ret is true, and nothing is to be written.  0 or -ENOMEM.
 */
int apply_settled_meanwhile(struct apply_context *c, struct step *step, bool *ret);

/* The kernel said no: sets outcome, error and reason, and puts back what a failed write may have changed. */
int apply_refused(struct apply_context *c, struct step *step, int error);

/* Grows or shrinks a huge page pool; sets outcome and reason. Result as apply_write(). */
int apply_pool(struct apply_context *c, struct step *step);

/* Takes the entries of a transaction back, newest first, and appends what became of each to *ret. 0 or -ENOMEM. */
int restore_transaction(struct kernel_io *io, struct undo_store *store, const struct transaction *t,
			struct restore *ret);

/* printf into step->reason. 0 or -ENOMEM. */
int step_reason(struct step *step, const char *fmt, ...) _printf_(2, 3);
