/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/polkit.h"

#include "base/clock.h"
#include "base/strutil.h"
#include "daemon/journal.h"

#define POLKIT_NAME "org.freedesktop.PolicyKit1"
#define POLKIT_PATH "/org/freedesktop/PolicyKit1/Authority"
#define POLKIT_INTERFACE "org.freedesktop.PolicyKit1.Authority"

/* polkit's CheckAuthorizationFlags */
#define POLKIT_ALLOW_INTERACTION 1U

/* An answer that takes longer does not come; a person has to find and type a password. */
#define POLKIT_TIMEOUT_USEC (25 * USEC_PER_SEC)
#define POLKIT_DIALOG_TIMEOUT_USEC (5 * 60 * USEC_PER_SEC)

struct authorization {
	sd_bus_message *call;
	const char *action;
	authorization_done done;
	void *userdata;
	sd_bus_slot *slot; /* of the question that is open */
	char *cancel_id;   /* polkit has been asked and has not answered */
	bool interactive;
};

static void finish(struct authorization *a, enum authorization_result result)
{
	free(TAKE_PTR(a->cancel_id));
	a->done(a->userdata, result);
}

static bool polkit_is_missing(const sd_bus_error *e)
{
	return sd_bus_error_has_names(e, SD_BUS_ERROR_SERVICE_UNKNOWN, SD_BUS_ERROR_NAME_HAS_NO_OWNER,
				      "org.freedesktop.DBus.Error.Spawn.ServiceNotFound",
				      "org.freedesktop.systemd1.NoSuchUnit", "org.freedesktop.systemd1.UnitMasked");
}

static int on_polkit_answer(sd_bus_message *reply, void *userdata, sd_bus_error *ret_error)
{
	struct authorization *a = userdata;
	const sd_bus_error *e = sd_bus_message_get_error(reply);
	int authorized = 0, challenge = 0, r;

	if (e) {
		if (!polkit_is_missing(e))
			journal(LOG_WARNING, EVENT_NONE, NULL, "polkit cannot be asked about %s, so it is refused: %s",
				a->action, e->message ?: e->name);
		finish(a, AUTHORIZATION_DENIED);
		return 0;
	}
	r = sd_bus_message_enter_container(reply, SD_BUS_TYPE_STRUCT, "bba{ss}");
	if (r > 0)
		r = sd_bus_message_read(reply, "bb", &authorized, &challenge);
	if (r <= 0) {
		journal(LOG_WARNING, EVENT_NONE, NULL, "polkit's answer about %s makes no sense, so it is refused",
			a->action);
		finish(a, AUTHORIZATION_DENIED);
	} else if (authorized) {
		finish(a, AUTHORIZATION_GRANTED);
	} else {
		finish(a, challenge && !a->interactive ? AUTHORIZATION_NEEDS_DIALOG : AUTHORIZATION_DENIED);
	}
	return 0;
}

static int ask_polkit(struct authorization *a)
{
	_cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL;
	sd_bus *bus = sd_bus_message_get_bus(a->call);
	uint64_t cookie = 0;
	int r;

	a->interactive = sd_bus_message_get_allow_interactive_authorization(a->call) > 0;
	r = sd_bus_message_get_cookie(a->call, &cookie);
	if (r < 0)
		return r;
	/* Unique among the questions that are open: a sender does not reuse a cookie while it waits for the answer. */
	a->cancel_id = xasprintf("mmoptd %s %llu", sd_bus_message_get_sender(a->call), (unsigned long long)cookie);
	if (!a->cancel_id)
		return -ENOMEM;
	r = sd_bus_message_new_method_call(bus, &m, POLKIT_NAME, POLKIT_PATH, POLKIT_INTERFACE, "CheckAuthorization");
	if (r >= 0)
		r = sd_bus_message_append(m, "(sa{sv})sa{ss}us", "system-bus-name", 1, "name", "s",
					  sd_bus_message_get_sender(a->call), a->action, 0,
					  a->interactive ? POLKIT_ALLOW_INTERACTION : 0, a->cancel_id);
	if (r < 0)
		return r;
	a->slot = sd_bus_slot_unref(a->slot);
	return sd_bus_call_async(bus, &a->slot, m, on_polkit_answer, a,
				 a->interactive ? POLKIT_DIALOG_TIMEOUT_USEC : POLKIT_TIMEOUT_USEC);
}

static int on_user(sd_bus_message *reply, void *userdata, sd_bus_error *ret_error)
{
	struct authorization *a = userdata;
	const sd_bus_error *e = sd_bus_message_get_error(reply);
	uint32_t uid;
	int r;

	if (e && sd_bus_error_has_name(e, SD_BUS_ERROR_NAME_HAS_NO_OWNER)) {
		finish(a, AUTHORIZATION_CALLER_GONE);
		return 0;
	}
	r = e ? -sd_bus_error_get_errno(e) : sd_bus_message_read(reply, "u", &uid);
	if (r >= 0 && (uid == 0 || uid == geteuid())) {
		finish(a, AUTHORIZATION_GRANTED);
		return 0;
	}
	if (r >= 0)
		r = ask_polkit(a);
	if (r < 0) {
		journal(LOG_WARNING, EVENT_NONE, NULL, "cannot find out who asks for %s, so it is refused: %s",
			a->action, strerror(-r));
		finish(a, AUTHORIZATION_DENIED);
	}
	return 0;
}

int authorization_new(sd_bus_message *call, const char *action, authorization_done done, void *userdata,
		      struct authorization **ret)
{
	_cleanup_(authorization_freep) struct authorization *a = calloc(1, sizeof(*a));
	const char *sender = sd_bus_message_get_sender(call);
	int r;

	if (!a)
		return -ENOMEM;
	if (!sender)
		return -EACCES;
	*a = (struct authorization){
		.call = sd_bus_message_ref(call),
		.action = action,
		.done = done,
		.userdata = userdata,
	};
	r = sd_bus_call_method_async(sd_bus_message_get_bus(call), &a->slot, "org.freedesktop.DBus",
				     "/org/freedesktop/DBus", "org.freedesktop.DBus", "GetConnectionUnixUser", on_user,
				     a, "s", sender);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(a);
	return 0;
}

void authorization_free(struct authorization *a)
{
	if (!a)
		return;
	if (a->cancel_id)
		(void)sd_bus_call_method_async(sd_bus_message_get_bus(a->call), NULL, POLKIT_NAME, POLKIT_PATH,
					       POLKIT_INTERFACE, "CancelCheckAuthorization", NULL, NULL, "s",
					       a->cancel_id);
	free(a->cancel_id);
	sd_bus_slot_unref(a->slot);
	sd_bus_message_unref(a->call);
	free(a);
}
