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
	uint64_t size_bytes; /* 0: the default size, which default_size_bytes did not tell */
	uint64_t pages;
};

/*
 * Pairs of hugepagesz= and hugepages= by the rules of mm/hugetlb.c: a count before any size is of the default size, a second
 * count for the same size is ignored, "0:2,1:4" gives counts per node (their sum is returned).  default_size_bytes: of the machine,
 * 0 unknown; default_hugepagesz= on the line goes before it.  One pool per size in the order found; the caller frees.
 * 0 or -ENOMEM.
 */
int cmdline_pools(const struct cmdline *c, uint64_t default_size_bytes, struct cmdline_pool **ret, size_t *ret_n);

/* A size as the kernel's memparse() reads it: "2M", "1GB" (what follows the suffix is ignored), 0x hexadecimal; 0: none. */
uint64_t cmdline_size(const char *s);
