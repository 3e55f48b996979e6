/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <sys/epoll.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "base/fileio.h"
#include "daemon/watch-pressure.h"

#define PRESSURE "/proc/pressure/memory"
#define WINDOW_USEC (2 * USEC_PER_SEC)
#define PERMYRIAD 10000
#define ACCURACY_USEC (10 * USEC_PER_MSEC)
/* The kernel adds up what the processors have seen every 2 s and a tick (PSI_FREQ in kernel/sched/psi.c). */
#define PERIOD_USEC (2 * USEC_PER_SEC + 100 * USEC_PER_MSEC)

/*
 * A trigger of a process without CAP_SYS_RESOURCE goes off for nothing (psi_trigger_create() in kernel/sched/psi.c,
 * Linux 6.5 and at least to 6.18): its first window begins with the total of the other kind of triggers, which may be
 * 0, so that all that was stalled since boot seems to be new as soon as anything is stalled.  So the total is looked at
 * here as well.
 */
struct watch_pressure {
	int fd;
	bool kernel_counts_well;
	bool counting; /* total_usec is known */
	uint64_t threshold_usec;
	uint64_t total_usec; /* of stalls that are not new any more */
	sd_event_source *trigger;
	sd_event_source *timer;
	sd_event_source *start;
	void (*exceeded)(void *userdata);
	void (*finished)(void *userdata);
	void *userdata;
};

/* Only the last close of the file takes the trigger out of the kernel, so it comes with both ways to end. */
static void become_idle(struct watch_pressure *w)
{
	w->trigger = sd_event_source_disable_unref(w->trigger);
	w->timer = sd_event_source_disable_unref(w->timer);
	w->start = sd_event_source_disable_unref(w->start);
	if (w->fd >= 0)
		close(TAKE_FD(w->fd));
}

static int read_total(uint64_t *ret)
{
	_cleanup_free_ char *text = NULL;
	int r = read_file_at(AT_FDCWD, PRESSURE, 0, &text, NULL);

	if (r < 0)
		return r;
	return sscanf(text, "some %*s %*s %*s total=%" SCNu64, ret) == 1 ? 0 : -EBADMSG;
}

/* Has so much been stalled since we looked last?  If not, the next look counts from here. */
static bool is_exceeded(struct watch_pressure *w)
{
	uint64_t total;

	if (w->kernel_counts_well)
		return true;
	if (!w->counting)
		return false;
	if (read_total(&total) < 0 || total - w->total_usec >= w->threshold_usec)
		return true;
	w->total_usec = total;
	return false;
}

static int on_trigger(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	struct watch_pressure *w = userdata;

	if (revents & EPOLLPRI) {
		if (!is_exceeded(w))
			return 0;
		become_idle(w);
		w->exceeded(w->userdata); /* may free w */
		return 0;
	}
	/* An error without news: the kernel has dropped the trigger.  What is left is to end in time. */
	w->trigger = sd_event_source_disable_unref(w->trigger);
	return 0;
}

/* By now the total has all in it that was stalled before we began. */
static int on_start(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct watch_pressure *w = userdata;

	w->counting = read_total(&w->total_usec) == 0;
	return 0;
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct watch_pressure *w = userdata;

	become_idle(w);
	w->finished(w->userdata); /* may free w */
	return 0;
}

static bool have_sys_resource(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};

	return syscall(SYS_capget, &header, data) == 0 &&
	       data[CAP_TO_INDEX(CAP_SYS_RESOURCE)].effective & CAP_TO_MASK(CAP_SYS_RESOURCE);
}

/* The fd that polls as EPOLLPRI, or a negative errno. */
static int open_trigger(uint64_t threshold_usec)
{
	_cleanup_close_ int fd = open(PRESSURE, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	char text[64];
	int n;

	if (fd < 0)
		return errno == ENOENT ? -EOPNOTSUPP : -errno;
	n = snprintf(text, sizeof(text), "some %" PRIu64 " %llu", threshold_usec, WINDOW_USEC);
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
	w->threshold_usec = level_permyriad * WINDOW_USEC / PERMYRIAD;
	w->kernel_counts_well = have_sys_resource();
	w->fd = open_trigger(w->threshold_usec);
	if (w->fd < 0)
		return w->fd;
	r = sd_event_add_io(event, &w->trigger, w->fd, EPOLLPRI, on_trigger, w);
	if (r < 0)
		return r;
	r = sd_event_add_time_relative(event, &w->timer, CLOCK_BOOTTIME, for_usec, 0, on_timer, w);
	if (r < 0)
		return r;
	if (!w->kernel_counts_well)
		r = sd_event_add_time_relative(event, &w->start, CLOCK_MONOTONIC, PERIOD_USEC, ACCURACY_USEC, on_start,
					       w);
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
