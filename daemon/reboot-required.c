/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/reboot-required.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/fileio.h"
#include "base/strutil.h"

#define FLAG_FILE "/run/reboot-required"
#define PACKAGES_FILE "/run/reboot-required.pkgs"
/* What it is to be found under. */
#define PACKAGE "mmopt"
/* A file larger than this is not what others make of it. */
#define MAX_BYTES (1024 * 1024)

/* Opens a file to append to it, making it where it is not there. An fd or a negative errno. */
static int open_file(int root_fd, const char *path)
{
	_cleanup_close_ int fd =
		open_in_root(root_fd, path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0644);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	return S_ISREG(st.st_mode) ? TAKE_FD(fd) : -EINVAL;
}

static bool has_line(const char *text, const char *line)
{
	size_t n = strlen(line);

	while (text) {
		const char *end = strchrnul(text, '\n');

		if ((size_t)(end - text) == n && memcmp(text, line, n) == 0)
			return true;
		text = *end ? end + 1 : NULL;
	}
	return false;
}

/* The text that people are shown; one that is there stays. */
static int write_flag(int root_fd)
{
	static const char text[] = "*** System restart required ***\n";
	_cleanup_close_ int fd = open_file(root_fd, FLAG_FILE);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	return st.st_size > 0 ? 0 : write_all(fd, text, strlen(text));
}

static int add_package(int root_fd)
{
	_cleanup_close_ int fd = open_file(root_fd, PACKAGES_FILE);
	_cleanup_free_ char *text = NULL;
	const char *line = PACKAGE "\n";
	size_t size;
	int r;

	if (fd < 0)
		return fd;
	r = read_fd(fd, MAX_BYTES, &text, &size);
	if (r < 0)
		return r;
	if (has_line(text, PACKAGE))
		return 0;
	if (size > 0 && text[size - 1] != '\n')
		line = "\n" PACKAGE "\n";
	return write_all(fd, line, strlen(line));
}

int reboot_required_note(int root_fd, struct diag_list *diags)
{
	int r = write_flag(root_fd);

	if (r >= 0)
		r = add_package(root_fd);
	if (r < 0)
		diag_add(diags, DIAG_WARNING, NULL, 0, NULL, "cannot write " FLAG_FILE ": %s%s", strerror(-r),
			 r == -EROFS || r == -EACCES || r == -EPERM
				 ? "; a drop-in (systemctl edit mmoptd) has to allow it: [Service] ReadWritePaths=/run"
				 : "; RebootRequiredFile=no in mmoptd.conf turns it off");
	return r;
}
