/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/value.h"

#include <inttypes.h>

#include "base/number.h"
#include "base/strutil.h"

void value_clear(struct value *v)
{
	free(v->text);
	*v = (struct value){ 0 };
}

int value_copy(const struct value *v, struct value *ret)
{
	struct value copy = *v;

	if (v->text) {
		copy.text = strdup(v->text);
		if (!copy.text)
			return -ENOMEM;
	}
	*ret = copy;
	return 0;
}

/* Takes ownership of text; NULL is lack of memory. */
static int value_make(enum value_kind kind, char *text, int64_t number, struct value *ret)
{
	if (!text)
		return -ENOMEM;
	*ret = (struct value){ .kind = kind, .text = text, .number = number };
	return 0;
}

int value_from_number(int64_t number, struct value *ret)
{
	return value_make(VALUE_INTEGER, xasprintf("%" PRId64, number), number, ret);
}

static int make_boolean(enum boolean_style style, bool b, struct value *ret)
{
	const char *text = NULL;

	switch (style) {
	case BOOLEAN_01:
		text = b ? "1" : "0";
		break;
	case BOOLEAN_NY:
		text = b ? "Y" : "N";
		break;
	case BOOLEAN_FALSE_TRUE:
		text = b ? "true" : "false";
		break;
	}
	if (!text)
		return -EINVAL;
	return value_make(VALUE_BOOLEAN, strdup(text), b, ret);
}

/* Numbers with white space or commas between them.  What goes wrong is the result of the first bad number. */
static int make_list(const char *text, struct value *ret)
{
	_cleanup_(strv_freep) char **words = NULL;
	_cleanup_free_ char *copy = strdup(text), *out = NULL;
	size_t size = 0;
	FILE *f;
	int r;

	if (!copy)
		return -ENOMEM;
	for (char *p = copy; *p; p++)
		if (*p == ',')
			*p = ' ';
	r = strv_split(copy, &words);
	if (r < 0)
		return r;
	if (!words || !words[0])
		return -EINVAL;

	f = open_memstream(&out, &size);
	if (!f)
		return -ENOMEM;
	for (size_t i = 0; words[i] && r == 0; i++) {
		int64_t n;

		r = parse_i64(words[i], &n);
		if (r == 0)
			fprintf(f, "%s%" PRId64, i ? " " : "", n);
	}
	if (fclose(f) != 0 && r == 0)
		r = -ENOMEM;
	if (r < 0)
		return r;
	return value_make(VALUE_LIST, TAKE_PTR(out), 0, ret);
}

/* The word in brackets of a list of words; -ENOENT where there is no such list. */
static int bracketed_word(char *const *words, char **ret)
{
	const char *found = NULL;

	for (size_t i = 0; words && words[i]; i++) {
		size_t n = strlen(words[i]);

		if (!strpbrk(words[i], "[]"))
			continue;
		/* One pair, around one whole word. */
		if (found || n < 3 || words[i][0] != '[' || strcspn(words[i] + 1, "[]") != n - 2 ||
		    words[i][n - 1] != ']')
			return -ENOENT;
		found = words[i];
	}
	if (!found)
		return -ENOENT;
	*ret = strndup(found + 1, strlen(found) - 2);
	return *ret ? 0 : -ENOMEM;
}

/* "always [madvise] never"; also a single word without brackets, as files with one of several words have it. */
static int choice_from_kernel(const char *text, struct value *ret)
{
	_cleanup_(strv_freep) char **words = NULL;
	char *word;
	int r;

	r = strv_split(text, &words);
	if (r < 0)
		return r;
	r = bracketed_word(words, &word);
	if (r == -ENOENT && strv_length(words) == 1 && !strpbrk(words[0], "[]")) {
		word = strdup(words[0]);
		r = 0;
	}
	if (r < 0)
		return r == -ENOENT ? -EINVAL : r;
	return value_make(VALUE_CHOICE, word, 0, ret);
}

static bool is_number(const char *s)
{
	int64_t n;
	int r = parse_i64(s, &n);

	return r == 0 || r == -EDOM || r == -ERANGE;
}

/* One blank between the words. */
static char *join(char *const *words)
{
	size_t size = 1;
	char *out, *p;

	for (size_t i = 0; words[i]; i++)
		size += strlen(words[i]) + 1;
	out = p = malloc(size);
	if (!out)
		return NULL;
	for (size_t i = 0; words[i]; i++) {
		if (i > 0)
			*p++ = ' ';
		p = stpcpy(p, words[i]);
	}
	*p = 0;
	return out;
}

/*
 * Text is kept as it is, with two exceptions, so that a file of which nothing is known can be compared nonetheless:
 * between plain numbers the kernel writes tabs where people write blanks, and it shows a choice as a bracketed list.
 * The numbers themselves stay as written: in a file read to base 16 "0x10" and "16" are not the same.
 */
static int make_word(char *text, bool from_kernel, struct value *ret)
{
	_cleanup_(strv_freep) char **words = NULL;
	bool numbers = true, plain = true;
	int64_t number = 0;
	char *word;
	int r;

	for (const char *p = text; *p; p++)
		if (((unsigned char)*p < ' ' && *p != '\t') || *p == 0x7f)
			return -EINVAL;
	r = strv_split(text, &words);
	if (r < 0)
		return r;
	for (size_t i = 0; words && words[i]; i++) {
		numbers = numbers && is_number(words[i]);
		plain = plain && !strpbrk(words[i], "|/%=,\"'");
	}
	if (from_kernel && plain && strv_length(words) > 1) {
		r = bracketed_word(words, &word);
		if (r != -ENOENT)
			return r < 0 ? r : value_make(VALUE_WORD, word, 0, ret);
	}
	if (!words || !words[0] || !numbers)
		return value_make(VALUE_WORD, strdup(text), 0, ret);
	if (!words[1])
		(void)parse_i64(words[0], &number);
	return value_make(VALUE_WORD, join(words), number, ret);
}

static int boolean_from_kernel(enum boolean_style style, const char *text, struct value *ret)
{
	int64_t n;
	bool b;

	if (parse_boolean(text, &b) == 0)
		return make_boolean(style, b, ret);
	/* Some switches are plain integers to the kernel and hold whatever was written: 2 is on too. */
	if (style == BOOLEAN_01 && parse_i64(text, &n) == 0)
		return make_boolean(style, n != 0, ret);
	return -EINVAL;
}

int value_from_kernel(enum value_kind kind, enum boolean_style style, const char *text, struct value *ret)
{
	_cleanup_free_ char *copy = strdup(text);
	char *s;
	int64_t n;
	int r = -EINVAL;

	if (!copy)
		return -ENOMEM;
	s = strstrip(copy);
	switch (kind) {
	case VALUE_INTEGER:
		r = parse_i64(s, &n);
		if (r == 0)
			r = value_from_number(n, ret);
		break;
	case VALUE_BOOLEAN:
		r = boolean_from_kernel(style, s, ret);
		break;
	case VALUE_CHOICE:
		r = choice_from_kernel(s, ret);
		break;
	case VALUE_LIST:
		r = make_list(s, ret);
		break;
	case VALUE_WORD:
		r = make_word(s, true, ret);
		break;
	}
	/* To the kernel a leading zero is nothing special. */
	return r == -EDOM ? -EINVAL : r;
}

/* "64K" for a row in KiB is 64. */
static int integer_from_policy(enum value_unit unit, uint64_t page_bytes, const char *text, struct value *ret)
{
	uint64_t bytes, unit_bytes;
	bool suffixed = false;
	int64_t n;
	int r;

	r = parse_i64(text, &n);
	if (r == 0)
		return value_from_number(n, ret);
	if (r != -EINVAL)
		return r;
	r = parse_size(text, &bytes, &suffixed);
	if (r < 0)
		return r;
	unit_bytes = value_unit_bytes(unit, page_bytes);
	if (unit_bytes == 0)
		return -EOPNOTSUPP;
	if (bytes % unit_bytes != 0)
		return -EXDEV;
	if (bytes / unit_bytes > INT64_MAX)
		return -ERANGE;
	return value_from_number((int64_t)(bytes / unit_bytes), ret);
}

static int choice_from_policy(const char *text, struct value *ret)
{
	for (const char *p = text; *p; p++)
		if (is_blank(*p) || *p == '[' || *p == ']')
			return -EINVAL;
	return value_make(VALUE_CHOICE, strdup(text), 0, ret);
}

int value_from_policy(enum value_kind kind, enum boolean_style style, enum value_unit unit, uint64_t page_bytes,
		      const char *text, struct value *ret)
{
	_cleanup_free_ char *copy = NULL;
	bool b;
	int r;

	if (!*text)
		return -EINVAL;
	switch (kind) {
	case VALUE_INTEGER:
		return integer_from_policy(unit, page_bytes, text, ret);
	case VALUE_BOOLEAN:
		r = parse_boolean(text, &b);
		return r < 0 ? r : make_boolean(style, b, ret);
	case VALUE_CHOICE:
		return choice_from_policy(text, ret);
	case VALUE_LIST:
		return make_list(text, ret);
	case VALUE_WORD:
		copy = strdup(text);
		return copy ? make_word(copy, false, ret) : -ENOMEM;
	}
	return -EINVAL;
}

/* Numbers in lists are compared as numbers, however they are written. */
static bool words_equal(const char *a, const char *b)
{
	_cleanup_(value_clear) struct value x = { 0 }, y = { 0 };

	if (streq(a, b))
		return true;
	return make_list(a, &x) == 0 && make_list(b, &y) == 0 && streq(x.text, y.text);
}

bool value_equal(const struct value *a, const struct value *b)
{
	if (a->kind != b->kind || !a->text || !b->text)
		return false;
	switch (a->kind) {
	case VALUE_WORD:
		return words_equal(a->text, b->text);
	case VALUE_INTEGER:
	case VALUE_BOOLEAN:
	case VALUE_CHOICE:
	case VALUE_LIST:
		return streq(a->text, b->text);
	}
	return false;
}

int value_choices(const char *kernel_text, char ***ret)
{
	_cleanup_(strv_freep) char **words = NULL;
	int r;

	r = strv_split(kernel_text, &words);
	if (r < 0)
		return r;
	for (size_t i = 0; words && words[i]; i++) {
		size_t n = strlen(words[i]);

		if (n >= 3 && words[i][0] == '[' && words[i][n - 1] == ']') {
			memmove(words[i], words[i] + 1, n - 2);
			words[i][n - 2] = 0;
		}
	}
	*ret = TAKE_PTR(words);
	return 0;
}

uint64_t value_unit_bytes(enum value_unit unit, uint64_t page_bytes)
{
	switch (unit) {
	case UNIT_BYTES:
		return 1;
	case UNIT_KIB:
		return UINT64_C(1) << 10;
	case UNIT_MIB:
		return UINT64_C(1) << 20;
	case UNIT_PAGES:
	case UNIT_HUGE_PAGES:
		return page_bytes;
	case UNIT_NONE:
	case UNIT_PERCENT:
	case UNIT_MSEC:
	case UNIT_USEC:
	case UNIT_SEC:
		return 0;
	}
	return 0;
}

const char *value_kind_name(enum value_kind kind)
{
	switch (kind) {
	case VALUE_INTEGER:
		return "integer";
	case VALUE_BOOLEAN:
		return "boolean";
	case VALUE_CHOICE:
		return "choice";
	case VALUE_LIST:
		return "list";
	case VALUE_WORD:
		return "word";
	}
	return "unknown";
}

const char *value_unit_name(enum value_unit unit)
{
	switch (unit) {
	case UNIT_NONE:
		return "";
	case UNIT_BYTES:
		return "bytes";
	case UNIT_KIB:
		return "KiB";
	case UNIT_MIB:
		return "MiB";
	case UNIT_PAGES:
		return "pages";
	case UNIT_HUGE_PAGES:
		return "huge pages";
	case UNIT_PERCENT:
		return "%";
	case UNIT_MSEC:
		return "ms";
	case UNIT_USEC:
		return "us";
	case UNIT_SEC:
		return "s";
	}
	return "";
}
