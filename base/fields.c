/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/fields.h"

#include "base/macros.h"

void put_field(FILE *f, const char *s)
{
	fputc('\t', f);
	for (; *s; s++)
		switch (*s) {
		case '\t':
			fputs("\\t", f);
			break;
		case '\n':
			fputs("\\n", f);
			break;
		case '\\':
			fputs("\\\\", f);
			break;
		default:
			fputc(*s, f);
		}
}

static int unescape(char *s)
{
	char *out = s;

	for (; *s; s++) {
		if (*s != '\\') {
			*out++ = *s;
			continue;
		}
		s++;
		if (*s == 't')
			*out++ = '\t';
		else if (*s == 'n')
			*out++ = '\n';
		else if (*s == '\\')
			*out++ = '\\';
		else
			return -EINVAL;
	}
	*out = '\0';
	return 0;
}

int split_fields(char *line, char **fields, int max)
{
	int n = 0;

	for (char *p = line; p;) {
		char *tab = strchr(p, '\t');

		if (n == max)
			return -EINVAL;
		if (tab)
			*tab++ = '\0';
		if (unescape(p) < 0)
			return -EINVAL;
		fields[n++] = p;
		p = tab;
	}
	return n;
}
