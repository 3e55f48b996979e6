/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/catalogue.h"
#include "core/diag.h"
#include "core/facts.h"
#include "core/value.h"

enum setting_form {
	SETTING_VALUE,
	SETTING_AUTO,
	SETTING_KEEP,	 /* takes an earlier file's item out */
	SETTING_PERCENT, /* of memory online */
	SETTING_BYTES,	 /* a size for a row whose page size comes from the instance or the machine */
};

enum relation {
	RELATION_EQUAL,
	RELATION_AT_LEAST, /* ">= v": never lowers */
	RELATION_AT_MOST,  /* "<= v": never raises */
};

/* One "name = value" of one file. */
struct setting {
	struct tunable_ref ref;
	char *id;   /* canonical: tunable_ref_id() */
	char *text; /* the value as it was written */
	enum setting_form form;
	enum relation relation;
	struct value value; /* SETTING_VALUE */
	uint64_t bytes;	    /* SETTING_BYTES */
	uint32_t permyriad; /* SETTING_PERCENT */
	bool optional;	    /* leading '-' */
	unsigned file;	    /* index into policy.files */
	unsigned line;
	bool wins; /* this one counts; the others are shown by "explain" */
};

struct policy_file {
	char *path;
	bool matched;	    /* [Match] holds, or there is none */
	char *match_reason; /* which condition was false, or NULL */
	bool masked;	    /* an empty file or a link to /dev/null */
	char *masked_by;    /* path of the file of the same name that hides this one, or NULL */
};

struct policy {
	struct policy_file *files; /* in the order in which they count, hidden ones too */
	size_t n_files;
	struct setting *
		settings; /* every setting of every file that matched, sorted by id, then in file order: the last is the winner */
	size_t n_settings;
	char **essential; /* ids of all files that match, sorted, a strv or NULL */
	size_t n_essential;
	bool memory_floor_set;
	uint32_t memory_floor_permyriad; /* share of memory online, 0 where given in bytes */
	uint64_t memory_floor_bytes;
	char *memory_floor_origin; /* "file:line" or NULL */
};

/*
 * Loads the policy.
 *   root_fd      directory that counts as "/" (policy directories are looked up below it)
 *   only_file    "--policy FILE": that file alone, by ordinary path lookup; NULL for the directories
 *   facts, io    what [Match] is decided on; only the groups that some [Match] asks for are probed through io.  Both NULL to
 *                lint: every file is taken as matching
 *   check_owner  refuse files and directories that others than root can write (when run as root on the live system)
 *   diags        every mistake of every file
 * *ret is set whenever the result is 0, even if diags has errors: a caller must not apply it then.
 * 0, -ENOMEM, or a negative errno for only_file itself (with a message in diags).
 */
int policy_load(int root_fd, const char *only_file, struct facts *facts, struct kernel_io *io, bool check_owner,
		struct diag_list *diags, struct policy **ret);

/* The same from text in memory under a given name, for lint and tests. */
int policy_load_text(const char *name, const char *text, size_t size, struct facts *facts, struct kernel_io *io,
		     struct diag_list *diags, struct policy **ret);

void policy_free(struct policy *policy);
DEFINE_CLEANUP(struct policy *, policy_free);

/* Groups of facts that the auto rules and percentages of the winning settings need (enum facts_group bits). */
unsigned policy_needs(const struct policy *policy);

/* The winning setting of an id, or NULL. A winner of form SETTING_KEEP is returned too. */
const struct setting *policy_find(const struct policy *policy, const char *id);

bool policy_is_essential(const struct policy *policy, const char *id);
