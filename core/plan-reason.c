/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/number.h"
#include "base/strutil.h"
#include "core/plan-internal.h"

char *plan_why_no_hvo(const struct facts *facts)
{
	const char *arch = facts_word(facts, FACT_ARCHITECTURE);
	uint64_t size;

	if (facts_number(facts, FACT_STRUCT_PAGE, &size) >= 0 && (size & (size - 1)))
		return xasprintf("struct page has %llu bytes here: HVO needs a power of two", (unsigned long long)size);
	if (arch && streq(arch, "arm64"))
		return strdup("arm64 kernels since 6.3 (6.1.16) have no HVO: remapping live memory is not safe there");
	return strdup("this kernel was built without CONFIG_HUGETLB_PAGE_OPTIMIZE_VMEMMAP, or no page size profits");
}

static char *why_no_size(const struct step *step, const struct facts *facts, struct kernel_io *io)
{
	const char *sizes = facts_word(facts, FACT_HUGETLB_SIZES);
	char size[24];

	format_size_exact(step->ref.size_bytes, size);
	if (!kernel_io_exists(io, "/sys/kernel/mm/hugepages"))
		return strdup("this kernel has no huge pages (CONFIG_HUGETLBFS)");
	if (sizes && *sizes)
		return xasprintf("%s: this kernel offers %s", size, sizes);
	return xasprintf("%s: this kernel offers no such size", size);
}

/* NULL: the reason is another. */
static char *why_no_folio_size(const struct step *step, struct kernel_io *io)
{
	_cleanup_(strv_freep) char **names = NULL;
	char size[24];

	/* Kernels before 6.8, or without THP, have no such directories at all. */
	if (kernel_io_list(io, "/sys/kernel/mm/transparent_hugepage", &names) < 0)
		return NULL;
	for (char **name = names; *name; name++)
		if (startswith(*name, "hugepages-"))
			return xasprintf("%s: this kernel has no transparent huge pages of this size, or not for this "
					 "kind of memory",
					 format_size_exact(step->ref.size_bytes, size));
	return NULL;
}

static bool debugfs_is_closed(struct kernel_io *io)
{
	_cleanup_(strv_freep) char **names = NULL;

	return kernel_io_list(io, "/sys/kernel/debug", &names) < 0 || strv_length(names) == 0;
}

char *plan_why_unsupported(const struct step *step, const struct facts *facts, struct kernel_io *io)
{
	const struct tunable *t = step->ref.tunable;
	const char *release = facts_word(facts, FACT_RELEASE);
	_cleanup_free_ char *path = tunable_ref_path(&step->ref), *running = NULL;

	if (!path)
		return NULL;
	if (t->scope == SCOPE_RAW)
		return xasprintf("%s does not exist here", path);
	if (t->effect == EFFECT_POOL && step->ref.node >= 0) {
		_cleanup_free_ char *node = xasprintf("/sys/devices/system/node/node%d", step->ref.node);

		if (node && !kernel_io_exists(io, node))
			return xasprintf("there is no node %d here", step->ref.node);
	}
	if (startswith(t->id, "hugetlb.") && step->ref.size_bytes)
		return why_no_size(step, facts, io);
	if (!release && kernel_io_read_line(io, "/proc/sys/kernel/osrelease", &running) >= 0)
		release = running;
	if (release && t->since && t->since[0] >= '0' && t->since[0] <= '9' &&
	    kernel_release_compare(release, t->since) < 0)
		return xasprintf("this kernel (%s) is older than %s, which brought it", release, t->since);
	if (t->saving == SAVING_HVO)
		return plan_why_no_hvo(facts);
	if (startswith(path, "/sys/kernel/debug/") && debugfs_is_closed(io))
		return strdup("debugfs is not mounted at /sys/kernel/debug, or cannot be read");
	if (startswith(t->id, "mthp.") && step->ref.size_bytes) {
		char *why = why_no_folio_size(step, io);

		if (why)
			return why;
	}
	if (t->needs)
		return xasprintf("this kernel does not have it (needs %s)", t->needs);
	return xasprintf("this kernel does not have it (no %s)", path);
}
