/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/diag.h"

#include <stdarg.h>

#include "base/strutil.h"

static void diag_clear(struct diag *d)
{
	free(d->file);
	free(d->key);
	free(d->text);
}

/* A place for one more, or NULL. */
static struct diag *diag_list_grow(struct diag_list *list)
{
	if (list->n == list->n_allocated) {
		size_t n = list->n_allocated ? list->n_allocated * 2 : 8;
		struct diag *grown = reallocarray(list->items, n, sizeof(*grown));

		if (!grown)
			return NULL;
		list->items = grown;
		list->n_allocated = n;
	}
	return &list->items[list->n];
}

static void diag_count(struct diag_list *list, enum diag_severity severity)
{
	switch (severity) {
	case DIAG_NOTICE:
		break;
	case DIAG_WARNING:
		list->n_warnings++;
		break;
	case DIAG_ERROR:
		list->n_errors++;
		break;
	}
}

void diag_add(struct diag_list *list, enum diag_severity severity, const char *file, unsigned line, const char *key,
	      const char *fmt, ...)
{
	struct diag d = { .severity = severity, .line = line };
	struct diag *place;
	va_list ap;
	int n;

	diag_count(list, severity);
	va_start(ap, fmt);
	n = vasprintf(&d.text, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	d.file = file ? strdup(file) : NULL;
	d.key = key ? strdup(key) : NULL;
	place = (file && !d.file) || (key && !d.key) ? NULL : diag_list_grow(list);
	if (!place) {
		diag_clear(&d);
		return;
	}
	*place = d;
	list->n++;
}

void diag_list_clear(struct diag_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		diag_clear(&list->items[i]);
	free(list->items);
	*list = (struct diag_list){ 0 };
}

const char *diag_severity_name(enum diag_severity severity)
{
	switch (severity) {
	case DIAG_NOTICE:
		return "notice";
	case DIAG_WARNING:
		return "warning";
	case DIAG_ERROR:
		return "error";
	}
	return NULL;
}

char *diag_format(const struct diag *d)
{
	char line[16] = "";

	if (d->file && d->line)
		snprintf(line, sizeof(line), ":%u", d->line);
	return xasprintf("%s%s%s%s%s%s", d->file ?: "", line, d->file ? ": " : "", d->key ?: "", d->key ? ": " : "",
			 d->text);
}
