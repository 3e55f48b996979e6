/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/policy.h"

/* What the parts of the policy reader share; nobody else includes this. */

enum policy_section {
	SECTION_NONE, /* before the first one */
	SECTION_MATCH,
	SECTION_POLICY,
	SECTION_TUNABLES,
	SECTION_UNKNOWN, /* reported once; what stands in it is passed over */
};

/* [Policy] of one file but for its list of essentials: counts only where the file matches. */
struct policy_options {
	bool floor_set;
	uint32_t floor_permyriad;
	uint64_t floor_bytes;
	unsigned floor_line;
};

struct policy_parser {
	struct policy *policy;
	size_t n_settings_allocated;
	char **essential; /* of the files that matched; sorted into the policy at the end */
	size_t n_essential, n_essential_allocated;
	struct facts *facts; /* NULL: lint */
	struct kernel_io *io;
	struct diag_list *diags;
	/* Looking for the nearest name is the dear part of a message; a file of noise gets no more than this many. */
	unsigned suggestions_left;

	/* The file being read. */
	unsigned file;
	const char *path;
	size_t first_setting, first_essential;
	enum policy_section section;
	bool matched;
	char *match_reason;
	struct policy_options options;
};

#define policy_error(p, line, key, ...) diag_add((p)->diags, DIAG_ERROR, (p)->path, (line), (key), __VA_ARGS__)
#define policy_warning(p, line, key, ...) diag_add((p)->diags, DIAG_WARNING, (p)->path, (line), (key), __VA_ARGS__)

/* A text of the user's as a message shows it: no more than a line's worth.  buf holds POLICY_SHOWN_SIZE bytes. */
#define POLICY_SHOWN_SIZE 80
const char *policy_shown(const char *text, char *buf);

/* What begins a bound; skips it and white space after it.  False where there is none. */
bool policy_take_relation(const char **text, enum relation *ret);

/*
 * Parses text into s->form, relation, value, bytes and permyriad for the row s->ref.
 * 1; 0 where a mistake has been reported; -ENOMEM.
 */
int policy_parse_value(struct policy_parser *p, unsigned line, const char *text, struct setting *s);

/* One line of [Match]: checked always, decided on where the file still matches.  0 or -ENOMEM. */
int policy_match_line(struct policy_parser *p, unsigned line, const char *key, const char *value);

/* Reports a key that is not in the catalogue, with what may have been meant. */
void policy_report_unknown(struct policy_parser *p, unsigned line, const char *section, const char *key,
			   const char *value);
/* "hugetlb.*.pages" with the size and node of key in their places, or likely ones; NULL on lack of memory. */
char *policy_fill_in(const char *name, const char *key);
void policy_report_unknown_section(struct policy_parser *p, unsigned line, const char *section);

void policy_report_too_large(struct policy_parser *p, const char *path);

/* Reads the text of policy->files[file].  0 or -ENOMEM. */
int policy_parse_text(struct policy_parser *p, unsigned file, const char *text, size_t size);

/* Sorts what has been read, says who wins, and looks at what spans settings and files.  0 or -ENOMEM. */
int policy_resolve(struct policy_parser *p);
/* The same for the file just read: what may not stand in one file twice. */
void policy_check_file(struct policy_parser *p);

void policy_parser_clear(struct policy_parser *p);
void policy_setting_clear(struct setting *s);

/* For qsort(3) and bsearch(3) on arrays of strings: bytewise, whatever the locale. */
int policy_compare_strings(const void *a, const void *b);
