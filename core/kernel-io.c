/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/kernel-io.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/fileio.h"
#include "base/number.h"
#include "base/strutil.h"

/* A machine in files: the running one, or a captured or mounted system. */
struct file_io {
	struct kernel_io io;
	int root_fd;
};

static const struct kernel_io_ops file_io_ops;

static struct file_io *file_io(struct kernel_io *io)
{
	return (struct file_io *)((char *)io - offsetof(struct file_io, io));
}

/* Only the running machine is opened by plain path: there is nothing its links could lead out of. */
static int file_open(struct kernel_io *io, const char *path, int flags)
{
	int fd;

	if (path[0] != '/')
		return -EINVAL;
	if (!io->live)
		return open_in_root(file_io(io)->root_fd, path, flags, 0);
	do {
		fd = open(path, flags | O_CLOEXEC);
	} while (fd < 0 && errno == EINTR);
	return fd < 0 ? -errno : fd;
}

/*
 * Somebody else's system may hold anything under the name of a kernel file: a pipe that nobody writes to, a device.  Only the files
 * that /proc, /sys and a capture of them have are opened for more than looking.
 */
static int file_open_regular(struct kernel_io *io, const char *path, int flags)
{
	_cleanup_close_ int fd = -EBADF;
	struct stat st;

	if (io->live)
		return file_open(io, path, flags);
	fd = file_open(io, path, O_PATH);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	/* Should it be another file by now, it does not keep us waiting. */
	return file_open(io, path, flags | O_NONBLOCK);
}

static int file_read(struct kernel_io *io, const char *path, char **ret, size_t *ret_size)
{
	_cleanup_close_ int fd = -EBADF;

	fd = file_open_regular(io, path, O_RDONLY | O_NOCTTY);
	if (fd < 0)
		return fd;
	return read_fd(fd, 0, ret, ret_size);
}

static int file_write(struct kernel_io *io, const char *path, const char *data, size_t size)
{
	_cleanup_close_ int fd = -EBADF;
	ssize_t n;

	/* Below a captured root these are ordinary files, which keep the tail of a longer old value if not cut. */
	fd = file_open_regular(io, path, O_WRONLY | O_NOCTTY | (io->live ? 0 : O_TRUNC));
	if (fd < 0)
		return fd;
	/*
	 * One call, whatever comes of it.  The kernel takes each write for a whole value, so the rest of a short one would be
	 * a value of its own; and a write that a signal cut short may have done half its work (a growing huge page pool):
	 * whether to ask again is for the caller, who reads back.
	 */
	n = write(fd, data, size);
	if (n < 0)
		return -errno;
	return (size_t)n == size ? 0 : -EIO;
}

/* Names without "." and "..". */
static int read_names(DIR *dir, char ***ret)
{
	_cleanup_(strv_freep) char **names = NULL;
	size_t n = 0, room = 0;
	struct dirent *entry;

	for (;;) {
		if (n + 1 >= room) {
			char **grown = reallocarray(names, room ? room * 2 : 16, sizeof(*grown));

			if (!grown)
				return -ENOMEM;
			names = grown;
			room = room ? room * 2 : 16;
		}
		names[n] = NULL;
		errno = 0;
		entry = readdir(dir);
		if (!entry)
			break;
		if (streq(entry->d_name, ".") || streq(entry->d_name, ".."))
			continue;
		names[n] = strdup(entry->d_name);
		if (!names[n])
			return -ENOMEM;
		names[++n] = NULL;
	}
	if (errno)
		return -errno;
	*ret = TAKE_PTR(names);
	return 0;
}

static int file_list(struct kernel_io *io, const char *path, char ***ret)
{
	_cleanup_closedir_ DIR *dir = NULL;
	_cleanup_(strv_freep) char **names = NULL;
	int fd, r;

	fd = file_open(io, path, O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return fd;
	dir = fdopendir(fd);
	if (!dir) {
		r = -errno;
		close(fd);
		return r;
	}
	r = read_names(dir, &names);
	if (r < 0)
		return r;
	strv_sort(names);
	*ret = TAKE_PTR(names);
	return 0;
}

static bool file_exists(struct kernel_io *io, const char *path)
{
	_cleanup_close_ int fd = -EBADF;

	if (io->live)
		return path[0] == '/' && faccessat(AT_FDCWD, path, F_OK, 0) == 0;
	fd = file_open(io, path, O_PATH);
	return fd >= 0;
}

static int file_readlink(struct kernel_io *io, const char *path, char **ret)
{
	_cleanup_close_ int fd = -EBADF;

	fd = file_open(io, path, O_PATH | O_NOFOLLOW);
	if (fd < 0)
		return fd;
	/* The size of a link in /proc and /sys is not known beforehand. */
	for (size_t room = 128;; room *= 2) {
		_cleanup_free_ char *target = malloc(room);
		ssize_t n;

		if (!target)
			return -ENOMEM;
		n = readlinkat(fd, "", target, room);
		if (n < 0)
			/* What the kernel says of an open file that is no link. */
			return errno == ENOENT ? -EINVAL : -errno;
		if ((size_t)n < room) {
			target[n] = '\0';
			*ret = TAKE_PTR(target);
			return 0;
		}
	}
}

static void file_free(struct kernel_io *io)
{
	close(file_io(io)->root_fd);
	free(file_io(io));
}

static const struct kernel_io_ops file_io_ops = {
	.read = file_read,
	.write = file_write,
	.list = file_list,
	.exists = file_exists,
	.readlink = file_readlink,
	.free = file_free,
};

/* "/" under whatever name: "//", "/.", a bind mount of it onto itself. */
static bool is_running_root(int fd)
{
	struct stat a, b;

	return fstat(fd, &a) >= 0 && stat("/", &b) >= 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

int kernel_io_open(const char *root, struct kernel_io **ret)
{
	_cleanup_close_ int fd = -EBADF;
	struct file_io *f;

	fd = open(root ?: "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->io.ops = &file_io_ops;
	f->io.live = !root || streq(root, "/") || is_running_root(fd);
	f->root_fd = TAKE_FD(fd);
	*ret = &f->io;
	return 0;
}

void kernel_io_free(struct kernel_io *io)
{
	if (io)
		io->ops->free(io);
}

int kernel_io_root_fd(struct kernel_io *io)
{
	return io->ops == &file_io_ops ? file_io(io)->root_fd : -EOPNOTSUPP;
}

int kernel_io_read(struct kernel_io *io, const char *path, char **ret, size_t *ret_size)
{
	return io->ops->read(io, path, ret, ret_size);
}

int kernel_io_read_line(struct kernel_io *io, const char *path, char **ret)
{
	_cleanup_free_ char *text = NULL;
	size_t n;
	int r;

	r = kernel_io_read(io, path, &text, NULL);
	if (r < 0)
		return r;
	n = strlen(text);
	while (n && is_blank(text[n - 1]))
		n--;
	text[n] = '\0';
	*ret = TAKE_PTR(text);
	return 0;
}

int kernel_io_read_u64(struct kernel_io *io, const char *path, uint64_t *ret)
{
	_cleanup_free_ char *text = NULL;
	int r;

	r = kernel_io_read(io, path, &text, NULL);
	if (r < 0)
		return r;
	/* Why it is not a number makes no difference to who reads a kernel file. */
	return parse_u64(strstrip(text), ret) < 0 ? -EINVAL : 0;
}

int kernel_io_write(struct kernel_io *io, const char *path, const char *value)
{
	_cleanup_free_ char *data = NULL;
	size_t n = strlen(value);

	if (memchr(value, '\n', n))
		return -EINVAL;
	data = malloc(n + 1);
	if (!data)
		return -ENOMEM;
	memcpy(data, value, n);
	data[n] = '\n';
	return io->ops->write(io, path, data, n + 1);
}

int kernel_io_list(struct kernel_io *io, const char *path, char ***ret)
{
	return io->ops->list(io, path, ret);
}

bool kernel_io_exists(struct kernel_io *io, const char *path)
{
	return io->ops->exists(io, path);
}

int kernel_io_readlink(struct kernel_io *io, const char *path, char **ret)
{
	return io->ops->readlink(io, path, ret);
}

/* The number at s, which ends with the word.  Kernel text: digits only. */
static int take_u64(const char *s, uint64_t *ret)
{
	uint64_t v = 0;
	const char *p = s;

	for (; *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(v, (uint64_t)10, &v) || __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v))
			return -EINVAL;
	if (p == s || (*p && !is_blank(*p)))
		return -EINVAL;
	*ret = v;
	return 0;
}

int keyed_u64(const char *text, const char *key, uint64_t *ret)
{
	const char *next;

	for (const char *line = text; line; line = next) {
		const char *p = startswith(line, key);

		next = strchr(line, '\n');
		if (next)
			next++;
		/* "nr_memmap_pages" begins "nr_memmap_pages_x" as well: only the whole word is the key. */
		if (!p || (*p != ':' && *p != ' ' && *p != '\t'))
			continue;
		p += *p == ':';
		while (*p == ' ' || *p == '\t')
			p++;
		return take_u64(p, ret);
	}
	return -ENOENT;
}
