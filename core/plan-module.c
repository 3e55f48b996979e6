/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The one setting that a module of this project can give to a kernel without it. */
#include <inttypes.h>

#include "base/strutil.h"
#include "core/plan-internal.h"

bool plan_lacks_module(const struct plan *plan, const struct step *step, struct kernel_io *io)
{
	return plan->may_load_module && streq(step->id, MODULE_TUNABLE) && !kernel_io_exists(io, MODULE_SYSCTL);
}

/* "what; auto: why this value": what is said of the module does not take the place of the reason for the value. */
static int settle(struct step *step, const struct facts *facts, enum step_action action, enum outcome outcome,
		  char *what)
{
	_cleanup_free_ char *text = what;
	struct auto_choice choice = {};

	if (!text || !step->is_auto)
		return step_settle(step, action, outcome, TAKE_PTR(text));
	step->ref.tunable->auto_rule(facts, &choice);
	return step_settle(step, action, outcome, xasprintf("%s; auto: %s", text, choice.reason));
}

static char *tell_loading(bool hidden)
{
	return xasprintf(
		"the module " MODULE_NAME " is loaded first%s, and marks the kernel as tainted",
		hidden ? ", if it is built for this kernel (not to be seen from a confined mmoptd: mmoptctl plan "
			 "--direct tells)"
		       : "");
}

int plan_settle_by_module(const struct plan *plan, struct step *step, struct facts *facts, struct kernel_io *io)
{
	_cleanup_free_ char *obstacle = NULL;
	bool hidden;
	int r;

	/* Nothing to taint a kernel for. */
	if (streq(step->wanted, "-1"))
		return settle(step, facts, STEP_KEEP, OUTCOME_ALREADY,
			      strdup("this kernel does so, without the module " MODULE_NAME));
	r = module_obstacle(io, facts, &hidden, &obstacle);
	if (r < 0)
		return r;
	if (obstacle)
		return step_settle(
			step, STEP_REFUSE, OUTCOME_UNSUPPORTED,
			xasprintf("this kernel does not have it, and " MODULE_NAME " cannot be loaded: %s", obstacle));
	if (plan->module_note && plan->module_note->state == MODULE_REFUSED)
		return step_settle(step, STEP_REFUSE, step->is_auto ? OUTCOME_UNSUPPORTED : OUTCOME_REFUSED,
				   xasprintf(MODULE_NAME " was not loaded: %s; mmoptctl apply tries again",
					     plan->module_note->reason));
	step->load_module = step->differs = true;
	if (plan->module_note && plan->module_note->state == MODULE_LEFT)
		return plan_leave_loading(step, facts);
	return settle(step, facts, STEP_KEEP, OUTCOME_PENDING, tell_loading(hidden));
}

int plan_leave_loading(struct step *step, const struct facts *facts)
{
	return settle(step, facts, STEP_KEEP, OUTCOME_PENDING,
		      strdup("mmoptd loads the module " MODULE_NAME " and sets it, as soon as it runs"));
}

/* What the kernel says of itself now, which is what a vendor's support will ask about. */
static char *tell_loaded(struct kernel_io *io)
{
	uint64_t tainted;

	if (kernel_io_read_u64(io, "/proc/sys/kernel/tainted", &tainted) < 0)
		return strdup("the module " MODULE_NAME " was loaded for it");
	return xasprintf("the module " MODULE_NAME " was loaded for it (kernel.tainted is now %" PRIu64 ")", tainted);
}

int plan_after_loading(const struct plan *plan, struct step *step, struct facts *facts, struct kernel_io *io,
		       const char *reason)
{
	int r;

	step->load_module = step->differs = false;
	if (!kernel_io_exists(io, MODULE_SYSCTL))
		return step_settle(step, STEP_REFUSE, step->is_auto ? OUTCOME_UNSUPPORTED : OUTCOME_REFUSED,
				   xasprintf("the module " MODULE_NAME " could not be loaded: %s",
					     reason ?: "it is said to be there, yet there is no " MODULE_SYSCTL));
	step->lacks_module = false;
	step->loaded_module = true;
	r = plan_read_current(step, facts, io);
	if (r < 0 || step->action == STEP_REFUSE)
		return r;
	r = settle(step, facts, STEP_KEEP, OUTCOME_PENDING, tell_loaded(io));
	return r < 0 ? r : plan_settle_by_value(plan, step);
}
