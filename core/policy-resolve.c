/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>

#include "base/strutil.h"
#include "core/module.h"
#include "core/policy-parse.h"

/* Who wins, and what cannot be seen in one line alone. */

static int compare_settings(const void *a, const void *b)
{
	const struct setting *x = a, *y = b;
	int c = strcmp(x->id, y->id);

	if (c != 0)
		return c;
	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

static void sort_settings(struct setting *settings, size_t n)
{
	if (n > 1)
		qsort(settings, n, sizeof(*settings), compare_settings);
}

/* The last setting of an id in a sorted range, or NULL. */
static struct setting *find_last(struct setting *settings, size_t n, const char *id)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(settings[middle].id, id) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && streq(settings[low - 1].id, id) ? &settings[low - 1] : NULL;
}

static const char *file_of(const struct policy_parser *p, const struct setting *s)
{
	return p->policy->files[s->file].path;
}

static bool is_last_of_id(const struct setting *settings, size_t n, size_t i)
{
	return i + 1 == n || !streq(settings[i].id, settings[i + 1].id);
}

/* Two forms of one setting in one file: which one is meant nobody can tell. */
static void check_linked_in_file(struct policy_parser *p, struct setting *settings, size_t n, const struct setting *s)
{
	const struct setting *other;

	if (!s->ref.tunable->linked || s->form == SETTING_KEEP)
		return;
	other = find_last(settings, n, s->ref.tunable->linked);
	/* Reported once, at the later line. */
	if (!other || other->form == SETTING_KEEP || other->line > s->line)
		return;
	policy_error(p, s->line, s->id, "this and %s (line %u) are one setting in two forms; a file can have only one",
		     other->id, other->line);
}

void policy_check_file(struct policy_parser *p)
{
	size_t n = p->policy->n_settings - p->first_setting;
	struct setting *settings;

	if (n == 0)
		return;
	settings = p->policy->settings + p->first_setting;
	sort_settings(settings, n);
	for (size_t i = 0; i < n; i++) {
		if (is_last_of_id(settings, n, i))
			check_linked_in_file(p, settings, n, &settings[i]);
		else
			policy_warning(p, settings[i + 1].line, settings[i + 1].id,
				       "is in this file before, in line %u; this one counts", settings[i].line);
	}
}

/* Of two forms of one setting the later one counts; in one file a value counts and "keep" does not. */
static bool loses_to(const struct setting *s, const struct setting *other)
{
	if (s->file != other->file)
		return s->file < other->file;
	if ((s->form == SETTING_KEEP) != (other->form == SETTING_KEEP))
		return s->form == SETTING_KEEP;
	return s->line < other->line;
}

static void choose_winners(struct policy *policy)
{
	struct setting *settings = policy->settings;

	for (size_t i = 0; i < policy->n_settings; i++) {
		const char *linked = settings[i].ref.tunable->linked;
		const struct setting *other;

		settings[i].wins = is_last_of_id(settings, policy->n_settings, i);
		other = linked ? find_last(settings, policy->n_settings, linked) : NULL;
		if (other && loses_to(&settings[i], other))
			settings[i].wins = false;
	}
}

/* The winner of an id that says something, or NULL. */
static const struct setting *find_active(const struct policy *policy, const char *id)
{
	const struct setting *s = policy_find(policy, id);

	return s && s->form != SETTING_KEEP ? s : NULL;
}

/* The background limit has to be below the one at which writers wait; else the kernel takes half of that, silently. */
static void check_dirty_pair(struct policy_parser *p, const char *background_id, const char *limit_id)
{
	const struct setting *background = find_active(p->policy, background_id);
	const struct setting *limit = find_active(p->policy, limit_id), *later;

	if (!background || !limit || background->form != SETTING_VALUE || limit->form != SETTING_VALUE)
		return;
	if (background->value.number < limit->value.number)
		return;
	later = loses_to(background, limit) ? limit : background;
	diag_add(p->diags, DIAG_WARNING, file_of(p, later), later->line, later->id,
		 "%s (%" PRId64 ", %s:%u) is not below %s (%" PRId64
		 ", %s:%u); the kernel then uses half of the latter",
		 background_id, background->value.number, file_of(p, background), background->line, limit_id,
		 limit->value.number, file_of(p, limit), limit->line);
}

/* "hugetlb.2M.node1.pages" as the id of the whole pool, "hugetlb.2M.pages". NULL on lack of memory. */
static char *id_without_node(const char *id)
{
	const char *node = strstr(id, ".node"), *rest;

	if (!node)
		return strdup(id);
	rest = node + 1 + strcspn(node + 1, ".");
	return xasprintf("%.*s%s", (int)(node - id), id, rest);
}

/*
 * A pool's total and a node's share of it, both asked for: the total is set first and spread by the kernel, then the nodes
 * that are named get their own counts, and what the total becomes is not what was asked.
 */
static int check_pools(struct policy_parser *p)
{
	const struct policy *policy = p->policy;
	const struct setting *warned = NULL;

	for (size_t i = 0; i < policy->n_settings; i++) {
		const struct setting *s = &policy->settings[i], *total;
		_cleanup_free_ char *id = NULL;

		if (!s->wins || s->form == SETTING_KEEP || s->ref.node < 0 || s->ref.tunable->unit != UNIT_HUGE_PAGES)
			continue;
		id = id_without_node(s->id);
		if (!id)
			return -ENOMEM;
		total = find_active(policy, id);
		/* Once per size: its nodes stand side by side. */
		if (!total || total == warned)
			continue;
		warned = total;
		diag_add(
			p->diags, DIAG_WARNING, file_of(p, s), s->line, s->id,
			"%s is set too (%s:%u): that total is spread over all nodes first, then the named nodes get their own "
			"counts, and the total changes with them; use one or the other",
			total->id, file_of(p, total), total->line);
	}
	return 0;
}

/* Moves the list of essentials into the policy, each id once. */
static int take_essentials(struct policy_parser *p)
{
	struct policy *policy = p->policy;
	char **larger;
	size_t n = 0;

	if (p->n_essential == 0)
		return 0;
	larger = reallocarray(p->essential, p->n_essential + 1, sizeof(*larger));
	if (!larger)
		return -ENOMEM;
	p->essential = larger;
	qsort(larger, p->n_essential, sizeof(*larger), policy_compare_strings);
	for (size_t i = 0; i < p->n_essential; i++) {
		if (n > 0 && streq(larger[n - 1], larger[i]))
			free(larger[i]);
		else
			larger[n++] = larger[i];
	}
	larger[n] = NULL;
	policy->essential = TAKE_PTR(p->essential);
	policy->n_essential = n;
	p->n_essential = p->n_essential_allocated = 0;
	return 0;
}

static void check_essentials(struct policy_parser *p)
{
	for (size_t i = 0; i < p->policy->n_essential; i++)
		if (!find_active(p->policy, p->policy->essential[i]))
			diag_add(p->diags, DIAG_WARNING, NULL, 0, p->policy->essential[i],
				 "is essential by [Policy], but no file that counts here sets it");
}

/* The module is loaded for the one setting that it gives, and where that is to be other than it is without. */
static void check_module(struct policy_parser *p)
{
	const struct setting *module = find_active(p->policy, MODULE_OPTION);
	const struct setting *wanted = find_active(p->policy, MODULE_TUNABLE);

	if (!module || module->value.number == 0)
		return;
	if (!wanted)
		diag_add(p->diags, DIAG_NOTICE, file_of(p, module), module->line, module->id,
			 "no file that counts here sets " MODULE_TUNABLE
			 ", so nothing is loaded: set it to 0, 1 or auto, or take this line out");
	else if (wanted->form == SETTING_VALUE && wanted->value.number == -1)
		diag_add(p->diags, DIAG_NOTICE, file_of(p, module), module->line, module->id,
			 MODULE_TUNABLE
			 " is -1 (%s:%u), as kernels without the module have it, so nothing is loaded: set "
			 "it to 0, 1 or auto, or take this line out",
			 file_of(p, wanted), wanted->line);
}

int policy_resolve(struct policy_parser *p)
{
	int r;

	sort_settings(p->policy->settings, p->policy->n_settings);
	choose_winners(p->policy);
	r = take_essentials(p);
	if (r < 0)
		return r;
	check_dirty_pair(p, "vm.dirty_background_ratio", "vm.dirty_ratio");
	check_dirty_pair(p, "vm.dirty_background_bytes", "vm.dirty_bytes");
	check_essentials(p);
	check_module(p);
	return check_pools(p);
}
