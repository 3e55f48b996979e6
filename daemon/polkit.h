/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "base/macros.h"

/*
 * May the sender of a message do this?  Root and mmoptd's own user may: a bus daemon vouches for the user of its
 * clients, whereas their capabilities cannot be told without a race (sd_bus_query_sender_privilege() goes by the
 * same, but waits for the answer).  Everybody else needs the consent of polkit,
 * https://www.freedesktop.org/software/polkit/docs/latest/; where polkit is missing, nobody gives it. Both are asked
 * without waiting: the answer comes from the event loop.
 */
enum authorization_result {
	AUTHORIZATION_GRANTED,
	AUTHORIZATION_DENIED,
	AUTHORIZATION_NEEDS_DIALOG, /* polkit would have to ask the user, and the call does not allow that */
	AUTHORIZATION_CALLER_GONE,
};

struct authorization;

/* Called once; the authorization is still the caller's to free, also in here. */
typedef void (*authorization_done)(void *userdata, enum authorization_result result);

/* action: of the file org.mmopt1.policy, not copied. 0, or a negative errno: then done is not called. */
int authorization_new(sd_bus_message *call, const char *action, authorization_done done, void *userdata,
		      struct authorization **ret);
/* Where polkit still asks the user, it is told to stop. */
void authorization_free(struct authorization *a);
DEFINE_CLEANUP(struct authorization *, authorization_free);
