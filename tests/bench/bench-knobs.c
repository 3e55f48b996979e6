/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Kernel files that a benchmark changes, and how they get their values back however it ends. */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>

#include "base/fileio.h"
#include "base/strutil.h"
#include "tests/bench/bench.h"

#define MAX_KEPT 16
#define MAX_AT_END 4
#define VALUE_SIZE 128
#define TRIES 50
#define TRY_USEC 100000

/* Fixed memory: it is used in signal handlers. */
static struct {
	char path[160];
	char value[VALUE_SIZE];
} kept[MAX_KEPT];
static volatile sig_atomic_t n_kept;
static void (*at_end[MAX_AT_END])(void);
static volatile sig_atomic_t n_at_end;
static pid_t owner;

/* What the file has, without the newline, or only the word in brackets. Async-signal-safe. */
static int current(const char *path, char *value)
{
	char text[512], *start = text, *end;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof(text) - 1);
	if (n < 0)
		n = -errno;
	close(fd);
	if (n < 0)
		return (int)n;
	text[n] = '\0';
	if (strchr(text, '['))
		start = strchr(text, '[') + 1;
	end = start + strcspn(start, "]\n");
	if (end - start >= VALUE_SIZE)
		return -EFBIG;
	*end = '\0';
	memcpy(value, start, (size_t)(end - start) + 1);
	return 0;
}

int bench_write(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), r = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, value, strlen(value)) < 0)
		r = -errno;
	close(fd);
	return r;
}

static void say(const char *text)
{
	if (write(STDERR_FILENO, text, strlen(text)) < 0)
		return;
}

/* What is not as it was after a while: some of the kernel's files only get there when its own workers are done. */
static int first_not_back(void)
{
	char now[VALUE_SIZE];
	int wrong = -1;

	for (unsigned tries = 0; tries < TRIES; tries++) {
		wrong = -1;
		for (int i = n_kept; i-- > 0;)
			if (current(kept[i].path, now) < 0 || !streq(now, kept[i].value))
				wrong = i;
		if (wrong < 0)
			break;
		usleep(TRY_USEC);
	}
	return wrong;
}

/* True where all is back. Each is looked at after all were written: some of the kernel's files change their neighbours. */
static bool put_back(void)
{
	int wrong;

	for (int i = n_at_end; i-- > 0;)
		at_end[i]();
	for (int i = n_kept; i-- > 0;)
		bench_write(kept[i].path, kept[i].value);
	wrong = first_not_back();
	if (wrong >= 0) {
		say("cannot put back ");
		say(kept[wrong].path);
		say(", which had ");
		say(kept[wrong].value);
		say("\n");
	}
	n_at_end = 0;
	n_kept = 0;
	return wrong < 0;
}

static void ends(void)
{
	if (getpid() != owner || put_back())
		return;
	fflush(stdout);
	_exit(1);
}

static void interrupted(int sig)
{
	if (getpid() == owner)
		put_back();
	signal(sig, SIG_DFL);
	raise(sig);
}

/* The children of a terminal's process group get the signal too; what is left of them dies with their parent. */
static void watch_the_end(void)
{
	static const int signals[] = { SIGINT,	SIGTERM, SIGHUP,  SIGQUIT, SIGPIPE,
				       SIGALRM, SIGABRT, SIGSEGV, SIGBUS,  SIGFPE };
	struct sigaction action = { .sa_handler = interrupted };

	if (owner)
		return;
	owner = getpid();
	sigfillset(&action.sa_mask);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		sigaction(signals[i], &action, NULL);
	if (atexit(ends) != 0)
		bench_fail("out of memory");
}

void bench_keep(const char *path)
{
	int i = n_kept, r;

	watch_the_end();
	if (i == MAX_KEPT || strlen(path) >= sizeof(kept[i].path))
		bench_fail("cannot keep %s: no room", path);
	memcpy(kept[i].path, path, strlen(path) + 1);
	r = current(path, kept[i].value);
	if (r < 0)
		bench_fail("cannot read %s: %s", path, strerror(-r));
	n_kept = i + 1;
}

void bench_at_end(void (*fn)(void))
{
	int i = n_at_end;

	watch_the_end();
	if (i == MAX_AT_END)
		bench_fail("too many things to do at the end");
	at_end[i] = fn;
	n_at_end = i + 1;
}

int bench_write_number(const char *path, int64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, value);
	return bench_write(path, text);
}

void bench_set(const char *path, int64_t value)
{
	int r = bench_write_number(path, value);

	if (r < 0)
		bench_fail("cannot write %" PRId64 " to %s: %s", value, path, strerror(-r));
	if (bench_number(path) != value)
		bench_fail("%s is %" PRId64 " after %" PRId64 " was written", path, bench_number(path), value);
}

int64_t bench_number(const char *path)
{
	char text[VALUE_SIZE], *end;
	long long v;

	if (current(path, text) < 0)
		return -1;
	v = strtoll(text, &end, 0);
	return end == text ? -1 : v;
}

static int64_t number_in(const char *path, const char *name)
{
	_cleanup_free_ char *text = NULL;
	size_t n = strlen(name);

	if (read_file_at(AT_FDCWD, path, 0, &text, NULL) < 0)
		return -1;
	for (char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, name, n) == 0 && (line[n] == ' ' || line[n] == ':'))
			return strtoll(line + n + 1, NULL, 10);
	}
	return -1;
}

int64_t bench_vmstat(const char *name)
{
	return number_in("/proc/vmstat", name);
}

int64_t bench_meminfo(const char *name)
{
	return number_in("/proc/meminfo", name);
}
