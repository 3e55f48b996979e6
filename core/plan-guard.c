/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>

#include "base/number.h"
#include "base/strutil.h"
#include "core/plan-internal.h"

/* Defaults of [Policy] MemoryFloor: the larger of the two. */
#define FLOOR_PERMYRIAD 1000
#define FLOOR_BYTES (512ULL << 20)
/* vm.min_free_kbytes above this share of memory starves the machine (kernel: "too high: OOM instantly"). */
#define MIN_FREE_MAX_PERMYRIAD 1000
/* With overcommit off, this share of CommitLimit may be in use when it is switched: the rest is for the next fork. */
#define COMMIT_IN_USE_MAX_PERMYRIAD 8000

#define HVO_ID "vm.hugetlb_optimize_vmemmap"
#define HVO_BOOT_ID "boot.hugetlb_free_vmemmap"
#define HVO_REMEDY "keep HVO off here, or boot a kernel without the defect (6.12.114 to 6.12.117 have it)"

bool step_is_pool(const struct step *step)
{
	return step->ref.tunable->effect == EFFECT_POOL && step->ref.tunable->unit == UNIT_HUGE_PAGES;
}

static bool step_numbers(const struct step *step, int64_t *ret_current, int64_t *ret_wanted)
{
	return step->current && step->wanted && parse_i64(step->current, ret_current) >= 0 &&
	       parse_i64(step->wanted, ret_wanted) >= 0;
}

uint64_t step_pool_growth(const struct step *step)
{
	int64_t current, wanted;

	if (!step_is_pool(step) || step->action != STEP_SET || !step_numbers(step, &current, &wanted))
		return 0;
	return wanted > current ? (uint64_t)(wanted - current) : 0;
}

static bool step_shrinks_pool(const struct step *step)
{
	int64_t current, wanted;

	return step_is_pool(step) && step->action == STEP_SET && step_numbers(step, &current, &wanted) &&
	       wanted < current;
}

int64_t plan_future_number(const struct plan *plan, struct kernel_io *io, const char *id)
{
	_cleanup_(tunable_ref_clear) struct tunable_ref ref = { .node = -1 };
	const struct step *step = plan_find(plan, id);
	_cleanup_free_ char *path = NULL, *text = NULL;
	const char *value = NULL;
	int64_t n = 0;

	if (step && step->action == STEP_SET)
		value = step->wanted;
	else if (step)
		value = step->current;
	if (!value && catalogue_find_id(id, &ref) >= 0 && ref.tunable->path) {
		path = tunable_ref_path(&ref);
		if (path && tunable_read(io, ref.tunable, path, &text) >= 0)
			value = text;
	}
	return value && parse_i64(value, &n) >= 0 ? n : 0;
}

static uint64_t huge_page_bytes(const struct step *step, const struct facts *facts)
{
	uint64_t n = step->ref.size_bytes;

	if (!n)
		facts_number(facts, FACT_HUGETLB_DEFAULT_SIZE, &n);
	return n;
}

/* Base pages of struct page that HVO gives back for one huge page: all but one (mm/hugetlb_vmemmap.h). */
static uint64_t hvo_pages_saved(uint64_t huge_bytes, const struct facts *facts)
{
	uint64_t page = 0, struct_page = 0, vmemmap;

	if (facts_number(facts, FACT_PAGE_SIZE, &page) < 0 || facts_number(facts, FACT_STRUCT_PAGE, &struct_page) < 0 ||
	    page == 0)
		return 0;
	vmemmap = huge_bytes / page * struct_page / page;
	return vmemmap > 1 ? vmemmap - 1 : 0;
}

/* Found in the kernel's types; or, where those cannot be read, a release of the broken series. */
static bool hvo_is_broken(const struct facts *facts, bool *ret_certain)
{
	*ret_certain = facts_is(facts, FACT_HVO_DEFECT, "restore");
	return *ret_certain || facts_true(facts, FACT_HVO_DEFECT_SUSPECTED);
}

bool pool_shrink_corrupts(const struct facts *facts, struct kernel_io *io)
{
	_cleanup_free_ char *vmstat = NULL;
	uint64_t all, later, boot, used;
	bool certain;

	if (!hvo_is_broken(facts, &certain))
		return false;
	if (facts_true(facts, FACT_HVO_ENABLED) || facts_number(facts, FACT_SECTION_MEMMAP_PAGES, &all) < 0 ||
	    kernel_io_read(io, "/proc/vmstat", &vmstat, NULL) < 0 || keyed_u64(vmstat, "nr_memmap_pages", &later) < 0 ||
	    keyed_u64(vmstat, "nr_memmap_boot_pages", &boot) < 0)
		return true;
	return __builtin_add_overflow(later, boot, &used) || used != all;
}

static int guard_hvo_switch(struct step *step, bool certain)
{
	bool on = step && step->current && streq(step->current, "1");

	if (!step || step->action == STEP_REFUSE || (step->wanted && streq(step->wanted, "0")))
		return 0;
	step->differs = false;
	return step_settle(step, STEP_REFUSE, OUTCOME_UNSAFE,
			   xasprintf("freeing an optimised huge page %s memory on this kernel%s; " HVO_REMEDY,
				     certain ? "corrupts" : "may corrupt",
				     on ? ": it is on already, so no pool is shrunk" : ""));
}

/*
 * 6.12.114 to at least 6.12.117 restore the wrong struct pages when an optimised huge page is freed: each such page is lost
 * and the allocator's data are corrupted.  So nothing there may make optimised pages, nor free them.
 */
static int guard_hvo_defect(struct plan *plan, const struct facts *facts, struct kernel_io *io)
{
	struct step *hvo = plan_find(plan, HVO_ID);
	bool on, switched_off, frozen, certain;
	int r;

	if (!hvo_is_broken(facts, &certain))
		return 0;
	/* Switching it off is the one thing that helps, though what is optimised already stays so. */
	switched_off = hvo && hvo->action == STEP_SET && streq(hvo->wanted, "0");
	on = facts_true(facts, FACT_HVO_ENABLED);
	frozen = pool_shrink_corrupts(facts, io);
	r = switched_off ? 0 : guard_hvo_switch(hvo, certain);
	if (r >= 0)
		r = guard_hvo_switch(plan_find(plan, HVO_BOOT_ID), certain);
	if (r < 0)
		return r;
	for (size_t i = 0; frozen && i < plan->n_steps; i++) {
		struct step *step = &plan->steps[i];
		const char *what;

		if (step_shrinks_pool(step))
			what = certain ? "shrinking a pool of optimised huge pages corrupts memory on this kernel"
				       : "shrinking a pool of optimised huge pages may corrupt memory on this kernel";
		else if (step_pool_growth(step) && on && !switched_off)
			what = "pages that this pool gains could never be given back on this kernel while HVO is on";
		else
			continue;
		r = step_settle(step, STEP_REFUSE, OUTCOME_UNSAFE, xasprintf("%s; " HVO_REMEDY, what));
		if (r < 0)
			return r;
	}
	return 0;
}

/* What the plan takes out of general memory. */
struct demand {
	uint64_t pool_bytes;
	uint64_t hvo_bytes; /* needed while pages are optimised; given back afterwards */
	uint64_t min_free_bytes;
};

static struct step *raised_min_free(const struct plan *plan, uint64_t *ret_bytes)
{
	struct step *step = plan_find(plan, "vm.min_free_kbytes");
	int64_t current, wanted;

	if (!step || step->action != STEP_SET || !step_numbers(step, &current, &wanted) || wanted <= current)
		return NULL;
	*ret_bytes = times_of((uint64_t)(wanted - current), 1024);
	return step;
}

static struct demand reckon_demand(struct plan *plan, const struct facts *facts, struct kernel_io *io)
{
	bool hvo = plan_future_number(plan, io, HVO_ID) == 1;
	struct demand d = {};
	uint64_t page = 4096;

	facts_number(facts, FACT_PAGE_SIZE, &page);
	for (size_t i = 0; i < plan->n_steps; i++) {
		uint64_t growth = step_pool_growth(&plan->steps[i]);

		d.pool_bytes = sum_of(d.pool_bytes, times_of(growth, huge_page_bytes(&plan->steps[i], facts)));
		/* A head page each, and a page table for each split 2 MiB of vmemmap. */
		if (hvo && growth)
			d.hvo_bytes = sum_of(d.hvo_bytes, times_of(growth + growth / 64 + 1, page));
	}
	raised_min_free(plan, &d.min_free_bytes);
	return d;
}

static uint64_t memory_floor(const struct policy *policy, uint64_t online)
{
	uint64_t share = share_of(online, FLOOR_PERMYRIAD);

	if (!policy->memory_floor_set)
		return MAX(share, FLOOR_BYTES);
	share = share_of(online, policy->memory_floor_permyriad);
	return MAX(share, policy->memory_floor_bytes);
}

static int refuse_growth(struct plan *plan, const char *why)
{
	uint64_t unused;
	struct step *min_free = raised_min_free(plan, &unused);

	for (size_t i = 0; i < plan->n_steps; i++) {
		struct step *step = &plan->steps[i];
		int r;

		if (!step_pool_growth(step) && step != min_free)
			continue;
		r = step_settle(step, STEP_REFUSE, OUTCOME_UNSAFE, strdup(why));
		if (r < 0)
			return r;
	}
	return 0;
}

static int guard_memory(struct plan *plan, const struct policy *policy, const struct facts *facts, struct kernel_io *io)
{
	struct demand d = reckon_demand(plan, facts, io);
	uint64_t asked = sum_of(d.pool_bytes, d.min_free_bytes), online, available, watermark = 0, must_stay;
	char a[24], b[24], c[24], left[24], floor_text[24], most[24];
	_cleanup_free_ char *why = NULL;

	if (facts_number(facts, FACT_MEMORY_ONLINE, &online) < 0)
		return 0;
	plan->memory_floor_bytes = memory_floor(policy, online);
	if (asked == 0 || facts_number(facts, FACT_MEMORY_AVAILABLE, &available) < 0)
		return 0;
	facts_number(facts, FACT_LOW_WATERMARK, &watermark);
	must_stay = MAX(plan->memory_floor_bytes, sum_of(watermark, d.hvo_bytes));
	if (asked <= available && available - asked >= must_stay)
		return 0;

	format_bytes(signed_of(asked), a);
	format_bytes((int64_t)available, b);
	format_bytes((int64_t)online, c);
	format_bytes((int64_t)available - signed_of(asked), left);
	format_bytes(signed_of(must_stay), floor_text);
	format_bytes(available > must_stay ? (int64_t)(available - must_stay) : 0, most);
	why = xasprintf("%s more asked in all, %s of %s available: would leave %s, at least %s must stay ([Policy] "
			"MemoryFloor, or --force); at most %s more would fit",
			a, b, c, left, floor_text, most);
	return why ? refuse_growth(plan, why) : -ENOMEM;
}

static int guard_min_free(struct plan *plan, const struct facts *facts)
{
	uint64_t online, raised, limit;
	struct step *step = raised_min_free(plan, &raised);
	int64_t wanted;
	char a[24], b[24];

	if (!step || facts_number(facts, FACT_MEMORY_ONLINE, &online) < 0 || parse_i64(step->wanted, &wanted) < 0)
		return 0;
	limit = share_of(online, MIN_FREE_MAX_PERMYRIAD);
	if (times_of((uint64_t)wanted, 1024) <= limit)
		return 0;
	return step_settle(
		step, STEP_REFUSE, OUTCOME_UNSAFE,
		xasprintf("%s would be kept from every use; more than %s (10%% of memory) risks OOM kills at once "
			  "(--force overrides)",
			  format_bytes(signed_of(times_of((uint64_t)wanted, 1024)), a),
			  format_bytes((int64_t)limit, b)));
}

/* vm_commit_limit() in mm/util.c, with what the plan will have made of its inputs. */
static int future_commit_limit(const struct plan *plan, const struct facts *facts, struct kernel_io *io,
			       uint64_t *ret_limit)
{
	_cleanup_free_ char *meminfo = NULL;
	uint64_t total, swap_kib, huge = 0, base;
	int64_t kbytes = plan_future_number(plan, io, "vm.overcommit_kbytes");
	int64_t ratio = plan_future_number(plan, io, "vm.overcommit_ratio");
	const struct step *ratio_step = plan_find(plan, "vm.overcommit_ratio");
	int r = kernel_io_read(io, "/proc/meminfo", &meminfo, NULL);

	if (r < 0)
		return r;
	r = keyed_u64(meminfo, "SwapTotal", &swap_kib);
	if (r >= 0)
		r = facts_number(facts, FACT_MEMORY_TOTAL, &total);
	if (r < 0)
		return r;
	facts_number(facts, FACT_HUGETLB_BYTES, &huge);
	for (size_t i = 0; i < plan->n_steps; i++)
		huge = sum_of(huge,
			      times_of(step_pool_growth(&plan->steps[i]), huge_page_bytes(&plan->steps[i], facts)));
	/* The one that is written zeroes the other. */
	if (kbytes && !(ratio_step && ratio_step->action == STEP_SET))
		base = (uint64_t)kbytes * 1024;
	else
		base = (huge < total ? total - huge : 0) / 100 * (uint64_t)ratio;
	*ret_limit = base + swap_kib * 1024;
	return 0;
}

static int guard_commit(struct plan *plan, const struct facts *facts, struct kernel_io *io)
{
	const struct step *mode = plan_find(plan, "vm.overcommit_memory");
	const struct step *kbytes = plan_find(plan, "vm.overcommit_kbytes");
	bool is_on = !mode || mode->action != STEP_SET;
	uint64_t limit, committed, error = 0;
	_cleanup_free_ char *within = NULL;
	char a[24], b[24], c[24];

	if (plan_future_number(plan, io, "vm.overcommit_memory") != 2)
		return 0;
	if (future_commit_limit(plan, facts, io, &limit) < 0 || facts_number(facts, FACT_COMMITTED, &committed) < 0)
		return 0;
	/* The kernel may refuse memory with so much left below the limit. */
	facts_number(facts, FACT_COMMIT_BOUND_NEVER, &error);
	if (committed <= share_of(limit > error ? limit - error : 0, COMMIT_IN_USE_MAX_PERMYRIAD))
		return 0;
	format_bytes((int64_t)committed, a);
	format_bytes((int64_t)limit, b);
	within = error ? xasprintf(" (which this kernel checks to within %s)", format_bytes((int64_t)error, c))
		       : strdup("");
	if (!within)
		return -ENOMEM;
	for (size_t i = 0; i < plan->n_steps; i++) {
		struct step *step = &plan->steps[i];
		int r;

		/* Pools come off the limit: nothing to them as long as it is not in force. */
		if (step->action != STEP_SET ||
		    !(startswith(step->id, "vm.overcommit_") || (is_on && step_pool_growth(step))))
			continue;
		r = step_settle(
			step, STEP_REFUSE, OUTCOME_UNSAFE,
			xasprintf(
				"with overcommit off (2), %s of a CommitLimit of %s%s would be in use at once: above 80%% "
				"programs soon cannot fork (raise %s, or --force)",
				a, b, within,
				kbytes && !streq(kbytes->wanted ?: "0", "0") ? "vm.overcommit_kbytes"
									     : "vm.overcommit_ratio"));
		if (r < 0)
			return r;
	}
	return 0;
}

/* What each step takes and gives, for people to see before they say yes. */
static void account(struct plan *plan, const struct facts *facts, struct kernel_io *io)
{
	struct step *hvo = plan_find(plan, HVO_ID), *min_free;
	bool hvo_on = plan_future_number(plan, io, HVO_ID) == 1;
	uint64_t page = 4096, raised = 0;

	facts_number(facts, FACT_PAGE_SIZE, &page);
	for (size_t i = 0; i < plan->n_steps; i++) {
		struct step *step = &plan->steps[i];
		uint64_t growth = step_pool_growth(step), bytes = huge_page_bytes(step, facts);
		uint64_t saving = times_of(times_of(growth, hvo_pages_saved(bytes, facts)), page);

		if (!growth)
			continue;
		step->cost_bytes = signed_of(times_of(growth, bytes));
		if (!hvo_on)
			continue;
		if (hvo)
			hvo->saving_bytes = signed_of(sum_of((uint64_t)hvo->saving_bytes, saving));
		else
			step->saving_bytes = signed_of(saving);
	}
	min_free = raised_min_free(plan, &raised);
	if (min_free)
		min_free->cost_bytes = signed_of(raised);
}

int plan_guard(struct plan *plan, const struct policy *policy, const struct plan_options *options, struct facts *facts,
	       struct kernel_io *io, struct diag_list *diags)
{
	int r = guard_hvo_defect(plan, facts, io);

	if (r >= 0 && !options->force)
		r = guard_min_free(plan, facts);
	if (r >= 0 && !options->force)
		r = guard_memory(plan, policy, facts, io);
	if (r >= 0 && !options->force)
		r = guard_commit(plan, facts, io);
	if (r >= 0)
		account(plan, facts, io);
	return r;
}
