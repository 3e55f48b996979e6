/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Effects beyond the file, on a kernel that takes every value and does as it likes. */
#include "engine.h"
#include "machine.h"

#define KNOB VM "want_old_faultaround_pte"
#define ID "vm.want_old_faultaround_pte"
#define OPTIMIZED HUGE_2M "vmemmap_optimized_hugepages"
#define HVO_ID "vm.hugetlb_optimize_vmemmap"

static void set_architecture(struct facts *facts, const char *arch, const char *access_flag)
{
	facts_set_word(facts, FACTS_KERNEL, FACT_ARCHITECTURE, arch, CONFIDENCE_READ, "test");
	facts_set_number(facts, FACTS_KERNEL, FACT_PAGE_SIZE, 4096, CONFIDENCE_READ, "test");
	facts_set_word(facts, FACTS_ACCESS_FLAG, FACT_ACCESS_FLAG, access_flag, CONFIDENCE_PROBED, "test");
	facts->groups |= FACTS_KERNEL | FACTS_ACCESS_FLAG;
}

static void x86(struct facts *facts)
{
	set_architecture(facts, "x86_64", "hardware");
}

static void arm64_hardware(struct facts *facts)
{
	set_architecture(facts, "arm64", "hardware");
}

static void arm64_software(struct facts *facts)
{
	set_architecture(facts, "arm64", "software");
}

static void arm64_unknown(struct facts *facts)
{
	set_architecture(facts, "arm64", "unknown");
}

/* A machine with the knob; one touch maps so much, of which so much is young. */
static struct engine machine_with_knob(const char *value, unsigned window_kib, unsigned referenced_kib)
{
	struct engine e = engine_make(machine_new());

	fake_kernel_set(e.kernel, KNOB, value);
	fake_kernel_go_live(e.kernel, window_kib, referenced_kib);
	return e;
}

static void old_ptes(void **state)
{
	static const struct {
		void (*machine)(struct facts *facts);
		const char *before, *wanted;
		unsigned window_kib, referenced_kib;
		enum outcome outcome;
		bool checked;
		const char *reason;
	} table[] = {
		{ x86, "-1", "1", 64, 4, OUTCOME_APPLIED, true, "Referenced 4 kB" },
		{ x86, "-1", "1", 64, 64, OUTCOME_REFUSED, true, "are young, whatever the file says" },
		{ x86, "-1", "0", 64, 64, OUTCOME_APPLIED, true, "Referenced 64 kB" },
		{ x86, "-1", "0", 64, 4, OUTCOME_REFUSED, true, "are old, whatever the file says" },
		/* the folio that was touched is young as a whole: the others tell */
		{ x86, "-1", "1", 64, 16, OUTCOME_APPLIED, true, "Referenced 16 kB" },
		{ x86, "-1", "0", 64, 16, OUTCOME_REFUSED, true, "are old" },
		/* as the architecture has it */
		{ x86, "1", "-1", 64, 64, OUTCOME_APPLIED, true, "Referenced 64 kB" },
		{ x86, "1", "-1", 64, 4, OUTCOME_REFUSED, true, "are old, where this architecture has them young" },
		{ arm64_hardware, "1", "-1", 64, 4, OUTCOME_APPLIED, true, "Referenced 4 kB" },
		{ arm64_hardware, "0", "-1", 64, 64, OUTCOME_REFUSED, true,
		  "are young, where this architecture has them old" },
		{ arm64_software, "1", "-1", 64, 64, OUTCOME_APPLIED, true, "Referenced 64 kB" },
		{ arm64_software, "1", "-1", 64, 4, OUTCOME_REFUSED, true, "where this architecture has them young" },
		{ arm64_unknown, "1", "-1", 64, 4, OUTCOME_APPLIED, false, "cannot be told" },
		/* a window of one page has nothing to show */
		{ x86, "-1", "1", 4, 4, OUTCOME_APPLIED, false, "cannot be told: fault-around is off" },
		{ x86, "-1", "0", 4, 4, OUTCOME_APPLIED, false, "cannot be told: fault-around is off" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		_cleanup_(engine_donep) struct engine e =
			machine_with_knob(table[i].before, table[i].window_kib, table[i].referenced_kib);
		_cleanup_free_ char *policy = xasprintf("[vm]\nwant_old_faultaround_pte = %s\n", table[i].wanted);
		bool refused = table[i].outcome == OUTCOME_REFUSED;

		e.preset = table[i].machine;
		engine_apply(&e, policy);
		engine_expect(&e, ID, table[i].outcome);
		engine_expect_reason(&e, ID, table[i].reason);
		assert_int_equal(engine_step(&e, ID)->effect_checked, table[i].checked);
		/* what has no effect is not left lying about */
		engine_expect_value(&e, KNOB, refused ? table[i].before : table[i].wanted);
		assert_int_equal(e.result, refused ? APPLY_PARTLY : APPLY_DONE);
	}
}

static void old_ptes_that_were_there_already(void **state)
{
	_cleanup_(engine_donep) struct engine e = machine_with_knob("1", 64, 64);

	e.preset = x86;
	fake_kernel_set(e.kernel, "/sys/module/mmopt_faultaround/refcnt", "0");
	engine_plan(&e, "[vm]\nwant_old_faultaround_pte = 1\n");
	engine_expect(&e, ID, OUTCOME_ALREADY);
	assert_int_equal(verify_plan(e.plan, &e.facts, e.io, NULL), 0);
	engine_expect(&e, ID, OUTCOME_REFUSED);
	engine_expect_reason(&e, ID, "the value is there, but without effect");
	engine_expect_reason(&e, ID, "the mmopt_faultaround module does not act");
	assert_true(engine_step(&e, ID)->differs);

	fake_kernel_go_live(e.kernel, 64, 4);
	engine_plan(&e, "[vm]\nwant_old_faultaround_pte = 1\n");
	assert_int_equal(verify_plan(e.plan, &e.facts, e.io, NULL), 0);
	engine_expect(&e, ID, OUTCOME_ALREADY);
	engine_expect_reason(&e, ID, "Rss 64 kB, Referenced 4 kB");
}

/* A sound kernel that counts optimised pages. */
static void counting(struct facts *facts)
{
	facts_set_word(facts, FACTS_STRUCT_PAGE, FACT_HVO_DEFECT, "none", CONFIDENCE_READ, "test");
	facts_set_boolean(facts, FACTS_STRUCT_PAGE, FACT_HVO_SUPPORTED, true, CONFIDENCE_READ, "test");
	facts_set_boolean(facts, FACTS_STRUCT_PAGE, FACT_HVO_ENABLED, false, CONFIDENCE_READ, "test");
	facts_set_number(facts, FACTS_STRUCT_PAGE, FACT_STRUCT_PAGE, 64, CONFIDENCE_READ, "test");
	facts_set_number(facts, FACTS_KERNEL, FACT_PAGE_SIZE, 4096, CONFIDENCE_READ, "test");
	facts->groups |= FACTS_STRUCT_PAGE | FACTS_KERNEL;
}

static void counting_with_memmap_on_memory(struct facts *facts)
{
	counting(facts);
	facts_set_word(facts, FACTS_STRUCT_PAGE, FACT_MEMMAP_ON_MEMORY, "Y", CONFIDENCE_READ, "test");
}

static struct engine machine_that_counts(const char *optimized)
{
	struct engine e = engine_make(machine_new());

	fake_kernel_set(e.kernel, OPTIMIZED, optimized);
	e.preset = counting;
	return e;
}

#define POOL_POLICY "[vm]\nhugetlb_optimize_vmemmap = on\n[hugetlb]\n2M.pages = 64\n"

static void hvo_without_effect(void **state)
{
	_cleanup_(engine_donep) struct engine e = machine_that_counts("0");

	engine_apply(&e, POOL_POLICY);
	engine_expect(&e, "hugetlb.2M.pages", OUTCOME_APPLIED);
	engine_expect(&e, HVO_ID, OUTCOME_REFUSED);
	engine_expect_reason(&e, HVO_ID, "none of their 64 huge pages is optimised (vmemmap_optimized_hugepages is 0)");
	assert_int_equal(e.result, APPLY_PARTLY);
	/* by the record, the next look finds the same */
	engine_restart(&e);
	engine_plan(&e, POOL_POLICY);
	engine_expect(&e, HVO_ID, OUTCOME_ALREADY);
	assert_int_equal(verify_plan(e.plan, &e.facts, e.io, e.store), 0);
	engine_expect(&e, HVO_ID, OUTCOME_REFUSED);
	engine_expect_reason(&e, HVO_ID, "without effect");
	/* and the next try says so again, and why where that is known */
	e.preset = counting_with_memmap_on_memory;
	engine_restart(&e);
	engine_apply(&e, POOL_POLICY);
	engine_expect(&e, HVO_ID, OUTCOME_REFUSED);
	engine_expect_reason(&e, HVO_ID, "memmap_on_memory");
	assert_int_equal(e.result, APPLY_PARTLY);
}

/* A pool that was there before cannot be blamed on the switch. */
static void hvo_beside_a_pool_of_old(void **state)
{
	_cleanup_(engine_donep) struct engine e = machine_that_counts("0");

	fake_kernel_set(e.kernel, HUGE_2M "nr_hugepages", "64");
	engine_apply(&e, POOL_POLICY);
	engine_expect(&e, HVO_ID, OUTCOME_APPLIED);
	engine_expect_reason(&e, HVO_ID, "0 of 64 huge pages are optimised");
	engine_restart(&e);
	engine_plan(&e, POOL_POLICY);
	assert_int_equal(verify_plan(e.plan, &e.facts, e.io, e.store), 0);
	engine_expect(&e, HVO_ID, OUTCOME_ALREADY);
}

static void optimise(void *userdata, unsigned write)
{
	struct fake_kernel *k = userdata;

	if (streq(fake_kernel_write_path(k, write), HUGE_2M "nr_hugepages"))
		fake_kernel_set(k, OPTIMIZED, "64");
}

static void optimise_some(void *userdata, unsigned write)
{
	struct fake_kernel *k = userdata;

	if (streq(fake_kernel_write_path(k, write), HUGE_2M "nr_hugepages"))
		fake_kernel_set(k, OPTIMIZED, "60");
}

/* Without nr_memmap_pages, which Linux 6.1 does not have. */
static void hvo_with_effect(void **state)
{
	_cleanup_(engine_donep) struct engine e = machine_that_counts("0");

	fake_kernel_on_write(e.kernel, optimise, e.kernel);
	engine_apply(&e, POOL_POLICY);
	engine_expect(&e, HVO_ID, OUTCOME_APPLIED);
	engine_expect_reason(&e, HVO_ID, "all 64 huge pages are optimised: 1.8 MiB measured");
	assert_int_equal(e.result, APPLY_DONE);
}

static void hvo_with_half_an_effect(void **state)
{
	_cleanup_(engine_donep) struct engine e = machine_that_counts("0");

	fake_kernel_on_write(e.kernel, optimise_some, e.kernel);
	engine_apply(&e, POOL_POLICY);
	engine_expect(&e, HVO_ID, OUTCOME_PARTIAL);
	engine_expect_reason(&e, HVO_ID, "the pools' new pages save 1.6 MiB, 1.8 MiB was expected");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(old_ptes),	      cmocka_unit_test(old_ptes_that_were_there_already),
		cmocka_unit_test(hvo_without_effect), cmocka_unit_test(hvo_beside_a_pool_of_old),
		cmocka_unit_test(hvo_with_effect),    cmocka_unit_test(hvo_with_half_an_effect),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
