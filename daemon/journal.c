/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/journal.h"

#include <stdarg.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>

#include "base/fileio.h"
#include "base/strutil.h"
#include "core/report-safe.h"

/* Made once by systemd-id128(1); an id never changes its meaning.  units/mmopt.catalog has a text for each. */
static const char *const message_ids[] = {
	[EVENT_NONE] = NULL,
	[EVENT_APPLIED] = "32d0a63f7bfe42ebb110ad8bc6ecf36f",
	[EVENT_APPLY_FAILED] = "2ae2211d42e64016ad365cf4b5530dd6",
	[EVENT_ITEM] = "5a717384501b45d382e3313bd4fdb977",
	[EVENT_ITEM_SHORT] = "44f7b25b6536433a9c36bc04c00ed5e6",
	[EVENT_REBOOT_REQUIRED] = "2d162a0baa9346349e52acbe2f3db1ea",
	[EVENT_ROLLED_BACK] = "bcac239a6f364767b2213cf12e033554",
	[EVENT_RECOVERED] = "1c2b4d8091224262915344c6ccd149a3",
	[EVENT_NOT_CONFIRMED] = "1b229016a7384a4ea75b0e97b0acdced",
	[EVENT_POLICY_LOADED] = "76151c5f887449929352c7b6de576628",
	[EVENT_POLICY_REJECTED] = "3c8debe668824042b9b07bcf8385b9bc",
	[EVENT_DRIFT] = "acebc0aa2639472ba750974ec7955ae7",
	[EVENT_REAPPLIED] = "e6f49c4675554a31be2730e62b99f51b",
	[EVENT_GIVEN_UP] = "defed241604a42268de553e794f1ba61",
	[EVENT_MEMORY_CHANGED] = "89692af274fe4d6792577836e6de721e",
	[EVENT_GUARD] = "8526665d5e744aeebc0ee98d5a6d1eac",
	[EVENT_ZERO_PAGE] = "b596255b92224bce8375545a2f15d257",
	[EVENT_CONFIGURATION] = "739e6ca6e6ca4e288d80f9dc792ee8c7",
	[EVENT_MODULE] = "d31f85edf1ec404ab38889fd351d4805",
};

const char *event_message_id(enum event event)
{
	return message_ids[event];
}

/* Message, priority, program, unit, id and the ten members of struct journal_fields. */
#define MAX_FIELDS 15

struct entry {
	struct iovec fields[MAX_FIELDS];
	int n;
};

static void entry_clear(struct entry *e)
{
	while (e->n > 0)
		free(e->fields[--e->n].iov_base);
}

/* A field that there is no memory for is left out: better less than nothing. */
static void add_field(struct entry *e, const char *name, const char *value)
{
	_cleanup_free_ char *safe = value ? text_printable(value, false) : NULL;
	char *field = safe ? xasprintf("%s=%s", name, safe) : NULL;

	if (field)
		e->fields[e->n++] = (struct iovec){ .iov_base = field, .iov_len = strlen(field) };
}

static void add_number(struct entry *e, const char *name, long long value)
{
	char text[24];

	if (value == 0)
		return;
	snprintf(text, sizeof(text), "%lld", value);
	add_field(e, name, text);
}

static void add_fields(struct entry *e, const struct journal_fields *f)
{
	add_field(e, "MMOPT_TUNABLE", f->tunable);
	add_field(e, "OLD_VALUE", f->old_value);
	add_field(e, "NEW_VALUE", f->new_value);
	add_field(e, "MMOPT_OUTCOME", f->outcome);
	add_field(e, "REASON", f->reason);
	add_field(e, "CONFIG_FILE", f->file);
	add_number(e, "CONFIG_LINE", f->line);
	add_number(e, "MMOPT_TRANSACTION", f->transaction);
	add_number(e, "MMOPT_WRITER_PID", f->writer_pid);
	add_field(e, "MMOPT_WRITER_COMM", f->writer_comm);
}

/* systemd.exec(5), JOURNAL_STREAM: device and inode of the stream to the journal that the service was started with. */
static bool stderr_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	char own[64];
	struct stat st;

	if (!stream || fstat(STDERR_FILENO, &st) < 0)
		return false;
	snprintf(own, sizeof(own), "%llu:%llu", (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
	return streq(stream, own);
}

/*
 * One datagram of lines NAME=value, "Native Journal Protocol" of systemd: all that is needed of it, since no value here
 * has a newline.  Not sd_journal_sendv(3): starting a process with libsystemd takes as long as all that mmopt-apply
 * does.
 */
static bool send_entry(const struct entry *e)
{
	static const struct sockaddr_un journal_socket = { .sun_family = AF_UNIX,
							   .sun_path = "/run/systemd/journal/socket" };
	static char newline[] = "\n";
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct iovec parts[2 * MAX_FIELDS];
	struct msghdr message = { .msg_name = (void *)&journal_socket,
				  .msg_namelen = sizeof(journal_socket),
				  .msg_iov = parts };

	if (fd < 0)
		return false;
	for (int i = 0; i < e->n; i++) {
		parts[message.msg_iovlen++] = e->fields[i];
		parts[message.msg_iovlen++] = (struct iovec){ .iov_base = newline, .iov_len = 1 };
	}
	return sendmsg(fd, &message, MSG_NOSIGNAL) >= 0;
}

static bool send_to_journal(int priority, enum event event, const struct journal_fields *fields, const char *text)
{
	_cleanup_(entry_clear) struct entry e = { .n = 0 };
	_cleanup_free_ char *unit = xasprintf("%s.service", program_invocation_short_name);

	add_field(&e, "MESSAGE", text);
	/* 0 is a priority too. */
	add_field(&e, "PRIORITY", (const char[]){ (char)('0' + priority), '\0' });
	add_field(&e, "MESSAGE_ID", event_message_id(event));
	if (fields)
		add_fields(&e, fields);
	add_field(&e, "SYSLOG_IDENTIFIER", program_invocation_short_name);
	/*
	 * For journalctl -u and systemctl status: who ends before the journal has looked which unit he belongs to is
	 * found by this, which they take from root (systemd.journal-fields(7)).
	 */
	add_field(&e, "OBJECT_SYSTEMD_UNIT", unit);
	return send_entry(&e);
}

static const char *priority_word(int priority)
{
	return priority <= LOG_ERR ? "error: " : priority == LOG_WARNING ? "warning: " : "";
}

/* Where the text alone is understood; to_journal: by the journal, which takes the priority off the front of a line. */
static void print_line(int priority, const char *text, bool to_journal)
{
	_cleanup_free_ char *safe = text_printable(text, false), *line = NULL;

	if (!safe)
		return;
	line = to_journal ? xasprintf("<%d>%s\n", priority, safe)
			  : xasprintf("%s: %s%s\n", program_invocation_short_name, priority_word(priority), safe);
	if (line)
		(void)write_all(STDERR_FILENO, line, strlen(line));
}

void journal(int priority, enum event event, const struct journal_fields *fields, const char *fmt, ...)
{
	_cleanup_free_ char *text = NULL;
	int saved_errno = errno;
	bool to_journal;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0) {
		text = NULL;
		return;
	}
	to_journal = stderr_is_journal();
	if (!to_journal || !send_to_journal(priority, event, fields, text)) {
		/* Who looks on does not want to see the debugging; the journal keeps it for those who ask. */
		if (to_journal || priority < LOG_DEBUG)
			print_line(priority, text, to_journal);
	}
	errno = saved_errno;
}

static int diag_priority(enum diag_severity severity)
{
	switch (severity) {
	case DIAG_NOTICE:
		return LOG_NOTICE;
	case DIAG_WARNING:
		return LOG_WARNING;
	case DIAG_ERROR:
		return LOG_ERR;
	}
	return LOG_ERR;
}

void journal_diags(enum event event, const struct diag_list *diags)
{
	for (size_t i = 0; i < diags->n; i++) {
		const struct diag *d = &diags->items[i];
		const struct journal_fields fields = { .tunable = event == EVENT_CONFIGURATION ? NULL : d->key,
						       .file = d->file,
						       .line = d->line };
		_cleanup_free_ char *text = diag_format(d);

		journal(diag_priority(d->severity), event, &fields, "%s", text ?: d->text);
	}
}
