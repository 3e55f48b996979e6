/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/macros.h"
#include "daemon/job.h"

/*
 * The daemon's life: holds the policy in force and what is known of the machine's state, runs jobs, hears the watches
 * and decides what follows.  The bus (manager-bus.h) only translates.
 */
struct manager;

enum manager_state {
	MANAGER_STARTING,
	MANAGER_IN_SYNC,
	MANAGER_DIFFERS,     /* the machine is not as the policy wants it */
	MANAGER_DRIFTED,     /* somebody else changed a value */
	MANAGER_UNCONFIRMED, /* a transaction waits for its confirmation */
	MANAGER_APPLYING,    /* a job that writes is running */
	MANAGER_NO_POLICY,
	MANAGER_ERROR, /* the policy has mistakes, and there is none in force; or the last job failed */
};
const char *manager_state_name(enum manager_state state); /* "starting", "in-sync", "differs", "drifted", ... */

int manager_new(struct manager **ret);
void manager_free(struct manager *m);
DEFINE_CLEANUP(struct manager *, manager_free);

/* Runs until SIGTERM or SIGINT. 0 or a negative errno (already logged). */
int manager_run(struct manager *m);

/*
 * Queues a job; done is called from the event loop with its result (the manager's, valid during the call) or, where it
 * could not be run at all, with result NULL and a negative errno.  Jobs that read and are alike share a run that began
 * after the latest of them was asked for.  *ret_ticket (may be NULL) names it for manager_forget().
 * 0; -EBUSY where too many wait; or another negative errno.
 */
typedef void (*job_done)(void *userdata, int error, const struct job_result *result);
int manager_submit(struct manager *m, const struct job_request *request, job_done done, void *userdata,
		   uint64_t *ret_ticket);
/* The caller has gone: done will not be called.  A job that writes, or has begun, goes on. */
void manager_forget(struct manager *m, uint64_t ticket);

/*
 * Reads the policy and mmoptd.conf again.  Where the policy has mistakes, they go to diags and the one in force stays:
 * -EBADMSG. 0, or a negative errno with a message in diags.
 */
int manager_reload(struct manager *m, struct diag_list *diags);

/* The unconfirmed transaction is bound to a caller: it is taken back when that one says so or is gone. */
void manager_caller_gone(struct manager *m, unsigned transaction);

/* For the properties. */
enum manager_state manager_get_state(const struct manager *m);
bool manager_reboot_required(const struct manager *m);
int64_t manager_bytes_saved(const struct manager *m);	    /* 0 where not known */
unsigned manager_drift_count(const struct manager *m);	    /* values that others have changed, now */
unsigned manager_last_transaction(const struct manager *m); /* 0: none in this boot */
