/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
/* Each argument is evaluated once. */
#define MIN(a, b)                                  \
	({                                         \
		__auto_type _min_a = (a);          \
		__auto_type _min_b = (b);          \
		_min_a < _min_b ? _min_a : _min_b; \
	})
#define MAX(a, b)                                  \
	({                                         \
		__auto_type _max_a = (a);          \
		__auto_type _max_b = (b);          \
		_max_a > _max_b ? _max_a : _max_b; \
	})

#define _printf_(fmt, first) __attribute__((format(printf, fmt, first)))
#define _unused_ __attribute__((unused))

/* Locals own what they point to: `_cleanup_(freep) char *s = NULL;` */
#define _cleanup_(fn) __attribute__((cleanup(fn)))
#define _cleanup_free_ _cleanup_(freep)
#define _cleanup_close_ _cleanup_(closep)
#define _cleanup_fclose_ _cleanup_(fclosep)
#define _cleanup_closedir_ _cleanup_(closedirp)

/* Hands a pointer on and leaves NULL behind, so that the cleanup does nothing. */
#define TAKE_PTR(p)                        \
	({                                 \
		__typeof__(p) *_pp = &(p); \
		__typeof__(p) _v = *_pp;   \
		*_pp = NULL;               \
		_v;                        \
	})

#define TAKE_FD(fd)                \
	({                         \
		int *_pfd = &(fd); \
		int _v = *_pfd;    \
		*_pfd = -EBADF;    \
		_v;                \
	})

/* Makes `void NAMEp(TYPE *p)` for use with _cleanup_ out of a free function that takes NULL. */
#define DEFINE_CLEANUP(type, fn)          \
	static inline void fn##p(type *p) \
	{                                 \
		if (*p)                   \
			fn(*p);           \
	}                                 \
	struct _cleanup_needs_a_semicolon

static inline void freep(void *p)
{
	free(*(void **)p);
}

static inline void closep(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void fclosep(FILE **f)
{
	if (*f)
		fclose(*f);
}

static inline void closedirp(DIR **d)
{
	if (*d)
		closedir(*d);
}
