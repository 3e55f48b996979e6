/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/catalogue-auto.h"

#include <inttypes.h>
#include <stdarg.h>

#include "base/number.h"
#include "base/strutil.h"

static void fill(struct auto_choice *ret, const char *value, const char *reason, va_list ap)
{
	*ret = (struct auto_choice){ .keep = !value };
	if (value)
		snprintf(ret->value, sizeof(ret->value), "%s", value);
	vsnprintf(ret->reason, sizeof(ret->reason), reason, ap);
}

_printf_(3, 4) static void choose(struct auto_choice *ret, const char *value, const char *reason, ...)
{
	va_list ap;

	va_start(ap, reason);
	fill(ret, value, reason, ap);
	va_end(ap);
}

_printf_(2, 3) static void keep(struct auto_choice *ret, const char *reason, ...)
{
	va_list ap;

	va_start(ap, reason);
	fill(ret, NULL, reason, ap);
	va_end(ap);
}

/*
 * Serves the boot parameter too: whether the running kernel is sound tells about the next boot as well, unless the
 * kernel is changed meanwhile, and then the next plan says so.
 */
void auto_hugetlb_optimize_vmemmap(const struct facts *facts, struct auto_choice *ret)
{
	const char *on_memory = facts_word(facts, FACT_MEMMAP_ON_MEMORY);
	const char *defect = facts_word(facts, FACT_HVO_DEFECT);
	bool supported, power_of_2;

	if (facts_boolean(facts, FACT_HVO_SUPPORTED, &supported) < 0)
		keep(ret, "whether this kernel can optimise huge page descriptors could not be found out");
	else if (!supported && facts_boolean(facts, FACT_STRUCT_PAGE_POW2, &power_of_2) == 0 && !power_of_2)
		keep(ret, "this kernel cannot: the size of its struct page is not a power of two");
	else if (!supported)
		keep(ret, "this kernel cannot optimise huge page descriptors on this architecture or configuration");
	else if (on_memory && !streq(on_memory, "N"))
		keep(ret,
		     "memory_hotplug.memmap_on_memory is %s: descriptors kept in added memory cannot be given back",
		     on_memory);
	else if (!defect || streq(defect, "unknown"))
		keep(ret, "whether this kernel frees optimised huge pages soundly could not be found out");
	else if (!streq(defect, "none"))
		keep(ret, "this kernel corrupts memory when an optimised huge page is freed (defect: %s)", defect);
	else
		choose(ret, "1", "supported, and this kernel frees optimised huge pages soundly");
}

/* Bit 0 of what the kernel shows as "0x0007" is the main switch; a kernel without the file has the classic LRU alone. */
static unsigned long mglru_bits(const struct facts *facts)
{
	const char *word = facts_word(facts, FACT_MGLRU_ENABLED), *digits = word ? startswith(word, "0x") : NULL;
	unsigned long bits;
	char *end;

	if (!digits || !*digits)
		return 0;
	bits = strtoul(digits, &end, 16);
	return *end == '\0' ? bits : 0;
}

/*
 * What old ptes did in trials on an emulated machine that was short of memory (docs/kernel-facts.md).  MGLRU is told apart
 * since it gains less, and sometimes nothing: it looks at page tables by itself.  The choice is the same for both, though:
 * six of its ten trials took 0.4 to 0.9 times as long and one 1.1 times, and mainline's own choice on arm64 does not ask
 * for MGLRU either.
 */
static const char *old_ptes_in_trials(const struct facts *facts)
{
	if (mglru_bits(facts) & 1)
		return "MGLRU is on: in trials with memory short, files used sparsely took 0.4 to 1.1 times as long, without "
		       "pressure the same";
	return "classic LRU: in trials with memory short, files used sparsely took 0.2 to 1.0 times as long, without pressure "
	       "the same";
}

/* Since set_pte_range() (Linux 6.6) the entries of one folio are made together, all young or all old. */
static const char *old_ptes_in_large_folios(const struct facts *facts)
{
	const char *release = facts_word(facts, FACT_RELEASE);

	if (!facts_true(facts, FACT_LARGE_FOLIOS) || !release || kernel_release_compare(release, "6.6") < 0)
		return "";
	return "; files here can have large folios, of which the one read stays young as a whole, so that it matters less";
}

void auto_want_old_faultaround_pte(const struct facts *facts, struct auto_choice *ret)
{
	uint64_t old_ns, young_ns, more_ns;

	if (!facts_is(facts, FACT_ACCESS_FLAG, "hardware")) {
		choose(ret, "-1",
		       facts_is(facts, FACT_ACCESS_FLAG, "software")
			       ? "software sets the access flag: each old pte would cost a fault"
			       : "who sets the access flag is not known: left to the architecture");
		return;
	}
	if (facts_number(facts, FACT_OLD_PTE_COST, &old_ns) < 0 ||
	    facts_number(facts, FACT_YOUNG_PTE_COST, &young_ns) < 0) {
		choose(ret, "-1", "what the first touch of an old pte costs is not known: left to the architecture");
		return;
	}
	more_ns = old_ns > young_ns ? old_ns - young_ns : 0;
	if (more_ns <= AUTO_OLD_PTE_COST_LIMIT_NS)
		choose(ret, "1",
		       "hardware sets the access flag, and an old pte costs %" PRIu64 " ns more at its first touch "
		       "(limit %d ns); %s%s",
		       more_ns, AUTO_OLD_PTE_COST_LIMIT_NS, old_ptes_in_trials(facts), old_ptes_in_large_folios(facts));
	else
		choose(ret, "-1",
		       "an old pte costs %" PRIu64 " ns more at its first touch, over the limit of %d ns: left to the "
		       "architecture",
		       more_ns, AUTO_OLD_PTE_COST_LIMIT_NS);
}

void auto_page_cluster(const struct facts *facts, struct auto_choice *ret)
{
	const char *kind = facts_word(facts, FACT_SWAP_KIND);

	if (!kind)
		keep(ret, "what the swap space is could not be found out");
	else if (streq(kind, "none"))
		keep(ret, "there is no swap");
	else if (streq(kind, "zram"))
		choose(ret, "0", "all swap is zram: pages read ahead cost time and memory and save no seek");
	else if (facts_true(facts, FACT_ZSWAP_ENABLED))
		choose(ret, "0", "zswap answers most swap reads from memory, where reading ahead saves no seek");
	else
		keep(ret, "swap is %s: reading ahead can save seeks", kind);
}

void auto_thp_enabled(const struct facts *facts, struct auto_choice *ret)
{
	char size[24];
	uint64_t bytes;

	if (facts_number(facts, FACT_THP_PMD_SIZE, &bytes) < 0)
		keep(ret, "the size of a huge page could not be found out");
	else if (bytes <= AUTO_THP_SIZE_LIMIT_BYTES)
		keep(ret, "left as it is: huge pages of %s serve some programs and not others",
		     format_size_exact(bytes, size));
	else if (facts_is(facts, FACT_THP_ENABLED, "always"))
		choose(ret, "madvise", "a huge page is %s here: too much for one page fault that nobody asked for",
		       format_size_exact(bytes, size));
	else
		keep(ret, "huge pages of %s are not given unasked already", format_size_exact(bytes, size));
}

void auto_thp_persistent_zero_page(const struct facts *facts, struct auto_choice *ret)
{
	const char *enabled = facts_word(facts, FACT_THP_ENABLED);
	uint64_t bytes, total;
	char size[24];

	if (!enabled || facts_number(facts, FACT_THP_PMD_SIZE, &bytes) < 0)
		keep(ret, "this kernel has no transparent huge pages");
	else if (streq(enabled, "never"))
		keep(ret, "transparent huge pages are off");
	else if (facts_true(facts, FACT_ZERO_PAGE_PERSISTENT))
		keep(ret, "this kernel keeps the huge zero page by itself (CONFIG_PERSISTENT_HUGE_ZERO_FOLIO)");
	else if (facts_number(facts, FACT_MEMORY_TOTAL, &total) < 0)
		keep(ret, "the size of memory could not be found out");
	else if (bytes > total / AUTO_ZERO_PAGE_SHARE)
		keep(ret, "a huge page is %s: more than 1/%d of memory", format_size_exact(bytes, size),
		     AUTO_ZERO_PAGE_SHARE);
	else
		choose(ret, "yes", "costs %s once and saves clearing it anew for every group of users",
		       format_size_exact(bytes, size));
}

/* The main switch and page table walks are on: what else the kernel shows depends on the hardware. */
static bool mglru_walks(const struct facts *facts)
{
	return (mglru_bits(facts) & 3) == 3;
}

void auto_mglru_enabled(const struct facts *facts, struct auto_choice *ret)
{
	/* All three bits are asked for; the kernel drops those that the hardware lacks, and the row allows that. */
	if (facts_is(facts, FACT_ACCESS_FLAG, "software"))
		keep(ret, "software sets the access flag: page table walks would cost a fault for every page");
	else if (!facts_is(facts, FACT_ACCESS_FLAG, "hardware"))
		keep(ret, "who sets the access flag is not known");
	else if (mglru_walks(facts))
		keep(ret, "on already, with page table walks: hardware sets the access flag");
	else
		choose(ret, "7", "hardware sets the access flag: page table walks find used pages at little cost");
}

void auto_numa_balancing(const struct facts *facts, struct auto_choice *ret)
{
	uint64_t nodes;

	if (facts_number(facts, FACT_NODES, &nodes) < 0)
		keep(ret, "the number of nodes could not be found out");
	else if (nodes <= 1)
		choose(ret, "0", "one node: there is nothing to balance");
	else
		keep(ret, "left as it is: %" PRIu64 " nodes, and it serves some programs and not others", nodes);
}

void auto_numa_demotion_enabled(const struct facts *facts, struct auto_choice *ret)
{
	bool tiered;

	if (facts_boolean(facts, FACT_NUMA_TIERED, &tiered) < 0)
		keep(ret, "whether there is slower memory could not be found out");
	else if (tiered)
		choose(ret, "yes", "a node without CPUs can take cold pages before they are dropped or swapped");
	else
		keep(ret, "there is no slower memory to demote to");
}
