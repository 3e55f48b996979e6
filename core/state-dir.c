/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/state-dir.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/fileio.h"
#include "base/macros.h"

int check_trusted(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if ((st.st_uid != 0 && st.st_uid != geteuid()) || (st.st_mode & 022))
		return -EPERM;
	return 0;
}

int state_dir_make_below(int root_fd, const char *parent, const char *name)
{
	_cleanup_close_ int fd = open_in_root(root_fd, parent, O_PATH | O_DIRECTORY, 0);

	if (fd < 0)
		return fd;
	if (mkdirat(fd, name, 0755) < 0 && errno != EEXIST)
		return -errno;
	return 0;
}

int state_dir_make(int root_fd)
{
	_cleanup_close_ int fd = -EBADF;
	int r;

	r = state_dir_make_below(root_fd, "/", "run");
	if (r < 0)
		return r;
	r = state_dir_make_below(root_fd, "/run", "mmopt");
	if (r < 0)
		return r;
	fd = open_in_root(root_fd, STATE_DIR, O_RDONLY | O_DIRECTORY, 0);
	return fd < 0 ? fd : check_trusted(fd);
}
