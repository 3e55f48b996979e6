/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "base/fileio.h"
#include "base/number.h"
#include "base/strutil.h"
#include "core/undo.h"

#define STATE_DIR "/run/mmopt"
#define TRANSACTIONS_DIR STATE_DIR "/transactions"
#define FORMAT_HEADER "mmopt-undo 1"

struct undo_store {
	int root_fd; /* borrowed */
	int lock_fd;
	int dir_fd; /* TRANSACTIONS_DIR; -EBADF where there is none */
	char *boot_id;
	struct transaction *transactions;
	size_t n_transactions;
	int current_fd; /* the record that undo_begin() opened */
	bool recording;
};

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

static int state_from_name(const char *name, enum transaction_state *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(state_names); i++)
		if (streq(name, state_names[i])) {
			*ret = (enum transaction_state)i;
			return 0;
		}
	return -EINVAL;
}

static void entry_clear(struct undo_entry *e)
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
		entry_clear(&t->entries[i]);
	free(t->entries);
	free(t->boot_id);
	free(t->verb);
	free(t->note);
	*t = (struct transaction){};
}

/*
 * A record is text: one event a line, fields separated by tabs; a tab, newline, or backslash inside a field is escaped, so
 * that any value a kernel file can hold survives.
 */
static void put_field(FILE *f, const char *s)
{
	fputc('\t', f);
	for (; *s; s++)
		switch (*s) {
		case '\t':
			fputs("\\t", f);
			break;
		case '\n':
			fputs("\\n", f);
			break;
		case '\\':
			fputs("\\\\", f);
			break;
		default:
			fputc(*s, f);
		}
}

static int unescape(char *s)
{
	char *out = s;

	for (; *s; s++) {
		if (*s != '\\') {
			*out++ = *s;
			continue;
		}
		s++;
		if (*s == 't')
			*out++ = '\t';
		else if (*s == 'n')
			*out++ = '\n';
		else if (*s == '\\')
			*out++ = '\\';
		else
			return -EINVAL;
	}
	*out = '\0';
	return 0;
}

/* Cuts line at its tabs, in place. Returns the number of fields, or -EINVAL for more than max or a bad escape. */
static int split_fields(char *line, char **fields, int max)
{
	int n = 0;

	for (char *p = line; p;) {
		char *tab = strchr(p, '\t');

		if (n == max)
			return -EINVAL;
		if (tab)
			*tab++ = '\0';
		if (unescape(p) < 0)
			return -EINVAL;
		fields[n++] = p;
		p = tab;
	}
	return n;
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

	if (split_fields(line, f, 4) != 4 || !streq(f[0], FORMAT_HEADER) || !*f[1] || !*f[2])
		return -EINVAL;
	if (parse_u64(f[3], &t->time_sec) < 0)
		return -EINVAL;
	t->boot_id = strdup(f[1]);
	t->verb = strdup(f[2]);
	return t->boot_id && t->verb ? 0 : -ENOMEM;
}

static int add_entry(struct transaction *t, const char *id, const char *path, const char *before, const char *intended)
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
		entry_clear(e);
		return -ENOMEM;
	}
	t->n_entries++;
	return 0;
}

/* The newest entry of that file: a pool is written several times under one entry. */
static int set_after(struct transaction *t, const char *path, const char *after)
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

static int parse_event(char *line, struct transaction *t)
{
	char *f[5];
	int n = split_fields(line, f, 5);

	if (n == 5 && streq(f[0], "before") && path_is_tunable(f[2]))
		return add_entry(t, f[1], f[2], f[3], f[4]);
	if (n == 4 && streq(f[0], "after"))
		return set_after(t, f[2], f[3]);
	if (n == 4 && streq(f[0], "end"))
		return set_state(t, f[1], f[2], f[3]);
	if (n == 3 && streq(f[0], "mark"))
		return set_state(t, f[1], NULL, f[2]);
	if (n == 2 && streq(f[0], "saved")) {
		t->saved_known = parse_i64(f[1], &t->saved_bytes) >= 0;
		return t->saved_known ? 0 : -EINVAL;
	}
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

/* Nobody but root (or the user who runs mmopt below a root of their own) may have a hand in what undo writes. */
static int check_trusted(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if ((st.st_uid != 0 && st.st_uid != geteuid()) || (st.st_mode & 022))
		return -EPERM;
	return 0;
}

static int load_transaction(struct undo_store *s, const char *name, bool write)
{
	_cleanup_(transaction_clear) struct transaction t = {};
	_cleanup_free_ char *text = NULL;
	_cleanup_close_ int fd = -EBADF;
	struct transaction *grown;
	uint64_t number;
	size_t size;
	int r;

	if (strlen(name) > 9 || strspn(name, "0123456789") != strlen(name))
		return 0;
	number = strtoul(name, NULL, 10);
	fd = openat(s->dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	r = check_trusted(fd);
	if (r < 0)
		return r;
	r = read_fd(fd, 0, &text, &size);
	if (r < 0)
		return r;
	r = transaction_parse(text, size, &t);
	if (r == -ENOMEM)
		return r;
	/* Without a whole header nothing was written to the kernel under it; of another boot: its values are gone. */
	if (r < 0 && size > 0 && memchr(text, '\n', size))
		return r;
	if (r < 0 || !streq(t.boot_id, s->boot_id)) {
		if (write)
			unlinkat(s->dir_fd, name, 0);
		return 0;
	}
	t.number = (unsigned)number;
	grown = reallocarray(s->transactions, s->n_transactions + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	s->transactions = grown;
	s->transactions[s->n_transactions++] = t;
	t = (struct transaction){};
	return 0;
}

static int compare_number(const void *a, const void *b)
{
	const struct transaction *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

static int load_transactions(struct undo_store *s, bool write)
{
	_cleanup_closedir_ DIR *d = NULL;
	struct dirent *de;
	int fd;

	fd = openat(s->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	d = fdopendir(fd);
	if (!d) {
		close(fd);
		return -ENOMEM;
	}
	while ((de = readdir(d))) {
		int r = load_transaction(s, de->d_name, write);

		if (r < 0)
			return r;
	}
	if (s->n_transactions > 1)
		qsort(s->transactions, s->n_transactions, sizeof(*s->transactions), compare_number);
	return 0;
}

static int make_dir(int root_fd, const char *parent, const char *name)
{
	_cleanup_close_ int fd = open_in_root(root_fd, parent, O_PATH | O_DIRECTORY, 0);

	if (fd < 0)
		return fd;
	if (mkdirat(fd, name, 0755) < 0 && errno != EEXIST)
		return -errno;
	return 0;
}

static int take_lock(struct undo_store *s, int *ret_holder_pid)
{
	char text[24] = "";
	int r;

	s->lock_fd = open_in_root(s->root_fd, STATE_DIR "/lock", O_RDWR | O_CREAT | O_NOFOLLOW, 0644);
	if (s->lock_fd < 0)
		return s->lock_fd;
	if (flock(s->lock_fd, LOCK_EX | LOCK_NB) < 0) {
		r = -errno;
		if (r != -EWOULDBLOCK)
			return r;
		if (ret_holder_pid && pread(s->lock_fd, text, sizeof(text) - 1, 0) > 0)
			*ret_holder_pid = (int)strtol(text, NULL, 10);
		return -EBUSY;
	}
	/* A courtesy to whom we keep waiting: no harm where there is no room for it. */
	snprintf(text, sizeof(text), "%-12d\n", (int)getpid());
	if (pwrite(s->lock_fd, text, strlen(text), 0) < 0)
		return 0;
	return 0;
}

static int open_for_writing(struct undo_store *s, int *ret_holder_pid)
{
	_cleanup_close_ int state_fd = -EBADF;
	int r;

	r = make_dir(s->root_fd, "/", "run");
	if (r < 0)
		return r;
	r = make_dir(s->root_fd, "/run", "mmopt");
	if (r < 0)
		return r;
	state_fd = open_in_root(s->root_fd, STATE_DIR, O_RDONLY | O_DIRECTORY, 0);
	if (state_fd < 0)
		return state_fd;
	r = check_trusted(state_fd);
	if (r < 0)
		return r;
	r = take_lock(s, ret_holder_pid);
	if (r < 0)
		return r;
	return make_dir(s->root_fd, STATE_DIR, "transactions");
}

int undo_store_open(int root_fd, const char *boot_id, bool write, struct undo_store **ret, int *ret_holder_pid)
{
	_cleanup_(undo_store_freep) struct undo_store *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->root_fd = root_fd;
	s->lock_fd = s->dir_fd = s->current_fd = -EBADF;
	s->boot_id = strdup(boot_id);
	if (!s->boot_id)
		return -ENOMEM;
	if (write) {
		r = open_for_writing(s, ret_holder_pid);
		if (r < 0)
			return r;
	}
	s->dir_fd = open_in_root(root_fd, TRANSACTIONS_DIR, O_RDONLY | O_DIRECTORY, 0);
	if (s->dir_fd < 0 && (write || s->dir_fd != -ENOENT))
		return s->dir_fd;
	if (s->dir_fd >= 0) {
		r = check_trusted(s->dir_fd);
		if (r < 0)
			return r;
		r = load_transactions(s, write);
		if (r < 0)
			return r;
	}
	*ret = TAKE_PTR(s);
	return 0;
}

void undo_store_free(struct undo_store *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n_transactions; i++)
		transaction_clear(&s->transactions[i]);
	free(s->transactions);
	free(s->boot_id);
	closep(&s->current_fd);
	closep(&s->dir_fd);
	closep(&s->lock_fd); /* gives the lock back */
	free(s);
}

const struct transaction *undo_store_transactions(struct undo_store *s, size_t *ret_n)
{
	*ret_n = s->n_transactions;
	return s->transactions;
}

const struct transaction *undo_current(struct undo_store *s)
{
	return s->recording ? &s->transactions[s->n_transactions - 1] : NULL;
}

static struct transaction *last(struct undo_store *s)
{
	return &s->transactions[s->n_transactions - 1];
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

static int append_fields(int fd, const char *event, const char *const *fields, size_t n)
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

#define APPEND(fd, event, ...)                                         \
	append_fields(fd, event, (const char *const[]){ __VA_ARGS__ }, \
		      sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))

int undo_begin(struct undo_store *s, const char *verb)
{
	_cleanup_(transaction_clear) struct transaction t = {};
	_cleanup_close_ int fd = -EBADF;
	struct transaction *grown;
	char name[16], now[24];
	int r;

	t.number = s->n_transactions ? last(s)->number + 1 : 1;
	t.time_sec = (uint64_t)time(NULL);
	t.boot_id = strdup(s->boot_id);
	t.verb = strdup(verb);
	grown = reallocarray(s->transactions, s->n_transactions + 1, sizeof(*grown));
	if (!t.boot_id || !t.verb || !grown) {
		if (grown)
			s->transactions = grown;
		return -ENOMEM;
	}
	s->transactions = grown;

	snprintf(name, sizeof(name), "%04u", t.number);
	fd = openat(s->dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	snprintf(now, sizeof(now), "%llu", (unsigned long long)t.time_sec);
	r = APPEND(fd, FORMAT_HEADER, t.boot_id, t.verb, now);
	if (r < 0) {
		unlinkat(s->dir_fd, name, 0);
		return r;
	}
	s->transactions[s->n_transactions++] = t;
	t = (struct transaction){};
	s->current_fd = TAKE_FD(fd);
	s->recording = true;
	return 0;
}

int undo_before(struct undo_store *s, const char *id, const char *path, const char *before, const char *intended)
{
	int r;

	/* In memory first: what is on record but not in memory could not be taken back by this process. */
	r = add_entry(last(s), id, path, before, intended);
	if (r < 0)
		return r;
	r = APPEND(s->current_fd, "before", id, path, before, intended);
	if (r < 0)
		entry_clear(&last(s)->entries[--last(s)->n_entries]);
	return r;
}

int undo_after(struct undo_store *s, const char *id, const char *path, const char *after)
{
	int r = set_after(last(s), path, after);

	return r < 0 ? r : APPEND(s->current_fd, "after", id, path, after);
}

int undo_end(struct undo_store *s, enum transaction_state state, uint64_t deadline_sec, const char *note)
{
	char deadline[24];

	snprintf(deadline, sizeof(deadline), "%llu", (unsigned long long)deadline_sec);
	s->recording = false;
	last(s)->state = state;
	last(s)->deadline_sec = deadline_sec;
	return APPEND(s->current_fd, "end", state_names[state], deadline, note ?: "");
}

int undo_saved(struct undo_store *s, int64_t saved_bytes)
{
	char text[24];

	if (s->current_fd < 0)
		return -EINVAL;
	snprintf(text, sizeof(text), "%lld", (long long)saved_bytes);
	return APPEND(s->current_fd, "saved", text);
}

/* Cuts off what a crash left of a last line, so that the next line does not run into it. */
static int drop_torn_line(int fd)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	char *nl;
	int r = read_fd(fd, 0, &text, &size);

	if (r < 0)
		return r;
	nl = memrchr(text, '\n', size);
	if (!nl || nl + 1 == text + size)
		return 0;
	return ftruncate(fd, nl + 1 - text) < 0 ? -errno : 0;
}

int undo_mark(struct undo_store *s, unsigned number, enum transaction_state state, const char *note)
{
	char name[16];

	for (size_t i = 0; i < s->n_transactions; i++) {
		_cleanup_close_ int fd = -EBADF;
		int r;

		if (s->transactions[i].number != number)
			continue;
		snprintf(name, sizeof(name), "%04u", number);
		fd = openat(s->dir_fd, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
		if (fd < 0)
			return -errno;
		r = drop_torn_line(fd);
		if (r >= 0)
			r = APPEND(fd, "mark", state_names[state], note ?: "");
		if (r >= 0)
			s->transactions[i].state = state;
		return r;
	}
	return -ENOENT;
}

static int open_confirm_lock(struct undo_store *s, int flags)
{
	return open_in_root(s->root_fd, STATE_DIR "/confirm.lock", flags | O_NOFOLLOW, 0644);
}

int undo_confirm_hold(struct undo_store *s)
{
	_cleanup_close_ int fd = open_confirm_lock(s, O_RDWR | O_CREAT);

	if (fd < 0)
		return fd;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? -EBUSY : -errno;
	return TAKE_FD(fd);
}

bool undo_confirm_waiting(struct undo_store *s)
{
	_cleanup_close_ int fd = open_confirm_lock(s, O_RDONLY);

	return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}
