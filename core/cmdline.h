/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The kernel command line, taken apart as the kernel does it (lib/cmdline.c next_arg(), kernel/params.c): double quotes
 * around a value or a whole token keep white space together, '-' and '_' are the same in a name, and all behind a lone
 * "--" belongs to init.
 */
struct cmdline_param {
	char *name;
	char *value;   /* NULL where there is no '=' */
	size_t offset; /* of the token in the text, quotes included */
	size_t length;
};

struct cmdline {
	struct cmdline_param *params; /* in order, repeats too */
	size_t n;
	char *init_args; /* what follows "--", or NULL */
};

/* text may end in a newline.  0 or -ENOMEM. */
int cmdline_parse(const char *text, struct cmdline *ret);
void cmdline_clear(struct cmdline *c);

bool cmdline_name_equal(const char *a, const char *b);

/* What the kernel makes of a parameter that is there more than once. */
enum cmdline_repeat {
	CMDLINE_LAST,  /* the last one counts */
	CMDLINE_FIRST, /* later ones are ignored */
	CMDLINE_ADD,   /* each one counts */
	CMDLINE_PAIR,  /* hugepages= belongs to the hugepagesz= before it: cmdline_pools() */
};
enum cmdline_repeat cmdline_repeat(const char *name);

/* The one that counts: the first one where the first one does, else the last; NULL where there is none. */
const struct cmdline_param *cmdline_find(const struct cmdline *c, const char *name);

/* A huge page pool asked for on the command line. */
struct cmdline_pool {
	uint64_t size_bytes; /* 0: the default size, which nothing told */
	uint64_t pages;
	bool is_counted; /* else it was only named */
	size_t named_by; /* index of the parameter that named the size; SIZE_MAX: a count without a size stands for it */
	size_t counted_by; /* of the one that gave the count, where there is one */
};

/* What the machine has to do with it. */
struct cmdline_hugetlb {
	uint64_t default_size_bytes; /* where default_hugepagesz= is not on the line; 0: unknown */
	const uint64_t *sizes_bytes; /* that it supports */
	size_t n_sizes;		     /* 0: unknown, any power of two may be */
};

/*
 * What the kernel makes of hugepagesz=, hugepages= and default_hugepagesz= (mm/hugetlb.c, the same in 6.1 and 6.12; read and run): a count
 * belongs to the size added last, before any size to the default one; a second count or a size for the second time is
 * dropped, with the count that follows.  Counts per node, "0:2,1:4", are added up.  One pool for each size, in the order in
 * which they were named; the caller frees.  0 or -ENOMEM.
 */
int cmdline_pools(const struct cmdline *c, const struct cmdline_hugetlb *machine, struct cmdline_pool **ret,
		  size_t *ret_n);

/* A size as the kernel's memparse() reads it: "2M", "1GB" (what follows the suffix is ignored), 0x hexadecimal; 0: none. */
uint64_t cmdline_size(const char *s);
