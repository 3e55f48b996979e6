/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/report.h"

/* What a report is made of: for report.c, which fills it, and the renderers, which only read it. */

struct cell {
	enum cell_type type;
	int64_t number; /* numbers, bytes, booleans, time */
	char *text;	/* CELL_TEXT; owned */
};

struct report_table {
	struct report *report;
	char *name;
	char *heading; /* or NULL */
	const struct column *columns;
	size_t n_columns;
	struct cell *cells; /* n_rows x n_columns */
	bool *json_only;    /* one per row */
	size_t n_rows;
	size_t n_allocated; /* rows */
};

enum report_item_type {
	ITEM_FIELD,
	ITEM_TABLE,
	ITEM_LINE,
};

struct report_item {
	enum report_item_type type;
	char *name;  /* fields; NULL: text only */
	char *title; /* fields; NULL: JSON only */
	struct cell cell;
	struct report_table *table;
	char *line;
};

struct report {
	char *view;
	struct report_item *items;
	size_t n_items;
	size_t n_allocated;
	struct diag_list diags;
	int exit_status;
	char *verdict;
	bool failed;
};
