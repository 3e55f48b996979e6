/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <inttypes.h>

#include "base/fileio.h"
#include "base/macros.h"
#include "core/undo.h"

#define WAITER_DIRECTORY "/run/mmopt"
#define WAITER_LOCK WAITER_DIRECTORY "/confirm.lock"

/*
 * An open file description lock: the kernel drops it with the waiter, however that dies, and it can be asked for
 * without being taken.
 */
static const struct flock whole_file = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

static int read_pid(int fd)
{
	char buf[24] = "";
	ssize_t n = pread(fd, buf, sizeof(buf) - 1, 0);

	/* For messages only, so a torn or foreign text is no error. */
	return n > 0 ? (int)strtol(buf, NULL, 10) : 0;
}

int undo_waiter_lock(int root_fd, int *ret_fd)
{
	_cleanup_close_ int fd = -EBADF;
	struct flock lock = whole_file;
	char buf[24];
	int n;

	fd = open_in_root(root_fd, WAITER_LOCK, O_RDWR | O_CREAT | O_NOFOLLOW, 0644);
	if (fd < 0)
		return fd;
	if (fcntl(fd, F_OFD_SETLK, &lock) < 0)
		return errno == EACCES || errno == EAGAIN ? -EBUSY : -errno;
	n = snprintf(buf, sizeof(buf), "%d\n", (int)getpid());
	if (ftruncate(fd, 0) < 0)
		return -errno;
	if (pwrite(fd, buf, n, 0) != n)
		return errno ? -errno : -EIO;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int undo_waiter_alive(int root_fd, int *ret_pid)
{
	_cleanup_close_ int fd = -EBADF;
	struct flock lock = whole_file;

	fd = open_in_root(root_fd, WAITER_LOCK, O_RDONLY | O_NOFOLLOW, 0);
	if (fd == -ENOENT)
		return 0;
	if (fd < 0)
		return fd;
	if (fcntl(fd, F_OFD_GETLK, &lock) < 0)
		return -errno;
	if (lock.l_type == F_UNLCK)
		return 0;
	if (ret_pid)
		*ret_pid = read_pid(fd);
	return 1;
}
