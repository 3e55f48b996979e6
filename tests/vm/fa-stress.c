/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * usage: fa-stress DIR OPERATIONS PROCESSES HOG-MIB
 * Processes of two threads each do at random what can happen to a mapped file, in a file of their own below DIR and in one
 * that all share, while one more process has so much anonymous memory in use. What is read is checked. Ends after OPERATIONS
 * of them, prints how often each was done; exit status 1 where something was read that was never written.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef MADV_COLD
#define MADV_COLD 20
#define MADV_PAGEOUT 21
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

#define PAGE 4096UL
#define DATA_PAGES 8192UL    /* of the file that never changes */
#define CUT_PAGES 1024UL     /* of the one that is cut and filled again */
#define PRIVATE_PAGES 1024UL /* of a thread's private mapping of the first */
#define RANGE_PAGES 256UL    /* at most, for one madvise() */
#define READS 64
#define THREADS 2
#define COLLAPSE_PAGES 512UL

struct shared {
	atomic_bool full;  /* the hog has all of its memory */
	atomic_ulong left; /* operations */
	atomic_ulong done[32];
	atomic_bool wrong;
};

struct worker {
	uint64_t random;
	volatile uint64_t *own;		 /* private mapping, writable */
	uint32_t written[PRIVATE_PAGES]; /* what own has, 0: what the file has */
};

static struct shared *shared;
static volatile uint64_t *data, *cut; /* the files, mapped readable */
static int data_fd, cut_fd;
static _Thread_local sigjmp_buf beyond_end;
static _Thread_local volatile sig_atomic_t may_fault;

static uint64_t next_random(struct worker *w)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return w->random;
}

static size_t below(struct worker *w, size_t limit)
{
	return (size_t)(next_random(w) >> 16) % limit;
}

/* What the files have in the first word of a page. */
static uint64_t pattern(size_t page)
{
	return (page + 1) * 0x9e3779b97f4a7c15ULL;
}

static void is(const char *what, size_t page, uint64_t seen, uint64_t expected)
{
	if (seen == expected)
		return;
	atomic_store(&shared->wrong, true);
	fprintf(stderr, "%s: page %zu has %#llx, not %#llx\n", what, page, (unsigned long long)seen,
		(unsigned long long)expected);
}

static volatile uint64_t *at(volatile uint64_t *base, size_t page)
{
	return base + page * (PAGE / sizeof(*base));
}

static void advise(struct worker *w, volatile uint64_t *base, size_t pages, int advice)
{
	size_t first = below(w, pages), n = 1 + below(w, RANGE_PAGES);

	/* What is pointless or too early is an error of no interest: madvise() is asked, not relied on. */
	(void)madvise((void *)at(base, first), (n < pages - first ? n : pages - first) * PAGE, advice);
}

static void do_read(struct worker *w)
{
	for (int i = 0; i < READS; i++) {
		size_t page = below(w, DATA_PAGES);

		is("data", page, *at(data, page), pattern(page));
	}
}

static void do_dontneed(struct worker *w)
{
	advise(w, data, DATA_PAGES, MADV_DONTNEED);
}

static void do_cold(struct worker *w)
{
	advise(w, data, DATA_PAGES, MADV_COLD);
}

static void do_pageout(struct worker *w)
{
	advise(w, data, DATA_PAGES, MADV_PAGEOUT);
	advise(w, w->own, PRIVATE_PAGES, MADV_PAGEOUT);
}

static void do_collapse(struct worker *w)
{
	size_t first = below(w, DATA_PAGES / COLLAPSE_PAGES) * COLLAPSE_PAGES;

	(void)madvise((void *)at(data, first), COLLAPSE_PAGES * PAGE, MADV_COLLAPSE);
}

/* A mapping that comes and goes. */
static void do_map(struct worker *w)
{
	size_t first = below(w, DATA_PAGES - RANGE_PAGES);
	void *p = mmap(NULL, RANGE_PAGES * PAGE, PROT_READ, MAP_SHARED, data_fd, (off_t)(first * PAGE));

	if (p == MAP_FAILED)
		err(1, "mmap");
	for (size_t i = 0; i < RANGE_PAGES; i += 16)
		is("mapping", first + i, *at(p, i), pattern(first + i));
	munmap(p, RANGE_PAGES * PAGE);
}

static void do_write_own(struct worker *w)
{
	for (int i = 0; i < READS / 4; i++) {
		size_t page = below(w, PRIVATE_PAGES);

		w->written[page] = (uint32_t)next_random(w) | 1;
		*at(w->own, page) = w->written[page];
	}
}

static void check_own(struct worker *w, size_t page)
{
	is("private", page, *at(w->own, page), w->written[page] ? w->written[page] : pattern(page));
}

static void do_read_own(struct worker *w)
{
	for (int i = 0; i < READS; i++)
		check_own(w, below(w, PRIVATE_PAGES));
}

static void do_drop_own(struct worker *w)
{
	size_t first = below(w, PRIVATE_PAGES), n = 1 + below(w, PRIVATE_PAGES - first);

	if (madvise((void *)at(w->own, first), n * PAGE, MADV_DONTNEED))
		err(1, "MADV_DONTNEED");
	memset(&w->written[first], 0, n * sizeof(w->written[0]));
}

static void do_move_own(struct worker *w)
{
	void *to = mmap(NULL, PRIVATE_PAGES * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *moved;

	if (to == MAP_FAILED)
		err(1, "mmap");
	moved = mremap((void *)w->own, PRIVATE_PAGES * PAGE, PRIVATE_PAGES * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to);
	if (moved == MAP_FAILED)
		err(1, "mremap");
	w->own = moved;
	do_read_own(w);
}

static void do_protect_own(struct worker *w)
{
	if (mprotect((void *)w->own, PRIVATE_PAGES * PAGE, PROT_READ))
		err(1, "mprotect");
	do_read_own(w);
	if (mprotect((void *)w->own, PRIVATE_PAGES * PAGE, PROT_READ | PROT_WRITE))
		err(1, "mprotect");
}

static void do_fork(struct worker *w)
{
	pid_t child = fork();
	int status;

	if (child < 0) {
		/* Short of memory, as is to be. */
		if (errno != EAGAIN && errno != ENOMEM)
			err(1, "fork");
		return;
	}
	if (child == 0) {
		do_read(w);
		do_read_own(w);
		_exit(0);
	}
	if (waitpid(child, &status, 0) != child || status)
		errx(1, "a child ended with %#x", (unsigned)status);
}

/* The process may read beyond the end of the file that others cut. */
static void do_read_cut(struct worker *w)
{
	may_fault = 1;
	if (sigsetjmp(beyond_end, 1) == 0) {
		for (int i = 0; i < READS; i++) {
			size_t page = below(w, CUT_PAGES);
			uint64_t seen = *at(cut, page);

			/* A page that has just come back is zero until it is written. */
			if (seen)
				is("cut", page, seen, pattern(page));
		}
	}
	may_fault = 0;
}

static void fill_cut(size_t first, size_t pages)
{
	for (size_t page = first; page < first + pages; page++) {
		uint64_t value = pattern(page);

		if (pwrite(cut_fd, &value, sizeof(value), (off_t)(page * PAGE)) != sizeof(value))
			err(1, "pwrite");
	}
}

static void do_truncate(struct worker *w)
{
	size_t pages = below(w, CUT_PAGES);

	if (ftruncate(cut_fd, (off_t)(pages * PAGE)) || ftruncate(cut_fd, (off_t)(CUT_PAGES * PAGE)))
		err(1, "ftruncate");
	fill_cut(pages, CUT_PAGES - pages);
}

static void do_punch(struct worker *w)
{
	size_t first = below(w, CUT_PAGES), n = 1 + below(w, CUT_PAGES - first);

	if (fallocate(cut_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)(first * PAGE), (off_t)(n * PAGE)))
		err(1, "fallocate");
	fill_cut(first, n);
}

static const struct {
	const char *name;
	unsigned weight;
	void (*run)(struct worker *w);
} operations[] = {
	{ "read", 30, do_read },	   { "dontneed", 15, do_dontneed },	 { "cold", 5, do_cold },
	{ "pageout", 4, do_pageout },	   { "collapse", 2, do_collapse },	 { "map", 15, do_map },
	{ "write-own", 15, do_write_own }, { "read-own", 15, do_read_own },	 { "drop-own", 10, do_drop_own },
	{ "move-own", 5, do_move_own },	   { "protect-own", 3, do_protect_own }, { "fork", 3, do_fork },
	{ "read-cut", 15, do_read_cut },   { "truncate", 1, do_truncate },	 { "punch", 1, do_punch },
};
#define OPERATIONS (sizeof(operations) / sizeof(operations[0]))

static void one_operation(struct worker *w)
{
	unsigned total = 0;
	size_t i, wanted;

	for (i = 0; i < OPERATIONS; i++)
		total += operations[i].weight;
	wanted = below(w, total);
	for (i = 0; wanted >= operations[i].weight; i++)
		wanted -= operations[i].weight;
	operations[i].run(w);
	atomic_fetch_add(&shared->done[i], 1);
}

static bool take_one(void)
{
	unsigned long left = atomic_load(&shared->left);

	while (left > 0 && !atomic_load(&shared->wrong))
		if (atomic_compare_exchange_weak(&shared->left, &left, left - 1))
			return true;
	return false;
}

static void *thread(void *argument)
{
	struct worker *w = argument;

	w->own = mmap(NULL, PRIVATE_PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, data_fd, 0);
	if (w->own == MAP_FAILED)
		err(1, "mmap");
	while (take_one())
		one_operation(w);
	for (size_t page = 0; page < PRIVATE_PAGES; page++)
		check_own(w, page);
	munmap((void *)w->own, PRIVATE_PAGES * PAGE);
	return NULL;
}

static void process(unsigned number)
{
	pthread_t threads[THREADS];

	for (unsigned i = 0; i < THREADS; i++) {
		struct worker *w = calloc(1, sizeof(*w));

		if (!w)
			err(1, "calloc");
		w->random = 88172645463325252ULL * (number * THREADS + i + 1);
		if (pthread_create(&threads[i], NULL, thread, w))
			errx(1, "pthread_create");
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

/* Memory that competes with the page cache, read and written in turns. */
static void hog(size_t pages)
{
	volatile uint64_t *p = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		err(1, "mmap");
	for (uint64_t round = 0; atomic_load(&shared->left) && !atomic_load(&shared->wrong); round++) {
		for (size_t page = 0; page < pages && atomic_load(&shared->left); page++) {
			is("hog", page, *at(p, page), round ? (round - 1) * pages + page : 0);
			*at(p, page) = round * pages + page;
		}
		atomic_store(&shared->full, true);
	}
}

/* A file below the folder, already without a name. */
static int make_file(const char *folder, size_t pages)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/fa-stress.XXXXXX", folder);
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0 || unlink(path) || ftruncate(fd, (off_t)(pages * PAGE)))
		err(1, "%s", path);
	for (size_t page = 0; page < pages; page++) {
		uint64_t value = pattern(page);

		if (pwrite(fd, &value, sizeof(value), (off_t)(page * PAGE)) != sizeof(value))
			err(1, "%s", path);
	}
	/* Dirty pages are not paged out. */
	if (fsync(fd))
		err(1, "fsync");
	return fd;
}

static volatile uint64_t *map_file(int fd, size_t pages)
{
	void *p = mmap(NULL, pages * PAGE, PROT_READ, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		err(1, "mmap");
	return p;
}

static void on_fault(int signal)
{
	if (may_fault)
		siglongjmp(beyond_end, signal);
	_exit(3);
}

static unsigned long number(const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (end == text || *end)
		errx(2, "%s is no number", text);
	return n;
}

int main(int argc, char *argv[])
{
	unsigned long processes;
	int status, failed = 0;

	if (argc != 5)
		errx(2, "usage: fa-stress DIR OPERATIONS PROCESSES HOG-MIB");
	signal(SIGBUS, on_fault);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		err(1, "mmap");
	data_fd = make_file(argv[1], DATA_PAGES);
	cut_fd = make_file(argv[1], CUT_PAGES);
	data = map_file(data_fd, DATA_PAGES);
	cut = map_file(cut_fd, CUT_PAGES);
	atomic_store(&shared->left, number(argv[2]));
	processes = number(argv[3]);

	for (unsigned i = 0; i <= processes; i++) {
		pid_t pid = fork();

		if (pid < 0)
			err(1, "fork");
		if (pid == 0) {
			if (i == 0)
				hog(number(argv[4]) * (1UL << 20) / PAGE);
			else
				process(i);
			_exit(0);
		}
		/* Memory is short from the first operation on. */
		while (!atomic_load(&shared->full) && waitpid(pid, NULL, WNOHANG) == 0)
			usleep(10000);
	}
	for (unsigned i = 0; i <= processes; i++) {
		if (wait(&status) < 0 || status) {
			fprintf(stderr, "a process ended with %#x\n", (unsigned)status);
			atomic_store(&shared->wrong, true);
			failed = 1;
		}
	}
	for (size_t i = 0; i < OPERATIONS; i++)
		printf("%s %lu ", operations[i].name, atomic_load(&shared->done[i]));
	printf("\n");
	return failed || atomic_load(&shared->wrong);
}
