/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/watch-drift.h"

#include <fcntl.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "base/fileio.h"
#include "base/strutil.h"
#include "daemon/watch-drift-methods.h"

/*
 * A file of /proc/sys may be watched in two ways at once.  BPF knows the writer and misses nobody, but is asked
 * before the write, and growing a pool takes its time: only the mark on the file tells when the value is there.  Both
 * come within microseconds for an ordinary write, and what comes for a file until it has settled is told once.
 */
#define PROC_SYS "/proc/sys/"

/*
 * So often in a second a source may wake us; then it waits for the next second. What is written meanwhile is not lost.
 */
#define WAKEUPS_PER_SEC 20

struct watch_drift {
	drift_handler handler;
	void *userdata;

	struct drift_file *files;
	size_t n_files;

	struct file_monitor marks;
	struct sysctl_monitor *sysctl;
	char *bpf_error;

	sd_event_source *fanotify, *inotify, *bell, *timer;
};

void drift_read_comm(pid_t pid, char comm[16])
{
	_cleanup_free_ char *text = NULL;
	char path[64];

	memset(comm, 0, 16);
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	if (pid <= 0 || read_file_at(AT_FDCWD, path, 64, &text, NULL) < 0)
		return;
	text[strcspn(text, "\n")] = '\0';
	memcpy(comm, text, MIN(strlen(text), (size_t)15));
}

/* What BPF knows of the last write; false where it knows none. */
static bool last_sysctl_write(struct watch_drift *w, const struct drift_file *f, uint64_t *ret_writes,
			      struct drift_writer *ret)
{
	return f->name && sysctl_monitor_last(w->sysctl, f->name, ret_writes, ret) == 0 && *ret_writes > 0;
}

static void arm_timer(struct watch_drift *w)
{
	uint64_t due = UINT64_MAX;

	for (size_t i = 0; i < w->n_files; i++)
		if (w->files[i].pending)
			due = MIN(due, w->files[i].due_usec);
	if (due != UINT64_MAX)
		sd_event_source_set_time(w->timer, due);
	sd_event_source_set_enabled(w->timer, due == UINT64_MAX ? SD_EVENT_OFF : SD_EVENT_ONESHOT);
}

static void note_write(struct drift_file *f, const struct drift_writer *writer)
{
	uint64_t now = clock_usec(CLOCK_MONOTONIC);

	f->writer = *writer;
	if (f->pending)
		return;
	/* Written again as soon as it was told: tell it less often. */
	if (f->told_usec > 0 && now - f->told_usec < f->settle_usec + USEC_PER_SEC)
		f->settle_usec = MIN(f->settle_usec * 2, DRIFT_SETTLE_MAX_USEC);
	else
		f->settle_usec = DRIFT_SETTLE_USEC;
	f->pending = true;
	f->due_usec = now + f->settle_usec;
}

static void on_file_written(void *userdata, dev_t dev, ino_t ino, int wd, pid_t pid)
{
	struct watch_drift *w = userdata;
	struct drift_writer writer = { .pid = pid }, by_bpf;
	uint64_t writes;

	drift_read_comm(pid, writer.comm);
	for (size_t i = 0; i < w->n_files; i++) {
		struct drift_file *f = &w->files[i];
		bool is_it = wd >= 0 ? f->by_file == DRIFT_METHOD_INOTIFY && f->wd == wd
				     : f->by_file == DRIFT_METHOD_FANOTIFY && f->dev == dev && f->ino == ino;

		if (is_it)
			note_write(f, last_sysctl_write(w, f, &writes, &by_bpf) ? &by_bpf : &writer);
	}
}

static void on_file_overflow(void *userdata, enum drift_method method)
{
	struct watch_drift *w = userdata;

	for (size_t i = 0; i < w->n_files; i++)
		if (w->files[i].by_file == method)
			note_write(&w->files[i], &(struct drift_writer){});
}

static int on_fanotify(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	struct watch_drift *w = userdata;

	file_monitor_read_fanotify(&w->marks, &(struct file_monitor_sink){ on_file_written, on_file_overflow, w });
	arm_timer(w);
	return 0;
}

static int on_inotify(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	struct watch_drift *w = userdata;

	file_monitor_read_inotify(&w->marks, &(struct file_monitor_sink){ on_file_written, on_file_overflow, w });
	arm_timer(w);
	return 0;
}

static int on_bell(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	struct watch_drift *w = userdata;
	struct drift_writer writer;
	uint64_t writes;

	sysctl_monitor_hush(w->sysctl);
	for (size_t i = 0; i < w->n_files; i++)
		if (last_sysctl_write(w, &w->files[i], &writes, &writer) && writes != w->files[i].writes)
			note_write(&w->files[i], &writer);
	arm_timer(w);
	return 0;
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct watch_drift *w = userdata;
	uint64_t now = clock_usec(CLOCK_MONOTONIC), writes;
	struct drift_writer writer;

	for (size_t i = 0; i < w->n_files; i++) {
		struct drift_file *f = &w->files[i];

		if (!f->pending || f->due_usec > now)
			continue;
		f->pending = false;
		f->told_usec = now;
		/* What the handler is told and sees in the file includes the writes until here. */
		if (last_sysctl_write(w, f, &writes, &writer) && writes != f->writes) {
			f->writes = writes;
			f->writer = writer;
		}
		w->handler(w->userdata, f->path, &f->writer);
	}
	arm_timer(w);
	return 0;
}

static int add_source(sd_event *event, struct watch_drift *w, int fd, sd_event_io_handler_t handler,
		      sd_event_source **ret)
{
	int r;

	if (fd < 0)
		return 0;
	r = sd_event_add_io(event, ret, fd, EPOLLIN, handler, w);
	if (r < 0)
		return r;
	/* Soon, since a writer's name is to be had only as long as it lives. */
	r = sd_event_source_set_priority(*ret, SD_EVENT_PRIORITY_IMPORTANT);
	return r < 0 ? r : sd_event_source_set_ratelimit(*ret, USEC_PER_SEC, WAKEUPS_PER_SEC);
}

static int add_sources(sd_event *event, struct watch_drift *w)
{
	int r;

	r = add_source(event, w, w->marks.fan_fd, on_fanotify, &w->fanotify);
	if (r >= 0)
		r = add_source(event, w, w->marks.ino_fd, on_inotify, &w->inotify);
	if (r >= 0 && w->sysctl)
		r = add_source(event, w, sysctl_monitor_fd(w->sysctl), on_bell, &w->bell);
	if (r >= 0)
		r = sd_event_add_time(event, &w->timer, CLOCK_MONOTONIC, 0, 10 * USEC_PER_MSEC, on_timer, w);
	return r < 0 ? r : sd_event_source_set_enabled(w->timer, SD_EVENT_OFF);
}

int watch_drift_new_with(sd_event *event, unsigned use, drift_handler handler, void *userdata, struct watch_drift **ret)
{
	_cleanup_(watch_drift_freep) struct watch_drift *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return -ENOMEM;
	w->handler = handler;
	w->userdata = userdata;
	file_monitor_open(&w->marks, use);
	if (use & DRIFT_USE_BPF)
		(void)sysctl_monitor_new(&w->sysctl, &w->bpf_error);
	r = add_sources(event, w);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(w);
	return 0;
}

int watch_drift_new(sd_event *event, drift_handler handler, void *userdata, struct watch_drift **ret)
{
	return watch_drift_new_with(event, DRIFT_USE_ALL, handler, userdata, ret);
}

static struct drift_file *find(const struct drift_file *files, size_t n, const char *path)
{
	for (size_t i = 0; i < n; i++)
		if (files[i].path && streq(files[i].path, path))
			return (struct drift_file *)&files[i];
	return NULL;
}

static bool shares_mark(const struct watch_drift *w, const struct drift_file *f)
{
	for (size_t i = 0; i < w->n_files; i++) {
		const struct drift_file *o = &w->files[i];

		if (o != f && o->by_file == f->by_file && o->dev == f->dev && o->ino == f->ino)
			return true;
	}
	return false;
}

static void unwatch(struct watch_drift *w, struct drift_file *f)
{
	file_monitor_remove(&w->marks, f, shares_mark(w, f));
	if (f->name)
		sysctl_monitor_remove(w->sysctl, f->name);
	f->name = NULL;
	free(f->path);
	f->path = NULL;
}

static void watch(struct watch_drift *w, struct drift_file *f)
{
	const char *name = startswith(f->path, PROC_SYS);

	if (w->sysctl && name && !f->name && sysctl_monitor_add(w->sysctl, name) == 0)
		f->name = name;
	/* A file that went and came back has lost its mark. */
	if (file_monitor_is_same(f))
		return;
	file_monitor_remove(&w->marks, f, false);
	file_monitor_add(&w->marks, f);
}

/* paths without those that come twice, nothing watched yet. */
static int copy_paths(char *const *paths, struct drift_file **ret, size_t *ret_n)
{
	struct drift_file *files = calloc(strv_length(paths) + 1, sizeof(*files));
	size_t n = 0;

	if (!files)
		return -ENOMEM;
	for (; paths && *paths; paths++) {
		if (find(files, n, *paths))
			continue;
		files[n] = (struct drift_file){ .path_fd = -EBADF, .wd = -EBADF, .path = strdup(*paths) };
		if (!files[n++].path) {
			while (n > 0)
				free(files[--n].path);
			free(files);
			return -ENOMEM;
		}
	}
	*ret = files;
	*ret_n = n;
	return 0;
}

int watch_drift_set(struct watch_drift *w, char *const *paths)
{
	struct drift_file *files;
	size_t n;
	int r;

	r = copy_paths(paths, &files, &n);
	if (r < 0)
		return r;
	for (size_t i = 0; i < w->n_files; i++) {
		struct drift_file *to = find(files, n, w->files[i].path);

		if (!to) {
			unwatch(w, &w->files[i]);
			continue;
		}
		free(to->path);
		*to = w->files[i];
		w->files[i].path = NULL;
	}
	free(w->files);
	w->files = files;
	w->n_files = n;
	for (size_t i = 0; i < n; i++)
		watch(w, &files[i]);
	arm_timer(w);
	return 0;
}

void watch_drift_free(struct watch_drift *w)
{
	if (!w)
		return;
	sd_event_source_disable_unref(w->timer);
	sd_event_source_disable_unref(w->bell);
	sd_event_source_disable_unref(w->inotify);
	sd_event_source_disable_unref(w->fanotify);
	for (size_t i = 0; i < w->n_files; i++)
		unwatch(w, &w->files[i]);
	free(w->files);
	file_monitor_close(&w->marks);
	sysctl_monitor_free(w->sysctl);
	free(w->bpf_error);
	free(w);
}

enum drift_method watch_drift_method(const struct watch_drift *w, const char *path)
{
	const struct drift_file *f = find(w->files, w->n_files, path);

	if (!f)
		return DRIFT_METHOD_NONE;
	return f->name ? DRIFT_METHOD_BPF : f->by_file;
}

bool watch_drift_is_complete(const struct watch_drift *w)
{
	for (size_t i = 0; i < w->n_files; i++)
		if (!w->files[i].name && w->files[i].by_file == DRIFT_METHOD_NONE)
			return false;
	return true;
}

const char *drift_method_name(enum drift_method method)
{
	switch (method) {
	case DRIFT_METHOD_NONE:
		return "none";
	case DRIFT_METHOD_INOTIFY:
		return "inotify";
	case DRIFT_METHOD_FANOTIFY:
		return "fanotify";
	case DRIFT_METHOD_BPF:
		return "bpf";
	}
	return "none";
}

const char *watch_drift_bpf_error(const struct watch_drift *w)
{
	return w->sysctl ? NULL : w->bpf_error ? w->bpf_error : "not asked for";
}
