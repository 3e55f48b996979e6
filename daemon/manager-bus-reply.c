/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a job found, as an answer on the bus. */
#include <fcntl.h>

#include "base/fileio.h"
#include "base/strutil.h"
#include "core/report-safe.h"
#include "daemon/manager-bus-internal.h"

/* A string in a message, and the message, are limited by the bus; no document comes near it. */
#define INLINE_MAX (16U * 1024 * 1024)

/* The same escapes that mmoptctl would make: what it shows does not depend on the way. */
char *bus_text(const char *s)
{
	return text_printable(s ?: "", false);
}

/* A description of the file of its own: others read the same answer, each from the start. */
static int reopen(int fd)
{
	_cleanup_free_ char *path = xasprintf("/proc/self/fd/%d", fd);
	int r;

	if (!path)
		return -ENOMEM;
	r = open(path, O_RDONLY | O_CLOEXEC);
	return r < 0 ? -errno : r;
}

static int append_file(sd_bus_message *reply, int document_fd)
{
	_cleanup_close_ int fd = -EBADF;

	/* Nothing to say, as in the job's messages alone: an empty file is what standard output would have got. */
	fd = document_fd < 0 ? open("/dev/null", O_RDONLY | O_CLOEXEC) : reopen(document_fd);
	if (fd < 0)
		return document_fd < 0 ? -errno : fd;
	return sd_bus_message_append(reply, "h", fd);
}

static int append_document(sd_bus_message *reply, int document_fd)
{
	_cleanup_free_ char *document = NULL, *clean = NULL;
	_cleanup_close_ int fd = -EBADF;
	int r;

	if (document_fd < 0)
		return sd_bus_message_append(reply, "s", "");
	fd = reopen(document_fd);
	if (fd < 0)
		return fd;
	r = read_fd(fd, INLINE_MAX, &document, NULL);
	if (r < 0)
		return r;
	if (!text_valid_utf8(document)) {
		clean = text_clean_utf8(document);
		if (!clean)
			return -ENOMEM;
	}
	return sd_bus_message_append(reply, "s", clean ?: document);
}

static int append_diag(sd_bus_message *reply, const struct diag *d)
{
	_cleanup_free_ char *file = bus_text(d->file), *key = bus_text(d->key), *text = bus_text(d->text);

	if (!file || !key || !text)
		return -ENOMEM;
	return sd_bus_message_append(reply, "(ssuss)", diag_severity_name(d->severity), file, d->line, key, text);
}

static int append_diags(sd_bus_message *reply, const struct diag_list *diags)
{
	int r;

	r = sd_bus_message_open_container(reply, SD_BUS_TYPE_ARRAY, "(ssuss)");
	for (size_t i = 0; r >= 0 && i < diags->n; i++)
		r = append_diag(reply, &diags->items[i]);
	return r < 0 ? r : sd_bus_message_close_container(reply);
}

int bus_reply(sd_bus_message *call, enum bus_method method, const struct job_result *result)
{
	_cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	int r;

	r = sd_bus_message_new_method_return(call, &reply);
	if (r < 0)
		return r;
	r = method == METHOD_DESCRIBE ? append_file(reply, result->document_fd)
				      : append_document(reply, result->document_fd);
	if (r >= 0)
		r = sd_bus_message_append(reply, "i", result->exit_status);
	if (r >= 0)
		r = append_diags(reply, &result->diags);
	if (r >= 0 && method == METHOD_APPLY)
		/* Where it failed, what waits is another one. */
		r = sd_bus_message_append(reply, "ub", result->transaction, result->error >= 0 && result->unconfirmed);
	return r < 0 ? r : sd_bus_send(NULL, reply, NULL);
}

int bus_reply_diags(sd_bus_message *call, const struct diag_list *diags)
{
	_cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	int r;

	r = sd_bus_message_new_method_return(call, &reply);
	if (r >= 0)
		r = append_diags(reply, diags);
	return r < 0 ? r : sd_bus_send(NULL, reply, NULL);
}
