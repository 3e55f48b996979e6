/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>
#include <sys/stat.h>

#include "daemon/watch-drift.h"

/* What the parts of watch-drift share, and its tests use. */

/* How long a file is left to settle after its first write, and at most while it is written again and again. */
#define DRIFT_SETTLE_USEC (200 * 1000ULL)
#define DRIFT_SETTLE_MAX_USEC (5 * 1000 * 1000ULL)

/* Methods that may be used, or-ed; for tests. */
enum drift_use {
	DRIFT_USE_INOTIFY = 1 << 0,
	DRIFT_USE_FANOTIFY = 1 << 1,
	DRIFT_USE_BPF = 1 << 2,
	DRIFT_USE_ALL = DRIFT_USE_INOTIFY | DRIFT_USE_FANOTIFY | DRIFT_USE_BPF,
};

/* watch_drift_new() uses all of them. */
int watch_drift_new_with(sd_event *event, unsigned use, drift_handler handler, void *userdata,
			 struct watch_drift **ret);

/* One file that is watched. */
struct drift_file {
	char *path;

	/* by inotify or fanotify, or DRIFT_METHOD_NONE */
	enum drift_method by_file;
	int path_fd; /* keeps a directory entry of /proc in memory; else -EBADF */
	dev_t dev;
	ino_t ino;
	int wd;

	/* by BPF */
	const char *name; /* inside path, what BPF calls it; NULL: not watched by BPF */
	uint64_t writes;  /* so many were known when the handler was called last */

	bool pending;
	uint64_t due_usec, told_usec, settle_usec;
	struct drift_writer writer;
};

/* comm of a process that may have ended: then "". */
void drift_read_comm(pid_t pid, char comm[16]);

/*
 * The BPF program on the root cgroup.  The link lives as long as a descriptor of it, so it goes with the process,
 * however that ends.
 */
struct sysctl_monitor;

/* 0, or a negative errno and *ret_error: one line that says why. */
int sysctl_monitor_new(struct sysctl_monitor **ret, char **ret_error);
void sysctl_monitor_free(struct sysctl_monitor *m);
DEFINE_CLEANUP(struct sysctl_monitor *, sysctl_monitor_free);

/* Readable when a name that was added has been written. */
int sysctl_monitor_fd(const struct sysctl_monitor *m);
/* Makes it unreadable until the next write. To be called before the names are looked up. */
void sysctl_monitor_hush(struct sysctl_monitor *m);
/* name: below /proc/sys, with slashes. 0; -ENAMETOOLONG; -E2BIG where there are too many; or another negative errno. */
int sysctl_monitor_add(struct sysctl_monitor *m, const char *name);
void sysctl_monitor_remove(struct sysctl_monitor *m, const char *name);
/* How often it was written since it was added, and by whom last. 0 or a negative errno. */
int sysctl_monitor_last(struct sysctl_monitor *m, const char *name, uint64_t *ret_writes, struct drift_writer *ret);

/*
 * fanotify and inotify: marks on the files themselves.
 */
struct file_monitor {
	int fan_fd, ino_fd; /* -EBADF: not in use */
};

/*
 * wrote: some process wrote to the files with this device and inode, or (wd >= 0) this watch. overflow: to any of them.
 */
struct file_monitor_sink {
	void (*wrote)(void *userdata, dev_t dev, ino_t ino, int wd, pid_t pid);
	void (*overflow)(void *userdata, enum drift_method method);
	void *userdata;
};

/* Never fails: what is not to be had stays -EBADF. */
void file_monitor_open(struct file_monitor *m, unsigned use);
void file_monitor_close(struct file_monitor *m);
/* Fills in by_file, path_fd, dev, ino and wd. */
void file_monitor_add(struct file_monitor *m, struct drift_file *f);
/* shared: another file that stays has the same inode. */
void file_monitor_remove(struct file_monitor *m, struct drift_file *f, bool shared);
/* Is it still the file that was marked? */
bool file_monitor_is_same(const struct drift_file *f);
/* Reads what there is and tells the sink. */
void file_monitor_read_fanotify(struct file_monitor *m, const struct file_monitor_sink *sink);
void file_monitor_read_inotify(struct file_monitor *m, const struct file_monitor_sink *sink);
