/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The huge zero page: read faults that map it, by 1 to 8 processes, beside the same steps with the 4 KiB zero page; and the first
 * read of a process while somebody holds it, beside the first read when it has to be made again.
 *
 * Up to Linux 4.8 each such fault took a reference on one global counter, which processes fought for; since 4.9 a process takes one in its
 * life.  The 4 KiB zero page never had a counter: where the huge side keeps its ratio to it as processes are added, there is no fight.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/fileio.h"
#include "tests/bench/bench.h"

#define THP "/sys/kernel/mm/transparent_hugepage/"
#define DROP_CACHES "/proc/sys/vm/drop_caches"
#define STEP_BYTES (2UL << 20)
#define PAGE_BYTES 4096

static struct bench_list processes = { { 1, 2, 4, 8 }, 4 };
static uint64_t rounds = 5, msec = 250, mib = 2048, lives = 20;

static const struct bench_option options[] = {
	BENCH_PROCESSES(&processes),
	BENCH_ROUNDS(&rounds),
	BENCH_MSEC(&msec),
	{ "mib", "N", "address space that each process reads", BENCH_NUMBER, &mib, 2, 1 << 20 },
	{ "lives", "N", "processes that start and read once, in each round", BENCH_NUMBER, &lives, 1, 10000 },
	{ NULL },
};

static volatile char sink;

/* mib of memory that is only read; NULL on failure. It is never unmapped: the process ends. */
static char *map(uint64_t size_mib, bool huge)
{
	size_t bytes = size_mib << 20;
	char *p = mmap(NULL, bytes + STEP_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		       -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	p += -(uintptr_t)p % STEP_BYTES;
	return madvise(p, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE) < 0 ? NULL : p;
}

static void read_steps(struct bench_team *team, unsigned index, void *data)
{
	const bool *huge = data;
	size_t bytes = mib << 20;
	char *p = map(mib, *huge);

	if (!p)
		_exit(1);
	while (bench_goes_on(team)) {
		for (size_t at = 0; at < bytes; at += STEP_BYTES) {
			sink = p[at];
			bench_count(team, index);
		}
		madvise(p, bytes, MADV_DONTNEED);
	}
}

static uint64_t minor_faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (uint64_t)usage.ru_minflt;
}

/* KiB of anonymous memory that this process has; -1 where the kernel does not say. Zero pages are none. */
static int64_t anonymous_kib(void)
{
	_cleanup_free_ char *text = NULL;
	const char *line;

	if (read_file_at(AT_FDCWD, "/proc/self/smaps_rollup", 0, &text, NULL) < 0)
		return -1;
	line = strstr(text, "\nAnonymous:");
	return line ? strtoll(line + strlen("\nAnonymous:"), NULL, 10) : -1;
}

enum mapped { NOT_ZERO, SMALL, HUGE_PAGE };

/*
 * What a read maps. Where it is all of 2 MiB, reading the page behind it is no fault.  A kernel may answer reads with memory of the
 * process's own instead: that is then as large as what was read.
 */
static enum mapped what_is_mapped(bool huge)
{
	char *p = map(2, huge);
	uint64_t faults;
	int64_t before;
	bool all;

	if (!p)
		bench_fail("cannot map 2 MiB: %s", strerror(errno));
	before = anonymous_kib();
	sink = p[0];
	faults = minor_faults();
	sink = p[PAGE_BYTES];
	all = minor_faults() == faults;
	for (size_t at = 0; at < STEP_BYTES; at += PAGE_BYTES)
		sink = p[at];
	if (anonymous_kib() - before > (int64_t)(STEP_BYTES / 1024 / 2))
		return NOT_ZERO;
	return all ? HUGE_PAGE : SMALL;
}

/* In a process of its own: what it maps, this one would hold for its life. */
static enum mapped what_is_mapped_elsewhere(bool huge)
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		bench_fail("cannot fork: %s", strerror(errno));
	if (pid == 0)
		_exit(100 + what_is_mapped(huge));
	if (waitpid(pid, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) < 100)
		bench_fail("cannot read 2 MiB");
	return WEXITSTATUS(status) - 100;
}

static void check_mapping(bool huge)
{
	enum mapped mapped = what_is_mapped_elsewhere(huge);

	if (mapped == NOT_ZERO)
		bench_skip("this kernel answers reads with memory of the process's own and not with a zero page");
	if (mapped != (huge ? HUGE_PAGE : SMALL))
		bench_skip("a read maps the %s zero page where the other was asked for",
			   mapped == HUGE_PAGE ? "huge" : "4 KiB");
}

static void check_machine(void)
{
	_cleanup_free_ char *text = NULL;

	if (read_file_at(AT_FDCWD, THP "enabled", 0, &text, NULL) < 0)
		bench_skip("%senabled is not there: this kernel has no transparent huge pages", THP);
	if (strstr(text, "[never]"))
		bench_skip("%senabled is never: needs madvise or always", THP);
	if (bench_number(THP "use_zero_page") != 1)
		bench_skip("%suse_zero_page is not 1", THP);
	if (bench_vmstat("thp_zero_page_alloc") < 0)
		bench_skip("/proc/vmstat has no thp_zero_page_alloc");
	if (sysconf(_SC_PAGESIZE) != PAGE_BYTES)
		bench_skip("needs 4 KiB pages");
	check_mapping(true);
	check_mapping(false);
}

static void compare_rates(void)
{
	bool huge[2] = { false, true };
	struct bench_values wall[2][BENCH_MAX_LIST] = { 0 }, cpu[2][BENCH_MAX_LIST] = { 0 };
	char name[32];

	for (uint64_t r = 0; r < rounds; r++)
		for (size_t i = 0; i < processes.n; i++)
			for (unsigned turn = 0; turn < 2; turn++) {
				unsigned side = (r + turn) % 2;
				struct bench_rate rate =
					bench_run((unsigned)processes.v[i], msec, read_steps, &huge[side]);

				bench_add(&wall[side][i], rate.per_sec);
				bench_add(&cpu[side][i], rate.per_cpu_sec);
			}
	bench_print_heading("read faults, 2 MiB steps", "4 KiB zero page", "huge zero page");
	for (size_t i = 0; i < processes.n; i++) {
		snprintf(name, sizeof(name), "per-sec-%" PRIu64, processes.v[i]);
		bench_print_row(name, &wall[0][i], &wall[1][i]);
	}
	for (size_t i = 0; i < processes.n; i++) {
		snprintf(name, sizeof(name), "per-cpu-sec-%" PRIu64, processes.v[i]);
		bench_print_row(name, &cpu[0][i], &cpu[1][i]);
	}
	for (size_t i = 1; i < processes.n; i++)
		printf("contention: %" PRIu64 " processes against %" PRIu64
		       ", per CPU second: 4 KiB %.2f, huge %.2f, huge over 4 KiB %.2f (1: none)\n",
		       processes.v[i], processes.v[0], bench_ratio(&cpu[0][0], &cpu[0][i]),
		       bench_ratio(&cpu[1][0], &cpu[1][i]),
		       bench_ratio(&cpu[1][0], &cpu[1][i]) / bench_ratio(&cpu[0][0], &cpu[0][i]));
	for (size_t i = 0; i < processes.n; i++)
		for (unsigned side = 0; side < 2; side++) {
			bench_clear(&wall[side][i]);
			bench_clear(&cpu[side][i]);
		}
}

/* A process that has read-faulted the page holds it as long as it lives. */
static pid_t start_holder(void)
{
	int ready[2];
	char byte;
	pid_t pid;

	if (pipe(ready) < 0)
		bench_fail("cannot make a pipe: %s", strerror(errno));
	pid = fork();
	if (pid < 0)
		bench_fail("cannot fork: %s", strerror(errno));
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (what_is_mapped(true) != HUGE_PAGE || write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		bench_fail("the process that holds the page failed");
	close(ready[0]);
	return pid;
}

static double now_usec(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static double timed_read(void)
{
	char *p = map(2, true);
	double start;

	if (!p)
		_exit(1);
	start = now_usec();
	sink = p[0];
	return now_usec() - start;
}

/* Microseconds that the first read of a new process takes. */
static double one_life(void)
{
	double usec = 0;
	int result[2];
	pid_t pid;

	if (pipe(result) < 0)
		bench_fail("cannot make a pipe: %s", strerror(errno));
	pid = fork();
	if (pid < 0)
		bench_fail("cannot fork: %s", strerror(errno));
	if (pid == 0) {
		usec = timed_read();
		_exit(write(result[1], &usec, sizeof(usec)) == (ssize_t)sizeof(usec) ? 0 : 1);
	}
	close(result[1]);
	if (read(result[0], &usec, sizeof(usec)) != (ssize_t)sizeof(usec))
		bench_fail("a process that was to read failed");
	close(result[0]);
	waitpid(pid, NULL, 0);
	return usec;
}

/* Stands for reclaim: an unused huge zero page is freed by the first that comes along. */
static void reclaim(void)
{
	int r = bench_write(DROP_CACHES, "2");

	if (r < 0)
		bench_fail("cannot write %s: %s", DROP_CACHES, strerror(-r));
}

static void some_lives(bool held, struct bench_values *usec, struct bench_values *made)
{
	pid_t holder = held ? start_holder() : 0;
	int64_t before;

	reclaim();
	before = bench_vmstat("thp_zero_page_alloc");
	for (uint64_t i = 0; i < lives; i++) {
		bench_add(usec, one_life());
		reclaim();
	}
	bench_add(made, (double)(bench_vmstat("thp_zero_page_alloc") - before));
	if (holder) {
		kill(holder, SIGKILL);
		waitpid(holder, NULL, 0);
	}
}

static void compare_lives(void)
{
	struct bench_values usec[2] = { 0 }, made[2] = { 0 };

	if (geteuid() != 0) {
		printf("\nfirst read of a process: left out, needs root\n");
		return;
	}
	for (uint64_t r = 0; r < rounds; r++) {
		some_lives(r % 2 == 0, &usec[r % 2 == 0], &made[r % 2 == 0]);
		some_lives(r % 2 != 0, &usec[r % 2 != 0], &made[r % 2 != 0]);
	}
	bench_print_heading("first read of a process", "page is free when unused", "a process holds the page");
	bench_print_row("first-read-usec", &usec[0], &usec[1]);
	bench_print_row("made-per-round", &made[0], &made[1]);
	if (bench_median(&made[0]) == 0)
		printf("It was never made again: another process holds it (mmoptd may), or the kernel keeps it for ever "
		       "(CONFIG_PERSISTENT_HUGE_ZERO_FOLIO). Both sides are the same then.\n");
	for (unsigned side = 0; side < 2; side++) {
		bench_clear(&usec[side]);
		bench_clear(&made[side]);
	}
}

int main(int argc, char **argv)
{
	bench_options(argc, argv, "zero-read",
		      "Read faults that map the huge zero page, by several processes, beside the 4 KiB zero page;\n"
		      "and the first read of a process while the page is held, or has to be made again.\n"
		      "With root the second writes 2 to vm.drop_caches, which costs this machine its cached inodes.",
		      options);
	check_machine();
	bench_print_machine();
	compare_rates();
	compare_lives();
	return 0;
}
