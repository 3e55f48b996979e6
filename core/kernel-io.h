/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/macros.h"

/*
 * The one door to /proc, /sys and debugfs.  Paths are absolute and count from the root of the machine looked at:
 * "/" for the live one, else a captured or mounted system.  Tests put a kernel in memory behind the same door.
 */
struct kernel_io;

struct kernel_io_ops {
	/* Whole contents, NUL-terminated, the caller frees; 0 or a negative errno. */
	int (*read)(struct kernel_io *io, const char *path, char **ret, size_t *ret_size);
	/* Exactly one write(2) at offset 0; a short count is -EIO.  0 or a negative errno. */
	int (*write)(struct kernel_io *io, const char *path, const char *data, size_t size);
	/* Names in a directory, sorted bytewise, without "." and ".."; the caller frees with strv_free(). */
	int (*list)(struct kernel_io *io, const char *path, char ***ret);
	/* True where path is there, readable or not. */
	bool (*exists)(struct kernel_io *io, const char *path);
	/* Target of a symbolic link as text; the caller frees. */
	int (*readlink)(struct kernel_io *io, const char *path, char **ret);
	void (*free)(struct kernel_io *io);
};

struct kernel_io {
	const struct kernel_io_ops *ops;
	/* The running kernel: functional probes (page faults, timing) say something about it. */
	bool live;
};

/*
 * Opens the machine below root; NULL or "/" is the running one.  Free with kernel_io_free().
 * 0 or a negative errno (-ENOENT, -ENOTDIR, -EACCES: of root itself).
 */
int kernel_io_open(const char *root, struct kernel_io **ret);
void kernel_io_free(struct kernel_io *io);
DEFINE_CLEANUP(struct kernel_io *, kernel_io_free);

/* A file descriptor of the root directory, owned by io; -EOPNOTSUPP for a kernel in memory. */
int kernel_io_root_fd(struct kernel_io *io);

int kernel_io_read(struct kernel_io *io, const char *path, char **ret, size_t *ret_size);
/* The same without the white space at the end. */
int kernel_io_read_line(struct kernel_io *io, const char *path, char **ret);
/* One number, decimal or 0x hexadecimal.  -EINVAL where the file holds something else. */
int kernel_io_read_u64(struct kernel_io *io, const char *path, uint64_t *ret);
/*
 * Writes value and a newline by one write(2).  The text has to be free of newlines (-EINVAL).  The caller reads
 * back: success here is no proof of anything.
 */
int kernel_io_write(struct kernel_io *io, const char *path, const char *value);
int kernel_io_list(struct kernel_io *io, const char *path, char ***ret);
bool kernel_io_exists(struct kernel_io *io, const char *path);
int kernel_io_readlink(struct kernel_io *io, const char *path, char **ret);

/*
 * The number behind a key in "key value" or "key:   value kB" text such as /proc/vmstat and /proc/meminfo, as it
 * stands there (no unit is applied).  0, -ENOENT, -EINVAL.
 */
int keyed_u64(const char *text, const char *key, uint64_t *ret);
