/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/fileio.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/macros.h"
#include "base/strutil.h"

/* One page: most kernel files are handed out in pages, and most fit one. */
#define READ_CHUNK 4096

int read_fd(int fd, size_t limit_bytes, char **ret, size_t *ret_size)
{
	_cleanup_free_ char *buf = NULL;
	size_t size = 0, room = 0;
	char *fit;

	for (;;) {
		ssize_t n;

		/* A byte is kept for the NUL. */
		if (room - size <= 1) {
			size_t more = room ? room * 2 : READ_CHUNK;
			char *grown = more > room ? realloc(buf, more) : NULL;

			if (!grown)
				return -ENOMEM;
			buf = grown;
			room = more;
		}
		/* A short read is not the end in /proc: only a read of nothing is. */
		n = read(fd, buf + size, room - size - 1);
		if (n < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		if (n == 0)
			break;
		size += (size_t)n;
		if (limit_bytes && size > limit_bytes)
			return -EFBIG;
	}
	buf[size] = '\0';
	fit = realloc(buf, size + 1);
	if (fit)
		buf = fit;
	*ret = TAKE_PTR(buf);
	if (ret_size)
		*ret_size = size;
	return 0;
}

int read_file_at(int dir_fd, const char *path, size_t limit_bytes, char **ret, size_t *ret_size)
{
	_cleanup_close_ int fd = -EBADF;

	do {
		fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	} while (fd < 0 && errno == EINTR);
	if (fd < 0)
		return -errno;
	return read_fd(fd, limit_bytes, ret, ret_size);
}

int write_all(int fd, const void *data, size_t size)
{
	const char *p = data;

	while (size) {
		ssize_t n = write(fd, p, size);

		if (n < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		/* Nothing taken and no error: going round again would never end. */
		if (n == 0)
			return -EIO;
		p += n;
		size -= (size_t)n;
	}
	return 0;
}

static int make_directory(int dir_fd, const char *path, mode_t mode)
{
	struct stat st;
	int r;

	if (mkdirat(dir_fd, path, mode) >= 0)
		return 0;
	r = -errno;
	/* A directory that is there is fine, also where none could be made (read-only, no permission). */
	if (fstatat(dir_fd, path, &st, 0) < 0)
		return r;
	return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
}

int mkdir_p_at(int dir_fd, const char *path, mode_t mode)
{
	_cleanup_free_ char *copy = NULL;

	copy = strdup(path);
	if (!copy)
		return -ENOMEM;
	for (char *p = copy; *p; p++) {
		int r;

		if (*p != '/' || p == copy || p[-1] == '/')
			continue;
		*p = '\0';
		r = make_directory(dir_fd, copy, mode);
		if (r < 0)
			return r;
		*p = '/';
	}
	return make_directory(dir_fd, copy, mode);
}

static bool is_system_root(int root_fd)
{
	struct stat a, b;

	return fstat(root_fd, &a) >= 0 && stat("/", &b) >= 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

int open_in_root(int root_fd, const char *path, int flags, mode_t mode)
{
	struct open_how how = {
		.flags = (unsigned)(flags | O_CLOEXEC),
		.mode = flags & (O_CREAT | __O_TMPFILE) ? mode : 0,
		.resolve = RESOLVE_IN_ROOT,
	};
	int r;

	/* -EAGAIN: a ".." met a rename somewhere in the system; the kernel asks for another try. */
	for (unsigned tries = 0; tries < 32; tries++) {
		int fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));

		if (fd >= 0)
			return fd;
		r = -errno;
		if (r != -EINTR && r != -EAGAIN)
			break;
	}
	/* Old container runtimes answer -EPERM for system calls they do not know.  Out of "/" nothing leads. */
	if ((r == -ENOSYS || r == -EPERM) && is_system_root(root_fd)) {
		int fd = openat(root_fd, path, flags | O_CLOEXEC, mode);

		return fd < 0 ? -errno : fd;
	}
	return r;
}

int lock_fd(int fd)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	if (fcntl(fd, F_OFD_SETLK, &lock) < 0)
		return errno == EAGAIN || errno == EACCES ? -EBUSY : -errno;
	return 0;
}

int fd_is_locked(int fd)
{
	struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET };

	if (fcntl(fd, F_OFD_GETLK, &lock) < 0)
		return -errno;
	return lock.l_type != F_UNLCK;
}

/* Opens a new file beside path. *ret_name is the caller's to free. */
static int open_temporary(int dir_fd, const char *path, mode_t mode, char **ret_name)
{
	const char *slash = strrchr(path, '/');
	int directory = slash ? (int)(slash - path + 1) : 0;

	for (unsigned tries = 0; tries < 128; tries++) {
		_cleanup_free_ char *name = NULL;
		unsigned long long random;
		int fd;

		if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
			random = (unsigned long long)getpid() << 16 | tries;
		name = xasprintf("%.*s.%s.%016llx", directory, path, path + directory, random);
		if (!name)
			return -ENOMEM;
		fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
		if (fd >= 0) {
			*ret_name = TAKE_PTR(name);
			return fd;
		}
		if (errno != EEXIST && errno != EINTR)
			return -errno;
	}
	return -EEXIST;
}

int replace_file_at(int dir_fd, const char *path, const void *data, size_t size, mode_t mode)
{
	_cleanup_free_ char *name = NULL;
	_cleanup_close_ int fd = -EBADF;
	int r;

	fd = open_temporary(dir_fd, path, mode, &name);
	if (fd < 0)
		return fd;
	r = write_all(fd, data, size);
	/* The mode is meant, whatever the umask. */
	if (r >= 0 && fchmod(fd, mode) < 0)
		r = -errno;
	/* Without it a power cut after the rename can leave the new name with no contents. */
	if (r >= 0 && fsync(fd) < 0)
		r = -errno;
	if (r >= 0 && renameat(dir_fd, name, dir_fd, path) < 0)
		r = -errno;
	if (r < 0)
		unlinkat(dir_fd, name, 0);
	return r;
}
