/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "test.h"

#include "base/ini-file.h"

/* Everything that was called back, one line each: "3:section=x", "4:x:key=value", "5!fault". */
struct seen {
	char *text;
	size_t stop_after; /* calls; 0: never */
	size_t n_calls;
	int stop_with;
};

static int see(struct seen *seen, char *line)
{
	char *all = xasprintf("%s%s\n", seen->text ?: "", line);

	assert_non_null(line);
	assert_non_null(all);
	free(line);
	free(seen->text);
	seen->text = all;
	return ++seen->n_calls == seen->stop_after ? seen->stop_with : 0;
}

static int see_section(void *userdata, unsigned line, const char *name)
{
	return see(userdata, xasprintf("%u:[%s]", line, name));
}

static int see_pair(void *userdata, unsigned line, const char *section, const char *key, const char *value)
{
	return see(userdata, xasprintf("%u:%s:%s=%s", line, section, key, value));
}

static int see_fault(void *userdata, unsigned line, const char *text)
{
	return see(userdata, xasprintf("%u!%s", line, text));
}

static const struct ini_handler handler = { .section = see_section, .pair = see_pair, .fault = see_fault };

static void seen_clear(struct seen *seen)
{
	free(seen->text);
}

#define _cleanup_seen_ _cleanup_(seen_clear)

static void expect_n(const char *text, size_t size, const char *want)
{
	/* Of exactly this size, so that a sanitizer sees a read beyond it. */
	_cleanup_free_ char *exact = malloc(size ?: 1);
	_cleanup_seen_ struct seen seen = { 0 };

	assert_non_null(exact);
	memcpy(exact, text, size);
	assert_int_equal(ini_read(exact, size, &handler, &seen), 0);
	assert_string_equal(seen.text ?: "", want);
}

static void expect(const char *text, const char *want)
{
	expect_n(text, strlen(text), want);
}

/* A literal with NULs in it. */
#define EXPECT_BYTES(literal, want) expect_n(literal, sizeof(literal) - 1, want)

static char *repeat(char c, size_t n)
{
	char *s = malloc(n + 1);

	assert_non_null(s);
	memset(s, c, n);
	s[n] = 0;
	return s;
}

static void pairs_and_sections(void **state)
{
	expect("", "");
	expect("\n\n", "");
	expect("[a]\nk = v\n[ b ]\nl=w", "1:[a]\n2:a:k=v\n3:[b]\n4:b:l=w\n");
	expect("k = v\n", "1::k=v\n");
	expect("k = a = b\n", "1::k=a = b\n");
	expect("k = [x]\n", "1::k=[x]\n");
	expect("k\t=\tinner  blanks  stay \t\n", "1::k=inner  blanks  stay\n");
	expect("two words = v\n", "1::two words=v\n");
	expect("k = >= 5\n", "1::k=>= 5\n");
}

static void comments(void **state)
{
	expect("# a\n; b\n  # c\n\t; d = e\n", "");
	expect("k = v # c\nl = w ; c\nm = x\t#\n", "1::k=v\n2::l=w\n3::m=x\n");
	expect("k = a#b;c\n", "1::k=a#b;c\n");
	expect("k=#5\nl=5#6\n", "1::k=#5\n2::l=5#6\n");
	expect("[a] # c\n[b]\t;c\n", "1:[a]\n2:[b]\n");
	expect("k = \"a # b\" # c\nl = 'a ; b'\n", "1::k=a # b\n2::l=a ; b\n");
}

static void quotes(void **state)
{
	expect("k = \"v\"\nl = 'w'\n", "1::k=v\n2::l=w\n");
	expect("k = \" v \"\n", "1::k= v \n");
	expect("k = \"it's\"\nl = it's\n", "1::k=it's\n2::l=it's\n");
	expect("k = a \"b\"\n", "1::k=a \"b\"\n");
	expect("k = \"v\n", "1!no closing quote in the value of \"k\"\n");
	expect("k = \"v'\n", "1!no closing quote in the value of \"k\"\n");
	expect("k = \"a\" b\n", "1!text after the closing quote in the value of \"k\"\n");
	expect("k = \"a\"#b\n", "1!text after the closing quote in the value of \"k\"\n");
	expect("k = \"\"\n", "1!no value after the \"=\" of \"k\"\n");
}

static void faults(void **state)
{
	expect("no pair\n", "1!\"no pair\" is neither a comment, a [section] nor a line with \"=\"\n");
	expect("k # = v\n", "1!\"k\" is neither a comment, a [section] nor a line with \"=\"\n");
	expect("k =\n", "1!no value after the \"=\" of \"k\"\n");
	expect("k = # c\n", "1!no value after the \"=\" of \"k\"\n");
	expect("= v\n", "1!nothing before the \"=\" in \"= v\"\n");
	expect("[a\n", "1!no \"]\" at the end of \"[a\"\n");
	expect("[a # ]\n", "1!no \"]\" at the end of \"[a\"\n");
	expect("[a] b\n", "1!text after the \"]\" of \"[a] b\"\n");
	expect("[a]]\n", "1!text after the \"]\" of \"[a]]\"\n");
	expect("[ ]\n", "1!the section has no name between \"[\" and \"]\"\n");
	/* What stands below a section that could not be read is not taken for part of the one before it. */
	expect("[a]\n[b\nk = v\nx\n[c]\nl = w\n",
	       "1:[a]\n2!no \"]\" at the end of \"[b\"\n4!\"x\" is neither a comment, a [section] nor a line with \"=\"\n"
	       "5:[c]\n6:c:l=w\n");
}

static void long_faulty_lines_are_shown_in_part(void **state)
{
	_cleanup_free_ char *line = repeat('x', 1000), *shown = repeat('x', 60), *want = NULL;

	want = xasprintf("1!\"%s...\" is neither a comment, a [section] nor a line with \"=\"\n", shown);
	expect(line, want);
}

static void encodings(void **state)
{
	expect("\xef\xbb\xbf[a]\nk=v\n", "1:[a]\n2:a:k=v\n");
	expect("[a]\r\nk = v\r\n# c\r\n", "1:[a]\n2:a:k=v\n");
	expect("k = v\r", "1::k=v\n");
	expect("k = gr\xc3\xbc\xc3\x9f\n", "1::k=gr\xc3\xbc\xc3\x9f\n");
	expect("k = a\rb\n", "1!control character U+000D in column 6\n");
	expect("k = \x1b[0m\n", "1!control character U+001B in column 5\n");
	expect("k = \x7f\n", "1!control character U+007F in column 5\n");
	expect("k = \xc2\x85\n", "1!control character U+0085 in column 5\n");
	expect("k = \xff\nl = w\n", "1!byte 0xff in column 5 is not UTF-8; save the file as UTF-8\n2::l=w\n");
	expect("k = \xc3", "1!byte 0xc3 in column 5 is not UTF-8; save the file as UTF-8\n");
	expect("k = \xc0\xaf\n", "1!byte 0xc0 in column 5 is not UTF-8; save the file as UTF-8\n");
	expect("k = \xed\xa0\x80\n", "1!byte 0xed in column 5 is not UTF-8; save the file as UTF-8\n");
	expect("k = \xc2\xa0"
	       "10\n",
	       "1!a no-break space (U+00A0) in \"\xc2\xa0"
	       "10\"; use an ordinary blank\n");
	EXPECT_BYTES("k = a\0b\nl = w\n", "1!NUL byte in column 6; is this a text file?\n2::l=w\n");
	EXPECT_BYTES("\xff\xfe[\0v\0m\0]\0", "1!the file is in UTF-16 (little endian); save it as UTF-8\n");
	EXPECT_BYTES("\xfe\xff\0[\0v", "1!the file is in UTF-16 (big endian); save it as UTF-8\n");
	EXPECT_BYTES("[\0v\0m\0]\0", "1!the file is in UTF-16 (little endian); save it as UTF-8\n");
	EXPECT_BYTES("\0[\0v", "1!the file is in UTF-16 (big endian); save it as UTF-8\n");
	EXPECT_BYTES("\xff\xfe\0\0[\0\0\0", "1!the file is in UTF-32 (little endian); save it as UTF-8\n");
	EXPECT_BYTES("\0\0\xfe\xff\0\0\0[", "1!the file is in UTF-32 (big endian); save it as UTF-8\n");
}

/* What inih by itself gets wrong without a word, one test each. */

static void trap_line_of_200_bytes(void **state)
{
	for (size_t n = 190; n < 210; n++) {
		_cleanup_free_ char *value = repeat('v', n), *text = NULL, *want = NULL;

		text = xasprintf("k = %s\nl = w\n", value);
		want = xasprintf("1::k=%s\n2::l=w\n", value);
		expect(text, want);
	}
}

static void trap_key_of_50_bytes(void **state)
{
	_cleanup_free_ char *key = repeat('k', 120), *text = NULL, *want = NULL;

	text = xasprintf("%s1 = v\n%s2 = v\n", key, key);
	want = xasprintf("1::%s1=v\n2::%s2=v\n", key, key);
	expect(text, want);
}

static void trap_section_of_49_bytes(void **state)
{
	for (size_t n = 45; n < 60; n++) {
		_cleanup_free_ char *name = repeat('s', n), *text = NULL, *want = NULL;

		text = xasprintf("[%s1]\nk = v\n[%s2]\nk = v\n", name, name);
		want = xasprintf("1:[%s1]\n2:%s1:k=v\n3:[%s2]\n4:%s2:k=v\n", name, name, name, name);
		expect(text, want);
	}
}

static void trap_indented_line(void **state)
{
	expect("k = v\n  l = w\n\tmore\n  [s]\n  m = x\n",
	       "1::k=v\n2::l=w\n3!\"more\" is neither a comment, a [section] nor a line with \"=\"\n4:[s]\n5:s:m=x\n");
}

static void trap_colon(void **state)
{
	expect("k : v\n", "1!\"k : v\" is neither a comment, a [section] nor a line with \"=\"\n");
	expect("a:b = c:d\n", "1::a:b=c:d\n");
}

static void trap_hash_comment_in_line(void **state)
{
	expect("k = 10 # small\n", "1::k=10\n");
}

static void trap_value_of_1_mib(void **state)
{
	_cleanup_free_ char *value = repeat('v', INI_FILE_MAX_BYTES - 8), *text = NULL, *want = NULL;

	text = xasprintf("k=%s\nl=w\n", value);
	want = xasprintf("1::k=%s\n2::l=w\n", value);
	expect(text, want);
}

static void a_handler_can_end_the_reading(void **state)
{
	static const char text[] = "[a]\nk = v\nbad\nl = w\n";

	for (size_t n = 1; n <= 3; n++)
		for (int with = -1; with <= 1; with += 2) {
			_cleanup_seen_ struct seen seen = { .stop_after = n, .stop_with = with };

			assert_int_equal(ini_read(text, strlen(text), &handler, &seen), with);
			assert_int_equal(seen.n_calls, n);
		}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(pairs_and_sections),
		cmocka_unit_test(comments),
		cmocka_unit_test(quotes),
		cmocka_unit_test(faults),
		cmocka_unit_test(long_faulty_lines_are_shown_in_part),
		cmocka_unit_test(encodings),
		cmocka_unit_test(trap_line_of_200_bytes),
		cmocka_unit_test(trap_key_of_50_bytes),
		cmocka_unit_test(trap_section_of_49_bytes),
		cmocka_unit_test(trap_indented_line),
		cmocka_unit_test(trap_colon),
		cmocka_unit_test(trap_hash_comment_in_line),
		cmocka_unit_test(trap_value_of_1_mib),
		cmocka_unit_test(a_handler_can_end_the_reading),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
