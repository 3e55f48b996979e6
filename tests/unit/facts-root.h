/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "temp-dir.h"

#include "core/facts-internal.h"

/* A small machine made up of files, and what is found out about it. */
struct root {
	struct temp_dir dir;
	struct kernel_io *io;
	struct facts facts;
};

static inline void root_donep(struct root *r)
{
	facts_clear(&r->facts);
	kernel_io_free(r->io);
	temp_dir_donep(&r->dir);
}

static inline struct root root_make(void)
{
	struct root r = { .dir = temp_dir_make() };

	assert_int_equal(kernel_io_open(r.dir.path, &r.io), 0);
	return r;
}

#define _cleanup_root_ _cleanup_(root_donep)

/* path as the kernel has it, with a leading '/'. */
static inline void root_file(const struct root *r, const char *path, const char *text)
{
	temp_dir_write(&r->dir, path + 1, text);
}

static inline void root_directory(const struct root *r, const char *path)
{
	assert_int_equal(mkdir_p_at(r->dir.fd, path + 1, 0755), 0);
}

static inline void root_link(const struct root *r, const char *path, const char *target)
{
	assert_int_equal(symlinkat(target, r->dir.fd, path + 1), 0);
}

static inline void root_probe(struct root *r, unsigned groups)
{
	facts_clear(&r->facts);
	assert_int_equal(facts_probe(&r->facts, r->io, groups), 0);
}

#define assert_fact_number(r, name, want)                                     \
	do {                                                                  \
		uint64_t _n = 0;                                              \
		if (facts_number(&(r)->facts, (name), &_n) < 0)               \
			fail_msg("%s is not a number, or not there", (name)); \
		assert_int_equal(_n, (want));                                 \
	} while (false)

#define assert_fact_word(r, name, want)                                     \
	do {                                                                \
		const char *_w = facts_word(&(r)->facts, (name));           \
		if (!_w)                                                    \
			fail_msg("%s is not a word, or not there", (name)); \
		assert_string_equal(_w, (want));                            \
	} while (false)

#define assert_fact_boolean(r, name, want)                                     \
	do {                                                                   \
		bool _b = false;                                               \
		if (facts_boolean(&(r)->facts, (name), &_b) < 0)               \
			fail_msg("%s is not a boolean, or not there", (name)); \
		assert_int_equal(_b, (want));                                  \
	} while (false)

#define assert_fact_unknown(r, name)                                    \
	do {                                                            \
		const struct fact *_f = facts_get(&(r)->facts, (name)); \
		if (!_f || _f->type != FACT_UNKNOWN)                    \
			fail_msg("%s is not unknown", (name));          \
		assert_true(_f->source[0] != '\0');                     \
	} while (false)
