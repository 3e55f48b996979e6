/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/engine.h"

/* Between the files of the engine. */

/* The plan by e->policy, and where the store is open by what mmopt wrote before too. only: plan_options.only. */
int engine_make_plan(struct engine *e, char *const *only);
/* Policy (unless it is there) and plan; says so where nothing is asked for. */
int engine_load_plan_for(struct engine *e, char *const *only);

/* For reading: where it cannot be read, a warning, and e->store stays NULL. -ENOMEM is the only failure. */
int engine_read_store(struct engine *e);
/*
 * For writing, and finishes what a crash left.  No message for -EACCES, -EPERM and -EROFS (the caller knows whether
 * anything has to be written at all); -EBUSY where another transaction runs.  *ret_recovered is always set on success.
 */
int engine_write_store(struct engine *e, struct restore *ret_recovered);

/* What the machine saves now, with a message on failure. */
int engine_measure(struct engine *e, bool what_if, struct savings *ret);
