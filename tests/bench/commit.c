/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What counting the committed memory costs: mmap and munmap of 4 MiB that nobody touches, and a heap that grows and shrinks by a
 * page, by 1 to 8 processes.
 *
 * The kernel counts in one part for each CPU. A part that reaches a "batch" goes to the common count, under a lock that all CPUs
 * share.  Requests as large as a batch take it each time, smaller ones hardly ever.  Where the ratio falls for the large ones only, and as
 * processes are added, they fight for the lock.  The batch is a fourth of the memory divided by the CPUs, but
 * under vm.overcommit_memory=2 only 1/256 of it (1/64 with the project's kernel patch): hence --policies.  A kernel with the patch adds up
 * the parts of all CPUs when little is left below the limit: --limit shows what that costs.
 */
#include <inttypes.h>
#include <sys/mman.h>

#include "tests/bench/bench.h"

#define VM "/proc/sys/vm/"
#define POLICY VM "overcommit_memory"
#define KBYTES VM "overcommit_kbytes"
#define RATIO VM "overcommit_ratio"
#define USER_RESERVE VM "user_reserve_kbytes"

enum { GUESS = 0, NEVER = 2 };

static struct bench_list processes = { { 1, 2, 4, 8 }, 4 };
static uint64_t rounds = 5, msec = 200, kib = 4096;
static bool policies, limit;

static const struct bench_option options[] = {
	BENCH_PROCESSES(&processes),
	BENCH_ROUNDS(&rounds),
	BENCH_MSEC(&msec),
	{ "kib", "N", "size of a mapping", BENCH_NUMBER, &kib, 4, 1 << 20 },
	{ "policies", NULL, "vm.overcommit_memory 0 beside 2; changes it for the time, needs root", BENCH_FLAG,
	  &policies, 0, 0 },
	{ "limit", NULL, "under 2, far from the limit beside near it; for a machine that does nothing else", BENCH_FLAG,
	  &limit, 0, 0 },
	{ NULL },
};

struct load {
	const char *name;
	bench_work work;
	size_t bytes;
	bool accounted;
};

static void map_and_unmap(struct bench_team *team, unsigned index, void *data)
{
	const struct load *load = data;
	/* What cannot be written to is not accounted, under any policy. */
	int prot = load->accounted ? PROT_READ | PROT_WRITE : PROT_NONE;

	while (bench_goes_on(team)) {
		void *p = mmap(NULL, load->bytes, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (p == MAP_FAILED || munmap(p, load->bytes) < 0)
			_exit(1);
		bench_count(team, index);
	}
}

static void grow_and_shrink(struct bench_team *team, unsigned index, void *data)
{
	const struct load *load = data;
	char *heap = sbrk(0);

	while (bench_goes_on(team)) {
		if (brk(heap + load->bytes) < 0 || brk(heap) < 0)
			_exit(1);
		bench_count(team, index);
	}
}

/* One side of a comparison: a load, and what is set up for it. */
struct side {
	struct load load;
	void (*prepare)(void);
};

static void measure(const struct side *side, unsigned n, struct bench_values *values)
{
	struct load load = side->load;

	if (side->prepare)
		side->prepare();
	bench_add(values, bench_run(n, msec, load.work, &load).per_cpu_sec);
}

/* A row for each number of processes. The sides take turns at being first. */
static void compare(const struct side *a, const struct side *b)
{
	for (size_t i = 0; i < processes.n; i++) {
		unsigned n = (unsigned)processes.v[i];
		struct bench_values va = { 0 }, vb = { 0 };
		char name[48];

		for (uint64_t round = 0; round < rounds; round++) {
			if (round % 2 == 0)
				measure(a, n, &va);
			measure(b, n, &vb);
			if (round % 2 == 1)
				measure(a, n, &va);
		}
		snprintf(name, sizeof(name), "%s,processes=%u", a->load.name, n);
		bench_print_row(name, &va, &vb);
		bench_clear(&va);
		bench_clear(&vb);
	}
}

/* The largest batch that a kernel may use under the policy of now. */
static size_t batch_bytes(void)
{
	size_t mib = (size_t)bench_meminfo("MemTotal") / 1024 / (size_t)sysconf(_SC_NPROCESSORS_CONF);

	return ((bench_number(POLICY) == NEVER ? mib / 64 : mib / 4) + 1) << 20;
}

/* The size itself costs time too: each is measured against the same without counting. */
static void compare_counting(const char *what, size_t bytes)
{
	struct side a = { .load = { "map", map_and_unmap, bytes, false } };
	struct side b = { .load = { "map", map_and_unmap, bytes, true } };
	char title[120];

	snprintf(title, sizeof(title), "Maps and unmaps of %zu KiB per CPU second: %s", bytes / 1024, what);
	bench_print_heading(title, "not counted", "counted");
	compare(&a, &b);
}

/* --- the policies --- */

/* Far above everything, so that nothing on this machine is refused. */
static void limit_far(void)
{
	bench_set(KBYTES, bench_meminfo("Committed_AS") + 8 * bench_meminfo("MemTotal") + (1 << 20));
}

static void policy_guess(void)
{
	bench_set(POLICY, GUESS);
}

static void policy_never(void)
{
	limit_far();
	bench_set(POLICY, NEVER);
}

/*
 * Half as far from the limit as a kernel with the patch begins to add up all parts.  Set while it does not matter yet; the
 * processes, which count too, fit.
 */
static void policy_never_near(void)
{
	int64_t room = bench_meminfo("MemTotal") / 64 / 2;

	bench_set(POLICY, GUESS);
	bench_set(KBYTES, bench_meminfo("Committed_AS") + room - bench_meminfo("SwapTotal"));
	bench_set(POLICY, NEVER);
}

/* What is kept last goes back first: the policy, so that the limit does not matter any more. */
static void keep_policy(void)
{
	bench_need_root();
	/* They set each other to 0: writing back the one that counts is enough. */
	bench_keep(bench_number(KBYTES) > 0 ? KBYTES : RATIO);
	bench_keep(USER_RESERVE);
	bench_keep(POLICY);
	/* A process has a limit of its own otherwise, by its size. */
	bench_set(USER_RESERVE, 0);
}

static void compare_policies(void)
{
	struct side a = { { "map", map_and_unmap, kib * 1024, true }, policy_guess };
	struct side b = { a.load, policy_never };
	const struct load heap = { "brk", grow_and_shrink, 4096, true };

	bench_print_heading("Operations per CPU second: vm.overcommit_memory 0 beside 2", "0", "2, far from the limit");
	compare(&a, &b);
	a.load = b.load = heap;
	compare(&a, &b);
}

static void compare_limits(void)
{
	struct side a = { { "brk", grow_and_shrink, 4096, true }, policy_never };
	struct side b = { a.load, policy_never_near };

	bench_print_heading("Operations per CPU second under vm.overcommit_memory 2", "far from the limit", "near it");
	compare(&a, &b);
}

int main(int argc, char **argv)
{
	bench_options(argc, argv, "commit",
		      "Maps and unmaps memory that is never touched, and prints what counting it costs.", options);
	bench_print_machine();
	compare_counting("as asked for", kib * 1024);
	compare_counting("more than a batch, so that each takes the lock", 2 * batch_bytes());
	if (policies || limit)
		keep_policy();
	if (policies)
		compare_policies();
	if (limit)
		compare_limits();
	return 0;
}
