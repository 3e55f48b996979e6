/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/fileio.h"
#include "tests/unit/test.h"

/* Real memory pressure: a child in a control group of little memory reads a file that does not fit, again and again. */

#define SQUEEZE_FILE_BYTES (48 << 20)
#define SQUEEZE_LIMIT "16M"

struct squeeze {
	char group[256]; /* "": none */
	pid_t pid;	 /* 0: none */
};

static inline int squeeze_write(const char *group, const char *file, const char *text)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", group, file);
	_cleanup_close_ int fd = path ? open(path, O_WRONLY | O_CLOEXEC) : -1;

	return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -EIO;
}

/* A skip where no control group can be made.  squeeze_stop() is to be called in any case, so from a teardown. */
static inline void squeeze_prepare(struct squeeze *s)
{
	static const struct {
		const char *root, *file;
	} places[] = {
		{ "/sys/fs/cgroup/memory", "memory.limit_in_bytes" },
		{ "/sys/fs/cgroup", "memory.max" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(places) && geteuid() == 0; i++) {
		snprintf(s->group, sizeof(s->group), "%s/mmopt-test-%d", places[i].root, (int)getpid());
		if (mkdir(s->group, 0755) < 0)
			continue;
		if (squeeze_write(s->group, places[i].file, SQUEEZE_LIMIT) == 0)
			return;
		rmdir(s->group);
	}
	s->group[0] = '\0';
	print_message("no control group can be made for the one that presses\n");
	skip();
}

static inline void squeeze_child(const char *group)
{
	static char buffer[1 << 20];
	char path[] = "/var/tmp/mmopt-test-XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (fd < 0 || unlink(path) < 0 || squeeze_write(group, "cgroup.procs", "0") < 0)
		_exit(1);
	for (size_t i = 0; i < SQUEEZE_FILE_BYTES / sizeof(buffer); i++)
		if (write_all(fd, buffer, sizeof(buffer)) < 0)
			_exit(1);
	for (;;) {
		if (lseek(fd, 0, SEEK_SET) < 0)
			_exit(1);
		while (read(fd, buffer, sizeof(buffer)) > 0)
			;
	}
}

static inline void squeeze_start(struct squeeze *s)
{
	s->pid = fork();
	assert_true(s->pid >= 0);
	if (s->pid == 0)
		squeeze_child(s->group);
}

static inline void squeeze_pause(struct squeeze *s)
{
	if (s->pid > 0) {
		kill(s->pid, SIGKILL);
		waitpid(s->pid, NULL, 0);
	}
	s->pid = 0;
}

static inline void squeeze_stop(struct squeeze *s)
{
	squeeze_pause(s);
	if (s->group[0])
		assert_int_equal(rmdir(s->group), 0);
	*s = (struct squeeze){};
}
