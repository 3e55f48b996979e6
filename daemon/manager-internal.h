/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-event.h>

#include "core/live-state.h"
#include "daemon/job.h"
#include "daemon/manager-bus.h"
#include "daemon/manager-conf.h"
#include "daemon/manager.h"
#include "daemon/pin-zero-page.h"
#include "daemon/watch-drift.h"
#include "daemon/watch-netlink.h"
#include "daemon/watch-policy.h"
#include "daemon/watch-pressure.h"

/* Shared by the files manager*.c only. */

/* A job that somebody asked for. */
struct ticket {
	uint64_t number;
	struct job_request request;
	job_done done; /* NULL: nobody waits for the answer any more */
	void *userdata;
	bool asked; /* by a caller, who may have left since; false: by mmoptd itself */
	struct ticket *next;
};

/* One child at a time, and those who wait for theirs.  Two lanes: looking goes on while something is being written. */
struct lane {
	struct manager *manager;
	struct ticket *waiting;	 /* in the order they came */
	struct ticket *answered; /* those whom the running child's result is for; NULL: no child is running */
	struct job job;
	sd_event_source *child;
	size_t n_waiting;
	uint64_t epoch; /* manager.epoch when the child was started */
};

/* An item of the policy as it was when mmoptd last had a hand in it, and what others did to it since. */
struct watched_item {
	char *id;
	char *path;		    /* or NULL: nothing to watch */
	char *value;		    /* what it was when last in order, or NULL where not known */
	char *drifted_to;	    /* NULL: as it was */
	struct drift_writer writer; /* of the last write seen; pid 0: unknown */
	uint64_t time_sec;
	unsigned times;	 /* changed by others */
	unsigned fights; /* set again by mmoptd */
	bool given_up;
};

struct manager {
	sd_event *event;
	int root_fd;
	struct manager_conf conf;
	struct manager_bus *bus;
	struct policy *policy; /* in force, or NULL: none could be read yet */
	char *policy_error;    /* the one on disk cannot be taken: its first mistake */
	int running_lock_fd;

	struct lane readers, writers;
	sd_event_source *dispatch; /* looks what can be started, once */
	uint64_t last_ticket;
	uint64_t epoch;	   /* counts the beginnings and ends of jobs that write */
	bool check_wanted; /* compare the machine with the policy when nothing is being written */
	bool reset_wanted; /* and take what is found as the state that others may drift from */
	bool ready;	   /* the service manager has been told so */
	bool stopping;
	bool module_tried; /* left by mmopt-apply: tried once since the start or the last reload */
	bool module_retry; /* after a reload one that was refused is tried again, once */
	bool module_again; /* the try that is under way is that one */

	struct watched_item *items; /* sorted by id */
	size_t n_items;
	struct watch_policy *watch_policy;
	struct watch_drift *watch_drift;
	struct watch_memory *watch_memory;
	struct watch_pressure *watch_pressure;
	sd_event_source *drift_timer;
	sd_event_source *check_timer;
	sd_event_source *reapply_timer;
	uint64_t last_check_usec;   /* CLOCK_MONOTONIC; 0: never */
	uint64_t last_reapply_usec; /* CLOCK_MONOTONIC; 0: never */

	int confirm_fd;	      /* the lock of those who wait for a confirmation */
	unsigned unconfirmed; /* transaction, 0: none */
	sd_event_source *confirm_timer;
	sd_event_source *recover_timer;
	sd_event_source *delays_timer;
	unsigned delays_transaction;

	struct zero_page zero_page;
	bool wants_zero_page;
	char *zero_page_error;

	/* As the last comparison found them. */
	bool compared, differs, reboot_required, unconfirmed_seen;
	bool last_job_failed;
	int64_t saved_bytes;
	uint64_t memory_bytes;
	uint64_t record; /* as the last job left or found it */
	unsigned last_transaction;
	uint64_t since_sec;
};

/* manager-jobs.c */
void lane_init(struct lane *lane, struct manager *m);
void lane_clear(struct lane *lane);
/* Starts what can be started. */
void manager_dispatch(struct manager *m);
/* Compare soon; reset: what is found is then the state to drift from. */
void manager_want_check(struct manager *m, bool reset);
/* A job of the manager's own; a failure to queue it is logged. */
void manager_submit_own(struct manager *m, const struct job_request *request);
/* One whose result the manager wants to see. 0 or a negative errno. */
int manager_submit_own_for(struct manager *m, const struct job_request *request, job_done done, void *userdata);
bool manager_is_busy(const struct manager *m); /* something is being written */
/* Ends the event loop once what is being written is written. */
void manager_stop(struct manager *m);

/*
 * manager-results.c: what follows from a job's result; result NULL: the job could not be run.  undisturbed: mmopt
 * itself wrote nothing while it looked.
 */
void manager_on_result(struct manager *m, const struct job_request *request, int error, const struct job_result *result,
		       bool undisturbed);

/* manager-drift.c */
void manager_on_write_seen(void *userdata, const char *path, const struct drift_writer *writer);
/* Compares the items of a result with what they were; reset: takes them as they are. 0 or -ENOMEM. */
int manager_compare_items(struct manager *m, const struct job_result *result, bool reset);
/* What mmopt has just written is the state to drift from. */
int manager_note_written(struct manager *m, const struct job_result *result);
/* Somebody asked for the policy as it is: old fights are forgotten. */
void manager_forgive(struct manager *m);
/* These could not be set again, since something else was being written. */
void manager_take_back_fights(struct manager *m, char *const *ids);
void manager_arm_drift_timer(struct manager *m);
void watched_items_clear(struct manager *m);

/* manager-confirm.c */
int manager_prepare_confirm(struct manager *m);
void manager_watch_unconfirmed(struct manager *m, const struct job_result *result);
void manager_release_confirm(struct manager *m);
/* Another program held the lock, or the worker died: once more after a pause. */
void manager_recover_later(struct manager *m);

/* manager-state.c: what mmoptctl and the bus see. */
void manager_publish(struct manager *m);
void manager_update_zero_page(struct manager *m);
/* For the metrics and the reboot-required file. */
void manager_update_files(struct manager *m);
