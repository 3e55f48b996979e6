/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/policy.h"
#include "test.h"

/* What the tests of the policy share: a policy with its messages. */

struct loaded {
	struct policy *policy;
	struct diag_list diags;
};

static inline void loaded_done(struct loaded *l)
{
	policy_free(l->policy);
	diag_list_clear(&l->diags);
}

#define _cleanup_loaded_ _cleanup_(loaded_done)

/* From text, as the file "t". */
static inline struct loaded load_text(const char *text, struct facts *facts)
{
	struct loaded l = { 0 };

	assert_int_equal(policy_load_text("t", text, strlen(text), facts, NULL, &l.diags, &l.policy), 0);
	assert_non_null(l.policy);
	return l;
}

/* All messages, one a line: "error: t:3: vm.swappiness: ...". The caller frees. */
static inline char *all_messages(const struct loaded *l)
{
	char *all = strdup("");

	for (size_t i = 0; i < l->diags.n; i++) {
		char *line = diag_format(&l->diags.items[i]);
		char *more = xasprintf("%s%s: %s\n", all, diag_severity_name(l->diags.items[i].severity), line);

		assert_non_null(more);
		free(line);
		free(all);
		all = more;
	}
	return all;
}

static inline void messages_are(const struct loaded *l, const char *want)
{
	_cleanup_free_ char *all = all_messages(l);

	assert_string_equal(all, want);
}

/* Text in, messages out. */
static inline void text_says(const char *text, const char *want)
{
	_cleanup_loaded_ struct loaded l = load_text(text, NULL);

	messages_are(&l, want);
}

static inline const struct setting *winner(const struct loaded *l, const char *id)
{
	const struct setting *s = policy_find(l->policy, id);

	if (!s)
		fail_msg("nothing sets %s", id);
	return s;
}

/* The winner is a value, and this one. */
static inline void winner_is(const struct loaded *l, const char *id, const char *want)
{
	const struct setting *s = winner(l, id);

	assert_int_equal(s->form, SETTING_VALUE);
	assert_string_equal(s->value.text, want);
}
