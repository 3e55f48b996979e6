/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>
#include <systemd/sd-event.h>

#include "base/macros.h"

/*
 * Watches memory pressure for a while: a PSI trigger on /proc/pressure/memory (Documentation/accounting/psi.rst), "some" over windows of 2 s, the
 * shortest that needs no privilege since Linux 6.5.  exceeded is called once, at most, when tasks stalled for more than level_permyriad of a window;
 * finished is called once, when for_usec is over without that.  After either the watch is idle: it holds no trigger and causes no wake-ups.
 */
struct watch_pressure;

/* 0; -EOPNOTSUPP where the kernel has no PSI or it is off (psi=0); or another negative errno. */
int watch_pressure_new(sd_event *event, unsigned level_permyriad, uint64_t for_usec, void (*exceeded)(void *userdata),
		       void (*finished)(void *userdata), void *userdata, struct watch_pressure **ret);
void watch_pressure_free(struct watch_pressure *w);
DEFINE_CLEANUP(struct watch_pressure *, watch_pressure_free);
