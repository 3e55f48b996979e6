/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sys/utsname.h>

#include "base/strutil.h"
#include "core/facts-internal.h"

#define ARCH_PATH "/proc/sys/kernel/arch"
#define RELEASE_PATH "/proc/sys/kernel/osrelease"

/* From uname's machine to ARCH in the kernel's tree, but x86_64 and i386 stay apart: they share no memory layout. */
static const char *kernel_arch(const char *machine)
{
	static const struct {
		const char *machine; /* a trailing '*' stands for any rest */
		const char *arch;
	} table[] = {
		{ .machine = "x86_64", .arch = "x86_64" },   { .machine = "i386", .arch = "i386" },
		{ .machine = "i486", .arch = "i386" },	     { .machine = "i586", .arch = "i386" },
		{ .machine = "i686", .arch = "i386" },	     { .machine = "aarch64*", .arch = "arm64" },
		{ .machine = "arm*", .arch = "arm" },	     { .machine = "riscv64", .arch = "riscv64" },
		{ .machine = "riscv32", .arch = "riscv32" }, { .machine = "ppc*", .arch = "powerpc" },
		{ .machine = "s390x", .arch = "s390" },	     { .machine = "loongarch64", .arch = "loongarch" },
		{ .machine = "mips*", .arch = "mips" },	     { .machine = "parisc*", .arch = "parisc" },
		{ .machine = "sparc*", .arch = "sparc" },    { .machine = "alpha", .arch = "alpha" },
		{ .machine = "m68k", .arch = "m68k" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		size_t n = strlen(table[i].machine);

		if (table[i].machine[n - 1] == '*' ? strncmp(machine, table[i].machine, n - 1) == 0
						   : streq(machine, table[i].machine))
			return table[i].arch;
	}
	return machine;
}

static void put_architecture(struct prober *p)
{
	_cleanup_free_ char *machine = NULL;
	struct utsname u;
	int r;

	if (p->io->live && uname(&u) == 0) {
		/* A 32-bit personality changes the answer, not the kernel; /proc/sys/kernel/arch (6.1) does not ask it. */
		machine = prober_read_line(p, ARCH_PATH, &r);
		put_word(p, FACT_ARCHITECTURE, kernel_arch(machine ?: u.machine), CONFIDENCE_READ,
			 machine ? ARCH_PATH : "uname(2)");
		return;
	}
	machine = prober_read_line(p, ARCH_PATH, &r);
	if (machine)
		put_word(p, FACT_ARCHITECTURE, kernel_arch(machine), CONFIDENCE_READ, ARCH_PATH);
	else
		put_unreadable(p, FACT_ARCHITECTURE, ARCH_PATH, r);
}

static void put_page_size(struct prober *p)
{
	uint64_t bytes = prober_page_size(p);

	if (bytes)
		put_number(p, FACT_PAGE_SIZE, bytes, CONFIDENCE_READ,
			   p->io->live ? "sysconf(_SC_PAGESIZE)" : "/proc/self/auxv AT_PAGESZ");
	else
		put_unknown(p, FACT_PAGE_SIZE, "/proc/self/auxv has no AT_PAGESZ");
}

static void put_cpus(struct prober *p, const char *name, const char *path)
{
	_cleanup_free_ char *text = NULL;
	uint64_t n;
	int r;

	text = prober_read_line(p, path, &r);
	if (text && list_count(text, &n) == 0 && n > 0)
		put_number(p, name, n, CONFIDENCE_READ, path);
	else
		put_unreadable(p, name, path, text ? -EINVAL : r);
}

void facts_probe_kernel(struct prober *p)
{
	put_architecture(p);
	put_file_word(p, FACT_RELEASE, RELEASE_PATH);
	put_file_word(p, "kernel.version", "/proc/sys/kernel/version");
	put_file_word(p, FACT_HOST, "/proc/sys/kernel/hostname");
	put_page_size(p);
	put_cpus(p, FACT_CPUS_PRESENT, "/sys/devices/system/cpu/present");
	put_cpus(p, "kernel.cpus_online", "/sys/devices/system/cpu/online");
	put_file_number(p, "kernel.tainted", "/proc/sys/kernel/tainted");
}
