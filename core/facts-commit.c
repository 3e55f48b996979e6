/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How exact commit accounting is.  The kernel counts committed pages per CPU, in batches; the check of vm.overcommit_memory 2
 * against CommitLimit looks at the common count alone and so does not see what lies in the batches: up to batch - 1 pages on
 * each CPU, in both directions (lib/percpu_counter.c, mm/util.c __vm_enough_memory()).  A kernel with
 * vm_committed_as_below() adds all of them up near the limit, which is never passed then; that lets it have larger
 * batches.  The function is found among the kernel's types, or by its name in /proc/kallsyms.
 */
#include <fcntl.h>
#include <limits.h>

#include "base/fileio.h"
#include "base/strutil.h"
#include "core/facts-internal.h"

#define KALLSYMS_PATH "/proc/kallsyms"
#define EXACT_SYMBOL " vm_committed_as_below\n"
#define WINDOW_BYTES 65536

uint64_t commit_batch(uint64_t ram_pages, uint64_t cpus, unsigned divisor)
{
	uint64_t least = MAX(cpus * 2, 32U), batch = ram_pages / MAX(cpus, 1U) / divisor;

	return MAX(MIN(batch, (uint64_t)INT_MAX), least);
}

/* Ten megabytes that the kernel makes line by line: read through a window.  1, 0 or a negative errno. */
int has_symbol_line(int fd, const char *line)
{
	size_t length = strlen(line), kept = 0;
	_cleanup_free_ char *window = malloc(WINDOW_BYTES);

	if (!window)
		return -ENOMEM;
	for (;;) {
		ssize_t n = read(fd, window + kept, WINDOW_BYTES - kept);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		if (memmem(window, kept + (size_t)n, line, length))
			return 1;
		/* What may be the first part of it. */
		n += (ssize_t)kept;
		kept = MIN((size_t)n, length - 1);
		memmove(window, window + n - kept, kept);
	}
}

/* Where the kernel has no types to look into. */
static void put_exact_by_symbol(struct prober *p)
{
	_cleanup_close_ int fd = -EBADF;
	int root_fd = kernel_io_root_fd(p->io), r;

	if (root_fd < 0 || !p->io->live)
		return;
	fd = open_in_root(root_fd, KALLSYMS_PATH, O_RDONLY, 0);
	r = fd < 0 ? fd : has_symbol_line(fd, EXACT_SYMBOL);
	if (r < 0) {
		put_unreadable(p, FACT_COMMIT_EXACT, KALLSYMS_PATH, r);
		return;
	}
	put_boolean(p, FACT_COMMIT_EXACT, r > 0, CONFIDENCE_READ,
		    r > 0 ? KALLSYMS_PATH " vm_committed_as_below" : KALLSYMS_PATH ": no vm_committed_as_below");
	p->facts->dirty_cache = true;
}

/* What the batch and the error follow from. */
struct accounting {
	uint64_t ram_pages, present, online, page_bytes, policy;
	bool before_5_9; /* 56f3547bfa4d made the batch larger unless overcommit_memory is 2: before it was small always */
	bool exact;
};

static unsigned batch_divisor(const struct accounting *a, uint64_t policy)
{
	if (policy != 2 && !a->before_5_9)
		return 4;
	return a->exact ? 64 : 256;
}

static uint64_t batch_pages(const struct accounting *a, uint64_t policy)
{
	return commit_batch(a->ram_pages, a->present, batch_divisor(a, policy));
}

static bool read_accounting(struct prober *p, struct accounting *ret)
{
	struct accounting a = { .page_bytes = prober_page_size(p) };
	uint64_t total_bytes;

	put_file_number(p, "commit.policy", "/proc/sys/vm/overcommit_memory");
	if (facts_number(p->facts, "commit.policy", &a.policy) < 0 ||
	    facts_number(p->facts, FACT_MEMORY_TOTAL, &total_bytes) < 0 ||
	    facts_number(p->facts, FACT_CPUS_PRESENT, &a.present) < 0 || a.page_bytes == 0)
		return false;
	if (facts_number(p->facts, "kernel.cpus_online", &a.online) < 0)
		a.online = a.present;
	a.ram_pages = total_bytes / a.page_bytes;
	a.before_5_9 = kernel_release_compare(facts_word(p->facts, FACT_RELEASE) ?: "6", "5.9") < 0;
	a.exact = facts_true(p->facts, FACT_COMMIT_EXACT);
	*ret = a;
	return true;
}

static void put_bound(struct prober *p, const char *name, const struct accounting *a)
{
	bool exact, known = facts_boolean(p->facts, FACT_COMMIT_EXACT, &exact) == 0;

	if (a->exact)
		put_number(p, name, 0, CONFIDENCE_COMPUTED,
			   "near the limit the counts of all CPUs are added up (vm_committed_as_below())");
	else
		put_number(p, name, a->online * (batch_pages(a, 2) - 1) * a->page_bytes,
			   known ? CONFIDENCE_COMPUTED : CONFIDENCE_INFERRED,
			   "CPUs online x (batch with vm.overcommit_memory 2 - 1) x page size");
}

static void put_batch_and_bounds(struct prober *p)
{
	static const char *const names[] = { FACT_COMMIT_BATCH, FACT_COMMIT_ERROR_BOUND, FACT_COMMIT_BOUND_NEVER };
	_cleanup_free_ char *formula = NULL;
	struct accounting a;

	if (!read_accounting(p, &a)) {
		for (size_t i = 0; i < ARRAY_SIZE(names); i++)
			put_unknown(p, names[i],
				    "needs vm.overcommit_memory, MemTotal, CPUs present and the page size");
		return;
	}
	formula = prober_format(p, "mm_compute_batch(): MemTotal pages / CPUs present / %u, at least max(2 x CPUs, 32)",
				batch_divisor(&a, a.policy));
	put_number(p, FACT_COMMIT_BATCH, batch_pages(&a, a.policy), CONFIDENCE_COMPUTED, formula);
	if (a.policy == 2)
		put_bound(p, FACT_COMMIT_ERROR_BOUND, &a);
	else
		put_unknown(p, FACT_COMMIT_ERROR_BOUND, "no limit is checked unless vm.overcommit_memory is 2");
	put_bound(p, FACT_COMMIT_BOUND_NEVER, &a);
}

void facts_probe_commit(struct prober *p)
{
	bool exact;

	if (facts_boolean(p->facts, FACT_COMMIT_EXACT, &exact) < 0)
		put_exact_by_symbol(p);
	put_batch_and_bounds(p);
}
