/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/kernel-io.h"

/*
 * A kernel in memory that behaves: it clamps, zeroes the other form of a linked pair, shows bracketed lists, gives fewer huge pages
 * than asked, raises vm.min_free_kbytes when THP is written; and fails on demand, at any write, with any errno.
 */
struct fake_kernel;

/* What a write does to the machine besides storing the value. */
enum fake_behaviour {
	FAKE_PLAIN,	 /* a number in min..max, else EINVAL; octal and hexadecimal as the kernel reads them */
	FAKE_CHOICE,	 /* a bracketed list; an unknown word is EINVAL */
	FAKE_BOOLEAN_NY, /* reads N or Y */
	FAKE_POOL,	 /* huge pages: at most `max` come; never an error; in_use pages do not go */
	FAKE_POWER_OF_2, /* rounded down */
	FAKE_MASK,	 /* bits outside `max` are dropped; reads 0x%04x */
	FAKE_LIST,	 /* integers, read back with tabs between */
	FAKE_WORD,	 /* whatever is written */
	FAKE_WRITE_ONLY, /* reads are EACCES */
};

struct fake_file {
	const char *path;
	enum fake_behaviour behaviour;
	const char *value; /* at the start, as the file reads */
	int64_t min, max;
	const char *linked; /* path that becomes 0 when this is written */
	const char *raises; /* path that becomes at least raises_to when this is written */
	int64_t raises_to;
	int64_t in_use; /* FAKE_POOL */
};

/* Free with kernel_io_free(). NULL on lack of memory. */
struct fake_kernel *fake_kernel_new(const struct fake_file *files, size_t n);
struct kernel_io *fake_kernel_io(struct fake_kernel *k);

/* Adds a file, or changes what it reads, behind mmopt's back. */
void fake_kernel_set(struct fake_kernel *k, const char *path, const char *text);
/* What the file reads; NULL where there is none. Belongs to the kernel. */
const char *fake_kernel_get(struct fake_kernel *k, const char *path);

/* The file refuses all writes with this errno (negative), or is back to normal with 0. */
void fake_kernel_refuse(struct fake_kernel *k, const char *path, int error);
/* Reads fail with this errno. */
void fake_kernel_hide(struct fake_kernel *k, const char *path, int error);

/* Fault at the k-th write from now on (0: the next one). error < 0: that errno; FAKE_SHORT_WRITE: see below. */
#define FAKE_SHORT_WRITE 1 /* the first byte is taken as the value, the write is reported as short (-EIO) */
void fake_kernel_fault(struct fake_kernel *k, unsigned write, int error);
/* A second fault, later in the same run. */
void fake_kernel_fault_too(struct fake_kernel *k, unsigned write, int error);

unsigned fake_kernel_writes(struct fake_kernel *k); /* since the start */
/* Path of the n-th write (0: the first). */
const char *fake_kernel_write_path(struct fake_kernel *k, unsigned n);
/* Called before each write; may end the process (crash tests). */
void fake_kernel_on_write(struct fake_kernel *k, void (*hook)(void *userdata, unsigned write), void *userdata);

/*
 * Passes for the running kernel, to the probe of fault-around as well: one touch of a mapping will be seen to have mapped
 * window_kib, referenced_kib of it young, whatever the knobs say.
 */
void fake_kernel_go_live(struct fake_kernel *k, unsigned window_kib, unsigned referenced_kib);

/* All files and what they read, one a line, sorted: for comparing states. The caller frees. */
char *fake_kernel_dump(struct fake_kernel *k);
