/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-event.h>

#include "base/macros.h"

/*
 * Tells when something changed that the policy or the daemon's settings are read from: *.conf in policy.d and in
 * mmoptd.conf.d, and mmoptd.conf, below /etc/mmopt, /run/mmopt, /usr/local/lib/mmopt and /usr/lib/mmopt; by inotify,
 * without wake-ups while nothing changes.  Files and directories that are not there yet are noticed when they appear,
 * and symbolic links are followed: what they lead to counts, and so does a link that leads elsewhere.  Hidden files
 * and other names than *.conf do not count.  A burst of changes is told once, when it has been quiet for a second and
 * at the latest 10 s after its start.  What cannot be watched is logged, once.
 */
struct watch_policy;

/* 0 or a negative errno. changed is called from the event loop, and may free the watch. */
int watch_policy_new(sd_event *event, void (*changed)(void *userdata), void *userdata, struct watch_policy **ret);
void watch_policy_free(struct watch_policy *w);
DEFINE_CLEANUP(struct watch_policy *, watch_policy_free);
