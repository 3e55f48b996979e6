/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

#include "core/facts.h"

/*
 * For the files core/facts-*.c only.  A prober carries what every subject needs, and remembers the first
 * failure (-ENOMEM, nothing else fails), so that subjects read as plain lists of facts.
 */
struct prober {
	struct facts *facts;
	const struct facts *cache; /* what an earlier run in this boot found out */
	struct kernel_io *io;
	enum facts_group group;
	int error;
};

/* One fact each; see facts_set_*().  fact_name() makes names with a size or node in them. */
void put_number(struct prober *p, const char *name, uint64_t number, enum fact_confidence confidence,
		const char *source);
void put_boolean(struct prober *p, const char *name, bool b, enum fact_confidence confidence, const char *source);
void put_word(struct prober *p, const char *name, const char *word, enum fact_confidence confidence,
	      const char *source);
void put_unknown(struct prober *p, const char *name, const char *reason);
/* Takes name over from the cache; false where it is not there. */
bool put_cached(struct prober *p, const char *name);
/*
 * What the error means, for a reason.  Not strerror(3): that would speak the language of the locale, and of contents
 * that are not as they should be (EBADMSG) it says "Bad message".
 */
const char *prober_error(int error);
/* The reason is "PATH: what the error means". */
void put_unreadable(struct prober *p, const char *name, const char *path, int error);

/* printf into fresh memory; on failure NULL, and the prober knows. */
char *prober_format(struct prober *p, const char *fmt, ...) _printf_(2, 3);

/*
 * The file's contents, whole or without the white space at its end; NULL where it cannot be read.  *ret_error (may be
 * NULL) says why: a negative errno, 0 on success.
 */
char *prober_read(struct prober *p, const char *path, int *ret_error);
char *prober_read_line(struct prober *p, const char *path, int *ret_error);

/* A whole file as a fact: FACT_UNKNOWN with the reason where that is not possible. */
void put_file_number(struct prober *p, const char *name, const char *path);
void put_file_word(struct prober *p, const char *name, const char *path);
/* The word in brackets of "always [madvise] never"; the whole text where there are no brackets. */
void put_file_choice(struct prober *p, const char *name, const char *path);
/* 0/1, N/Y, or any number. */
void put_file_boolean(struct prober *p, const char *name, const char *path);

/* Subjects: each fills in its group. */
void facts_probe_kernel(struct prober *p);
void facts_probe_config(struct prober *p);
void facts_probe_memory(struct prober *p);
void facts_probe_hugetlb(struct prober *p);
void facts_probe_struct_page(struct prober *p);
void facts_probe_commit(struct prober *p);
void facts_probe_access_flag(struct prober *p);
void facts_probe_fault_around(struct prober *p);
void facts_probe_thp(struct prober *p);
void facts_probe_reclaim(struct prober *p);
void facts_probe_numa(struct prober *p);
void facts_probe_virt(struct prober *p);
void facts_probe_confinement(struct prober *p);
void facts_probe_boot(struct prober *p);
void facts_probe_writers(struct prober *p);

/* Part of facts_probe_reclaim(): FACT_LARGE_FOLIOS. */
void put_large_folios(struct prober *p);

/*
 * Lists of ranges such as "0-3,8".  list_next() takes one range off the front: 1; 0 at the end; -EINVAL where the text is
 * no list.  list_count(): how many members; an empty list has none.
 */
int list_next(const char **s, uint32_t *ret_first, uint32_t *ret_last);
int list_count(const char *text, uint64_t *ret);
bool list_contains(const char *text, uint32_t n);

/* Sums over all zones of /proc/zoneinfo. -EINVAL where the text has none. */
struct zoneinfo {
	uint64_t zones, min_pages, low_pages, high_pages, present_pages, managed_pages;
};
int parse_zoneinfo(const char *text, struct zoneinfo *ret);

/*
 * vm_committed_as_batch by mm/mm_init.c mm_compute_batch().  divisor: 4; with overcommit_memory 2, and in every policy before
 * Linux 5.9, 256, or 64 where the check is exact near the limit.
 */
uint64_t commit_batch(uint64_t ram_pages, uint64_t cpus, unsigned divisor);

/* Is line (a blank before, a newline behind the symbol) in the text of /proc/kallsyms?  1, 0 or a negative errno. */
int has_symbol_line(int fd, const char *line);

/* SIZE(page) of the VMCOREINFO note in a segment of ELF notes; 0 where it is not there. */
uint64_t vmcoreinfo_page_bytes(const char *notes, size_t size);

/* sizeof(struct page) as memmap pages / pages present tells it; 0 where that is not near a multiple of 8. */
uint64_t struct_page_from_memmap(uint64_t memmap_pages, uint64_t page_bytes, uint64_t pages);

/* What a fault-around probe saw, as FACT_FAULT_AROUND_PTES says it: off, old, young, mixed. */
const char *fault_around_word(uint64_t window_bytes, uint64_t referenced_bytes, uint64_t page_bytes);

/* What /proc/swaps text holds. 0 or -ENOMEM. */
struct swaps {
	uint64_t zram, disk; /* number of areas */
	uint64_t total_bytes, used_bytes;
};
int parse_swaps(const char *text, struct swaps *ret);

/* Base page size of the machine looked at; 0 where unknown. */
uint64_t prober_page_size(struct prober *p);

/*
 * The cache of this boot, /run/mmopt/probes below the root: takes in what it holds for the groups asked for.
 * 0 (also where there is none), or -ENOMEM.
 */
int facts_cache_load(struct facts *facts, struct kernel_io *io, unsigned groups);
