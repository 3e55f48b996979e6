/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/plan.h"

/* Between the files of the plan. */

/* Settles a step that will not be written. reason is taken over; NULL counts as lack of memory: -ENOMEM. */
int step_settle(struct step *step, enum step_action action, enum outcome outcome, char *reason);

/* Why this kernel cannot optimise huge pages' struct pages; NULL on lack of memory. */
char *plan_why_no_hvo(const struct facts *facts);
/* Why there is no such file here, as far as can be seen: the kernel is too old, a build option, a page size. */
char *plan_why_unsupported(const struct step *step, const struct facts *facts, struct kernel_io *io);

/*
 * Would taking pages out of a pool free pages whose struct pages this kernel restores wrongly?  Switching HVO off does not help those
 * that are optimised already, so the counters decide, and where they do not tell the answer is yes.  Looks at the struct page facts.
 */
bool pool_shrink_corrupts(const struct facts *facts, struct kernel_io *io);

/* Steps that mmopt refuses although the kernel would do them: broken HVO, too little memory left, commit limit. */
int plan_guard(struct plan *plan, const struct policy *policy, const struct plan_options *options, struct facts *facts,
	       struct kernel_io *io, struct diag_list *diags);

/* A share in permyriad (10000 is all of it), without loss and overflow. */
static inline uint64_t share_of(uint64_t bytes, uint32_t permyriad)
{
	return (uint64_t)((unsigned __int128)bytes * permyriad / 10000);
}

/* Sums of a plan that asks for the absurd must not come out small: where they do not fit, they are as large as can be. */
static inline uint64_t times_of(uint64_t a, uint64_t b)
{
	uint64_t n;

	return __builtin_mul_overflow(a, b, &n) ? UINT64_MAX : n;
}

static inline uint64_t sum_of(uint64_t a, uint64_t b)
{
	uint64_t n;

	return __builtin_add_overflow(a, b, &n) ? UINT64_MAX : n;
}

/* For showing. */
static inline int64_t signed_of(uint64_t n)
{
	return (int64_t)MIN(n, (uint64_t)INT64_MAX);
}

/* Compares current with wanted: settles the step, or leaves it to be set. 0 or -ENOMEM. */
int plan_settle_by_value(const struct plan *plan, struct step *step);

/*
 * plan-boot.c: settles a kernel parameter.  It counts by its effect where a file shows it, since the line itself can be
 * written in several ways. 0 or -ENOMEM.
 */
int plan_settle_boot(struct step *step, const struct facts *facts, struct kernel_io *io);
/*
 * Once all steps are there: finds what is on the command line already and keeps those that are to be added from their effect, or would itself
 * become something else.  The kernel takes the first pair of a size and the first default size, of most others the last. 0 or
 * -ENOMEM.
 */
int plan_check_boot_line(struct plan *plan, const struct facts *facts, struct kernel_io *io);

/* Reads the step's file: sets path and current, or settles the step where that cannot be. 0 or -ENOMEM. */
int plan_read_current(struct step *step, const struct facts *facts, struct kernel_io *io);

/* plan-module.c: is this the file that comes with the module, is it missing, and may the module be loaded? */
bool plan_lacks_module(const struct plan *plan, const struct step *step, struct kernel_io *io);
/* What is wanted of it is known: whether the module is loaded for that. 0 or -ENOMEM. */
int plan_settle_by_module(const struct plan *plan, struct step *step, struct facts *facts, struct kernel_io *io);

/* What the machine will have once the plan is applied: wanted where it will be written, else current; 0 where unknown. */
int64_t plan_future_number(const struct plan *plan, struct kernel_io *io, const char *id);

/* Huge pages: a step of a pool, and how many pages it will add (0 where none). */
bool step_is_pool(const struct step *step);
uint64_t step_pool_growth(const struct step *step);
