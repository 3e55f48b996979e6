/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/policy.h"

#include "base/strutil.h"
#include "core/policy-parse.h"

void policy_setting_clear(struct setting *s)
{
	tunable_ref_clear(&s->ref);
	free(s->id);
	free(s->text);
	value_clear(&s->value);
	*s = (struct setting){ .ref.node = -1 };
}

static void policy_file_clear(struct policy_file *f)
{
	free(f->path);
	free(f->match_reason);
	free(f->masked_by);
}

void policy_free(struct policy *policy)
{
	if (!policy)
		return;
	for (size_t i = 0; i < policy->n_settings; i++)
		policy_setting_clear(&policy->settings[i]);
	for (size_t i = 0; i < policy->n_files; i++)
		policy_file_clear(&policy->files[i]);
	free(policy->settings);
	free(policy->files);
	strv_free(policy->essential);
	free(policy->memory_floor_origin);
	free(policy);
}

static unsigned setting_needs(const struct setting *s)
{
	switch (s->form) {
	case SETTING_AUTO:
		return s->ref.tunable->auto_groups;
	case SETTING_PERCENT:
		/* The share of memory, and what it is counted in. */
		return FACTS_MEMORY | (s->ref.tunable->unit == UNIT_PAGES ? FACTS_KERNEL : 0);
	case SETTING_BYTES:
		return s->ref.tunable->unit == UNIT_PAGES ? FACTS_KERNEL : 0;
	case SETTING_VALUE:
	case SETTING_KEEP:
		return 0;
	}
	return 0;
}

unsigned policy_needs(const struct policy *policy)
{
	unsigned groups = 0;

	for (size_t i = 0; i < policy->n_settings; i++)
		if (policy->settings[i].wins)
			groups |= setting_needs(&policy->settings[i]);
	return groups;
}

const struct setting *policy_find(const struct policy *policy, const char *id)
{
	size_t low = 0, high = policy->n_settings;

	/* The first setting behind all those of this id: the one before it is the last of them. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(policy->settings[middle].id, id) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || !streq(policy->settings[low - 1].id, id) || !policy->settings[low - 1].wins)
		return NULL;
	return &policy->settings[low - 1];
}

int policy_compare_strings(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

bool policy_is_essential(const struct policy *policy, const char *id)
{
	return policy->n_essential > 0 &&
	       bsearch(&id, policy->essential, policy->n_essential, sizeof(char *), policy_compare_strings);
}
