/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/confirm-wait.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <termios.h>

#include "base/clock.h"
#include "base/fileio.h"
#include "base/macros.h"
#include "base/strutil.h"
#include "base/time-span.h"
#include "cli/progress.h"

#define RECORDS "/run/mmopt/transactions"

enum {
	POLL_SIGNAL,
	POLL_RECORD,
	POLL_TERMINAL,
	_POLL_MAX,
};

int confirm_block_signals(sigset_t *ret_signals)
{
	static const int wanted[] = { SIGINT, SIGTERM, SIGHUP };
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		struct sigaction action;

		if (sigaction(wanted[i], NULL, &action) == 0 && action.sa_handler == SIG_IGN)
			continue;
		sigaddset(&set, wanted[i]);
	}
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -errno;
	*ret_signals = set;
	return 0;
}

/* Wakes at each change of the record; below a root of its own too, which is why it goes by /proc/self/fd. */
static int watch_records(int root_fd)
{
	_cleanup_close_ int fd = -EBADF, dir_fd = -EBADF;
	_cleanup_free_ char *path = NULL;

	dir_fd = open_in_root(root_fd, RECORDS, O_RDONLY | O_DIRECTORY, 0);
	if (dir_fd < 0)
		return dir_fd;
	path = xasprintf("/proc/self/fd/%d", dir_fd);
	if (!path)
		return -ENOMEM;
	fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (fd < 0)
		return -errno;
	if (inotify_add_watch(fd, path, IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_DELETE) < 0)
		return -errno;
	return TAKE_FD(fd);
}

static void drain(int fd)
{
	char buf[4096];

	while (read(fd, buf, sizeof(buf)) > 0)
		;
}

/* Somebody who can press Enter is there, and this process may read it: in the background that would stop it. */
static bool has_user(void)
{
	return isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) == getpgrp();
}

static void show_countdown(struct progress *p, uint64_t left_msec, bool has_terminal)
{
	_cleanup_free_ char *text = NULL;
	char span[32];

	text = xasprintf("Going back in %s unless confirmed: %smmoptctl confirm elsewhere keeps it, Ctrl-C goes back",
			 format_time_span((left_msec + 999) / 1000, span), has_terminal ? "Enter or " : "");
	if (text)
		progress_text(p, text);
}

/* Where no countdown is seen: once, that it waits at all, and what ends that. */
static void tell_wait(const struct confirm_wait *w, bool has_terminal)
{
	uint64_t now = clock_usec(CLOCK_BOOTTIME) / USEC_PER_MSEC, deadline = w->deadline_sec * 1000;
	char span[32];

	fprintf(stderr,
		"mmoptctl: waiting %s for the confirmation: %smmoptctl confirm keeps it, mmoptctl rollback ends it\n",
		format_time_span(now < deadline ? (deadline - now + 999) / 1000 : 0, span),
		has_terminal ? "Enter or " : "");
}

/* What the terminal says: 1 and an answer, 0 where nothing was decided. */
static int ask_terminal(const struct pollfd *fd, enum confirm_answer *ret)
{
	char buf[256];
	ssize_t n;

	if (fd->revents & POLLIN) {
		n = read(fd->fd, buf, sizeof(buf));
		if (n > 0 && memchr(buf, '\n', n)) {
			*ret = CONFIRM_ENTER;
			return 1;
		}
		if (n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN)))
			return 0;
	} else if (!(fd->revents & (POLLHUP | POLLERR | POLLNVAL))) {
		return 0;
	}
	*ret = CONFIRM_HANGUP;
	return 1;
}

/* One wake-up: 1 and an answer, 0 where the wait goes on, or a negative errno. */
static int look(const struct confirm_wait *w, const struct pollfd *fds, enum confirm_answer *ret)
{
	if (fds[POLL_SIGNAL].revents) {
		*ret = CONFIRM_SIGNAL;
		return 1;
	}
	if (fds[POLL_RECORD].revents) {
		int r;

		if (w->decision_fd < 0)
			drain(fds[POLL_RECORD].fd);
		r = w->is_decided(w->userdata);
		if (r > 0)
			*ret = CONFIRM_RECORD;
		if (r != 0)
			return r;
	}
	return ask_terminal(&fds[POLL_TERMINAL], ret);
}

static int wait_for_answer(const struct confirm_wait *w, struct pollfd *fds, struct progress *p,
			   enum confirm_answer *ret)
{
	bool has_terminal = fds[POLL_TERMINAL].fd >= 0;

	for (;;) {
		uint64_t now = clock_usec(CLOCK_BOOTTIME) / USEC_PER_MSEC, deadline = w->deadline_sec * 1000, left;
		int r;

		if (now >= deadline) {
			*ret = CONFIRM_DEADLINE;
			return 0;
		}
		left = deadline - now;
		show_countdown(p, left, has_terminal);
		if (p->enabled)
			left = MIN(left, (left - 1) % 1000 + 1); /* to the next full second */
		/* poll() does not count the time asleep, CLOCK_BOOTTIME does: look at least once a minute. */
		if (poll(fds, _POLL_MAX, (int)MIN(left, (uint64_t)60000)) < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		r = look(w, fds, ret);
		if (r != 0)
			return r < 0 ? r : 0;
	}
}

int confirm_wait(const struct confirm_wait *w, const sigset_t *signals, enum confirm_answer *ret)
{
	_cleanup_close_ int signal_fd = -EBADF, record_fd = -EBADF;
	struct pollfd fds[_POLL_MAX] = {};
	struct progress p;
	int r;

	signal_fd = signalfd(-1, signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signal_fd < 0)
		return -errno;
	if (w->decision_fd < 0) {
		record_fd = watch_records(w->root_fd);
		if (record_fd < 0)
			return record_fd;
	}
	/* What was decided before the watch was there. */
	r = w->is_decided(w->userdata);
	if (r != 0) {
		*ret = CONFIRM_RECORD;
		return r < 0 ? r : 0;
	}
	/* An Enter from before the question is no answer to it. */
	if (has_user())
		tcflush(STDIN_FILENO, TCIFLUSH);
	fds[POLL_SIGNAL] = (struct pollfd){ .fd = signal_fd, .events = POLLIN };
	fds[POLL_RECORD] = (struct pollfd){ .fd = record_fd >= 0 ? record_fd : w->decision_fd, .events = POLLIN };
	fds[POLL_TERMINAL] = (struct pollfd){ .fd = has_user() ? STDIN_FILENO : -1, .events = POLLIN };
	progress_begin(&p, w->quiet);
	if (!p.enabled && !w->quiet)
		tell_wait(w, fds[POLL_TERMINAL].fd >= 0);
	r = wait_for_answer(w, fds, &p, ret);
	progress_end(&p);
	return r;
}

const char *confirm_answer_text(enum confirm_answer answer)
{
	switch (answer) {
	case CONFIRM_ENTER:
	case CONFIRM_RECORD:
		return NULL;
	case CONFIRM_DEADLINE:
		return "not confirmed in time";
	case CONFIRM_SIGNAL:
		return "interrupted";
	case CONFIRM_HANGUP:
		return "the terminal is gone";
	}
	return NULL;
}
