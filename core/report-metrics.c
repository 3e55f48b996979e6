/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/report-metrics.h"

#include <inttypes.h>

#include "base/number.h"
#include "base/strutil.h"
#include "core/report-safe.h"
#include "core/report-step.h"

/* One family while it is written: its head comes with its first sample. */
struct family {
	FILE *f;
	const char *name, *help;
	bool begun;
};

struct label {
	const char *name;
	const char *value;
};

static struct family family_of(FILE *f, const char *name, const char *help)
{
	return (struct family){ .f = f, .name = name, .help = help };
}

/* Backslash, quote and newline are the three that the format escapes; what else no terminal should see is gone before. */
static int put_label(FILE *f, const struct label *label)
{
	_cleanup_free_ char *safe = text_printable(label->value, false);

	if (!safe)
		return -ENOMEM;
	fprintf(f, "%s=\"", label->name);
	for (const char *s = safe; *s; s++)
		switch (*s) {
		case '\\':
			fputs("\\\\", f);
			break;
		case '"':
			fputs("\\\"", f);
			break;
		case '\n':
			fputs("\\n", f);
			break;
		default:
			fputc(*s, f);
		}
	fputc('"', f);
	return 0;
}

static int put_sample(struct family *m, const struct label *labels, size_t n_labels, int64_t value)
{
	if (!m->begun)
		fprintf(m->f, "# HELP %s %s\n# TYPE %s gauge\n", m->name, m->help, m->name);
	m->begun = true;
	fputs(m->name, m->f);
	for (size_t i = 0; i < n_labels; i++) {
		fputc(i == 0 ? '{' : ',', m->f);
		if (put_label(m->f, &labels[i]) < 0)
			return -ENOMEM;
	}
	if (n_labels > 0)
		fputc('}', m->f);
	fprintf(m->f, " %" PRId64 "\n", value);
	return 0;
}

static int put_one(FILE *f, const char *name, const char *help, int64_t value)
{
	struct family m = family_of(f, name, help);

	return put_sample(&m, NULL, 0, value);
}

static int put_with(struct family *m, const char *label, const char *text, int64_t value)
{
	struct label l = { label, text };

	return put_sample(m, &l, 1, value);
}

static int put_build_info(FILE *f)
{
	struct family m = family_of(f, "mmopt_build_info", "The version of mmopt; always 1.");

	return put_with(&m, "version", MMOPT_VERSION, 1);
}

static int put_config(FILE *f, const struct metrics_input *in)
{
	bool reboot = plan_count_outcome(in->plan, OUTCOME_PENDING_REBOOT) > 0;
	int r;

	r = put_one(f, "mmopt_config_in_sync", "1 where the machine is as the policy wants it.",
		    !plan_deviates(in->plan));
	if (r >= 0 && in->live->running)
		r = put_one(f, "mmopt_policy_valid",
			    "0 where the policy on disk has mistakes and the one before it stays in force.",
			    !in->live->policy_error);
	if (r >= 0)
		r = put_one(f, "mmopt_reboot_required", "1 where boot parameters wait for a reboot.", reboot);
	return r;
}

/* All the outcomes, also those that no item has: an alert needs the 0. */
static int put_items(FILE *f, const struct plan *plan)
{
	struct family m = family_of(f, "mmopt_items", "Items of the policy by outcome.");
	int r = 0;

	for (enum outcome o = OUTCOME_PENDING; r >= 0 && o <= OUTCOME_SKIPPED; o++)
		r = put_with(&m, "outcome", outcome_name(o), (int64_t)plan_count_outcome(plan, o));
	return r;
}

static int put_drift(FILE *f, const struct plan *plan)
{
	struct family m =
		family_of(f, "mmopt_setting_drift", "1 where somebody else changed what mmopt had set, by setting.");
	int r = 0;

	for (size_t i = 0; r >= 0 && i < plan->n_steps; i++)
		if (plan->steps[i].path)
			r = put_with(&m, "setting", plan->steps[i].id, plan->steps[i].outcome == OUTCOME_DRIFTED);
	return r;
}

static bool is_pool(const struct step *step)
{
	return step->ref.tunable->effect == EFFECT_POOL && step->ref.size_bytes > 0;
}

/* Pages of one size in the machine's pool, where the policy names that, else in those of the nodes that it names. */
static int64_t sum_pages(const struct plan *plan, uint64_t size_bytes, bool wanted)
{
	int64_t machine = -1, nodes = 0;

	for (size_t i = 0; i < plan->n_steps; i++) {
		const struct step *step = &plan->steps[i];
		const char *text = wanted ? step->wanted : step->actual ?: step->current;
		int64_t n;

		if (!is_pool(step) || step->ref.size_bytes != size_bytes || !text || parse_i64(text, &n) < 0)
			continue;
		if (step->ref.node < 0)
			machine = n;
		else
			nodes += n;
	}
	return machine >= 0 ? machine : nodes;
}

static bool is_first_of_its_size(const struct plan *plan, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (is_pool(&plan->steps[k]) && plan->steps[k].ref.size_bytes == plan->steps[i].ref.size_bytes)
			return false;
	return is_pool(&plan->steps[i]);
}

static int put_pools(FILE *f, const struct plan *plan, bool wanted)
{
	struct family m = wanted ? family_of(f, "mmopt_hugepages_wanted", "Huge pages that the policy asks for.")
				 : family_of(f, "mmopt_hugepages_actual", "Huge pages that are there in these pools.");
	int r = 0;

	for (size_t i = 0; r >= 0 && i < plan->n_steps; i++) {
		uint64_t size_bytes = plan->steps[i].ref.size_bytes;
		char size[24];

		if (!is_first_of_its_size(plan, i))
			continue;
		snprintf(size, sizeof(size), "%" PRIu64, size_bytes);
		r = put_with(&m, "size_bytes", size, sum_pages(plan, size_bytes, wanted));
	}
	return r;
}

static bool counts(const struct saving *s)
{
	return s->known && s->in_total && !s->what_if;
}

static bool alike(const struct saving *a, const struct saving *b)
{
	return counts(a) && counts(b) && streq(a->mechanism, b->mechanism) && a->method == b->method;
}

/* One sample for all swap devices, page sizes and so on of a mechanism. */
static int put_saved(struct family *m, const struct savings *savings, size_t i)
{
	const struct saving *first = &savings->rows[i];
	struct label labels[] = {
		{ "mechanism", first->mechanism },
		{ "method", saving_method_name(first->method) },
	};
	int64_t sum = 0;

	for (size_t k = 0; k < savings->n_rows; k++) {
		if (!alike(first, &savings->rows[k]))
			continue;
		if (k < i)
			return 0; /* told already */
		sum += savings->rows[k].bytes;
	}
	return put_sample(m, labels, ARRAY_SIZE(labels), sum);
}

static int put_savings(FILE *f, const struct savings *savings)
{
	struct family m = family_of(f, "mmopt_saved_bytes",
				    "Memory saved by mechanism and by how it was found; a loss is negative.");
	int64_t hvo = 0;
	bool hvo_known = false;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < savings->n_rows; i++) {
		if (!counts(&savings->rows[i]))
			continue;
		r = put_saved(&m, savings, i);
		if (streq(savings->rows[i].mechanism, "hvo")) {
			hvo_known = true;
			hvo += savings->rows[i].bytes;
		}
	}
	if (r >= 0 && hvo_known)
		r = put_one(f, "mmopt_hugetlb_vmemmap_saved_bytes",
			    "Struct pages of huge pages that were given back to the system (HVO).", hvo);
	return r;
}

static int put_zero_page(FILE *f, const struct live_state *live)
{
	if (!live->running)
		return 0;
	return put_one(f, "mmopt_huge_zero_page_held", "1 where mmoptd holds the huge zero page.",
		       live->zero_page_held);
}

static int put_last_apply(FILE *f, struct undo_store *store)
{
	const struct transaction *all = NULL;
	bool unconfirmed = false;
	uint64_t time_sec = 0;
	size_t n = 0;
	int r = 0;

	if (store)
		all = undo_store_transactions(store, &n);
	for (size_t i = 0; i < n; i++) {
		if (all[i].state == TRANSACTION_UNDONE)
			continue;
		time_sec = all[i].time_sec;
		unconfirmed |= all[i].state == TRANSACTION_UNCONFIRMED;
	}
	if (time_sec > 0)
		r = put_one(f, "mmopt_last_apply_timestamp_seconds",
			    "When the last transaction of this boot that was not taken back began.", (int64_t)time_sec);
	if (r >= 0)
		r = put_one(f, "mmopt_unconfirmed", "1 where a transaction waits for its confirmation.", unconfirmed);
	return r;
}

static int put_all(FILE *f, const struct metrics_input *in)
{
	int r;

	r = put_build_info(f);
	if (r >= 0)
		r = put_config(f, in);
	if (r >= 0)
		r = put_items(f, in->plan);
	if (r >= 0)
		r = put_drift(f, in->plan);
	if (r >= 0)
		r = put_pools(f, in->plan, true);
	if (r >= 0)
		r = put_pools(f, in->plan, false);
	if (r >= 0)
		r = put_savings(f, in->savings);
	if (r >= 0)
		r = put_zero_page(f, in->live);
	if (r >= 0)
		r = put_last_apply(f, in->store);
	return r;
}

int metrics_render(const struct metrics_input *in, char **ret)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);
	int r;

	if (!f)
		return -ENOMEM;
	r = put_all(f, in);
	if (fclose(f) != 0)
		r = -ENOMEM;
	if (r >= 0)
		*ret = TAKE_PTR(text);
	return r;
}
