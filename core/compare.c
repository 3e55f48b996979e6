/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/number.h"
#include "base/strutil.h"
#include "core/plan.h"

static bool satisfies(enum relation relation, int64_t wanted, int64_t actual)
{
	switch (relation) {
	case RELATION_EQUAL:
		return actual == wanted;
	case RELATION_AT_LEAST:
		return actual >= wanted;
	case RELATION_AT_MOST:
		return actual <= wanted;
	}
	return false;
}

static int64_t round_down_power_of_2(int64_t n)
{
	int64_t p = 1;

	while (p <= n / 2)
		p *= 2;
	return p;
}

/* Of a list that is shorter than the kernel's only those numbers were asked for: the kernel leaves the others alone. */
static bool lists_equal_but_for_zeroes(const char *wanted, const char *actual)
{
	_cleanup_(strv_freep) char **w = NULL, **a = NULL;

	if (strv_split(wanted, &w) < 0 || strv_split(actual, &a) < 0 || strv_length(w) > strv_length(a))
		return false;
	for (size_t i = 0; w && w[i]; i++) {
		int64_t x, y;

		if (parse_i64(w[i], &x) < 0 || parse_i64(a[i], &y) < 0)
			return false;
		if (x != y && !(x < 1 && y == 0))
			return false;
	}
	return true;
}

static enum outcome compare_numbers(enum comparison c, int64_t wanted, int64_t actual)
{
	switch (c) {
	case COMPARE_EQUAL:
	case COMPARE_LIST_ZEROES:
		return OUTCOME_REFUSED;
	case COMPARE_MAY_RAISE:
		return actual > wanted ? OUTCOME_ADJUSTED : OUTCOME_REFUSED;
	case COMPARE_POWER_OF_2:
		return actual == round_down_power_of_2(wanted) ? OUTCOME_ADJUSTED : OUTCOME_REFUSED;
	case COMPARE_SUBSET:
		return (actual & ~wanted) == 0 ? OUTCOME_ADJUSTED : OUTCOME_REFUSED;
	case COMPARE_AT_LEAST:
		return actual > wanted ? OUTCOME_ADJUSTED : OUTCOME_PARTIAL;
	}
	return OUTCOME_REFUSED;
}

/* "0x0a" and "10" are the same in a file of which the catalogue knows nothing. */
static bool texts_equal(enum value_kind kind, const char *a, const char *b)
{
	return value_equal(&(struct value){ .kind = kind, .text = (char *)a },
			   &(struct value){ .kind = kind, .text = (char *)b });
}

enum outcome tunable_compare(const struct tunable *t, enum relation relation, const char *wanted, const char *actual)
{
	int64_t w, a;

	if (texts_equal(t->kind, wanted, actual))
		return OUTCOME_APPLIED;
	if (t->compare == COMPARE_LIST_ZEROES)
		return lists_equal_but_for_zeroes(wanted, actual) ? OUTCOME_ADJUSTED : OUTCOME_REFUSED;
	if (parse_i64(wanted, &w) < 0 || parse_i64(actual, &a) < 0)
		return OUTCOME_REFUSED;
	if (relation != RELATION_EQUAL && satisfies(relation, w, a))
		return OUTCOME_ADJUSTED;
	return compare_numbers(t->compare, w, a);
}

int tunable_read(struct kernel_io *io, const struct tunable *t, const char *path, char **ret)
{
	_cleanup_(value_clear) struct value v = {};
	_cleanup_free_ char *text = NULL;
	int r;

	r = kernel_io_read_line(io, path, &text);
	if (r < 0)
		return r;
	r = value_from_kernel(t->kind, t->style, text, &v);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(v.text);
	return 0;
}
