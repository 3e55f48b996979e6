/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What mmoptctl, the bus, the service manager and the files for others are told. */
#include <systemd/sd-daemon.h>

#include "base/clock.h"
#include "base/fileio.h"
#include "base/strutil.h"
#include "daemon/journal.h"
#include "daemon/manager-internal.h"
#include "daemon/reboot-required.h"
#include "daemon/textfile.h"

static const char *const state_names[] = {
	[MANAGER_STARTING] = "starting",       [MANAGER_IN_SYNC] = "in-sync",
	[MANAGER_DIFFERS] = "differs",	       [MANAGER_DRIFTED] = "drifted",
	[MANAGER_UNCONFIRMED] = "unconfirmed", [MANAGER_APPLYING] = "applying",
	[MANAGER_NO_POLICY] = "no-policy",     [MANAGER_ERROR] = "error",
};

const char *manager_state_name(enum manager_state state)
{
	return state_names[state];
}

unsigned manager_drift_count(const struct manager *m)
{
	unsigned n = 0;

	for (size_t i = 0; i < m->n_items; i++)
		n += m->items[i].drifted_to != NULL;
	return n;
}

enum manager_state manager_get_state(const struct manager *m)
{
	if (manager_is_busy(m) && m->compared)
		return MANAGER_APPLYING;
	if (m->unconfirmed > 0 || m->unconfirmed_seen)
		return MANAGER_UNCONFIRMED;
	if (!m->policy || m->last_job_failed)
		return MANAGER_ERROR;
	if (!m->compared)
		return MANAGER_STARTING;
	if (m->n_items == 0)
		return MANAGER_NO_POLICY;
	if (manager_drift_count(m) > 0)
		return MANAGER_DRIFTED;
	return m->differs ? MANAGER_DIFFERS : MANAGER_IN_SYNC;
}

bool manager_reboot_required(const struct manager *m)
{
	return m->reboot_required;
}

int64_t manager_bytes_saved(const struct manager *m)
{
	return m->saved_bytes;
}

unsigned manager_last_transaction(const struct manager *m)
{
	return m->last_transaction;
}

/* Strings stay the manager's: the state is only written. */
static void fill_drift(const struct watched_item *item, struct live_drift *ret)
{
	*ret = (struct live_drift){
		.id = item->id,
		.from = item->value,
		.to = item->drifted_to,
		.pid = item->writer.pid,
		.comm = item->writer.comm[0] ? (char *)item->writer.comm : NULL,
		.time_sec = item->time_sec,
		.times = item->times,
		.given_up = item->given_up,
	};
}

static int write_live_state(struct manager *m)
{
	_cleanup_free_ struct live_drift *drifts = calloc(m->n_items ?: 1, sizeof(*drifts));
	struct live_state state = {
		.running = true,
		.pid = getpid(),
		.since_sec = m->since_sec,
		.zero_page_held = m->zero_page.address != NULL,
		.zero_page_bytes = m->zero_page.bytes,
		.zero_page_since_sec = m->zero_page.since_sec,
		.zero_page_allocs_known = m->zero_page.allocs_known,
		.zero_page_allocs = m->zero_page.allocs,
		.zero_page_error = m->zero_page_error,
		.policy_error = m->policy_error,
		.drifts = drifts,
	};

	if (!drifts)
		return -ENOMEM;
	for (size_t i = 0; i < m->n_items; i++)
		if (m->items[i].drifted_to && m->items[i].value)
			fill_drift(&m->items[i], &drifts[state.n_drifts++]);
	return live_state_write(m->root_fd, &state);
}

static void tell_service_manager(struct manager *m)
{
	unsigned drifted = manager_drift_count(m);

	/* Who starts after mmoptd finds what a crash left taken back, and the state known. */
	if (!m->ready && (m->compared || m->last_job_failed)) {
		m->ready = true;
		sd_notify(0, "READY=1");
	}
	if (drifted > 0)
		sd_notifyf(0, "STATUS=%u of %zu items changed by others", drifted, m->n_items);
	else
		sd_notifyf(0, "STATUS=%s, %zu items", manager_state_name(manager_get_state(m)), m->n_items);
}

void manager_publish(struct manager *m)
{
	int r = write_live_state(m);

	if (r < 0)
		journal(LOG_WARNING, EVENT_NONE, NULL,
			"mmoptctl status will lack what mmoptd knows: /run/mmopt/daemon: %s", strerror(-r));
	tell_service_manager(m);
	manager_bus_properties_changed(m->bus);
}

static void let_zero_page_go(struct manager *m)
{
	zero_page_unpin(&m->zero_page);
	m->zero_page = (struct zero_page){};
	journal(LOG_NOTICE, EVENT_ZERO_PAGE, NULL,
		"The huge zero page is no longer asked for; the kernel may free it once mmoptd is restarted");
}

void manager_update_zero_page(struct manager *m)
{
	_cleanup_free_ char *reason = NULL;
	int r;

	if (!m->wants_zero_page) {
		free(TAKE_PTR(m->zero_page_error));
		if (m->zero_page.address)
			let_zero_page_go(m);
		return;
	}
	if (m->zero_page.address)
		return;
	r = zero_page_pin(&m->zero_page, &reason);
	if (r >= 0) {
		free(TAKE_PTR(m->zero_page_error));
		journal(LOG_INFO, EVENT_ZERO_PAGE, NULL, "The huge zero page is held, which takes %" PRIu64 " KiB",
			m->zero_page.bytes / 1024);
		/* Compared before it was held, so the comparison is out of date. */
		m->check_wanted = true;
		return;
	}
	/* Each comparison tries again: told once. */
	if (m->zero_page_error && reason && streq(m->zero_page_error, reason))
		return;
	free(m->zero_page_error);
	m->zero_page_error = TAKE_PTR(reason);
	journal(LOG_WARNING, EVENT_ZERO_PAGE, NULL, "The huge zero page cannot be held: %s",
		m->zero_page_error ?: strerror(-r));
}

static void on_metrics(void *userdata, int error, const struct job_result *result)
{
	_cleanup_(diag_list_clear) struct diag_list diags = {};
	_cleanup_free_ char *text = NULL;
	struct manager *m = userdata;
	int r = error;

	if (!result || !m->conf.textfile_directory)
		return;
	if (r >= 0)
		r = result->error;
	if (r >= 0)
		r = lseek(result->document_fd, 0, SEEK_SET) < 0 ? -errno : read_fd(result->document_fd, 0, &text, NULL);
	if (r >= 0)
		r = textfile_write(m->conf.textfile_directory, text, &diags);
	if (r < 0 && diags.n == 0)
		diag_add(&diags, DIAG_WARNING, NULL, 0, NULL, "cannot make the metrics: %s", strerror(-r));
	journal_diags(EVENT_NONE, &diags);
}

void manager_update_files(struct manager *m)
{
	_cleanup_(diag_list_clear) struct diag_list diags = {};

	if (m->conf.reboot_required_file && m->reboot_required)
		(void)!reboot_required_note(m->root_fd, &diags); /* the message says it */
	journal_diags(EVENT_REBOOT_REQUIRED, &diags);
	if (m->conf.textfile_directory) {
		struct job_request request = { .kind = JOB_DESCRIBE, .view = VIEW_METRICS };

		(void)!manager_submit_own_for(m, &request, on_metrics, m); /* the next comparison makes them anew */
	}
}
