/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/textfile.h"

#include <fcntl.h>

#include "base/fileio.h"
#include "base/strutil.h"

/*
 * Opens an absolute directory part by part: an fd, -ELOOP or -ENOTDIR for a symbolic link on the way, or another
 * negative errno.
 */
static int open_directory(const char *path)
{
	_cleanup_close_ int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_free_ char *copy = strdup(path);
	char *part, *rest = copy;

	if (!copy)
		return -ENOMEM;
	if (*path != '/')
		return -EINVAL;
	while (fd >= 0 && (part = strsep(&rest, "/"))) {
		int next;

		if (!*part)
			continue;
		if (streq(part, ".."))
			return -EINVAL;
		next = openat(fd, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0)
			return -errno;
		close(fd);
		fd = next;
	}
	return fd < 0 ? -errno : TAKE_FD(fd);
}

static int report(struct diag_list *diags, const char *directory, int error)
{
	const char *remedy = "";

	switch (-error) {
	case EROFS:
	case EACCES:
	case EPERM:
		remedy = "; a drop-in (systemctl edit mmoptd) has to allow it: [Service] ReadWritePaths=";
		break;
	case ENOENT:
		remedy = "; make the directory, or set TextfileDirectory=none in mmoptd.conf";
		break;
	case ELOOP:
	case ENOTDIR:
		remedy = "; a part of it is a symbolic link or no directory: give the real path in TextfileDirectory=";
		break;
	}
	diag_add(diags, DIAG_WARNING, NULL, 0, NULL, "cannot write the metrics file %s/" TEXTFILE_NAME ": %s%s%s",
		 directory, strerror(-error), remedy, endswith(remedy, "ReadWritePaths=") ? directory : "");
	return error;
}

int textfile_write(const char *directory, const char *text, struct diag_list *diags)
{
	_cleanup_close_ int fd = open_directory(directory);
	int r = fd < 0 ? fd : replace_file_at(fd, TEXTFILE_NAME, text, strlen(text), 0644);

	return r < 0 ? report(diags, directory, r) : 0;
}

int textfile_remove(const char *directory, struct diag_list *diags)
{
	_cleanup_close_ int fd = open_directory(directory);
	int r = fd;

	if (fd >= 0)
		r = unlinkat(fd, TEXTFILE_NAME, 0) < 0 ? -errno : 0;
	return r < 0 && r != -ENOENT ? report(diags, directory, r) : 0;
}
