/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/job-result.h"

#include <inttypes.h>

#include "base/number.h"
#include "base/strutil.h"

#define MAX_FIELDS 10

void job_result_clear(struct job_result *r)
{
	for (size_t i = 0; i < r->n_items; i++) {
		free(r->items[i].id);
		free(r->items[i].path);
		free(r->items[i].before);
		free(r->items[i].after);
	}
	free(r->items);
	diag_list_clear(&r->diags);
	closep(&r->document_fd);
	*r = (struct job_result){ .document_fd = -EBADF };
}

/* A tab, a newline and a backslash inside a field are escaped; a lone "\0" is a field that is NULL. */
static void put_text(FILE *f, const char *s)
{
	putc('\t', f);
	if (!s) {
		fputs("\\0", f);
		return;
	}
	for (; *s; s++) {
		if (*s == '\t')
			fputs("\\t", f);
		else if (*s == '\n')
			fputs("\\n", f);
		else if (*s == '\\')
			fputs("\\\\", f);
		else
			putc(*s, f);
	}
}

static void put_result(FILE *f, const struct job_result *r)
{
	fprintf(f, "end\t%d\t%d\t%d\n", r->error, r->exit_status, (int)r->apply_result);
	fprintf(f, "transaction\t%u\t%d\t%d\t%" PRIu64 "\t%d\t%" PRIu64 "\n", r->transaction, r->changed,
		r->unconfirmed, r->deadline_sec, r->pools_grown, r->record);
	fprintf(f, "state\t%d\t%d\t%" PRIi64 "\t%" PRIu64 "\n", r->reboot_required, r->saved_known, r->saved_bytes,
		r->memory_bytes);
	fprintf(f, "undone\t%zu\t%zu\t%zu\t%zu\n", r->n_transactions_undone, r->n_values_undone, r->n_values_foreign,
		r->n_values_failed);
}

static void put_items(FILE *f, const struct job_result *r)
{
	for (size_t i = 0; i < r->n_items; i++) {
		const struct job_item *item = &r->items[i];

		fprintf(f, "item\t%d\t%d\t%d\t%d\t%d", (int)item->outcome, item->differs, item->is_share,
			item->wants_zero_page, (int)item->module);
		put_text(f, item->id);
		put_text(f, item->path);
		put_text(f, item->before);
		put_text(f, item->after);
		putc('\n', f);
	}
}

static void put_diags(FILE *f, const struct diag_list *diags)
{
	for (size_t i = 0; i < diags->n; i++) {
		const struct diag *d = &diags->items[i];

		fprintf(f, "diag\t%d\t%u", (int)d->severity, d->line);
		put_text(f, d->file);
		put_text(f, d->key);
		put_text(f, d->text);
		putc('\n', f);
	}
}

int job_result_format(const struct job_result *r, char **ret, size_t *ret_size)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return -ENOMEM;
	put_result(f, r);
	put_items(f, r);
	put_diags(f, &r->diags);
	fputs("whole\n", f);
	if (fclose(f) != 0)
		return -ENOMEM;
	*ret = TAKE_PTR(text);
	*ret_size = size;
	return 0;
}

/* In place. False for an escape that put_text() does not make. */
static bool unescape(char *s)
{
	char *out = s;

	for (; *s; s++) {
		char c = *s;

		if (c == '\\') {
			s++;
			if (*s != 't' && *s != 'n' && *s != '\\')
				return false;
			c = *s == 't' ? '\t' : *s == 'n' ? '\n' : '\\';
		}
		*out++ = c;
	}
	*out = '\0';
	return true;
}

static int take_text(char *field, char **ret)
{
	if (streq(field, "\\0")) {
		*ret = NULL;
		return 0;
	}
	if (!unescape(field))
		return -EBADMSG;
	*ret = strdup(field);
	return *ret ? 0 : -ENOMEM;
}

/* Numbers of a line, each of which has to be one. */
static int take_numbers(char *const *fields, size_t n, int64_t *ret)
{
	for (size_t i = 0; i < n; i++)
		if (parse_i64(fields[i], &ret[i]) < 0)
			return -EBADMSG;
	return 0;
}

static int take_item(char *const *fields, struct job_result *ret)
{
	struct job_item *grown = reallocarray(ret->items, ret->n_items + 1, sizeof(*grown)), *item;
	int64_t n[5];
	int r;

	if (!grown)
		return -ENOMEM;
	ret->items = grown;
	r = take_numbers(fields, 5, n);
	if (r < 0)
		return r;
	item = &grown[ret->n_items++];
	*item = (struct job_item){
		.outcome = n[0], .differs = n[1], .is_share = n[2], .wants_zero_page = n[3], .module = n[4]
	};
	r = take_text(fields[5], &item->id);
	if (r >= 0)
		r = take_text(fields[6], &item->path);
	if (r >= 0)
		r = take_text(fields[7], &item->before);
	if (r >= 0)
		r = take_text(fields[8], &item->after);
	return r < 0 ? r : item->id ? 0 : -EBADMSG;
}

static int take_diag(char *const *fields, struct job_result *ret)
{
	_cleanup_free_ char *file = NULL, *key = NULL, *text = NULL;
	int64_t n[2];
	int r;

	r = take_numbers(fields, 2, n);
	if (r >= 0)
		r = take_text(fields[2], &file);
	if (r >= 0)
		r = take_text(fields[3], &key);
	if (r >= 0)
		r = take_text(fields[4], &text);
	if (r < 0)
		return r;
	diag_add(&ret->diags, (enum diag_severity)n[0], file, (unsigned)n[1], key, "%s", text ?: "");
	return 0;
}

static int take_end(char *const *fields, struct job_result *ret)
{
	int64_t n[3];
	int r = take_numbers(fields, 3, n);

	if (r < 0)
		return r;
	ret->error = (int)n[0];
	ret->exit_status = (int)n[1];
	ret->apply_result = (enum apply_result)n[2];
	return 0;
}

static int take_transaction(char *const *fields, struct job_result *ret)
{
	int64_t n[6];
	int r = take_numbers(fields, 6, n);

	if (r < 0)
		return r;
	ret->transaction = (unsigned)n[0];
	ret->changed = n[1];
	ret->unconfirmed = n[2];
	ret->deadline_sec = (uint64_t)n[3];
	ret->pools_grown = n[4];
	ret->record = (uint64_t)n[5];
	return 0;
}

static int take_state(char *const *fields, struct job_result *ret)
{
	int64_t n[4];
	int r = take_numbers(fields, 4, n);

	if (r < 0)
		return r;
	ret->reboot_required = n[0];
	ret->saved_known = n[1];
	ret->saved_bytes = n[2];
	ret->memory_bytes = (uint64_t)n[3];
	return 0;
}

static int take_undone(char *const *fields, struct job_result *ret)
{
	int64_t n[4];
	int r = take_numbers(fields, 4, n);

	if (r < 0)
		return r;
	ret->n_transactions_undone = (size_t)n[0];
	ret->n_values_undone = (size_t)n[1];
	ret->n_values_foreign = (size_t)n[2];
	ret->n_values_failed = (size_t)n[3];
	return 0;
}

static const struct {
	const char *name;
	size_t n_fields;
	int (*take)(char *const *fields, struct job_result *ret);
} kinds[] = {
	{ "end", 3, take_end },	    { "transaction", 6, take_transaction },
	{ "state", 4, take_state }, { "undone", 4, take_undone },
	{ "item", 9, take_item },   { "diag", 5, take_diag },
};

static int take_line(char *line, struct job_result *ret)
{
	char *fields[MAX_FIELDS];
	size_t n = 0;

	for (char *field; (field = strsep(&line, "\t"));) {
		if (n == MAX_FIELDS)
			return -EBADMSG;
		fields[n++] = field;
	}
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (streq(fields[0], kinds[i].name))
			return n == kinds[i].n_fields + 1 ? kinds[i].take(fields + 1, ret) : -EBADMSG;
	return -EBADMSG;
}

int job_result_parse(const char *text, size_t size, struct job_result *ret)
{
	_cleanup_(job_result_clear) struct job_result result = { .document_fd = -EBADF };
	_cleanup_free_ char *copy = strndup(text, size);
	char *rest = copy;
	int r = 0;

	if (!copy)
		return -ENOMEM;
	/* The last line says that the child got to the end. */
	if (!endswith(copy, "whole\n"))
		return -EBADMSG;
	copy[strlen(copy) - strlen("whole\n")] = '\0';
	for (char *line; r >= 0 && (line = strsep(&rest, "\n"));)
		r = *line ? take_line(line, &result) : 0;
	if (r < 0)
		return r;
	*ret = result;
	result = (struct job_result){ .document_fd = -EBADF };
	return 0;
}
