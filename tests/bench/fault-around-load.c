/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "tests/bench/bench.h"
#include "tests/bench/fault-around.h"

/* A piece that FA_REMAP maps at once: 8 MiB. */
#define REMAP_WINDOWS 128
#define FILL_CHUNK (128 * 1024)
#define FILL_STEP 8

const struct fa_scenario fa_scenarios[] = {
	{ "map-cold", "one page used of each 64 KiB of a mapped file", 128, 256, 0, 1, 0, 4, FA_KEEP, false, false },
	{ "exec-cold", "the same with an executable mapping", 128, 192, 0, 1, 0, 4, FA_KEEP, true, false },
	{ "exec-pre", "executable, the page cache filled before", 128, 192, 0, 1, 0, 4, FA_KEEP, true, true },
	{ "map-pre", "not executable, the page cache filled before", 128, 192, 0, 1, 0, 4, FA_KEEP, false, true },
	{ "cache", "other page cache is read beside it", 64, 192, 96, 1, 0, 4, FA_KEEP, false, false },
	{ "rot", "each round uses another page of the window", 128, 192, 0, 1, 5, 4, FA_KEEP, false, false },
	{ "lookup", "random look-ups in a large file", 96, 480, 0, 1, 0, 4, FA_RANDOM, false, false },
	{ "remap", "mapped anew in each round", 128, 192, 0, 1, 0, 4, FA_REMAP, false, false },
	{ "dense", "all pages of a window are used", 96, 160, 0, FA_WINDOW_PAGES, 0, 4, FA_KEEP, false, false },
	{ "fits", "no pressure: memory suffices", 48, 64, 0, 1, 0, 4, FA_KEEP, false, false },
	{ NULL },
};

struct command {
	unsigned round, slice;
};

static volatile unsigned char sink;

/* Scatters: the page of window w that is used is the same in each round and on both sides, and no neighbours are alike. */
static unsigned used_page(size_t w, unsigned k, unsigned shift)
{
	uint64_t x = ((uint64_t)w * 64 + k + 1) * 0x9e3779b97f4a7c15ULL;

	x = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9ULL;
	return (unsigned)(((x >> 32) + shift) % FA_WINDOW_PAGES);
}

static void touch_window(const struct fa_load *load, const unsigned char *window, size_t w, unsigned round)
{
	const struct fa_scenario *s = load->scenario;

	for (unsigned k = 0; k < s->touch; k++) {
		unsigned page = s->touch == FA_WINDOW_PAGES ? k : used_page(w, k, round * s->rotate);

		sink = sink + window[page * load->page_bytes];
	}
}

static bool next_command(int in, struct command *ret)
{
	return read(in, ret, sizeof(*ret)) == (ssize_t)sizeof(*ret);
}

static void answer(int out)
{
	if (write(out, "", 1) != 1)
		_exit(0);
}

static void worker_fails(const char *what)
{
	fprintf(stderr, "fault-around: worker: %s: %s\n", what, strerror(errno));
	_exit(1);
}

/* Contents differ from page to page and are never zero: the kernel keeps zero pages without swap space. */
static void fill_page(unsigned char *page, size_t index, size_t page_bytes)
{
	for (size_t i = 0; i < page_bytes; i += sizeof(uint64_t) * FILL_STEP) {
		uint64_t v = (uint64_t)index * 0x9e3779b97f4a7c15ULL + i + 1;

		memcpy(page + i, &v, sizeof(v));
	}
}

static void read_cache(const struct fa_load *load, int fd, unsigned char *buffer, unsigned slice)
{
	off_t start = (off_t)(load->windows * FA_WINDOW_PAGES);

	for (size_t i = load->cache_pages * slice / FA_SLICES; i < load->cache_pages * (slice + 1) / FA_SLICES; i++)
		if (pread(fd, buffer, load->page_bytes, (start + (off_t)i) * (off_t)load->page_bytes) !=
		    (ssize_t)load->page_bytes)
			worker_fails("pread");
}

/* The file once more, with a file position and a readahead state of its own. */
static int open_again(const struct fa_load *load)
{
	char path[40];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", load->fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		worker_fails("open");
	return fd;
}

static void anon_work(const struct fa_load *load, int in, int out)
{
	size_t page_bytes = load->page_bytes, n = load->anon_pages;
	unsigned char *memory = mmap(NULL, n * page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char *buffer = malloc(page_bytes);
	int fd = open_again(load);
	struct command c;

	if (memory == MAP_FAILED || !buffer)
		worker_fails("mmap");
	madvise(memory, n * page_bytes, MADV_NOHUGEPAGE);
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	answer(out);
	while (next_command(in, &c)) {
		for (size_t i = n * c.slice / FA_SLICES; i < n * (c.slice + 1) / FA_SLICES; i++) {
			if (c.round == 0)
				fill_page(memory + i * page_bytes, i, page_bytes);
			else
				memory[i * page_bytes + 8]++;
		}
		read_cache(load, fd, buffer, c.slice);
		answer(out);
	}
	_exit(0);
}

static unsigned char *map_windows(const struct fa_load *load, int fd, size_t from, size_t n)
{
	size_t window_bytes = FA_WINDOW_PAGES * load->page_bytes;
	void *p = mmap(NULL, n * window_bytes, PROT_READ | (load->scenario->exec ? PROT_EXEC : 0), MAP_SHARED, fd,
		       (off_t)(from * window_bytes));

	if (p == MAP_FAILED)
		worker_fails("mmap of the file");
	return p;
}

static void sweep_remapped(const struct fa_load *load, size_t from, size_t to, unsigned round)
{
	size_t window_bytes = FA_WINDOW_PAGES * load->page_bytes;

	for (size_t w = from; w < to; w += REMAP_WINDOWS) {
		size_t n = MIN((size_t)REMAP_WINDOWS, to - w);
		int fd = open_again(load);
		unsigned char *p = map_windows(load, fd, w, n);

		for (size_t i = 0; i < n; i++)
			touch_window(load, p + i * window_bytes, w + i, round);
		munmap(p, n * window_bytes);
		close(fd);
	}
}

static size_t random_window(uint64_t *state, size_t n)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (size_t)((*state >> 33) % n);
}

static void file_slice(const struct fa_load *load, const unsigned char *map, const struct command *c, uint64_t *state)
{
	size_t from = load->windows * c->slice / FA_SLICES, to = load->windows * (c->slice + 1) / FA_SLICES;
	size_t window_bytes = FA_WINDOW_PAGES * load->page_bytes;

	if (load->scenario->access == FA_REMAP) {
		sweep_remapped(load, from, to, c->round);
		return;
	}
	for (size_t i = from; i < to; i++) {
		size_t w = load->scenario->access == FA_RANDOM ? random_window(state, load->windows) : i;

		touch_window(load, map + w * window_bytes, w, c->round);
	}
}

static void file_work(const struct fa_load *load, int in, int out)
{
	size_t bytes = load->windows * FA_WINDOW_PAGES * load->page_bytes;
	uint64_t state = 88172645463325252ULL;
	const unsigned char *map = NULL;
	int fd = open_again(load);
	struct command c;

	for (size_t at = 0; load->scenario->prefill && at < bytes; at += FILL_CHUNK)
		readahead(fd, (off_t)at, FILL_CHUNK);
	if (load->scenario->access != FA_REMAP)
		map = map_windows(load, fd, 0, load->windows);
	answer(out);
	while (next_command(in, &c)) {
		file_slice(load, map, &c, &state);
		answer(out);
	}
	_exit(0);
}

static void wait_answer(const struct fa_worker *worker)
{
	char byte;

	if (read(worker->from, &byte, 1) != 1)
		bench_fail("a process ended early: see the kernel log for the OOM killer");
}

static struct fa_worker start(const struct fa_load *load, void (*work)(const struct fa_load *, int, int))
{
	struct fa_worker worker = { 0 };
	pid_t parent = getpid();
	int to[2], from[2];

	if (pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0)
		bench_fail("cannot make a pipe: %s", strerror(errno));
	fflush(stdout);
	worker.pid = fork();
	if (worker.pid < 0)
		bench_fail("cannot fork: %s", strerror(errno));
	if (worker.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		close(to[1]);
		close(from[0]);
		work(load, to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	worker.to = to[1];
	worker.from = from[0];
	wait_answer(&worker);
	return worker;
}

struct fa_worker fa_start_anon(const struct fa_load *load)
{
	return start(load, anon_work);
}

struct fa_worker fa_start_file(const struct fa_load *load)
{
	return start(load, file_work);
}

void fa_turn(const struct fa_worker *worker, unsigned round, unsigned slice)
{
	struct command c = { .round = round, .slice = slice };

	if (write(worker->to, &c, sizeof(c)) != (ssize_t)sizeof(c))
		bench_fail("a process ended early: see the kernel log for the OOM killer");
	wait_answer(worker);
}

/* Killed, not asked: the copies of its descriptors that a later worker has would keep it. */
void fa_stop(const struct fa_worker *worker)
{
	close(worker->to);
	close(worker->from);
	kill(worker->pid, SIGKILL);
	waitpid(worker->pid, NULL, 0);
}
