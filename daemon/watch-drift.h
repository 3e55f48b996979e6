/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-event.h>

#include "base/macros.h"

/*
 * Tells when some process writes to kernel files that mmopt looks after, whether or not the value changes.
 *
 * Three ways, the best that this kernel gives for each file: a BPF program on the root cgroup sees writes below
 * /proc/sys with the writer's pid and name; fanotify sees writes to any of the files with the pid, and with the name
 * if the process lives long enough to be asked; inotify sees them without.  All three see writes by processes only:
 * values that the kernel itself moves are for the slow timer.  So are writes through another mount of /proc (BPF sees
 * those) or of /sys in another network namespace, since their inodes are others.  docs/kernel-facts.md has what was
 * tried on which kernel.
 */
struct watch_drift;

struct drift_writer {
	pid_t pid;     /* 0: unknown */
	char comm[16]; /* "": unknown */
};

/*
 * path: as it was given to watch_drift_set().  writer: the last one known.  Called from the event loop, 200 ms after
 * the first write and at most 5 s where a file is written all the time; what came until then is one call.  A write
 * that takes long may be told at its start and its end.  After an overflow of a queue every file is told with the
 * writer unknown.  Must not call watch_drift_set() or watch_drift_free().
 */
typedef void (*drift_handler)(void *userdata, const char *path, const struct drift_writer *writer);

enum drift_method {
	DRIFT_METHOD_NONE, /* only the slow timer sees it */
	DRIFT_METHOD_INOTIFY,
	DRIFT_METHOD_FANOTIFY,
	DRIFT_METHOD_BPF,
};

/* Never fails for a method that is missing here. 0 or a negative errno. */
int watch_drift_new(sd_event *event, drift_handler handler, void *userdata, struct watch_drift **ret);
void watch_drift_free(struct watch_drift *w);
DEFINE_CLEANUP(struct watch_drift *, watch_drift_free);

/*
 * These files from now on (absolute paths below /proc or /sys, copied; NULL: none), instead of those before.  Those
 * in both sets stay watched without a gap; a file that has gone and come back since is found again.  0, or a negative
 * errno with everything as it was.
 */
int watch_drift_set(struct watch_drift *w, char *const *paths);
enum drift_method watch_drift_method(const struct watch_drift *w, const char *path);
/* True where each file is watched by some method. */
bool watch_drift_is_complete(const struct watch_drift *w);
const char *drift_method_name(enum drift_method method); /* "none", "inotify", "fanotify", "bpf" */
/* Why the BPF program is not there, one line, or NULL where it is. */
const char *watch_drift_bpf_error(const struct watch_drift *w);
