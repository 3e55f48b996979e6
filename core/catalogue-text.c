/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>
#include <limits.h>

#include "base/strutil.h"
#include "core/catalogue.h"

#define RANGE_TEXT_SIZE 256

static void append(char *buf, const char *text)
{
	size_t n = strlen(buf);

	snprintf(buf + n, RANGE_TEXT_SIZE - n, "%s%s", n ? " " : "", text);
}

/* Ends at which only the type of the kernel's variable stops are no bounds worth telling. */
static bool is_type_limit(int64_t max)
{
	return max == INT_MAX || max == UINT_MAX || max == INT64_MAX;
}

static void append_range(char *buf, const struct tunable *t)
{
	const char *what = t->kind == VALUE_LIST ? "numbers" : "a number";
	char range[96];

	if (t->min == 0 && t->max == 0)
		snprintf(range, sizeof(range), "%s", what);
	else if (is_type_limit(t->max))
		snprintf(range, sizeof(range), t->min ? "%s from %" PRId64 : "%s", what, t->min);
	else if (t->kind == VALUE_LIST)
		snprintf(range, sizeof(range), "numbers, each %" PRId64 " to %" PRId64, t->min, t->max);
	else
		snprintf(range, sizeof(range), "%" PRId64 " to %" PRId64, t->min, t->max);
	append(buf, range);
	if (*value_unit_name(t->unit)) {
		snprintf(range, sizeof(range), "(%s)", value_unit_name(t->unit));
		append(buf, range);
	}
}

const char *tunable_range_text(const struct tunable *t, char *buf)
{
	buf[0] = '\0';
	if (t->choices) {
		for (const char *const *c = t->choices; *c; c++)
			append(buf, *c);
		return buf;
	}
	switch (t->kind) {
	case VALUE_INTEGER:
	case VALUE_LIST:
		append_range(buf, t);
		break;
	case VALUE_BOOLEAN:
		append(buf, "yes or no");
		break;
	case VALUE_CHOICE:
	case VALUE_WORD:
		append(buf, "a word");
		break;
	}
	return buf;
}

const char *tunable_scope_name(enum tunable_scope scope)
{
	switch (scope) {
	case SCOPE_RUNTIME:
		return "runtime";
	case SCOPE_BOOT:
		return "boot";
	case SCOPE_DAEMON:
		return "daemon";
	case SCOPE_OPTION:
		return "option";
	case SCOPE_RAW:
		return "raw";
	}
	return "unknown";
}

const char *comparison_name(enum comparison c)
{
	switch (c) {
	case COMPARE_EQUAL:
		return "equal";
	case COMPARE_MAY_RAISE:
		return "may-raise";
	case COMPARE_POWER_OF_2:
		return "power-of-2";
	case COMPARE_SUBSET:
		return "subset";
	case COMPARE_AT_LEAST:
		return "at-least";
	case COMPARE_LIST_ZEROES:
		return "list-zeroes";
	}
	return "unknown";
}

const char *effect_check_name(enum effect_check e)
{
	switch (e) {
	case EFFECT_READBACK:
		return "readback";
	case EFFECT_FAULT_AROUND:
		return "fault-around";
	case EFFECT_HVO:
		return "hvo";
	case EFFECT_THP:
		return "thp";
	case EFFECT_POOL:
		return "pool";
	case EFFECT_ZSWAP_COMPRESSOR:
		return "zswap-compressor";
	}
	return "unknown";
}
