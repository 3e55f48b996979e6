/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A pool of 2 MiB huge pages built and freed with vm.hugetlb_optimize_vmemmap 0 and 1, in turns: time, and memory saved, per page. */
#include <inttypes.h>
#include <sys/mman.h>

#include "core/facts.h"
#include "core/kernel-io.h"
#include "tests/bench/bench.h"

#define POOL "/sys/kernel/mm/hugepages/hugepages-2048kB/"
#define NR POOL "nr_hugepages"
#define OVERCOMMIT POOL "nr_overcommit_hugepages"
#define OPTIMISED POOL "vmemmap_optimized_hugepages"
#define SWITCH "/proc/sys/vm/hugetlb_optimize_vmemmap"
#define STAT_REFRESH "/proc/sys/vm/stat_refresh"
#define PATIENCE_USEC (30 * USEC_PER_SEC)
#define HUGE_BYTES (2UL << 20)

static uint64_t rounds = 5, pages = 256, on_the_fly = 64;

static const struct bench_option options[] = {
	BENCH_ROUNDS(&rounds),
	{ "pages", "N", "size of the pool", BENCH_NUMBER, &pages, 1, 1 << 20 },
	{ "on-the-fly", "N", "pages that are made when they are used, without a pool; 0: none", BENCH_NUMBER,
	  &on_the_fly, 0, 1 << 20 },
	{ NULL },
};

enum figure { BUILD, FREE, TOUCH, ON_THE_FLY, SAVED_BYTES, COUNTED, N_FIGURES };

static const char *const names[N_FIGURES] = {
	[BUILD] = "build-usec-per-page",  [FREE] = "free-usec-per-page",	  [TOUCH] = "touch-usec-per-page",
	[ON_THE_FLY] = "on-the-fly-usec", [SAVED_BYTES] = "saved-bytes-per-page", [COUNTED] = "optimised-pages",
};

struct machine {
	bool counts_memmap;    /* nr_memmap_* (Linux 6.11) */
	bool counts_optimised; /* vmemmap_optimized_hugepages, of the series */
	bool may_overcommit;   /* a pool that is there already would serve first */
	int64_t nr;	       /* as found */
};

/* Base pages that hold struct pages. */
static int64_t memmap_pages(void)
{
	bench_write(STAT_REFRESH, "1");
	return bench_vmstat("nr_memmap_pages") + bench_vmstat("nr_memmap_boot_pages");
}

static double usec_since(uint64_t start, int64_t n)
{
	return n > 0 ? (double)(clock_usec(CLOCK_MONOTONIC) - start) / (double)n : 0;
}

/* The huge pages in use: a pool cannot get rid of them. */
static struct {
	void *volatile p;
	size_t bytes;
} in_use;

static void let_go(void)
{
	if (in_use.p)
		munmap(in_use.p, in_use.bytes);
	in_use.p = NULL;
}

/* Uses n huge pages and gives them back; microseconds for each. */
static double use(int64_t n)
{
	uint64_t start = clock_usec(CLOCK_MONOTONIC);
	size_t bytes = (size_t)n * HUGE_BYTES;
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);

	if (p == MAP_FAILED)
		bench_fail("cannot map %" PRId64 " huge pages: %s", n, strerror(errno));
	in_use.bytes = bytes;
	in_use.p = p;
	for (size_t at = 0; at < bytes; at += HUGE_BYTES)
		p[at] = 1;
	let_go();
	return usec_since(start, n);
}

/*
 * A worker of the kernel frees optimised pages that were made on the fly, after munmap() has returned: until it is done the
 * counters are on their way. Where there are none it gets a fifth of a second.
 */
static void wait_until_freed(const struct machine *m, int64_t before)
{
	uint64_t start = clock_usec(CLOCK_MONOTONIC);

	do
		usleep(m->counts_memmap ? 10000 : 200000);
	while (m->counts_memmap && memmap_pages() != before && clock_usec(CLOCK_MONOTONIC) - start < PATIENCE_USEC);
}

static void run(const struct machine *m, bool optimise, struct bench_values v[N_FIGURES])
{
	int64_t before, after, got;
	uint64_t start;

	bench_set(SWITCH, optimise);
	before = memmap_pages();
	start = clock_usec(CLOCK_MONOTONIC);
	if (bench_write_number(NR, m->nr + (int64_t)pages) < 0)
		bench_fail("cannot write %s", NR);
	got = bench_number(NR) - m->nr;
	bench_add(&v[BUILD], usec_since(start, got));
	if (got < (int64_t)pages)
		bench_skip("asked for %" PRIu64 " huge pages and got %" PRId64
			   ": memory is too fragmented; see --pages",
			   pages, got);
	after = memmap_pages();
	if (m->counts_memmap)
		bench_add(&v[SAVED_BYTES], (double)((before - after) * sysconf(_SC_PAGESIZE)) / (double)got);
	if (m->counts_optimised)
		bench_add(&v[COUNTED], (double)bench_number(OPTIMISED));
	bench_add(&v[TOUCH], use(got));
	start = clock_usec(CLOCK_MONOTONIC);
	bench_set(NR, m->nr);
	bench_add(&v[FREE], usec_since(start, got));
	if (m->may_overcommit) {
		bench_set(OVERCOMMIT, (int64_t)on_the_fly);
		bench_add(&v[ON_THE_FLY], use((int64_t)on_the_fly));
		wait_until_freed(m, before);
	}
	if (m->counts_memmap && memmap_pages() != before)
		bench_fail("%" PRId64 " pages held struct pages before, %" PRId64 " do after everything was freed",
			   before, memmap_pages());
}

/* What mmopt itself goes by: on a kernel that corrupts memory when an optimised page is freed, this must not be tried. */
static void refuse_defect(void)
{
	struct facts facts = { 0 };
	struct kernel_io *io;
	const char *defect;

	if (kernel_io_open("/", &io) < 0 ||
	    facts_probe(&facts, io, FACTS_KERNEL | FACTS_MEMORY | FACTS_HUGETLB | FACTS_STRUCT_PAGE) < 0)
		bench_fail("cannot find out about this kernel");
	defect = facts_word(&facts, FACT_HVO_DEFECT);
	if (!defect || strcmp(defect, "none") != 0)
		bench_skip("hvo.defect is %s: freeing an optimised huge page may corrupt memory on this kernel",
			   defect ? defect : "unknown");
	facts_clear(&facts);
	kernel_io_free(io);
}

static void check_machine(struct machine *ret)
{
	/* Both pools at once never exist; a quarter more, so that nobody else is pushed out. */
	int64_t need_kib = (int64_t)MAX(pages, on_the_fly) * 2048 * 5 / 4;

	bench_need_root();
	if (access(NR, F_OK) < 0)
		bench_skip("%s is not there: this kernel has no huge pages of 2 MiB", NR);
	if (access(SWITCH, F_OK) < 0)
		bench_skip("%s is not there: this kernel cannot optimise vmemmap", SWITCH);
	if (bench_meminfo("MemAvailable") < need_kib)
		bench_skip("needs %" PRId64 " MiB of available memory, there are %" PRId64 "; see --pages",
			   need_kib / 1024, bench_meminfo("MemAvailable") / 1024);
	refuse_defect();
	ret->nr = bench_number(NR);
	ret->counts_memmap = bench_vmstat("nr_memmap_pages") >= 0;
	ret->counts_optimised = access(OPTIMISED, F_OK) == 0;
	ret->may_overcommit = on_the_fly > 0 && ret->nr == 0;
}

int main(int argc, char **argv)
{
	struct bench_values v[2][N_FIGURES] = { 0 };
	struct machine m = { 0 };

	bench_options(argc, argv, "huge-pool",
		      "Builds a pool of 2 MiB huge pages beside what is there, uses it and frees it again,\n"
		      "with vm.hugetlb_optimize_vmemmap 0 and 1: time for each page, and struct pages saved.",
		      options);
	check_machine(&m);
	bench_print_machine();
	/* Freed with the switch as it was found, so the pool goes back first. */
	bench_keep(SWITCH);
	bench_keep(OVERCOMMIT);
	bench_keep(NR);
	bench_at_end(let_go);
	for (uint64_t i = 0; i < rounds; i++) {
		run(&m, i % 2, v[i % 2]);
		run(&m, !(i % 2), v[!(i % 2)]);
	}
	bench_print_heading("pool of 2 MiB huge pages", "hugetlb_optimize_vmemmap 0", "hugetlb_optimize_vmemmap 1");
	for (size_t i = 0; i < N_FIGURES; i++) {
		if (v[0][i].n > 0)
			bench_print_row(names[i], &v[0][i], &v[1][i]);
		bench_clear(&v[0][i]);
		bench_clear(&v[1][i]);
	}
	if (!m.counts_memmap)
		printf("saved-bytes-per-page: not measured, this kernel has no nr_memmap_* in /proc/vmstat (Linux 6.11)\n");
	if (!m.may_overcommit && on_the_fly)
		printf("on-the-fly: left out, the pool that is there already would serve\n");
	return 0;
}
