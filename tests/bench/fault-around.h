/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A process that uses a mapped file beside one with anonymous memory, in turns, on less memory than both need. */
#pragma once

#include <sys/types.h>

#include "base/macros.h"

/* What fault-around maps at once: 64 KiB, aligned. */
#define FA_WINDOW_PAGES 16
/* A round is cut into so many turns, so that the two compete all the time. */
#define FA_SLICES 64

enum fa_access {
	FA_KEEP, /* mapped once, swept once a round */
	FA_REMAP, /* swept likewise; each piece is mapped for its turn and unmapped again, as by programs that start and end */
	FA_RANDOM, /* mapped once; windows at random */
};

/* Sizes are those for a machine of 256 MiB. */
struct fa_scenario {
	const char *name;
	const char *about;
	unsigned anon_mib, file_mib;
	unsigned cache_mib; /* of another file that the first process reads with pread() */
	unsigned touch;	    /* pages used of each window */
	unsigned rotate;    /* each round uses the page that is so much further on */
	unsigned rounds;
	enum fa_access access;
	bool exec;    /* the mapping is executable: reclaim spares such pages once more */
	bool prefill; /* the file is in the page cache before it is mapped */
};

/* Ends with a row without a name. */
extern const struct fa_scenario fa_scenarios[];

struct fa_load {
	const struct fa_scenario *scenario;
	int fd; /* the file: first the pages that are mapped, then those of the other page cache */
	size_t anon_pages, windows, cache_pages;
	size_t page_bytes;
};

struct fa_worker {
	pid_t pid;
	int to, from;
};

/* Both come up before any work is done. They wait for fa_turn(); with their last descriptor they end. */
struct fa_worker fa_start_anon(const struct fa_load *load);
struct fa_worker fa_start_file(const struct fa_load *load);
/* Lets it work on a slice of a round; back when that is done. */
void fa_turn(const struct fa_worker *worker, unsigned round, unsigned slice);
void fa_stop(const struct fa_worker *worker);
