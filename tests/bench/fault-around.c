/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* vm.want_old_faultaround_pte: what old fault-around ptes do to reclaim, 0 and 1 in turns, on both LRUs of one boot. */
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/statfs.h>

#include "base/fileio.h"
#include "base/strutil.h"
#include "tests/bench/bench.h"
#include "tests/bench/fault-around.h"

#define KNOB "/proc/sys/vm/want_old_faultaround_pte"
#define LRU_GEN "/sys/kernel/mm/lru_gen/enabled"
#define WINDOW "/sys/kernel/debug/fault_around_bytes"
#define DROP_CACHES "/proc/sys/vm/drop_caches"
#define SCENARIO_MIB 256
/* What a machine of that size, with nothing but this running, has available. */
#define SCENARIO_AVAILABLE_MIB 208
#define MIB (1024 * 1024)

static uint64_t rounds = 5, memory_mib, window_bytes;
static const char *only, *directory = ".", *lru = "both", *values = "0,1";

static const struct bench_option options[] = {
	{ "scenario", "NAME,...", "those alone, by the names that --help ends with", BENCH_WORD, &only },
	{ "lru", "WHICH", "classic, mglru or both", BENCH_WORD, &lru },
	{ "values", "A,B", "of vm.want_old_faultaround_pte, to be compared", BENCH_WORD, &values },
	BENCH_ROUNDS(&rounds),
	{ "directory", "DIR", "on a disk; for a file that has no name", BENCH_WORD, &directory },
	{ "memory", "MIB", "lay out the scenarios for a machine of so much; 0: by what is available", BENCH_NUMBER,
	  &memory_mib, 0, 1 << 20 },
	{ "window", "BYTES", "debugfs fault_around_bytes; 0: as it is", BENCH_NUMBER, &window_bytes, 0, 2 * MIB },
	{ NULL },
};

enum figure {
	WALL_MSEC,
	SWAP_OUT,
	SWAP_IN,
	REFAULT_ANON,
	REFAULT_FILE,
	MAJOR_FAULTS,
	FAULTS,
	READ_KIB,
	PSI_SOME_MSEC,
	PSI_FULL_MSEC,
	N_FIGURES
};

static const struct {
	const char *name;
	const char *vmstat;
} figures[N_FIGURES] = {
	[WALL_MSEC] = { "wall-msec" },
	[SWAP_OUT] = { "swap-out-pages", "pswpout" },
	[SWAP_IN] = { "swap-in-pages", "pswpin" },
	[REFAULT_ANON] = { "refault-anon-pages", "workingset_refault_anon" },
	[REFAULT_FILE] = { "refault-file-pages", "workingset_refault_file" },
	[MAJOR_FAULTS] = { "major-faults", "pgmajfault" },
	[FAULTS] = { "faults", "pgfault" },
	[READ_KIB] = { "read-from-disk-kib", "pgpgin" },
	[PSI_SOME_MSEC] = { "psi-some-msec" },
	[PSI_FULL_MSEC] = { "psi-full-msec" },
};

/* One side: its value of the knob and what was measured of it. */
struct side {
	int64_t knob;
	struct bench_values v[N_FIGURES];
};

/* Microseconds that tasks were stalled for memory; -1 without PSI. */
static int64_t stalled(const char *kind)
{
	_cleanup_free_ char *text = NULL;
	const char *line, *total;

	if (read_file_at(AT_FDCWD, "/proc/pressure/memory", 0, &text, NULL) < 0)
		return -1;
	line = strstr(text, kind);
	total = line ? strstr(line, "total=") : NULL;
	return total ? strtoll(total + strlen("total="), NULL, 10) : -1;
}

static void snapshot(double ret[N_FIGURES])
{
	for (size_t i = 0; i < N_FIGURES; i++)
		if (figures[i].vmstat)
			ret[i] = (double)bench_vmstat(figures[i].vmstat);
	ret[PSI_SOME_MSEC] = (double)stalled("some") / 1e3;
	ret[PSI_FULL_MSEC] = (double)stalled("full") / 1e3;
}

/* The same fixed amount of work each time, from an empty page cache. */
static void run(const struct fa_load *load, struct side *side, bool counts)
{
	double before[N_FIGURES] = { 0 }, after[N_FIGURES] = { 0 };
	struct fa_worker anon, file;
	uint64_t start;

	bench_set(KNOB, side->knob);
	sync();
	if (bench_write(DROP_CACHES, "3") < 0)
		bench_fail("cannot write %s", DROP_CACHES);
	anon = fa_start_anon(load);
	file = fa_start_file(load);
	snapshot(before);
	start = clock_usec(CLOCK_MONOTONIC);
	for (unsigned round = 0; round < load->scenario->rounds; round++)
		for (unsigned slice = 0; slice < FA_SLICES; slice++) {
			fa_turn(&anon, round, slice);
			fa_turn(&file, round, slice);
		}
	after[WALL_MSEC] = (double)(clock_usec(CLOCK_MONOTONIC) - start) / 1e3;
	snapshot(after);
	fa_stop(&anon);
	fa_stop(&file);
	for (size_t i = 0; counts && i < N_FIGURES; i++)
		bench_add(&side->v[i], after[i] - before[i]);
}

static void print(const struct fa_scenario *s, const char *lru_name, const struct side *a, const struct side *b)
{
	_cleanup_free_ char *title = xasprintf("%s, %s: %s", s->name, lru_name, s->about);
	_cleanup_free_ char *left = xasprintf("want_old_faultaround_pte %" PRId64, a->knob);
	_cleanup_free_ char *right = xasprintf("want_old_faultaround_pte %" PRId64, b->knob);

	if (!title || !left || !right)
		bench_fail("out of memory");
	bench_print_heading(title, left, right);
	for (size_t i = 0; i < N_FIGURES; i++)
		bench_print_row(figures[i].name, &a->v[i], &b->v[i]);
	/* Everything that decides in one line, to be compared with others. */
	printf("summary %s %s wall-msec %.0f %.0f swap-out %.0f %.0f psi-some-msec %.0f %.0f\n", s->name, lru_name,
	       bench_median(&a->v[WALL_MSEC]), bench_median(&b->v[WALL_MSEC]), bench_median(&a->v[SWAP_OUT]),
	       bench_median(&b->v[SWAP_OUT]), bench_median(&a->v[PSI_SOME_MSEC]), bench_median(&b->v[PSI_SOME_MSEC]));
	fflush(stdout);
}

static size_t pages_of(unsigned mib)
{
	return (size_t)mib * memory_mib / SCENARIO_MIB * MIB / (size_t)sysconf(_SC_PAGESIZE);
}

static struct fa_load load_of(const struct fa_scenario *s, int fd)
{
	return (struct fa_load){
		.scenario = s,
		.fd = fd,
		.anon_pages = pages_of(s->anon_mib),
		.windows = pages_of(s->file_mib) / FA_WINDOW_PAGES,
		.cache_pages = pages_of(s->cache_mib),
		.page_bytes = (size_t)sysconf(_SC_PAGESIZE),
	};
}

static void compare(const struct fa_scenario *s, int fd, const char *lru_name, const int64_t knobs[2])
{
	struct side sides[2] = { { .knob = knobs[0] }, { .knob = knobs[1] } };
	struct fa_load load = load_of(s, fd);

	/* The first run finds an empty swap and other things that those after it do not. */
	run(&load, &sides[0], false);
	for (uint64_t i = 0; i < rounds; i++) {
		run(&load, &sides[i % 2], true);
		run(&load, &sides[(i + 1) % 2], true);
	}
	print(s, lru_name, &sides[0], &sides[1]);
	for (size_t i = 0; i < N_FIGURES; i++) {
		bench_clear(&sides[0].v[i]);
		bench_clear(&sides[1].v[i]);
	}
}

static bool wanted(const struct fa_scenario *s)
{
	_cleanup_free_ char *copy = only ? strdup(only) : NULL;
	char *rest = copy, *name;

	if (!only)
		return true;
	while ((name = strsep(&rest, ",")))
		if (streq(name, s->name))
			return true;
	return false;
}

/* The largest that a wanted scenario needs. */
static size_t largest_file(void)
{
	size_t pages = 0;

	for (const struct fa_scenario *s = fa_scenarios; s->name; s++)
		if (wanted(s))
			pages = MAX(pages, pages_of(s->file_mib) + pages_of(s->cache_mib));
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* A file without a name: nothing can be left behind. */
static int make_file(size_t bytes)
{
	_cleanup_free_ char *path = xasprintf("%s/fault-around.XXXXXX", directory);
	_cleanup_free_ unsigned char *chunk = malloc(MIB);
	int fd = path && chunk ? mkostemp(path, O_CLOEXEC) : -1;
	struct statfs fs;

	if (fd < 0)
		bench_fail("cannot make a file in %s: %s", directory, strerror(errno));
	unlink(path);
	if (fstatfs(fd, &fs) < 0)
		bench_fail("cannot look at %s: %s", directory, strerror(errno));
	if (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC)
		bench_skip("%s lies in memory: the file has to be on a disk, see --directory", directory);
	if ((uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize < bytes + bytes / 16)
		bench_skip("%s has no room for a file of %zu MiB", directory, bytes / MIB);
	for (size_t i = 0; i < MIB; i++)
		chunk[i] = (unsigned char)(i * 31 + 7);
	for (size_t at = 0; at < bytes; at += MIB) {
		int r = write_all(fd, chunk, MIN((size_t)MIB, bytes - at));

		if (r < 0)
			bench_fail("cannot write to a file in %s: %s", directory, strerror(-r));
	}
	if (fsync(fd) < 0)
		bench_fail("cannot write to a file in %s: %s", directory, strerror(errno));
	return fd;
}

static void check_machine(void)
{
	unsigned anon_mib = 0;
	bool any = false;

	bench_need_root();
	if (bench_number(KNOB) == -1 && access(KNOB, F_OK) < 0)
		bench_skip("%s is not there: needs a kernel with the series, or the module mmopt_faultaround", KNOB);
	for (const struct fa_scenario *s = fa_scenarios; s->name; s++)
		if (wanted(s)) {
			anon_mib = MAX(anon_mib, s->anon_mib);
			any = true;
		}
	if (!any) {
		fprintf(stderr, "fault-around: --scenario: '%s' names none; see --help\n", only);
		exit(2);
	}
	if (memory_mib == 0)
		memory_mib = (uint64_t)bench_meminfo("MemAvailable") / 1024 * SCENARIO_MIB / SCENARIO_AVAILABLE_MIB;
	if (bench_meminfo("SwapFree") / 1024 < (int64_t)(anon_mib * memory_mib / SCENARIO_MIB))
		bench_skip("needs %" PRIu64 " MiB of free swap, there are %" PRId64,
			   anon_mib * memory_mib / SCENARIO_MIB, bench_meminfo("SwapFree") / 1024);
}

static void parse_values(int64_t ret[2])
{
	char *end = NULL;

	ret[0] = strtoll(values, &end, 10);
	if (*end == ',')
		ret[1] = strtoll(end + 1, &end, 10);
	else
		end = NULL;
	if (!end || *end != '\0' || MIN(ret[0], ret[1]) < -1 || MAX(ret[0], ret[1]) > 1) {
		fprintf(stderr, "fault-around: --values: '%s' is not two of -1, 0 and 1; see --help\n", values);
		exit(2);
	}
}

static void all_scenarios(int fd, bool mglru, const int64_t knobs[2])
{
	for (const struct fa_scenario *s = fa_scenarios; s->name; s++)
		if (wanted(s))
			compare(s, fd, mglru ? "MGLRU" : "classic-LRU", knobs);
}

static void both_lrus(int fd, const int64_t knobs[2])
{
	bool there = access(LRU_GEN, F_OK) == 0;

	if (!there && streq(lru, "mglru"))
		bench_skip("%s is not there: this kernel has no MGLRU", LRU_GEN);
	if (there)
		bench_keep(LRU_GEN);
	if (!streq(lru, "mglru")) {
		if (there && bench_write(LRU_GEN, "n") < 0)
			bench_fail("cannot write %s", LRU_GEN);
		all_scenarios(fd, false, knobs);
	}
	if (!there || streq(lru, "classic"))
		return;
	if (bench_write(LRU_GEN, "y") < 0)
		bench_fail("cannot write %s", LRU_GEN);
	all_scenarios(fd, true, knobs);
}

int main(int argc, char **argv)
{
	int64_t knobs[2];
	int fd;

	bench_options(argc, argv, "fault-around",
		      "Sparse reads of a mapped file beside anonymous memory, with less memory than both need:\n"
		      "time, swap, refaults and pressure with vm.want_old_faultaround_pte 0 and 1.\n"
		      "Scenarios: map-cold exec-cold exec-pre map-pre cache rot lookup remap dense fits.",
		      options);
	parse_values(knobs);
	if (!streq(lru, "both") && !streq(lru, "classic") && !streq(lru, "mglru")) {
		fprintf(stderr, "fault-around: --lru: '%s' is not classic, mglru or both; see --help\n", lru);
		return 2;
	}
	check_machine();
	bench_print_machine();
	printf("swappiness %" PRId64 ", laid out for %" PRIu64 " MiB, %" PRIu64 " rounds\n",
	       bench_number("/proc/sys/vm/swappiness"), memory_mib, rounds);
	bench_keep(KNOB);
	if (window_bytes) {
		bench_keep(WINDOW);
		bench_set(WINDOW, (int64_t)window_bytes);
	}
	fd = make_file(largest_file());
	both_lrus(fd, knobs);
	close(fd);
	return 0;
}
