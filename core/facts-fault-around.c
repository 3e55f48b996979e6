/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/facts-internal.h"
#include "core/probe.h"

#define KNOB "/proc/sys/vm/want_old_faultaround_pte"

const char *fault_around_word(uint64_t window_bytes, uint64_t referenced_bytes, uint64_t page_bytes)
{
	if (window_bytes <= page_bytes)
		return "off";
	if (referenced_bytes == page_bytes)
		return "old";
	return referenced_bytes == window_bytes ? "young" : "mixed";
}

void facts_probe_fault_around(struct prober *p)
{
	static const char source[] =
		"probe: one touch of a resident shared mapping, Rss and Referenced in /proc/self/smaps";
	uint64_t window, referenced;
	int r;

	if (kernel_io_exists(p->io, KNOB))
		put_file_word(p, "fault_around.want_old", KNOB);
	else
		put_unknown(p, "fault_around.want_old", KNOB " is not there: not in this kernel");
	if (put_cached(p, FACT_FAULT_AROUND_WINDOW) && put_cached(p, FACT_FAULT_AROUND_PTES))
		return;
	if (!p->io->live) {
		static const char reason[] =
			"a captured system cannot be probed, and its cache of probes does not have it";

		put_unknown(p, FACT_FAULT_AROUND_WINDOW, reason);
		put_unknown(p, FACT_FAULT_AROUND_PTES, reason);
		return;
	}
	r = probe_fault_around(p->io, &window, &referenced);
	if (r < 0) {
		put_unreadable(p, FACT_FAULT_AROUND_WINDOW, "probe by /proc/self/smaps", r);
		put_unreadable(p, FACT_FAULT_AROUND_PTES, "probe by /proc/self/smaps", r);
		return;
	}
	put_number(p, FACT_FAULT_AROUND_WINDOW, window, CONFIDENCE_PROBED, source);
	put_word(p, FACT_FAULT_AROUND_PTES, fault_around_word(window, referenced, prober_page_size(p)),
		 CONFIDENCE_PROBED, source);
}
