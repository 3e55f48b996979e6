/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>

#include "base/number.h"
#include "base/strutil.h"
#include "core/effect.h"
#include "core/plan-internal.h"
#include "core/probe.h"
#include "core/savings.h"

static int saw(char *text, char **ret_reason, int result)
{
	if (!text)
		return -ENOMEM;
	*ret_reason = text;
	return result;
}

/* One touch of a mapping whose pages are resident: Rss is the window, Referenced what of it is young. */
static int check_fault_around(const struct step *step, struct kernel_io *io, bool *ret_checked, char **ret_reason)
{
	uint64_t window, referenced, page = (uint64_t)sysconf(_SC_PAGESIZE);
	bool old;

	if (!io->live || probe_fault_around(io, &window, &referenced) < 0)
		return 0;
	*ret_checked = true;
	if (window <= page)
		return saw(strdup("fault-around is off: there are no prefaulted ptes to be seen"), ret_reason, 0);
	old = referenced <= page;
	if ((streq(step->wanted, "1") && !old) || (streq(step->wanted, "0") && referenced != window))
		return saw(xasprintf("one touch of a mapping gave Rss %" PRIu64 " kB, Referenced %" PRIu64
				     " kB: prefaulted ptes are %s",
				     window / 1024, referenced / 1024, old ? "old" : "young"),
			   ret_reason, -EBADE);
	return saw(xasprintf("one touch of a mapping: Rss %" PRIu64 " kB, Referenced %" PRIu64 " kB", window / 1024,
			     referenced / 1024),
		   ret_reason, 0);
}

static int check_window(const struct step *step, struct kernel_io *io, bool *ret_checked, char **ret_reason)
{
	uint64_t window, referenced, wanted;

	if (!io->live || parse_u64(step->actual ?: step->wanted, &wanted) < 0 ||
	    probe_fault_around(io, &window, &referenced) < 0)
		return 0;
	*ret_checked = true;
	if (window != wanted)
		return saw(xasprintf("one touch of a mapping mapped %" PRIu64 " kB, not %" PRIu64 " kB", window / 1024,
				     wanted / 1024),
			   ret_reason, -EBADE);
	return 0;
}

/* The word is in brackets; now one fault.  A huge page may be missing for want of memory: only a surplus one is proof. */
static int check_thp(const struct step *step, struct kernel_io *io, bool *ret_checked, char **ret_reason)
{
	bool never = streq(step->wanted, "never"), advise = !streq(step->wanted, "always"), huge;

	if (!io->live || !streq(step->ref.tunable->id, "thp.enabled") || probe_thp_fault(io, advise, &huge) < 0)
		return 0;
	*ret_checked = true;
	if (never && huge)
		return saw(strdup("a fault still got a huge page"), ret_reason, -EBADE);
	if (!never && !huge)
		return saw(strdup("a fault got no huge page (none free, or switched off for this process)"), ret_reason,
			   0);
	return 0;
}

/* Pages of all pools, and what they would save if each of them were optimised. */
static uint64_t full_saving(struct kernel_io *io, const struct facts *facts, uint64_t *ret_pages)
{
	_cleanup_(strv_freep) char **names = NULL;
	uint64_t page, struct_page, bytes = 0;

	*ret_pages = 0;
	if (facts_number(facts, FACT_PAGE_SIZE, &page) < 0 || facts_number(facts, FACT_STRUCT_PAGE, &struct_page) < 0 ||
	    kernel_io_list(io, "/sys/kernel/mm/hugepages", &names) < 0)
		return 0;
	for (char **name = names; name && *name; name++) {
		_cleanup_free_ char *path = xasprintf("/sys/kernel/mm/hugepages/%s/nr_hugepages", *name);
		const char *size = startswith(*name, "hugepages-");
		uint64_t pages, kib, vmemmap;

		if (!path || !size || kernel_io_read_u64(io, path, &pages) < 0)
			continue;
		kib = strtoull(size, NULL, 10);
		vmemmap = kib * 1024 / page * struct_page / page;
		if (vmemmap < 2)
			continue;
		*ret_pages += pages;
		bytes += pages * (vmemmap - 1) * page;
	}
	return bytes;
}

static int check_hvo(const struct step *step, struct facts *facts, struct kernel_io *io, bool *ret_checked,
		     char **ret_reason)
{
	uint64_t pages, full;
	int64_t measured;
	char a[24], b[24];

	if (!streq(step->wanted, "1") || facts_probe(facts, io, FACTS_KERNEL | FACTS_MEMORY | FACTS_STRUCT_PAGE) < 0)
		return 0;
	full = full_saving(io, facts, &pages);
	if (full == 0 || savings_hvo_measured(facts, io, &measured) < 0)
		return 0;
	*ret_checked = true;
	format_bytes(measured, a);
	format_bytes((int64_t)full, b);
	if (measured >= (int64_t)full)
		return saw(xasprintf("all %" PRIu64 " huge pages are optimised: %s measured", pages, a), ret_reason, 0);
	return saw(xasprintf("%s of %s saved: it holds for pages that a pool gains from now on", a, b), ret_reason, 0);
}

/* A module that the kernel loads by itself once somebody asks for that algorithm: modprobe goes by this file too. */
static bool is_loadable(struct kernel_io *io, const char *name)
{
	_cleanup_free_ char *release = NULL, *path = NULL, *aliases = NULL, *line = NULL;

	if (kernel_io_read_line(io, "/proc/sys/kernel/osrelease", &release) < 0)
		return false;
	path = xasprintf("/lib/modules/%s/modules.alias", release);
	line = xasprintf("\nalias crypto-%s ", name);
	return path && line && kernel_io_read(io, path, &aliases, NULL) >= 0 && strstr(aliases, line);
}

/* The kernel takes any name while zswap is off, and then uses another compressor without a word. */
static int check_compressor(const struct step *step, struct kernel_io *io, bool *ret_checked, char **ret_reason)
{
	_cleanup_free_ char *crypto = NULL, *line = NULL;

	if (kernel_io_read(io, "/proc/crypto", &crypto, NULL) < 0)
		return 0;
	*ret_checked = true;
	line = xasprintf("\nname         : %s\n", step->wanted);
	if (!line)
		return -ENOMEM;
	if (strstr(crypto, line) || startswith(crypto, line + 1))
		return 0;
	*ret_checked = !is_loadable(io, step->wanted);
	if (!*ret_checked)
		return saw(strdup("not loaded yet: a module for it is there, which zswap loads when it starts"),
			   ret_reason, 0);
	return saw(xasprintf("the kernel has no compressor \"%s\": neither loaded (/proc/crypto) nor a module",
			     step->wanted),
		   ret_reason, -EBADE);
}

int effect_check_step(const struct step *step, struct facts *facts, struct kernel_io *io, bool *ret_checked,
		      char **ret_reason)
{
	*ret_checked = false;
	*ret_reason = NULL;
	if (!step->wanted || !step->path)
		return 0;
	switch (step->ref.tunable->effect) {
	case EFFECT_READBACK:
	case EFFECT_POOL:
		return 0;
	case EFFECT_FAULT_AROUND:
		if (step->ref.tunable->unit == UNIT_BYTES)
			return check_window(step, io, ret_checked, ret_reason);
		return check_fault_around(step, io, ret_checked, ret_reason);
	case EFFECT_HVO:
		return check_hvo(step, facts, io, ret_checked, ret_reason);
	case EFFECT_THP:
		return check_thp(step, io, ret_checked, ret_reason);
	case EFFECT_ZSWAP_COMPRESSOR:
		return check_compressor(step, io, ret_checked, ret_reason);
	}
	return 0;
}
