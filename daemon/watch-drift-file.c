/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <limits.h>
#include <sys/fanotify.h>
#include <sys/inotify.h>

#include "base/strutil.h"
#include "daemon/watch-drift-methods.h"

/* Each event of fanotify in the buffer holds an open file. */
#define FANOTIFY_BATCH 16

void file_monitor_open(struct file_monitor *m, unsigned use)
{
	*m = (struct file_monitor){ .fan_fd = -EBADF, .ino_fd = -EBADF };
	/*
	 * Events with an open file, since events with file ids instead (FAN_REPORT_FID) are not to be had for /proc
	 * and /sys before Linux 6.8, which gave them ids.  Without CAP_SYS_ADMIN there are only those, and without a
	 * pid.
	 */
	if (use & DRIFT_USE_FANOTIFY)
		m->fan_fd = fanotify_init(FAN_CLASS_NOTIF | FAN_CLOEXEC | FAN_NONBLOCK | FAN_UNLIMITED_MARKS,
					  O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_LARGEFILE);
	if (m->fan_fd < 0)
		m->fan_fd = -EBADF;
	if (use & DRIFT_USE_INOTIFY)
		m->ino_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (m->ino_fd < 0)
		m->ino_fd = -EBADF;
}

void file_monitor_close(struct file_monitor *m)
{
	if (m->fan_fd >= 0)
		close(TAKE_FD(m->fan_fd));
	if (m->ino_fd >= 0)
		close(TAKE_FD(m->ino_fd));
}

static bool mark(struct file_monitor *m, struct drift_file *f)
{
	if (m->fan_fd >= 0 && fanotify_mark(m->fan_fd, FAN_MARK_ADD, FAN_MODIFY, AT_FDCWD, f->path) == 0) {
		f->by_file = DRIFT_METHOD_FANOTIFY;
		return true;
	}
	if (m->ino_fd >= 0) {
		f->wd = inotify_add_watch(m->ino_fd, f->path, IN_MODIFY);
		if (f->wd >= 0)
			f->by_file = DRIFT_METHOD_INOTIFY;
	}
	return f->by_file != DRIFT_METHOD_NONE;
}

void file_monitor_add(struct file_monitor *m, struct drift_file *f)
{
	_cleanup_close_ int fd = -EBADF;
	struct stat st;

	f->by_file = DRIFT_METHOD_NONE;
	f->path_fd = f->wd = -EBADF;
	/*
	 * A mark keeps the inode.  In /proc that is not enough: when the directory entry is dropped from memory, the
	 * next look-up makes another inode (proc_sys_lookup() in fs/proc/proc_sysctl.c), which has no mark.  The
	 * descriptor keeps the entry.
	 */
	fd = open(f->path, O_PATH | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	f->dev = st.st_dev;
	f->ino = st.st_ino;
	if (mark(m, f) && startswith(f->path, "/proc/"))
		f->path_fd = TAKE_FD(fd);
}

void file_monitor_remove(struct file_monitor *m, struct drift_file *f, bool shared)
{
	/* Errors mean that the file, and its mark with it, is gone. */
	if (f->by_file == DRIFT_METHOD_FANOTIFY && !shared)
		(void)fanotify_mark(m->fan_fd, FAN_MARK_REMOVE, FAN_MODIFY, AT_FDCWD, f->path);
	if (f->by_file == DRIFT_METHOD_INOTIFY && !shared)
		(void)inotify_rm_watch(m->ino_fd, f->wd);
	if (f->path_fd >= 0)
		close(TAKE_FD(f->path_fd));
	f->by_file = DRIFT_METHOD_NONE;
	f->wd = -EBADF;
}

bool file_monitor_is_same(const struct drift_file *f)
{
	struct stat st;

	return f->by_file != DRIFT_METHOD_NONE && stat(f->path, &st) == 0 && st.st_dev == f->dev && st.st_ino == f->ino;
}

static void fanotify_event(const struct fanotify_event_metadata *e, const struct file_monitor_sink *sink)
{
	_cleanup_close_ int fd = e->fd;
	struct stat st;

	if (e->mask & FAN_Q_OVERFLOW || fd < 0 || fstat(fd, &st) < 0)
		sink->overflow(sink->userdata, DRIFT_METHOD_FANOTIFY);
	else
		sink->wrote(sink->userdata, st.st_dev, st.st_ino, -1, e->pid);
}

void file_monitor_read_fanotify(struct file_monitor *m, const struct file_monitor_sink *sink)
{
	struct fanotify_event_metadata buf[FANOTIFY_BATCH];

	for (unsigned i = 0; i < 64; i++) {
		const struct fanotify_event_metadata *e = buf;
		ssize_t n = read(m->fan_fd, buf, sizeof(buf));

		if (n < 0 && errno != EAGAIN && errno != EINTR)
			/* The file of an event could not be opened, and the event is lost. */
			sink->overflow(sink->userdata, DRIFT_METHOD_FANOTIFY);
		if (n <= 0)
			return;
		for (; FAN_EVENT_OK(e, n); e = FAN_EVENT_NEXT(e, n))
			fanotify_event(e, sink);
		/* Not until it is empty: somebody may fill it as fast as it is read. */
		if ((size_t)n < sizeof(buf))
			return;
	}
}

void file_monitor_read_inotify(struct file_monitor *m, const struct file_monitor_sink *sink)
{
	_Alignas(struct inotify_event) char buf[4096];

	for (unsigned i = 0; i < 64; i++) {
		ssize_t n = read(m->ino_fd, buf, sizeof(buf));

		if (n <= 0)
			return;
		for (char *p = buf; p < buf + n;) {
			const struct inotify_event *e = (const struct inotify_event *)p;

			if (e->mask & IN_Q_OVERFLOW)
				sink->overflow(sink->userdata, DRIFT_METHOD_INOTIFY);
			else if (e->mask & IN_MODIFY)
				sink->wrote(sink->userdata, 0, 0, e->wd, 0);
			p += sizeof(*e) + e->len;
		}
		if ((size_t)n + sizeof(struct inotify_event) <= sizeof(buf))
			return;
	}
}
