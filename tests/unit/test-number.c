/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "test.h"

#include "base/number.h"

static void integers(void **state)
{
	static const struct {
		const char *text;
		int r;
		int64_t n;
	} cases[] = {
		{ "0", 0, 0 },
		{ "-0", 0, 0 },
		{ "42", 0, 42 },
		{ "-42", 0, -42 },
		{ "0x10", 0, 16 },
		{ "0X1f", 0, 31 },
		{ "-0x10", 0, -16 },
		{ "0x0010", 0, 16 },
		{ "9223372036854775807", 0, INT64_MAX },
		{ "-9223372036854775808", 0, INT64_MIN },
		{ "9223372036854775808", -ERANGE, 0 },
		{ "-9223372036854775809", -ERANGE, 0 },
		{ "18446744073709551616", -ERANGE, 0 },
		{ "010", -EDOM, 0 },
		{ "-010", -EDOM, 0 },
		{ "00", -EDOM, 0 },
		{ "08", -EDOM, 0 },
		{ "", -EINVAL, 0 },
		{ "-", -EINVAL, 0 },
		{ "0x", -EINVAL, 0 },
		{ "+1", -EINVAL, 0 },
		{ "--1", -EINVAL, 0 },
		{ " 1", -EINVAL, 0 },
		{ "1 ", -EINVAL, 0 },
		{ "1\n", -EINVAL, 0 },
		{ "010x", -EINVAL, 0 },
		{ "1e3", -EINVAL, 0 },
		{ "1.5", -EINVAL, 0 },
		{ "1,000", -EINVAL, 0 },
		{ "99999999999999999999x", -EINVAL, 0 },
		{ "ff", -EINVAL, 0 },
		{ "\xd9\xa1", -EINVAL, 0 }, /* an Arabic digit */
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int64_t n = 4711;

		assert_int_equal(parse_i64(cases[i].text, &n), cases[i].r);
		assert_true(n == (cases[i].r < 0 ? 4711 : cases[i].n));
	}
}

static void unsigned_integers(void **state)
{
	uint64_t n = 4711;

	assert_int_equal(parse_u64("18446744073709551615", &n), 0);
	assert_true(n == UINT64_MAX);
	assert_int_equal(parse_u64("0xffffffffffffffff", &n), 0);
	assert_true(n == UINT64_MAX);
	assert_int_equal(parse_u64("-0", &n), 0);
	assert_true(n == 0);
	n = 4711;
	assert_int_equal(parse_u64("18446744073709551616", &n), -ERANGE);
	assert_int_equal(parse_u64("0x10000000000000000", &n), -ERANGE);
	assert_int_equal(parse_u64("-1", &n), -ERANGE);
	assert_int_equal(parse_u64("-1x", &n), -EINVAL);
	assert_int_equal(parse_u64("007", &n), -EDOM);
	assert_true(n == 4711);
}

static void sizes(void **state)
{
	static const struct {
		const char *text;
		int r;
		uint64_t bytes;
		bool suffixed;
	} cases[] = {
		{ "100", 0, 100, false },
		{ "0", 0, 0, false },
		{ "0K", 0, 0, true },
		{ "64K", 0, 65536, true },
		{ "64k", 0, 65536, true },
		{ "64KiB", 0, 65536, true },
		{ "64kB", 0, 65536, true },
		{ "64KB", 0, 65536, true },
		{ "2M", 0, 2097152, true },
		{ "1G", 0, 1073741824, true },
		{ "3T", 0, UINT64_C(3298534883328), true },
		{ "0x10M", 0, 16777216, true },
		{ "16777215T", 0, UINT64_C(18446742974197923840), true },
		{ "16777216T", -ERANGE, 0, false },
		{ "18446744073709551616", -ERANGE, 0, false },
		{ "-1K", -ERANGE, 0, false },
		{ "010M", -EDOM, 0, false },
		{ "M", -EINVAL, 0, false },
		{ "", -EINVAL, 0, false },
		{ "2 M", -EINVAL, 0, false },
		{ "2MM", -EINVAL, 0, false },
		{ "2Mi", -EINVAL, 0, false },
		{ "2MiBs", -EINVAL, 0, false },
		{ "2B", -EINVAL, 0, false },
		{ "2P", -EINVAL, 0, false },
		{ "1.5G", -EINVAL, 0, false },
		{ "10%", -EINVAL, 0, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t bytes = 4711;
		bool suffixed = !cases[i].suffixed;

		assert_int_equal(parse_size(cases[i].text, &bytes, &suffixed), cases[i].r);
		assert_true(bytes == (cases[i].r < 0 ? 4711 : cases[i].bytes));
		if (cases[i].r == 0)
			assert_int_equal(suffixed, cases[i].suffixed);
		assert_int_equal(parse_size(cases[i].text, &bytes, NULL), cases[i].r);
	}
}

static void percentages(void **state)
{
	static const struct {
		const char *text;
		int r;
		uint32_t permyriad;
	} cases[] = {
		{ "0%", 0, 0 },
		{ "12%", 0, 1200 },
		{ "12.5%", 0, 1250 },
		{ "12.05%", 0, 1205 },
		{ "0.25%", 0, 25 },
		{ "100%", 0, 10000 },
		{ "100.00%", 0, 10000 },
		{ "100.01%", -ERANGE, 0 },
		{ "101%", -ERANGE, 0 },
		{ "05%", -EDOM, 0 },
		{ "12", -EINVAL, 0 },
		{ "12.%", -EINVAL, 0 },
		{ ".5%", -EINVAL, 0 },
		{ "1.125%", -EINVAL, 0 },
		{ "12,5%", -EINVAL, 0 },
		{ "-1%", -EINVAL, 0 },
		{ "12 %", -EINVAL, 0 },
		{ "12%%", -EINVAL, 0 },
		{ "%", -EINVAL, 0 },
		{ "", -EINVAL, 0 },
		{ "0x10%", -EINVAL, 0 },
		{ "05%x", -EINVAL, 0 },
		{ "99999999999999999999%", -ERANGE, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint32_t permyriad = 4711;

		assert_int_equal(parse_percent(cases[i].text, &permyriad), cases[i].r);
		assert_int_equal(permyriad, cases[i].r < 0 ? 4711 : cases[i].permyriad);
	}
}

static void booleans(void **state)
{
	static const char *const yes[] = { "yes", "on", "true", "y", "1", "YES", "On", "tRUE" };
	static const char *const no[] = { "no", "off", "false", "n", "0", "NO", "Off" };
	static const char *const neither[] = { "", "2", "ye", "yess", " yes", "enabled", "00" };
	bool b;

	for (size_t i = 0; i < ARRAY_SIZE(yes); i++) {
		b = false;
		assert_int_equal(parse_boolean(yes[i], &b), 0);
		assert_true(b);
	}
	for (size_t i = 0; i < ARRAY_SIZE(no); i++) {
		b = true;
		assert_int_equal(parse_boolean(no[i], &b), 0);
		assert_false(b);
	}
	for (size_t i = 0; i < ARRAY_SIZE(neither); i++)
		assert_int_equal(parse_boolean(neither[i], &b), -EINVAL);
}

static void octal_reading(void **state)
{
	uint64_t n = 4711;

	assert_int_equal(parse_octal("08", &n), -EINVAL);
	assert_int_equal(parse_octal("10", &n), -EINVAL);
	assert_int_equal(parse_octal("0", &n), -EINVAL);
	assert_int_equal(parse_octal("0x10", &n), -EINVAL);
	assert_int_equal(parse_octal("010K", &n), -EINVAL);
	assert_int_equal(parse_octal("07777777777777777777777", &n), -ERANGE);
	assert_true(n == 4711);
	assert_int_equal(parse_octal("010", &n), 0);
	assert_int_equal(n, 8);
	assert_int_equal(parse_octal("00", &n), 0);
	assert_int_equal(n, 0);
}

static void sizes_written_exactly(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} cases[] = {
		{ 0, "0" },
		{ 100, "100" },
		{ 1025, "1025" },
		{ 65536, "64K" },
		{ 2097152, "2M" },
		{ UINT64_C(1536) << 20, "1536M" },
		{ UINT64_C(1) << 30, "1G" },
		{ UINT64_C(16) << 30, "16G" },
		{ UINT64_C(2048) << 40, "2048T" },
		{ UINT64_MAX, "18446744073709551615" },
	};
	char buf[24];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t back;

		assert_string_equal(format_size_exact(cases[i].bytes, buf), cases[i].text);
		assert_int_equal(parse_size(buf, &back, NULL), 0);
		assert_true(back == cases[i].bytes);
	}
}

static void bytes_for_people(void **state)
{
	static const struct {
		int64_t bytes;
		const char *text;
	} cases[] = {
		{ 0, "0 B" },
		{ 512, "512 B" },
		{ -512, "-512 B" },
		{ 1023, "1023 B" },
		{ 1024, "1.0 KiB" },
		{ 1536, "1.5 KiB" },
		{ 14680064, "14.0 MiB" },
		{ -73728, "-72.0 KiB" },
		{ -3758096384, "-3.5 GiB" },
		{ 1048524, "1023.9 KiB" },
		{ 1048525, "1.0 MiB" },
		{ INT64_MAX, "8.0 EiB" },
		{ INT64_MIN, "-8.0 EiB" },
	};
	char buf[24];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(format_bytes(cases[i].bytes, buf), cases[i].text);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(integers),
		cmocka_unit_test(unsigned_integers),
		cmocka_unit_test(sizes),
		cmocka_unit_test(percentages),
		cmocka_unit_test(booleans),
		cmocka_unit_test(octal_reading),
		cmocka_unit_test(sizes_written_exactly),
		cmocka_unit_test(bytes_for_people),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
