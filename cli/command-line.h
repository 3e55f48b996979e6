/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "cli/verbs.h"
#include "core/export.h"

enum json_mode {
	JSON_OFF,
	JSON_SHORT,
	JSON_PRETTY,
};

/* What was asked on the command line. Strings belong to argv. */
struct command_line {
	const struct verb *verb; /* NULL after a mistake before it was known */
	char **arguments;
	size_t n_arguments;
	enum json_mode json;
	const char *root;
	const char *policy;
	const char *host;    /* [USER@]HOST */
	const char *machine; /* a local container */
	bool help, version, no_pager, quiet;
	bool direct; /* without mmoptd */
	bool dry_run, force, all, what_if, no_wait, resolve;
	enum export_format format;   /* _EXPORT_FORMAT_MAX: not given */
	uint64_t pool_timeout_usec;  /* 0: default */
	uint64_t confirm_within_sec; /* 0: not asked for */
};

/*
 * Reads the command line; argv is put into another order.  All of it is read even after a mistake, so that the mistake can
 * be told in the form that was asked for (--json).
 * 0; -EINVAL where it cannot be taken, and *ret_error is one line that says why (the caller frees); -ENOMEM.
 */
int command_line_parse(int argc, char **argv, struct command_line *ret, char **ret_error);

/* The text of --help; the caller frees; NULL on lack of memory. */
char *command_line_help(void);
