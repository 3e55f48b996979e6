/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A manager without an engine behind the real bus code.  It does what its standard input says, a line each, and tells on standard output
 * what the bus code asks of it:
 *
 *   state NAME, reboot 0|1, bytes N, drifts N, last N   a property, told to the bus
 *   same                       nothing has changed, told to the bus
 *   hold, release              jobs wait; those that wait get their results
 *   busy 0|1                   no more jobs are taken
 *   fail ERRNO                 the next job cannot be run
 *   unconfirmed N              the next apply leaves transaction N unconfirmed
 *   policy good|bad            what Reload finds
 *   applied [N], drifted       the signals (N times)
 *   ended N VERB               the signal for the end of transaction N
 *   document TEXT              all documents are this, "-": what they were asked for
 *   status N                   the exit status of all jobs
 *   refuse N                   the next N jobs say that they could not do it
 *
 * With --live it holds the lock by which mmoptctl knows that mmoptd runs.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/mman.h>

#include "base/number.h"
#include "base/strutil.h"
#include "core/live-state.h"
#include "daemon/journal.h"
#include "daemon/manager-bus.h"

#define MAX_JOBS 4096
#define STATE_MAX MANAGER_ERROR

struct manager {
	sd_event *event;
	struct manager_bus *bus;
	enum manager_state state;
	int64_t bytes;
	unsigned drifts, last, unconfirmed;
	bool reboot, hold, busy, bad_policy;
	int fail, exit_status;
	unsigned refuse;
	char document[512];
	sd_event_source *work;
	size_t n_jobs;
	uint64_t next_ticket;
	struct waiting {
		uint64_t ticket;
		struct job_request request;
		job_done done; /* NULL: forgotten */
		void *userdata;
	} jobs[MAX_JOBS];
};

static void say(const char *fmt, ...) _printf_(1, 2);

static void say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
}

const char *manager_state_name(enum manager_state state)
{
	static const char *const names[] = { "starting",    "in-sync",	"differs",   "drifted",
					     "unconfirmed", "applying", "no-policy", "error" };

	return names[state];
}

enum manager_state manager_get_state(const struct manager *m)
{
	return m->state;
}

bool manager_reboot_required(const struct manager *m)
{
	return m->reboot;
}

int64_t manager_bytes_saved(const struct manager *m)
{
	return m->bytes;
}

unsigned manager_drift_count(const struct manager *m)
{
	return m->drifts;
}

unsigned manager_last_transaction(const struct manager *m)
{
	return m->last;
}

void manager_caller_gone(struct manager *m, unsigned transaction)
{
	say("gone %u", transaction);
}

int manager_reload(struct manager *m, struct diag_list *diags)
{
	say("reload");
	diag_add(diags, DIAG_WARNING, "/etc/mmopt/policy.d/a.conf", 3, "vm.swappiness", "looks odd");
	if (!m->bad_policy)
		return 0;
	diag_add(diags, DIAG_ERROR, "/etc/mmopt/policy.d/b.conf", 7, "vm.nonsense", "is not known");
	diag_add(diags, DIAG_ERROR, "/etc/mmopt/policy.d/b.conf", 9, NULL, "is no section");
	return -EBADMSG;
}

static int make_document(const struct manager *m, const struct job_request *q)
{
	_cleanup_free_ char *text =
		m->document[0]
			? xasprintf("%s\n", m->document)
			: xasprintf(
				  "kind %d view %d format %d width %u colour %d utf8 %d what_if %d id %s force %d all %d pool %llu "
				  "confirm %llu transaction %u\n",
				  q->kind, q->view, q->format, q->width, q->colour, q->utf8, q->what_if, q->id ?: "-",
				  q->force, q->all, (unsigned long long)q->pool_timeout_usec,
				  (unsigned long long)q->confirm_within_sec, q->transaction);
	int fd = memfd_create("document", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	/* The offset stays at the end: who reads from there reads nothing. */
	if (fd < 0 || !text || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		exit(1);
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
		exit(1);
	return fd;
}

static void finish(struct manager *m, struct waiting *job)
{
	struct job_result result = { .exit_status = m->exit_status, .document_fd = -EBADF };

	if (job->done && m->fail) {
		job->done(job->userdata, -m->fail, NULL);
		m->fail = 0;
	} else if (job->done) {
		result.document_fd = make_document(m, &job->request);
		diag_add(&result.diags, DIAG_WARNING, "/etc/mmopt/policy.d/a.conf", 3, "vm.swappiness",
			 "bad \xff and \x1b[31m");
		diag_add(&result.diags, DIAG_NOTICE, NULL, 0, NULL, "plain");
		if (m->refuse > 0) {
			m->refuse--;
			result.exit_status = 1;
			result.error = diag_error(&result.diags, -ENOENT, "refused");
		}
		if (job->request.kind == JOB_APPLY && m->unconfirmed > 0) {
			result.transaction = m->unconfirmed;
			result.unconfirmed = true;
		}
		job->done(job->userdata, 0, &result);
		close(result.document_fd);
		diag_list_clear(&result.diags);
	}
	job_request_clear(&job->request);
}

static int work(sd_event_source *s, void *userdata)
{
	struct manager *m = userdata;
	size_t n = m->n_jobs;

	for (size_t i = 0; i < n; i++)
		finish(m, &m->jobs[i]);
	memmove(m->jobs, m->jobs + n, (m->n_jobs - n) * sizeof(m->jobs[0]));
	m->n_jobs -= n;
	return 0;
}

static void work_soon(struct manager *m)
{
	if (!m->hold && sd_event_source_set_enabled(m->work, SD_EVENT_ONESHOT) < 0)
		exit(1);
}

int manager_submit(struct manager *m, const struct job_request *request, job_done done, void *userdata,
		   uint64_t *ret_ticket)
{
	struct waiting *job = &m->jobs[m->n_jobs];
	int r;

	if (m->busy || m->n_jobs == MAX_JOBS)
		return -EBUSY;
	*job = (struct waiting){ .ticket = m->next_ticket++, .done = done, .userdata = userdata };
	r = job_request_copy(request, &job->request);
	if (r < 0)
		return r;
	m->n_jobs++;
	*ret_ticket = job->ticket;
	if (m->hold || request->kind != JOB_DESCRIBE)
		say("submit %llu kind %d", (unsigned long long)job->ticket, request->kind);
	work_soon(m);
	return 0;
}

void manager_forget(struct manager *m, uint64_t ticket)
{
	say("forget %llu", (unsigned long long)ticket);
	for (size_t i = 0; i < m->n_jobs; i++)
		if (m->jobs[i].ticket == ticket)
			m->jobs[i].done = NULL;
}

static void set_state(struct manager *m, const char *name)
{
	for (int i = 0; i <= STATE_MAX; i++)
		if (streq(manager_state_name((enum manager_state)i), name))
			m->state = (enum manager_state)i;
}

static void tell_ended(struct manager *m, char *argument)
{
	char *verb = strchr(argument, ' ');
	uint64_t n = 0;

	*verb++ = '\0';
	(void)parse_u64(argument, &n);
	manager_bus_emit_applied(m->bus, (unsigned)n, verb, "done", 0);
}

static void obey(struct manager *m, char *line)
{
	char *argument = strchr(line, ' ');
	uint64_t n = 0;

	if (argument)
		*argument++ = '\0';
	if (argument)
		(void)parse_u64(argument, &n);
	if (streq(line, "state"))
		set_state(m, argument);
	else if (streq(line, "reboot"))
		m->reboot = n;
	else if (streq(line, "bytes"))
		m->bytes = (int64_t)n;
	else if (streq(line, "drifts"))
		m->drifts = (unsigned)n;
	else if (streq(line, "last"))
		m->last = (unsigned)n;
	else if (streq(line, "hold"))
		m->hold = true;
	else if (streq(line, "release"))
		m->hold = false;
	else if (streq(line, "busy"))
		m->busy = n;
	else if (streq(line, "fail"))
		m->fail = (int)n;
	else if (streq(line, "unconfirmed"))
		m->unconfirmed = (unsigned)n;
	else if (streq(line, "policy"))
		m->bad_policy = streq(argument, "bad");
	else if (streq(line, "applied"))
		do
			manager_bus_emit_applied(m->bus, 7, "apply", "done", -4096);
		while (n-- > 1);
	else if (streq(line, "drifted"))
		manager_bus_emit_drifted(m->bus, "vm.swappiness", "10", "60", 4711,
					 "b\xff"
					 "d");
	else if (streq(line, "status"))
		m->exit_status = (int)n;
	else if (streq(line, "refuse"))
		m->refuse = (unsigned)n;
	else if (streq(line, "document"))
		snprintf(m->document, sizeof(m->document), "%s", streq(argument, "-") ? "" : argument);
	else if (streq(line, "ended"))
		tell_ended(m, argument);
	else if (!streq(line, "same"))
		exit(2);
	if (m->n_jobs > 0)
		work_soon(m);
	manager_bus_properties_changed(m->bus);
	say("ok");
}

static int on_input(sd_event_source *s, int fd, uint32_t revents, void *userdata)
{
	struct manager *m = userdata;
	char line[1024];
	size_t n = 0;

	for (; n < sizeof(line) - 1; n++) {
		if (read(fd, &line[n], 1) != 1)
			return sd_event_exit(m->event, 0);
		if (line[n] == '\n')
			break;
	}
	line[n] = '\0';
	obey(m, line);
	return 0;
}

/* As mmoptd does it; the lock lasts as long as the process. */
static int go_live(void)
{
	struct live_state state = { .running = true, .pid = getpid() };
	int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int r = live_state_hold(root_fd);

	return r < 0 ? r : live_state_write(root_fd, &state);
}

int main(int argc, char **argv)
{
	static struct manager m = { .next_ticket = 1, .state = MANAGER_IN_SYNC, .exit_status = 2 };
	int r;

	r = argc > 1 && streq(argv[1], "--live") ? go_live() : 0;
	if (r >= 0)
		r = sd_event_default(&m.event);
	if (r >= 0)
		r = sd_event_add_defer(m.event, &m.work, work, &m);
	if (r >= 0)
		r = sd_event_source_set_enabled(m.work, SD_EVENT_OFF);
	if (r >= 0)
		r = sd_event_add_io(m.event, NULL, STDIN_FILENO, EPOLLIN, on_input, &m);
	if (r >= 0)
		r = manager_bus_new(&m, m.event, &m.bus);
	if (r >= 0)
		r = sd_event_loop(m.event);
	manager_bus_flush(m.bus);
	manager_bus_free(m.bus);
	for (size_t i = 0; i < m.n_jobs; i++)
		job_request_clear(&m.jobs[i].request);
	sd_event_source_unref(m.work);
	sd_event_unref(m.event);
	return r < 0;
}
