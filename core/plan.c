/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>

#include "base/number.h"
#include "base/strutil.h"
#include "base/time-span.h"
#include "core/plan-internal.h"

static const char *const outcome_names[] = {
	[OUTCOME_PENDING] = "pending",
	[OUTCOME_APPLIED] = "applied",
	[OUTCOME_ALREADY] = "already",
	[OUTCOME_ADJUSTED] = "adjusted",
	[OUTCOME_PARTIAL] = "partial",
	[OUTCOME_REFUSED] = "refused",
	[OUTCOME_UNSUPPORTED] = "unsupported",
	[OUTCOME_UNSAFE] = "unsafe",
	[OUTCOME_PENDING_REBOOT] = "pending-reboot",
	[OUTCOME_DRIFTED] = "drifted",
	[OUTCOME_SKIPPED] = "skipped",
};

const char *outcome_name(enum outcome outcome)
{
	return outcome_names[outcome];
}

static void step_clear(struct step *step)
{
	tunable_ref_clear(&step->ref);
	free(step->id);
	free(step->path);
	free(step->current);
	free(step->wanted);
	free(step->actual);
	free(step->reason);
	free(step->writer_comm);
	free(step->conflict);
}

void plan_free(struct plan *plan)
{
	if (!plan)
		return;
	for (size_t i = 0; i < plan->n_steps; i++)
		step_clear(&plan->steps[i]);
	free(plan->steps);
	free(plan->refused);
	free(plan);
}

struct step *plan_find(const struct plan *plan, const char *id)
{
	for (size_t i = 0; i < plan->n_steps; i++)
		if (streq(plan->steps[i].id, id))
			return &plan->steps[i];
	return NULL;
}

int step_settle(struct step *step, enum step_action action, enum outcome outcome, char *reason)
{
	step->action = action;
	step->outcome = outcome;
	free(step->reason);
	step->reason = reason;
	return reason ? 0 : -ENOMEM;
}

/* Bytes that one page of this row's unit stands for; 0 where it is not known. */
static uint64_t page_bytes_of(const struct tunable_ref *ref, const struct facts *facts)
{
	uint64_t n = 0;

	if (ref->size_bytes)
		return ref->size_bytes;
	if (ref->tunable->unit == UNIT_HUGE_PAGES)
		facts_number(facts, FACT_HUGETLB_DEFAULT_SIZE, &n);
	else
		facts_number(facts, FACT_PAGE_SIZE, &n);
	return n;
}

static int number_text(int64_t number, char **ret)
{
	_cleanup_(value_clear) struct value v = {};
	int r = value_from_number(number, &v);

	if (r < 0)
		return r;
	*ret = TAKE_PTR(v.text);
	return 0;
}

static int want_bytes(struct step *step, const struct facts *facts, uint64_t bytes)
{
	uint64_t unit = value_unit_bytes(step->ref.tunable->unit, page_bytes_of(&step->ref, facts));

	if (unit == 0)
		return step_settle(step, STEP_REFUSE, OUTCOME_UNSUPPORTED,
				   strdup("the page size this is counted in is not known here"));
	return number_text((int64_t)(bytes / unit), &step->wanted);
}

static int want_percent(struct step *step, const struct facts *facts, uint32_t permyriad)
{
	uint64_t online;

	if (facts_number(facts, FACT_MEMORY_ONLINE, &online) < 0)
		return step_settle(step, STEP_REFUSE, OUTCOME_UNSUPPORTED,
				   strdup("the size of memory is not known here"));
	return want_bytes(step, facts, share_of(online, permyriad));
}

static int want_auto(struct step *step, const struct facts *facts)
{
	const struct tunable *t = step->ref.tunable;
	_cleanup_(value_clear) struct value v = {};
	struct auto_choice choice = {};
	int r;

	step->is_auto = true;
	t->auto_rule(facts, &choice);
	if (choice.keep)
		return step_settle(step, STEP_KEEP, OUTCOME_ALREADY, xasprintf("auto: %s", choice.reason));
	r = value_from_policy(t->kind, t->style, t->unit, page_bytes_of(&step->ref, facts), choice.value, &v);
	if (r < 0)
		return r;
	step->wanted = TAKE_PTR(v.text);
	step->reason = xasprintf("auto: %s", choice.reason);
	return step->reason ? 0 : -ENOMEM;
}

static int want(struct step *step, const struct setting *s, const struct facts *facts)
{
	switch (s->form) {
	case SETTING_VALUE:
		step->wanted = strdup(s->value.text);
		return step->wanted ? 0 : -ENOMEM;
	case SETTING_AUTO:
		return want_auto(step, facts);
	case SETTING_PERCENT:
		return want_percent(step, facts, s->permyriad);
	case SETTING_BYTES:
		return want_bytes(step, facts, s->bytes);
	case SETTING_KEEP:
		break;
	}
	return 0;
}

/* Finds the row's file: its own, else the alias. */
int plan_read_current(struct step *step, const struct facts *facts, struct kernel_io *io)
{
	_cleanup_free_ char *path = tunable_ref_path(&step->ref), *alias = tunable_ref_alias_path(&step->ref);
	int r;

	if (!path)
		return -ENOMEM;
	if (!kernel_io_exists(io, path)) {
		if (!alias || !kernel_io_exists(io, alias))
			return step_settle(step, STEP_REFUSE, OUTCOME_UNSUPPORTED,
					   plan_why_unsupported(step, facts, io));
		free(path);
		path = TAKE_PTR(alias);
	}
	r = tunable_read(io, step->ref.tunable, path, &step->current);
	if (r == -ENOMEM)
		return r;
	if (r == -EINVAL || r == -ERANGE)
		return step_settle(step, STEP_REFUSE, OUTCOME_UNSUPPORTED,
				   xasprintf("%s does not hold %s %s value as expected", path,
					     step->ref.tunable->kind == VALUE_INTEGER ? "an" : "a",
					     value_kind_name(step->ref.tunable->kind)));
	if (r < 0)
		return step_settle(step, STEP_REFUSE, OUTCOME_REFUSED,
				   xasprintf("%s cannot be read: %s", path, strerror(-r)));
	step->path = TAKE_PTR(path);
	return 0;
}

static bool pool_may_stay(const struct plan *plan, const struct step *step, int64_t wanted, int64_t current)
{
	return step_is_pool(step) && current > wanted && step->relation != RELATION_AT_MOST && !plan->shrink;
}

int plan_settle_by_value(const struct plan *plan, struct step *step)
{
	int64_t wanted, current;
	enum outcome o = tunable_compare(step->ref.tunable, step->relation, step->wanted, step->current);
	bool numbers = parse_i64(step->wanted, &wanted) >= 0 && parse_i64(step->current, &current) >= 0;

	if (o == OUTCOME_APPLIED) {
		step->action = STEP_KEEP;
		step->outcome = OUTCOME_ALREADY;
		return 0;
	}
	if (numbers && pool_may_stay(plan, step, wanted, current))
		return step_settle(step, STEP_KEEP, OUTCOME_ALREADY,
				   xasprintf("%" PRId64 " >= %" PRId64
					     ", not shrunk (pools only grow unless [hugetlb] says shrink = yes)",
					     current, wanted));
	if (o == OUTCOME_ADJUSTED && step->relation != RELATION_EQUAL) {
		step->action = STEP_KEEP;
		step->outcome = OUTCOME_ALREADY;
		return 0;
	}
	/* What the kernel makes of the value each time it is written is as good as the value. */
	if (o == OUTCOME_ADJUSTED &&
	    (step->ref.tunable->compare == COMPARE_POWER_OF_2 || step->ref.tunable->compare == COMPARE_LIST_ZEROES))
		return step_settle(step, STEP_KEEP, OUTCOME_ALREADY,
				   xasprintf("the kernel holds %s for %s", step->current, step->wanted));
	step->action = STEP_SET;
	step->outcome = OUTCOME_PENDING;
	step->differs = true;
	return 0;
}

/* Nothing is written for it: mmoptd takes the huge zero page, or lets go of it, when it has applied the policy. */
static int leave_to_daemon(struct step *step, const struct facts *facts, bool hold)
{
	uint64_t bytes = 0;
	char size[24];

	facts_number(facts, FACT_THP_PMD_SIZE, &bytes);
	step->differs = true;
	step->cost_bytes = hold ? signed_of(bytes) : -signed_of(bytes);
	return step_settle(step, STEP_KEEP, OUTCOME_PENDING,
			   xasprintf(hold ? "mmoptd takes it (%s) as soon as it has read the policy"
					  : "mmoptd lets go of it (%s) as soon as it has read the policy",
				     format_size_exact(bytes, size)));
}

static int settle_held(struct step *step, const struct live_state *live)
{
	char since[32], size[24];

	return step_settle(step, STEP_KEEP, OUTCOME_ALREADY,
			   xasprintf("held by mmoptd since %s, takes %s",
				     format_time((int64_t)live->zero_page_since_sec, since),
				     format_size_exact(live->zero_page_bytes, size)));
}

/* thp.persistent_zero_page, the one thing that needs a process to be there. */
static int settle_daemon(struct step *step, const struct setting *s, const struct facts *facts,
			 const struct live_state *live)
{
	bool held = live && live->zero_page_held, hold;
	int r;

	r = want(step, s, facts);
	if (r < 0 || !step->wanted)
		return r;
	if (facts_true(facts, FACT_ZERO_PAGE_PERSISTENT))
		return step_settle(step, STEP_KEEP, OUTCOME_ALREADY,
				   xasprintf("this kernel never frees it (CONFIG_PERSISTENT_HUGE_ZERO_FOLIO, %s)",
					     facts_get(facts, FACT_ZERO_PAGE_PERSISTENT)->source));
	step->current = strdup(held ? "1" : "0");
	if (!step->current)
		return -ENOMEM;
	hold = streq(step->wanted, "1");
	if (hold && held)
		return settle_held(step, live);
	if (hold == held)
		return step_settle(step, STEP_KEEP, OUTCOME_ALREADY, strdup("not held"));
	if (!live || !live->running)
		return step_settle(step, STEP_REFUSE, OUTCOME_UNSUPPORTED,
				   strdup("only a running mmoptd holds it: systemctl enable --now mmoptd"));
	if (!hold || !live->zero_page_error)
		return leave_to_daemon(step, facts, hold);
	step->differs = true;
	return step_settle(step, STEP_REFUSE, step->is_auto ? OUTCOME_UNSUPPORTED : OUTCOME_REFUSED,
			   xasprintf("mmoptd cannot hold it: %s", live->zero_page_error));
}

static int fill_step(struct plan *plan, struct step *step, const struct setting *s, struct facts *facts,
		     struct kernel_io *io)
{
	int r;

	if (step->ref.tunable->scope == SCOPE_DAEMON)
		return settle_daemon(step, s, facts, plan->live);
	step->lacks_module = plan_lacks_module(plan, step, io);
	/* The file first: whether the kernel has the thing at all says more than what it would be set to. */
	if (step->ref.tunable->scope != SCOPE_BOOT && !step->lacks_module) {
		step->is_auto = s->form == SETTING_AUTO;
		r = plan_read_current(step, facts, io);
		if (r < 0 || step->action == STEP_REFUSE)
			return r;
	}
	r = want(step, s, facts);
	if (r < 0 || !step->wanted)
		return r;
	if (step->ref.tunable->scope == SCOPE_BOOT)
		return plan_settle_boot(step, facts, io);
	if (step->lacks_module)
		return plan_settle_by_module(plan, step, facts, io);
	return plan_settle_by_value(plan, step);
}

static int new_step(struct plan *plan, const struct policy *policy, const struct setting *s, struct step **ret)
{
	struct step *step = &plan->steps[plan->n_steps];
	int r;

	*step = (struct step){
		.relation = s->relation,
		.file = policy->files[s->file].path,
		.line = s->line,
		.optional = s->optional,
		.essential = policy_is_essential(policy, s->id),
	};
	r = tunable_ref_copy(&s->ref, &step->ref);
	if (r < 0)
		return r;
	plan->n_steps++;
	step->id = strdup(s->id);
	*ret = step;
	return step->id ? 0 : -ENOMEM;
}

/* What steers mmopt itself is no item: it shows in what becomes of others. */
static bool is_option(const struct setting *s)
{
	return s->ref.tunable->scope == SCOPE_OPTION;
}

static void take_options(struct plan *plan, const struct policy *policy)
{
	for (size_t i = 0; i < policy->n_settings; i++) {
		const struct setting *s = &policy->settings[i];

		if (!s->wins || s->form == SETTING_KEEP || !is_option(s))
			continue;
		if (streq(s->id, "hugetlb.shrink"))
			plan->shrink = s->value.number != 0;
		else if (streq(s->id, MODULE_OPTION))
			plan->may_load_module = s->value.number != 0;
	}
}

static int compare_steps(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	if (x->ref.tunable->order != y->ref.tunable->order)
		return x->ref.tunable->order < y->ref.tunable->order ? -1 : 1;
	/* The largest pages first: they need memory that is still in one piece. */
	if (x->ref.size_bytes != y->ref.size_bytes)
		return x->ref.size_bytes > y->ref.size_bytes ? -1 : 1;
	return strcmp(x->id, y->id);
}

static unsigned needed_facts(const struct policy *policy)
{
	unsigned groups = policy_needs(policy) | FACTS_VIRT;

	for (size_t i = 0; i < policy->n_settings; i++) {
		const struct tunable *t = policy->settings[i].ref.tunable;

		if (!policy->settings[i].wins)
			continue;
		if (t->saving == SAVING_POOL || t->saving == SAVING_MIN_FREE || t->unit == UNIT_HUGE_PAGES)
			groups |= FACTS_MEMORY | FACTS_HUGETLB | FACTS_KERNEL;
		if (t->saving == SAVING_HVO || streq(t->id, "boot.hugetlb_free_vmemmap"))
			groups |= FACTS_STRUCT_PAGE | FACTS_MEMORY | FACTS_HUGETLB | FACTS_KERNEL;
		if (t->effect == EFFECT_POOL)
			groups |= FACTS_STRUCT_PAGE;
		if (t->scope == SCOPE_DAEMON)
			groups |= FACTS_THP;
		if (startswith(t->id, "vm.overcommit_"))
			groups |= FACTS_MEMORY | FACTS_HUGETLB | FACTS_COMMIT;
	}
	return groups;
}

static bool is_named(char *const *ids, const char *id)
{
	for (; *ids; ids++)
		if (streq(*ids, id))
			return true;
	return false;
}

/* Is it the other form of a setting that is named, or one that the kernel moves along with it? */
static bool moves_with_named(const struct plan *plan, char *const *ids, const struct step *step)
{
	for (size_t i = 0; i < plan->n_steps; i++) {
		const struct tunable *t = plan->steps[i].ref.tunable;

		if (((t->linked && streq(t->linked, step->id)) || (t->disturbs && streq(t->disturbs, step->id))) &&
		    is_named(ids, plan->steps[i].id))
			return true;
	}
	return false;
}

/* Takes out of the run what it is not about.  What is as wanted, or waits for a reboot, may say so all the same. */
static int narrow(struct plan *plan, char *const *only)
{
	for (size_t i = 0; only && i < plan->n_steps; i++) {
		struct step *step = &plan->steps[i];

		if (is_named(only, step->id) || moves_with_named(plan, only, step))
			continue;
		step->essential = false;
		step->load_module = false;
		if (step->action == STEP_KEEP)
			continue;
		step->action = STEP_KEEP;
		step->outcome = OUTCOME_SKIPPED;
		if (!step->reason)
			step->reason = strdup("left as it is in this run");
		if (!step->reason)
			return -ENOMEM;
	}
	return 0;
}

static int refuse_all(struct plan *plan, const struct facts *facts, const struct plan_options *options)
{
	const char *rescue = facts_word(facts, FACT_RESCUE);

	if (!rescue || streq(rescue, "none") || options->force)
		return 0;
	plan->refused = xasprintf("this is a %s system: nothing is applied here (--force overrides)", rescue);
	if (!plan->refused)
		return -ENOMEM;
	for (size_t i = 0; i < plan->n_steps; i++) {
		struct step *step = &plan->steps[i];
		int r;

		if (step->action != STEP_SET && step->outcome != OUTCOME_PENDING)
			continue;
		step->differs = false;
		step->load_module = false;
		r = step_settle(step, STEP_KEEP, OUTCOME_SKIPPED, strdup(plan->refused));
		if (r < 0)
			return r;
	}
	return 0;
}

static void warn_lowered(const struct plan *plan, struct diag_list *diags)
{
	for (size_t i = 0; i < plan->n_steps; i++) {
		const struct step *step = &plan->steps[i];
		int64_t wanted, current;

		if (step->action != STEP_SET || !step->ref.tunable->floor || step->relation != RELATION_EQUAL ||
		    parse_i64(step->wanted, &wanted) < 0 || parse_i64(step->current, &current) < 0 || wanted >= current)
			continue;
		diag_add(diags, DIAG_WARNING, step->file, step->line, step->id,
			 "lowers it from %s to %s; \">= %s\" would only ever raise it", step->current, step->wanted,
			 step->wanted);
	}
}

int plan_make(const struct policy *policy, struct facts *facts, struct kernel_io *io,
	      const struct plan_options *options, struct diag_list *diags, struct plan **ret)
{
	_cleanup_(plan_freep) struct plan *plan = calloc(1, sizeof(*plan));
	int r;

	if (!plan)
		return -ENOMEM;
	plan->steps = calloc(policy->n_settings ?: 1, sizeof(*plan->steps));
	if (!plan->steps)
		return -ENOMEM;
	plan->live = options->live;
	plan->module_note = options->module_note;
	r = facts_probe(facts, io, needed_facts(policy));
	if (r < 0)
		return r;

	take_options(plan, policy);
	for (size_t i = 0; i < policy->n_settings; i++) {
		const struct setting *s = &policy->settings[i];
		struct step *step;

		if (!s->wins || s->form == SETTING_KEEP || is_option(s))
			continue;
		r = new_step(plan, policy, s, &step);
		if (r >= 0)
			r = fill_step(plan, step, s, facts, io);
		if (r < 0)
			return r;
	}
	if (plan->n_steps > 1)
		qsort(plan->steps, plan->n_steps, sizeof(*plan->steps), compare_steps);

	r = narrow(plan, options->only);
	if (r >= 0)
		r = plan_check_boot_line(plan, facts, io);
	if (r >= 0)
		r = plan_guard(plan, policy, options, facts, io, diags);
	if (r >= 0)
		r = refuse_all(plan, facts, options);
	if (r < 0)
		return r;
	warn_lowered(plan, diags);
	*ret = TAKE_PTR(plan);
	return 0;
}

bool plan_differs(const struct plan *plan)
{
	for (size_t i = 0; i < plan->n_steps; i++)
		if (plan->steps[i].differs)
			return true;
	return false;
}

/* "auto" leaves it to mmopt what fits: that something does not fit here is an answer, not a failure. */
static bool step_failed(const struct step *step)
{
	if (step->optional)
		return false;
	switch (step->outcome) {
	case OUTCOME_UNSUPPORTED:
	case OUTCOME_UNSAFE:
		return !step->is_auto;
	case OUTCOME_PARTIAL:
	case OUTCOME_REFUSED:
		return true;
	case OUTCOME_PENDING:
	case OUTCOME_APPLIED:
	case OUTCOME_ALREADY:
	case OUTCOME_ADJUSTED:
	case OUTCOME_PENDING_REBOOT:
	case OUTCOME_DRIFTED:
	case OUTCOME_SKIPPED:
		break;
	}
	return false;
}

bool plan_has_failures(const struct plan *plan)
{
	for (size_t i = 0; i < plan->n_steps; i++)
		if (step_failed(&plan->steps[i]))
			return true;
	return false;
}
