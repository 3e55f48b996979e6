/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * sizeof(struct page), and whether this kernel can do without most of them for huge pages (HVO).
 *
 * The defect "restore": Linux 6.12.114 took c0b495b91a47 and c7bde43f6daf without 622026e87c40, so that the page which holds
 * the head struct page is copied into every restored one.  Each huge page that is freed is then lost, or comes
 * back with stale metadata.  It shows in the kernel's types: struct vmemmap_remap_walk has vmemmap_tail while struct zone
 * has no vmemmap_tails.  A kernel that was mended another way says so by the file vmemmap_optimized_hugepages, which is
 * looked for first: what an earlier run has kept cannot outvote it.
 */
#include <elf.h>
#include <fcntl.h>

#include "base/fileio.h"
#include "base/number.h"
#include "base/strutil.h"
#include "core/btf.h"
#include "core/facts-internal.h"

#define BTF_PATH "/sys/kernel/btf/vmlinux"
#define KCORE_PATH "/proc/kcore"
#define SYSCTL_PATH "/proc/sys/vm/hugetlb_optimize_vmemmap"
#define MEMMAP_ON_MEMORY_PATH "/sys/module/memory_hotplug/parameters/memmap_on_memory"
#define NOTE_MAX_BYTES (1024 * 1024)

struct struct_page {
	struct btf_findings btf;
	int btf_error;	       /* 0: btf is filled in */
	uint64_t memmap_pages; /* nr_memmap_pages + nr_memmap_boot_pages */
	int memmap_error;
};

uint64_t vmcoreinfo_page_bytes(const char *notes, size_t size)
{
	static const char name[] = "VMCOREINFO", key[] = "\nSIZE(page)=";
	size_t offset = 0;

	while (size - offset >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr header;
		uint64_t desc, next;

		memcpy(&header, notes + offset, sizeof(header));
		desc = offset + sizeof(header) + (((uint64_t)header.n_namesz + 3) & ~(uint64_t)3);
		next = desc + (((uint64_t)header.n_descsz + 3) & ~(uint64_t)3);
		if (desc + header.n_descsz > size)
			break;
		/* The size of the name counts its NUL in some kernels and not in others. */
		if (header.n_namesz >= sizeof(name) - 1 && header.n_namesz <= sizeof(name) &&
		    memcmp(notes + offset + sizeof(header), name, sizeof(name) - 1) == 0) {
			const char *s = memmem(notes + desc, header.n_descsz, key, sizeof(key) - 1), *end;
			uint64_t bytes = 0;

			end = notes + desc + header.n_descsz;
			for (s = s ? s + sizeof(key) - 1 : end; s < end && *s >= '0' && *s <= '9' && bytes < 65536; s++)
				bytes = bytes * 10 + (unsigned)(*s - '0');
			return bytes;
		}
		if (next > size)
			break;
		offset = next;
	}
	return 0;
}

static bool pread_all(int fd, void *buffer, size_t size, off_t offset)
{
	return pread(fd, buffer, size, offset) == (ssize_t)size;
}

/* /proc/kcore is as large as the address space: only its headers and notes are read. */
static int read_vmcoreinfo(struct prober *p, uint64_t *ret)
{
	_cleanup_close_ int fd = -EBADF;
	Elf64_Ehdr header;
	int root_fd;

	root_fd = kernel_io_root_fd(p->io);
	if (root_fd < 0)
		return root_fd;
	fd = open_in_root(root_fd, KCORE_PATH, O_RDONLY, 0);
	if (fd < 0)
		return fd;
	if (!pread_all(fd, &header, sizeof(header), 0) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr))
		return -EIO;
	for (size_t i = 0; i < header.e_phnum; i++) {
		_cleanup_free_ char *notes = NULL;
		Elf64_Phdr segment;

		if (!pread_all(fd, &segment, sizeof(segment), (off_t)(header.e_phoff + i * sizeof(segment))))
			return -EIO;
		if (segment.p_type != PT_NOTE || segment.p_filesz > NOTE_MAX_BYTES)
			continue;
		notes = malloc(segment.p_filesz + 1);
		if (!notes)
			return -ENOMEM;
		if (!pread_all(fd, notes, segment.p_filesz, (off_t)segment.p_offset))
			return -EIO;
		*ret = vmcoreinfo_page_bytes(notes, segment.p_filesz);
		return *ret ? 0 : -ENODATA;
	}
	return -ENODATA;
}

static int read_btf(struct prober *p, struct btf_findings *ret)
{
	_cleanup_close_ int fd = -EBADF;
	int root_fd = kernel_io_root_fd(p->io);

	if (root_fd < 0)
		return root_fd;
	fd = open_in_root(root_fd, BTF_PATH, O_RDONLY, 0);
	return fd < 0 ? fd : btf_find(fd, ret);
}

/* -ENODATA: of a captured system only the name of that large file is taken along. */
static const char *btf_reason(int error)
{
	return error == -ENODATA ? "the file is empty" : prober_error(error);
}

static int read_memmap_pages(struct prober *p, uint64_t *ret)
{
	_cleanup_free_ char *text = NULL;
	uint64_t later, boot;
	int r;

	text = prober_read(p, "/proc/vmstat", &r);
	if (!text)
		return r;
	r = keyed_u64(text, "nr_memmap_pages", &later);
	if (r == 0)
		r = keyed_u64(text, "nr_memmap_boot_pages", &boot);
	if (r == 0)
		*ret = later + boot;
	return r;
}

/* Base pages in all memory that has a struct page, online or not. */
static uint64_t pages_present(struct prober *p, uint64_t page_bytes)
{
	uint64_t blocks, bytes;

	if (page_bytes == 0 || facts_number(p->facts, "memory.blocks_present", &blocks) < 0 ||
	    facts_number(p->facts, "memory.block_bytes", &bytes) < 0)
		return 0;
	return blocks * (bytes / page_bytes);
}

uint64_t struct_page_from_memmap(uint64_t memmap_pages, uint64_t page_bytes, uint64_t pages)
{
	uint64_t hundredths, bytes;

	if (pages == 0 || memmap_pages > UINT64_MAX / page_bytes / 100)
		return 0;
	hundredths = memmap_pages * page_bytes * 100 / pages;
	bytes = (hundredths + 400) / 800 * 8;
	/* struct page is a multiple of 8.  page_ext adds and HVO takes away: where it is not near one, it is neither. */
	if (bytes < 32 || hundredths + bytes < bytes * 100 || hundredths > bytes * 101)
		return 0;
	return bytes;
}

static void put_size(struct prober *p, const struct struct_page *s, uint64_t page_bytes)
{
	_cleanup_free_ char *reason = NULL;
	uint64_t bytes;

	if (s->btf_error == 0 && s->btf.struct_page_bytes) {
		put_number(p, FACT_STRUCT_PAGE, s->btf.struct_page_bytes, CONFIDENCE_READ, BTF_PATH " struct page");
		p->facts->dirty_cache = true;
		return;
	}
	if (p->io->live && read_vmcoreinfo(p, &bytes) == 0) {
		put_number(p, FACT_STRUCT_PAGE, bytes, CONFIDENCE_READ, KCORE_PATH " VMCOREINFO SIZE(page)");
		p->facts->dirty_cache = true;
		return;
	}
	bytes = s->memmap_error == 0
			? struct_page_from_memmap(s->memmap_pages, page_bytes, pages_present(p, page_bytes))
			: 0;
	if (bytes) {
		put_number(p, FACT_STRUCT_PAGE, bytes, CONFIDENCE_INFERRED,
			   "/proc/vmstat: (nr_memmap_pages + nr_memmap_boot_pages) x page size / pages present");
		return;
	}
	reason = prober_format(p, "%s: %s; no VMCOREINFO, and /proc/vmstat does not tell either", BTF_PATH,
			       s->btf_error < 0 ? btf_reason(s->btf_error) : "no struct page");
	put_unknown(p, FACT_STRUCT_PAGE, reason);
}

static void put_memmap(struct prober *p, const struct struct_page *s, uint64_t page_bytes)
{
	uint64_t pages = pages_present(p, page_bytes), bytes;

	if (s->memmap_error == 0)
		put_number(p, "memory.memmap_pages", s->memmap_pages, CONFIDENCE_READ,
			   "/proc/vmstat: nr_memmap_pages + nr_memmap_boot_pages");
	else
		put_unreadable(p, "memory.memmap_pages", "/proc/vmstat nr_memmap_pages", s->memmap_error);
	if (pages == 0 || facts_number(p->facts, FACT_STRUCT_PAGE, &bytes) < 0) {
		put_unknown(p, FACT_SECTION_MEMMAP_PAGES, "needs memory blocks, the page size and sizeof(struct page)");
		return;
	}
	put_number(p, FACT_SECTION_MEMMAP_PAGES, pages / page_bytes * bytes + pages % page_bytes * bytes / page_bytes,
		   facts_get(p->facts, FACT_STRUCT_PAGE)->confidence == CONFIDENCE_INFERRED ? CONFIDENCE_INFERRED
											    : CONFIDENCE_COMPUTED,
		   "memory blocks present x pages per block x sizeof(struct page) / page size");
}

/* Pages of struct page that one huge page of each size has: all but one of them are what HVO saves. */
static void put_vmemmap_pages(struct prober *p, uint64_t page_bytes)
{
	_cleanup_free_ uint64_t *sizes = NULL;
	uint64_t bytes;
	size_t n = 0;

	if (page_bytes == 0 || facts_number(p->facts, FACT_STRUCT_PAGE, &bytes) < 0 ||
	    list_page_sizes(p->io, "/sys/kernel/mm/hugepages", &sizes, &n) < 0)
		return;
	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *name = NULL;
		char size[24];

		name = prober_format(p, "hvo.%s.vmemmap_pages", format_size_exact(sizes[i], size));
		put_number(p, name, sizes[i] / page_bytes * bytes / page_bytes, CONFIDENCE_COMPUTED,
			   "huge page size / page size x sizeof(struct page) / page size");
	}
}

/* The file that only mended kernels have, one for each size; NULL where there is none. */
static char *find_marker(struct prober *p)
{
	_cleanup_free_ uint64_t *sizes = NULL;
	size_t n = 0;

	if (list_page_sizes(p->io, "/sys/kernel/mm/hugepages", &sizes, &n) < 0)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *path =
			prober_format(p, "/sys/kernel/mm/hugepages/hugepages-%llukB/vmemmap_optimized_hugepages",
				      (unsigned long long)(sizes[i] / 1024));

		if (path && kernel_io_exists(p->io, path))
			return TAKE_PTR(path);
	}
	return NULL;
}

/*
 * Without BTF nothing can be proven.  A version list would be wrong for every kernel whose builder took or left
 * out a patch, so the release only says how likely the defect is.
 */
static void put_defect_unknown(struct prober *p, int btf_error)
{
	const char *release = facts_word(p->facts, FACT_RELEASE);
	_cleanup_free_ char *source = NULL;
	bool suspected;

	suspected = release && kernel_release_compare(release, "6.12.114") >= 0 &&
		    kernel_release_compare(release, "6.13") < 0;
	source = prober_format(p, "%s: %s; release %s is %s", BTF_PATH, btf_reason(btf_error), release ?: "(not known)",
			       suspected ? "of a series that is known to be broken from 6.12.114 on"
					 : "not known to be broken");
	put_word(p, FACT_HVO_DEFECT, "unknown", CONFIDENCE_INFERRED, source);
	put_boolean(p, FACT_HVO_DEFECT_SUSPECTED, suspected, CONFIDENCE_INFERRED, source);
}

static void put_defect(struct prober *p, const struct struct_page *s)
{
	bool supported = facts_true(p->facts, FACT_HVO_SUPPORTED);

	if (s->btf_error == 0) {
		const char *source = !s->btf.has_remap_walk  ? BTF_PATH ": HVO is not built in"
				     : !s->btf.walk_has_tail ? BTF_PATH ": vmemmap_remap_walk has no vmemmap_tail"
				     : s->btf.zone_has_tails
					     ? BTF_PATH ": vmemmap_remap_walk.vmemmap_tail with zone.vmemmap_tails"
					     : BTF_PATH ": vmemmap_remap_walk.vmemmap_tail without zone.vmemmap_tails";

		put_word(p, FACT_HVO_DEFECT, s->btf.walk_has_tail && !s->btf.zone_has_tails ? "restore" : "none",
			 CONFIDENCE_PROBED, source);
		p->facts->dirty_cache = true;
	} else if (!supported) {
		put_word(p, FACT_HVO_DEFECT, "none", CONFIDENCE_INFERRED,
			 SYSCTL_PATH " is not there: no HVO to be broken");
	} else {
		put_defect_unknown(p, s->btf_error);
	}
}

/* The kernel says so itself by the file, which costs nothing to look for: that goes before what was found out earlier. */
static void put_repaired(struct prober *p, const char *marker)
{
	_cleanup_free_ char *source = prober_format(p, "%s is there: a kernel with the repair", marker);

	put_word(p, FACT_HVO_DEFECT, "none", CONFIDENCE_READ, source);
}

/* Of interest to commit accounting (facts-commit.c), and found in the same pass over the kernel's types. */
static void put_commit_check(struct prober *p, const struct struct_page *s)
{
	if (s->btf_error == 0) {
		put_boolean(p, FACT_COMMIT_EXACT, s->btf.has_exact_commit, CONFIDENCE_READ,
			    s->btf.has_exact_commit ? BTF_PATH ": function vm_committed_as_below()"
						    : BTF_PATH ": no function vm_committed_as_below()");
		p->facts->dirty_cache = true;
	} else {
		_cleanup_free_ char *reason = prober_format(p, BTF_PATH ": %s", btf_reason(s->btf_error));

		put_unknown(p, FACT_COMMIT_EXACT, reason);
	}
}

void facts_probe_struct_page(struct prober *p)
{
	uint64_t page_bytes = prober_page_size(p), bytes;
	struct struct_page s = { .btf_error = -ENODATA };
	_cleanup_free_ char *marker = find_marker(p);
	bool size_cached, commit_cached, defect_cached;

	size_cached = put_cached(p, FACT_STRUCT_PAGE);
	commit_cached = put_cached(p, FACT_COMMIT_EXACT);
	defect_cached = marker || facts_get(p->cache, FACT_HVO_DEFECT);
	s.memmap_error = read_memmap_pages(p, &s.memmap_pages);
	if (!size_cached || !commit_cached || !defect_cached)
		s.btf_error = read_btf(p, &s.btf);
	if (s.btf_error == -ENOMEM || s.memmap_error == -ENOMEM) {
		p->error = -ENOMEM;
		return;
	}
	if (!size_cached)
		put_size(p, &s, page_bytes);
	if (facts_number(p->facts, FACT_STRUCT_PAGE, &bytes) == 0)
		put_boolean(p, FACT_STRUCT_PAGE_POW2, (bytes & (bytes - 1)) == 0, CONFIDENCE_COMPUTED,
			    FACT_STRUCT_PAGE);
	put_memmap(p, &s, page_bytes);
	put_vmemmap_pages(p, page_bytes);

	put_boolean(p, FACT_HVO_SUPPORTED, kernel_io_exists(p->io, SYSCTL_PATH), CONFIDENCE_READ,
		    SYSCTL_PATH " is there or not");
	if (facts_true(p->facts, FACT_HVO_SUPPORTED))
		put_file_boolean(p, FACT_HVO_ENABLED, SYSCTL_PATH);
	else
		put_boolean(p, FACT_HVO_ENABLED, false, CONFIDENCE_INFERRED, SYSCTL_PATH " is not there");
	if (marker)
		put_repaired(p, marker);
	else if (!put_cached(p, FACT_HVO_DEFECT))
		put_defect(p, &s);
	if (!commit_cached)
		put_commit_check(p, &s);
	put_file_word(p, FACT_MEMMAP_ON_MEMORY, MEMMAP_ON_MEMORY_PATH);
}
