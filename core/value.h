/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/macros.h"

/* What stands in a kernel file. */
enum value_kind {
	VALUE_INTEGER, /* a number, decimal or 0x hexadecimal, may be negative */
	VALUE_BOOLEAN, /* written as 0/1, N/Y or false/true, see boolean_style */
	VALUE_CHOICE,  /* a bracketed list "always [madvise] never": the word in brackets */
	VALUE_LIST,    /* integers with white space or commas between them */
	VALUE_WORD,    /* one line of text; inner white space is kept */
};

/* The unit of the number in the file; policy sizes and percentages are converted into it. */
enum value_unit {
	UNIT_NONE, /* a plain number: sizes and percentages are errors */
	UNIT_BYTES,
	UNIT_KIB,
	UNIT_MIB,
	UNIT_PAGES,	 /* base pages */
	UNIT_HUGE_PAGES, /* pages of the instance's own huge page size */
	UNIT_PERCENT,
	UNIT_MSEC,
	UNIT_USEC,
	UNIT_SEC,
};

enum boolean_style {
	BOOLEAN_01,
	BOOLEAN_NY,
	BOOLEAN_FALSE_TRUE,
};

/*
 * A value in canonical form: the one text that goes to the kernel, and by which values are compared.
 * Integers: decimal.  Lists: decimal, one blank between.  Choices: the bare word.
 */
struct value {
	enum value_kind kind;
	char *text;
	int64_t number; /* integers; 0/1 for booleans */
};

void value_clear(struct value *v);
int value_copy(const struct value *v, struct value *ret);

/*
 * From what a kernel file says to the canonical form.  style is looked at for booleans only.
 * 0; -EINVAL where the text is not of that kind; -ERANGE; -ENOMEM.
 */
int value_from_kernel(enum value_kind kind, enum boolean_style style, const char *text, struct value *ret);

/*
 * From what a policy says (one value, trimmed, without relation, "auto", "keep" or percentage) to the canonical form.
 * unit: a number with a size suffix is bytes and is converted; -EDOM for a leading zero, -EOPNOTSUPP for a size suffix on
 * a row without a memory unit, -EXDEV for a size that is not a whole number of units, else as value_from_kernel().
 * page_bytes: what one of UNIT_PAGES or UNIT_HUGE_PAGES is; 0 where it is not known yet (-EOPNOTSUPP then for sizes).
 */
int value_from_policy(enum value_kind kind, enum boolean_style style, enum value_unit unit, uint64_t page_bytes,
		      const char *text, struct value *ret);

int value_from_number(int64_t number, struct value *ret);

bool value_equal(const struct value *a, const struct value *b);

/* The words of a bracketed list, in order, without the brackets.  Caller frees with strv_free(). */
int value_choices(const char *kernel_text, char ***ret);

/* Bytes in one unit; 0 for units that are not memory. */
uint64_t value_unit_bytes(enum value_unit unit, uint64_t page_bytes);

const char *value_kind_name(enum value_kind kind); /* "integer", "boolean", ... */
const char *value_unit_name(enum value_unit unit); /* "", "bytes", "KiB", ... */
