/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <fcntl.h>
#include <sys/file.h>

#include "base/fileio.h"
#include "tests/unit/test.h"

/* For tests that change the running kernel: they need root, wait for each other, and put everything back. */

/* The lock; a skip where the test is not root.  A child has it too, so none may outlive the test. */
static inline int knobs_lock(void)
{
	int fd;

	if (geteuid() != 0) {
		print_message("not root: the kernel's settings cannot be changed\n");
		skip();
	}
	fd = open("/tmp/mmopt-knobs.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	assert_true(fd >= 0);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	return fd;
}

/* One write(2), as a kernel file wants it. 0 or a negative errno. */
static inline int knob_try_write(const char *path, const char *text)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = write(fd, text, strlen(text));
	return n < 0 ? -errno : n == (ssize_t)strlen(text) ? 0 : -EIO;
}

static inline void knob_write(const char *path, const char *text)
{
	int r = knob_try_write(path, text);

	if (r < 0)
		print_error("%s: \"%s\": %s\n", path, text, strerror(-r));
	assert_int_equal(r, 0);
}

/* The caller frees. */
static inline char *knob_read(const char *path)
{
	char *text = NULL;

	assert_int_equal(read_file_at(AT_FDCWD, path, 0, &text, NULL), 0);
	return text;
}
