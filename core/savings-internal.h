/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/savings.h"

/*
 * One run of savings_measure().  Lack of memory is kept in failed and looked at once, at the end: until then rows and
 * texts go to a spare row that nobody sees.
 */
struct measurement {
	struct facts *facts;
	struct kernel_io *io;
	struct savings *savings;
	bool what_if;
	bool failed;
	struct saving spare;
	size_t n_allocated;
	uint64_t page_bytes; /* 0: not known */
	char *vmstat;	     /* "" where it cannot be read */
	char *meminfo;
};

/* A new row without data.  The pointer is good until the next one. detail is copied and may be NULL. */
struct saving *measurement_row(struct measurement *m, const char *mechanism, const char *detail);
/* Replaces one of a row's texts. */
void measurement_text(struct measurement *m, char **field, const char *fmt, ...) _printf_(3, 4);
/* Adds a remark to those that are there. */
void measurement_remark(struct measurement *m, struct saving *row, const char *fmt, ...) _printf_(3, 4);

/* Hands r on: lack of memory must not look like a file that is not there. */
static inline int measurement_check(struct measurement *m, int r)
{
	if (r == -ENOMEM)
		m->failed = true;
	return r;
}

/* Gives a row its number. */
void saving_set(struct saving *row, int64_t bytes, enum saving_method method, bool in_total);

/* count x unit, at most INT64_MAX: counters of a captured machine can be anything. */
int64_t bytes_of(uint64_t count, uint64_t unit);
/* a - b, at most INT64_MAX and at least INT64_MIN. */
int64_t bytes_less(int64_t a, int64_t b);

/* The pages that hold struct pages, since Linux 6.11: both numbers or none. 0 or -ENODATA. */
int memmap_counters(const char *vmstat, uint64_t *ret_memmap, uint64_t *ret_boot);

/* One size's pool as it is now. */
struct pool {
	char size[24]; /* "2M" */
	uint64_t size_bytes;
	uint64_t pages; /* surplus pages among them */
	uint64_t free, reserved;
	bool counted; /* the kernel counts those that HVO has optimised */
	uint64_t optimized;
};

struct pools {
	struct pool *items;
	size_t n;
};

/* Counts are read and not taken from the facts: a pool may have grown since the facts were probed. */
void pools_read(struct measurement *m, struct pools *ret);
void pools_clear(struct pools *pools);

/* The rows of one mechanism each. */
void savings_add_hvo(struct measurement *m);
void savings_add_hugetlb_unused(struct measurement *m);
void savings_add_struct_page(struct measurement *m);
void savings_add_ksm(struct measurement *m);
void savings_add_zswap(struct measurement *m);
void savings_add_zram(struct measurement *m);
void savings_add_huge_zero_page(struct measurement *m);
void savings_add_min_free(struct measurement *m);
