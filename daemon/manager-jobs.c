/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sys/wait.h>

#include "base/strutil.h"
#include "daemon/journal.h"
#include "daemon/manager-internal.h"

/* More callers than this at a time are a mistake, or worse. */
#define MAX_WAITING 4096

void lane_init(struct lane *lane, struct manager *m)
{
	*lane = (struct lane){ .manager = m, .job = { .document_fd = -EBADF, .result_fd = -EBADF } };
}

static void ticket_free(struct ticket *t)
{
	job_request_clear(&t->request);
	free(t);
}

static void tickets_free(struct ticket *t)
{
	while (t) {
		struct ticket *next = t->next;

		ticket_free(t);
		t = next;
	}
}

void lane_clear(struct lane *lane)
{
	sd_event_source_unref(lane->child);
	closep(&lane->job.document_fd);
	closep(&lane->job.result_fd);
	tickets_free(lane->waiting);
	tickets_free(lane->answered);
	lane_init(lane, lane->manager);
}

bool manager_is_busy(const struct manager *m)
{
	return m->writers.answered != NULL;
}

static struct lane *lane_of(struct manager *m, const struct job_request *request)
{
	return job_kind_writes(request->kind) ? &m->writers : &m->readers;
}

static void append(struct ticket **list, struct ticket *t)
{
	while (*list)
		list = &(*list)->next;
	t->next = NULL;
	*list = t;
}

/* Moves the first that waits, and all that ask for the same, to those who get the next answer. */
static void take_alike(struct lane *lane)
{
	struct ticket **link = &lane->waiting, **end = &lane->answered;
	struct ticket *first = lane->waiting, *t = first;

	lane->waiting = t->next;
	lane->n_waiting--;
	t->next = NULL;
	*end = t;
	end = &t->next;
	while ((t = *link)) {
		if (t->asked != first->asked || !job_request_equal(&first->request, &t->request)) {
			link = &t->next;
			continue;
		}
		*link = t->next;
		lane->n_waiting--;
		t->next = NULL;
		*end = t;
		end = &t->next;
	}
}

/* Was anything written by mmopt while the child looked? */
static bool is_disturbed(const struct lane *lane)
{
	const struct manager *m = lane->manager;

	return lane == &m->readers && (m->writers.answered || lane->epoch != m->epoch);
}

/* Each caller may ask for something next, so the list is not the lane's any more when they are told. */
static void answer(struct lane *lane, int error, const struct job_result *result)
{
	struct ticket *answered = TAKE_PTR(lane->answered);
	bool failed = !result || result->error < 0;

	/* A caller's look goes by the files: that it failed says nothing of the policy in force. */
	if (!failed || !answered->asked || job_kind_writes(answered->request.kind))
		manager_on_result(lane->manager, &answered->request, error, result, !is_disturbed(lane));
	for (struct ticket *t = answered; t; t = t->next)
		if (t->done)
			t->done(t->userdata, error, result);
	tickets_free(answered);
}

static int on_child(sd_event_source *source, const siginfo_t *info, void *userdata)
{
	struct lane *lane = userdata;
	struct manager *m = lane->manager;
	struct job_result result = { .document_fd = -EBADF };
	int r;

	lane->child = sd_event_source_unref(lane->child);
	m->epoch += lane == &m->writers;
	r = job_collect(&lane->job, info->si_code == CLD_EXITED && info->si_status == 0, &result);
	if (r < 0) {
		enum job_kind kind = lane->answered->request.kind;

		journal(LOG_ERR, EVENT_NONE, NULL, "%s: the worker ended without a result: %s%s", job_kind_name(kind),
			strerror(-r), job_kind_writes(kind) ? "; taking back what it began" : "");
		answer(lane, r, NULL);
		/* One that recovers and dies may do so each time: it gets another try after a pause. */
		if (job_kind_writes(kind) && kind != JOB_RECOVER)
			manager_submit_own(m, &(struct job_request){ .kind = JOB_RECOVER });
	} else {
		answer(lane, 0, &result);
		job_result_clear(&result);
	}
	manager_dispatch(m);
	return 0;
}

/*
 * What mmoptd does by itself goes by the policy in force.  Callers get what the files say at this moment, with all
 * that there is to say about them: who has just written one must not see, or apply, the one before.  Only status
 * shows the policy in force where the files have mistakes.
 */
static struct policy *policy_for(const struct manager *m, const struct ticket *t)
{
	bool shows_state = t->request.kind == JOB_DESCRIBE && t->request.view == VIEW_STATUS;

	return t->asked && !(shows_state && m->policy_error) ? NULL : m->policy;
}

static int start(struct lane *lane)
{
	struct manager *m = lane->manager;
	const struct job_request *request = &lane->answered->request;
	int r = 0;

	if (request->confirm_within_sec > 0)
		r = manager_prepare_confirm(m);
	m->epoch += lane == &m->writers;
	lane->epoch = m->epoch;
	if (r >= 0)
		r = job_start(request, policy_for(m, lane->answered), &lane->job);
	if (r < 0)
		return r;
	r = sd_event_add_child(m->event, &lane->child, lane->job.pid, WEXITED, on_child, lane);
	if (r >= 0) {
		/* "applying": who was told of that state has to be told of its end too. */
		if (lane == &m->writers)
			manager_bus_properties_changed(m->bus);
		return 0;
	}
	/* Nobody would ever hear of it. */
	kill(lane->job.pid, SIGKILL);
	waitpid(lane->job.pid, NULL, 0);
	closep(&lane->job.document_fd);
	closep(&lane->job.result_fd);
	return r;
}

static void run_lane(struct lane *lane)
{
	while (!lane->answered && lane->waiting) {
		int r;

		take_alike(lane);
		r = start(lane);
		if (r >= 0)
			return;
		journal(LOG_ERR, EVENT_NONE, NULL, "%s: cannot start a worker: %s",
			job_kind_name(lane->answered->request.kind), strerror(-r));
		answer(lane, r, NULL);
	}
}

/* A comparison while values are being written would take mmopt's own steps for somebody else's. */
static bool may_check(const struct manager *m)
{
	return m->check_wanted && !m->stopping && !m->writers.answered && !m->writers.waiting;
}

static int on_dispatch(sd_event_source *source, void *userdata)
{
	manager_dispatch(userdata);
	return 0;
}

/* From the event loop, so that no caller is answered before its own call has returned. */
static int dispatch_soon(struct manager *m)
{
	int r;

	if (m->dispatch)
		r = sd_event_source_set_enabled(m->dispatch, SD_EVENT_ONESHOT);
	else
		r = sd_event_add_defer(m->event, &m->dispatch, on_dispatch, m);
	return r < 0 ? r : 0;
}

static int queue(struct manager *m, const struct job_request *request, bool asked, job_done done, void *userdata,
		 uint64_t *ret_ticket)
{
	struct lane *lane = lane_of(m, request);
	struct ticket *t;
	int r;

	if (lane->n_waiting >= MAX_WAITING)
		return -EBUSY;
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	r = job_request_copy(request, &t->request);
	if (r >= 0)
		r = dispatch_soon(m);
	if (r < 0) {
		ticket_free(t);
		return r;
	}
	t->number = ++m->last_ticket;
	t->done = done;
	t->asked = asked;
	t->userdata = userdata;
	append(&lane->waiting, t);
	lane->n_waiting++;
	if (ret_ticket)
		*ret_ticket = t->number;
	return 0;
}

/* What is being written is let finish, what waits for its confirmation goes back, and that is all. */
static void dispatch_last(struct manager *m)
{
	if (m->writers.answered)
		return;
	if (m->unconfirmed > 0) {
		manager_release_confirm(m);
		if (queue(m, &(struct job_request){ .kind = JOB_RECOVER }, false, NULL, NULL, NULL) >= 0)
			run_lane(&m->writers);
	}
	if (!m->writers.answered)
		sd_event_exit(m->event, 0);
}

static void drop_waiting(struct lane *lane)
{
	struct ticket *waiting = TAKE_PTR(lane->waiting);

	lane->n_waiting = 0;
	for (struct ticket *t = waiting; t; t = t->next)
		if (t->done)
			t->done(t->userdata, -ESHUTDOWN, NULL);
	tickets_free(waiting);
}

void manager_stop(struct manager *m)
{
	if (m->stopping)
		return;
	m->stopping = true;
	drop_waiting(&m->readers);
	drop_waiting(&m->writers);
	dispatch_last(m);
}

void manager_dispatch(struct manager *m)
{
	if (m->stopping) {
		dispatch_last(m);
		return;
	}
	run_lane(&m->writers);
	if (may_check(m)) {
		m->check_wanted = false;
		manager_submit_own(m, &(struct job_request){ .kind = JOB_VERIFY, .format = FORMAT_JSON_SHORT });
	}
	run_lane(&m->readers);
}

int manager_submit(struct manager *m, const struct job_request *request, job_done done, void *userdata,
		   uint64_t *ret_ticket)
{
	return m->stopping ? -ESHUTDOWN : queue(m, request, true, done, userdata, ret_ticket);
}

int manager_submit_own_for(struct manager *m, const struct job_request *request, job_done done, void *userdata)
{
	return m->stopping ? -ESHUTDOWN : queue(m, request, false, done, userdata, NULL);
}

void manager_submit_own(struct manager *m, const struct job_request *request)
{
	int r = manager_submit_own_for(m, request, NULL, NULL);

	if (r < 0 && r != -ESHUTDOWN)
		journal(LOG_ERR, EVENT_NONE, NULL, "%s: cannot be queued: %s", job_kind_name(request->kind),
			strerror(-r));
}

/* A look that has not begun and that nobody waits for any more: who calls and leaves must not keep the others waiting. */
static bool drop(struct lane *lane, uint64_t number)
{
	for (struct ticket **link = &lane->waiting; *link; link = &(*link)->next) {
		struct ticket *t = *link;

		if (t->number != number)
			continue;
		*link = t->next;
		lane->n_waiting--;
		ticket_free(t);
		return true;
	}
	return false;
}

static bool forget(struct ticket *t, uint64_t number)
{
	for (; t; t = t->next) {
		if (t->number != number)
			continue;
		t->done = NULL;
		return true;
	}
	return false;
}

void manager_forget(struct manager *m, uint64_t number)
{
	if (!drop(&m->readers, number) && !forget(m->readers.answered, number) && !forget(m->writers.waiting, number))
		(void)forget(m->writers.answered, number); /* or it is being answered */
}

void manager_want_check(struct manager *m, bool reset)
{
	m->check_wanted = true;
	m->reset_wanted |= reset;
	if (dispatch_soon(m) < 0)
		manager_dispatch(m);
}
