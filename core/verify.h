/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/plan.h"
#include "core/undo.h"

/*
 * A value that the kernel made of what mmopt wrote earlier in this boot (a mask without the bits that the hardware lacks) is as wanted:
 * writing it again would give the same.  Settles such steps, and says of the others who changed what mmopt had set. 0 or -ENOMEM.
 */
int plan_recall(struct plan *plan, struct undo_store *store);

/*
 * Compares the machine with the plan and writes nothing: fills in actual, outcome (already, adjusted, drifted, partial, ...),
 * differs and reason, with the effect checks that need no writing.
 * store (may be NULL) knows what mmopt itself wrote in this boot, which tells drift from "never applied".
 */
int verify_plan(struct plan *plan, struct facts *facts, struct kernel_io *io, struct undo_store *store);
