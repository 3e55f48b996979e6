/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Kernel, memory, huge page pools, struct page. */
#include <limits.h>

#include "base/strutil.h"
#include "facts-root.h"
#include "tests/fake-kernel.h"

#include <sys/mman.h>

/* AT_PAGESZ (6) and AT_NULL, as an ELF64 auxiliary vector of this byte order. */
static void put_auxv(const struct root *r, uint64_t page_bytes)
{
	uint64_t auxv[] = { 16, 1, 6, page_bytes, 0, 0 };
	_cleanup_close_ int fd = -EBADF;

	root_file(r, "/proc/self/auxv", "");
	fd = openat(r->dir.fd, "proc/self/auxv", O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write_all(fd, auxv, sizeof(auxv)), 0);
}

#define ZONEINFO                                            \
	"Node 0, zone      DMA\n"                           \
	"  per-node stats\n"                                \
	"      nr_inactive_anon 41139\n"                    \
	"  pages free     3840\n"                           \
	"        boost    0\n"                              \
	"        min      49\n"                             \
	"        low      61\n"                             \
	"        high     73\n"                             \
	"        spanned  4095\n"                           \
	"        present  3998\n"                           \
	"        managed  3840\n"                           \
	"        protection: (0, 3018, 5066, 5066, 5066)\n" \
	"      nr_free_pages 3840\n"                        \
	"  pagesets\n"                                      \
	"    cpu: 0\n"                                      \
	"              count: 1\n"                          \
	"              high:  500\n"                        \
	"              low 999\n"                           \
	"Node 1, zone   Normal\n"                           \
	"  pages free     10\n"                             \
	"        min      100\n"                            \
	"        low      200\n"                            \
	"        high     300\n"                            \
	"        spanned  65536\n"                          \
	"        present  61538\n"                          \
	"        managed  60000\n"                          \
	"        protection: (0, 0)\n"

static void zoneinfo(void **state)
{
	struct zoneinfo z = { .zones = 77 };

	assert_int_equal(parse_zoneinfo("", &z), -EINVAL);
	assert_int_equal(parse_zoneinfo("nonsense\n", &z), -EINVAL);
	assert_int_equal(z.zones, 77);
	assert_int_equal(parse_zoneinfo(ZONEINFO, &z), 0);
	assert_int_equal(z.zones, 2);
	assert_int_equal(z.min_pages, 149);
	assert_int_equal(z.low_pages, 261);
	assert_int_equal(z.high_pages, 373);
	assert_int_equal(z.present_pages, 65536);
	assert_int_equal(z.managed_pages, 63840);
}

/* Values as the kernel computes them; the last: this is Linux 6.18 with 2 CPUs and 24683620 kB. */
static void batch_of_committed_as(void **state)
{
	assert_int_equal(commit_batch(6170905, 2, 4), 771363);
	assert_int_equal(commit_batch(6170905, 2, 256), 12052);
	assert_int_equal(commit_batch(1000, 8, 4), 32);
	assert_int_equal(commit_batch(1000, 64, 4), 128);
	assert_int_equal(commit_batch(1ULL << 40, 1, 4), INT_MAX);
	assert_int_equal(commit_batch(1000, 0, 256), 32);
}

static struct root memory_root(void)
{
	struct root r = root_make();

	put_auxv(&r, 4096);
	root_file(&r, "/proc/sys/kernel/osrelease", "6.12.117-test\n");
	root_file(&r, "/proc/sys/kernel/arch", "aarch64\n");
	root_file(&r, "/sys/devices/system/cpu/present", "0-1,4\n");
	root_file(&r, "/proc/meminfo",
		  "MemTotal:         255360 kB\nMemFree:           40000 kB\nMemAvailable:     100000 kB\n"
		  "CommitLimit:      127680 kB\nCommitted_AS:      50000 kB\nHugepagesize:       2048 kB\n");
	root_file(&r, "/proc/zoneinfo", ZONEINFO);
	root_file(&r, "/proc/sys/vm/overcommit_memory", "0\n");
	root_file(&r, "/sys/devices/system/memory/block_size_bytes", "8000000\n");
	root_file(&r, "/sys/devices/system/memory/memory0/state", "online\n");
	root_file(&r, "/sys/devices/system/memory/memory1/state", "online\n");
	root_file(&r, "/sys/devices/system/memory/probe", "");
	root_file(&r, "/sys/devices/system/node/has_memory", "0-1\n");
	root_file(&r, "/sys/devices/system/node/node1/meminfo",
		  "Node 1 MemTotal:         240000 kB\nNode 1 MemFree:           40 kB\n");
	return r;
}

static void memory_of_a_small_machine(void **state)
{
	_cleanup_root_ struct root r = memory_root();

	root_probe(&r, FACTS_MEMORY);
	assert_fact_number(&r, FACT_PAGE_SIZE, 4096);
	assert_fact_word(&r, FACT_ARCHITECTURE, "arm64");
	assert_fact_number(&r, FACT_CPUS_PRESENT, 3);
	assert_fact_number(&r, FACT_MEMORY_TOTAL, 255360 * 1024);
	assert_fact_number(&r, FACT_MEMORY_AVAILABLE, 100000 * 1024);
	assert_fact_number(&r, FACT_COMMITTED, 50000 * 1024);
	assert_fact_number(&r, FACT_LOW_WATERMARK, 261 * 4096);
	assert_fact_number(&r, FACT_MEMORY_ONLINE, 2 << 27);
	assert_fact_number(&r, "memory.node1.total_bytes", 240000 * 1024);
	assert_fact_number(&r, "memory.node1.free_bytes", 40 * 1024);
	assert_null(facts_get(&r.facts, "memory.node0.total_bytes"));
}

#define RAM_PAGES (255360 / 4)

/* What the limit is checked against is off by what lies in the batches of the CPUs online. */
static void commit_accounting(void **state)
{
	_cleanup_root_ struct root r = memory_root();

	root_file(&r, "/sys/devices/system/cpu/online", "0-1\n");
	root_probe(&r, FACTS_COMMIT);
	assert_fact_number(&r, FACT_COMMIT_BATCH, RAM_PAGES / 3 / 4);
	/* without BTF nothing says that the check is exact */
	assert_fact_unknown(&r, FACT_COMMIT_EXACT);
	assert_fact_unknown(&r, FACT_COMMIT_ERROR_BOUND);
	assert_fact_number(&r, FACT_COMMIT_BOUND_NEVER, (RAM_PAGES / 3 / 256 - 1) * 2 * 4096);
	assert_int_equal(facts_get(&r.facts, FACT_COMMIT_BOUND_NEVER)->confidence, CONFIDENCE_INFERRED);
	root_file(&r, "/proc/sys/vm/overcommit_memory", "2\n");
	root_probe(&r, FACTS_COMMIT);
	assert_fact_number(&r, FACT_COMMIT_BATCH, RAM_PAGES / 3 / 256);
	assert_fact_number(&r, FACT_COMMIT_ERROR_BOUND, (RAM_PAGES / 3 / 256 - 1) * 2 * 4096);
	root_file(&r, "/proc/sys/vm/overcommit_memory", "0\n");
	root_file(&r, "/proc/sys/kernel/osrelease", "5.8.18\n");
	root_probe(&r, FACTS_COMMIT);
	assert_fact_number(&r, FACT_COMMIT_BATCH, RAM_PAGES / 3 / 256);
}

/* What an earlier run on the live machine has found among the kernel's types. */
static void put_probes(const struct root *r, const char *lines)
{
	_cleanup_free_ char *text = xasprintf("mmopt-probes 1 boot-1\n%s", lines);

	root_file(r, "/proc/sys/kernel/random/boot_id", "boot-1\n");
	root_file(r, "/run/mmopt/probes", text);
}

static void a_limit_that_is_checked_exactly(void **state)
{
	_cleanup_root_ struct root r = memory_root();

	put_probes(&r, FACT_COMMIT_EXACT "\tboolean\t1\tread\tBTF\n");
	root_probe(&r, FACTS_COMMIT);
	assert_fact_boolean(&r, FACT_COMMIT_EXACT, true);
	assert_fact_number(&r, FACT_COMMIT_BATCH, RAM_PAGES / 3 / 4);
	assert_fact_number(&r, FACT_COMMIT_BOUND_NEVER, 0);
	root_file(&r, "/proc/sys/vm/overcommit_memory", "2\n");
	root_probe(&r, FACTS_COMMIT);
	assert_fact_number(&r, FACT_COMMIT_BATCH, RAM_PAGES / 3 / 64);
	assert_fact_number(&r, FACT_COMMIT_ERROR_BOUND, 0);
}

static void a_symbol_among_many(void **state)
{
	static const char wanted[] = " vm_committed_as_below\n";

	/* on either side of the edge of the window, and cut by it */
	for (size_t shift = 65536 - 60; shift < 65536 + 8; shift++) {
		_cleanup_close_ int fd = memfd_create("kallsyms", MFD_CLOEXEC);
		_cleanup_free_ char *filler = calloc(1, shift + 1);

		memset(filler, 'x', shift);
		assert_int_equal(write_all(fd, filler, shift), 0);
		assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
		assert_int_equal(has_symbol_line(fd, wanted), 0);
		assert_int_equal(lseek(fd, 0, SEEK_END), shift);
		assert_int_equal(write_all(fd, "0 T vm_committed_as_below\n0 t x\n", 32), 0);
		assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
		assert_int_equal(has_symbol_line(fd, wanted), 1);
		assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
		assert_int_equal(has_symbol_line(fd, " vm_committed_as_belo\n"), 0);
	}
	assert_int_equal(has_symbol_line(-1, wanted), -EBADF);
}

/* The zones miss one block and more: only then are the blocks asked one by one. */
static void offline_blocks_are_not_counted(void **state)
{
	_cleanup_root_ struct root r = memory_root();

	root_file(&r, "/sys/devices/system/memory/memory2/state", "offline\n");
	root_file(&r, "/sys/devices/system/memory/memory3/state", "going-offline\n");
	root_probe(&r, FACTS_MEMORY);
	assert_fact_number(&r, "memory.blocks_present", 4);
	assert_fact_number(&r, "memory.blocks_online", 2);
	assert_fact_number(&r, FACT_MEMORY_ONLINE, 2 << 27);
}

static void no_memory_blocks(void **state)
{
	_cleanup_root_ struct root r = root_make();

	root_file(&r, "/proc/meminfo", "MemTotal:         255360 kB\n");
	root_probe(&r, FACTS_MEMORY | FACTS_COMMIT);
	assert_fact_unknown(&r, FACT_COMMIT_BATCH);
	assert_fact_unknown(&r, FACT_COMMIT_ERROR_BOUND);
	assert_fact_number(&r, FACT_MEMORY_ONLINE, 255360 * 1024);
	assert_fact_unknown(&r, FACT_MEMORY_AVAILABLE);
	assert_fact_unknown(&r, FACT_LOW_WATERMARK);
	assert_fact_unknown(&r, FACT_PAGE_SIZE);
}

#define POOL "/sys/kernel/mm/hugepages/hugepages-"

static void put_pool(const struct root *r, const char *size, const char *nr)
{
	static const char *const files[] = { "free_hugepages", "resv_hugepages", "surplus_hugepages",
					     "nr_overcommit_hugepages" };
	_cleanup_free_ char *path = xasprintf(POOL "%s/nr_hugepages", size);

	root_file(r, path, nr);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		_cleanup_free_ char *other = xasprintf(POOL "%s/%s", size, files[i]);
		_cleanup_free_ char *number = xasprintf("%zu\n", i);

		root_file(r, other, number);
	}
}

static void huge_page_pools(void **state)
{
	_cleanup_root_ struct root r = memory_root();

	put_pool(&r, "1048576kB", "2\n");
	put_pool(&r, "2048kB", "512\n");
	put_pool(&r, "64kB", "0\n");
	root_directory(&r, POOL "oddkB");
	root_file(&r, "/sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages", "300\n");
	root_file(&r, "/sys/devices/system/node/node1/hugepages/hugepages-2048kB/free_hugepages", "7\n");
	root_file(
		&r, "/proc/mounts",
		"none /dev/huge\\040pages hugetlbfs rw,pagesize=2M 0 0\nh /mnt/h hugetlbfs rw 0 0\np /proc proc rw 0 0\n");
	root_probe(&r, FACTS_HUGETLB);
	assert_fact_word(&r, FACT_HUGETLB_SIZES, "64K 2M 1G");
	assert_fact_number(&r, FACT_HUGETLB_DEFAULT_SIZE, 2 << 20);
	assert_fact_number(&r, "hugetlb.2M.pages", 512);
	assert_fact_number(&r, "hugetlb.2M.free_pages", 0);
	assert_fact_number(&r, "hugetlb.2M.reserved_pages", 1);
	assert_fact_number(&r, "hugetlb.2M.surplus_pages", 2);
	assert_null(facts_get(&r.facts, "hugetlb.2M.optimized_pages"));
	assert_fact_number(&r, "hugetlb.2M.node1.pages", 300);
	assert_fact_number(&r, "hugetlb.2M.node1.free_pages", 7);
	assert_null(facts_get(&r.facts, "hugetlb.2M.node0.pages"));
	assert_fact_number(&r, FACT_HUGETLB_BYTES, (512ULL << 21) + (2ULL << 30));
	assert_fact_word(&r, "hugetlb.mounts", "/dev/huge pages (2M) /mnt/h");
	/* a kernel that counts them */
	root_file(&r, POOL "2048kB/vmemmap_optimized_hugepages", "64\n");
	root_probe(&r, FACTS_HUGETLB);
	assert_fact_number(&r, "hugetlb.2M.optimized_pages", 64);
	assert_null(facts_get(&r.facts, "hugetlb.1G.optimized_pages"));
}

static void size_of_struct_page_from_the_memmap(void **state)
{
	/* 192 blocks of 128 MiB: 98304 pages for 64 bytes each */
	assert_int_equal(struct_page_from_memmap(98304, 4096, 192 * 32768), 64);
	/* a pool of 512 optimised pages takes 3584 away: too far off to tell */
	assert_int_equal(struct_page_from_memmap(98304 - 3584, 4096, 192 * 32768), 0);
	/* page_ext adds a quarter: neither 64 nor 80 */
	assert_int_equal(struct_page_from_memmap(98304 / 64 * 76, 4096, 192 * 32768), 0);
	assert_int_equal(struct_page_from_memmap(98304 / 64 * 56, 4096, 192 * 32768), 56);
	assert_int_equal(struct_page_from_memmap(0, 4096, 192 * 32768), 0);
	assert_int_equal(struct_page_from_memmap(98304, 4096, 0), 0);
	assert_int_equal(struct_page_from_memmap(UINT64_MAX, 4096, 1), 0);
}

static void struct_page_and_hvo(void **state)
{
	_cleanup_root_ struct root r = memory_root();

	put_pool(&r, "2048kB", "0\n");
	root_file(&r, "/proc/vmstat", "nr_memmap_pages 24\nnr_memmap_boot_pages 1000\n");
	root_file(&r, "/proc/sys/vm/hugetlb_optimize_vmemmap", "1\n");
	root_probe(&r, FACTS_STRUCT_PAGE);
	assert_fact_number(&r, FACT_STRUCT_PAGE, 64);
	assert_int_equal(facts_get(&r.facts, FACT_STRUCT_PAGE)->confidence, CONFIDENCE_INFERRED);
	assert_fact_boolean(&r, FACT_STRUCT_PAGE_POW2, true);
	assert_fact_number(&r, "memory.memmap_pages", 1024);
	/* 2 blocks of 128 MiB are 65536 pages of 64 bytes */
	assert_fact_number(&r, FACT_SECTION_MEMMAP_PAGES, 1024);
	assert_fact_number(&r, "hvo.2M.vmemmap_pages", 8);
	assert_fact_boolean(&r, FACT_HVO_SUPPORTED, true);
	assert_fact_boolean(&r, FACT_HVO_ENABLED, true);
	/* no BTF: not proven, but the release is one of those; and never the other way round */
	assert_fact_word(&r, FACT_HVO_DEFECT, "unknown");
	assert_fact_boolean(&r, FACT_HVO_DEFECT_SUSPECTED, true);
}

static void defect_without_btf(void **state)
{
	static const struct {
		const char *release;
		bool suspected;
	} table[] = { { "6.12.113\n", false },
		      { "6.12.114\n", true },
		      { "6.12.999\n", true },
		      { "6.13.0\n", false },
		      { "6.1.192\n", false } };

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		_cleanup_root_ struct root r = root_make();

		root_file(&r, "/proc/sys/kernel/osrelease", table[i].release);
		root_file(&r, "/proc/sys/vm/hugetlb_optimize_vmemmap", "0\n");
		root_probe(&r, FACTS_STRUCT_PAGE);
		assert_fact_word(&r, FACT_HVO_DEFECT, "unknown");
		assert_fact_boolean(&r, FACT_HVO_DEFECT_SUSPECTED, table[i].suspected);
		assert_fact_unknown(&r, FACT_STRUCT_PAGE);
		assert_fact_unknown(&r, FACT_SECTION_MEMMAP_PAGES);
	}
}

/* All who say that BTF told nothing say why in words: "Bad message" would be no reason. */
static void btf_that_tells_nothing(void **state)
{
	static const struct {
		const char *contents, *reason;
	} table[] = { { "", "/sys/kernel/btf/vmlinux: the file is empty" },
		      { "\x9f\xeb\x01", "/sys/kernel/btf/vmlinux: it is damaged, cut short, or of a form" } };
	static const char *const names[] = { FACT_COMMIT_EXACT, FACT_STRUCT_PAGE, FACT_HVO_DEFECT };

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		_cleanup_root_ struct root r = root_make();

		root_file(&r, "/proc/sys/vm/hugetlb_optimize_vmemmap", "0\n");
		root_file(&r, "/sys/kernel/btf/vmlinux", table[i].contents);
		root_probe(&r, FACTS_STRUCT_PAGE);
		for (size_t k = 0; k < ARRAY_SIZE(names); k++) {
			const struct fact *f = facts_get(&r.facts, names[k]);

			assert_non_null(f);
			if (!startswith(f->source, table[i].reason))
				fail_msg("%s: %s", names[k], f->source);
		}
	}
}

static void no_hvo_no_defect_and_the_marker_of_the_repair(void **state)
{
	_cleanup_root_ struct root r = memory_root();

	root_probe(&r, FACTS_STRUCT_PAGE);
	assert_fact_boolean(&r, FACT_HVO_SUPPORTED, false);
	assert_fact_word(&r, FACT_HVO_DEFECT, "none");
	root_file(&r, "/proc/sys/vm/hugetlb_optimize_vmemmap", "0\n");
	root_probe(&r, FACTS_STRUCT_PAGE);
	assert_fact_word(&r, FACT_HVO_DEFECT, "unknown");
	root_file(&r, POOL "2048kB/vmemmap_optimized_hugepages", "0\n");
	root_probe(&r, FACTS_STRUCT_PAGE);
	assert_fact_word(&r, FACT_HVO_DEFECT, "none");
	assert_int_equal(facts_get(&r.facts, FACT_HVO_DEFECT)->confidence, CONFIDENCE_READ);
	assert_non_null(
		strstr(facts_get(&r.facts, FACT_HVO_DEFECT)->source, POOL "2048kB/vmemmap_optimized_hugepages"));
	assert_null(facts_get(&r.facts, FACT_HVO_DEFECT_SUSPECTED));
	/* what another kernel's probes say, or an older mmopt's, does not outvote it */
	put_probes(&r, FACT_HVO_DEFECT "\tword\trestore\tprobed\tBTF\n");
	root_probe(&r, FACTS_STRUCT_PAGE);
	assert_fact_word(&r, FACT_HVO_DEFECT, "none");
	assert_int_equal(unlinkat(r.dir.fd, &POOL "2048kB/vmemmap_optimized_hugepages"[1], 0), 0);
	root_probe(&r, FACTS_STRUCT_PAGE);
	assert_fact_word(&r, FACT_HVO_DEFECT, "restore");
}

/* A note: sizes of name and contents, a type, then both, padded to 4 bytes. */
static size_t put_note(char *to, const char *name, const char *text)
{
	uint32_t header[] = { strlen(name) + 1, strlen(text), 0 };
	size_t name_room = (header[0] + 3) & ~3U, text_room = (header[1] + 3) & ~3U;

	memset(to, 0, sizeof(header) + name_room + text_room);
	memcpy(to, header, sizeof(header));
	memcpy(to + sizeof(header), name, header[0]);
	memcpy(to + sizeof(header) + name_room, text, header[1]);
	return sizeof(header) + name_room + text_room;
}

static void vmcoreinfo(void **state)
{
	char notes[512] = "";
	size_t n = 0;

	assert_int_equal(vmcoreinfo_page_bytes(notes, 0), 0);
	n += put_note(notes, "CORE", "OSRELEASE=x\nSIZE(page)=56\n");
	assert_int_equal(vmcoreinfo_page_bytes(notes, n), 0);
	n += put_note(notes + n, "VMCOREINFO", "OSRELEASE=6\nXSIZE(page)=1\nSIZE(page)=64\nSIZE(x)=1\n");
	assert_int_equal(vmcoreinfo_page_bytes(notes, n), 64);
	/* cut anywhere: never beyond the end, never a wrong size */
	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *copy = malloc(i + 1);
		uint64_t bytes;

		assert_non_null(copy);
		memcpy(copy, notes, i);
		bytes = vmcoreinfo_page_bytes(copy, i);
		assert_true(bytes == 0 || bytes == 64);
	}
}

static void build_options(void **state)
{
	_cleanup_root_ struct root r = memory_root();

	root_file(&r, "/boot/config-6.12.117-test",
		  "CONFIG_HUGETLBFS=y\n# CONFIG_LRU_GEN is not set\nCONFIG_LRU_GEN_ENABLED=y\nCONFIG_LRU_GEN_X=y\n"
		  "CONFIG_KSM=m\nCONFIG_UNHEARD_OF=y\n# CONFIG_ZSWAP is set\n");
	root_probe(&r, FACTS_CONFIG);
	assert_fact_word(&r, FACT_CONFIG_SOURCE, "/boot/config-6.12.117-test");
	assert_fact_word(&r, "config.HUGETLBFS", "y");
	assert_fact_word(&r, "config.LRU_GEN", "n");
	assert_fact_word(&r, "config.LRU_GEN_ENABLED", "y");
	assert_fact_word(&r, "config.KSM", "m");
	assert_null(facts_get(&r.facts, "config.UNHEARD_OF"));
	assert_null(facts_get(&r.facts, "config.LRU_GEN_X"));
	assert_null(facts_get(&r.facts, "config.ZSWAP"));
	assert_true(r.facts.dirty_cache);
}

/* A unit that shuts /usr/lib/modules: what is not seen is not said to be missing. */
static void build_options_out_of_sight(void **state)
{
	static const char path[] = "/lib/modules/6.12.0-test/config";
	static const struct fake_file files[] = {
		{ .path = "/proc/sys/kernel/osrelease", .behaviour = FAKE_WORD, .value = "6.12.0-test" },
		{ .path = path, .behaviour = FAKE_WORD, .value = "CONFIG_KSM=y" },
	};
	struct fake_kernel *k = fake_kernel_new(files, ARRAY_SIZE(files));
	_cleanup_(kernel_io_freep) struct kernel_io *io = fake_kernel_io(k);
	_cleanup_(facts_clear) struct facts facts = {};
	const struct fact *f;

	fake_kernel_hide(k, path, -EACCES);
	assert_int_equal(facts_probe(&facts, io, FACTS_CONFIG), 0);
	f = facts_get(&facts, FACT_CONFIG_SOURCE);
	assert_non_null(f);
	assert_non_null(strstr(f->source, "cannot be seen from here"));
}

static void broken_config_gz_is_unknown(void **state)
{
	_cleanup_root_ struct root r = memory_root();

	root_file(&r, "/proc/config.gz", "\x1f\x8b\x08 not really");
	root_probe(&r, FACTS_CONFIG);
	assert_fact_unknown(&r, FACT_CONFIG_SOURCE);
	assert_non_null(strstr(facts_get(&r.facts, FACT_CONFIG_SOURCE)->source, "/proc/config.gz: it is damaged"));
}

static void lists_of_ranges(void **state)
{
	uint64_t n = 0;

	assert_int_equal(list_count("0-3,8,10-11\n", &n), 0);
	assert_int_equal(n, 7);
	assert_int_equal(list_count("", &n), 0);
	assert_int_equal(n, 0);
	assert_int_equal(list_count("0-4294967295", &n), 0);
	assert_true(n == 1ULL << 32);
	assert_int_equal(list_count("3-1", &n), -EINVAL);
	assert_int_equal(list_count("a", &n), -EINVAL);
	assert_int_equal(list_count("1;2", &n), -EINVAL);
	assert_int_equal(list_count("4294967296", &n), -EINVAL);
	assert_true(list_contains("0-3,8", 8));
	assert_false(list_contains("0-3,8", 4));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(zoneinfo),
		cmocka_unit_test(batch_of_committed_as),
		cmocka_unit_test(memory_of_a_small_machine),
		cmocka_unit_test(commit_accounting),
		cmocka_unit_test(a_limit_that_is_checked_exactly),
		cmocka_unit_test(a_symbol_among_many),
		cmocka_unit_test(offline_blocks_are_not_counted),
		cmocka_unit_test(no_memory_blocks),
		cmocka_unit_test(huge_page_pools),
		cmocka_unit_test(size_of_struct_page_from_the_memmap),
		cmocka_unit_test(struct_page_and_hvo),
		cmocka_unit_test(defect_without_btf),
		cmocka_unit_test(btf_that_tells_nothing),
		cmocka_unit_test(no_hvo_no_defect_and_the_marker_of_the_repair),
		cmocka_unit_test(vmcoreinfo),
		cmocka_unit_test(build_options),
		cmocka_unit_test(build_options_out_of_sight),
		cmocka_unit_test(broken_config_gz_is_unknown),
		cmocka_unit_test(lists_of_ranges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
