/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/mounts.h"

#include "test.h"

struct seen {
	size_t lines;
	char target[64];
	char options[64];
};

static int take_hugetlbfs(void *userdata, const struct mount_line *line)
{
	struct seen *s = userdata;

	s->lines++;
	if (streq(line->type, "hugetlbfs")) {
		snprintf(s->target, sizeof(s->target), "%s", line->target);
		snprintf(s->options, sizeof(s->options), "%s", line->options);
	}
	return 0;
}

static void case_04_a_mount_behind_a_very_long_line(void **state)
{
	struct seen s = {};
	_cleanup_free_ char *text = malloc(20000 * 6 + 512);
	char *o = text;

	assert_non_null(text);
	o = stpcpy(o, "overlay /m overlay rw,lowerdir=");
	for (size_t i = 0; i < 20000; i++)
		o = stpcpy(o, "/l/x:");
	stpcpy(o, " 0 0\nnone /dev/huge\\040pages\\134x hugetlbfs rw,relatime,pagesize=2M 0 0\n");
	assert_int_equal(mounts_parse(text, take_hugetlbfs, &s), 0);
	assert_int_equal(s.lines, 2);
	assert_string_equal(s.target, "/dev/huge pages\\x");
	assert_string_equal(s.options, "rw,relatime,pagesize=2M");
}

static int stop_at_first(void *userdata, const struct mount_line *line)
{
	++*(size_t *)userdata;
	return -EXDEV;
}

static void odd_lines(void **state)
{
	struct seen s = {};
	size_t n = 0;

	assert_int_equal(mounts_parse("", take_hugetlbfs, &s), 0);
	assert_int_equal(mounts_parse("\n\na b c\nproc\n", take_hugetlbfs, &s), 0);
	assert_int_equal(s.lines, 0);
	assert_int_equal(mounts_parse("a b c d", take_hugetlbfs, &s), 0);
	assert_int_equal(s.lines, 1);
	assert_int_equal(mounts_parse("a b c d 0 0\na b c d 0 0\n", stop_at_first, &n), -EXDEV);
	assert_int_equal(n, 1);
}

static void escapes(void **state)
{
	static const struct {
		const char *text, *want;
	} table[] = {
		{ "a\\040b\\011c\\012d\\134e", "a b\tc\nd\\e" },
		{ "\\", "\\" },
		{ "\\04", "\\04" },
		{ "\\049", "\\049" },
		{ "\\400", "\\400" },
		{ "\\000", "\\000" },
		{ "\\377", "\377" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		char s[32];

		snprintf(s, sizeof(s), "%s", table[i].text);
		mount_unescape(s);
		assert_string_equal(s, table[i].want);
	}
}

static void options(void **state)
{
	const char *text = "rw,pagesize=2M,mode=1770,ro", *v;
	size_t n;

	v = mount_option(text, "pagesize", &n);
	assert_non_null(v);
	assert_int_equal(n, 2);
	assert_memory_equal(v, "2M", 2);
	assert_non_null(mount_option(text, "rw", &n));
	assert_int_equal(n, 0);
	assert_non_null(mount_option(text, "ro", &n));
	assert_null(mount_option(text, "page", &n));
	assert_null(mount_option(text, "size", &n));
	assert_null(mount_option("", "rw", &n));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(case_04_a_mount_behind_a_very_long_line),
		cmocka_unit_test(odd_lines),
		cmocka_unit_test(escapes),
		cmocka_unit_test(options),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
