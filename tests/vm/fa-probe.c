/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * usage: fa-probe state              what one touch of a mapped file maps, and how much of that is young: "RSS REFERENCED" in kB
 *        fa-probe cost FILE A B N    N times in turn writes A and B to FILE and measures a fault: "A-NS B-NS", the least of each
 * It shares nothing with mmopt's own probe, which is measured against it.
 */
#include <err.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#ifndef MADV_COLD
#define MADV_COLD 20
#endif

/* What fault-around maps at once where nobody has changed it. */
#define WINDOW_BYTES ((size_t)64 << 10)
#define STATE_BYTES ((size_t)4 << 20)
#define COST_BYTES ((size_t)64 << 20)

static size_t page_bytes;

/* A file in memory, all of it in the page cache, no page referenced: write() would leave them so. */
static int cold_file(size_t bytes)
{
	int fd = memfd_create("fa-probe", MFD_CLOEXEC);
	unsigned char *p;

	if (fd < 0 || ftruncate(fd, (off_t)bytes))
		err(1, "memfd_create");
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		err(1, "mmap");
	for (size_t i = 0; i < bytes; i += page_bytes)
		p[i] = 1;
	if (madvise(p, bytes, MADV_COLD))
		err(1, "MADV_COLD");
	munmap(p, bytes);
	return fd;
}

static volatile unsigned char *map(int fd, size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		err(1, "mmap");
	return p;
}

/* Lines of /proc/self/smaps about the mapping with this address. */
static void print_state(uintptr_t address)
{
	unsigned long from, to, rss = 0, referenced = 0;
	char line[512];
	bool mine = false;
	FILE *f = fopen("/proc/self/smaps", "re");

	if (!f)
		err(1, "/proc/self/smaps");
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx ", &from, &to) == 2) {
			mine = address >= from && address < to;
		} else if (mine) {
			(void)sscanf(line, "Rss: %lu kB", &rss);
			(void)sscanf(line, "Referenced: %lu kB", &referenced);
		}
	}
	fclose(f);
	printf("%lu %lu\n", rss, referenced);
}

static void state(void)
{
	int fd = cold_file(STATE_BYTES);
	volatile unsigned char *p = map(fd, STATE_BYTES);

	/* In the middle of a window. */
	(void)p[STATE_BYTES / 2 + 5 * page_bytes];
	print_state((uintptr_t)p);
}

static void write_value(const char *file, const char *value)
{
	int fd = open(file, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, value, strlen(value)) != (ssize_t)strlen(value))
		err(1, "%s: %s", file, value);
	close(fd);
}

/* Nanoseconds of a fault that maps a window. */
static double one_fault(int fd)
{
	volatile unsigned char *p = map(fd, COST_BYTES);
	struct timespec begin, end;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (size_t i = 0; i < COST_BYTES; i += WINDOW_BYTES)
		(void)p[i];
	clock_gettime(CLOCK_MONOTONIC, &end);
	munmap((void *)p, COST_BYTES);
	return ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) /
	       (COST_BYTES / WINDOW_BYTES);
}

/* The least of many: what disturbs only adds. */
static void cost(const char *file, char *values[2], unsigned long rounds)
{
	double least[2] = { 0, 0 };
	int fd = cold_file(COST_BYTES);

	one_fault(fd);
	for (unsigned long i = 0; i < rounds; i++) {
		for (unsigned k = 0; k < 2; k++) {
			double ns;

			write_value(file, values[k]);
			ns = one_fault(fd);
			if (i == 0 || ns < least[k])
				least[k] = ns;
		}
	}
	printf("%.0f %.0f\n", least[0], least[1]);
}

int main(int argc, char *argv[])
{
	unsigned long rounds = argc == 6 ? strtoul(argv[5], NULL, 10) : 0;

	page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	if (argc == 2 && !strcmp(argv[1], "state"))
		state();
	else if (!strcmp(argc == 6 ? argv[1] : "", "cost") && rounds > 0)
		cost(argv[2], &argv[3], rounds);
	else
		errx(2, "usage: fa-probe state | fa-probe cost FILE A B N");
	return 0;
}
