/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <inttypes.h>
#include <sys/file.h>
#include <time.h>

#include "base/fileio.h"
#include "base/strutil.h"
#include "core/state-dir.h"
#include "core/undo-record.h"

#define TRANSACTIONS_DIR STATE_DIR "/transactions"
/* A record that is done with is renamed, so that it need not be read any more when something is to be applied. */
#define UNDONE_SUFFIX ".undone"

struct undo_store {
	int root_fd; /* borrowed */
	int lock_fd;
	int dir_fd; /* TRANSACTIONS_DIR; -EBADF where there is none */
	char *boot_id;
	struct transaction *transactions;
	size_t n_transactions;
	unsigned highest_number;
	int current_fd; /* the record that undo_begin() opened */
	bool recording;
};

static void record_name(char *name, size_t size, unsigned number, const char *suffix)
{
	snprintf(name, size, "%04u%s", number, suffix);
}

static bool record_number(const char *name, uint64_t *ret)
{
	size_t digits = strspn(name, "0123456789");

	if (digits == 0 || digits > 9 || (name[digits] && !streq(name + digits, UNDONE_SUFFIX)))
		return false;
	*ret = strtoul(name, NULL, 10);
	return true;
}

static int load_transaction(struct undo_store *s, const char *name, bool write)
{
	_cleanup_(transaction_clear) struct transaction t = {};
	_cleanup_free_ char *text = NULL;
	_cleanup_close_ int fd = -EBADF;
	struct transaction *grown;
	uint64_t number;
	char undone[24];
	size_t size;
	int r;

	if (!record_number(name, &number))
		return 0;
	/* Whoever writes wants what can still be taken back, and the next number: the rest is for history. */
	if (write && endswith(name, UNDONE_SUFFIX)) {
		s->highest_number = MAX(s->highest_number, (unsigned)number);
		return 0;
	}
	fd = openat(s->dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 && errno == ENOENT) {
		/* Marked and renamed since it was listed. */
		record_name(undone, sizeof(undone), (unsigned)number, UNDONE_SUFFIX);
		fd = openat(s->dir_fd, undone, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	}
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
	s->highest_number = MAX(s->highest_number, t.number);
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

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return x->state < y->state ? -1 : x->state > y->state;
}

/* A record that was renamed during the listing may have been met under both names: what it says last counts. */
static void drop_doubles(struct undo_store *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_transactions; i++) {
		if (n > 0 && s->transactions[n - 1].number == s->transactions[i].number)
			transaction_clear(&s->transactions[--n]);
		s->transactions[n++] = s->transactions[i];
	}
	s->n_transactions = n;
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
	drop_doubles(s);
	return 0;
}

static int take_lock(struct undo_store *s, int *ret_holder_pid)
{
	char text[24] = "";
	int r;

	/* Who can open a file can lock it, for reading only too: 0600, lest any user hold up apply and the way back. */
	s->lock_fd = open_in_root(s->root_fd, STATE_DIR "/lock", O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
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
	int r;

	r = state_dir_make(s->root_fd);
	if (r < 0)
		return r;
	r = take_lock(s, ret_holder_pid);
	if (r < 0)
		return r;
	return state_dir_make_below(s->root_fd, STATE_DIR, "transactions");
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

const struct undo_entry *undo_last_entry(struct undo_store *s, const char *path)
{
	for (size_t n = s->n_transactions; n-- > 0;) {
		const struct transaction *t = &s->transactions[n];

		for (size_t i = t->state == TRANSACTION_UNDONE ? 0 : t->n_entries; i-- > 0;)
			if (streq(t->entries[i].path, path))
				return &t->entries[i];
	}
	return NULL;
}

const struct undo_entry *undo_last_given_back(struct undo_store *s, const char *path)
{
	for (size_t n = s->n_transactions; n-- > 0;) {
		const struct transaction *t = &s->transactions[n];

		for (size_t i = 0; i < t->n_entries; i++)
			if (streq(t->entries[i].path, path))
				return t->state == TRANSACTION_UNDONE ? &t->entries[i] : NULL;
	}
	return NULL;
}

const struct transaction *undo_current(struct undo_store *s)
{
	return s->recording ? &s->transactions[s->n_transactions - 1] : NULL;
}

static struct transaction *last(struct undo_store *s)
{
	return &s->transactions[s->n_transactions - 1];
}

int undo_begin(struct undo_store *s, const char *verb)
{
	_cleanup_(transaction_clear) struct transaction t = {};
	_cleanup_close_ int fd = -EBADF;
	struct transaction *grown;
	char name[24], now[24];
	int r;

	t.number = s->highest_number + 1;
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

	record_name(name, sizeof(name), t.number, "");
	fd = openat(s->dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	snprintf(now, sizeof(now), "%llu", (unsigned long long)t.time_sec);
	r = RECORD_APPEND(fd, UNDO_RECORD_HEADER, t.boot_id, t.verb, now);
	if (r < 0) {
		unlinkat(s->dir_fd, name, 0);
		return r;
	}
	s->highest_number = t.number;
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
	r = transaction_add(last(s), id, path, before, intended);
	if (r < 0)
		return r;
	r = RECORD_APPEND(s->current_fd, "before", id, path, before, intended);
	if (r < 0)
		undo_entry_clear(&last(s)->entries[--last(s)->n_entries]);
	return r;
}

int undo_after(struct undo_store *s, const char *id, const char *path, const char *after)
{
	int r = transaction_set_after(last(s), path, after);

	return r < 0 ? r : RECORD_APPEND(s->current_fd, "after", id, path, after);
}

/* The state is in the record already: without the new name it is only read once more each time. */
static void rename_undone(struct undo_store *s, unsigned number)
{
	char from[24], to[24];

	record_name(from, sizeof(from), number, "");
	record_name(to, sizeof(to), number, UNDONE_SUFFIX);
	renameat(s->dir_fd, from, s->dir_fd, to);
}

int undo_end(struct undo_store *s, enum transaction_state state, uint64_t deadline_sec, const char *note)
{
	char deadline[24];
	int r;

	snprintf(deadline, sizeof(deadline), "%llu", (unsigned long long)deadline_sec);
	s->recording = false;
	last(s)->state = state;
	last(s)->deadline_sec = deadline_sec;
	r = RECORD_APPEND(s->current_fd, "end", transaction_state_name(state), deadline, note ?: "");
	if (r >= 0 && state == TRANSACTION_UNDONE)
		rename_undone(s, last(s)->number);
	return r;
}

int undo_saved(struct undo_store *s, int64_t saved_bytes)
{
	char text[24];

	if (s->current_fd < 0)
		return -EINVAL;
	snprintf(text, sizeof(text), "%lld", (long long)saved_bytes);
	return RECORD_APPEND(s->current_fd, "saved", text);
}

int undo_memory(struct undo_store *s, uint64_t total_bytes)
{
	char text[24];
	int r;

	if (s->current_fd < 0)
		return -EINVAL;
	snprintf(text, sizeof(text), "%" PRIu64, total_bytes);
	r = RECORD_APPEND(s->current_fd, "memory", text);
	if (r >= 0)
		last(s)->memory_bytes = total_bytes;
	return r;
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

/* Opens the record of a transaction, to go on with it after its last whole line. A descriptor or a negative errno. */
static int open_record(struct undo_store *s, unsigned number)
{
	_cleanup_close_ int fd = -EBADF;
	char name[24];
	int r;

	record_name(name, sizeof(name), number, "");
	fd = openat(s->dir_fd, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	r = drop_torn_line(fd);
	return r < 0 ? r : TAKE_FD(fd);
}

static struct transaction *find_transaction(struct undo_store *s, unsigned number)
{
	for (size_t i = 0; i < s->n_transactions; i++)
		if (s->transactions[i].number == number)
			return &s->transactions[i];
	return NULL;
}

int undo_mark(struct undo_store *s, unsigned number, enum transaction_state state, const char *note)
{
	struct transaction *t = find_transaction(s, number);
	_cleanup_close_ int fd = -EBADF;
	int r;

	if (!t)
		return -ENOENT;
	fd = open_record(s, number);
	if (fd < 0)
		return fd;
	r = RECORD_APPEND(fd, "mark", transaction_state_name(state), note ?: "");
	if (r < 0)
		return r;
	t->state = state;
	if (state == TRANSACTION_UNDONE)
		rename_undone(s, number);
	return 0;
}

int undo_left(struct undo_store *s, unsigned number, const char *path, const char *value)
{
	struct transaction *t = find_transaction(s, number);
	_cleanup_close_ int fd = -EBADF;
	int r;

	if (!t)
		return -ENOENT;
	r = transaction_set_after(t, path, value);
	if (r < 0)
		return r;
	fd = open_record(s, number);
	return fd < 0 ? fd : RECORD_APPEND(fd, "after", "", path, value);
}

int undo_delays(struct undo_store *s, unsigned number, enum undo_delays_when when, uint64_t reclaim_nsec,
		uint64_t swapin_nsec, uint64_t thrashing_nsec)
{
	struct transaction *t = find_transaction(s, number);
	char reclaim[24], swapin[24], thrashing[24];
	_cleanup_close_ int fd = -EBADF;
	int r;

	if (!t || t->state == TRANSACTION_UNDONE)
		return -ENOENT;
	fd = open_record(s, number);
	if (fd < 0)
		return fd;
	snprintf(reclaim, sizeof(reclaim), "%" PRIu64, reclaim_nsec);
	snprintf(swapin, sizeof(swapin), "%" PRIu64, swapin_nsec);
	snprintf(thrashing, sizeof(thrashing), "%" PRIu64, thrashing_nsec);
	r = RECORD_APPEND(fd, "delays", undo_delays_when_name(when), reclaim, swapin, thrashing);
	if (r < 0)
		return r;
	t->delays[when] = (struct undo_delays){ true, reclaim_nsec, swapin_nsec, thrashing_nsec };
	return 0;
}

static int open_confirm_lock(int root_fd, int flags)
{
	return open_in_root(root_fd, STATE_DIR "/confirm.lock", flags | O_NOFOLLOW, 0600);
}

int undo_confirm_hold(int root_fd)
{
	_cleanup_close_ int fd = -EBADF;
	int r;

	r = state_dir_make(root_fd);
	if (r < 0)
		return r;
	fd = open_confirm_lock(root_fd, O_RDWR | O_CREAT);
	if (fd < 0)
		return fd;
	r = lock_fd(fd);
	return r < 0 ? r : TAKE_FD(fd);
}

bool undo_confirm_waiting(struct undo_store *s)
{
	_cleanup_close_ int fd = open_confirm_lock(s->root_fd, O_RDONLY);

	return fd >= 0 && fd_is_locked(fd) > 0;
}
