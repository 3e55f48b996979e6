/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "test.h"

#include <limits.h>

static void ends(void **state)
{
	assert_true(endswith("50-a.conf", ".conf"));
	assert_true(endswith("a", ""));
	assert_false(endswith("conf", ".conf"));
	assert_false(endswith("a.conf~", ".conf"));
	assert_string_equal(startswith("nr_x 5", "nr_x"), " 5");
	assert_null(startswith("nr", "nr_x"));
}

static void stripping(void **state)
{
	char both[] = " \t\v\f\r\n a b \n", none[] = "a", blank[] = " \n ", empty[] = "", nbsp[] = "\xc2\xa0";

	assert_string_equal(strstrip(both), "a b");
	assert_string_equal(strstrip(none), "a");
	assert_string_equal(strstrip(blank), "");
	assert_string_equal(strstrip(empty), "");
	/* Bytes above ASCII are no white space, whatever the locale says. */
	assert_string_equal(strstrip(nbsp), "\xc2\xa0");
}

static void ascii_case(void **state)
{
	assert_true(ascii_streq_nocase("FILE", "file"));
	assert_false(ascii_streq_nocase("file", "files"));
	assert_false(ascii_streq_nocase("files", "file"));
	assert_false(ascii_streq_nocase("@", "`"));
	assert_int_equal(ascii_lower('I'), 'i');
	assert_int_equal(ascii_lower('\xc0'), '\xc0');
}

static void distances(void **state)
{
	static const struct {
		const char *a, *b;
		unsigned limit, d;
	} cases[] = {
		{ "", "", 5, 0 },
		{ "abc", "abc", 5, 0 },
		{ "", "abc", 5, 3 },
		{ "abc", "", 5, 3 },
		{ "swapiness", "swappiness", 5, 1 },
		{ "swappines", "swappiness", 5, 1 },
		{ "zsdt", "zstd", 5, 1 },
		{ "kitten", "sitting", 5, 3 },
		{ "ab", "ba", 5, 1 },
		{ "kitten", "sitting", 2, 3 },
		{ "kitten", "sitting", 0, 1 },
		{ "abcdefgh", "zyxwvuts", 3, 4 },
		{ "a", "abcdefgh", 3, 4 },
		{ "abc", "abcdefgh", UINT_MAX, 5 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(edit_distance(cases[i].a, cases[i].b, cases[i].limit), cases[i].d);
		assert_int_equal(edit_distance(cases[i].b, cases[i].a, cases[i].limit), cases[i].d);
	}
}

static const char *nearest(const char *s, const char *const *names, size_t n)
{
	unsigned best = UINT_MAX;
	const char *found = NULL;

	for (size_t i = 0; i < n; i++)
		if (nearer_name(s, names[i], &best))
			found = names[i];
	return found;
}

static void did_you_mean(void **state)
{
	static const char *const names[] = { "dirty_ratio", "dirty_bytes", "swappiness", "vm", "thp", "hugetlb" };

	assert_string_equal(nearest("swapiness", names, ARRAY_SIZE(names)), "swappiness");
	assert_string_equal(nearest("dirty-ratio", names, ARRAY_SIZE(names)), "dirty_ratio");
	assert_string_equal(nearest("dirty_byte", names, ARRAY_SIZE(names)), "dirty_bytes");
	assert_string_equal(nearest("tph", names, ARRAY_SIZE(names)), "thp");
	assert_string_equal(nearest("hugtelb", names, ARRAY_SIZE(names)), "hugetlb");
	assert_null(nearest("x", names, ARRAY_SIZE(names)));
	assert_null(nearest("", names, ARRAY_SIZE(names)));
	assert_null(nearest("compaction_proactiveness", names, ARRAY_SIZE(names)));
}

static void vectors(void **state)
{
	_cleanup_(strv_freep) char **v = NULL;

	assert_int_equal(strv_length(NULL), 0);
	assert_false(strv_contains(NULL, "a"));
	strv_sort(NULL);
	strv_free(NULL);
	assert_int_equal(strv_push(&v, strdup("b")), 0);
	assert_int_equal(strv_push(&v, strdup("a")), 0);
	assert_int_equal(strv_push(&v, strdup("B")), 0);
	assert_int_equal(strv_push(&v, NULL), -ENOMEM);
	assert_int_equal(strv_length(v), 3);
	assert_true(strv_contains(v, "a"));
	assert_false(strv_contains(v, "A"));
	strv_sort(v);
	assert_string_equal(v[0], "B");
	assert_string_equal(v[1], "a");
	assert_string_equal(v[2], "b");
	assert_null(v[3]);
}

static void splitting(void **state)
{
	_cleanup_(strv_freep) char **words = NULL, **none = NULL;

	assert_int_equal(strv_split("  one\ttwo \n three", &words), 0);
	assert_int_equal(strv_length(words), 3);
	assert_string_equal(words[0], "one");
	assert_string_equal(words[1], "two");
	assert_string_equal(words[2], "three");
	assert_int_equal(strv_split(" \n", &none), 0);
	assert_non_null(none);
	assert_int_equal(strv_length(none), 0);
}

static void formatting(void **state)
{
	_cleanup_free_ char *s = xasprintf("%s-%d", "node", 3);

	assert_string_equal(s, "node-3");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(ends),	     cmocka_unit_test(stripping),    cmocka_unit_test(ascii_case),
		cmocka_unit_test(distances), cmocka_unit_test(did_you_mean), cmocka_unit_test(vectors),
		cmocka_unit_test(splitting), cmocka_unit_test(formatting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
