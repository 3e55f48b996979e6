/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "cli/bus-client-library.h"
#include "cli/bus-client.h"

/* For the files of the bus client only. */

struct bus_client {
	struct cli *cli;
	struct bus_library library;
	sd_bus *bus;
	bool remote;	/* --host or --machine */
	bool connected; /* the bus has answered once */
};

/* What came back. The diagnostics are in cli->diags already. */
struct bus_reply {
	char *document;
	size_t size;
	int exit_status;
	/* Of Apply. */
	unsigned transaction;
	bool unconfirmed;
};
void bus_reply_clear(struct bus_reply *r);

struct bus_request {
	const char *method;
	const char *view;	     /* of Describe, else NULL */
	const char *id;		     /* of view "explain" */
	unsigned transaction;	     /* of Confirm and Rollback: this one, while it waits; 0: not given */
	uint64_t confirm_within_sec; /* of Apply, 0: not given */
	bool bound;		     /* of Apply */
	bool changes;		     /* the machine: it must not be done twice */
};

/* Waits until the bus has said hello.  0 or a negative errno, without a message. */
int bus_client_connect(struct bus_client *c);

/*
 * Sends it and waits for the answer.  1 and *ret; 0 where it was not done and the engine here may do it (not with
 * remote); or a negative errno with a message.
 */
int bus_client_call(struct bus_client *c, const struct bus_request *q, struct bus_reply *ret);

/* The verb apply, without --dry-run: the same results as bus_client_run(). */
int bus_client_apply(struct bus_client *c, struct report **ret);

/* What is to be shown in the end. Takes the reply. */
void bus_client_show(struct bus_client *c, struct bus_reply *reply);
