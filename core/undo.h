/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/kernel-io.h"

/*
 * The undo record: /run/mmopt/transactions/NNNN below the root, one file per transaction of this boot, keyed by the
 * boot id. A line per event, appended by one write(2) before the kernel write it covers.  It has to outlive mmopt, not
 * the machine: what it would undo is gone with a reboot, so a completed write(2) is durable enough and nothing is
 * synced.
 */

enum transaction_state {
	TRANSACTION_OPEN,	 /* being applied; after a crash: to be undone */
	TRANSACTION_UNCONFIRMED, /* applied, waiting for "confirm"; undone at its deadline */
	TRANSACTION_COMMITTED,
	TRANSACTION_UNDONE,
};

struct undo_entry {
	char *id;
	char *path;
	char *before;	/* canonical, before the write */
	char *intended; /* what was to be written */
	char *after;	/* read back after the write; NULL where the write may not have happened */
};

/* What waiting for memory had cost all processes together, at some time (daemon/watch-netlink.h). */
struct undo_delays {
	bool known;
	uint64_t reclaim_nsec, swapin_nsec, thrashing_nsec;
};

enum undo_delays_when {
	UNDO_DELAYS_BEFORE, /* the first write */
	UNDO_DELAYS_AFTER,  /* a while after the last one */
};

struct transaction {
	unsigned number;
	enum transaction_state state;
	char *boot_id;
	uint64_t time_sec;     /* CLOCK_REALTIME at the start */
	uint64_t deadline_sec; /* TRANSACTION_UNCONFIRMED: CLOCK_BOOTTIME */
	char *verb;	       /* "apply", "reapply", "memory" */
	struct undo_entry *entries;
	size_t n_entries;
	int64_t saved_bytes; /* measured saving at its end; 0 with saved_known false */
	bool saved_known;
	char *note;		      /* how it ended, for history */
	uint64_t memory_bytes;	      /* MemTotal at its end; 0 where not known */
	struct undo_delays delays[2]; /* by enum undo_delays_when */
};

/* The state directory below a root, and the lock on it.  Only one process holds it. */
struct undo_store;

/*
 * Opens (and makes, where write is true) /run/mmopt below root_fd and takes the lock.
 * boot_id: transactions of other boots are dropped (write) or not shown.
 * 0; -EBUSY where another process holds the lock (*ret_holder_pid, may be NULL, is set); or another negative errno.
 */
int undo_store_open(int root_fd, const char *boot_id, bool write, struct undo_store **ret, int *ret_holder_pid);
void undo_store_free(struct undo_store *store);
DEFINE_CLEANUP(struct undo_store *, undo_store_free);

/*
 * The transactions of this boot, oldest first; the store owns them.  A store opened for writing leaves out those that
 * are undone: they are for history.
 */
const struct transaction *undo_store_transactions(struct undo_store *store, size_t *ret_n);

/* What mmopt last did to that file in this boot and has not taken back, or NULL. */
const struct undo_entry *undo_last_entry(struct undo_store *store, const char *path);
/*
 * Where the last thing that mmopt did to that file was to take a transaction back: what had been on record for it, or
 * NULL.  Its `before` is what mmopt put there.  Only a store opened for reading knows of it.
 */
const struct undo_entry *undo_last_given_back(struct undo_store *store, const char *path);

/* Starts a transaction. Each call below appends one line. 0 or a negative errno. */
int undo_begin(struct undo_store *store, const char *verb);
/* Before the kernel write: returns only when the record is in place. */
int undo_before(struct undo_store *store, const char *id, const char *path, const char *before, const char *intended);
/* After it: the value read back. */
int undo_after(struct undo_store *store, const char *id, const char *path, const char *after);
/* Ends it. deadline_sec is looked at for TRANSACTION_UNCONFIRMED only. note may be NULL. */
int undo_end(struct undo_store *store, enum transaction_state state, uint64_t deadline_sec, const char *note);
/* What the machine saves by mmopt's count, for history: belongs to the transaction that undo_end() ended last. */
int undo_saved(struct undo_store *store, int64_t saved_bytes);
/* The memory that the machine had then (MemTotal); to the same transaction. */
int undo_memory(struct undo_store *store, uint64_t total_bytes);
/* Changes how an earlier transaction stands (confirm, rollback, recovery). */
int undo_mark(struct undo_store *store, unsigned number, enum transaction_state state, const char *note);
/* A try to take that value back left this one there: it is mmopt's own, and the next try goes on from it. */
int undo_left(struct undo_store *store, unsigned number, const char *path, const char *value);
/* For history: what waiting for memory had cost around that transaction. -ENOENT where it is none that stands. */
int undo_delays(struct undo_store *store, unsigned number, enum undo_delays_when when, uint64_t reclaim_nsec,
		uint64_t swapin_nsec, uint64_t thrashing_nsec);
/* The transaction being recorded between undo_begin() and undo_end(), or NULL. */
const struct transaction *undo_current(struct undo_store *store);

/*
 * The process that waits for "confirm" holds a lock of its own, for as long as it lives; the store's lock is free
 * meanwhile. undo_confirm_hold() makes /run/mmopt where it is missing and returns a file descriptor that holds the
 * lock, -EBUSY where somebody else does, or another negative errno; undo_confirm_waiting() tells whether some process
 * does.
 */
int undo_confirm_hold(int root_fd);
bool undo_confirm_waiting(struct undo_store *store);

/* Parses one record, for tests and fuzzing. A torn last line is left out. 0, -EINVAL, -ENOMEM. */
int transaction_parse(const char *text, size_t size, struct transaction *ret);
void transaction_clear(struct transaction *t);

const char *transaction_state_name(enum transaction_state state);
