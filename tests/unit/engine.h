/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/apply.h"
#include "core/plan.h"
#include "core/policy.h"
#include "core/undo.h"
#include "core/verify.h"
#include "temp-dir.h"
#include "tests/fake-kernel.h"

#define BOOT_ID "11111111-2222-3333-4444-555555555555"

/* The whole engine over a kernel in memory, from policy text to outcomes: `_cleanup_(engine_donep) struct engine e = ...`. */
struct engine {
	struct temp_dir dir; /* where the undo record lives */
	struct fake_kernel *kernel;
	struct kernel_io *io;
	struct facts facts;
	struct diag_list diags;
	struct policy *policy;
	struct plan *plan;
	struct undo_store *store;
	enum apply_result result;
	void (*preset)(struct facts *facts); /* facts that this kernel in memory cannot give; may be NULL */
};

static inline struct engine engine_make(struct fake_kernel *kernel)
{
	struct engine e = { .dir = temp_dir_make(), .kernel = kernel };

	assert_non_null(kernel);
	e.io = fake_kernel_io(kernel);
	return e;
}

static inline void engine_forget_plan(struct engine *e)
{
	plan_free(TAKE_PTR(e->plan));
	policy_free(TAKE_PTR(e->policy));
	diag_list_clear(&e->diags);
	facts_clear(&e->facts);
}

static inline void engine_donep(struct engine *e)
{
	engine_forget_plan(e);
	undo_store_free(e->store);
	kernel_io_free(e->io);
	temp_dir_donep(&e->dir);
}

/* A fresh start of mmopt: the lock is taken anew, records are read again. */
static inline void engine_restart(struct engine *e)
{
	undo_store_free(TAKE_PTR(e->store));
	assert_int_equal(undo_store_open(e->dir.fd, BOOT_ID, true, &e->store, NULL), 0);
}

static inline void engine_plan_with(struct engine *e, const char *text, const struct plan_options *options)
{
	engine_forget_plan(e);
	if (e->preset)
		e->preset(&e->facts);
	assert_int_equal(policy_load_text("50-test.conf", text, strlen(text), NULL, NULL, &e->diags, &e->policy), 0);
	for (size_t i = 0; i < e->diags.n; i++)
		if (e->diags.items[i].severity == DIAG_ERROR)
			fail_msg("policy: %s", e->diags.items[i].text);
	assert_int_equal(plan_make(e->policy, &e->facts, e->io, options, &e->diags, &e->plan), 0);
}

static inline void engine_plan(struct engine *e, const char *text)
{
	engine_plan_with(e, text, &(struct plan_options){});
}

static inline int engine_try_apply(struct engine *e)
{
	if (!e->store)
		engine_restart(e);
	return apply_plan(e->plan, &e->facts, e->io, e->store, &(struct apply_options){}, &e->diags, &e->result);
}

static inline void engine_apply(struct engine *e, const char *text)
{
	engine_plan(e, text);
	assert_int_equal(engine_try_apply(e), 0);
}

static inline struct step *engine_step(struct engine *e, const char *id)
{
	for (size_t i = 0; i < e->plan->n_steps; i++)
		if (streq(e->plan->steps[i].id, id))
			return &e->plan->steps[i];
	fail_msg("no step %s", id);
	return NULL;
}

static inline void engine_expect(struct engine *e, const char *id, enum outcome outcome)
{
	struct step *step = engine_step(e, id);

	if (step->outcome != outcome)
		fail_msg("%s is %s, not %s: %s", id, outcome_name(step->outcome), outcome_name(outcome),
			 step->reason ?: "no reason");
}

static inline void engine_expect_reason(struct engine *e, const char *id, const char *part)
{
	struct step *step = engine_step(e, id);

	if (!step->reason || !strstr(step->reason, part))
		fail_msg("%s: \"%s\" does not say \"%s\"", id, step->reason ?: "", part);
}

static inline void engine_expect_value(struct engine *e, const char *path, const char *value)
{
	const char *now = fake_kernel_get(e->kernel, path);

	assert_non_null(now);
	assert_string_equal(now, value);
}
