/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "daemon/watch-pressure.h"

#define WINDOW_USEC (2 * USEC_PER_SEC)
#define PERMYRIAD 10000

struct watch_pressure {
	int fd;
	sd_event_source *trigger;
	sd_event_source *timer;
	void (*exceeded)(void *userdata);
	void (*finished)(void *userdata);
	void *userdata;
};

/* Only the last close of the file takes the trigger out of the kernel, so it comes with both ways to end. */
static void become_idle(struct watch_pressure *w)
{
	w->trigger = sd_event_source_disable_unref(w->trigger);
	w->timer = sd_event_source_disable_unref(w->timer);
	if (w->fd >= 0)
		close(TAKE_FD(w->fd));
}

static int on_trigger(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	struct watch_pressure *w = userdata;

	if (revents & EPOLLPRI) {
		become_idle(w);
		w->exceeded(w->userdata); /* may free w */
		return 0;
	}
	/* An error without news: the kernel has dropped the trigger.  What is left is to end in time. */
	w->trigger = sd_event_source_disable_unref(w->trigger);
	return 0;
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct watch_pressure *w = userdata;

	become_idle(w);
	w->finished(w->userdata); /* may free w */
	return 0;
}

/* The fd that polls as EPOLLPRI, or a negative errno. */
static int open_trigger(unsigned level_permyriad)
{
	_cleanup_close_ int fd = open("/proc/pressure/memory", O_RDWR | O_CLOEXEC | O_NONBLOCK);
	char text[64];
	int n;

	if (fd < 0)
		return errno == ENOENT ? -EOPNOTSUPP : -errno;
	n = snprintf(text, sizeof(text), "some %llu %llu", level_permyriad * WINDOW_USEC / PERMYRIAD, WINDOW_USEC);
	/* With its NUL: psi_write() in kernel/sched/psi.c makes the last byte one, whatever it was. */
	if (write(fd, text, (size_t)n + 1) < 0)
		return errno == EIO ? -EOPNOTSUPP : -errno; /* EIO: Linux 4.20 to 5.1, PSI without triggers */
	return TAKE_FD(fd);
}

int watch_pressure_new(sd_event *event, unsigned level_permyriad, uint64_t for_usec, void (*exceeded)(void *userdata),
		       void (*finished)(void *userdata), void *userdata, struct watch_pressure **ret)
{
	_cleanup_(watch_pressure_freep) struct watch_pressure *w = NULL;
	int r;

	if (level_permyriad == 0 || level_permyriad > PERMYRIAD)
		return -EINVAL;
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->exceeded = exceeded;
	w->finished = finished;
	w->userdata = userdata;
	w->fd = open_trigger(level_permyriad);
	if (w->fd < 0)
		return w->fd;
	r = sd_event_add_io(event, &w->trigger, w->fd, EPOLLPRI, on_trigger, w);
	if (r < 0)
		return r;
	r = sd_event_add_time_relative(event, &w->timer, CLOCK_BOOTTIME, for_usec, 0, on_timer, w);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(w);
	return 0;
}

void watch_pressure_free(struct watch_pressure *w)
{
	if (!w)
		return;
	become_idle(w);
	free(w);
}
