/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>
#include <limits.h>

#include "base/number.h"
#include "base/strutil.h"
#include "base/utf8.h"
#include "core/policy-parse.h"

/* The smallest base page of any machine: a size for a row in pages that is no multiple of it fits nowhere. */
#define SMALLEST_PAGE_BYTES 4096

const char *policy_shown(const char *text, char *buf)
{
	size_t n = utf8_cut(text, POLICY_SHOWN_SIZE - sizeof("..."));

	snprintf(buf, POLICY_SHOWN_SIZE, "%.*s%s", (int)n, text, text[n] ? "..." : "");
	return buf;
}

bool policy_take_relation(const char **text, enum relation *ret)
{
	const char *rest;

	if ((rest = startswith(*text, ">=")))
		*ret = RELATION_AT_LEAST;
	else if ((rest = startswith(*text, "<=")))
		*ret = RELATION_AT_MOST;
	else
		return false;
	while (is_blank(*rest))
		rest++;
	*text = rest;
	return true;
}

/* "010" is 8 to the kernel and 10 to most people: both are shown. */
static int leading_zero(struct policy_parser *p, unsigned line, const char *id, const char *text)
{
	char shown[POLICY_SHOWN_SIZE];
	const char *digits = text;
	uint64_t octal;

	policy_shown(text, shown);
	while (digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9')
		digits++;
	if (parse_octal(text, &octal) == 0)
		policy_error(p, line, id,
			     "\"%s\" has a leading zero: the kernel reads %" PRIu64
			     ", most people %.20s; write the one you mean",
			     shown, octal, digits);
	else
		policy_error(p, line, id, "\"%s\" has a leading zero; write it without", shown);
	return 0;
}

static const char *nearest_choice(const char *const *choices, const char *text)
{
	unsigned best_distance = UINT_MAX;
	const char *best = NULL;

	for (size_t i = 0; choices && choices[i]; i++)
		if (nearer_name(text, choices[i], &best_distance))
			best = choices[i];
	return best;
}

static bool is_choice(const char *const *choices, const char *text)
{
	for (size_t i = 0; choices[i]; i++)
		if (streq(choices[i], text))
			return true;
	return false;
}

/* Takes sizes and shares of memory. */
static bool is_counted_in_memory(const struct tunable *t)
{
	return t->kind == VALUE_INTEGER && (t->unit == UNIT_PAGES || value_unit_bytes(t->unit, 1) != 0);
}

/* What is wrong with a value of which value_from_policy() says r. */
static int bad_value(struct policy_parser *p, unsigned line, const struct setting *s, const char *text, int r)
{
	const struct tunable *t = s->ref.tunable;
	char shown[POLICY_SHOWN_SIZE], range[256];

	policy_shown(text, shown);
	tunable_range_text(t, range);
	switch (r) {
	case -ENOMEM:
		return r;
	case -EDOM:
		return leading_zero(p, line, s->id, text);
	case -ERANGE:
		policy_error(p, line, s->id, "\"%s\" is out of range; it takes %s", shown, range);
		return 0;
	case -EOPNOTSUPP:
		policy_error(p, line, s->id, "\"%s\" is a size, but this is not counted in memory; it takes %s", shown,
			     range);
		return 0;
	case -EXDEV:
		policy_error(p, line, s->id, "\"%s\" is not a whole number of %s, which this is counted in", shown,
			     value_unit_name(t->unit));
		return 0;
	}
	switch (t->kind) {
	case VALUE_INTEGER:
		policy_error(p, line, s->id, "\"%s\" is %s; it takes %s", shown,
			     is_counted_in_memory(t) ? "neither a number nor a size like 64M, whole and without blanks"
						     : "not a number",
			     range);
		break;
	case VALUE_BOOLEAN:
		policy_error(p, line, s->id, "\"%s\" is neither yes nor no", shown);
		break;
	case VALUE_CHOICE:
		policy_error(p, line, s->id, "\"%s\" is not one word without brackets; it takes %s", shown, range);
		break;
	case VALUE_LIST:
		policy_error(p, line, s->id, "\"%s\" is not a list of numbers; it takes %s", shown, range);
		break;
	case VALUE_WORD:
		policy_error(p, line, s->id, "\"%s\" is not a text that can be written", shown);
		break;
	}
	return 0;
}

static bool in_range(const struct tunable *t, int64_t n)
{
	return (t->min == 0 && t->max == 0) || (n >= t->min && n <= t->max);
}

static bool list_in_range(const struct tunable *t, const char *list)
{
	for (const char *p = list;;) {
		char *end;
		/* The list is in canonical form: decimal numbers that fit, one blank between. */
		int64_t n = strtoll(p, &end, 10);

		if (!in_range(t, n))
			return false;
		if (!*end)
			return true;
		p = end + 1;
	}
}

/* 1 where the row takes the value, else 0 and a message. */
static int check_value(struct policy_parser *p, unsigned line, const struct setting *s, const char *text)
{
	const struct tunable *t = s->ref.tunable;
	char shown[POLICY_SHOWN_SIZE], range[256];
	bool good = true;

	if (t->choices && (t->kind == VALUE_CHOICE || t->kind == VALUE_WORD)) {
		const char *nearest;

		if (is_choice(t->choices, s->value.text))
			return 1;
		nearest = nearest_choice(t->choices, s->value.text);
		policy_error(p, line, s->id, "\"%s\" is none of: %s%s%s%s", policy_shown(text, shown),
			     tunable_range_text(t, range), nearest ? "; did you mean \"" : "", nearest ?: "",
			     nearest ? "\"?" : "");
		return 0;
	}
	if (t->kind == VALUE_INTEGER)
		good = in_range(t, s->value.number);
	else if (t->kind == VALUE_LIST)
		good = list_in_range(t, s->value.text);
	if (good)
		return 1;
	policy_error(p, line, s->id, "\"%s\" is out of range; it takes %s", policy_shown(text, shown),
		     tunable_range_text(t, range));
	return 0;
}

static int parse_share(struct policy_parser *p, unsigned line, const char *text, struct setting *s)
{
	const struct tunable *t = s->ref.tunable;
	char shown[POLICY_SHOWN_SIZE], range[256];
	int r;

	policy_shown(text, shown);
	if (t->unit == UNIT_PERCENT) {
		policy_error(p, line, s->id, "\"%s\": this is a percentage already; write it without \"%%\"", shown);
		return 0;
	}
	if (!is_counted_in_memory(t)) {
		policy_error(p, line, s->id,
			     "\"%s\" is a share of memory, but this is not counted in memory; it takes %s", shown,
			     tunable_range_text(t, range));
		return 0;
	}
	r = parse_percent(text, &s->permyriad);
	if (r < 0) {
		policy_error(p, line, s->id, "\"%s\" is not a percentage from 0%% to 100%% with at most two decimals",
			     shown);
		return 0;
	}
	s->form = SETTING_PERCENT;
	return 1;
}

/* A size for a row in pages: how many that is, only the instance or the machine can tell. */
static int parse_page_size(struct policy_parser *p, unsigned line, const char *text, uint64_t bytes, struct setting *s)
{
	const struct tunable *t = s->ref.tunable;
	uint64_t page_bytes = s->ref.size_bytes ?: SMALLEST_PAGE_BYTES;
	char shown[POLICY_SHOWN_SIZE], range[256], size[24];

	if (bytes % page_bytes != 0) {
		policy_error(p, line, s->id, "\"%s\" is not a whole number of %s pages", policy_shown(text, shown),
			     format_size_exact(page_bytes, size));
		return 0;
	}
	if (bytes / page_bytes > INT64_MAX || (s->ref.size_bytes && !in_range(t, (int64_t)(bytes / page_bytes)))) {
		policy_error(p, line, s->id, "\"%s\" is out of range; it takes %s", policy_shown(text, shown),
			     tunable_range_text(t, range));
		return 0;
	}
	s->form = SETTING_BYTES;
	s->bytes = bytes;
	return 1;
}

/* Of a key of which nothing is known only this is: a number with a leading zero is not what it looks like. */
static int check_raw(struct policy_parser *p, unsigned line, const char *text, const struct setting *s)
{
	_cleanup_(strv_freep) char **words = NULL;
	int r = strv_split(text, &words);

	if (r < 0)
		return r;
	for (size_t i = 0; words && words[i]; i++) {
		int64_t n;

		if (parse_i64(words[i], &n) == -EDOM)
			return leading_zero(p, line, s->id, words[i]);
	}
	return 1;
}

static int parse_plain(struct policy_parser *p, unsigned line, const char *text, struct setting *s)
{
	const struct tunable *t = s->ref.tunable;
	bool suffixed = false;
	uint64_t bytes;
	int r;

	if ((t->unit == UNIT_PAGES || t->unit == UNIT_HUGE_PAGES) && parse_size(text, &bytes, &suffixed) == 0 &&
	    suffixed)
		return parse_page_size(p, line, text, bytes, s);
	if (t->scope == SCOPE_RAW) {
		r = check_raw(p, line, text, s);
		if (r <= 0)
			return r;
	}
	r = value_from_policy(t->kind, t->style, t->unit, s->ref.size_bytes, text, &s->value);
	if (r < 0)
		return bad_value(p, line, s, text, r);
	s->form = SETTING_VALUE;
	return check_value(p, line, s, text);
}

/* What comes out of other habits: "key == 5", "=> 5", "> 5". */
static bool report_relation_typo(struct policy_parser *p, unsigned line, const char *text, const struct setting *s)
{
	static const struct {
		const char *start, *advice;
	} table[] = {
		{ "=>", "\"=>\" is written \">=\"" },
		{ "=<", "\"=<\" is written \"<=\"" },
		{ "=", "one \"=\" is enough" },
		{ ">", "\">\" alone is not known here; \">=\" sets a floor" },
		{ "<", "\"<\" alone is not known here; \"<=\" sets a ceiling" },
		{ "!=", "\"!=\" is for [Match] only" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (startswith(text, table[i].start)) {
			policy_error(p, line, s->id, "%s", table[i].advice);
			return true;
		}
	return false;
}

static int parse_bound(struct policy_parser *p, unsigned line, const char *text, struct setting *s)
{
	const char *sign = s->relation == RELATION_AT_LEAST ? ">=" : "<=";

	if (s->ref.tunable->kind != VALUE_INTEGER) {
		policy_error(p, line, s->id, "\"%s\" is for tunables that are a number", sign);
		return 0;
	}
	if (!*text) {
		policy_error(p, line, s->id, "no number after \"%s\"", sign);
		return 0;
	}
	if (streq(text, "auto") || streq(text, "keep")) {
		policy_error(p, line, s->id, "\"%s\" needs a number, a size or a percentage, not \"%s\"", sign, text);
		return 0;
	}
	return 1;
}

static int parse_auto(struct policy_parser *p, unsigned line, struct setting *s)
{
	const struct tunable *t = s->ref.tunable;
	char range[256];

	if (t->scope == SCOPE_RAW) {
		policy_error(p, line, s->id,
			     "nothing is known about this key, so there is no \"auto\" for it; give a value");
		return 0;
	}
	if (!t->auto_rule) {
		policy_error(p, line, s->id, "there is no \"auto\" for this tunable; it takes %s",
			     tunable_range_text(t, range));
		return 0;
	}
	s->form = SETTING_AUTO;
	return 1;
}

int policy_parse_value(struct policy_parser *p, unsigned line, const char *text, struct setting *s)
{
	const struct tunable *t = s->ref.tunable;

	s->relation = RELATION_EQUAL;
	if (t->choices && is_choice(t->choices, text))
		return parse_plain(p, line, text, s);
	if (streq(text, "keep")) {
		s->form = SETTING_KEEP;
		return 1;
	}
	if (streq(text, "auto"))
		return parse_auto(p, line, s);
	if (policy_take_relation(&text, &s->relation)) {
		int r = parse_bound(p, line, text, s);

		if (r <= 0)
			return r;
	} else if (t->kind != VALUE_WORD && report_relation_typo(p, line, text, s)) {
		return 0;
	}
	if (t->kind != VALUE_WORD && endswith(text, "%"))
		return parse_share(p, line, text, s);
	return parse_plain(p, line, text, s);
}
