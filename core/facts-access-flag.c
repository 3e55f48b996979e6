/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/number.h"
#include "base/strutil.h"
#include "core/facts-internal.h"
#include "core/probe.h"

#define LRU_GEN "/sys/kernel/mm/lru_gen/enabled"

/*
 * Bit 1 is shown only where arch_has_hw_pte_young() says yes.  Where it is clear the feature may be off, masked by
 * the administrator or not built in: that proves nothing.
 */
static bool kernel_says_hardware(struct prober *p)
{
	uint64_t bits;

	return kernel_io_read_u64(p->io, LRU_GEN, &bits) == 0 && (bits & 2);
}

static void put_probed(struct prober *p, bool hardware_read)
{
	struct access_flag_probe probe;
	_cleanup_free_ char *source = NULL;
	const char *word = NULL;
	int r;

	r = probe_access_flag(p->io, &probe);
	if (r < 0) {
		if (!hardware_read)
			put_unreadable(p, FACT_ACCESS_FLAG, "probe by MADV_COLD", r);
		return;
	}
	switch (probe.set_by) {
	case ACCESS_FLAG_UNKNOWN:
		word = "unknown";
		break;
	case ACCESS_FLAG_HARDWARE:
		word = "hardware";
		break;
	case ACCESS_FLAG_SOFTWARE:
		word = "software";
		break;
	}
	source = prober_format(p, "probe by MADV_COLD: %u of %u aged pages faulted, %u of young ones, %u rounds%s%s",
			       probe.faults_old, probe.pages, probe.faults_control, probe.rounds_usable,
			       probe.reason ? "; " : "", probe.reason ?: "");
	if (!hardware_read)
		put_word(p, FACT_ACCESS_FLAG, word, CONFIDENCE_PROBED, source);
	put_word(p, "access_flag.probed", word, CONFIDENCE_PROBED, source);
	p->facts->dirty_cache = true;
}

static void put_cost(struct prober *p)
{
	static const char source[] = "probe: reading pages after MADV_COLD and after mprotect(), least of 5 rounds";
	uint64_t old_ns, young_ns;
	int r;

	r = probe_access_cost(p->io, &old_ns, &young_ns);
	if (r < 0) {
		put_unreadable(p, FACT_OLD_PTE_COST, "probe by MADV_COLD", r);
		put_unreadable(p, FACT_YOUNG_PTE_COST, "probe by MADV_COLD", r);
		return;
	}
	put_number(p, FACT_OLD_PTE_COST, old_ns, CONFIDENCE_PROBED, source);
	put_number(p, FACT_YOUNG_PTE_COST, young_ns, CONFIDENCE_PROBED, source);
	p->facts->dirty_cache = true;
}

void facts_probe_access_flag(struct prober *p)
{
	static const char not_live[] = "a captured system cannot be probed, and its cache of probes does not have it";
	static const char *const costs[] = { FACT_OLD_PTE_COST, FACT_YOUNG_PTE_COST };
	bool hardware_read = false, known = put_cached(p, FACT_ACCESS_FLAG);

	if (!known) {
		hardware_read = kernel_says_hardware(p);
		if (hardware_read)
			put_word(p, FACT_ACCESS_FLAG, "hardware", CONFIDENCE_READ, LRU_GEN " bit 1");
	}
	if (!put_cached(p, "access_flag.probed") && !known && p->io->live)
		put_probed(p, hardware_read);
	if (!facts_get(p->facts, FACT_ACCESS_FLAG))
		put_unknown(p, FACT_ACCESS_FLAG, not_live);
	put_cached(p, FACT_OLD_PTE_COST);
	put_cached(p, FACT_YOUNG_PTE_COST);
	if (facts_get(p->facts, FACT_OLD_PTE_COST) && facts_get(p->facts, FACT_YOUNG_PTE_COST))
		return;
	if (p->io->live) {
		put_cost(p);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(costs); i++)
		if (!facts_get(p->facts, costs[i]))
			put_unknown(p, costs[i], not_live);
}
