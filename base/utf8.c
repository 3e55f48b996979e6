/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/utf8.h"

#include <string.h>

#include "base/macros.h"

/* By number of bytes: the bits of the first byte that tell the length, and the least value that needs that many. */
static const struct {
	unsigned char mask, mark;
	uint32_t least;
} forms[] = {
	{ 0x80, 0x00, 0 },
	{ 0xe0, 0xc0, 0x80 },
	{ 0xf0, 0xe0, 0x800 },
	{ 0xf8, 0xf0, 0x10000 },
};

size_t utf8_next(const char *s, uint32_t *ret)
{
	const unsigned char *p = (const unsigned char *)s;
	uint32_t point;
	size_t form = 0;

	while (form < ARRAY_SIZE(forms) && (p[0] & forms[form].mask) != forms[form].mark)
		form++;
	if (form == ARRAY_SIZE(forms))
		return 0;
	point = p[0] & (unsigned char)~forms[form].mask;
	for (size_t i = 1; i <= form; i++) {
		/* Also ends at the NUL. */
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		point = point << 6 | (p[i] & 0x3f);
	}
	if (point < forms[form].least || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
		return 0;
	*ret = point;
	return form + 1;
}

size_t utf8_cut(const char *s, size_t max)
{
	size_t n = strnlen(s, max + 1);

	if (n <= max)
		return n;
	n = max;
	while (n > 0 && ((unsigned char)s[n] & 0xc0) == 0x80)
		n--;
	return n;
}
