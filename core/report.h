/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "core/diag.h"

/*
 * What a verb has to say, as data: named fields, tables and messages.  Text and JSON are two renderings of the same report,
 * so what one shows the other has.
 */

enum cell_type {
	CELL_NULL, /* unknown: null in JSON, "-" in text */
	CELL_TEXT,
	CELL_NUMBER,
	CELL_BYTES, /* an integer in JSON (name it ..._bytes), "14.0 MiB" in text */
	CELL_BOOLEAN,
	CELL_TIME, /* seconds since the epoch: ISO 8601 UTC in both */
};

enum column_flags {
	COLUMN_RIGHT = 1 << 0, /* right-aligned */
	COLUMN_JSON_ONLY = 1 << 1,
	COLUMN_TEXT_ONLY = 1 << 2,
	COLUMN_WRAP = 1 << 3,	   /* may be wrapped on a narrow terminal */
	COLUMN_OUTCOME = 1 << 4,   /* coloured by its word */
	COLUMN_FOLD = 1 << 5,	   /* wrapped without a terminal too: one long value must not push the rest far away */
	COLUMN_DROPPABLE = 1 << 6, /* left out first where a terminal is too narrow */
};

struct column {
	const char *name;  /* JSON member, snake_case with the unit */
	const char *title; /* heading in text */
	unsigned flags;
};

struct report;
struct report_table;

/* view: "plan", "status", ... becomes "view" in JSON. NULL on lack of memory (also below); adding to NULL is fine. */
struct report *report_new(const char *view);
void report_free(struct report *r);
DEFINE_CLEANUP(struct report *, report_free);

/*
 * Columns are static.  The table belongs to the report and is a member `name` (an array of objects) in JSON.
 * heading may be NULL.  Fields and tables come out in the order they were added.
 */
struct report_table *report_add_table(struct report *r, const char *name, const char *heading,
				      const struct column *columns, size_t n_columns);
/* Starts a row; cells are then set by column index, those not set are null. */
void report_row(struct report_table *t);
/* Leaves the row just started out of the text: what is as it should be need not be read at night. */
void report_row_json_only(struct report_table *t);
void report_cell_text(struct report_table *t, size_t column, const char *text); /* copied; NULL: null */
void report_cell_number(struct report_table *t, size_t column, int64_t n);
void report_cell_bytes(struct report_table *t, size_t column, int64_t bytes);
void report_cell_boolean(struct report_table *t, size_t column, bool b);
void report_cell_time(struct report_table *t, size_t column, uint64_t time_sec);

/* A single field.  title NULL: JSON only. */
void report_text(struct report *r, const char *name, const char *title, const char *text);
void report_number(struct report *r, const char *name, const char *title, int64_t n);
void report_bytes(struct report *r, const char *name, const char *title, int64_t bytes);
void report_boolean(struct report *r, const char *name, const char *title, bool b);
void report_time(struct report *r, const char *name, const char *title, uint64_t time_sec);
/* A field that only text shows, for a value that JSON has in another form. */
void report_text_only(struct report *r, const char *title, const char *text);
/* A line of prose for text output only. */
void report_line(struct report *r, const char *fmt, ...) _printf_(2, 3);

/* Copies the messages; JSON: "diagnostics": [{severity, file, line, key, text}]; text: the program shows them on stderr. */
void report_diags(struct report *r, const struct diag_list *diags);
/* The exit status that the program will have, and one word for it: "in-sync", "differs", "error", ... */
void report_verdict(struct report *r, int exit_status, const char *verdict);

int report_exit_status(const struct report *r);

/* True where memory ran out while it was filled: what it holds is not whole. */
bool report_failed(const struct report *r);

enum report_json { REPORT_JSON_SHORT, REPORT_JSON_PRETTY };

struct report_text_options {
	bool colour;
	unsigned width; /* of the terminal; 0: no terminal, nothing is wrapped or cut */
};

/* 0 or a negative errno (-ENOMEM, or of the stream). JSON is one document with a newline. */
int report_render_json(const struct report *r, enum report_json style, FILE *f);
int report_render_text(const struct report *r, const struct report_text_options *options, FILE *f);

/*
 * An "apply" document as mmoptd made it before it was known whether it is kept, with what is known now.  document: NUL-terminated JSON; *ret
 * belongs to the caller.  0, -EBADMSG (not such a document), -ENOMEM.
 */
struct report_amendment {
	bool confirmed;
	int exit_status;
	const char *verdict;	       /* NULL: as it is */
	const struct diag_list *diags; /* more of them */
};
int report_json_amend(const char *document, enum report_json style, const struct report_amendment *a, char **ret);
