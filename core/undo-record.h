/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/undo.h"

/* The text of an undo record, a line of fields (base/fields.h) per event; between undo-record.c and undo.c. */

#define UNDO_RECORD_HEADER "mmopt-undo 1"

const char *undo_delays_when_name(enum undo_delays_when when);

void undo_entry_clear(struct undo_entry *e);
int transaction_add(struct transaction *t, const char *id, const char *path, const char *before, const char *intended);
/* -EINVAL where no entry has that path. */
int transaction_set_after(struct transaction *t, const char *path, const char *after);

/* Appends one line, the event and its fields, by one write(2). 0 or a negative errno; then the record is as it was. */
int record_append(int fd, const char *event, const char *const *fields, size_t n);

#define RECORD_APPEND(fd, event, ...)                                  \
	record_append(fd, event, (const char *const[]){ __VA_ARGS__ }, \
		      sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))
