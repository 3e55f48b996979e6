/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/strutil.h"
#include "core/value.h"
#include "fuzz.h"

/* Every value that was made is one line of text in a form that does not change when it is read again. */
static void check_canonical(enum boolean_style style, const struct value *v, bool from_kernel)
{
	_cleanup_(value_clear) struct value again = { 0 }, copy = { 0 };

	HOLDS(v->text && !strpbrk(v->text, "\n\r"));
	HOLDS(value_copy(v, &copy) == 0 && value_equal(v, &copy));
	HOLDS(from_kernel || *v->text);
	/* A word that the kernel put in brackets is not in brackets when it is written. */
	if (v->kind == VALUE_WORD) {
		HOLDS(!*v->text || value_from_policy(v->kind, style, UNIT_NONE, 0, v->text, &again) == 0);
		HOLDS(!*v->text || streq(v->text, again.text));
		return;
	}
	HOLDS(value_from_kernel(v->kind, style, v->text, &again) == 0);
	HOLDS(streq(v->text, again.text) && v->number == again.number);
	HOLDS(value_equal(v, &again) && value_equal(&again, v));
	HOLDS(!strpbrk(v->text, "\t") && !is_blank(*v->text) && !is_blank(v->text[strlen(v->text) - 1]));
}

/* The first byte says what is read: kind, style, unit; the rest is the text. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(value_clear) struct value kernel = { 0 }, policy = { 0 };
	_cleanup_(strv_freep) char **choices = NULL;
	_cleanup_free_ char *text = NULL;
	enum value_kind kind;
	enum boolean_style style;
	enum value_unit unit;
	uint64_t page_bytes;
	int r;

	if (size == 0)
		return 0;
	kind = data[0] % (VALUE_WORD + 1);
	style = data[0] / 8 % (BOOLEAN_FALSE_TRUE + 1);
	unit = data[0] / 16 % (UNIT_SEC + 1);
	page_bytes = data[0] & 4 ? 65536 : 0;
	text = strndup((const char *)data + 1, size - 1);
	HOLDS(text);

	r = value_from_kernel(kind, style, text, &kernel);
	if (r == 0)
		check_canonical(style, &kernel, true);
	else
		HOLDS(!kernel.text);
	r = value_from_policy(kind, style, unit, page_bytes, text, &policy);
	if (r == 0)
		check_canonical(style, &policy, false);
	else
		HOLDS(!policy.text);
	if (kernel.text && policy.text)
		HOLDS(value_equal(&kernel, &policy) == value_equal(&policy, &kernel));
	HOLDS(value_choices(text, &choices) == 0);
	return 0;
}
