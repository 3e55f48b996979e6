/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/probe.h"

#include <limits.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include "base/strutil.h"

#ifndef MADV_COLD
#define MADV_COLD 20 /* Linux 5.4 */
#endif

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

/* Few, as a page fault can be dear: 20 microseconds in some virtual machines. */
#define PAGES 64
#define ROUNDS 4
#define COST_ROUNDS 5
#define FAULT_AROUND_BYTES (2UL << 20)
/* Beyond this a touched huge page is too dear for a probe (arm64 with 64K pages: 512M). */
#define THP_MAX_BYTES (64UL << 20)

/* Memory of its own kind: inaccessible pages around it keep the kernel from merging it with a neighbour. */
struct area {
	unsigned char *p;
	size_t size, page, n;
	void *map;
	size_t map_size;
};

static void area_free(struct area *a)
{
	if (a->map)
		munmap(a->map, a->map_size);
}

static int area_new(struct area *ret)
{
	struct area a = { .page = sysconf(_SC_PAGESIZE) };

	a.n = PAGES;
	a.size = a.n * a.page;
	a.map_size = a.size + 2 * a.page;
	a.map = mmap(NULL, a.map_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (a.map == MAP_FAILED)
		return -errno;
	a.p = (unsigned char *)a.map + a.page;
	if (mprotect(a.p, a.size, PROT_READ | PROT_WRITE) < 0) {
		int r = -errno;

		munmap(a.map, a.map_size);
		return r;
	}
	/* One fault would fill in many pages.  EINVAL where the kernel has no huge pages. */
	madvise(a.p, a.size, MADV_NOHUGEPAGE);
	*ret = a;
	return 0;
}

/* Every page differs from all others: KSM would share equal ones, and MADV_COLD passes over shared pages. */
static void area_fill(struct area *a, uint64_t salt)
{
	for (size_t i = 0; i < a->n; i++) {
		uint64_t content = 0x9e3779b97f4a7c15ULL * (i + 1) + salt;

		memcpy(a->p + i * a->page, &content, sizeof(content));
	}
}

static void area_read(const struct area *a)
{
	const volatile unsigned char *p = a->p;

	for (size_t i = 0; i < a->n; i++)
		(void)p[i * a->page];
}

/*
 * MADV_COLD empties the queue of new pages of the CPU it runs on only, and passes over pages queued elsewhere: so all of a
 * probe stays on one CPU.
 */
struct pin {
	cpu_set_t *old;
	size_t size;
};

static void pin_to_cpu(struct pin *pin)
{
	int cpu = sched_getcpu();
	cpu_set_t *one;

	*pin = (struct pin){};
	for (size_t cpus = 1024; cpu >= 0 && cpus <= 1U << 16; cpus *= 2) {
		pin->size = CPU_ALLOC_SIZE(cpus);
		pin->old = CPU_ALLOC(cpus);
		one = CPU_ALLOC(cpus);
		if (pin->old && one && sched_getaffinity(0, pin->size, pin->old) == 0) {
			CPU_ZERO_S(pin->size, one);
			CPU_SET_S(cpu, pin->size, one);
			/* Not being able to is no failure: the probe has other guards. */
			sched_setaffinity(0, pin->size, one);
			CPU_FREE(one);
			return;
		}
		CPU_FREE(pin->old);
		CPU_FREE(one);
		pin->old = NULL;
		if (errno != EINVAL)
			return;
	}
}

static void unpin(struct pin *pin)
{
	if (!pin->old)
		return;
	sched_setaffinity(0, pin->size, pin->old);
	CPU_FREE(pin->old);
}

/* Faults of this thread; a fault that had to be retried is counted as a major one. -1 where they are not counted. */
static long count_faults(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_THREAD, &usage) < 0 ? -1 : usage.ru_minflt + usage.ru_majflt;
}

static unsigned hex_digit(char c)
{
	return c >= '0' && c <= '9' ? (unsigned)(c - '0') : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10) : 16;
}

static const char *take_hex(const char *s, uint64_t *ret)
{
	uint64_t n = 0;

	for (; hex_digit(*s) < 16; s++)
		n = n << 4 | hex_digit(*s);
	*ret = n;
	return s;
}

/* "Rss:                 64 kB" */
static bool take_kib(const char *line, const char *key, uint64_t *ret_bytes)
{
	const char *s = startswith(line, key);
	uint64_t kib = 0;

	if (!s)
		return false;
	while (*s == ' ' || *s == '\t')
		s++;
	if (*s < '0' || *s > '9')
		return false;
	for (; *s >= '0' && *s <= '9'; s++)
		kib = kib * 10 + (unsigned)(*s - '0');
	*ret_bytes = kib * 1024;
	return true;
}

int smaps_find(const char *text, uintptr_t addr, struct smaps_entry *ret)
{
	struct smaps_entry e = {};
	unsigned found = 0;
	bool inside = false;
	const char *next;

	for (const char *line = text; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			next++;
		/* A mapping's first line starts with its address in lower case, the others with a capital. */
		if (hex_digit(*line) < 16) {
			uint64_t first, end;
			const char *s = take_hex(line, &first);

			if (inside)
				break;
			inside = *s == '-' && *take_hex(s + 1, &end) == ' ' && addr >= first && addr < end;
			continue;
		}
		if (!inside)
			continue;
		if (take_kib(line, "Rss:", &e.rss_bytes))
			found |= 1;
		else if (take_kib(line, "Referenced:", &e.referenced_bytes))
			found |= 2;
		else if (take_kib(line, "AnonHugePages:", &e.anon_huge_bytes))
			found |= 4;
	}
	if (!inside)
		return -ENOENT;
	if (found != 7)
		return -ENODATA;
	*ret = e;
	return 0;
}

static int smaps_of(struct kernel_io *io, const void *p, struct smaps_entry *ret)
{
	_cleanup_free_ char *text = NULL;
	int r;

	r = kernel_io_read(io, "/proc/self/smaps", &text, NULL);
	return r < 0 ? r : smaps_find(text, (uintptr_t)p, ret);
}

/* 1: the round counts; 0: it does not; or a negative errno. */
static int access_flag_round(struct kernel_io *io, uint64_t salt, struct access_flag_probe *result)
{
	_cleanup_(area_free) struct area a = {};
	long before, first, control, old;
	struct smaps_entry aged;
	int r;

	r = area_new(&a);
	if (r < 0)
		return r;
	result->pages = a.n;
	before = count_faults();
	area_fill(&a, salt);
	first = count_faults() - before;

	before = count_faults();
	area_read(&a);
	control = count_faults() - before;

	if (madvise(a.p, a.size, MADV_COLD) < 0)
		return -errno;
	r = smaps_of(io, a.p, &aged);
	if (r == -ENOMEM)
		return r;
	before = count_faults();
	area_read(&a);
	old = count_faults() - before;

	if (before < 0 || first < (long)a.n) {
		result->reason = "page faults are not counted here";
		return 0;
	}
	if (r < 0 && old <= (long)(a.n / 16)) {
		result->reason = "no faults, but /proc/self/smaps does not show whether the pages were aged";
		return 0;
	}
	if (r == 0 && aged.referenced_bytes > a.size / 16) {
		result->reason = "MADV_COLD had no effect: pages were still referenced";
		return 0;
	}
	result->faults_old = MIN(result->faults_old, (unsigned)old);
	result->faults_control = MIN(result->faults_control, (unsigned)control);
	return 1;
}

int probe_access_flag(struct kernel_io *io, struct access_flag_probe *ret)
{
	struct access_flag_probe result = { .faults_old = UINT_MAX, .faults_control = UINT_MAX };
	struct pin pin;
	int r = 0;

	if (!io->live)
		return -EOPNOTSUPP;
	pin_to_cpu(&pin);
	for (unsigned i = 0; i < ROUNDS && r >= 0; i++) {
		r = access_flag_round(io, i, &result);
		result.rounds_usable += r > 0;
		/* The least of all rounds counts, and it can only fall. */
		if (result.rounds_usable >= 2 && result.faults_old <= result.pages / 16)
			break;
	}
	unpin(&pin);
	if (r < 0)
		return r;
	if (result.rounds_usable == 0) {
		result.faults_old = result.faults_control = 0;
	} else if (result.faults_old <= result.pages / 16) {
		result.set_by = ACCESS_FLAG_HARDWARE;
	} else if (result.faults_old >= result.pages - result.pages / 16 &&
		   result.faults_control <= result.pages / 16) {
		result.set_by = ACCESS_FLAG_SOFTWARE;
	} else {
		result.reason = "some of the aged pages faulted and some did not";
	}
	*ret = result;
	return 0;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t time_read(const struct area *a)
{
	uint64_t start = now_ns();

	area_read(a);
	return now_ns() - start;
}

int probe_access_cost(struct kernel_io *io, uint64_t *ret_old_ns, uint64_t *ret_young_ns)
{
	_cleanup_(area_free) struct area a = {};
	uint64_t old = UINT64_MAX, young = UINT64_MAX;
	struct pin pin;
	int r;

	if (!io->live)
		return -EOPNOTSUPP;
	r = area_new(&a);
	if (r < 0)
		return r;
	pin_to_cpu(&pin);
	area_fill(&a, 0);
	for (unsigned i = 0; i < COST_ROUNDS; i++) {
		uint64_t ns;

		/* Taking away the right to write empties the TLB and leaves the ptes young. */
		if (mprotect(a.p, a.size, PROT_READ) < 0) {
			r = -errno;
			break;
		}
		/* Only the first reading tells: MIN() evaluates what it is given twice. */
		ns = time_read(&a);
		young = MIN(young, ns);
		if (mprotect(a.p, a.size, PROT_READ | PROT_WRITE) < 0 || madvise(a.p, a.size, MADV_COLD) < 0) {
			r = -errno;
			break;
		}
		ns = time_read(&a);
		old = MIN(old, ns);
	}
	unpin(&pin);
	if (r < 0)
		return r;
	*ret_old_ns = old / a.n;
	*ret_young_ns = young / a.n;
	return 0;
}

/* Address space aligned to its size; whatever is mapped over it goes with it. */
static int reserve_aligned(size_t size, struct area *ret)
{
	struct area a = { .size = size, .page = sysconf(_SC_PAGESIZE), .map_size = 2 * size };

	a.map = mmap(NULL, a.map_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (a.map == MAP_FAILED)
		return -errno;
	a.p = (unsigned char *)(((uintptr_t)a.map + size - 1) & ~(uintptr_t)(size - 1));
	a.n = size / a.page;
	*ret = a;
	return 0;
}

/*
 * Makes the file's pages resident and takes away every trace of a reference: through a mapping, as write(2)
 * would leave them marked as referenced for good.
 */
static int make_resident(struct kernel_io *io, int fd, size_t size)
{
	struct area a = { .map_size = size };
	struct smaps_entry e;
	int r = 0;

	if (ftruncate(fd, (off_t)size) < 0)
		return -errno;
	a.map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (a.map == MAP_FAILED)
		return -errno;
	madvise(a.map, size, MADV_NOHUGEPAGE);
	/* Linux 5.14; before it, one fault for each page. */
	if (madvise(a.map, size, MADV_POPULATE_WRITE) < 0) {
		size_t page = sysconf(_SC_PAGESIZE);

		for (size_t i = 0; i < size; i += page)
			((volatile char *)a.map)[i] = 1;
	}
	if (madvise(a.map, size, MADV_COLD) < 0)
		r = -errno;
	if (r == 0)
		r = smaps_of(io, a.map, &e);
	if (r == 0 && (e.rss_bytes < size || e.referenced_bytes > size / 16))
		r = -ENODATA;
	area_free(&a);
	return r;
}

static int touch_one(struct kernel_io *io, int fd, uint64_t *ret_window_bytes, uint64_t *ret_referenced_bytes)
{
	_cleanup_(area_free) struct area a = {};
	const volatile unsigned char *p;
	struct smaps_entry e;
	int r;

	r = reserve_aligned(FAULT_AROUND_BYTES, &a);
	if (r < 0)
		return r;
	if (mmap(a.p, a.size, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
		return -errno;
	madvise(a.p, a.size, MADV_NOHUGEPAGE);
	/* Somewhere in the middle, not at the edge of a window. */
	p = a.p;
	(void)p[a.size / 2 + 5 * a.page];
	r = smaps_of(io, a.p, &e);
	if (r < 0)
		return r;
	if (e.rss_bytes < a.page)
		return -ENODATA;
	*ret_window_bytes = e.rss_bytes;
	*ret_referenced_bytes = e.referenced_bytes;
	return 0;
}

int probe_fault_around(struct kernel_io *io, uint64_t *ret_window_bytes, uint64_t *ret_referenced_bytes)
{
	_cleanup_close_ int fd = -EBADF;
	struct pin pin;
	int r;

	if (!io->live)
		return -EOPNOTSUPP;
	fd = memfd_create("mmopt-fault-around", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	pin_to_cpu(&pin);
	r = make_resident(io, fd, FAULT_AROUND_BYTES);
	if (r == 0)
		r = touch_one(io, fd, ret_window_bytes, ret_referenced_bytes);
	unpin(&pin);
	return r;
}

int probe_thp_fault(struct kernel_io *io, bool advise, bool *ret_huge)
{
	_cleanup_(area_free) struct area a = {};
	struct smaps_entry e;
	uint64_t pmd_bytes;
	int r;

	if (!io->live)
		return -EOPNOTSUPP;
	r = kernel_io_read_u64(io, "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", &pmd_bytes);
	if (r < 0)
		return r == -ENOENT ? -EOPNOTSUPP : r;
	if (pmd_bytes == 0 || pmd_bytes > THP_MAX_BYTES || (pmd_bytes & (pmd_bytes - 1)))
		return -EOPNOTSUPP;
	r = reserve_aligned(pmd_bytes, &a);
	if (r < 0)
		return r;
	if (mprotect(a.p, a.size, PROT_READ | PROT_WRITE) < 0)
		return -errno;
	if (advise && madvise(a.p, a.size, MADV_HUGEPAGE) < 0)
		return -errno;
	*(volatile unsigned char *)a.p = 1;
	r = smaps_of(io, a.p, &e);
	if (r < 0)
		return r;
	*ret_huge = e.anon_huge_bytes > 0;
	return 0;
}
