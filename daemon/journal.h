/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/types.h>
#include <syslog.h>

#include "base/macros.h"
#include "core/diag.h"

/*
 * The daemon's log: to the journal with structured fields where standard error is connected to it (JOURNAL_STREAM, see
 * systemd.exec(5)), else one line to standard error, debugging left out.  Control characters in texts and values are
 * escaped.  Keeps errno.  Never fails: a log that cannot be written is nobody's business.
 */

/* Message ids, each with a text of what to do in units/mmopt.catalog; see journalctl -x. */
enum event {
	EVENT_NONE,	    /* without an id */
	EVENT_APPLIED,	    /* a transaction ended, fully or partly */
	EVENT_APPLY_FAILED, /* nothing was applied, or all was taken back */
	EVENT_ITEM,	    /* one item that was written */
	EVENT_ITEM_SHORT,   /* one item that is partial, refused, unsupported or unsafe */
	EVENT_REBOOT_REQUIRED,
	EVENT_ROLLED_BACK,
	EVENT_RECOVERED,     /* what an earlier run left was taken back */
	EVENT_NOT_CONFIRMED, /* the deadline is over, or the caller is gone */
	EVENT_POLICY_LOADED,
	EVENT_POLICY_REJECTED, /* mistakes: the last good one stays */
	EVENT_DRIFT,	       /* somebody else changed a value */
	EVENT_REAPPLIED,
	EVENT_GIVEN_UP,	      /* fought over a value too often */
	EVENT_MEMORY_CHANGED, /* memory came or went */
	EVENT_GUARD,	      /* pressure after an apply: pools taken back */
	EVENT_ZERO_PAGE,      /* held, or why not */
	EVENT_CONFIGURATION,  /* a mistake in mmoptd.conf */
	EVENT_MODULE,	      /* the kernel module was loaded */
};

/* What an entry is about. Every member may be NULL (0) and is then left out. */
struct journal_fields {
	const char *tunable;	 /* MMOPT_TUNABLE= */
	const char *old_value;	 /* OLD_VALUE= */
	const char *new_value;	 /* NEW_VALUE= */
	const char *outcome;	 /* MMOPT_OUTCOME= */
	const char *reason;	 /* REASON= */
	const char *file;	 /* CONFIG_FILE= */
	unsigned line;		 /* CONFIG_LINE= */
	unsigned transaction;	 /* MMOPT_TRANSACTION= */
	pid_t writer_pid;	 /* MMOPT_WRITER_PID= */
	const char *writer_comm; /* MMOPT_WRITER_COMM= */
};

/*
 * priority: LOG_ERR, LOG_WARNING, LOG_NOTICE, LOG_INFO, LOG_DEBUG. fields may be NULL. The text: one line, no full
 * stop.
 */
void journal(int priority, enum event event, const struct journal_fields *fields, const char *fmt, ...) _printf_(4, 5);

/* Each message of the list with its severity, file, line and key. */
void journal_diags(enum event event, const struct diag_list *diags);

/*
 * "a1b2...": the id of an event as 32 hexadecimal digits, NULL for EVENT_NONE. For the tests that hold the catalog
 * against them.
 */
const char *event_message_id(enum event event);
