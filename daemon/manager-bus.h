/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

#include "base/macros.h"
#include "daemon/manager.h"

/*
 * org.mmopt1 on the system bus, see org.mmopt1(5).  It waits for the bus instead of needing it
 * (sd_bus_set_watch_bind), so that the daemon works before the bus is there, without one, and after it was restarted.
 * Nothing in here waits for an answer, and no timer runs while the connection stands.
 */
struct manager_bus;

/* 0 (also where there is no bus) or a negative errno. m is borrowed and outlives it. */
int manager_bus_new(struct manager *m, sd_event *event, struct manager_bus **ret);
void manager_bus_free(struct manager_bus *b);
DEFINE_CLEANUP(struct manager_bus *, manager_bus_free);

/* The manager calls these; b NULL: nothing.  A failure is logged. */
void manager_bus_emit_applied(struct manager_bus *b, unsigned transaction, const char *verb, const char *result,
			      int64_t saved_bytes);
void manager_bus_emit_drifted(struct manager_bus *b, const char *id, const char *from, const char *to, pid_t pid,
			      const char *comm);
/* Some of the properties may have another value now: PropertiesChanged for those that have. */
void manager_bus_properties_changed(struct manager_bus *b);
/* Sends what is queued, before the end: waits for a bus daemon that does not read, but a second at most. */
void manager_bus_flush(struct manager_bus *b);
