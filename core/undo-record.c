/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/undo-record.h"

#include "base/fields.h"
#include "base/number.h"
#include "base/strutil.h"

static const char *const state_names[] = {
	[TRANSACTION_OPEN] = "open",
	[TRANSACTION_UNCONFIRMED] = "unconfirmed",
	[TRANSACTION_COMMITTED] = "committed",
	[TRANSACTION_UNDONE] = "undone",
};

const char *transaction_state_name(enum transaction_state state)
{
	return state_names[state];
}

static const char *const when_names[] = {
	[UNDO_DELAYS_BEFORE] = "before",
	[UNDO_DELAYS_AFTER] = "after",
};

const char *undo_delays_when_name(enum undo_delays_when when)
{
	return when_names[when];
}

static int state_from_name(const char *name, enum transaction_state *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(state_names); i++)
		if (streq(name, state_names[i])) {
			*ret = (enum transaction_state)i;
			return 0;
		}
	return -EINVAL;
}

void undo_entry_clear(struct undo_entry *e)
{
	free(e->id);
	free(e->path);
	free(e->before);
	free(e->intended);
	free(e->after);
	*e = (struct undo_entry){};
}

void transaction_clear(struct transaction *t)
{
	for (size_t i = 0; i < t->n_entries; i++)
		undo_entry_clear(&t->entries[i]);
	free(t->entries);
	free(t->boot_id);
	free(t->verb);
	free(t->note);
	*t = (struct transaction){};
}

/* What undo may ever write to: kernel files below /proc/sys, /sys, and nothing reached by "..". */
static bool path_is_tunable(const char *path)
{
	if (!startswith(path, "/proc/sys/") && !startswith(path, "/sys/"))
		return false;
	return !strstr(path, "/../") && !endswith(path, "/..") && !strstr(path, "//");
}

static int parse_header(char *line, struct transaction *t)
{
	char *f[4];

	if (split_fields(line, f, 4) != 4 || !streq(f[0], UNDO_RECORD_HEADER) || !*f[1] || !*f[2])
		return -EINVAL;
	if (parse_u64(f[3], &t->time_sec) < 0)
		return -EINVAL;
	t->boot_id = strdup(f[1]);
	t->verb = strdup(f[2]);
	return t->boot_id && t->verb ? 0 : -ENOMEM;
}

int transaction_add(struct transaction *t, const char *id, const char *path, const char *before, const char *intended)
{
	struct undo_entry *e = reallocarray(t->entries, t->n_entries + 1, sizeof(*e));

	if (!e)
		return -ENOMEM;
	t->entries = e;
	e += t->n_entries;
	*e = (struct undo_entry){
		.id = strdup(id),
		.path = strdup(path),
		.before = strdup(before),
		.intended = strdup(intended),
	};
	if (!e->id || !e->path || !e->before || !e->intended) {
		undo_entry_clear(e);
		return -ENOMEM;
	}
	t->n_entries++;
	return 0;
}

/* The newest entry of that file: a pool is written several times under one entry. */
int transaction_set_after(struct transaction *t, const char *path, const char *after)
{
	for (size_t i = t->n_entries; i-- > 0;) {
		struct undo_entry *e = &t->entries[i];
		char *copy;

		if (!streq(e->path, path))
			continue;
		copy = strdup(after);
		if (!copy)
			return -ENOMEM;
		free(e->after);
		e->after = copy;
		return 0;
	}
	return -EINVAL;
}

static int set_state(struct transaction *t, const char *state, const char *deadline, const char *note)
{
	char *copy = NULL;
	int r;

	r = state_from_name(state, &t->state);
	if (r < 0)
		return r;
	if (deadline && parse_u64(deadline, &t->deadline_sec) < 0)
		return -EINVAL;
	if (*note) {
		copy = strdup(note);
		if (!copy)
			return -ENOMEM;
	}
	free(t->note);
	t->note = copy;
	return 0;
}

static int set_delays(struct transaction *t, char *const *f)
{
	struct undo_delays d = { .known = true };

	if (parse_u64(f[1], &d.reclaim_nsec) < 0 || parse_u64(f[2], &d.swapin_nsec) < 0 ||
	    parse_u64(f[3], &d.thrashing_nsec) < 0)
		return -EINVAL;
	for (size_t i = 0; i < ARRAY_SIZE(when_names); i++)
		if (streq(f[0], when_names[i])) {
			t->delays[i] = d;
			return 0;
		}
	return -EINVAL;
}

static int parse_event(char *line, struct transaction *t)
{
	char *f[5];
	int n = split_fields(line, f, 5);

	if (n == 5 && streq(f[0], "before") && path_is_tunable(f[2]))
		return transaction_add(t, f[1], f[2], f[3], f[4]);
	if (n == 4 && streq(f[0], "after"))
		return transaction_set_after(t, f[2], f[3]);
	if (n == 4 && streq(f[0], "end"))
		return set_state(t, f[1], f[2], f[3]);
	if (n == 3 && streq(f[0], "mark"))
		return set_state(t, f[1], NULL, f[2]);
	if (n == 2 && streq(f[0], "saved")) {
		t->saved_known = parse_i64(f[1], &t->saved_bytes) >= 0;
		return t->saved_known ? 0 : -EINVAL;
	}
	if (n == 2 && streq(f[0], "memory"))
		return parse_u64(f[1], &t->memory_bytes) < 0 ? -EINVAL : 0;
	if (n == 5 && streq(f[0], "delays"))
		return set_delays(t, f + 1);
	return -EINVAL;
}

int transaction_parse(const char *text, size_t size, struct transaction *ret)
{
	_cleanup_(transaction_clear) struct transaction t = {};
	_cleanup_free_ char *copy = NULL;
	bool first = true;

	if (memchr(text, '\0', size))
		return -EINVAL;
	copy = strndup(text, size);
	if (!copy)
		return -ENOMEM;

	for (char *line = copy, *nl; (nl = strchr(line, '\n')); line = nl + 1) {
		int r;

		*nl = '\0';
		r = first ? parse_header(line, &t) : parse_event(line, &t);
		if (r < 0)
			return r;
		first = false;
	}
	/* What follows the last newline was torn by a crash: the write that it announces did not happen. */
	if (first)
		return -EINVAL;

	*ret = t;
	t = (struct transaction){};
	return 0;
}

/*
 * One write(2) a line.  A short write (a full file system) leaves a torn line, which readers drop; it is cut off again so
 * that what follows does not run into it.
 */
static int append(int fd, const char *line, size_t size)
{
	off_t end = lseek(fd, 0, SEEK_END);
	ssize_t n;

	if (end < 0)
		return -errno;
	do
		n = write(fd, line, size);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	if ((size_t)n != size)
		return ftruncate(fd, end) < 0 ? -errno : -ENOSPC;
	return 0;
}

int record_append(int fd, const char *event, const char *const *fields, size_t n)
{
	_cleanup_free_ char *line = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&line, &size);

	if (!f)
		return -ENOMEM;
	fputs(event, f);
	for (size_t i = 0; i < n; i++)
		put_field(f, fields[i]);
	fputc('\n', f);
	if (fclose(f) != 0)
		return -ENOMEM;
	return append(fd, line, size);
}
