/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/number.h"
#include "base/strutil.h"
#include "core/kernel-io.h"
#include "core/value.h"
#include "daemon/pin-zero-page.h"

#define THP "/sys/kernel/mm/transparent_hugepage"
/* So many small pages in a row are read to see whether one huge page stands for them. */
#define PAGES_READ 16

static uint64_t page_bytes(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE);
}

/* What a page middle directory entry maps. */
static uint64_t huge_page_bytes(struct kernel_io *io)
{
	uint64_t bytes;

	if (kernel_io_read_u64(io, THP "/hpage_pmd_size", &bytes) == 0)
		return bytes;
	/* Linux before 4.12 does not tell: a table is one page of entries of eight bytes. */
	return page_bytes() * (page_bytes() / 8);
}

/* Private memory that can only be read, aligned to its size. 0 or a negative errno. */
static int map_aligned(uint64_t bytes, void **ret)
{
	char *room = mmap(NULL, 2 * bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0), *start;

	if (room == MAP_FAILED)
		return -errno;
	start = (char *)(((uintptr_t)room + bytes - 1) & ~(uintptr_t)(bytes - 1));
	if (start > room)
		munmap(room, (size_t)(start - room));
	munmap(start + bytes, (size_t)(room + bytes - start));
	/* A child has no use for it: its references would only come and go. */
	if (madvise(start, bytes, MADV_HUGEPAGE) < 0 || madvise(start, bytes, MADV_DONTFORK) < 0) {
		int r = -errno;

		munmap(start, bytes);
		return r;
	}
	*ret = start;
	return 0;
}

static uint64_t minor_faults(void)
{
	struct rusage u = {};

	getrusage(RUSAGE_THREAD, &u);
	return (uint64_t)u.ru_minflt;
}

/*
 * Reads a byte of the first small pages.  True where that took far fewer faults than pages: then something huge is
 * mapped.  A few are allowed for, since the program itself may fault meanwhile.
 */
static bool read_maps_huge(const volatile char *address)
{
	uint64_t before = minor_faults();

	for (unsigned i = 0; i < PAGES_READ; i++)
		(void)address[i * page_bytes()];
	return minor_faults() - before < PAGES_READ / 2;
}

/* Memory that counts as the process' own in the mapping at address: none where the zero page is mapped. */
static int resident_kib(struct kernel_io *io, const void *address, uint64_t *ret)
{
	_cleanup_free_ char *smaps = NULL;
	char *line;
	int r = kernel_io_read(io, "/proc/self/smaps", &smaps, NULL);

	if (r < 0)
		return r;
	for (line = smaps; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		uintptr_t start, end;

		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &start, &end) == 2 && (uintptr_t)address >= start &&
		    (uintptr_t)address < end)
			return keyed_u64(line, "Rss", ret);
	}
	return -ENOENT;
}

/* The word in force of a file "always [madvise] never", NULL where there is none. */
static char *chosen_word(struct kernel_io *io, const char *path)
{
	_cleanup_free_ char *text = NULL;
	struct value v = {};

	if (kernel_io_read_line(io, path, &text) < 0 || value_from_kernel(VALUE_CHOICE, BOOLEAN_01, text, &v) < 0)
		return NULL;
	return v.text;
}

/* Since Linux 6.8 each size has a word of its own, by default the common one. */
static int explain_never(struct kernel_io *io, uint64_t bytes, char **ret_reason)
{
	_cleanup_free_ char *path = xasprintf(THP "/hugepages-%" PRIu64 "kB/enabled", bytes / 1024), *own = NULL,
			    *common = NULL;

	if (!path)
		return -ENOMEM;
	own = chosen_word(io, path);
	common = chosen_word(io, THP "/enabled");
	if (own && streq(own, "never"))
		*ret_reason = xasprintf("transparent huge pages of this size are off: %s is never", path);
	else if (common && streq(common, "never") && (!own || streq(own, "inherit")))
		*ret_reason = strdup("transparent huge pages are off: thp.enabled is never");
	else
		return 0;
	return -EOPNOTSUPP;
}

/* Why the huge zero page was not mapped (own: a huge page of its own was): the error and, in words, its reason. */
static int explain(struct kernel_io *io, uint64_t bytes, bool own, char **ret_reason)
{
	uint64_t use_zero_page = 1;
	char size[24];
	int r;

	if (!kernel_io_exists(io, THP)) {
		*ret_reason = strdup("this kernel has no transparent huge pages");
		return -EOPNOTSUPP;
	}
	r = explain_never(io, bytes, ret_reason);
	if (r < 0)
		return r;
	if (kernel_io_read_u64(io, THP "/use_zero_page", &use_zero_page) == 0 && use_zero_page == 0) {
		*ret_reason = strdup("the kernel may not use a huge zero page: thp.use_zero_page is 0");
		return -EINVAL;
	}
	if (prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) > 0) {
		*ret_reason = strdup("transparent huge pages are off for this process (PR_SET_THP_DISABLE), "
				     "which it has from the one that started it");
		return -EOPNOTSUPP;
	}
	if (own)
		*ret_reason =
			strdup("this kernel has no use for a huge zero page: although thp.use_zero_page is 1, memory "
			       "that is only read gets a huge page of its own");
	else
		*ret_reason =
			xasprintf("reading memory did not map the huge zero page: there was no free memory of %s in "
				  "one piece, see thp_zero_page_alloc_failed in /proc/vmstat",
				  format_size_exact(bytes, size));
	return -ENODATA;
}

/*
 * 0; -ENODATA or -EINVAL where the kernel maps something else (*ret_own: a huge page that is nobody else's) or knows no
 * huge pages; or another negative errno.
 */
static int map_zero_page(struct kernel_io *io, uint64_t bytes, void **ret, bool *ret_own)
{
	uint64_t resident = 0;
	void *address = NULL;
	int r = map_aligned(bytes, &address);

	if (r < 0)
		return r;
	r = -ENODATA;
	if (read_maps_huge(address))
		r = resident_kib(io, address, &resident);
	*ret_own = r == 0 && resident > 0;
	if (*ret_own)
		r = -ENODATA;
	if (r < 0)
		munmap(address, bytes);
	else
		*ret = address;
	return r;
}

int zero_page_pin(struct zero_page *ret, char **ret_reason)
{
	_cleanup_(kernel_io_freep) struct kernel_io *io = NULL;
	_cleanup_free_ char *vmstat = NULL;
	struct zero_page z = {};
	bool own = false;
	int r = kernel_io_open(NULL, &io);

	if (r == 0) {
		z.bytes = huge_page_bytes(io);
		r = map_zero_page(io, z.bytes, &z.address, &own);
		if (r == -ENODATA || r == -EINVAL)
			return explain(io, z.bytes, own, ret_reason);
	}
	if (r < 0) {
		*ret_reason = xasprintf("the huge zero page cannot be mapped: %s", strerror(-r));
		return r;
	}
	z.allocs_known = kernel_io_read(io, "/proc/vmstat", &vmstat, NULL) == 0 &&
			 keyed_u64(vmstat, "thp_zero_page_alloc", &z.allocs) == 0;
	z.since_sec = clock_usec(CLOCK_REALTIME) / USEC_PER_SEC;
	*ret = z;
	return 0;
}

void zero_page_unpin(struct zero_page *z)
{
	if (z->address)
		munmap(z->address, z->bytes);
	*z = (struct zero_page){};
}
