/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/pager.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/fileio.h"
#include "base/macros.h"
#include "base/number.h"
#include "base/strutil.h"

/* Quit if it fits on a screen, leave it on the screen, pass colours, chop nothing away. */
#define LESS_OPTIONS "FRSXMK"

static const char *const fallbacks[] = { "less", "more" };

/* What the user wants; NULL: no wish; "": none. */
static const char *wanted_pager(void)
{
	const char *pager = getenv("SYSTEMD_PAGER") ?: getenv("PAGER");

	return pager && streq(pager, "cat") ? "" : pager;
}

/* A pager of root's that another user started must not offer that user a shell. */
static bool wants_secure_pager(void)
{
	const char *text = getenv("SYSTEMD_PAGERSECURE");
	bool secure;

	if (text && parse_boolean(text, &secure) == 0)
		return secure;
	return getenv("SUDO_UID") || getenv("PKEXEC_UID") || geteuid() != getuid();
}

static void set_environment(void)
{
	setenv("LESS", getenv("SYSTEMD_LESS") ?: LESS_OPTIONS, 1);
	if (getenv("SYSTEMD_LESSCHARSET"))
		setenv("LESSCHARSET", getenv("SYSTEMD_LESSCHARSET"), 1);
	if (wants_secure_pager())
		setenv("LESSSECURE", "1", 1);
}

/* Does not return. error_fd closes by itself where the pager is running, else it carries the errno. */
static void run_pager(const char *wanted, int input_fd, int error_fd)
{
	_cleanup_(strv_freep) char **words = NULL;
	sigset_t none;
	int error;

	signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	set_environment();
	if (dup2(input_fd, STDIN_FILENO) >= 0) {
		if (wanted && strv_split(wanted, &words) == 0 && strv_length(words) > 0)
			execvp(words[0], words);
		for (size_t i = 0; !wanted && i < ARRAY_SIZE(fallbacks); i++)
			execlp(fallbacks[i], fallbacks[i], (char *)NULL);
	}
	error = errno;
	(void)!write(error_fd, &error, sizeof(error));
	_exit(1);
}

static void wait_for(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
}

static int feed(int fd, const char *text, size_t size)
{
	int r = write_all(fd, text, size);

	/* Left early: nobody wants the rest. */
	return r == -EPIPE ? 0 : r;
}

int pager_show(const char *text, size_t size)
{
	_cleanup_close_ int input_read = -EBADF, input_write = -EBADF, error_read = -EBADF, error_write = -EBADF;
	const char *wanted = wanted_pager();
	int pipes[2], error = 0, r;
	pid_t pid;

	if (wanted && !*wanted)
		return 0;
	if (pipe2(pipes, O_CLOEXEC) < 0)
		return -errno;
	input_read = pipes[0];
	input_write = pipes[1];
	if (pipe2(pipes, O_CLOEXEC) < 0)
		return -errno;
	error_read = pipes[0];
	error_write = pipes[1];
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0)
		run_pager(wanted, input_read, error_write);
	closep(&error_write);
	error_write = -EBADF;
	closep(&input_read);
	input_read = -EBADF;
	if (read(error_read, &error, sizeof(error)) == (ssize_t)sizeof(error)) {
		wait_for(pid);
		return 0;
	}
	r = feed(input_write, text, size);
	closep(&input_write);
	input_write = -EBADF;
	wait_for(pid);
	return r < 0 ? r : 1;
}
