/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The waiting of "apply --confirm-within".  It is told from elsewhere by the undo record or by mmoptd, and from the
 * terminal by Enter.  A signal, a terminal that is gone and the deadline all mean: go back.
 */

enum confirm_answer {
	CONFIRM_ENTER,	/* the user at this terminal keeps it */
	CONFIRM_RECORD, /* it is decided elsewhere: by the undo record, or by what mmoptd says */
	CONFIRM_DEADLINE,
	CONFIRM_SIGNAL,
	CONFIRM_HANGUP, /* the terminal is gone */
};

struct confirm_wait {
	uint64_t deadline_sec; /* CLOCK_BOOTTIME */
	/*
	 * What wakes the wait to have a look at whether it is decided: this descriptor when it can be read, which
	 * is_decided() does; or, where it is negative, a change of the undo record below root_fd.
	 */
	int decision_fd;
	int root_fd;
	bool quiet;
	/* 1 where it is decided elsewhere, 0 where not, or a negative errno. */
	int (*is_decided)(void *userdata);
	void *userdata;
};

/*
 * Blocks SIGINT, SIGTERM and SIGHUP, so that from here on they are answers and not the end.  To be called before
 * anything is written.  A signal that was ignored from the start (nohup) stays ignored.
 */
int confirm_block_signals(sigset_t *ret_signals);

/* 0 and *ret, or a negative errno: then nobody can wait, and the caller goes back. */
int confirm_wait(const struct confirm_wait *w, const sigset_t *signals, enum confirm_answer *ret);

/* Why it goes back, "not confirmed in time"; NULL where it does not, or where the record says so itself. */
const char *confirm_answer_text(enum confirm_answer answer);
