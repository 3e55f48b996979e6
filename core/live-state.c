/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/live-state.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "base/fields.h"
#include "base/fileio.h"
#include "base/number.h"
#include "base/strutil.h"
#include "core/state-dir.h"

#define STATE_FILE "daemon"
#define LOCK_FILE "daemon.lock"
/* Its first line; another program's format is not guessed at. */
#define HEADER "mmopt-daemon 1"
#define MAX_BYTES (16U << 20)

void live_state_clear(struct live_state *s)
{
	for (size_t i = 0; i < s->n_drifts; i++) {
		free(s->drifts[i].id);
		free(s->drifts[i].from);
		free(s->drifts[i].to);
		free(s->drifts[i].comm);
	}
	free(s->drifts);
	free(s->zero_page_error);
	free(s->policy_error);
	*s = (struct live_state){};
}

const struct live_drift *live_state_find(const struct live_state *s, const char *id)
{
	for (size_t i = 0; i < s->n_drifts; i++)
		if (streq(s->drifts[i].id, id))
			return &s->drifts[i];
	return NULL;
}

/* Opens a file of the state that is an ordinary one and that only its owner can have written; never waits for a pipe. */
static int open_trusted(int root_fd, const char *path, int flags)
{
	_cleanup_close_ int fd = open_in_root(root_fd, path, flags | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW, 0);
	struct stat st;
	int r;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	r = check_trusted(fd);
	return r < 0 ? r : TAKE_FD(fd);
}

/* When a process started, in clock ticks since boot: with the pid that tells it from all others (proc(5), stat, field 22). */
static uint64_t start_of(int root_fd, pid_t pid)
{
	_cleanup_(strv_freep) char **words = NULL;
	_cleanup_free_ char *path = xasprintf("/proc/%d/stat", (int)pid), *text = NULL;
	_cleanup_close_ int fd = -EBADF;
	const char *rest;
	uint64_t start;

	fd = path && pid > 0 ? open_in_root(root_fd, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0) : -ENOENT;
	if (fd < 0 || read_fd(fd, MAX_BYTES, &text, NULL) < 0)
		return 0;
	/* The name before it may hold anything, ") " too. */
	rest = strrchr(text, ')');
	if (!rest || strv_split(rest + 1, &words) < 0 || strv_length(words) < 20 || parse_u64(words[19], &start) < 0)
		return 0;
	return start;
}

/* 1: some process holds the lock, 0: none does, or a negative errno where that cannot be seen. */
static int is_held(int root_fd)
{
	_cleanup_close_ int fd = open_trusted(root_fd, STATE_DIR "/" LOCK_FILE, O_RDONLY);

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	return fd_is_locked(fd);
}

int live_state_hold(int root_fd)
{
	_cleanup_close_ int fd = -EBADF;
	int r;

	r = state_dir_make(root_fd);
	if (r < 0)
		return r;
	/* Who can open a file can lock it: 0600, lest any user keep mmoptd from starting. */
	fd = open_in_root(root_fd, STATE_DIR "/" LOCK_FILE, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
	if (fd < 0)
		return fd;
	r = lock_fd(fd);
	return r < 0 ? r : TAKE_FD(fd);
}

static void put_number(FILE *f, uint64_t n)
{
	fprintf(f, "\t%" PRIu64, n);
}

static void put_text_line(FILE *f, const char *what, const char *text)
{
	if (!text)
		return;
	fputs(what, f);
	put_field(f, text);
	fputc('\n', f);
}

static void put_drift(FILE *f, const struct live_drift *d)
{
	fputs("drift", f);
	put_field(f, d->id);
	put_field(f, d->from);
	put_field(f, d->to);
	put_number(f, (uint64_t)d->pid);
	put_field(f, d->comm ?: "");
	put_number(f, d->time_sec);
	put_number(f, d->times);
	put_number(f, d->given_up);
	fputc('\n', f);
}

static void put_state(FILE *f, const struct live_state *s, uint64_t start)
{
	fputs(HEADER, f);
	put_number(f, (uint64_t)s->pid);
	put_number(f, start);
	put_number(f, s->since_sec);
	fputc('\n', f);
	if (s->zero_page_held) {
		fputs("zero-page", f);
		put_number(f, s->zero_page_bytes);
		put_number(f, s->zero_page_since_sec);
		if (s->zero_page_allocs_known)
			put_number(f, s->zero_page_allocs);
		else
			put_field(f, "");
		fputc('\n', f);
	}
	put_text_line(f, "zero-page-error", s->zero_page_error);
	put_text_line(f, "policy-error", s->policy_error);
	for (size_t i = 0; i < s->n_drifts; i++)
		put_drift(f, &s->drifts[i]);
	fputs("end\n", f);
}

int live_state_write(int root_fd, const struct live_state *s)
{
	_cleanup_close_ int dir_fd = -EBADF;
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	FILE *f;
	int r;

	r = state_dir_make(root_fd);
	if (r < 0)
		return r;
	dir_fd = open_in_root(root_fd, STATE_DIR, O_RDONLY | O_DIRECTORY, 0);
	if (dir_fd < 0)
		return dir_fd;
	f = open_memstream(&text, &size);
	if (!f)
		return -ENOMEM;
	put_state(f, s, start_of(root_fd, s->pid));
	if (fclose(f) != 0)
		return -ENOMEM;
	return replace_file_at(dir_fd, STATE_FILE, text, size, 0644);
}

static int parse_pid(const char *s, pid_t *ret)
{
	uint64_t n;

	if (parse_u64(s, &n) < 0 || n > INT32_MAX)
		return -EINVAL;
	*ret = (pid_t)n;
	return 0;
}

static int parse_header(char *line, struct live_state *s, uint64_t *ret_start)
{
	char *f[4];

	if (split_fields(line, f, 4) != 4 || !streq(f[0], HEADER) || parse_pid(f[1], &s->pid) < 0 || s->pid == 0 ||
	    parse_u64(f[2], ret_start) < 0 || parse_u64(f[3], &s->since_sec) < 0)
		return -EINVAL;
	return 0;
}

static int parse_zero_page(char *const *f, struct live_state *s)
{
	if (parse_u64(f[0], &s->zero_page_bytes) < 0 || parse_u64(f[1], &s->zero_page_since_sec) < 0)
		return -EINVAL;
	s->zero_page_allocs_known = *f[2];
	if (*f[2] && parse_u64(f[2], &s->zero_page_allocs) < 0)
		return -EINVAL;
	s->zero_page_held = true;
	return 0;
}

static int set_text(char **to, const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		return -ENOMEM;
	free(*to);
	*to = copy;
	return 0;
}

static int parse_drift(char *const *f, struct live_state *s)
{
	struct live_drift *grown, d = {};
	uint64_t times, given_up;

	if (!*f[0] || parse_pid(f[3], &d.pid) < 0 || parse_u64(f[5], &d.time_sec) < 0 || parse_u64(f[6], &times) < 0 ||
	    times > UINT32_MAX || parse_u64(f[7], &given_up) < 0 || given_up > 1)
		return -EINVAL;
	grown = reallocarray(s->drifts, s->n_drifts + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	s->drifts = grown;
	d.times = (unsigned)times;
	d.given_up = given_up;
	d.id = strdup(f[0]);
	d.from = strdup(f[1]);
	d.to = strdup(f[2]);
	d.comm = *f[4] ? strdup(f[4]) : NULL;
	s->drifts[s->n_drifts++] = d;
	return d.id && d.from && d.to && (d.comm || !*f[4]) ? 0 : -ENOMEM;
}

/* 1 at the last line, 0 where more have to come, or a negative errno. */
static int parse_line(char *line, struct live_state *s)
{
	char *f[9];
	int n = split_fields(line, f, ARRAY_SIZE(f));

	if (n == 4 && streq(f[0], "zero-page"))
		return parse_zero_page(f + 1, s);
	if (n == 2 && streq(f[0], "zero-page-error"))
		return set_text(&s->zero_page_error, f[1]);
	if (n == 2 && streq(f[0], "policy-error"))
		return set_text(&s->policy_error, f[1]);
	if (n == 9 && streq(f[0], "drift"))
		return parse_drift(f + 1, s);
	return n == 1 && streq(f[0], "end") ? 1 : -EINVAL;
}

static int compare_drifts(const void *a, const void *b)
{
	const struct live_drift *x = a, *y = b;

	return strcmp(x->id, y->id);
}

int live_state_parse(const char *text, size_t size, struct live_state *ret, uint64_t *ret_start)
{
	_cleanup_(live_state_clear) struct live_state s = {};
	_cleanup_free_ char *copy = NULL;
	bool first = true;
	int r = 0;

	if (memchr(text, '\0', size))
		return -EINVAL;
	copy = strndup(text, size);
	if (!copy)
		return -ENOMEM;
	for (char *line = copy, *nl; r == 0 && (nl = strchr(line, '\n')); line = nl + 1) {
		*nl = '\0';
		r = first ? parse_header(line, &s, ret_start) : parse_line(line, &s);
		first = false;
	}
	if (r <= 0)
		return r < 0 ? r : -EINVAL; /* torn: the last line is not there */
	if (s.n_drifts > 1)
		qsort(s.drifts, s.n_drifts, sizeof(*s.drifts), compare_drifts);
	s.running = true;
	*ret = s;
	s = (struct live_state){};
	return 0;
}

int live_state_read(int root_fd, struct live_state *ret)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_close_ int fd = -EBADF;
	uint64_t start = 0;
	size_t size;
	int r, held;

	*ret = (struct live_state){};
	held = is_held(root_fd);
	/* Who may not look at the lock goes by the process. */
	if (held == 0 || (held < 0 && held != -EACCES && held != -EPERM))
		return 0;
	fd = open_trusted(root_fd, STATE_DIR "/" STATE_FILE, O_RDONLY);
	r = fd < 0 ? fd : read_fd(fd, MAX_BYTES, &text, &size);
	if (r >= 0)
		r = live_state_parse(text, size, ret, &start);
	if (r >= 0 && held < 0 && (start == 0 || start_of(root_fd, ret->pid) != start))
		live_state_clear(ret);
	return r == -ENOMEM ? r : 0;
}
