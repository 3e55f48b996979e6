/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>

#include "base/fileio.h"
#include "test.h"

/* A directory for one test, gone with it: `_cleanup_(temp_dir_donep) struct temp_dir dir = temp_dir_make();` */
struct temp_dir {
	char path[64];
	int fd;
};

static inline struct temp_dir temp_dir_make(void)
{
	struct temp_dir d = { .path = "/tmp/mmopt-test-XXXXXX", .fd = -EBADF };

	assert_non_null(mkdtemp(d.path));
	d.fd = open(d.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(d.fd >= 0);
	return d;
}

static inline int temp_dir_remove(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static inline void temp_dir_donep(struct temp_dir *d)
{
	close(d->fd);
	nftw(d->path, temp_dir_remove, 16, FTW_DEPTH | FTW_PHYS);
}

/* Makes a file with its parents. */
static inline void temp_dir_write(const struct temp_dir *d, const char *path, const char *text)
{
	_cleanup_free_ char *parent = strdup(path);
	_cleanup_close_ int fd = -EBADF;
	char *slash;

	assert_non_null(parent);
	slash = strrchr(parent, '/');
	if (slash) {
		*slash = '\0';
		assert_int_equal(mkdir_p_at(d->fd, parent, 0755), 0);
	}
	fd = openat(d->fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write_all(fd, text, strlen(text)), 0);
}

static inline void temp_dir_expect(const struct temp_dir *d, const char *path, const char *text)
{
	_cleanup_free_ char *have = NULL;

	assert_int_equal(read_file_at(d->fd, path, 0, &have, NULL), 0);
	assert_string_equal(have, text);
}
