/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/facts.h"
#include "core/kernel-io.h"

enum saving_method {
	SAVING_MEASURED, /* a counter of the kernel's */
	SAVING_COMPUTED, /* the kernel's own formula on values read */
	SAVING_ESTIMATED,
};

struct saving {
	const char *
		mechanism; /* "hvo", "ksm", "zswap", "zram", "huge-zero-page", "struct-page", "hugetlb-unused", "min-free" */
	char *detail;	   /* "2M", "zram0", or NULL */
	bool known;	   /* false: there is no data; reason says why */
	int64_t bytes; /* negative: a cost */
	enum saving_method method;
	bool in_total; /* false: shown, but counted elsewhere or not a saving of a mechanism */
	bool what_if;  /* not on yet: what it would give */
	char *formula; /* "98304 - (94208 + 512) pages x 4096" */
	char *sources; /* files, separated by blanks */
	char *reason;  /* a remark, or why there is no data; or NULL */
};

struct savings {
	struct saving *rows;
	size_t n_rows;
	bool total_known;
	int64_t total_bytes;
};

/* Reads the counters now.  what_if adds rows for mechanisms that are not on.  0 or -ENOMEM. */
int savings_measure(struct facts *facts, struct kernel_io *io, bool what_if, struct savings *ret);
void savings_clear(struct savings *s);

/* The pools of those sizes that HVO can optimise, as they are now. */
struct hvo_pools {
	uint64_t pages;	    /* huge pages in them */
	int64_t full_bytes; /* what they would save if each of them were optimised */
	bool counted; /* the kernel counts those that are (vmemmap_optimized_hugepages, a kernel with the patch): */
	uint64_t optimized;
	int64_t bytes; /* what these save */
};
/* 0; -ENODATA where the page size is not known; -ENOMEM. */
int savings_hvo_pools(struct facts *facts, struct kernel_io *io, struct hvo_pools *ret);

/* HVO's part of the above, in bytes; -ENODATA where the kernel has no counters for it. */
int savings_hvo_measured(struct facts *facts, struct kernel_io *io, int64_t *ret_bytes);

const char *saving_method_name(enum saving_method method);
