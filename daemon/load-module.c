/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/load-module.h"

#include <fcntl.h>
#include <systemd/sd-bus.h>

#include "base/clock.h"
#include "base/fileio.h"
#include "base/strutil.h"
#include "core/state-dir.h"

#define UNIT "mmopt-load-module.service"
/* Where the unit leaves what its program says: one line, or nothing where the module is loaded. */
#define ANSWER STATE_DIR "/load-module"
#define ANSWER_MAX_BYTES 4096

#define SYSTEMD "org.freedesktop.systemd1"
#define SYSTEMD_PATH "/org/freedesktop/systemd1"
#define SYSTEMD_MANAGER "org.freedesktop.systemd1.Manager"

/* The unit has a time limit of its own, which is shorter. */
#define TIMEOUT_USEC (60 * USEC_PER_SEC)

struct unit_job {
	char *path;
	char *result; /* "done", "failed", ...; NULL: it has not ended yet */
	bool out_of_memory;
};

static void unit_job_clear(struct unit_job *job)
{
	free(job->path);
	free(job->result);
}

/* JobRemoved(u id, o job, s unit, s result) */
static int on_job_removed(sd_bus_message *m, void *userdata, sd_bus_error *ret_error)
{
	const char *path, *unit, *result;
	struct unit_job *job = userdata;
	unsigned id;

	if (sd_bus_message_read(m, "uoss", &id, &path, &unit, &result) < 0 || !job->path || !streq(path, job->path))
		return 0;
	free(job->result);
	job->result = strdup(result);
	job->out_of_memory = !job->result;
	return 0;
}

static int start_unit(sd_bus *bus, struct unit_job *job, sd_bus_error *error)
{
	_cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	const char *path;
	int r;

	/* Before the job exists, lest its end be missed. */
	r = sd_bus_match_signal(bus, NULL, SYSTEMD, SYSTEMD_PATH, SYSTEMD_MANAGER, "JobRemoved", on_job_removed, job);
	if (r >= 0)
		r = sd_bus_call_method(bus, SYSTEMD, SYSTEMD_PATH, SYSTEMD_MANAGER, "Subscribe", error, NULL, NULL);
	if (r >= 0)
		r = sd_bus_call_method(bus, SYSTEMD, SYSTEMD_PATH, SYSTEMD_MANAGER, "StartUnit", error, &reply, "ss",
				       UNIT, "replace");
	if (r >= 0)
		r = sd_bus_message_read(reply, "o", &path);
	if (r < 0)
		return r;
	job->path = strdup(path);
	return job->path ? 0 : -ENOMEM;
}

static int wait_for_job(sd_bus *bus, const struct unit_job *job)
{
	uint64_t end = clock_usec(CLOCK_MONOTONIC) + TIMEOUT_USEC;

	while (!job->result) {
		uint64_t now = clock_usec(CLOCK_MONOTONIC);
		int r = sd_bus_process(bus, NULL);

		if (job->out_of_memory)
			return -ENOMEM;
		if (r == 0)
			r = now < end ? sd_bus_wait(bus, end - now) : -ETIMEDOUT;
		if (r < 0 && r != -EINTR)
			return r;
	}
	return 0;
}

/* What the unit's program has said, or NULL. */
static char *read_answer(int root_fd)
{
	_cleanup_close_ int fd = open_in_root(root_fd, ANSWER, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW, 0);
	_cleanup_free_ char *text = NULL;

	if (fd < 0 || check_trusted(fd) < 0 || read_fd(fd, ANSWER_MAX_BYTES, &text, NULL) < 0)
		return NULL;
	text[strcspn(text, "\n")] = '\0';
	return *text ? TAKE_PTR(text) : NULL;
}

/* 0 where the unit has ended well; else why it has not, in error or by a negative errno. */
static int run_unit(struct unit_job *job, sd_bus_error *error)
{
	_cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
	int r;

	r = sd_bus_open_system(&bus);
	if (r < 0) {
		sd_bus_error_setf(error, SD_BUS_ERROR_FAILED, "there is no system bus: %s", strerror(-r));
		return r;
	}
	r = start_unit(bus, job, error);
	return r < 0 ? r : wait_for_job(bus, job);
}

int load_module_by_systemd(int root_fd, char **ret_reason)
{
	_cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
	_cleanup_(unit_job_clear) struct unit_job job = {};
	int r = run_unit(&job, &error);

	*ret_reason = NULL;
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		*ret_reason =
			xasprintf("systemd could not be asked to start " UNIT ": %s", error.message ?: strerror(-r));
	else if (!streq(job.result, "done"))
		*ret_reason = xasprintf(UNIT " ended with \"%s\": journalctl -b -u " UNIT, job.result);
	else
		*ret_reason = read_answer(root_fd);
	return r < 0 || !streq(job.result, "done") ? (*ret_reason ? 0 : -ENOMEM) : 0;
}
