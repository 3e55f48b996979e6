/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/*
 * Reads all of fd from its current position, for regular files and for /proc and /sys files, whose size is not
 * known beforehand.  *ret is NUL-terminated (the NUL is not counted in *ret_size, which may be NULL) and the caller's
 * to free.  limit_bytes 0 means none; -EFBIG beyond it.  0 or a negative errno.
 */
int read_fd(int fd, size_t limit_bytes, char **ret, size_t *ret_size);

/* The same for a path below dir_fd (AT_FDCWD: the working directory). */
int read_file_at(int dir_fd, const char *path, size_t limit_bytes, char **ret, size_t *ret_size);

/* Writes all of it, going on after short writes.  For ordinary files only, never for kernel files. */
int write_all(int fd, const void *data, size_t size);

/* Creates path and its parents below dir_fd. An existing directory is fine. 0 or a negative errno. */
int mkdir_p_at(int dir_fd, const char *path, mode_t mode);

/*
 * Opens path below the root directory root_fd, so that no symbolic link and no ".." leads out of that root
 * (openat2(2) RESOLVE_IN_ROOT; on a kernel without it, Linux before 5.6, -ENOSYS unless root_fd is "/").
 * Absolute paths count from the root.  Returns an fd (O_CLOEXEC is always set) or a negative errno.
 */
int open_in_root(int root_fd, const char *path, int flags, mode_t mode);

/*
 * Locks a whole file, open for writing, for as long as fd or a copy of it is open (F_OFD_SETLK, Linux 3.15). -EBUSY where somebody else does.
 * Unlike flock(2) such a lock can be asked for without being taken, so that those who look never stand in the way of those who lock.
 */
int lock_fd(int fd);
/* 1 where somebody else has locked it, 0 where nobody has, or a negative errno. */
int fd_is_locked(int fd);

/* Replaces a file below dir_fd by a temporary file and a rename, so that readers see the old or the new, never half. */
int replace_file_at(int dir_fd, const char *path, const void *data, size_t size, mode_t mode);
