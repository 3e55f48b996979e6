/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>
#include <systemd/sd-event.h>

#include "base/macros.h"

/*
 * Watches memory pressure for a while: a PSI trigger on /proc/pressure/memory (Documentation/accounting/psi.rst),
 * "some" over windows of 2 s, the shortest that needs no privilege since Linux 6.5.  exceeded is called once, at most,
 * when tasks stalled for at least level_permyriad of a window; finished is called once, when for_usec (by
 * CLOCK_BOOTTIME) is over without that.  What was stalled before does not count; without CAP_SYS_RESOURCE, neither does
 * what is stalled in the first 2 s.  After either call the watch is idle: it holds no trigger and causes no wake-ups.
 * Both may free it.
 */
struct watch_pressure;

/*
 * 0; -EINVAL where level_permyriad is not 1 to 10000; -EOPNOTSUPP where the kernel has no PSI triggers (before Linux
 * 5.2) or PSI is off (psi=0); or another negative errno (-EPERM before 6.5 without CAP_SYS_RESOURCE).
 */
int watch_pressure_new(sd_event *event, unsigned level_permyriad, uint64_t for_usec, void (*exceeded)(void *userdata),
		       void (*finished)(void *userdata), void *userdata, struct watch_pressure **ret);
void watch_pressure_free(struct watch_pressure *w);
DEFINE_CLEANUP(struct watch_pressure *, watch_pressure_free);
