/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/macros.h"

static inline bool streq(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

/* What follows prefix in s, or NULL. */
static inline const char *startswith(const char *s, const char *prefix)
{
	size_t n = strlen(prefix);

	return strncmp(s, prefix, n) == 0 ? s + n : NULL;
}

bool endswith(const char *s, const char *suffix);

/* ASCII white space only, whatever the locale. */
static inline bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}

/* Cuts white space off both ends in place; returns the new start inside s. */
char *strstrip(char *s);

/* ASCII only: "I" becomes "i" in a Turkish locale too. */
char ascii_lower(char c);
bool ascii_streq_nocase(const char *a, const char *b);

/* printf into fresh memory; NULL on lack of memory. */
char *xasprintf(const char *fmt, ...) _printf_(1, 2);

/*
 * Number of single-character insertions, deletions, replacements and swaps of neighbours between a and b.
 * Stops early and returns limit + 1 where it would be more than limit.
 */
unsigned edit_distance(const char *a, const char *b, unsigned limit);

/*
 * The nearest name to s, for "did you mean": call once per candidate with *best_distance set to UINT_MAX
 * before the first call.  True where the candidate is nearer than all before it and near enough to be meant.
 */
bool nearer_name(const char *s, const char *candidate, unsigned *best_distance);

/* A NULL-terminated array of strings. */
void strv_free(char **v);
size_t strv_length(char *const *v);
bool strv_contains(char *const *v, const char *s);
/* Takes ownership of s (freed on failure too). 0 or -ENOMEM. */
int strv_push(char ***v, char *s);
/* Bytewise order, whatever the locale. */
void strv_sort(char **v);
/* Splits at runs of white space. 0 or -ENOMEM. */
int strv_split(const char *s, char ***ret);

static inline void strv_freep(char ***v)
{
	strv_free(*v);
}
