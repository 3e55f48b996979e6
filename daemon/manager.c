/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/manager.h"

#include <fcntl.h>
#include <signal.h>
#include <systemd/sd-daemon.h>

#include "base/clock.h"
#include "base/fileio.h"
#include "base/number.h"
#include "base/strutil.h"
#include "daemon/journal.h"
#include "daemon/manager-internal.h"

static int fail(int error, const char *what)
{
	journal(LOG_ERR, EVENT_NONE, NULL, "%s: %s", what, strerror(-error));
	return error;
}

int manager_new(struct manager **ret)
{
	struct manager *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->root_fd = m->running_lock_fd = m->confirm_fd = -EBADF;
	m->since_sec = clock_usec(CLOCK_REALTIME) / USEC_PER_SEC;
	lane_init(&m->readers, m);
	lane_init(&m->writers, m);
	manager_conf_defaults(&m->conf);
	*ret = m;
	return 0;
}

static void free_sources(struct manager *m)
{
	sd_event_source_unref(m->dispatch);
	sd_event_source_unref(m->check_timer);
	sd_event_source_unref(m->drift_timer);
	sd_event_source_unref(m->reapply_timer);
	sd_event_source_unref(m->confirm_timer);
	sd_event_source_unref(m->recover_timer);
	sd_event_source_unref(m->delays_timer);
	watch_policy_free(m->watch_policy);
	watch_drift_free(m->watch_drift);
	watch_memory_free(m->watch_memory);
	watch_pressure_free(m->watch_pressure);
}

void manager_free(struct manager *m)
{
	if (!m)
		return;
	manager_bus_free(m->bus);
	lane_clear(&m->readers);
	lane_clear(&m->writers);
	free_sources(m);
	watched_items_clear(m);
	if (m->zero_page.address)
		zero_page_unpin(&m->zero_page);
	free(m->zero_page_error);
	free(m->policy_error);
	policy_free(m->policy);
	manager_conf_clear(&m->conf);
	closep(&m->confirm_fd);
	closep(&m->running_lock_fd);
	closep(&m->root_fd);
	sd_event_unref(m->event);
	free(m);
}

/* ---- the policy and mmoptd.conf */

static int load_conf(struct manager *m)
{
	_cleanup_(diag_list_clear) struct diag_list diags = {};
	struct manager_conf conf;
	int r = manager_conf_load(m->root_fd, &diags, &conf);

	journal_diags(EVENT_CONFIGURATION, &diags);
	if (r < 0)
		return r;
	manager_conf_clear(&m->conf);
	m->conf = conf;
	return 0;
}

static int keep_last_good(struct manager *m, const struct diag_list *diags)
{
	char *text = NULL;

	for (size_t i = 0; i < diags->n && !text; i++)
		if (diags->items[i].severity == DIAG_ERROR)
			text = diag_format(&diags->items[i]);
	free(m->policy_error);
	m->policy_error = text;
	journal_diags(EVENT_POLICY_REJECTED, diags);
	journal(LOG_ERR, EVENT_POLICY_REJECTED, NULL, "The policy has %zu %s, and is not taken: %s", diags->n_errors,
		diags->n_errors == 1 ? "mistake" : "mistakes",
		m->policy ? "the one before stays in force" : "there is none in force");
	return -EBADMSG;
}

static int load_policy(struct manager *m, struct diag_list *diags)
{
	_cleanup_(engine_clear) struct engine e = {};
	size_t before = diags->n_errors;
	int r;

	r = engine_open(&e, NULL, diags);
	if (r >= 0)
		r = engine_load_policy(&e);
	if (r == -ENOMEM)
		return r;
	if (r < 0 || diags->n_errors > before)
		return keep_last_good(m, diags);
	journal_diags(EVENT_POLICY_LOADED, diags);
	policy_free(m->policy);
	m->policy = TAKE_PTR(e.policy);
	free(TAKE_PTR(m->policy_error));
	journal(LOG_INFO, EVENT_POLICY_LOADED, NULL, "Policy loaded: settings: %zu, files: %zu", m->policy->n_settings,
		m->policy->n_files);
	return 0;
}

static void on_memory_changed(void *userdata);
static void on_policy_changed(void *userdata);

/* Those that follow mmoptd.conf.  Memory that is just settling is not forgotten by a reload. */
static void set_watches(struct manager *m, uint64_t settle_usec_before)
{
	int r;

	manager_arm_drift_timer(m);
	if (m->watch_memory && m->conf.memory_settle_usec == settle_usec_before)
		return;
	watch_memory_free(TAKE_PTR(m->watch_memory));
	r = watch_memory_new(m->event, m->conf.memory_settle_usec, on_memory_changed, m, &m->watch_memory);
	if (r < 0)
		fail(r, "memory that comes or goes will not be noticed");
}

int manager_reload(struct manager *m, struct diag_list *diags)
{
	uint64_t settle_usec = m->conf.memory_settle_usec;
	int r = load_conf(m);

	if (r < 0)
		return r;
	set_watches(m, settle_usec);
	r = load_policy(m, diags);
	if (r >= 0) {
		manager_forgive(m);
		m->module_tried = false;
		m->module_retry = true;
		manager_want_check(m, true);
	}
	manager_publish(m);
	return r;
}

static void reload(struct manager *m)
{
	_cleanup_(diag_list_clear) struct diag_list diags = {};

	sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, clock_usec(CLOCK_MONOTONIC));
	if (manager_reload(m, &diags) == -ENOMEM)
		fail(-ENOMEM, "cannot reload");
	sd_notify(0, "READY=1");
}

static void apply_as_changed(struct manager *m, enum on_change what, enum job_kind kind)
{
	switch (what) {
	case ON_CHANGE_REPORT:
		return;
	case ON_CHANGE_APPLY:
		manager_submit_own(m, &(struct job_request){ .kind = kind, .format = FORMAT_JSON_SHORT });
		return;
	}
}

static void on_policy_changed(void *userdata)
{
	_cleanup_(diag_list_clear) struct diag_list diags = {};
	struct manager *m = userdata;

	if (manager_reload(m, &diags) >= 0)
		apply_as_changed(m, m->conf.on_policy_change, JOB_APPLY);
}

/* MemTotal now, or 0. */
static uint64_t read_memory(void)
{
	_cleanup_(kernel_io_freep) struct kernel_io *io = NULL;
	_cleanup_(facts_clear) struct facts facts = {};
	uint64_t bytes = 0;

	if (kernel_io_open(NULL, &io) < 0 || facts_probe(&facts, io, FACTS_MEMORY) < 0)
		return 0;
	(void)!facts_number(&facts, FACT_MEMORY_TOTAL, &bytes); /* 0 where it is not there */
	return bytes;
}

static void on_memory_changed(void *userdata)
{
	_cleanup_(diag_list_clear) struct diag_list diags = {};
	struct manager *m = userdata;
	uint64_t now = read_memory();
	char from[24], to[24];

	if (now == m->memory_bytes)
		return;
	journal(LOG_NOTICE, EVENT_MEMORY_CHANGED, NULL, "Memory changed from %s to %s: %s",
		format_bytes((int64_t)m->memory_bytes, from), format_bytes((int64_t)now, to),
		m->conf.on_memory_change == ON_CHANGE_APPLY ? "setting values given as a share of it anew"
							    : "values given as a share of it stay as they were");
	m->memory_bytes = now;
	/* A [Match] may ask for the size of memory. */
	if (load_policy(m, &diags) >= 0)
		apply_as_changed(m, m->conf.on_memory_change, JOB_MEMORY);
	manager_want_check(m, true);
}

/* ---- life */

static int on_signal(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata)
{
	struct manager *m = userdata;

	if (info->ssi_signo == SIGHUP) {
		reload(m);
		return 0;
	}
	sd_notify(0, "STOPPING=1");
	manager_stop(m);
	return 0;
}

static int set_up_events(struct manager *m)
{
	static const int signals[] = { SIGTERM, SIGINT, SIGHUP, SIGCHLD };
	sigset_t set;
	int r;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		sigaddset(&set, signals[i]);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -errno;
	r = sd_event_default(&m->event);
	for (size_t i = 0; r >= 0 && signals[i] != SIGCHLD; i++)
		r = sd_event_add_signal(m->event, NULL, signals[i], on_signal, m);
	if (r >= 0)
		r = sd_event_set_watchdog(m->event, true);
	return r < 0 ? r : 0;
}

static int claim(struct manager *m)
{
	int r;

	m->root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (m->root_fd < 0)
		return fail(-errno, "/");
	r = live_state_hold(m->root_fd);
	if (r == -EBUSY) {
		journal(LOG_ERR, EVENT_NONE, NULL, "another mmoptd is running: /run/mmopt/daemon.lock is held");
		return r;
	}
	if (r < 0)
		return fail(r,
			    geteuid() == 0 ? "/run/mmopt/daemon.lock" : "/run/mmopt/daemon.lock (mmoptd needs root)");
	m->running_lock_fd = r;
	return 0;
}

/* What is missing here is said once, and the rest works. */
static void start_watches(struct manager *m)
{
	int r;

	r = watch_policy_new(m->event, on_policy_changed, m, &m->watch_policy);
	if (r < 0)
		fail(r, "changes of the policy will be noticed on reload only");
	r = watch_drift_new(m->event, manager_on_write_seen, m, &m->watch_drift);
	if (r < 0)
		fail(r, "changes by others will be noticed from time to time only");
	set_watches(m, 0);
}

static int start(struct manager *m)
{
	_cleanup_(diag_list_clear) struct diag_list diags = {};
	int r;

	r = set_up_events(m);
	if (r < 0)
		return fail(r, "cannot set up the event loop");
	r = claim(m);
	if (r < 0)
		return r;
	r = load_conf(m);
	if (r >= 0)
		r = load_policy(m, &diags);
	if (r < 0 && r != -EBADMSG)
		return fail(r, "cannot start");
	r = manager_bus_new(m, m->event, &m->bus);
	if (r < 0)
		fail(r, "not on the bus: mmoptctl runs the engine itself");
	start_watches(m);
	/* What an earlier run left unfinished is taken back before anything is compared. */
	manager_submit_own(m, &(struct job_request){ .kind = JOB_RECOVER });
	manager_want_check(m, true);
	manager_publish(m);
	return 0;
}

int manager_run(struct manager *m)
{
	int r = start(m);

	if (r < 0)
		return r;
	r = sd_event_loop(m->event);
	manager_bus_flush(m->bus);
	return r < 0 ? fail(r, "the event loop failed") : 0;
}
