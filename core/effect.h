/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/plan.h"
#include "core/undo.h"

/*
 * Looks at the effect of one step beyond its file.  0: as wanted, or nothing to look at here; -EBADE: the effect is not
 * there; -ENOMEM.  *ret_reason (the caller frees) says what was seen: always with -EBADE, sometimes as a remark with 0.
 * *ret_checked tells whether a check ran at all.
 */
int effect_check_step(const struct step *step, struct facts *facts, struct kernel_io *io, bool *ret_checked,
		      char **ret_reason);

/*
 * The same for vm.hugetlb_optimize_vmemmap, which shows in the pools.  grown: some pool has gained pages while it was on.
 * Where the kernel counts optimised pages, none at all is no effect then.
 */
int effect_check_hvo(const struct step *step, bool grown, struct facts *facts, struct kernel_io *io, bool *ret_checked,
		     char **ret_reason);
/* By the record: did mmopt switch it on and make a pool larger after that? */
bool effect_pools_grew(struct undo_store *store);
