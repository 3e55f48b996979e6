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

#define MODULE "/sys/module/mmopt_faultaround"

/* What -1 stands for: mainline's arch_wants_old_prefaulted_pte(). */
enum wants {
	WANTS_UNKNOWN,
	WANTS_YOUNG,
	WANTS_OLD,
};

static enum wants architecture_wants(struct facts *facts, struct kernel_io *io)
{
	const char *arch;

	if (facts_probe(facts, io, FACTS_KERNEL) < 0)
		return WANTS_UNKNOWN;
	arch = facts_word(facts, FACT_ARCHITECTURE);
	if (!arch)
		return WANTS_UNKNOWN;
	if (!streq(arch, "arm64"))
		return WANTS_YOUNG;
	/* cpu_has_hw_af() */
	if (facts_probe(facts, io, FACTS_ACCESS_FLAG) < 0)
		return WANTS_UNKNOWN;
	if (facts_is(facts, FACT_ACCESS_FLAG, "hardware"))
		return WANTS_OLD;
	return facts_is(facts, FACT_ACCESS_FLAG, "software") ? WANTS_YOUNG : WANTS_UNKNOWN;
}

static enum wants step_wants(const struct step *step, struct facts *facts, struct kernel_io *io)
{
	if (streq(step->wanted, "1"))
		return WANTS_OLD;
	return streq(step->wanted, "0") ? WANTS_YOUNG : architecture_wants(facts, io);
}

/*
 * One touch of a mapping whose pages are resident: Rss is the window, Referenced what of it is young.  The page touched is
 * always, and so are the others of its folio where that is large.
 */
static int check_fault_around(const struct step *step, struct facts *facts, struct kernel_io *io, bool *ret_checked,
			      char **ret_reason)
{
	uint64_t window, referenced, page = (uint64_t)sysconf(_SC_PAGESIZE);
	bool as_architecture = streq(step->wanted, "-1"), young;
	enum wants wants;

	if (!io->live || probe_fault_around(io, &window, &referenced) < 0)
		return 0;
	if (window <= page)
		return saw(strdup("cannot be told: fault-around is off (faultaround.bytes is one page), so there are "
				  "no prefaulted ptes to be seen"),
			   ret_reason, 0);
	wants = step_wants(step, facts, io);
	if (wants == WANTS_UNKNOWN)
		return saw(strdup("cannot be told: whether hardware sets the access flag is not known, and with it "
				  "what the architecture wants"),
			   ret_reason, 0);
	*ret_checked = true;
	young = referenced >= window;
	if (young == (wants == WANTS_YOUNG))
		return saw(xasprintf("one touch of a mapping: Rss %" PRIu64 " kB, Referenced %" PRIu64 " kB",
				     window / 1024, referenced / 1024),
			   ret_reason, 0);
	return saw(xasprintf("one touch of a mapping gave Rss %" PRIu64 " kB, Referenced %" PRIu64
			     " kB: prefaulted ptes are %s, %s%s",
			     window / 1024, referenced / 1024, young ? "young" : "old",
			     as_architecture ? (young ? "where this architecture has them old"
						      : "where this architecture has them young")
					     : "whatever the file says",
			     kernel_io_exists(io, MODULE) ? " (the mmopt_faultaround module does not act)" : ""),
		   ret_reason, -EBADE);
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

static bool is_pool_path(const char *path)
{
	return (strstr(path, "/hugepages-") && endswith(path, "/nr_hugepages")) ||
	       streq(path, "/proc/sys/vm/nr_hugepages");
}

bool effect_pools_grew(struct undo_store *store)
{
	const struct transaction *all;
	bool on = false;
	size_t n;

	all = undo_store_transactions(store, &n);
	for (const struct transaction *t = all; t < all + n; t++)
		for (size_t i = 0; t->state != TRANSACTION_UNDONE && i < t->n_entries; i++) {
			const struct undo_entry *e = &t->entries[i];
			uint64_t before, after;

			if (!e->after)
				continue;
			if (streq(e->path, "/proc/sys/vm/hugetlb_optimize_vmemmap"))
				on = streq(e->after, "1");
			else if (on && is_pool_path(e->path) && parse_u64(e->before, &before) == 0 &&
				 parse_u64(e->after, &after) == 0 && after > before)
				return true;
		}
	return false;
}

/* Why none of the pages may have been optimised, or that this is not known. */
static const char *why_none(const struct facts *facts)
{
	const char *on_memory = facts_word(facts, FACT_MEMMAP_ON_MEMORY);

	if (on_memory && !streq(on_memory, "N"))
		return "memory_hotplug.memmap_on_memory keeps the descriptors in added memory itself";
	return "the kernel had no memory for it, or does not act on the switch";
}

int effect_check_hvo(const struct step *step, bool grown, struct facts *facts, struct kernel_io *io, bool *ret_checked,
		     char **ret_reason)
{
	struct hvo_pools pools;
	int64_t measured;
	char a[24], b[24];

	*ret_checked = false;
	*ret_reason = NULL;
	if (!step->wanted || !streq(step->wanted, "1") || savings_hvo_pools(facts, io, &pools) < 0)
		return 0;
	if (pools.full_bytes == 0 || savings_hvo_measured(facts, io, &measured) < 0)
		return 0;
	*ret_checked = true;
	format_bytes(measured, a);
	format_bytes(pools.full_bytes, b);
	if (pools.counted && pools.optimized == 0 && grown)
		return saw(xasprintf("pools have grown with it on, and none of their %" PRIu64
				     " huge pages is optimised (vmemmap_optimized_hugepages is 0): %s",
				     pools.pages, why_none(facts)),
			   ret_reason, -EBADE);
	if (measured >= pools.full_bytes)
		return saw(xasprintf("all %" PRIu64 " huge pages are optimised: %s measured", pools.pages, a),
			   ret_reason, 0);
	if (pools.counted)
		return saw(xasprintf("%" PRIu64 " of %" PRIu64
				     " huge pages are optimised, %s of %s saved: it holds for "
				     "pages that a pool gains from now on",
				     pools.optimized, pools.pages, a, b),
			   ret_reason, 0);
	return saw(xasprintf("%s of %s saved: it holds for pages that a pool gains from now on", a, b), ret_reason, 0);
}

/*
 * A module that the kernel loads by itself once somebody asks for that algorithm: modprobe goes by this file too.  1, 0,
 * -EACCES where it cannot be seen from here (ProtectKernelModules= of both units), -ENOMEM.
 */
static int is_loadable(struct kernel_io *io, const char *name)
{
	_cleanup_free_ char *release = NULL, *path = NULL, *aliases = NULL, *line = NULL;
	int r;

	if (kernel_io_read_line(io, "/proc/sys/kernel/osrelease", &release) < 0)
		return 0;
	path = xasprintf("/lib/modules/%s/modules.alias", release);
	line = xasprintf("\nalias crypto-%s ", name);
	r = path && line ? kernel_io_read(io, path, &aliases, NULL) : -ENOMEM;
	if (r == -EPERM)
		return -EACCES;
	if (r < 0)
		return r == -EACCES || r == -ENOMEM ? r : 0;
	return strstr(aliases, line) != NULL;
}

/* The kernel takes any name while zswap is off, and then uses another compressor without a word. */
static int check_compressor(const struct step *step, struct kernel_io *io, bool *ret_checked, char **ret_reason)
{
	_cleanup_free_ char *crypto = NULL, *line = NULL;
	int loadable;

	if (kernel_io_read(io, "/proc/crypto", &crypto, NULL) < 0)
		return 0;
	*ret_checked = true;
	line = xasprintf("\nname         : %s\n", step->wanted);
	if (!line)
		return -ENOMEM;
	if (strstr(crypto, line) || startswith(crypto, line + 1))
		return 0;
	loadable = is_loadable(io, step->wanted);
	if (loadable == -ENOMEM)
		return loadable;
	*ret_checked = loadable == 0;
	if (loadable == -EACCES)
		return saw(
			strdup("not loaded yet, and whether there is a module for it cannot be seen from here: mmoptctl "
			       "verify --direct tells"),
			ret_reason, 0);
	if (loadable > 0)
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
		return check_fault_around(step, facts, io, ret_checked, ret_reason);
	case EFFECT_HVO:
		return effect_check_hvo(step, false, facts, io, ret_checked, ret_reason);
	case EFFECT_THP:
		return check_thp(step, io, ret_checked, ret_reason);
	case EFFECT_ZSWAP_COMPRESSOR:
		return check_compressor(step, io, ret_checked, ret_reason);
	}
	return 0;
}
