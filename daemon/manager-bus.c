/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The connection to the bus, the interface, the properties and the signals. */
#include "daemon/manager-bus.h"

#include <malloc.h>
#include <poll.h>

#include "base/clock.h"
#include "base/strutil.h"
#include "daemon/journal.h"
#include "daemon/manager-bus-internal.h"

#define SYSTEM_BUS "unix:path=/run/dbus/system_bus_socket"

/* After a lost connection; doubled until the name is ours again. */
#define RETRY_MIN_USEC (100 * USEC_PER_MSEC)
#define RETRY_MAX_USEC (10 * 60 * USEC_PER_SEC)
/* Anybody may send a message of many megabytes: mapped by itself, its memory goes back to the system with it. */
#define MAPPED_FROM_BYTES (128 * 1024)
/* For what is still to be sent when mmoptd ends. */
#define FLUSH_USEC USEC_PER_SEC

static void get_properties(const struct manager *m, struct bus_properties *ret)
{
	*ret = (struct bus_properties){
		.state = manager_get_state(m),
		.reboot_required = manager_reboot_required(m),
		.bytes_saved = manager_bytes_saved(m),
		.drift_count = manager_drift_count(m),
		.last_transaction = manager_last_transaction(m),
	};
}

static int get_version(sd_bus *bus, const char *path, const char *interface, const char *property,
		       sd_bus_message *reply, void *userdata, sd_bus_error *ret_error)
{
	return sd_bus_message_append(reply, "s", MMOPT_VERSION);
}

static int get_state(sd_bus *bus, const char *path, const char *interface, const char *property, sd_bus_message *reply,
		     void *userdata, sd_bus_error *ret_error)
{
	struct manager_bus *b = userdata;

	return sd_bus_message_append(reply, "s", manager_state_name(manager_get_state(b->manager)));
}

static int get_reboot_required(sd_bus *bus, const char *path, const char *interface, const char *property,
			       sd_bus_message *reply, void *userdata, sd_bus_error *ret_error)
{
	struct manager_bus *b = userdata;

	return sd_bus_message_append(reply, "b", manager_reboot_required(b->manager));
}

static int get_bytes_saved(sd_bus *bus, const char *path, const char *interface, const char *property,
			   sd_bus_message *reply, void *userdata, sd_bus_error *ret_error)
{
	struct manager_bus *b = userdata;

	return sd_bus_message_append(reply, "x", manager_bytes_saved(b->manager));
}

static int get_drift_count(sd_bus *bus, const char *path, const char *interface, const char *property,
			   sd_bus_message *reply, void *userdata, sd_bus_error *ret_error)
{
	struct manager_bus *b = userdata;

	return sd_bus_message_append(reply, "u", manager_drift_count(b->manager));
}

static int get_last_transaction(sd_bus *bus, const char *path, const char *interface, const char *property,
				sd_bus_message *reply, void *userdata, sd_bus_error *ret_error)
{
	struct manager_bus *b = userdata;

	return sd_bus_message_append(reply, "u", manager_last_transaction(b->manager));
}

/*
 * Every method is "unprivileged" to sd-bus: it would ask the bus who calls and wait for the answer.  Who may do what
 * is in manager-bus-calls.c.
 */
#define ANYBODY SD_BUS_VTABLE_UNPRIVILEGED
#define DIAGNOSTICS "a(ssuss)"

const sd_bus_vtable manager_bus_vtable[] = {
	SD_BUS_VTABLE_START(0),
	SD_BUS_PROPERTY("Version", "s", get_version, 0, SD_BUS_VTABLE_PROPERTY_CONST),
	SD_BUS_PROPERTY("State", "s", get_state, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
	SD_BUS_PROPERTY("RebootRequired", "b", get_reboot_required, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
	SD_BUS_PROPERTY("BytesSaved", "x", get_bytes_saved, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
	SD_BUS_PROPERTY("DriftCount", "u", get_drift_count, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
	SD_BUS_PROPERTY("LastTransaction", "u", get_last_transaction, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
	SD_BUS_METHOD_WITH_ARGS("Describe", SD_BUS_ARGS("s", view, "s", format, "a{sv}", options),
				SD_BUS_RESULT("h", document, "i", exit_status, DIAGNOSTICS, diagnostics),
				bus_method_describe, ANYBODY),
	SD_BUS_METHOD_WITH_ARGS("DescribeInline", SD_BUS_ARGS("s", view, "s", format, "a{sv}", options),
				SD_BUS_RESULT("s", document, "i", exit_status, DIAGNOSTICS, diagnostics),
				bus_method_describe_inline, ANYBODY),
	SD_BUS_METHOD_WITH_ARGS("Apply", SD_BUS_ARGS("a{sv}", options),
				SD_BUS_RESULT("s", document, "i", exit_status, DIAGNOSTICS, diagnostics, "u",
					      transaction, "b", unconfirmed),
				bus_method_apply, ANYBODY),
	SD_BUS_METHOD_WITH_ARGS("Confirm", SD_BUS_ARGS("a{sv}", options),
				SD_BUS_RESULT("s", document, "i", exit_status, DIAGNOSTICS, diagnostics),
				bus_method_confirm, ANYBODY),
	SD_BUS_METHOD_WITH_ARGS("Rollback", SD_BUS_ARGS("a{sv}", options),
				SD_BUS_RESULT("s", document, "i", exit_status, DIAGNOSTICS, diagnostics),
				bus_method_rollback, ANYBODY),
	SD_BUS_METHOD_WITH_ARGS("Verify", SD_BUS_ARGS("a{sv}", options),
				SD_BUS_RESULT("s", document, "i", exit_status, DIAGNOSTICS, diagnostics),
				bus_method_verify, ANYBODY),
	SD_BUS_METHOD_WITH_ARGS("Reload", SD_BUS_NO_ARGS, SD_BUS_RESULT(DIAGNOSTICS, diagnostics), bus_method_reload,
				ANYBODY),
	SD_BUS_SIGNAL_WITH_ARGS("Applied", SD_BUS_ARGS("u", transaction, "s", verb, "s", result, "x", saved_bytes), 0),
	SD_BUS_SIGNAL_WITH_ARGS("Drifted", SD_BUS_ARGS("s", id, "s", from, "s", to, "u", pid, "s", comm), 0),
	SD_BUS_VTABLE_END,
};

static int bus_open(struct manager_bus *b);

static int on_retry(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct manager_bus *b = userdata;

	b->retry = sd_event_source_unref(b->retry);
	b->bus = sd_bus_close_unref(b->bus);
	(void)bus_open(b);
	return 0;
}

static void retry_later(struct manager_bus *b)
{
	int r;

	if (b->retry)
		return;
	r = sd_event_add_time_relative(b->event, &b->retry, CLOCK_MONOTONIC, b->retry_usec, 0, on_retry, b);
	if (r < 0)
		journal(LOG_ERR, EVENT_NONE, NULL, "cannot set a timer to connect to the bus again: %s", strerror(-r));
	b->retry_usec = MIN(2 * b->retry_usec, RETRY_MAX_USEC);
}

static int on_disconnected(sd_bus_message *m, void *userdata, sd_bus_error *ret_error)
{
	struct manager_bus *b = userdata;

	if (b->named)
		journal(LOG_NOTICE, EVENT_NONE, NULL, "the connection to the bus is lost, waiting for it");
	b->named = false;
	bus_calls_drop(b);
	/* This connection is still being worked on: it goes away from the timer. */
	retry_later(b);
	return 0;
}

static int on_name(sd_bus_message *m, void *userdata, sd_bus_error *ret_error)
{
	struct manager_bus *b = userdata;
	const sd_bus_error *e = sd_bus_message_get_error(m);
	uint32_t answer = 0;
	int r;

	if (e) {
		/* Of the connection's end on_disconnected() tells. */
		if (!sd_bus_error_has_names(e, SD_BUS_ERROR_NO_REPLY, SD_BUS_ERROR_DISCONNECTED))
			journal(LOG_WARNING, EVENT_NONE, NULL, "the bus does not give the name " BUS_NAME ": %s",
				e->message ?: e->name);
		return 0;
	}
	r = sd_bus_message_read(m, "u", &answer);
	/* DBUS_REQUEST_NAME_REPLY_PRIMARY_OWNER, _ALREADY_OWNER; else somebody has it, and we get it after them. */
	if (r < 0 || (answer != 1 && answer != 4)) {
		journal(LOG_WARNING, EVENT_NONE, NULL, "the name " BUS_NAME " on the bus belongs to another process");
		return 0;
	}
	b->named = true;
	b->retry_usec = RETRY_MIN_USEC;
	/* What was not told meanwhile is seen by whoever asks from here on. */
	get_properties(b->manager, &b->told);
	return 0;
}

/* Ours after it stood in the queue, or taken away. */
static int on_name_moved(sd_bus_message *m, void *userdata, sd_bus_error *ret_error)
{
	struct manager_bus *b = userdata;
	const char *name;

	if (sd_bus_message_read(m, "s", &name) >= 0 && streq(name, BUS_NAME))
		b->named = streq(sd_bus_message_get_member(m), "NameAcquired");
	return 0;
}

/* Not getting a subscription is no reason to close the connection, as sd-bus would by itself. */
static int on_match_installed(sd_bus_message *m, void *userdata, sd_bus_error *ret_error)
{
	return 0;
}

static int set_up(struct manager_bus *b, sd_bus *bus)
{
	static const char *const members[] = { "NameAcquired", "NameLost" };
	int r;

	r = sd_bus_add_object_vtable(bus, NULL, BUS_PATH, BUS_INTERFACE, manager_bus_vtable, b);
	if (r >= 0)
		r = sd_bus_match_signal_async(bus, NULL, "org.freedesktop.DBus.Local", NULL,
					      "org.freedesktop.DBus.Local", "Disconnected", on_disconnected,
					      on_match_installed, b);
	for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(members); i++)
		r = sd_bus_match_signal_async(bus, NULL, "org.freedesktop.DBus", "/org/freedesktop/DBus",
					      "org.freedesktop.DBus", members[i], on_name_moved, on_match_installed, b);
	if (r >= 0)
		r = sd_bus_request_name_async(bus, NULL, BUS_NAME, SD_BUS_NAME_QUEUE, on_name, b);
	return r < 0 ? r : sd_bus_attach_event(bus, b->event, SD_EVENT_PRIORITY_NORMAL);
}

/* Like sd_bus_open_system(), which does not wait for a bus that is not there yet. */
static int connect_to(const char *address, sd_bus **ret)
{
	_cleanup_(sd_bus_close_unrefp) sd_bus *bus = NULL;
	int r;

	r = sd_bus_new(&bus);
	if (r >= 0)
		r = sd_bus_set_address(bus, address);
	if (r >= 0)
		r = sd_bus_set_bus_client(bus, true);
	if (r >= 0)
		r = sd_bus_set_watch_bind(bus, true);
	/* The manager decides when what is queued has been sent long enough: manager_bus_flush(). */
	if (r >= 0)
		r = sd_bus_set_close_on_exit(bus, false);
	if (r >= 0)
		r = sd_bus_start(bus);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(bus);
	return 0;
}

static int bus_open(struct manager_bus *b)
{
	_cleanup_(sd_bus_close_unrefp) sd_bus *bus = NULL;
	const char *address = secure_getenv("DBUS_SYSTEM_BUS_ADDRESS") ?: SYSTEM_BUS;
	int r;

	r = connect_to(address, &bus);
	if (r >= 0)
		r = set_up(b, bus);
	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		journal(LOG_WARNING, EVENT_NONE, NULL, "cannot connect to the bus at %s, trying again later: %s",
			address, strerror(-r));
		retry_later(b);
		return 0;
	}
	b->bus = TAKE_PTR(bus);
	return 0;
}

int manager_bus_new(struct manager *m, sd_event *event, struct manager_bus **ret)
{
	_cleanup_(manager_bus_freep) struct manager_bus *b = calloc(1, sizeof(*b));
	int r;

	if (!b)
		return -ENOMEM;
	/* Left to itself, malloc(3) would raise the limit with the first such message, and keep the next ones. */
	mallopt(M_MMAP_THRESHOLD, MAPPED_FROM_BYTES);
	b->manager = m;
	b->event = sd_event_ref(event);
	b->retry_usec = RETRY_MIN_USEC;
	get_properties(m, &b->told);
	r = bus_open(b);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(b);
	return 0;
}

void manager_bus_free(struct manager_bus *b)
{
	if (!b)
		return;
	bus_calls_free(b);
	sd_event_source_disable_unref(b->retry);
	sd_bus_close_unref(b->bus);
	sd_event_unref(b->event);
	free(b);
}

static void log_emit(const char *what, int error)
{
	if (error < 0)
		journal(LOG_WARNING, EVENT_NONE, NULL, "cannot tell the bus %s: %s", what, strerror(-error));
}

void manager_bus_emit_applied(struct manager_bus *b, unsigned transaction, const char *verb, const char *result,
			      int64_t saved_bytes)
{
	if (b && b->named)
		log_emit("what was applied", sd_bus_emit_signal(b->bus, BUS_PATH, BUS_INTERFACE, "Applied", "ussx",
								transaction, verb, result, saved_bytes));
}

void manager_bus_emit_drifted(struct manager_bus *b, const char *id, const char *from, const char *to, pid_t pid,
			      const char *comm)
{
	_cleanup_free_ char *safe_id = NULL, *safe_from = NULL, *safe_to = NULL, *safe_comm = NULL;

	if (!b || !b->named)
		return;
	safe_id = bus_text(id);
	safe_from = bus_text(from);
	safe_to = bus_text(to);
	safe_comm = bus_text(comm);
	log_emit("what others changed",
		 safe_id && safe_from && safe_to && safe_comm
			 ? sd_bus_emit_signal(b->bus, BUS_PATH, BUS_INTERFACE, "Drifted", "sssus", safe_id, safe_from,
					      safe_to, (uint32_t)pid, safe_comm)
			 : -ENOMEM);
}

void manager_bus_properties_changed(struct manager_bus *b)
{
	struct bus_properties now;
	char *changed[6] = {};
	size_t n = 0;

	if (!b || !b->named)
		return;
	get_properties(b->manager, &now);
	if (now.state != b->told.state)
		changed[n++] = (char *)"State";
	if (now.reboot_required != b->told.reboot_required)
		changed[n++] = (char *)"RebootRequired";
	if (now.bytes_saved != b->told.bytes_saved)
		changed[n++] = (char *)"BytesSaved";
	if (now.drift_count != b->told.drift_count)
		changed[n++] = (char *)"DriftCount";
	if (now.last_transaction != b->told.last_transaction)
		changed[n++] = (char *)"LastTransaction";
	if (n == 0)
		return;
	b->told = now;
	log_emit("the new properties", sd_bus_emit_properties_changed_strv(b->bus, BUS_PATH, BUS_INTERFACE, changed));
}

/* sd_bus_flush() would wait without end for a bus daemon that does not read. */
void manager_bus_flush(struct manager_bus *b)
{
	uint64_t now = clock_usec(CLOCK_MONOTONIC), end = now + FLUSH_USEC, n = 0;

	while (b && b->named && now < end && sd_bus_get_n_queued_write(b->bus, &n) >= 0 && n > 0) {
		struct pollfd fd = { .fd = sd_bus_get_fd(b->bus), .events = POLLOUT };

		if (poll(&fd, 1, (int)((end - now + USEC_PER_MSEC - 1) / USEC_PER_MSEC)) <= 0)
			return;
		if (sd_bus_process(b->bus, NULL) < 0)
			return;
		now = clock_usec(CLOCK_MONOTONIC);
	}
}
