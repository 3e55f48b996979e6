/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/strutil.h"

#include <limits.h>
#include <stdarg.h>

bool endswith(const char *s, const char *suffix)
{
	size_t n = strlen(s), m = strlen(suffix);

	return n >= m && memcmp(s + n - m, suffix, m) == 0;
}

char *strstrip(char *s)
{
	size_t n;

	while (is_blank(*s))
		s++;
	n = strlen(s);
	while (n && is_blank(s[n - 1]))
		n--;
	s[n] = '\0';
	return s;
}

char ascii_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool ascii_streq_nocase(const char *a, const char *b)
{
	for (; ascii_lower(*a) == ascii_lower(*b); a++, b++)
		if (!*a)
			return true;
	return false;
}

char *xasprintf(const char *fmt, ...)
{
	va_list ap;
	char *s;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&s, fmt, ap);
	va_end(ap);
	return n < 0 ? NULL : s;
}

/*
 * One row of the distance table.  before and above are the two rows before it: swaps look two rows back.
 * Returns the least value in the row.
 */
static unsigned distance_row(const char *a, size_t i, const char *b, size_t nb, const unsigned *before,
			     const unsigned *above, unsigned *row)
{
	unsigned least;

	row[0] = least = (unsigned)i;
	for (size_t j = 1; j <= nb; j++) {
		unsigned d = MIN(above[j], row[j - 1]) + 1;

		d = MIN(d, above[j - 1] + (a[i - 1] != b[j - 1]));
		if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
			d = MIN(d, before[j - 2] + 1);
		row[j] = d;
		least = MIN(least, d);
	}
	return least;
}

unsigned edit_distance(const char *a, const char *b, unsigned limit)
{
	_cleanup_free_ unsigned *rows = NULL;
	size_t na = strlen(a), nb = strlen(b);
	unsigned *before, *above, *row;

	limit = MIN(limit, UINT_MAX - 1);
	if ((na > nb ? na - nb : nb - na) > limit)
		return limit + 1;
	rows = calloc(nb + 1, 3 * sizeof(*rows));
	if (!rows)
		return limit + 1;
	before = rows;
	above = before + nb + 1;
	row = above + nb + 1;
	for (size_t j = 0; j <= nb; j++)
		above[j] = (unsigned)j;
	for (size_t i = 1; i <= na; i++) {
		unsigned *reuse = before;

		/* A row is at most one above the row before it, so a swap cannot come back below the limit either. */
		if (distance_row(a, i, b, nb, before, above, row) > limit)
			return limit + 1;
		before = above;
		above = row;
		row = reuse;
	}
	return MIN(above[nb], limit + 1);
}

bool nearer_name(const char *s, const char *candidate, unsigned *best_distance)
{
	size_t n = strlen(s);
	/* One slip in a short word, up to three in a long one: more would suggest names that nobody meant. */
	unsigned limit = n <= 3 ? 1 : n <= 8 ? 2 : 3;
	unsigned d;

	if (*best_distance == 0)
		return false;
	limit = MIN(limit, *best_distance - 1);
	d = edit_distance(s, candidate, limit);
	/* With every character replaced nothing of the name is left. */
	if (d > limit || d >= MAX(n, strlen(candidate)))
		return false;
	*best_distance = d;
	return true;
}

void strv_free(char **v)
{
	if (!v)
		return;
	for (char **s = v; *s; s++)
		free(*s);
	free(v);
}

size_t strv_length(char *const *v)
{
	size_t n = 0;

	if (v)
		while (v[n])
			n++;
	return n;
}

bool strv_contains(char *const *v, const char *s)
{
	if (v)
		for (; *v; v++)
			if (streq(*v, s))
				return true;
	return false;
}

int strv_push(char ***v, char *s)
{
	size_t n = strv_length(*v);
	char **grown;

	if (!s)
		return -ENOMEM;
	grown = reallocarray(*v, n + 2, sizeof(*grown));
	if (!grown) {
		free(s);
		return -ENOMEM;
	}
	grown[n] = s;
	grown[n + 1] = NULL;
	*v = grown;
	return 0;
}

static int compare_strings(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void strv_sort(char **v)
{
	size_t n = strv_length(v);

	if (n > 1)
		qsort(v, n, sizeof(*v), compare_strings);
}

/* The next word at or after s, NULL where there is none. */
static const char *next_word(const char *s, size_t *ret_length)
{
	size_t n = 0;

	while (is_blank(*s))
		s++;
	while (s[n] && !is_blank(s[n]))
		n++;
	*ret_length = n;
	return n ? s : NULL;
}

int strv_split(const char *s, char ***ret)
{
	_cleanup_(strv_freep) char **v = NULL;
	const char *word;
	size_t n = 0, length;

	for (word = next_word(s, &length); word; word = next_word(word + length, &length))
		n++;
	v = calloc(n + 1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	n = 0;
	for (word = next_word(s, &length); word; word = next_word(word + length, &length)) {
		v[n] = strndup(word, length);
		if (!v[n++])
			return -ENOMEM;
	}
	*ret = TAKE_PTR(v);
	return 0;
}
