/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "cli/cli.h"
#include "core/apply.h"
#include "core/facts.h"
#include "core/kernel-io.h"
#include "core/plan.h"
#include "core/policy.h"
#include "core/undo.h"

/* The engine's parts, each made when a verb needs it. Each function leaves a message in cli->diags where it fails. */
struct engine {
	struct kernel_io *io;
	int root_fd; /* belongs to io */
	struct facts facts;
	struct policy *policy;
	struct plan *plan;
	struct undo_store *store;
};

int engine_open(struct cli *cli, struct engine *ret);
void engine_clear(struct engine *e);

/* -EBADMSG where the policy has errors; e->policy is there all the same, to be looked at and not to be applied. */
int engine_load_policy(struct cli *cli, struct engine *e);
int engine_plan(struct cli *cli, struct engine *e);
/* Both. */
int engine_load_plan(struct cli *cli, struct engine *e);

/* For reading: where it cannot be read, a warning, and e->store stays NULL. -ENOMEM is the only failure. */
int engine_read_store(struct cli *cli, struct engine *e);
/*
 * For writing, and finishes what a crash left.  No message for -EACCES, -EPERM and -EROFS (the caller knows whether anything
 * has to be written at all); -EBUSY where another transaction runs.  *ret_recovered is always set on success.
 */
int engine_write_store(struct cli *cli, struct engine *e, struct restore *ret_recovered);
/* The same without recovery. */
int engine_lock_store(struct cli *cli, struct engine *e);

/* True for the errors of a place that this process may not write to. */
bool is_write_protected(int error);

/* Below --root: says once, in the text or as a message in JSON, that this machine is as it was. */
void engine_tell_root(struct cli *cli, const struct engine *e, struct report *r);

/* The transaction that waits for confirmation, or NULL. */
const struct transaction *engine_unconfirmed(const struct engine *e);
