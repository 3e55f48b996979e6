/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Transparent huge pages, reclaim, NUMA, virtualization, boot. */
#include "facts-root.h"

#define THP "/sys/kernel/mm/transparent_hugepage"

static void transparent_huge_pages(void **state)
{
	_cleanup_root_ struct root r = root_make();

	root_file(&r, THP "/enabled", "always [madvise] never\n");
	root_file(&r, THP "/defrag", "always defer defer+madvise [madvise] never\n");
	root_file(&r, THP "/hpage_pmd_size", "2097152\n");
	root_file(&r, THP "/use_zero_page", "1\n");
	root_file(&r, THP "/hugepages-2048kB/enabled", "always [inherit] madvise never\n");
	root_file(&r, THP "/hugepages-64kB/enabled", "always inherit madvise [never]\n");
	root_file(&r, "/proc/vmstat", "thp_zero_page_alloc 3\nthp_zero_page_alloc_failed 1\n");
	root_probe(&r, FACTS_THP);
	assert_fact_word(&r, FACT_THP_ENABLED, "madvise");
	assert_fact_word(&r, "thp.defrag", "madvise");
	assert_fact_number(&r, FACT_THP_PMD_SIZE, 2097152);
	assert_fact_boolean(&r, "thp.use_zero_page", true);
	assert_fact_word(&r, "mthp.sizes", "64K 2M");
	assert_fact_word(&r, "mthp.64K.enabled", "never");
	assert_fact_word(&r, "mthp.2M.enabled", "inherit");
	assert_null(facts_get(&r.facts, "mthp.64K.shmem_enabled"));
	assert_fact_number(&r, "thp.zero_page_allocations", 3);
	assert_fact_number(&r, "thp.zero_page_allocation_failures", 1);
	/* a build option, and there is no build configuration */
	assert_fact_unknown(&r, FACT_ZERO_PAGE_PERSISTENT);
	root_file(&r, "/proc/sys/kernel/osrelease", "6.18.1\n");
	root_file(&r, "/boot/config-6.18.1", "CONFIG_PERSISTENT_HUGE_ZERO_FOLIO=y\n");
	root_probe(&r, FACTS_THP);
	assert_fact_boolean(&r, FACT_ZERO_PAGE_PERSISTENT, true);
	root_file(&r, "/boot/config-6.18.1", "# CONFIG_PERSISTENT_HUGE_ZERO_FOLIO is not set\n");
	root_probe(&r, FACTS_THP);
	assert_fact_boolean(&r, FACT_ZERO_PAGE_PERSISTENT, false);
}

static void no_transparent_huge_pages(void **state)
{
	_cleanup_root_ struct root r = root_make();

	root_probe(&r, FACTS_THP);
	assert_fact_unknown(&r, FACT_THP_ENABLED);
	assert_fact_unknown(&r, FACT_THP_PMD_SIZE);
}

static void swap_areas(void **state)
{
	static const char head[] = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n";
	static const struct {
		const char *lines, *kind;
		uint64_t total;
	} table[] = {
		{ "", "none", 0 },
		{ "/dev/zram0                              partition\t1000\t\t10\t\t100\n", "zram", 1000 },
		{ "/dev/vda2 partition 2000 0 -2\n", "disk", 2000 },
		{ "/dev/zram0 partition 1000 10 100\n/swap\\040file file 500 0 -3\n", "mixed", 1500 },
		/* a file is a file, whatever its name */
		{ "/zram0 file 500 0 -3\n", "disk", 500 },
		{ "garbage\n/dev/zram1 partition x y z\n", "none", 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		_cleanup_root_ struct root r = root_make();
		_cleanup_free_ char *text = xasprintf("%s%s", head, table[i].lines);

		root_file(&r, "/proc/swaps", text);
		root_probe(&r, FACTS_RECLAIM);
		assert_fact_word(&r, FACT_SWAP_KIND, table[i].kind);
		assert_fact_number(&r, FACT_SWAP_TOTAL, table[i].total * 1024);
	}
}

static void reclaim(void **state)
{
	_cleanup_root_ struct root r = root_make();

	root_file(&r, "/sys/kernel/mm/lru_gen/enabled", "0x0007\n");
	root_file(&r, "/sys/kernel/mm/lru_gen/min_ttl_ms", "0\n");
	root_file(&r, "/sys/module/zswap/parameters/enabled", "Y\n");
	root_file(&r, "/sys/module/zswap/parameters/compressor", "zstd\n");
	root_file(&r, "/sys/block/zram0/disksize", "4096\n");
	root_file(&r, "/sys/block/zram1/disksize", "8192\n");
	root_file(&r, "/sys/block/vda/size", "1\n");
	root_directory(&r, "/sys/module/damon_lru_sort");
	root_probe(&r, FACTS_RECLAIM);
	assert_fact_word(&r, "mglru.enabled", "0x0007");
	assert_fact_boolean(&r, FACT_ZSWAP_ENABLED, true);
	assert_fact_word(&r, "zswap.compressor", "zstd");
	assert_fact_number(&r, "zram.devices", 2);
	assert_fact_number(&r, "zram.disksize_bytes", 12288);
	assert_fact_word(&r, "damon.modules", "damon_lru_sort");
	assert_fact_unknown(&r, "ksm.run");
	assert_fact_word(&r, FACT_SWAP_KIND, "none");
	assert_fact_boolean(&r, "psi.available", false);
}

static void large_folios_in_the_page_cache(void **state)
{
	static const struct {
		const char *release, *mounts;
		int want; /* -1: not known */
	} table[] = {
		{ "6.1.192", "/dev/a / ext4 rw 0 0\n", 0 },
		{ "6.12.117", "/dev/a / ext4 rw 0 0\n/dev/b /boot/efi vfat rw 0 0\n", 0 },
		{ "6.16", "/dev/a / ext4 rw 0 0\n", 1 },
		{ "6.1.192", "/dev/a / ext4 rw 0 0\n/dev/b /srv xfs rw 0 0\n", 1 },
		{ "5.17.1", "/dev/b / xfs rw 0 0\n", 0 },
		{ "6.12.117", "/dev/b / btrfs rw 0 0\n", 0 },
		{ "6.18.1", "/dev/b / btrfs rw 0 0\n", -1 },
		{ "6.18.1", "/dev/b / btrfs rw 0 0\n/dev/c /c ext4 rw 0 0\n", 1 },
		{ "7.2", "/dev/b / btrfs rw 0 0\n", 1 },
		{ "6.12.117", "host:/x /mnt nfs4 rw 0 0\n", 1 },
		{ "6.7", "host:/x /mnt nfs4 rw 0 0\n", -1 },
		/* one that mmopt has not heard of, and those that are no file systems of their own */
		{ "6.12.117", "/dev/a / ext4 rw 0 0\n/dev/b /b newfs rw 0 0\n", -1 },
		{ "6.12.117", "/dev/a / ext4 rw 0 0\noverlay /o overlay rw 0 0\nproc /proc proc rw 0 0\n", 0 },
		{ "6.12.117", "overlay / overlay rw 0 0\n", -1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		_cleanup_root_ struct root r = root_make();
		bool b = false;

		root_file(&r, "/proc/sys/kernel/osrelease", table[i].release);
		root_file(&r, "/proc/mounts", table[i].mounts);
		root_probe(&r, FACTS_RECLAIM);
		/* without THP there are none */
		assert_fact_boolean(&r, FACT_LARGE_FOLIOS, false);
		root_directory(&r, THP);
		root_probe(&r, FACTS_RECLAIM);
		if (facts_boolean(&r.facts, FACT_LARGE_FOLIOS, &b) < 0 ? table[i].want != -1 : b != table[i].want)
			fail_msg("Linux %s, %s: %d", table[i].release, table[i].mounts, b);
		if (table[i].want >= 0)
			assert_int_equal(facts_get(&r.facts, FACT_LARGE_FOLIOS)->confidence, CONFIDENCE_INFERRED);
	}
}

static void nodes(void **state)
{
	_cleanup_root_ struct root r = root_make();

	root_probe(&r, FACTS_NUMA);
	assert_fact_number(&r, FACT_NODES, 1);
	assert_int_equal(facts_get(&r.facts, FACT_NODES)->confidence, CONFIDENCE_INFERRED);
	assert_fact_boolean(&r, FACT_NUMA_TIERED, false);
	root_file(&r, "/sys/devices/system/node/has_memory", "0-1,4\n");
	root_file(&r, "/sys/devices/system/node/has_cpu", "0-1\n");
	root_probe(&r, FACTS_NUMA);
	assert_fact_number(&r, FACT_NODES, 3);
	assert_fact_boolean(&r, FACT_NUMA_TIERED, true);
	root_file(&r, "/sys/devices/system/node/has_cpu", "0-5\n");
	root_probe(&r, FACTS_NUMA);
	assert_fact_boolean(&r, FACT_NUMA_TIERED, false);
	/* a node with CPUs and without memory is no tier */
	root_file(&r, "/sys/devices/system/node/has_memory", "0\n");
	root_probe(&r, FACTS_NUMA);
	assert_fact_number(&r, FACT_NODES, 1);
	assert_fact_boolean(&r, FACT_NUMA_TIERED, false);
}

static void virtualization(void **state)
{
	static const struct {
		const char *path, *text, *word;
	} table[] = {
		{ "/proc/nothing", "", "none" },
		{ "/sys/hypervisor/type", "xen\n", "xen" },
		{ "/sys/class/dmi/id/sys_vendor", "QEMU\n", "qemu" },
		{ "/sys/class/dmi/id/product_name", "KVM Virtual Machine\n", "kvm" },
		{ "/sys/class/dmi/id/sys_vendor", "Amazon EC2\n", "amazon" },
		{ "/sys/class/dmi/id/sys_vendor", "Dell Inc.\n", "none" },
		{ "/proc/device-tree/hypervisor/compatible", "linux,kvm", "kvm" },
		{ "/proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu hypervisor lahf_lm\n", "vm-other" },
		{ "/proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu\nbugs\t\t: a hypervisor\n", "none" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		_cleanup_root_ struct root r = root_make();

		root_file(&r, table[i].path, table[i].text);
		root_probe(&r, FACTS_VIRT);
		assert_fact_word(&r, FACT_VIRTUALIZATION, table[i].word);
	}
}

static void put_environ(const struct root *r)
{
	static const char environ[] = "HOME=/\0xcontainer=no\0container=lxc\0TERM=x";
	_cleanup_close_ int fd = -EBADF;

	root_file(r, "/proc/1/environ", "");
	fd = openat(r->dir.fd, "proc/1/environ", O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write_all(fd, environ, sizeof(environ)), 0);
}

static void containers(void **state)
{
	_cleanup_root_ struct root r = root_make();

	root_probe(&r, FACTS_VIRT);
	assert_fact_word(&r, FACT_CONTAINER, "none");
	root_file(&r, "/.dockerenv", "");
	root_probe(&r, FACTS_VIRT);
	assert_fact_word(&r, FACT_CONTAINER, "docker");
	/* an image that was booted as a machine still has the file */
	root_directory(&r, "/proc/self/ns");
	root_link(&r, "/proc/self/ns/pid", "pid:[4026531836]");
	root_probe(&r, FACTS_VIRT);
	assert_fact_word(&r, FACT_CONTAINER, "none");
	put_environ(&r);
	root_probe(&r, FACTS_VIRT);
	assert_fact_word(&r, FACT_CONTAINER, "lxc");
	root_file(&r, "/run/systemd/container", "podman\n");
	root_probe(&r, FACTS_VIRT);
	assert_fact_word(&r, FACT_CONTAINER, "podman");
	assert_int_equal(facts_get(&r.facts, FACT_CONTAINER)->confidence, CONFIDENCE_READ);
}

static void a_namespace_of_its_own(void **state)
{
	_cleanup_root_ struct root r = root_make();

	root_directory(&r, "/proc/self/ns");
	root_link(&r, "/proc/self/ns/pid", "pid:[4026532265]");
	root_probe(&r, FACTS_VIRT);
	assert_fact_word(&r, FACT_CONTAINER, "other");
}

static void rescue_systems(void **state)
{
	static const struct {
		const char *cmdline, *word;
	} table[] = {
		{ "ro quiet\n", "none" },
		{ "ro single\n", "rescue" },
		{ "ro 1\n", "rescue" },
		{ "ro systemd.unit=rescue.target\n", "rescue" },
		{ "ro systemd.unit=emergency.target\n", "emergency" },
		{ "ro systemd.unit=rescue.target systemd.unit=multi-user.target\n", "none" },
		{ "ro emergency\n", "emergency" },
		{ "ro single=x rescued\n", "none" },
		/* words of init's and inside quotes are no words of the kernel's line */
		{ "ro -- single\n", "none" },
		{ "ro x=\"a single b\"\n", "none" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		_cleanup_root_ struct root r = root_make();

		root_file(&r, "/proc/cmdline", table[i].cmdline);
		root_probe(&r, FACTS_VIRT);
		assert_fact_word(&r, FACT_RESCUE, table[i].word);
	}
}

static void kdump_and_initrd(void **state)
{
	_cleanup_root_ struct root r = root_make();

	root_file(&r, "/proc/cmdline", "ro\n");
	root_file(&r, "/etc/initrd-release", "ID=x\n");
	root_probe(&r, FACTS_VIRT);
	assert_fact_word(&r, FACT_RESCUE, "initrd");
	root_file(&r, "/proc/vmcore", "");
	root_probe(&r, FACTS_VIRT);
	assert_fact_word(&r, FACT_RESCUE, "kdump");
}

static void lockdown_and_debugfs(void **state)
{
	_cleanup_root_ struct root r = root_make();

	root_probe(&r, FACTS_ALL);
	assert_fact_unknown(&r, FACT_LOCKDOWN);
	assert_fact_unknown(&r, "virt.debugfs_mounted");
	root_file(&r, "/sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
	root_file(&r, "/proc/mounts", "x /sys/kernel/debug debugfs rw 0 0\n");
	root_probe(&r, FACTS_ALL);
	assert_fact_word(&r, FACT_LOCKDOWN, "integrity");
	assert_fact_boolean(&r, "virt.debugfs_mounted", true);
	/* what could be written is not for a copy to say */
	assert_fact_unknown(&r, "virt.proc_sys_writable");
}

static void command_line_facts(void **state)
{
	_cleanup_root_ struct root r = root_make();

	root_file(&r, "/proc/meminfo", "Hugepagesize:       2048 kB\n");
	root_file(&r, "/proc/cmdline",
		  "ro hugetlb_free_vmemmap=off hugetlb-free-vmemmap=on memmap=1M$2M memmap=3M$4M hugepages=8 "
		  "hugepagesz=1G hugepages=2 psi -- psi=0\n");
	root_probe(&r, FACTS_BOOT);
	assert_fact_word(&r, "boot.hugetlb_free_vmemmap", "on");
	assert_fact_word(&r, "boot.memmap", "1M$2M 3M$4M");
	assert_fact_word(&r, "boot.psi", "");
	assert_fact_number(&r, "boot.hugetlb.2M.pages", 8);
	assert_fact_number(&r, "boot.hugetlb.1G.pages", 2);
	assert_null(facts_get(&r.facts, "boot.transparent_hugepage"));
}

#define LOADER_INFO "/sys/firmware/efi/efivars/LoaderInfo-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"

static void put_loader_info(const struct root *r, const char *name)
{
	_cleanup_close_ int fd = -EBADF;
	char utf16[128] = { 6, 0, 0, 0 };
	size_t n = 4;

	for (; *name; name++, n += 2)
		utf16[n] = *name;
	root_file(r, LOADER_INFO, "");
	fd = openat(r->dir.fd, &LOADER_INFO[1], O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write_all(fd, utf16, n + 2), 0);
}

static void boot_loaders(void **state)
{
	static const struct {
		const char *path, *word;
	} table[] = {
		{ "/nothing", "none" },
		{ "/boot/grub/grub.cfg", "grub" },
		{ "/boot/grub2/grub.cfg", "grub" },
		{ "/run/ostree-booted", "ostree" },
		{ "/boot/extlinux/extlinux.conf", "extlinux" },
		{ "/boot/firmware/config.txt", "raspberrypi" },
		{ "/boot/efi/loader/loader.conf", "systemd-boot" },
		{ "/boot/loader/entries/a.conf", "bls" },
		{ "/boot/loader/entries/a.txt", "none" },
		{ "/.dockerenv", "container" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		_cleanup_root_ struct root r = root_make();

		root_file(&r, table[i].path, "x\n");
		root_probe(&r, FACTS_BOOT);
		assert_fact_word(&r, "boot.loader", table[i].word);
		assert_int_equal(facts_get(&r.facts, "boot.loader")->confidence, CONFIDENCE_INFERRED);
	}
}

static void the_loader_that_booted_goes_before_files(void **state)
{
	_cleanup_root_ struct root r = root_make();

	root_file(&r, "/boot/grub/grub.cfg", "x\n");
	root_file(&r, "/boot/loader/entries/a.conf", "x\n");
	root_probe(&r, FACTS_BOOT);
	assert_fact_word(&r, "boot.loader", "grub");
	assert_fact_boolean(&r, "boot.bls_entries", true);
	put_loader_info(&r, "systemd-boot 252.5");
	root_probe(&r, FACTS_BOOT);
	assert_fact_word(&r, "boot.loader", "systemd-boot");
	assert_fact_word(&r, "boot.loader_info", "systemd-boot 252.5");
	assert_int_equal(facts_get(&r.facts, "boot.loader")->confidence, CONFIDENCE_READ);
	put_loader_info(&r, "GRUB 2.12");
	root_probe(&r, FACTS_BOOT);
	assert_fact_word(&r, "boot.loader", "grub");
}

/* The odd reading of the age of prefaulted ptes. */
static void words_for_fault_around(void **state)
{
	assert_string_equal(fault_around_word(4096, 4096, 4096), "off");
	assert_string_equal(fault_around_word(65536, 65536, 4096), "young");
	assert_string_equal(fault_around_word(65536, 4096, 4096), "old");
	assert_string_equal(fault_around_word(65536, 16384, 4096), "mixed");
	assert_string_equal(fault_around_word(65536, 0, 4096), "mixed");
	assert_string_equal(fault_around_word(65536, 65536, 65536), "off");
}

static void access_flag_of_a_captured_machine(void **state)
{
	_cleanup_root_ struct root r = root_make();

	/* bit 1 says yes; where it is clear nothing is known */
	root_file(&r, "/sys/kernel/mm/lru_gen/enabled", "0x0003\n");
	root_probe(&r, FACTS_ACCESS_FLAG);
	assert_fact_word(&r, FACT_ACCESS_FLAG, "hardware");
	assert_int_equal(facts_get(&r.facts, FACT_ACCESS_FLAG)->confidence, CONFIDENCE_READ);
	assert_fact_unknown(&r, FACT_OLD_PTE_COST);
	root_file(&r, "/sys/kernel/mm/lru_gen/enabled", "0x0005\n");
	root_probe(&r, FACTS_ACCESS_FLAG);
	assert_fact_unknown(&r, FACT_ACCESS_FLAG);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(transparent_huge_pages),
		cmocka_unit_test(no_transparent_huge_pages),
		cmocka_unit_test(swap_areas),
		cmocka_unit_test(reclaim),
		cmocka_unit_test(large_folios_in_the_page_cache),
		cmocka_unit_test(nodes),
		cmocka_unit_test(virtualization),
		cmocka_unit_test(containers),
		cmocka_unit_test(a_namespace_of_its_own),
		cmocka_unit_test(rescue_systems),
		cmocka_unit_test(kdump_and_initrd),
		cmocka_unit_test(lockdown_and_debugfs),
		cmocka_unit_test(command_line_facts),
		cmocka_unit_test(boot_loaders),
		cmocka_unit_test(the_loader_that_booted_goes_before_files),
		cmocka_unit_test(words_for_fault_around),
		cmocka_unit_test(access_flag_of_a_captured_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
