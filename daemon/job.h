/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/diag.h"
#include "core/engine.h"

/*
 * A piece of work of the engine, done in a child process of mmoptd: the event loop goes on while a pool grows, memory
 * is given back when the child ends, and a crash of the engine is not one of the daemon.  The child dies with the
 * daemon.
 */

enum job_kind {
	JOB_DESCRIBE, /* a view, for a caller */
	JOB_VERIFY,   /* compare; for a caller, or after an event */
	JOB_APPLY,
	JOB_REAPPLY, /* the items in request.only, after drift */
	JOB_MEMORY,  /* the items given as a share of memory, after it changed */
	JOB_MODULE,  /* the item in request.only, which waits for a kernel module that mmopt-apply could not load */
	JOB_CONFIRM,
	JOB_ROLLBACK,
	JOB_RECOVER, /* what a crash, a deadline or a vanished caller left */
	JOB_GIVE_BACK_POOLS,
	JOB_DELAYS, /* notes what waiting for memory has cost since request.transaction */
};

/* Does it take the lock on the undo record?  Such jobs run one at a time. */
bool job_kind_writes(enum job_kind kind);
const char *job_kind_name(enum job_kind kind); /* "describe", "apply", ... */

enum job_view {
	VIEW_STATUS,
	VIEW_FACTS,
	VIEW_PLAN,
	VIEW_VERIFY,
	VIEW_SAVINGS,
	VIEW_LIST,
	VIEW_EXPLAIN,
	VIEW_HISTORY,
	VIEW_CHECK,
	VIEW_METRICS, /* format text only */
};

enum job_format {
	FORMAT_TEXT,
	FORMAT_JSON_SHORT,
	FORMAT_JSON_PRETTY,
};

const char *job_view_name(enum job_view view);
int job_view_from_name(const char *name, enum job_view *ret);	  /* "status" ...; 0 or -EINVAL */
int job_format_from_name(const char *name, enum job_format *ret); /* "text", "json", "json-pretty"; 0 or -EINVAL */

/* What is wanted.  Two requests that read, and are equal in every member, may share one answer. */
struct job_request {
	enum job_kind kind;
	enum job_view view;
	enum job_format format;
	unsigned width; /* of the caller's terminal; 0: none */
	bool colour;
	bool utf8; /* the caller's locale */
	bool what_if;
	char *id;	      /* VIEW_EXPLAIN */
	char **only;	      /* JOB_REAPPLY, JOB_MODULE */
	unsigned transaction; /* JOB_DELAYS; JOB_CONFIRM and _ROLLBACK: this one, while it waits; 0: the last */
	bool force;
	bool all; /* JOB_ROLLBACK */
	uint64_t pool_timeout_usec;
	uint64_t confirm_within_sec;
};
void job_request_clear(struct job_request *r);
bool job_request_equal(const struct job_request *a, const struct job_request *b);
int job_request_copy(const struct job_request *r, struct job_request *ret);

/* One item of the plan, as the manager needs it. */
struct job_item {
	char *id;
	char *path; /* or NULL */
	enum outcome outcome;
	char *before, *after; /* apply: before and now; verify: what mmopt left and what is */
	bool differs;
	bool is_share;	      /* given as a share of memory */
	bool wants_zero_page; /* thp.persistent_zero_page = yes */
	/* It waits for the kernel module: what became of that (left to mmoptd, refused); else untried. */
	enum module_state module;
};

struct job_result {
	int error; /* negative errno where the work failed; its message is in diags */
	int exit_status;
	enum apply_result apply_result; /* JOB_APPLY, _REAPPLY, _MEMORY, _MODULE */
	unsigned transaction;		/* the last of this boot, 0: none */
	bool changed;			/* a transaction was made or taken back */
	bool unconfirmed;		/* that one waits for confirmation */
	uint64_t deadline_sec;		/* CLOCK_BOOTTIME */
	bool pools_grown;		/* a huge page pool has more pages than before */
	uint64_t record;		/* another number after each write of any of mmopt's programs */
	bool reboot_required;
	bool saved_known;
	int64_t saved_bytes;
	uint64_t memory_bytes; /* MemTotal it reckoned with */
	int document_fd;       /* sealed memory file with what mmoptctl would print to standard output; -EBADF: none */
	struct diag_list diags;
	struct job_item *items;
	size_t n_items;
	size_t n_transactions_undone, n_values_undone, n_values_foreign, n_values_failed;
};
void job_result_clear(struct job_result *r);

/*
 * The child's side: does the work in this process and fills *ret.  policy: the one in force (borrowed), or NULL to read
 * it.  Logs to the journal what was written.  0, or a negative errno where not even a result could be made.
 */
int job_run(const struct job_request *request, struct policy *policy, struct job_result *ret);

/* A child at work. */
struct job {
	pid_t pid;
	int document_fd;
	int result_fd;
};

/*
 * Starts it in a child process, which dies when this one does.  0 or a negative errno.  The caller waits for the child
 * (SIGCHLD), then calls job_collect().
 */
int job_start(const struct job_request *request, struct policy *policy, struct job *ret);
/*
 * What the child has left; exited: it ended by itself with status 0.  Closes what job holds.  0 or a negative errno
 * (-EIO: the child crashed, -EBADMSG: what it left is no result).
 */
int job_collect(struct job *job, bool exited, struct job_result *ret);
