/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/number.h"
#include "base/strutil.h"
#include "core/cmdline.h"
#include "core/facts-internal.h"

#define CMDLINE "/proc/cmdline"
#define POOLS "/sys/kernel/mm/hugepages"
#define LOADER_INFO "/sys/firmware/efi/efivars/LoaderInfo-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"

/* Parameters that have a say in memory management.  Those that are on the line are facts. */
static const char *const parameters[] = {
	"cgroup_disable",
	"cma",
	"crashkernel",
	"default_hugepagesz",
	"hugetlb_cma",
	"hugetlb_free_vmemmap",
	"init_on_alloc",
	"init_on_free",
	"kernelcore",
	"lockdown",
	"mem",
	"memmap",
	"memory_hotplug.memmap_on_memory",
	"movablecore",
	"numa",
	"numa_balancing",
	"page_poison",
	"page_reporting.page_reporting_order",
	"psi",
	"swapaccount",
	"thp_anon",
	"thp_shmem",
	"transparent_hugepage",
	"transparent_hugepage_shmem",
	"zswap.compressor",
	"zswap.enabled",
	"zswap.max_pool_percent",
	"zswap.zpool",
};

static void put_parameter(struct prober *p, const struct cmdline *c, const char *name)
{
	const struct cmdline_param *param = cmdline_find(c, name);
	_cleanup_free_ char *fact = NULL, *all = NULL;

	if (!param)
		return;
	fact = prober_format(p, "boot.%s", name);
	if (cmdline_repeat(name) != CMDLINE_ADD) {
		put_word(p, fact, param->value ?: "", CONFIDENCE_READ, CMDLINE);
		return;
	}
	for (size_t i = 0; i < c->n; i++) {
		char *longer;

		if (!cmdline_name_equal(c->params[i].name, name))
			continue;
		longer = prober_format(p, "%s%s%s", all ?: "", all ? " " : "", c->params[i].value ?: "");
		free(all);
		all = longer;
	}
	put_word(p, fact, all, CONFIDENCE_READ, CMDLINE);
}

static void put_pools(struct prober *p, const struct cmdline *c)
{
	_cleanup_free_ struct cmdline_pool *pools = NULL;
	_cleanup_free_ uint64_t *sizes_bytes = NULL;
	struct cmdline_hugetlb machine = {};
	size_t n;
	int r;

	if (facts_number(p->facts, FACT_HUGETLB_DEFAULT_SIZE, &machine.default_size_bytes) < 0)
		machine.default_size_bytes = 0;
	/* A kernel without huge pages has no such directory. */
	r = list_page_sizes(p->io, POOLS, &sizes_bytes, &machine.n_sizes);
	machine.sizes_bytes = sizes_bytes;
	if (r == -ENOMEM || cmdline_pools(c, &machine, &pools, &n) < 0) {
		p->error = -ENOMEM;
		return;
	}
	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *fact = NULL;
		char size[24];

		if (!pools[i].is_counted)
			continue;
		fact = prober_format(p, "boot.hugetlb.%s.pages",
				     pools[i].size_bytes ? format_size_exact(pools[i].size_bytes, size) : "default");
		put_number(p, fact, pools[i].pages, CONFIDENCE_COMPUTED, CMDLINE ": hugepagesz= and hugepages=");
	}
}

/* An EFI variable: 4 bytes of attributes, then UTF-16.  What is not ASCII becomes '?'. */
static char *read_loader_info(struct prober *p)
{
	_cleanup_free_ char *data = NULL;
	size_t size, n = 0;

	if (kernel_io_read(p->io, LOADER_INFO, &data, &size) < 0 || size < 6)
		return NULL;
	for (size_t i = 4; i + 1 < size && (data[i] || data[i + 1]); i += 2)
		data[n++] = data[i + 1] == 0 && data[i] >= 0x20 && data[i] < 0x7f ? data[i] : '?';
	data[n] = '\0';
	return n ? TAKE_PTR(data) : NULL;
}

static bool has_bls_entries(struct prober *p, const char *path)
{
	_cleanup_(strv_freep) char **names = NULL;

	if (kernel_io_list(p->io, path, &names) < 0)
		return false;
	for (size_t i = 0; names && names[i]; i++)
		if (endswith(names[i], ".conf"))
			return true;
	return false;
}

static const char *loader_of_files(struct prober *p, const struct cmdline *c, const char **ret_path)
{
	static const struct {
		const char *path;
		const char *kind;
	} files[] = {
		{ .path = "/run/ostree-booted", .kind = "ostree" },
		{ .path = "/boot/firmware/config.txt", .kind = "raspberrypi" },
		{ .path = "/boot/firmware/cmdline.txt", .kind = "raspberrypi" },
		{ .path = "/boot/grub/grub.cfg", .kind = "grub" },
		{ .path = "/boot/grub2/grub.cfg", .kind = "grub" },
		{ .path = "/boot/efi/EFI/fedora/grub.cfg", .kind = "grub" },
		{ .path = "/etc/default/grub", .kind = "grub" },
		{ .path = "/efi/loader/loader.conf", .kind = "systemd-boot" },
		{ .path = "/boot/efi/loader/loader.conf", .kind = "systemd-boot" },
		{ .path = "/boot/loader/loader.conf", .kind = "systemd-boot" },
		{ .path = "/boot/extlinux/extlinux.conf", .kind = "extlinux" },
		{ .path = "/extlinux/extlinux.conf", .kind = "extlinux" },
		{ .path = "/boot/config.txt", .kind = "raspberrypi" },
		{ .path = "/etc/zipl.conf", .kind = "zipl" },
	};

	if (cmdline_find(c, "ostree")) {
		*ret_path = CMDLINE " ostree=";
		return "ostree";
	}
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (kernel_io_exists(p->io, files[i].path)) {
			*ret_path = files[i].path;
			return files[i].kind;
		}
	if (has_bls_entries(p, "/boot/loader/entries") || has_bls_entries(p, "/efi/loader/entries")) {
		*ret_path = "loader/entries";
		return "bls";
	}
	return NULL;
}

static void put_loader(struct prober *p, const struct cmdline *c)
{
	const char *container = facts_word(p->facts, FACT_CONTAINER), *kind, *path = NULL;
	_cleanup_free_ char *info = NULL;

	if (container && !streq(container, "none")) {
		put_word(p, "boot.loader", "container", CONFIDENCE_INFERRED, FACT_CONTAINER);
		return;
	}
	/* What booted this system says so itself; files of other loaders may lie about. */
	info = read_loader_info(p);
	if (info)
		put_word(p, "boot.loader_info", info, CONFIDENCE_READ, LOADER_INFO);
	if (info && startswith(info, "systemd-boot")) {
		put_word(p, "boot.loader", "systemd-boot", CONFIDENCE_READ, LOADER_INFO);
		return;
	}
	if (info && startswith(info, "GRUB")) {
		put_word(p, "boot.loader", "grub", CONFIDENCE_READ, LOADER_INFO);
	} else {
		kind = loader_of_files(p, c, &path);
		put_word(p, "boot.loader", kind ?: "none", CONFIDENCE_INFERRED,
			 path ?: "no boot loader's files were found");
	}
	/* GRUB may read the entries of the Boot Loader Specification instead of its own menu. */
	if (facts_is(p->facts, "boot.loader", "grub"))
		put_boolean(p, "boot.bls_entries", has_bls_entries(p, "/boot/loader/entries"), CONFIDENCE_READ,
			    "/boot/loader/entries");
}

void facts_probe_boot(struct prober *p)
{
	_cleanup_(cmdline_clear) struct cmdline c = {};
	_cleanup_free_ char *text = NULL;
	int r;

	text = prober_read_line(p, CMDLINE, &r);
	if (text) {
		put_word(p, "boot.cmdline", text, CONFIDENCE_READ, CMDLINE);
		if (cmdline_parse(text, &c) < 0) {
			p->error = -ENOMEM;
			return;
		}
		for (size_t i = 0; i < ARRAY_SIZE(parameters); i++)
			put_parameter(p, &c, parameters[i]);
		put_pools(p, &c);
	} else {
		put_unreadable(p, "boot.cmdline", CMDLINE, r);
	}
	put_boolean(p, "boot.efi", kernel_io_exists(p->io, "/sys/firmware/efi"), CONFIDENCE_READ,
		    "/sys/firmware/efi is there or not");
	put_loader(p, &c);
}
