/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>

#include "base/macros.h"

/* Messages for people.  The engine collects them here and never prints; the program shows them. */

enum diag_severity {
	DIAG_NOTICE,  /* good to know */
	DIAG_WARNING, /* likely a mistake, but the run goes on */
	DIAG_ERROR,   /* nothing is applied from a policy that has one */
};

struct diag {
	enum diag_severity severity;
	char *file;    /* NULL: not about a file */
	unsigned line; /* 0: not about a line */
	char *key;     /* the tunable or key it is about, or NULL */
	char *text;    /* a sentence without file, line and severity, no full stop, no newline */
};

struct diag_list {
	struct diag *items;
	size_t n;
	size_t n_allocated;
	size_t n_errors;
	size_t n_warnings;
};

/*
 * Appends one message.  Strings are copied.  Lack of memory is not reported: n_errors still counts, so that
 * an error is never lost as a fact.
 */
void diag_add(struct diag_list *list, enum diag_severity severity, const char *file, unsigned line, const char *key,
	      const char *fmt, ...) _printf_(6, 7);

/* The same about no file in particular; diag_error() returns error, for "return diag_error(...)". */
int diag_error(struct diag_list *list, int error, const char *fmt, ...) _printf_(3, 4);
void diag_warning(struct diag_list *list, const char *fmt, ...) _printf_(2, 3);
void diag_notice(struct diag_list *list, const char *fmt, ...) _printf_(2, 3);

void diag_list_clear(struct diag_list *list);

/* "notice", "warning", "error" */
const char *diag_severity_name(enum diag_severity severity);

/* "FILE:LINE: KEY: TEXT" with the parts that there are; the caller frees; NULL on lack of memory. */
char *diag_format(const struct diag *d);
