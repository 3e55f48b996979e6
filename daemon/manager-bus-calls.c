/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The way of a call: arguments, consent, job, answer.  Nothing here waits. */
#include "base/strutil.h"
#include "daemon/journal.h"
#include "daemon/manager-bus-internal.h"

/* polkit's action for a method; NULL: anybody may. */
static const char *const actions[] = {
	[METHOD_DESCRIBE] = NULL,
	[METHOD_DESCRIBE_INLINE] = NULL,
	[METHOD_APPLY] = "org.mmopt1.apply",
	[METHOD_CONFIRM] = "org.mmopt1.apply",
	[METHOD_ROLLBACK] = "org.mmopt1.rollback",
	[METHOD_VERIFY] = NULL,
	[METHOD_RELOAD] = "org.mmopt1.reload",
};

static int on_owner_changed(sd_bus_message *m, void *userdata, sd_bus_error *ret_error);

static int on_departures_installed(sd_bus_message *m, void *userdata, sd_bus_error *ret_error)
{
	const sd_bus_error *e = sd_bus_message_get_error(m);

	/* Callers that leave are then not noticed; a transaction bound to one still has its deadline. */
	if (e)
		journal(LOG_WARNING, EVENT_NONE, NULL, "the bus does not tell when callers leave: %s",
			e->message ?: e->name);
	return 0;
}

/*
 * Whether the bus tells about leaving callers: only while that is of interest, or each program that uses the bus
 * would wake us.  One subscription for all of them costs the bus less than one for each; and sd_bus_track waits for
 * an answer of the bus.
 */
static void watch_departures(struct manager_bus *b)
{
	bool wanted = b->bus && (b->n_calls > 0 || b->bound_sender);
	int r;

	if (!wanted) {
		b->departures = sd_bus_slot_unref(b->departures);
	} else if (!b->departures) {
		r = sd_bus_add_match_async(b->bus, &b->departures,
					   "type='signal',sender='org.freedesktop.DBus',path='/org/freedesktop/DBus',"
					   "interface='org.freedesktop.DBus',member='NameOwnerChanged',arg2=''",
					   on_owner_changed, on_departures_installed, b);
		if (r < 0)
			journal(LOG_WARNING, EVENT_NONE, NULL, "cannot ask the bus who leaves: %s", strerror(-r));
	}
}

/* Out of the list, with all that belongs to it; what runs for it goes on. */
static void call_free(struct bus_call *c)
{
	struct manager_bus *b = c->bus;

	if (c->next)
		c->next->previous = c->previous;
	if (c->previous)
		c->previous->next = c->next;
	else
		b->calls = c->next;
	b->n_calls--;
	if (c->submitted)
		manager_forget(b->manager, c->ticket);
	authorization_free(c->authorization);
	job_request_clear(&c->request);
	sd_bus_message_unref(c->message);
	free(c);
}

static void call_end(struct bus_call *c)
{
	struct manager_bus *b = c->bus;

	call_free(c);
	watch_departures(b);
}

static struct bus_call *call_new(struct manager_bus *b, sd_bus_message *m, enum bus_method method)
{
	struct bus_call *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	*c = (struct bus_call){
		.bus = b,
		.message = sd_bus_message_ref(m),
		.method = method,
		.next = b->calls,
	};
	if (b->calls)
		b->calls->previous = c;
	b->calls = c;
	b->n_calls++;
	return c;
}

static void log_reply(const struct bus_call *c, int error)
{
	if (error < 0)
		journal(LOG_WARNING, EVENT_NONE, NULL, "cannot answer %s of %s: %s",
			sd_bus_message_get_member(c->message), sd_bus_message_get_sender(c->message), strerror(-error));
}

static void fail(struct bus_call *c, const char *name, const char *text)
{
	log_reply(c, sd_bus_reply_method_errorf(c->message, name, "%s", text));
}

static void fail_errno(struct bus_call *c, int error)
{
	if (error == -EBUSY)
		fail(c, SD_BUS_ERROR_LIMITS_EXCEEDED, "too many jobs are waiting, try again later");
	else
		log_reply(c, sd_bus_reply_method_errnof(c->message, error, "cannot do it: %s", strerror(-error)));
}

/* The transaction waits for its confirmation, which only this caller's staying keeps possible. */
static void bind_transaction(struct bus_call *c, unsigned transaction)
{
	struct manager_bus *b = c->bus;
	char *sender = c->caller_gone ? NULL : strdup(sd_bus_message_get_sender(c->message));

	if (!sender) {
		manager_caller_gone(b->manager, transaction);
		return;
	}
	free(b->bound_sender);
	b->bound_sender = sender;
	b->bound_transaction = transaction;
}

static void on_done(void *userdata, int error, const struct job_result *result)
{
	struct bus_call *c = userdata;
	int r;

	c->submitted = false;
	if (result && c->bound && result->error >= 0 && result->unconfirmed)
		bind_transaction(c, result->transaction);
	if (!c->caller_gone) {
		r = result ? bus_reply(c->message, c->method, result) : 0;
		if (!result || r < 0)
			fail_errno(c, result ? r : error);
	}
	call_end(c);
}

/* Mistakes of the policy in one line: the error of a call has no room for more. */
static void fail_reload(struct bus_call *c, const struct diag_list *diags)
{
	_cleanup_free_ char *first = NULL, *safe = NULL, *text = NULL;

	for (size_t i = 0; i < diags->n && !first; i++)
		if (diags->items[i].severity == DIAG_ERROR)
			first = diag_format(&diags->items[i]);
	safe = bus_text(first);
	if (safe && diags->n_errors > 1)
		text = xasprintf("%s (and %zu more, see mmoptctl check); the policy in force stays", safe,
				 diags->n_errors - 1);
	else if (safe)
		text = xasprintf("%s; the policy in force stays", safe);
	fail(c, BUS_ERROR_POLICY_INVALID, text ?: "the policy has mistakes; the policy in force stays");
}

static void reload(struct bus_call *c)
{
	_cleanup_(diag_list_clear) struct diag_list diags = {};
	int r;

	r = manager_reload(c->bus->manager, &diags);
	if (r == -EBADMSG) {
		fail_reload(c, &diags);
	} else if (r < 0) {
		fail_errno(c, r);
	} else {
		r = bus_reply_diags(c->message, &diags);
		if (r < 0)
			fail_errno(c, r);
	}
	call_end(c);
}

/*
 * What is applied now is in force from now on: mmoptd must not take its values for somebody else's until it has noticed
 * itself that the files changed.  Of mistakes the job tells the caller, and applies nothing.
 */
static void take_new_policy(struct manager *m)
{
	_cleanup_(diag_list_clear) struct diag_list diags = {};

	(void)!manager_reload(m, &diags);
}

static void submit(struct bus_call *c)
{
	int r;

	if (c->method == METHOD_RELOAD) {
		reload(c);
		return;
	}
	if (c->method == METHOD_APPLY)
		take_new_policy(c->bus->manager);
	r = manager_submit(c->bus->manager, &c->request, on_done, c, &c->ticket);
	if (r < 0) {
		fail_errno(c, r);
		call_end(c);
		return;
	}
	c->submitted = true;
}

static void on_authorized(void *userdata, enum authorization_result result)
{
	struct bus_call *c = userdata;

	authorization_free(TAKE_PTR(c->authorization));
	switch (result) {
	case AUTHORIZATION_GRANTED:
		submit(c);
		return;
	case AUTHORIZATION_DENIED:
		fail(c, SD_BUS_ERROR_ACCESS_DENIED, "this needs root, or the consent of polkit");
		break;
	case AUTHORIZATION_NEEDS_DIALOG:
		fail(c, SD_BUS_ERROR_INTERACTIVE_AUTHORIZATION_REQUIRED,
		     "polkit has to ask for a password, which this call does not allow");
		break;
	case AUTHORIZATION_CALLER_GONE:
		break;
	}
	call_end(c);
}

static bool may_wait(const struct manager_bus *b, const char *sender)
{
	size_t n = 0;

	for (const struct bus_call *c = b->calls; c; c = c->next)
		n += streq(sd_bus_message_get_sender(c->message), sender);
	return b->n_calls < BUS_CALLS_MAX && n < BUS_CALLS_PER_CALLER_MAX;
}

static int begin(sd_bus_message *m, struct manager_bus *b, enum bus_method method, sd_bus_error *ret_error)
{
	const char *action = actions[method];
	struct bus_call *c;
	int r;

	if (!sd_bus_message_get_sender(m))
		return sd_bus_error_set(ret_error, SD_BUS_ERROR_ACCESS_DENIED, "who asks is not known");
	/* Nobody would get to see what was read. */
	if (!action && sd_bus_message_get_expect_reply(m) == 0)
		return 1;
	if (!may_wait(b, sd_bus_message_get_sender(m)))
		return sd_bus_error_set(ret_error, SD_BUS_ERROR_LIMITS_EXCEEDED,
					"too many calls are waiting, try again later");
	c = call_new(b, m, method);
	if (!c)
		return -ENOMEM;
	r = method == METHOD_RELOAD ? 0 : bus_read_arguments(m, method, &c->request, &c->bound, ret_error);
	if (r < 0) {
		call_free(c);
		return r;
	}
	/* First, so that a caller who leaves after the bus has told who it is cannot leave unnoticed. */
	watch_departures(b);
	if (!action) {
		submit(c);
		return 1;
	}
	r = authorization_new(m, action, on_authorized, c, &c->authorization);
	if (r < 0) {
		call_end(c);
		return r;
	}
	return 1;
}

static void caller_left(struct manager_bus *b, const char *name)
{
	struct bus_call *next;

	for (struct bus_call *c = b->calls; c; c = next) {
		next = c->next;
		if (!streq(sd_bus_message_get_sender(c->message), name))
			continue;
		/* What is already written for it has to be taken back when it is known. */
		if (c->bound && c->submitted)
			c->caller_gone = true;
		else
			call_free(c);
	}
	if (b->bound_sender && streq(b->bound_sender, name)) {
		free(TAKE_PTR(b->bound_sender));
		manager_caller_gone(b->manager, b->bound_transaction);
	}
}

static int on_owner_changed(sd_bus_message *m, void *userdata, sd_bus_error *ret_error)
{
	struct manager_bus *b = userdata;
	const char *name, *old_owner, *new_owner;

	if (sd_bus_message_read(m, "sss", &name, &old_owner, &new_owner) < 0 || *new_owner)
		return 0;
	caller_left(b, name);
	watch_departures(b);
	return 0;
}

void bus_calls_drop(struct manager_bus *b)
{
	struct bus_call *next;

	for (struct bus_call *c = b->calls; c; c = next) {
		next = c->next;
		if (c->bound && c->submitted)
			c->caller_gone = true;
		else
			call_free(c);
	}
	if (b->bound_sender) {
		free(TAKE_PTR(b->bound_sender));
		manager_caller_gone(b->manager, b->bound_transaction);
	}
	b->departures = sd_bus_slot_unref(b->departures);
}

void bus_calls_free(struct manager_bus *b)
{
	while (b->calls)
		call_free(b->calls);
	free(TAKE_PTR(b->bound_sender));
	b->departures = sd_bus_slot_unref(b->departures);
}

int bus_method_describe(sd_bus_message *m, void *userdata, sd_bus_error *ret_error)
{
	return begin(m, userdata, METHOD_DESCRIBE, ret_error);
}

int bus_method_describe_inline(sd_bus_message *m, void *userdata, sd_bus_error *ret_error)
{
	return begin(m, userdata, METHOD_DESCRIBE_INLINE, ret_error);
}

int bus_method_apply(sd_bus_message *m, void *userdata, sd_bus_error *ret_error)
{
	return begin(m, userdata, METHOD_APPLY, ret_error);
}

int bus_method_confirm(sd_bus_message *m, void *userdata, sd_bus_error *ret_error)
{
	return begin(m, userdata, METHOD_CONFIRM, ret_error);
}

int bus_method_rollback(sd_bus_message *m, void *userdata, sd_bus_error *ret_error)
{
	return begin(m, userdata, METHOD_ROLLBACK, ret_error);
}

int bus_method_verify(sd_bus_message *m, void *userdata, sd_bus_error *ret_error)
{
	return begin(m, userdata, METHOD_VERIFY, ret_error);
}

int bus_method_reload(sd_bus_message *m, void *userdata, sd_bus_error *ret_error)
{
	return begin(m, userdata, METHOD_RELOAD, ret_error);
}
