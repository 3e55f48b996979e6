/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <json-c/json.h>

#include "base/macros.h"
#include "base/strutil.h"
#include "base/time-span.h"
#include "core/report-model.h"
#include "core/report-safe.h"

#define SCHEMA 1

static void putp(struct json_object **o)
{
	json_object_put(*o);
}

/* Takes value; NULL stands for JSON's null. Keys outlive the document and are given once each. */
static int add(struct json_object *o, const char *key, struct json_object *value)
{
	if (json_object_object_add_ex(o, key, value, JSON_C_OBJECT_ADD_KEY_IS_NEW | JSON_C_OBJECT_ADD_CONSTANT_KEY) <
	    0) {
		json_object_put(value);
		return -ENOMEM;
	}
	return 0;
}

/* The same for a value that may not be null: NULL means that memory ran out. */
static int add_new(struct json_object *o, const char *key, struct json_object *value)
{
	return value ? add(o, key, value) : -ENOMEM;
}

static struct json_object *new_text(const char *text)
{
	_cleanup_free_ char *clean = NULL;

	if (text_valid_utf8(text))
		return json_object_new_string(text);
	clean = text_clean_utf8(text);
	return clean ? json_object_new_string(clean) : NULL;
}

static int add_text(struct json_object *o, const char *key, const char *text)
{
	return text ? add_new(o, key, new_text(text)) : add(o, key, NULL);
}

static int add_cell(struct json_object *o, const char *key, const struct cell *c)
{
	char time[32];

	switch (c->type) {
	case CELL_NULL:
		return add(o, key, NULL);
	case CELL_TEXT:
		return add_text(o, key, c->text);
	case CELL_NUMBER:
	case CELL_BYTES:
		return add_new(o, key, json_object_new_int64(c->number));
	case CELL_BOOLEAN:
		return add_new(o, key, json_object_new_boolean(c->number != 0));
	case CELL_TIME:
		return add_text(o, key, format_time(c->number, time));
	}
	return -EINVAL;
}

static int add_row(struct json_object *array, const struct report_table *t, size_t row)
{
	_cleanup_(putp) struct json_object *o = json_object_new_object();
	int r;

	if (!o)
		return -ENOMEM;
	for (size_t i = 0; i < t->n_columns; i++) {
		if (t->columns[i].flags & COLUMN_TEXT_ONLY)
			continue;
		r = add_cell(o, t->columns[i].name, &t->cells[row * t->n_columns + i]);
		if (r < 0)
			return r;
	}
	if (json_object_array_add(array, o) < 0)
		return -ENOMEM;
	TAKE_PTR(o);
	return 0;
}

static int add_table(struct json_object *o, const struct report_table *t)
{
	_cleanup_(putp) struct json_object *array = json_object_new_array();
	int r;

	if (!array)
		return -ENOMEM;
	for (size_t i = 0; i < t->n_rows; i++) {
		r = add_row(array, t, i);
		if (r < 0)
			return r;
	}
	return add(o, t->name, TAKE_PTR(array));
}

static int add_diag(struct json_object *array, const struct diag *d)
{
	_cleanup_(putp) struct json_object *o = json_object_new_object();
	int r;

	if (!o)
		return -ENOMEM;
	r = add_text(o, "severity", diag_severity_name(d->severity));
	if (r >= 0)
		r = add_text(o, "file", d->file);
	if (r >= 0)
		r = d->line > 0 ? add_new(o, "line", json_object_new_int64(d->line)) : add(o, "line", NULL);
	if (r >= 0)
		r = add_text(o, "key", d->key);
	if (r >= 0)
		r = add_text(o, "text", d->text);
	if (r < 0)
		return r;
	if (json_object_array_add(array, o) < 0)
		return -ENOMEM;
	TAKE_PTR(o);
	return 0;
}

static int append_diags(struct json_object *array, const struct diag_list *diags)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < diags->n; i++)
		r = add_diag(array, &diags->items[i]);
	return r;
}

static int add_diags(struct json_object *o, const struct diag_list *diags)
{
	_cleanup_(putp) struct json_object *array = json_object_new_array();
	int r;

	if (!array)
		return -ENOMEM;
	r = append_diags(array, diags);
	return r < 0 ? r : add(o, "diagnostics", TAKE_PTR(array));
}

static int add_item(struct json_object *o, const struct report_item *item)
{
	switch (item->type) {
	case ITEM_FIELD:
		return !item->name ? 0 : add_cell(o, item->name, &item->cell);
	case ITEM_TABLE:
		return add_table(o, item->table);
	case ITEM_LINE:
		return 0;
	}
	return -EINVAL;
}

static int add_head(struct json_object *o, const struct report *r)
{
	int k;

	k = add_new(o, "schema", json_object_new_int(SCHEMA));
	if (k >= 0)
		k = add_text(o, "view", r->view);
	if (k >= 0)
		k = add_text(o, "version", MMOPT_VERSION);
	if (k >= 0)
		k = add_new(o, "exit_status", json_object_new_int(r->exit_status));
	if (k >= 0)
		k = add_text(o, "verdict", r->verdict);
	return k;
}

static int flags_of(enum report_json style)
{
	switch (style) {
	case REPORT_JSON_SHORT:
		return JSON_C_TO_STRING_NOSLASHESCAPE;
	case REPORT_JSON_PRETTY:
		return JSON_C_TO_STRING_NOSLASHESCAPE | JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED;
	}
	return JSON_C_TO_STRING_NOSLASHESCAPE;
}

int report_render_json(const struct report *r, enum report_json style, FILE *f)
{
	_cleanup_(putp) struct json_object *o = NULL;
	const char *text;
	size_t size;
	int k;

	if (report_failed(r))
		return -ENOMEM;
	o = json_object_new_object();
	if (!o)
		return -ENOMEM;
	k = add_head(o, r);
	for (size_t i = 0; k >= 0 && i < r->n_items; i++)
		k = add_item(o, &r->items[i]);
	if (k >= 0)
		k = add_diags(o, &r->diags);
	if (k < 0)
		return k;
	text = json_object_to_json_string_length(o, flags_of(style), &size);
	if (!text)
		return -ENOMEM;
	errno = 0;
	if (fwrite(text, 1, size, f) != size || fputc('\n', f) == EOF || fflush(f) != 0)
		return errno > 0 ? -errno : -EIO;
	return 0;
}

/* In the place where it was; value NULL: memory ran out. */
static int replace(struct json_object *o, const char *key, struct json_object *value)
{
	if (!value)
		return -ENOMEM;
	if (json_object_object_add(o, key, value) < 0) {
		json_object_put(value);
		return -ENOMEM;
	}
	return 0;
}

int report_json_amend(const char *document, enum report_json style, const struct report_amendment *a, char **ret)
{
	_cleanup_(putp) struct json_object *o = json_tokener_parse(document);
	struct json_object *diags;
	const char *text;
	char *copy;
	int r;

	if (!json_object_is_type(o, json_type_object) || !json_object_object_get_ex(o, "diagnostics", &diags) ||
	    !json_object_is_type(diags, json_type_array))
		return -EBADMSG;
	r = replace(o, "confirmed", json_object_new_boolean(a->confirmed));
	if (r >= 0)
		r = replace(o, "exit_status", json_object_new_int(a->exit_status));
	if (r >= 0 && a->verdict)
		r = replace(o, "verdict", json_object_new_string(a->verdict));
	if (r >= 0)
		r = append_diags(diags, a->diags);
	if (r < 0)
		return r;
	text = json_object_to_json_string_ext(o, flags_of(style));
	copy = text ? xasprintf("%s\n", text) : NULL;
	if (!copy)
		return -ENOMEM;
	*ret = copy;
	return 0;
}
