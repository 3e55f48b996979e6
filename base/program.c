/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/pidfd.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/macros.h"

#define MAX_ERRORS 4096

struct program {
	pid_t pid;
	int pid_fd;
	int errors_fd;
	char *errors; /* MAX_ERRORS + 1 bytes */
	size_t n_errors;
};

static int set_up_files(posix_spawn_file_actions_t *actions, int errors_fd)
{
	int r = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);

	if (r == 0)
		r = posix_spawn_file_actions_addopen(actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	if (r == 0)
		r = posix_spawn_file_actions_adddup2(actions, errors_fd, STDERR_FILENO);
	if (r == 0)
		r = posix_spawn_file_actions_addclosefrom_np(actions, STDERR_FILENO + 1);
	return -r;
}

static int set_up_signals(posix_spawnattr_t *attributes)
{
	sigset_t none, all;
	int r;

	sigemptyset(&none);
	sigfillset(&all);
	r = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	if (r == 0)
		r = posix_spawnattr_setsigmask(attributes, &none);
	if (r == 0)
		r = posix_spawnattr_setsigdefault(attributes, &all);
	return -r;
}

static int spawn(char *const *argv, int errors_fd, pid_t *ret)
{
	static char *const environment[] = { (char *)"PATH=/usr/sbin:/usr/bin:/sbin:/bin", (char *)"LC_ALL=C", NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int r;

	r = -posix_spawn_file_actions_init(&actions);
	if (r < 0)
		return r;
	r = -posix_spawnattr_init(&attributes);
	if (r < 0) {
		posix_spawn_file_actions_destroy(&actions);
		return r;
	}
	r = set_up_files(&actions, errors_fd);
	if (r >= 0)
		r = set_up_signals(&attributes);
	if (r >= 0)
		r = -posix_spawn(ret, argv[0], &actions, &attributes, argv, environment);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return r;
}

/* Takes what is there; what does not fit is read all the same, so that the program never waits for us. */
static void take_errors(struct program *p)
{
	char buffer[1024];
	ssize_t n;

	while ((n = read(p->errors_fd, buffer, sizeof(buffer))) > 0) {
		size_t fits = MIN((size_t)n, MAX_ERRORS - p->n_errors);

		memcpy(p->errors + p->n_errors, buffer, fits);
		p->n_errors += fits;
	}
	/* The end: nothing to wait for any more. */
	if (n == 0) {
		closep(&p->errors_fd);
		p->errors_fd = -EBADF;
	}
}

/* Until the program itself has ended: one that it left behind may hold its standard error open for ever. */
static int wait_for_end(struct program *p, uint64_t timeout_usec)
{
	uint64_t end = clock_usec(CLOCK_MONOTONIC) + timeout_usec;

	for (;;) {
		struct pollfd fds[] = { { .fd = p->pid_fd, .events = POLLIN },
					{ .fd = p->errors_fd, .events = POLLIN } };
		uint64_t now = clock_usec(CLOCK_MONOTONIC);

		if (now >= end)
			return -ETIMEDOUT;
		if (poll(fds, ARRAY_SIZE(fds), (int)MIN((end - now) / 1000 + 1, (uint64_t)60000)) < 0 && errno != EINTR)
			return -errno;
		if (fds[1].revents)
			take_errors(p);
		if (fds[0].revents) {
			if (p->errors_fd >= 0)
				take_errors(p);
			return 0;
		}
	}
}

static int reap(const struct program *p)
{
	int status;

	while (waitpid(p->pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -EINTR;
}

static int see_through(struct program *p, uint64_t timeout_usec)
{
	int r = wait_for_end(p, timeout_usec), status;

	if (r < 0)
		kill(p->pid, SIGKILL);
	status = reap(p);
	return r < 0 ? r : status;
}

int run_program(char *const *argv, uint64_t timeout_usec, char **ret_errors)
{
	_cleanup_free_ char *errors = malloc(MAX_ERRORS + 1);
	struct program p = { .errors = errors, .errors_fd = -EBADF, .pid_fd = -EBADF };
	int fds[2], r;

	if (!errors)
		return -ENOMEM;
	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	p.errors_fd = fds[0];
	/* Our end alone: the program would lose what it cannot write at once. */
	r = fcntl(p.errors_fd, F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
	if (r >= 0)
		r = spawn(argv, fds[1], &p.pid);
	close(fds[1]);
	if (p.pid > 0) {
		p.pid_fd = pidfd_open(p.pid, 0);
		r = see_through(&p, p.pid_fd < 0 ? 0 : timeout_usec);
	}
	closep(&p.pid_fd);
	closep(&p.errors_fd);
	if (r < 0)
		return r;
	errors[p.n_errors] = '\0';
	*ret_errors = TAKE_PTR(errors);
	return r;
}
