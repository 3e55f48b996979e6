/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glob.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "core/catalogue.h"
#include "daemon/watch-drift-methods.h"
#include "knobs.h"

/* For tests of watch-drift against the running kernel: a child writes the value that a file has already. */

#define WRITER "drift-writer"

_unused_ static char swappiness[] = "/proc/sys/vm/swappiness";
_unused_ static char page_cluster[] = "/proc/sys/vm/page-cluster";
_unused_ static char overcommit_ratio[] = "/proc/sys/vm/overcommit_ratio";
_unused_ static char ksm_sleep[] = "/sys/kernel/mm/ksm/sleep_millisecs";
_unused_ static char ksm_pages[] = "/sys/kernel/mm/ksm/pages_to_scan";

static int lock = -EBADF;
static char *min_free_kbytes;

static inline int setup(void **state)
{
	lock = knobs_lock();
	min_free_kbytes = knob_read("/proc/sys/vm/min_free_kbytes");
	return 0;
}

static inline int teardown(void **state)
{
	/* Writing what transparent_hugepage/enabled has already starts khugepaged, and that raises it. */
	knob_write("/proc/sys/vm/min_free_kbytes", strstrip(min_free_kbytes));
	free(min_free_kbytes);
	close(lock);
	return 0;
}

/* --- what the handler was told */

struct told {
	const char *path;
	unsigned calls;
	uint64_t usec;
	struct drift_writer writer;
};

struct world {
	sd_event *event;
	struct watch_drift *watch;
	struct told told[512];
	size_t n_told;
};

static inline struct told *told(struct world *w, const char *path)
{
	for (size_t i = 0; i < w->n_told; i++)
		if (streq(w->told[i].path, path))
			return &w->told[i];
	assert_true(w->n_told < ARRAY_SIZE(w->told));
	w->told[w->n_told] = (struct told){ .path = path };
	return &w->told[w->n_told++];
}

static inline void on_write(void *userdata, const char *path, const struct drift_writer *writer)
{
	struct told *t = told(userdata, path);

	t->calls++;
	t->usec = clock_usec(CLOCK_MONOTONIC);
	t->writer = *writer;
}

/* A skip where the method that is asked for is not to be had here. */
static inline void world_open(struct world *w, unsigned use, char *const *paths)
{
	*w = (struct world){};
	assert_int_equal(sd_event_new(&w->event), 0);
	assert_int_equal(watch_drift_new_with(w->event, use, on_write, w, &w->watch), 0);
	if (use == DRIFT_USE_BPF && watch_drift_bpf_error(w->watch)) {
		print_message("no BPF: %s\n", watch_drift_bpf_error(w->watch));
		watch_drift_free(w->watch);
		sd_event_unref(w->event);
		skip();
	}
	assert_int_equal(watch_drift_set(w->watch, paths), 0);
}

static inline void world_close(struct world *w)
{
	watch_drift_free(w->watch);
	sd_event_unref(w->event);
}

static inline void run_for(struct world *w, uint64_t usec)
{
	uint64_t end = clock_usec(CLOCK_MONOTONIC) + usec;

	for (uint64_t now; (now = clock_usec(CLOCK_MONOTONIC)) < end;)
		assert_true(sd_event_run(w->event, end - now) >= 0);
}

static inline bool run_until(struct world *w, const char *path, unsigned calls)
{
	uint64_t end = clock_usec(CLOCK_MONOTONIC) + 5 * USEC_PER_SEC;

	while (told(w, path)->calls < calls && clock_usec(CLOCK_MONOTONIC) < end)
		assert_true(sd_event_run(w->event, 100 * USEC_PER_MSEC) >= 0);
	return told(w, path)->calls >= calls;
}

/* --- writers */

/* What can be written to leave the file as it is; the caller frees. */
static inline char *equal_value(const char *path)
{
	char *text = NULL, *start, *end;

	if (read_file_at(AT_FDCWD, path, 0, &text, NULL) < 0)
		return NULL;
	start = strchr(text, '[');
	end = start ? strchr(start, ']') : NULL;
	if (end) {
		*end = '\0';
		memmove(text, start + 1, (size_t)(end - start));
	}
	return text;
}

struct writer {
	pid_t pid;
	int stop_fd; /* it lives until this is closed */
};

/* Writes its own value to each of the files; *ret_failed (may be NULL): how many writes failed. */
static inline struct writer start_writer(char *const *paths, unsigned *ret_failed)
{
	int stop[2], done[2];
	unsigned failed = 0;
	struct writer w;

	assert_int_equal(pipe2(stop, O_CLOEXEC), 0);
	assert_int_equal(pipe2(done, O_CLOEXEC), 0);
	w.pid = fork();
	if (w.pid == 0) {
		prctl(PR_SET_NAME, WRITER);
		for (; *paths; paths++) {
			char *value = equal_value(*paths);

			failed += !value || knob_try_write(*paths, value) < 0;
			free(value);
		}
		close(stop[1]);
		(void)!write(done[1], &failed, sizeof(failed));
		(void)!read(stop[0], &failed, 1);
		_exit(0);
	}
	assert_true(w.pid > 0);
	assert_int_equal(read(done[0], &failed, sizeof(failed)), sizeof(failed));
	close(done[0]);
	close(done[1]);
	close(stop[0]);
	w.stop_fd = stop[1];
	if (ret_failed)
		*ret_failed = failed;
	else
		assert_int_equal(failed, 0);
	return w;
}

static inline void stop_writer(struct writer *w)
{
	close(w->stop_fd);
	assert_int_equal(waitpid(w->pid, NULL, 0), w->pid);
}

static inline pid_t write_and_end(char *const *paths)
{
	struct writer w = start_writer(paths, NULL);

	stop_writer(&w);
	return w.pid;
}

/* --- all files that mmopt knows */

static inline void add_matches(const char *pattern, char ***paths)
{
	_cleanup_free_ char *p = strdup(pattern);
	glob_t g = {};
	char *s;

	assert_non_null(p);
	while ((s = strchr(p, '{'))) {
		*s = '*';
		memmove(s + 1, strchr(s, '}') + 1, strlen(strchr(s, '}')));
	}
	if (p[0] == '/' && glob(p, 0, NULL, &g) == 0)
		for (size_t i = 0; i < g.gl_pathc; i++) {
			struct stat st;

			if (stat(g.gl_pathv[i], &st) == 0 && st.st_mode & 0200 &&
			    !(*paths && strv_contains(*paths, g.gl_pathv[i])))
				assert_int_equal(strv_push(paths, strdup(g.gl_pathv[i])), 0);
		}
	globfree(&g);
}

static inline char **tunable_files(void)
{
	char **paths = NULL;
	size_t n;
	const struct tunable *rows = catalogue_rows(&n);

	for (size_t i = 0; i < n; i++) {
		if (rows[i].path)
			add_matches(rows[i].path, &paths);
		if (rows[i].alias_path)
			add_matches(rows[i].alias_path, &paths);
	}
	return paths;
}
