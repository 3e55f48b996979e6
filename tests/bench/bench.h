/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the benchmarks have in common: options, kernel knobs that go back to what they were, processes that work for the same
 * time, medians and ratios.  A benchmark that cannot run here ends with BENCH_SKIPPED and the reason.
 */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/macros.h"

#define BENCH_SKIPPED 77 /* meson's number for "cannot run here" */
#define BENCH_MAX_PROCESSES 64
#define BENCH_MAX_LIST 8

/* --- options --- */

struct bench_list {
	uint64_t v[BENCH_MAX_LIST];
	size_t n;
};

enum bench_kind {
	BENCH_FLAG,   /* bool: given or not */
	BENCH_NUMBER, /* uint64_t, from min to max */
	BENCH_LIST,   /* struct bench_list of such numbers: 1,2,4,8 */
	BENCH_WORD,   /* const char * */
};

/* A row of the table that ends with one without a name. What target holds before is the default, and --help shows it. */
struct bench_option {
	const char *name;
	const char *value; /* what --help calls it; NULL for a flag */
	const char *help;
	enum bench_kind kind;
	void *target;
	uint64_t min, max;
};

/* Rows for what most of them have. */
#define BENCH_PROCESSES(list)                                                                          \
	{                                                                                              \
		"processes", "N,...", "numbers of processes", BENCH_LIST, list, 1, BENCH_MAX_PROCESSES \
	}
#define BENCH_ROUNDS(n)                                                                                      \
	{                                                                                                    \
		"rounds", "N", "repeat each side so often, the sides taking turns", BENCH_NUMBER, n, 1, 1000 \
	}
#define BENCH_MSEC(n)                                                                       \
	{                                                                                   \
		"msec", "N", "milliseconds of each measurement", BENCH_NUMBER, n, 1, 600000 \
	}

/* Serves --help; ends the program with status 2 where an argument is not understood. Comes first: name is used in messages. */
void bench_options(int argc, char **argv, const char *name, const char *about, const struct bench_option *options);

/* Lines "NAME: ..." on standard error, and the end, with status 1 and BENCH_SKIPPED. */
void bench_fail(const char *fmt, ...) _printf_(1, 2) __attribute__((noreturn));
void bench_skip(const char *fmt, ...) _printf_(1, 2) __attribute__((noreturn));
void bench_need_root(void);

/* --- the kernel's files --- */

/* The number a file starts with, -1 where it is not there or has none. */
int64_t bench_number(const char *path);
/* NAME of /proc/vmstat as it is, NAME of /proc/meminfo in KiB; -1 where the kernel has no such line. */
int64_t bench_vmstat(const char *name);
int64_t bench_meminfo(const char *name);

/*
 * Remembers what path has now (the word in brackets, where it has those), to be written back when the program ends: by exit(), by
 * a signal, by any of the functions here.  The last kept goes back first.  A program that cannot put a value back says so
 * and fails.  Children must leave with _exit(); that they also catch signals does not matter.
 */
void bench_keep(const char *path);
/* Called when the program ends, before the values go back: for what is in their way. Async-signal-safe. */
void bench_at_end(void (*fn)(void));

/* Writes value, for a file that was kept. 0 or a negative errno. */
int bench_write(const char *path, const char *value);
int bench_write_number(const char *path, int64_t value);
/* The same where it has to work: it fails otherwise, and where a number does not read back as it was written. */
void bench_set(const char *path, int64_t value);

/* --- processes --- */

struct bench_team;

/* Works until bench_goes_on() is false, and counts each operation with bench_count(). index is 0..n-1. */
typedef void (*bench_work)(struct bench_team *team, unsigned index, void *data);

struct bench_slot {
	_Atomic uint64_t operations;
	char pad[56];
} __attribute__((aligned(64)));

struct bench_team {
	_Atomic unsigned ready;
	_Atomic bool go, stop;
	struct bench_slot slot[BENCH_MAX_PROCESSES];
};

static inline bool bench_goes_on(const struct bench_team *team)
{
	return !atomic_load_explicit(&team->stop, memory_order_relaxed);
}

static inline void bench_count(struct bench_team *team, unsigned index)
{
	/* One writer: no locked instruction. */
	uint64_t n = atomic_load_explicit(&team->slot[index].operations, memory_order_relaxed);

	atomic_store_explicit(&team->slot[index].operations, n + 1, memory_order_relaxed);
}

struct bench_rate {
	double per_sec;	    /* operations of all processes per second of wall time */
	double per_cpu_sec; /* the same per second of CPU time they got: steadier on a machine that does other things too */
};

/*
 * Forks n processes, lets them start together, settles for a tenth of msec, measures for msec.  Fails where a process ended before
 * its time.
 */
struct bench_rate bench_run(unsigned n, uint64_t msec, bench_work work, void *data);

/* --- figures --- */

struct bench_values {
	double *v;
	size_t n;
};

void bench_add(struct bench_values *values, double v);
void bench_clear(struct bench_values *values);
double bench_median(const struct bench_values *values);
/* b's median over a's; NaN where a's is 0. */
double bench_ratio(const struct bench_values *a, const struct bench_values *b);

/* What a reader has to know of the machine: kernel, CPUs, memory, load. */
void bench_print_machine(void);
/* A table of two sides: heading, then rows "NAME  median [lowest..highest]  median [lowest..highest]  B/A". NAME has no blanks. */
void bench_print_heading(const char *title, const char *a, const char *b);
void bench_print_row(const char *name, const struct bench_values *a, const struct bench_values *b);
