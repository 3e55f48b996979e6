/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/strutil.h"
#include "core/policy.h"
#include "fuzz.h"

static void check_diags(const struct diag_list *diags, unsigned n_lines)
{
	size_t n_errors = 0;

	for (size_t i = 0; i < diags->n; i++) {
		const struct diag *d = &diags->items[i];

		HOLDS(*d->text && !strchr(d->text, '\n'));
		HOLDS(d->text[strlen(d->text) - 1] != '.');
		HOLDS(d->line <= n_lines);
		/* A message is a line, however long what it is about. */
		HOLDS(strlen(d->text) < 1000);
		n_errors += d->severity == DIAG_ERROR;
	}
	HOLDS(n_errors == diags->n_errors);
}

/* What root will write goes to where policy may write, and is one line. */
static void check_setting(const struct policy *policy, const struct setting *s)
{
	_cleanup_(tunable_ref_clear) struct tunable_ref ref = { .node = -1 };
	_cleanup_free_ char *id = NULL, *path = tunable_ref_path(&s->ref);

	HOLDS(s->file < policy->n_files && s->line > 0);
	if (path && s->ref.tunable->scope != SCOPE_BOOT) {
		HOLDS(startswith(path, "/proc/sys/") || startswith(path, "/sys/"));
		HOLDS(!strstr(path, "/../") && !strchr(path, '\n') && !strchr(path, '*'));
	}
	/* An id leads back to what it is the id of. */
	HOLDS(catalogue_find_id(s->id, &ref) == 0);
	id = tunable_ref_id(&ref);
	HOLDS(id && streq(id, s->id));
	if (s->form == SETTING_VALUE)
		HOLDS(*s->value.text && !strpbrk(s->value.text, "\n\r"));
	if (s->form == SETTING_AUTO)
		HOLDS(s->ref.tunable->auto_rule);
	if (s->relation != RELATION_EQUAL)
		HOLDS(s->ref.tunable->kind == VALUE_INTEGER && s->form != SETTING_AUTO && s->form != SETTING_KEEP);
	if (s->wins) {
		const char *linked = s->ref.tunable->linked;

		HOLDS(policy_find(policy, s->id) == s);
		HOLDS(!linked || !policy_find(policy, linked));
	}
}

static void check_policy(const struct policy *policy)
{
	for (size_t i = 0; i < policy->n_settings; i++) {
		check_setting(policy, &policy->settings[i]);
		HOLDS(i == 0 || strcmp(policy->settings[i - 1].id, policy->settings[i].id) <= 0);
		HOLDS(i == 0 || !policy->settings[i - 1].wins ||
		      !streq(policy->settings[i - 1].id, policy->settings[i].id));
	}
	for (size_t i = 0; i < policy->n_essential; i++)
		HOLDS(policy_is_essential(policy, policy->essential[i]));
	HOLDS(policy->files[0].matched || policy->n_settings == 0);
	HOLDS(policy->files[0].matched || policy->n_essential == 0);
	(void)policy_needs(policy);
}

static void run(const uint8_t *data, size_t size, struct facts *facts)
{
	_cleanup_(policy_freep) struct policy *policy = NULL;
	_cleanup_(diag_list_clear) struct diag_list diags = { 0 };
	unsigned n_lines = 1;

	for (size_t i = 0; i < size; i++)
		n_lines += data[i] == '\n';
	HOLDS(policy_load_text("t", (const char *)data, size, facts, NULL, &diags, &policy) == 0);
	check_diags(&diags, n_lines);
	check_policy(policy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(facts_clear) struct facts facts = { 0 };

	facts_set_word(&facts, FACTS_KERNEL, FACT_ARCHITECTURE, "x86_64", CONFIDENCE_READ, "t");
	facts_set_word(&facts, FACTS_KERNEL, FACT_RELEASE, "6.12.117+deb12", CONFIDENCE_READ, "t");
	facts_set_word(&facts, FACTS_KERNEL, FACT_HOST, "db-07", CONFIDENCE_READ, "t");
	facts_set_number(&facts, FACTS_MEMORY, FACT_MEMORY_ONLINE, UINT64_C(64) << 30, CONFIDENCE_READ, "t");
	facts_set_word(&facts, FACTS_VIRT, FACT_CONTAINER, "none", CONFIDENCE_READ, "t");
	run(data, size, NULL);
	run(data, size, &facts);
	return 0;
}
