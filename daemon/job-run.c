/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a job does, in the process it was started in. */
#include <locale.h>

#include "base/fileio.h"
#include "base/number.h"
#include "base/strutil.h"
#include "core/report-step.h"
#include "core/report-views.h"
#include "daemon/job-log.h"
#include "daemon/job.h"
#include "daemon/load-module.h"
#include "daemon/watch-netlink.h"

struct run {
	const struct job_request *request;
	struct engine e;
	struct job_result *result;
	struct restore restore;
	struct delays delays; /* before the first write */
	bool delays_known;
	unsigned transaction_before;
};

static void run_clear(struct run *run)
{
	restore_clear(&run->restore);
	engine_clear(&run->e);
}

/* Only the width and encoding of characters follow the caller's locale: C.UTF-8 stands for all that are UTF-8. */
static int render(const struct job_request *request, const struct report *r, FILE *f)
{
	struct report_text_options options = { .colour = request->colour, .width = request->width };
	locale_t locale, before;
	int k;

	switch (request->format) {
	case FORMAT_JSON_SHORT:
		return report_render_json(r, REPORT_JSON_SHORT, f);
	case FORMAT_JSON_PRETTY:
		return report_render_json(r, REPORT_JSON_PRETTY, f);
	case FORMAT_TEXT:
		break;
	}
	locale = request->utf8 ? newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0) : (locale_t)0;
	before = locale ? uselocale(locale) : (locale_t)0;
	k = report_render_text(r, &options, f);
	if (locale) {
		uselocale(before);
		freelocale(locale);
	}
	return k;
}

static int write_document(int fd, const struct job_request *request, const struct report *r)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);
	int k;

	if (!f)
		return -ENOMEM;
	k = render(request, r, f);
	if (fclose(f) != 0 && k >= 0)
		k = -ENOMEM;
	return k < 0 ? k : write_all(fd, text, size);
}

static const char *report_name(const struct job_request *request)
{
	return request->kind == JOB_DESCRIBE ? job_view_name(request->view) : job_kind_name(request->kind);
}

/* What mmoptctl would show: the report, or in its place what could not be done and why. */
static int finish_document(struct run *run, struct report *r)
{
	_cleanup_(report_freep) struct report *shown = r;

	if (!shown || report_failed(shown)) {
		report_free(shown);
		shown = report_error(report_name(run->request));
		if (run->result->diags.n_errors == 0)
			diag_add(&run->result->diags, DIAG_ERROR, NULL, 0, NULL, "%s",
				 strerror(run->result->error < 0 ? -run->result->error : ENOMEM));
	}
	if (!shown)
		return -ENOMEM;
	report_diags(shown, &run->result->diags);
	run->result->exit_status = report_exit_status(shown);
	return write_document(run->result->document_fd, run->request, shown);
}

static bool follows_memory(const struct setting *s)
{
	return s->form == SETTING_PERCENT || (s->form == SETTING_AUTO && (s->ref.tunable->auto_groups & FACTS_MEMORY));
}

/* For this process to hold: not where the kernel itself never lets go of it. */
static bool wants_zero_page(const struct run *run, const struct step *step)
{
	return step->ref.tunable->scope == SCOPE_DAEMON && step->wanted && streq(step->wanted, "1") &&
	       !facts_true(&run->e.facts, FACT_ZERO_PAGE_PERSISTENT);
}

/* What mmopt left there, where somebody else changed it since: what it was before that. */
static const char *value_before(const struct run *run, const struct step *step)
{
	const char *path = step->lacks_module ? MODULE_SYSCTL : step->path;
	const struct undo_entry *e;

	if (step->outcome != OUTCOME_DRIFTED || !run->e.store || !path)
		return step->current;
	e = undo_last_entry(run->e.store, path);
	return e && e->after ? e->after : step->current;
}

/* A value that went with the module that gave it is a change like any other. */
static const char *value_after(const struct step *step)
{
	if (step->lacks_module && step->outcome == OUTCOME_DRIFTED)
		return "none";
	return step->actual ?: step->current;
}

static enum module_state module_of(const struct run *run, const struct step *step)
{
	enum module_state state = run->e.module_note.state;

	/* Left, but something stands against it by now: nothing to try. */
	return step->load_module || (step->lacks_module && state == MODULE_REFUSED) ? state : MODULE_UNTRIED;
}

static int copy_text(const char *s, char **ret)
{
	*ret = s ? strdup(s) : NULL;
	return s && !*ret ? -ENOMEM : 0;
}

static int add_item(struct run *run, const struct step *step)
{
	struct job_result *result = run->result;
	struct job_item *item = &result->items[result->n_items++];
	const struct setting *s = policy_find(run->e.policy, step->id);
	int r;

	*item = (struct job_item){
		.outcome = step->outcome,
		.differs = step->differs,
		.is_share = s && follows_memory(s),
		.wants_zero_page = wants_zero_page(run, step),
		.module = module_of(run, step),
	};
	r = copy_text(step->id, &item->id);
	if (r >= 0)
		r = copy_text(step->path, &item->path);
	if (r >= 0)
		r = copy_text(value_before(run, step), &item->before);
	if (r >= 0)
		r = copy_text(value_after(step), &item->after);
	return r;
}

static bool pool_grew(const struct step *step)
{
	int64_t before, after;

	return step->ref.tunable->effect == EFFECT_POOL && step->current && step->actual &&
	       parse_i64(step->current, &before) >= 0 && parse_i64(step->actual, &after) >= 0 && after > before;
}

static int add_items(struct run *run)
{
	const struct plan *plan = run->e.plan;
	struct job_result *result = run->result;
	int r = 0;

	if (!plan)
		return 0;
	result->items = calloc(plan->n_steps ?: 1, sizeof(*result->items));
	if (!result->items)
		return -ENOMEM;
	for (size_t i = 0; r >= 0 && i < plan->n_steps; i++) {
		r = add_item(run, &plan->steps[i]);
		result->pools_grown |= pool_grew(&plan->steps[i]);
	}
	result->reboot_required = plan_count_outcome(plan, OUTCOME_PENDING_REBOOT) > 0;
	return r;
}

static unsigned last_transaction(const struct engine *e)
{
	const struct transaction *t;
	size_t n = 0;

	if (!e->store)
		return 0;
	t = undo_store_transactions(e->store, &n);
	return n > 0 ? t[n - 1].number : 0;
}

static uint64_t mix(uint64_t hash, uint64_t n)
{
	return (hash ^ n) * 0x100000001b3; /* FNV-1a, by numbers in place of bytes */
}

/* What is undone does not count: a store opened for writing does not know of it. */
static uint64_t sum_up_record(const struct engine *e)
{
	const struct transaction *t;
	uint64_t hash = 0;
	size_t n = 0;

	t = undo_store_transactions(e->store, &n);
	for (size_t i = 0; i < n; i++)
		if (t[i].state != TRANSACTION_UNDONE)
			hash = mix(mix(hash, t[i].number), t[i].n_entries);
	return hash >> 1; /* for a signed number */
}

static void add_transaction(struct run *run)
{
	struct job_result *result = run->result;
	const struct transaction *t;

	if (!run->e.store)
		return;
	t = engine_unconfirmed(&run->e);
	result->unconfirmed = t != NULL;
	result->deadline_sec = t ? t->deadline_sec : 0;
	result->transaction = t ? t->number : last_transaction(&run->e);
	result->record = sum_up_record(&run->e);
}

static void add_savings(struct run *run)
{
	_cleanup_(savings_clear) struct savings savings = {};
	uint64_t memory;

	if (savings_measure(&run->e.facts, run->e.io, false, &savings) >= 0 && savings.total_known) {
		run->result->saved_known = true;
		run->result->saved_bytes = savings.total_bytes;
	}
	if (facts_probe(&run->e.facts, run->e.io, FACTS_MEMORY) >= 0 &&
	    facts_number(&run->e.facts, FACT_MEMORY_TOTAL, &memory) >= 0)
		run->result->memory_bytes = memory;
}

static void add_restore(struct run *run)
{
	const struct restore *restore = &run->restore;

	run->result->n_transactions_undone = restore->n_transactions;
	run->result->n_values_undone = restore->n_items - restore->n_foreign - restore->n_failed;
	run->result->n_values_foreign = restore->n_foreign;
	run->result->n_values_failed = restore->n_failed;
	run->result->changed |= restore->n_transactions > 0;
}

static int describe_metrics(struct run *run)
{
	_cleanup_free_ char *text = NULL;
	int r = engine_metrics(&run->e, &text);

	return r < 0 ? r : write_all(run->result->document_fd, text, strlen(text));
}

static int describe(struct run *run, struct report **ret)
{
	struct engine *e = &run->e;

	switch (run->request->view) {
	case VIEW_STATUS:
		return engine_status(e, ret);
	case VIEW_FACTS:
		return engine_facts(e, ret);
	case VIEW_PLAN:
		return engine_plan(e, ret);
	case VIEW_VERIFY:
		return engine_verify(e, ret);
	case VIEW_SAVINGS:
		return engine_savings(e, run->request->what_if, ret);
	case VIEW_LIST:
		return engine_list(e, ret);
	case VIEW_EXPLAIN:
		return engine_explain(e, run->request->id, ret);
	case VIEW_HISTORY:
		return engine_history(e, ret);
	case VIEW_CHECK:
		return engine_check(e, NULL, 0, ret);
	case VIEW_METRICS:
		return describe_metrics(run);
	}
	return -EINVAL;
}

/* Nothing is written yet: what waiting for memory has cost until now. */
static int before_writing(void *userdata, struct engine *e)
{
	struct run *run = userdata;

	run->delays_known = delays_read(&run->delays) >= 0;
	run->transaction_before = last_transaction(e);
	return 0;
}

static int load_module(void *userdata, struct engine *e, char **ret_reason)
{
	return load_module_by_systemd(e->root_fd, ret_reason);
}

/* The ids whose value follows from the size of the machine's memory. */
static int find_shares(const struct policy *policy, char ***ret)
{
	_cleanup_(strv_freep) char **ids = calloc(1, sizeof(char *));
	int r = ids ? 0 : -ENOMEM;

	for (size_t i = 0; r >= 0 && i < policy->n_settings; i++)
		if (policy->settings[i].wins && follows_memory(&policy->settings[i]))
			r = strv_push(&ids, strdup(policy->settings[i].id));
	if (r >= 0)
		*ret = TAKE_PTR(ids);
	return r;
}

static void note_delays(struct run *run, unsigned transaction, enum undo_delays_when when)
{
	if (!run->delays_known)
		return;
	/* Figures for history, not worth failing for. */
	(void)!undo_delays(run->e.store, transaction, when, run->delays.reclaim_nsec, run->delays.swapin_nsec,
			   run->delays.thrashing_nsec);
}

static int apply(struct run *run, struct report **ret)
{
	_cleanup_(strv_freep) char **shares = NULL;
	struct engine_apply_options options = {
		.pool_timeout_usec = run->request->pool_timeout_usec,
		.confirm_within_sec = run->request->confirm_within_sec,
		.only = run->request->only,
		.verb = job_kind_name(run->request->kind),
		.before_writing = before_writing,
		.load_module = load_module,
		.userdata = run,
	};
	unsigned now;
	int r;

	if (run->request->kind == JOB_MEMORY) {
		r = engine_load_policy(&run->e);
		if (r >= 0)
			r = find_shares(run->e.policy, &shares);
		if (r < 0)
			return r;
		options.only = shares;
	}
	run->e.force = run->request->force;
	r = engine_apply(&run->e, &options, &run->result->apply_result, ret);
	if (r < 0)
		return r;
	if (engine_unconfirmed(&run->e))
		report_boolean(*ret, "confirmed", NULL, false);
	now = last_transaction(&run->e);
	run->result->changed = now != run->transaction_before;
	if (run->result->changed)
		note_delays(run, now, UNDO_DELAYS_BEFORE);
	return 0;
}

static int delays(struct run *run)
{
	int r = engine_recover(&run->e, &run->restore);

	if (r < 0)
		return r;
	run->delays_known = delays_read(&run->delays) >= 0;
	note_delays(run, run->request->transaction, UNDO_DELAYS_AFTER);
	return 0;
}

static int work(struct run *run, struct report **ret)
{
	unsigned number;

	run->e.only_transaction = run->request->transaction;
	switch (run->request->kind) {
	case JOB_DESCRIBE:
		return describe(run, ret);
	case JOB_VERIFY:
		return engine_verify(&run->e, ret);
	case JOB_APPLY:
	case JOB_REAPPLY:
	case JOB_MEMORY:
	case JOB_MODULE:
		return apply(run, ret);
	case JOB_CONFIRM:
		return engine_confirm(&run->e, &number, ret);
	case JOB_ROLLBACK:
		return engine_rollback(&run->e, run->request->all, &run->restore, ret);
	case JOB_RECOVER:
		return engine_recover(&run->e, &run->restore);
	case JOB_GIVE_BACK_POOLS:
		return engine_give_back_pools(&run->e, &run->restore, ret);
	case JOB_DELAYS:
		return delays(run);
	}
	return -EINVAL;
}

/* Does a caller read what it says? */
static bool has_document(const struct job_request *request)
{
	return request->kind != JOB_RECOVER && request->kind != JOB_DELAYS &&
	       !(request->kind == JOB_DESCRIBE && request->view == VIEW_METRICS);
}

static int fill_result(struct run *run, struct report *r)
{
	_cleanup_(report_freep) struct report *report = r;
	int k = 0;

	add_transaction(run);
	add_restore(run);
	if (run->request->kind != JOB_DESCRIBE) {
		k = add_items(run);
		add_savings(run);
	}
	job_log(run->request, &run->e, &run->restore, run->result);
	if (k >= 0 && has_document(run->request))
		k = finish_document(run, TAKE_PTR(report));
	return k;
}

int job_run(const struct job_request *request, struct policy *policy, struct job_result *ret)
{
	_cleanup_(run_clear) struct run run = { .request = request, .result = ret };
	struct report *report = NULL;
	int r;

	r = engine_open(&run.e, NULL, &ret->diags);
	if (r >= 0) {
		/* "check" is about the files as they are. */
		if (policy && !(request->kind == JOB_DESCRIBE && request->view == VIEW_CHECK))
			engine_use_policy(&run.e, policy);
		r = work(&run, &report);
	}
	ret->error = MIN(r, 0);
	return fill_result(&run, report);
}
