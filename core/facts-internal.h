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
void facts_probe_memory(struct prober *p);
void facts_probe_hugetlb(struct prober *p);
void facts_probe_struct_page(struct prober *p);
void facts_probe_access_flag(struct prober *p);
void facts_probe_fault_around(struct prober *p);
void facts_probe_thp(struct prober *p);
void facts_probe_reclaim(struct prober *p);
void facts_probe_numa(struct prober *p);
void facts_probe_virt(struct prober *p);
void facts_probe_boot(struct prober *p);
void facts_probe_writers(struct prober *p);

/* Base page size of the machine looked at; 0 where unknown. */
uint64_t prober_page_size(struct prober *p);

/*
 * The cache of this boot, /run/mmopt/probes below the root.  facts_cache_load() takes in what it holds for the
 * groups asked for; what is already known stays.  0 (also where there is none), or -ENOMEM.
 */
int facts_cache_load(struct facts *facts, struct kernel_io *io, unsigned groups);
