/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * The verbs and options of mmoptctl, as data: --help, the completions and the tests that hold the man page against them are
 * all made from these two tables.
 */

enum verb_id {
	VERB_STATUS,
	VERB_FACTS,
	VERB_PLAN,
	VERB_APPLY,
	VERB_CONFIRM,
	VERB_ROLLBACK,
	VERB_VERIFY,
	VERB_SAVINGS,
	VERB_LIST,
	VERB_EXPLAIN,
	VERB_CHECK,
	VERB_HISTORY,
	VERB_EXPORT,
	VERB_BOOT,
};

enum completion {
	COMPLETE_NOTHING,
	COMPLETE_IDS,
	COMPLETE_FILES,
	COMPLETE_DIRECTORIES,
};

struct verb {
	enum verb_id id;
	const char *name;
	const char *arguments; /* for --help, or NULL */
	size_t min_arguments, max_arguments;
	const char *const *words; /* what the argument may be, NULL-terminated, or NULL */
	enum completion completion;
	const char *summary;
};

/* What getopt_long() returns for them. */
enum option_id {
	OPTION_HELP = 'h',
	OPTION_QUIET = 'q',
	OPTION_HOST = 'H',
	OPTION_MACHINE = 'M',
	OPTION_VERSION = 0x100,
	OPTION_JSON,
	OPTION_ROOT,
	OPTION_POLICY,
	OPTION_NO_PAGER,
	OPTION_DIRECT,
	OPTION_DRY_RUN,
	OPTION_FORCE,
	OPTION_POOL_TIMEOUT,
	OPTION_CONFIRM_WITHIN,
	OPTION_NO_WAIT,
	OPTION_ALL,
	OPTION_WHAT_IF,
	OPTION_FORMAT,
	OPTION_RESOLVE,
};

struct option_row {
	enum option_id id;
	const char *name;
	const char *argument;	    /* for --help, or NULL: takes none */
	bool argument_optional;	    /* only as --name=ARGUMENT */
	bool global;		    /* goes with every verb */
	enum verb_id verb;	    /* the one it goes with, where not global */
	const char *const *words;   /* what the argument may be, NULL-terminated, or NULL */
	enum completion completion; /* of the argument */
	const char *summary;
};

const struct verb *verbs_table(size_t *ret_n);
const struct option_row *options_table(size_t *ret_n);

const struct verb *verb_find(const char *name); /* or NULL */
const struct verb *verb_get(enum verb_id id);
const struct option_row *option_get(enum option_id id);

/* The letter of an option, or 0. */
static inline char option_letter(const struct option_row *o)
{
	return o->id < OPTION_VERSION ? (char)o->id : 0;
}
