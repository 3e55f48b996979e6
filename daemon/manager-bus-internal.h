/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "daemon/manager-bus.h"
#include "daemon/polkit.h"

/* What the files of the bus share; for them only. */

#define BUS_NAME "org.mmopt1"
#define BUS_PATH "/org/mmopt1"
#define BUS_INTERFACE "org.mmopt1.Manager"
#define BUS_ERROR_POLICY_INVALID "org.mmopt1.Error.PolicyInvalid"

/* Calls that are open at the same time: memory stays bounded, whoever asks. */
#define BUS_CALLS_MAX 2048
/* Of one caller: nobody keeps the others out. */
#define BUS_CALLS_PER_CALLER_MAX 32

enum bus_method {
	METHOD_DESCRIBE,
	METHOD_DESCRIBE_INLINE,
	METHOD_APPLY,
	METHOD_CONFIRM,
	METHOD_ROLLBACK,
	METHOD_VERIFY,
	METHOD_RELOAD,
};

/* A call whose answer is not sent yet. */
struct bus_call {
	struct bus_call *next, *previous;
	struct manager_bus *bus;
	sd_bus_message *message;
	enum bus_method method;
	struct job_request request;
	bool bound;
	bool caller_gone;		     /* and yet its end has to be seen: see bound */
	struct authorization *authorization; /* being asked for, or NULL */
	bool submitted;			     /* ticket counts */
	uint64_t ticket;
};

struct bus_properties {
	enum manager_state state;
	bool reboot_required;
	int64_t bytes_saved;
	unsigned drift_count, last_transaction;
};

struct manager_bus {
	struct manager *manager;
	sd_event *event;
	sd_bus *bus; /* NULL between two connections */
	bool named;  /* others can find us: what is worth telling is told */
	sd_event_source *retry;
	uint64_t retry_usec;
	struct bus_call *calls;
	size_t n_calls;
	sd_bus_slot *departures; /* while somebody's leaving matters */
	/* The unconfirmed transaction that is taken back when this caller leaves; NULL: none. */
	char *bound_sender;
	unsigned bound_transaction;
	struct bus_properties told;
};

/* The interface; userdata of all of it is a struct manager_bus. */
extern const sd_bus_vtable manager_bus_vtable[];

/* Handlers of the methods. */
int bus_method_describe(sd_bus_message *m, void *userdata, sd_bus_error *ret_error);
int bus_method_describe_inline(sd_bus_message *m, void *userdata, sd_bus_error *ret_error);
int bus_method_apply(sd_bus_message *m, void *userdata, sd_bus_error *ret_error);
int bus_method_confirm(sd_bus_message *m, void *userdata, sd_bus_error *ret_error);
int bus_method_rollback(sd_bus_message *m, void *userdata, sd_bus_error *ret_error);
int bus_method_verify(sd_bus_message *m, void *userdata, sd_bus_error *ret_error);
int bus_method_reload(sd_bus_message *m, void *userdata, sd_bus_error *ret_error);

/* The connection is gone, and with it every caller. */
void bus_calls_drop(struct manager_bus *b);
/* mmoptd ends: nothing is taken back for that, the next one sees to what is left. */
void bus_calls_free(struct manager_bus *b);

/*
 * Reads the arguments of a call into *request (cleared by the caller, also on failure) and *ret_bound. 0, or a
 * negative errno with *ret_error set: what is wrong, and what would be right.
 */
int bus_read_arguments(sd_bus_message *m, enum bus_method method, struct job_request *request, bool *ret_bound,
		       sd_bus_error *ret_error);

/* Answers a call with what its job found. 0 or a negative errno: then nothing was sent. */
int bus_reply(sd_bus_message *call, enum bus_method method, const struct job_result *result);
/* For Reload. */
int bus_reply_diags(sd_bus_message *call, const struct diag_list *diags);
/* Text from anywhere as a D-Bus string: a copy that the caller frees; NULL on lack of memory. s NULL is "". */
char *bus_text(const char *s);
