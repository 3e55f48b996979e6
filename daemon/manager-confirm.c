/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is applied on trial: mmoptd holds the lock of those who wait, and goes back at the deadline. */
#include <fcntl.h>

#include "base/clock.h"
#include "daemon/journal.h"
#include "daemon/manager-internal.h"

/*
 * Whoever waits there with a user goes back at the deadline by itself, and shows what became of it; else this does it.
 */
#define GRACE_USEC USEC_PER_SEC
#define RECOVER_PAUSE_USEC (3 * USEC_PER_SEC)

int manager_prepare_confirm(struct manager *m)
{
	int fd;

	if (m->confirm_fd >= 0)
		return 0;
	fd = undo_confirm_hold(m->root_fd);
	if (fd < 0)
		return fd;
	m->confirm_fd = fd;
	return 0;
}

void manager_release_confirm(struct manager *m)
{
	struct flock none = { .l_type = F_UNLCK, .l_whence = SEEK_SET };

	m->confirm_timer = sd_event_source_unref(m->confirm_timer);
	m->unconfirmed = 0;
	/* Not by closing it alone: a worker that has just been forked may have it open too, and recovery would see it held. */
	if (m->confirm_fd >= 0)
		(void)!fcntl(m->confirm_fd, F_OFD_SETLK, &none); /* closing is the next best */
	closep(&m->confirm_fd);
	m->confirm_fd = -EBADF;
}

static int on_recover(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct manager *m = userdata;

	m->recover_timer = sd_event_source_unref(m->recover_timer);
	manager_submit_own(m, &(struct job_request){ .kind = JOB_RECOVER });
	return 0;
}

void manager_recover_later(struct manager *m)
{
	int r;

	if (m->recover_timer)
		return;
	r = sd_event_add_time(m->event, &m->recover_timer, CLOCK_MONOTONIC,
			      clock_usec(CLOCK_MONOTONIC) + RECOVER_PAUSE_USEC, 0, on_recover, m);
	if (r < 0)
		journal(LOG_ERR, EVENT_NONE, NULL, "what was left unfinished cannot be taken back later: %s",
			strerror(-r));
}

static void go_back(struct manager *m, const char *why)
{
	struct journal_fields fields = { .transaction = m->unconfirmed, .reason = why };

	/* At its end mmoptd takes back what waits then, whatever the reason. */
	if (m->stopping)
		return;
	journal(LOG_WARNING, EVENT_NOT_CONFIRMED, &fields, "Taking transaction %u back: %s", m->unconfirmed, why);
	/* Nobody waits for it any more: that is what recovery looks at. */
	manager_release_confirm(m);
	manager_submit_own(m, &(struct job_request){ .kind = JOB_RECOVER });
}

static int on_deadline(sd_event_source *source, uint64_t usec, void *userdata)
{
	go_back(userdata, "it was not confirmed in time");
	return 0;
}

void manager_caller_gone(struct manager *m, unsigned transaction)
{
	if (transaction > 0 && m->unconfirmed == transaction && m->confirm_fd >= 0)
		go_back(m, "who applied it is gone");
}

void manager_watch_unconfirmed(struct manager *m, const struct job_result *result)
{
	int r;

	/* A job that failed need not have looked at the record. */
	if (result->error < 0 && m->unconfirmed > 0)
		return;
	if (result->error < 0 || !result->unconfirmed) {
		manager_release_confirm(m);
		return;
	}
	/* Another program waits for that one itself. */
	if (m->confirm_fd < 0 || m->unconfirmed == result->transaction)
		return;
	m->unconfirmed = result->transaction;
	m->confirm_timer = sd_event_source_unref(m->confirm_timer);
	r = sd_event_add_time(m->event, &m->confirm_timer, CLOCK_BOOTTIME,
			      result->deadline_sec * USEC_PER_SEC + GRACE_USEC, 0, on_deadline, m);
	if (r < 0) {
		journal(LOG_ERR, EVENT_NONE, NULL, "cannot wait for the confirmation: %s", strerror(-r));
		go_back(m, "the deadline cannot be watched");
	}
}
