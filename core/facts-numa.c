/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/strutil.h"
#include "core/facts-internal.h"

#define NODES "/sys/devices/system/node"
#define BALANCING "/proc/sys/kernel/numa_balancing"

/* A node with memory and without CPUs: slower memory behind a bus, as a rule. */
static bool is_tiered(const char *memory, const char *cpu)
{
	uint32_t first, last;

	while (list_next(&memory, &first, &last) > 0)
		for (uint32_t node = first; node <= last && node - first < 4096; node++)
			if (!list_contains(cpu, node))
				return true;
	return false;
}

void facts_probe_numa(struct prober *p)
{
	_cleanup_free_ char *memory = NULL, *cpu = NULL;
	uint64_t nodes;
	int r;

	memory = prober_read_line(p, NODES "/has_memory", &r);
	cpu = prober_read_line(p, NODES "/has_cpu", NULL);
	if (memory && list_count(memory, &nodes) == 0 && nodes > 0) {
		put_number(p, FACT_NODES, nodes, CONFIDENCE_READ, NODES "/has_memory");
		put_word(p, "numa.nodes_with_memory", memory, CONFIDENCE_READ, NODES "/has_memory");
		if (cpu)
			put_boolean(p, FACT_NUMA_TIERED, is_tiered(memory, cpu), CONFIDENCE_COMPUTED,
				    NODES "/has_memory against has_cpu");
		else
			put_unreadable(p, FACT_NUMA_TIERED, NODES "/has_cpu", -ENOENT);
	} else if (r == -ENOENT) {
		put_number(p, FACT_NODES, 1, CONFIDENCE_INFERRED, NODES " is not there: a kernel without NUMA");
		put_boolean(p, FACT_NUMA_TIERED, false, CONFIDENCE_INFERRED,
			    NODES " is not there: a kernel without NUMA");
	} else {
		put_unreadable(p, FACT_NODES, NODES "/has_memory", r ?: -EINVAL);
		put_unreadable(p, FACT_NUMA_TIERED, NODES "/has_memory", r ?: -EINVAL);
	}
	if (kernel_io_exists(p->io, BALANCING))
		put_file_number(p, "numa.balancing", BALANCING);
	else
		put_unknown(p, "numa.balancing", BALANCING " is not there: not in this kernel");
	if (kernel_io_exists(p->io, "/sys/kernel/mm/numa/demotion_enabled"))
		put_file_boolean(p, "numa.demotion_enabled", "/sys/kernel/mm/numa/demotion_enabled");
}
