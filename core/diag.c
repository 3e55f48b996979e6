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

static void add(struct diag_list *list, struct diag *d, const char *file, const char *key, const char *fmt, va_list ap)
{
	struct diag *place;

	diag_count(list, d->severity);
	if (vasprintf(&d->text, fmt, ap) < 0)
		return;
	d->file = file ? strdup(file) : NULL;
	d->key = key ? strdup(key) : NULL;
	place = (file && !d->file) || (key && !d->key) ? NULL : diag_list_grow(list);
	if (!place) {
		diag_clear(d);
		return;
	}
	*place = *d;
	list->n++;
}

void diag_add(struct diag_list *list, enum diag_severity severity, const char *file, unsigned line, const char *key,
	      const char *fmt, ...)
{
	struct diag d = { .severity = severity, .line = line };
	va_list ap;

	va_start(ap, fmt);
	add(list, &d, file, key, fmt, ap);
	va_end(ap);
}

int diag_error(struct diag_list *list, int error, const char *fmt, ...)
{
	struct diag d = { .severity = DIAG_ERROR };
	va_list ap;

	va_start(ap, fmt);
	add(list, &d, NULL, NULL, fmt, ap);
	va_end(ap);
	return error;
}

void diag_warning(struct diag_list *list, const char *fmt, ...)
{
	struct diag d = { .severity = DIAG_WARNING };
	va_list ap;

	va_start(ap, fmt);
	add(list, &d, NULL, NULL, fmt, ap);
	va_end(ap);
}

void diag_notice(struct diag_list *list, const char *fmt, ...)
{
	struct diag d = { .severity = DIAG_NOTICE };
	va_list ap;

	va_start(ap, fmt);
	add(list, &d, NULL, NULL, fmt, ap);
	va_end(ap);
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
