/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <time.h>

#include "base/macros.h"
#include "core/report-model.h"

static void cell_clear(struct cell *c)
{
	free(c->text);
	*c = (struct cell){ .type = CELL_NULL };
}

static void table_free(struct report_table *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->n_rows * t->n_columns; i++)
		free(t->cells[i].text);
	free(t->cells);
	free(t->json_only);
	free(t->name);
	free(t->heading);
	free(t);
}

static void item_clear(struct report_item *item)
{
	free(item->name);
	free(item->title);
	free(item->line);
	cell_clear(&item->cell);
	table_free(item->table);
}

struct report *report_new(const char *view)
{
	struct report *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->view = strdup(view);
	if (!r->view) {
		free(r);
		return NULL;
	}
	return r;
}

void report_free(struct report *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n_items; i++)
		item_clear(&r->items[i]);
	free(r->items);
	free(r->view);
	free(r->verdict);
	diag_list_clear(&r->diags);
	free(r);
}

bool report_failed(const struct report *r)
{
	return !r || r->failed;
}

/* Copies a string that may be NULL; remembers a failure in the report. */
static char *copy(struct report *r, const char *s)
{
	char *c;

	if (!s)
		return NULL;
	c = strdup(s);
	if (!c)
		r->failed = true;
	return c;
}

static struct report_item *add_item(struct report *r, enum report_item_type type)
{
	if (!r)
		return NULL;
	if (r->n_items == r->n_allocated) {
		size_t n = r->n_allocated ? r->n_allocated * 2 : 16;
		struct report_item *items = reallocarray(r->items, n, sizeof(*items));

		if (!items) {
			r->failed = true;
			return NULL;
		}
		r->items = items;
		r->n_allocated = n;
	}
	r->items[r->n_items] = (struct report_item){ .type = type };
	return &r->items[r->n_items++];
}

struct report_table *report_add_table(struct report *r, const char *name, const char *heading,
				      const struct column *columns, size_t n_columns)
{
	struct report_item *item = add_item(r, ITEM_TABLE);
	struct report_table *t;

	if (!item)
		return NULL;
	t = calloc(1, sizeof(*t));
	if (!t) {
		r->failed = true;
		r->n_items--;
		return NULL;
	}
	item->table = t;
	t->report = r;
	t->name = copy(r, name);
	t->heading = copy(r, heading);
	t->columns = columns;
	t->n_columns = n_columns;
	return t;
}

void report_row(struct report_table *t)
{
	if (!t)
		return;
	if (t->n_rows == t->n_allocated) {
		size_t n = t->n_allocated ? t->n_allocated * 2 : 32;
		struct cell *cells = reallocarray(t->cells, n, t->n_columns * sizeof(*cells));
		bool *json_only;

		if (cells)
			t->cells = cells;
		json_only = reallocarray(t->json_only, n, sizeof(*json_only));
		if (json_only)
			t->json_only = json_only;
		if (!cells || !json_only) {
			t->report->failed = true;
			return;
		}
		t->n_allocated = n;
	}
	for (size_t i = 0; i < t->n_columns; i++)
		t->cells[t->n_rows * t->n_columns + i] = (struct cell){ .type = CELL_NULL };
	t->json_only[t->n_rows] = false;
	t->n_rows++;
}

void report_row_json_only(struct report_table *t)
{
	if (t && t->n_rows > 0)
		t->json_only[t->n_rows - 1] = true;
}

/* The cell to set, or NULL where there is none (an earlier lack of memory, which is remembered). */
static struct cell *last_row_cell(struct report_table *t, size_t column)
{
	struct cell *c;

	if (!t || t->n_rows == 0 || t->report->failed || column >= t->n_columns)
		return NULL;
	c = &t->cells[(t->n_rows - 1) * t->n_columns + column];
	cell_clear(c);
	return c;
}

static void set_number(struct cell *c, enum cell_type type, int64_t n)
{
	if (c)
		*c = (struct cell){ .type = type, .number = n };
}

void report_cell_text(struct report_table *t, size_t column, const char *text)
{
	struct cell *c = last_row_cell(t, column);

	if (!c || !text)
		return;
	c->text = copy(t->report, text);
	if (c->text)
		c->type = CELL_TEXT;
}

void report_cell_number(struct report_table *t, size_t column, int64_t n)
{
	set_number(last_row_cell(t, column), CELL_NUMBER, n);
}

void report_cell_bytes(struct report_table *t, size_t column, int64_t bytes)
{
	set_number(last_row_cell(t, column), CELL_BYTES, bytes);
}

void report_cell_boolean(struct report_table *t, size_t column, bool b)
{
	set_number(last_row_cell(t, column), CELL_BOOLEAN, b);
}

void report_cell_time(struct report_table *t, size_t column, uint64_t time_sec)
{
	set_number(last_row_cell(t, column), CELL_TIME, time_sec);
}

static struct report_item *add_field(struct report *r, const char *name, const char *title)
{
	struct report_item *item = add_item(r, ITEM_FIELD);

	if (!item)
		return NULL;
	item->name = copy(r, name);
	item->title = copy(r, title);
	return item;
}

static void add_number_field(struct report *r, const char *name, const char *title, enum cell_type type, int64_t n)
{
	struct report_item *item = add_field(r, name, title);

	if (item)
		set_number(&item->cell, type, n);
}

void report_text(struct report *r, const char *name, const char *title, const char *text)
{
	struct report_item *item = add_field(r, name, title);

	if (!item || !text)
		return;
	item->cell.text = copy(r, text);
	if (item->cell.text)
		item->cell.type = CELL_TEXT;
}

void report_text_only(struct report *r, const char *title, const char *text)
{
	report_text(r, NULL, title, text);
}

void report_number(struct report *r, const char *name, const char *title, int64_t n)
{
	add_number_field(r, name, title, CELL_NUMBER, n);
}

void report_bytes(struct report *r, const char *name, const char *title, int64_t bytes)
{
	add_number_field(r, name, title, CELL_BYTES, bytes);
}

void report_boolean(struct report *r, const char *name, const char *title, bool b)
{
	add_number_field(r, name, title, CELL_BOOLEAN, b);
}

void report_time(struct report *r, const char *name, const char *title, uint64_t time_sec)
{
	add_number_field(r, name, title, CELL_TIME, time_sec);
}

void report_line(struct report *r, const char *fmt, ...)
{
	struct report_item *item = add_item(r, ITEM_LINE);
	va_list ap;

	if (!item)
		return;
	va_start(ap, fmt);
	if (vasprintf(&item->line, fmt, ap) < 0) {
		item->line = NULL;
		r->failed = true;
	}
	va_end(ap);
}

void report_diags(struct report *r, const struct diag_list *diags)
{
	size_t before;

	if (!r)
		return;
	for (size_t i = 0; i < diags->n; i++) {
		const struct diag *d = &diags->items[i];

		before = r->diags.n;
		diag_add(&r->diags, d->severity, d->file, d->line, d->key, "%s", d->text ? d->text : "");
		if (r->diags.n == before)
			r->failed = true;
	}
}

void report_verdict(struct report *r, int exit_status, const char *verdict)
{
	if (!r)
		return;
	r->exit_status = exit_status;
	free(r->verdict);
	r->verdict = copy(r, verdict);
}

int report_exit_status(const struct report *r)
{
	return r->exit_status;
}
