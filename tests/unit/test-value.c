/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "test.h"

#include "core/value.h"

#define _cleanup_value_ _cleanup_(value_clear)

/* want NULL: the result is r. */
static void kernel(enum value_kind kind, enum boolean_style style, const char *text, int r, const char *want)
{
	_cleanup_value_ struct value v = { 0 };

	assert_int_equal(value_from_kernel(kind, style, text, &v), r);
	if (want)
		assert_string_equal(v.text, want);
	else
		assert_null(v.text);
}

static void policy(enum value_kind kind, enum value_unit unit, uint64_t page_bytes, const char *text, int r,
		   const char *want)
{
	_cleanup_value_ struct value v = { 0 };

	assert_int_equal(value_from_policy(kind, BOOLEAN_01, unit, page_bytes, text, &v), r);
	if (want)
		assert_string_equal(v.text, want);
	else
		assert_null(v.text);
}

static void integers_from_the_kernel(void **state)
{
	_cleanup_value_ struct value v = { 0 };

	kernel(VALUE_INTEGER, 0, "60\n", 0, "60");
	kernel(VALUE_INTEGER, 0, "-1\n", 0, "-1");
	kernel(VALUE_INTEGER, 0, "0x0007\n", 0, "7");
	kernel(VALUE_INTEGER, 0, "", -EINVAL, NULL);
	kernel(VALUE_INTEGER, 0, "1 2\n", -EINVAL, NULL);
	kernel(VALUE_INTEGER, 0, "18446744073709551615\n", -ERANGE, NULL);
	assert_int_equal(value_from_kernel(VALUE_INTEGER, 0, "0x10", &v), 0);
	assert_int_equal(v.number, 16);
}

static void booleans(void **state)
{
	_cleanup_value_ struct value v = { 0 };

	kernel(VALUE_BOOLEAN, BOOLEAN_01, "1\n", 0, "1");
	kernel(VALUE_BOOLEAN, BOOLEAN_01, "2\n", 0, "1");
	kernel(VALUE_BOOLEAN, BOOLEAN_NY, "Y\n", 0, "Y");
	kernel(VALUE_BOOLEAN, BOOLEAN_NY, "0\n", 0, "N");
	kernel(VALUE_BOOLEAN, BOOLEAN_NY, "2\n", -EINVAL, NULL);
	kernel(VALUE_BOOLEAN, BOOLEAN_FALSE_TRUE, "true\n", 0, "true");
	kernel(VALUE_BOOLEAN, BOOLEAN_FALSE_TRUE, "maybe\n", -EINVAL, NULL);
	policy(VALUE_BOOLEAN, UNIT_NONE, 0, "Yes", 0, "1");
	policy(VALUE_BOOLEAN, UNIT_NONE, 0, "off", 0, "0");
	policy(VALUE_BOOLEAN, UNIT_NONE, 0, "2", -EINVAL, NULL);
	assert_int_equal(value_from_policy(VALUE_BOOLEAN, BOOLEAN_NY, UNIT_NONE, 0, "on", &v), 0);
	assert_string_equal(v.text, "Y");
	assert_int_equal(v.number, 1);
}

static void choices(void **state)
{
	_cleanup_(strv_freep) char **words = NULL;

	kernel(VALUE_CHOICE, 0, "always [madvise] never\n", 0, "madvise");
	kernel(VALUE_CHOICE, 0, "online\n", 0, "online");
	kernel(VALUE_CHOICE, 0, "always madvise never\n", -EINVAL, NULL);
	kernel(VALUE_CHOICE, 0, "[a] [b]\n", -EINVAL, NULL);
	kernel(VALUE_CHOICE, 0, "[]\n", -EINVAL, NULL);
	kernel(VALUE_CHOICE, 0, "a [b]c]\n", -EINVAL, NULL);
	kernel(VALUE_CHOICE, 0, "a] [b]\n", -EINVAL, NULL);
	kernel(VALUE_CHOICE, 0, "", -EINVAL, NULL);
	policy(VALUE_CHOICE, UNIT_NONE, 0, "madvise", 0, "madvise");
	policy(VALUE_CHOICE, UNIT_NONE, 0, "always [madvise] never", -EINVAL, NULL);
	policy(VALUE_CHOICE, UNIT_NONE, 0, "[madvise]", -EINVAL, NULL);

	assert_int_equal(value_choices("always defer+madvise [madvise] never\n", &words), 0);
	assert_int_equal(strv_length(words), 4);
	assert_string_equal(words[1], "defer+madvise");
	assert_string_equal(words[2], "madvise");
}

static void words(void **state)
{
	kernel(VALUE_WORD, 0, "lz4\n", 0, "lz4");
	kernel(VALUE_WORD, 0, "\n", 0, "");
	kernel(VALUE_WORD, 0, "a\nb\n", -EINVAL, NULL);
	kernel(VALUE_WORD, 0, "|/bin/x  %p [y]\n", 0, "|/bin/x  %p [y]");
	kernel(VALUE_WORD, 0, "always [madvise] never\n", 0, "madvise");
	policy(VALUE_WORD, UNIT_NONE, 0, "always [madvise] never", 0, "always [madvise] never");
	policy(VALUE_WORD, UNIT_NONE, 0, "", -EINVAL, NULL);
}

static void sizes(void **state)
{
	policy(VALUE_INTEGER, UNIT_KIB, 0, "64M", 0, "65536");
	policy(VALUE_INTEGER, UNIT_KIB, 0, "64", 0, "64");
	policy(VALUE_INTEGER, UNIT_BYTES, 0, "1G", 0, "1073741824");
	policy(VALUE_INTEGER, UNIT_MIB, 0, "1G", 0, "1024");
	policy(VALUE_INTEGER, UNIT_MIB, 0, "512K", -EXDEV, NULL);
	policy(VALUE_INTEGER, UNIT_PAGES, 4096, "1M", 0, "256");
	policy(VALUE_INTEGER, UNIT_PAGES, 0, "1M", -EOPNOTSUPP, NULL);
	policy(VALUE_INTEGER, UNIT_HUGE_PAGES, 2 << 20, "8G", 0, "4096");
	policy(VALUE_INTEGER, UNIT_HUGE_PAGES, 2 << 20, "3M", -EXDEV, NULL);
	policy(VALUE_INTEGER, UNIT_NONE, 0, "10k", -EOPNOTSUPP, NULL);
	policy(VALUE_INTEGER, UNIT_MSEC, 0, "10k", -EOPNOTSUPP, NULL);
	policy(VALUE_INTEGER, UNIT_BYTES, 0, "16777216T", -ERANGE, NULL);
	policy(VALUE_INTEGER, UNIT_BYTES, 0, "8388608T", -ERANGE, NULL);
	policy(VALUE_INTEGER, UNIT_BYTES, 0, "-1K", -ERANGE, NULL);
}

/* Multi-value keys: the kernel writes tabs, and shows more than the one word that is set. */
static void case_14_white_space_of_multi_value_keys(void **state)
{
	_cleanup_value_ struct value ours = { 0 }, theirs = { 0 }, hex = { 0 }, other = { 0 };

	assert_int_equal(value_from_kernel(VALUE_LIST, 0, "256\t256\t32\t0\t0\n", &theirs), 0);
	assert_int_equal(value_from_policy(VALUE_LIST, 0, UNIT_NONE, 0, "256 256   32 0 0", &ours), 0);
	assert_int_equal(value_from_policy(VALUE_LIST, 0, UNIT_NONE, 0, "0x100,256, 0x20 0 0", &hex), 0);
	assert_int_equal(value_from_policy(VALUE_LIST, 0, UNIT_NONE, 0, "256 256 32 0", &other), 0);
	assert_true(value_equal(&ours, &theirs));
	assert_true(value_equal(&hex, &theirs));
	assert_false(value_equal(&other, &theirs));
	assert_string_equal(ours.text, "256 256 32 0 0");

	policy(VALUE_LIST, UNIT_NONE, 0, "1 x 2", -EINVAL, NULL);
	policy(VALUE_LIST, UNIT_NONE, 0, "1 010", -EDOM, NULL);
	policy(VALUE_LIST, UNIT_NONE, 0, " , ", -EINVAL, NULL);
	kernel(VALUE_LIST, 0, "\n", -EINVAL, NULL);
}

static void case_14_numbers_are_equal_however_written(void **state)
{
	_cleanup_value_ struct value a = { 0 }, b = { 0 };

	assert_int_equal(value_from_policy(VALUE_INTEGER, 0, UNIT_NONE, 0, "0x0a", &a), 0);
	assert_int_equal(value_from_kernel(VALUE_INTEGER, 0, "10\n", &b), 0);
	assert_true(value_equal(&a, &b));
	assert_string_equal(a.text, "10");
}

/* A file of which nothing is known is compared well too, and what is text is kept. */
static void case_14_raw_text(void **state)
{
	_cleanup_value_ struct value ours = { 0 }, theirs = { 0 }, hex = { 0 }, text = { 0 }, wide = { 0 };

	assert_int_equal(value_from_policy(VALUE_WORD, 0, UNIT_NONE, 0, "4096  131072 6291456", &ours), 0);
	assert_int_equal(value_from_kernel(VALUE_WORD, 0, "4096\t131072\t6291456\n", &theirs), 0);
	assert_int_equal(value_from_policy(VALUE_WORD, 0, UNIT_NONE, 0, "0x1000 131072 6291456", &hex), 0);
	assert_string_equal(ours.text, theirs.text);
	assert_true(value_equal(&hex, &theirs));
	/* How a number of a file of which nothing is known was written stays: its base is not known. */
	assert_string_equal(hex.text, "0x1000 131072 6291456");

	assert_int_equal(value_from_policy(VALUE_WORD, 0, UNIT_NONE, 0, "a b", &text), 0);
	assert_int_equal(value_from_kernel(VALUE_WORD, 0, "a  b\n", &wide), 0);
	assert_string_equal(wide.text, "a  b");
	assert_false(value_equal(&text, &wide));
}

/* What a shell or the kernel would take for something else is no number here. */
static void case_15_decorated_values(void **state)
{
	static const char *const bad[] = { "10 # note", "10 20", "10\r", "\"10\"", "+10",
					   "10.5",	"10 ",	 " 10",	 "1e3",	   "ten" };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		policy(VALUE_INTEGER, UNIT_NONE, 0, bad[i], -EINVAL, NULL);
	policy(VALUE_INTEGER, UNIT_NONE, 0, "010", -EDOM, NULL);
	policy(VALUE_INTEGER, UNIT_BYTES, 0, "010K", -EDOM, NULL);
	policy(VALUE_INTEGER, UNIT_NONE, 0, "10k", -EOPNOTSUPP, NULL);
	policy(VALUE_INTEGER, UNIT_NONE, 0, "0x8", 0, "8");
	policy(VALUE_WORD, UNIT_NONE, 0, "a\rb", -EINVAL, NULL);
	policy(VALUE_WORD, UNIT_NONE, 0, "a\nb", -EINVAL, NULL);
	policy(VALUE_CHOICE, UNIT_NONE, 0, " never", -EINVAL, NULL);
}

static void kinds_differ(void **state)
{
	_cleanup_value_ struct value a = { 0 }, b = { 0 }, copy = { 0 };

	assert_int_equal(value_from_number(1, &a), 0);
	assert_int_equal(value_from_kernel(VALUE_BOOLEAN, BOOLEAN_01, "1", &b), 0);
	assert_false(value_equal(&a, &b));
	assert_int_equal(value_copy(&a, &copy), 0);
	assert_true(value_equal(&a, &copy));
	assert_ptr_not_equal(a.text, copy.text);
}

static void every_kind_and_unit_has_a_name(void **state)
{
	for (int k = VALUE_INTEGER; k <= VALUE_WORD; k++)
		assert_string_not_equal(value_kind_name(k), "unknown");
	for (int u = UNIT_BYTES; u <= UNIT_SEC; u++)
		assert_string_not_equal(value_unit_name(u), "");
	assert_int_equal(value_unit_bytes(UNIT_SEC, 4096), 0);
	assert_int_equal(value_unit_bytes(UNIT_PAGES, 65536), 65536);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(integers_from_the_kernel),
		cmocka_unit_test(booleans),
		cmocka_unit_test(choices),
		cmocka_unit_test(words),
		cmocka_unit_test(sizes),
		cmocka_unit_test(case_14_white_space_of_multi_value_keys),
		cmocka_unit_test(case_14_numbers_are_equal_however_written),
		cmocka_unit_test(case_14_raw_text),
		cmocka_unit_test(case_15_decorated_values),
		cmocka_unit_test(kinds_differ),
		cmocka_unit_test(every_kind_and_unit_has_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
