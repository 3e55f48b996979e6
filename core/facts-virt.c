/* SPDX-License-Identifier: LGPL-2.1-or-later */
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif
#include <fcntl.h>

#include "base/fileio.h"
#include "base/strutil.h"
#include "core/cmdline.h"
#include "core/facts-internal.h"
#include "core/mounts.h"

/* PROC_PID_INIT_INO of the kernel: the number of the first PID namespace. */
#define INITIAL_PID_NAMESPACE "pid:[4026531836]"

struct name_of {
	const char *text;
	const char *name;
};

static const char *lookup(const struct name_of *table, size_t n, const char *text)
{
	for (size_t i = 0; i < n; i++)
		if (startswith(text, table[i].text))
			return table[i].name;
	return NULL;
}

/* The hypervisor's own signature; only the CPU that runs this program can be asked. */
static const char *virtualization_of_cpu(void)
{
#if defined(__x86_64__) || defined(__i386__)
	static const struct name_of signatures[] = {
		{ .text = "KVMKVMKVM", .name = "kvm" },		 { .text = "Linux KVM Hv", .name = "kvm" },
		{ .text = "TCGTCGTCGTCG", .name = "qemu" },	 { .text = "VMwareVMware", .name = "vmware" },
		{ .text = "Microsoft Hv", .name = "microsoft" }, { .text = "XenVMMXenVMM", .name = "xen" },
		{ .text = "bhyve bhyve ", .name = "bhyve" },	 { .text = "QNXQVMBSQG", .name = "qnx" },
		{ .text = "ACRNACRNACRN", .name = "acrn" },	 { .text = "SRESRESRESRE", .name = "sre" },
		{ .text = "Apple VZ", .name = "apple" },
	};
	unsigned a, b, c, d;
	char signature[13] = "";

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & (1U << 31)))
		return NULL;
	__cpuid(0x40000000, a, b, c, d);
	memcpy(signature, &b, 4);
	memcpy(signature + 4, &c, 4);
	memcpy(signature + 8, &d, 4);
	return lookup(signatures, ARRAY_SIZE(signatures), signature) ?: "vm-other";
#else
	return NULL;
#endif
}

static const char *virtualization_of_dmi(struct prober *p, const char **ret_path)
{
	static const char *const paths[] = {
		"/sys/class/dmi/id/product_name",
		"/sys/class/dmi/id/sys_vendor",
		"/sys/class/dmi/id/board_vendor",
		"/sys/class/dmi/id/bios_vendor",
	};
	static const struct name_of vendors[] = {
		{ .text = "KVM", .name = "kvm" },
		{ .text = "OpenStack", .name = "kvm" },
		{ .text = "KubeVirt", .name = "kvm" },
		{ .text = "Amazon EC2", .name = "amazon" },
		{ .text = "Google Compute Engine", .name = "google" },
		{ .text = "QEMU", .name = "qemu" },
		{ .text = "VMware", .name = "vmware" },
		{ .text = "VMW", .name = "vmware" },
		{ .text = "innotek GmbH", .name = "oracle" },
		{ .text = "VirtualBox", .name = "oracle" },
		{ .text = "Virtual Machine", .name = "microsoft" },
		{ .text = "Xen", .name = "xen" },
		{ .text = "Bochs", .name = "bochs" },
		{ .text = "Parallels", .name = "parallels" },
		{ .text = "BHYVE", .name = "bhyve" },
		{ .text = "Apple Virtualization", .name = "apple" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		_cleanup_free_ char *text = prober_read_line(p, paths[i], NULL);
		const char *name = text ? lookup(vendors, ARRAY_SIZE(vendors), text) : NULL;

		/* Amazon's own metal has the vendor's name too. */
		if (name && !(streq(name, "amazon") && strstr(text, ".metal"))) {
			*ret_path = paths[i];
			return name;
		}
	}
	return NULL;
}

static const char *virtualization_of_device_tree(struct prober *p, const char **ret_path)
{
	static const char path[] = "/proc/device-tree/hypervisor/compatible";
	static const struct name_of compatibles[] = {
		{ .text = "linux,kvm", .name = "kvm" },
		{ .text = "xen", .name = "xen" },
		{ .text = "vmware", .name = "vmware" },
	};
	_cleanup_free_ char *text = prober_read_line(p, path, NULL);

	if (text) {
		*ret_path = path;
		return lookup(compatibles, ARRAY_SIZE(compatibles), text) ?: "vm-other";
	}
	if (kernel_io_exists(p->io, "/proc/device-tree/fw-cfg") ||
	    kernel_io_exists(p->io, "/proc/device-tree/fw-cfg@9020000")) {
		*ret_path = "/proc/device-tree/fw-cfg";
		return "qemu";
	}
	return NULL;
}

/* The flag in /proc/cpuinfo, which is long on large machines: for captured systems only. */
static bool cpuinfo_has_hypervisor(struct prober *p)
{
	_cleanup_free_ char *text = prober_read(p, "/proc/cpuinfo", NULL);
	char *flags = text ? strstr(text, "\nflags") : NULL, *end;

	if (!flags)
		return false;
	end = strchr(flags + 1, '\n');
	if (end)
		*end = '\0';
	return strstr(flags, " hypervisor") != NULL;
}

static void put_virtualization(struct prober *p)
{
	const char *cpu = p->io->live ? virtualization_of_cpu() : NULL, *path = NULL, *name;
	_cleanup_free_ char *type = NULL;

	type = prober_read_line(p, "/sys/hypervisor/type", NULL);
	if (cpu && !streq(cpu, "vm-other")) {
		put_word(p, FACT_VIRTUALIZATION, cpu, CONFIDENCE_READ, "CPUID leaf 0x40000000");
		return;
	}
	if (type && streq(type, "xen")) {
		put_word(p, FACT_VIRTUALIZATION, "xen", CONFIDENCE_READ, "/sys/hypervisor/type");
		return;
	}
	name = virtualization_of_device_tree(p, &path);
	if (!name)
		name = virtualization_of_dmi(p, &path);
	if (name)
		put_word(p, FACT_VIRTUALIZATION, name, CONFIDENCE_INFERRED, path);
	else if (cpu)
		put_word(p, FACT_VIRTUALIZATION, cpu, CONFIDENCE_READ, "CPUID leaf 1, hypervisor bit");
	else if (!p->io->live && cpuinfo_has_hypervisor(p))
		put_word(p, FACT_VIRTUALIZATION, "vm-other", CONFIDENCE_READ, "/proc/cpuinfo flag hypervisor");
	else
		put_word(p, FACT_VIRTUALIZATION, "none", CONFIDENCE_INFERRED,
			 "neither CPUID nor DMI, device tree or /sys/hypervisor show a hypervisor");
}

/* The value of "container=" among the variables PID 1 was started with. */
static char *container_of_environ(struct prober *p)
{
	_cleanup_free_ char *data = NULL;
	size_t size;

	if (kernel_io_read(p->io, "/proc/1/environ", &data, &size) < 0)
		return NULL;
	for (size_t i = 0; i < size; i += strlen(data + i) + 1) {
		const char *value = startswith(data + i, "container=");

		if (value && *value)
			return prober_format(p, "%s", value);
	}
	return NULL;
}

static void put_container(struct prober *p)
{
	static const struct name_of files[] = {
		{ .text = "/run/.containerenv", .name = "podman" },
		{ .text = "/.dockerenv", .name = "docker" },
	};
	_cleanup_free_ char *name = NULL, *namespace = NULL;
	bool initial;

	name = prober_read_line(p, "/run/systemd/container", NULL);
	if (name && *name) {
		put_word(p, FACT_CONTAINER, name, CONFIDENCE_READ, "/run/systemd/container");
		return;
	}
	free(name);
	name = container_of_environ(p);
	if (name) {
		put_word(p, FACT_CONTAINER, name, CONFIDENCE_READ, "/proc/1/environ");
		return;
	}
	if (kernel_io_exists(p->io, "/proc/vz") && !kernel_io_exists(p->io, "/proc/bc")) {
		put_word(p, FACT_CONTAINER, "openvz", CONFIDENCE_INFERRED, "/proc/vz without /proc/bc");
		return;
	}
	/* The marks of container engines stay in images that are booted as machines later: the namespace decides. */
	if (kernel_io_readlink(p->io, "/proc/self/ns/pid", &namespace) < 0)
	namespace = NULL;
	initial = namespace && streq(namespace, INITIAL_PID_NAMESPACE);
	for (size_t i = 0; i < ARRAY_SIZE(files) && !initial; i++)
		if (kernel_io_exists(p->io, files[i].text)) {
			put_word(p, FACT_CONTAINER, files[i].name, CONFIDENCE_INFERRED, files[i].text);
			return;
		}
	if (namespace && !initial)
		put_word(p, FACT_CONTAINER, "other", CONFIDENCE_INFERRED, "/proc/self/ns/pid is not the first one");
	else
		put_word(p, FACT_CONTAINER, "none", CONFIDENCE_INFERRED,
			 initial ? "/proc/self/ns/pid is the first one, and PID 1 has no container="
				 : "nothing that containers leave behind was found");
}

static const char *rescue_of_cmdline(const struct cmdline *c)
{
	const struct cmdline_param *unit = cmdline_find(c, "systemd.unit");

	if (unit && unit->value && streq(unit->value, "rescue.target"))
		return "rescue";
	if (unit && unit->value && streq(unit->value, "emergency.target"))
		return "emergency";
	for (size_t i = 0; i < c->n; i++) {
		const char *name = c->params[i].name;

		if (c->params[i].value)
			continue;
		if (streq(name, "single") || streq(name, "s") || streq(name, "S") || streq(name, "1") ||
		    streq(name, "rescue"))
			return "rescue";
		if (streq(name, "emergency") || streq(name, "-b"))
			return "emergency";
	}
	return NULL;
}

static void put_rescue(struct prober *p)
{
	_cleanup_(cmdline_clear) struct cmdline c = {};
	_cleanup_free_ char *text = NULL;
	const char *word = NULL;

	/* The kernel that saves the memory of a crashed one shows it as this file. */
	if (kernel_io_exists(p->io, "/proc/vmcore")) {
		put_word(p, FACT_RESCUE, "kdump", CONFIDENCE_READ, "/proc/vmcore is there");
		return;
	}
	if (kernel_io_exists(p->io, "/etc/initrd-release")) {
		put_word(p, FACT_RESCUE, "initrd", CONFIDENCE_READ, "/etc/initrd-release is there");
		return;
	}
	text = prober_read_line(p, "/proc/cmdline", NULL);
	if (text && cmdline_parse(text, &c) < 0)
		p->error = -ENOMEM;
	word = rescue_of_cmdline(&c);
	put_word(p, FACT_RESCUE, word ?: "none", word ? CONFIDENCE_READ : CONFIDENCE_INFERRED,
		 word ? "/proc/cmdline" : "no /proc/vmcore, no /etc/initrd-release, nothing on /proc/cmdline");
}

static void put_cgroup(struct prober *p)
{
	const char *word = kernel_io_exists(p->io, "/sys/fs/cgroup/cgroup.controllers")		  ? "v2"
			   : kernel_io_exists(p->io, "/sys/fs/cgroup/unified/cgroup.controllers") ? "hybrid"
			   : kernel_io_exists(p->io, "/sys/fs/cgroup/memory")			  ? "v1"
												  : "none";

	put_word(p, "virt.cgroup", word, CONFIDENCE_READ, "/sys/fs/cgroup");
}

/*
 * Mode bits, user ids and mount flags do not tell whether a kernel file can be written: opening it does, and changes
 * nothing.
 */
static void put_writable(struct prober *p, const char *name, const char *path)
{
	_cleanup_free_ char *source = NULL;
	_cleanup_close_ int fd = -EBADF;
	int root_fd = kernel_io_root_fd(p->io);

	if (!p->io->live || root_fd < 0) {
		put_unknown(p, name, "not the running system");
		return;
	}
	fd = open_in_root(root_fd, path, O_WRONLY | O_NOCTTY, 0);
	if (fd == -ENOENT) {
		put_unreadable(p, name, path, fd);
		return;
	}
	source = prober_format(p, "open(%s) for writing: %s", path,
			       fd < 0 ? strerrordesc_np(-fd) ?: "error" : "Success");
	put_boolean(p, name, fd >= 0, CONFIDENCE_PROBED, source);
}

static int find_debugfs(void *userdata, const struct mount_line *line)
{
	return streq(line->type, "debugfs") && streq(line->target, "/sys/kernel/debug");
}

static void put_debugfs(struct prober *p)
{
	_cleanup_free_ char *text = NULL;
	int r;

	text = prober_read(p, "/proc/mounts", &r);
	if (text)
		r = mounts_parse(text, find_debugfs, NULL);
	if (r < 0)
		put_unreadable(p, "virt.debugfs_mounted", "/proc/mounts", r);
	else
		put_boolean(p, "virt.debugfs_mounted", r > 0, CONFIDENCE_READ, "/proc/mounts");
}

void facts_probe_virt(struct prober *p)
{
	put_virtualization(p);
	put_container(p);
	put_rescue(p);
}

void facts_probe_confinement(struct prober *p)
{
	put_file_choice(p, FACT_LOCKDOWN, "/sys/kernel/security/lockdown");
	put_cgroup(p);
	put_debugfs(p);
	put_writable(p, "virt.proc_sys_writable", "/proc/sys/vm/swappiness");
	put_writable(p, "virt.sys_writable", "/sys/kernel/mm/transparent_hugepage/enabled");
}
