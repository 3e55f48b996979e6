/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * What a running mmoptd knows and the kernel's files do not tell: who changed a value, whether the huge zero page is
 * held. mmoptd writes it to /run/mmopt/daemon below the root; it counts only while mmoptd holds the lock
 * /run/mmopt/daemon.lock (for who may not look at the lock: while the process that wrote it is there), so that nothing
 * outlives the process it speaks of.
 */
struct live_drift {
	char *id;
	char *from, *to;   /* canonical values */
	pid_t pid;	   /* of the process that wrote it last; 0: unknown */
	char *comm;	   /* its name then, or NULL */
	uint64_t time_sec; /* CLOCK_REALTIME, when it was seen */
	unsigned times;	   /* how often this value was changed by others since mmoptd started */
	bool given_up;	   /* mmoptd no longer sets it again */
};

struct live_state {
	bool running; /* false: all else is empty */
	pid_t pid;
	uint64_t since_sec; /* CLOCK_REALTIME */
	bool zero_page_held;
	uint64_t zero_page_bytes;
	uint64_t zero_page_since_sec;
	bool zero_page_allocs_known;
	uint64_t zero_page_allocs; /* thp_zero_page_alloc in /proc/vmstat when it was taken */
	char *zero_page_error;	   /* why it is not held although the policy asks for it, or NULL */
	char *policy_error; /* the policy on disk has mistakes and an earlier one is in force: one line, or NULL */
	struct live_drift *drifts; /* sorted by id */
	size_t n_drifts;
};

/* Always leaves *ret in order; running is false where there is no mmoptd or its state cannot be read. 0 or -ENOMEM. */
int live_state_read(int root_fd, struct live_state *ret);
void live_state_clear(struct live_state *s);
/* Replaces the file.  s->pid has to be that of the process that holds the lock. 0 or a negative errno. */
int live_state_write(int root_fd, const struct live_state *s);
/*
 * Takes the lock for as long as the descriptor returned is open (and its copies in children); -EBUSY, or another
 * negative errno.
 */
int live_state_hold(int root_fd);
/*
 * Parses the file's text, for tests and fuzzing; *ret_start is when the process started (proc(5), stat, starttime; 0:
 * unknown). 0, -EINVAL (another format, or torn), -ENOMEM.
 */
int live_state_parse(const char *text, size_t size, struct live_state *ret, uint64_t *ret_start);
/* NULL where nobody else changed it. */
const struct live_drift *live_state_find(const struct live_state *s, const char *id);
