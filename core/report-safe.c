/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/report-safe.h"

#include "base/macros.h"
#include "base/utf8.h"

bool text_valid_utf8(const char *s)
{
	uint32_t c;

	while (*s) {
		size_t n = utf8_next(s, &c);

		if (n == 0)
			return false;
		s += n;
	}
	return true;
}

size_t text_length(const char *s)
{
	size_t length = 0;
	uint32_t c;

	for (; *s; length++)
		s += utf8_next(s, &c) ?: 1;
	return length;
}

char *text_clean_utf8(const char *s)
{
	static const char replacement[] = "\xef\xbf\xbd";
	char *clean, *out;
	uint32_t c;

	clean = out = malloc(strlen(s) * (sizeof(replacement) - 1) + 1);
	if (!clean)
		return NULL;
	while (*s) {
		size_t n = utf8_next(s, &c);

		if (n == 0) {
			out = mempcpy(out, replacement, sizeof(replacement) - 1);
			s++;
		} else {
			out = mempcpy(out, s, n);
			s += n;
		}
	}
	*out = '\0';
	return clean;
}

/* C0, DEL, C1, and the marks that turn the direction of text around. */
static bool is_control(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

char *text_printable(const char *s, bool ascii_only)
{
	static const char hex[] = "0123456789abcdef";
	char *clean, *out;
	uint32_t c = 0;

	clean = out = malloc(strlen(s) * 4 + 1);
	if (!clean)
		return NULL;
	while (*s) {
		size_t n = utf8_next(s, &c);

		if (n == 0 || is_control(c) || (ascii_only && c > 0x7f)) {
			for (n = n ?: 1; n > 0; n--, s++) {
				unsigned char byte = *s;

				*out++ = '\\';
				*out++ = 'x';
				*out++ = hex[byte >> 4];
				*out++ = hex[byte & 15];
			}
		} else {
			out = mempcpy(out, s, n);
			s += n;
		}
	}
	*out = '\0';
	return clean;
}
