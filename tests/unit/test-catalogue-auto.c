/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "test.h"

#include "core/catalogue.h"

/* A fact in short: "name=word", a number, "?yes" or "?no" for booleans. The unit tests need no more. */
static void set_fact(struct facts *facts, const char *text)
{
	_cleanup_free_ char *name = strndup(text, strcspn(text, "="));
	const char *value = text + strlen(name) + 1;

	if (*value == '?')
		assert_int_equal(
			facts_set_boolean(facts, FACTS_KERNEL, name, streq(value, "?yes"), CONFIDENCE_READ, "made up"),
			0);
	else if (value[strspn(value, "0123456789")] == '\0')
		assert_int_equal(facts_set_number(facts, FACTS_KERNEL, name, strtoull(value, NULL, 10), CONFIDENCE_READ,
						  "made up"),
				 0);
	else
		assert_int_equal(facts_set_word(facts, FACTS_KERNEL, name, value, CONFIDENCE_READ, "made up"), 0);
}

struct auto_case {
	const char *facts[8]; /* NULL-terminated */
	const char *value;    /* NULL: keep */
	const char *reason;   /* a part of it */
};

static void check(const char *id, const struct auto_case *cases, size_t n)
{
	struct tunable_ref ref;

	assert_int_equal(catalogue_find_id(id, &ref), 0);
	assert_non_null(ref.tunable->auto_rule);
	for (size_t i = 0; i < n; i++) {
		_cleanup_(facts_clear) struct facts facts = {};
		struct auto_choice choice, again;
		struct value v = {};

		for (const char *const *f = cases[i].facts; *f; f++)
			set_fact(&facts, *f);
		memset(&choice, 'x', sizeof(choice));
		memset(&again, 'y', sizeof(again));
		ref.tunable->auto_rule(&facts, &choice);
		ref.tunable->auto_rule(&facts, &again);
		assert_memory_equal(&choice, &again, sizeof(choice));

		if (!strstr(choice.reason, cases[i].reason))
			fail_msg("%s, case %zu: the reason is \"%s\"", id, i, choice.reason);
		if (strlen(choice.reason) >= sizeof(choice.reason) - 1)
			fail_msg("%s, case %zu: the reason is cut off", id, i);
		if (choice.keep != !cases[i].value || (cases[i].value && !streq(choice.value, cases[i].value)))
			fail_msg("%s, case %zu: keep %d, value \"%s\"", id, i, choice.keep, choice.value);
		if (choice.keep)
			continue;
		/* A choice has to be a value that a policy could hold. */
		assert_int_equal(value_from_policy(ref.tunable->kind, ref.tunable->style, ref.tunable->unit, 0,
						   choice.value, &v),
				 0);
		value_clear(&v);
	}
}

/* The rule's reason with these facts is without this text. */
static void never_says(const char *id, const char *const *facts_text, const char *text)
{
	_cleanup_(facts_clear) struct facts facts = {};
	struct auto_choice choice;
	struct tunable_ref ref;

	assert_int_equal(catalogue_find_id(id, &ref), 0);
	for (; *facts_text; facts_text++)
		set_fact(&facts, *facts_text);
	ref.tunable->auto_rule(&facts, &choice);
	if (strstr(choice.reason, text))
		fail_msg("%s: the reason is \"%s\"", id, choice.reason);
}

#define SOUND "hvo.supported=?yes", "hvo.defect=none"

static void hvo(void **state)
{
	static const struct auto_case cases[] = {
		{ { SOUND }, "1", "soundly" },
		{ { SOUND, "hvo.memmap_on_memory=N" }, "1", "soundly" },
		/* Whether huge pages are there already makes no difference: the switch is for those to come. */
		{ { SOUND, "hugetlb.total_bytes=0" }, "1", "soundly" },
		{ { SOUND, "hvo.memmap_on_memory=Y" }, NULL, "memmap_on_memory is Y" },
		{ { SOUND, "hvo.memmap_on_memory=force" }, NULL, "memmap_on_memory is force" },
		{ { "hvo.supported=?yes", "hvo.defect=restore" }, NULL, "corrupts memory" },
		{ { "hvo.supported=?yes", "hvo.defect=unknown" }, NULL, "could not be found out" },
		{ { "hvo.supported=?yes" }, NULL, "could not be found out" },
		{ { "hvo.supported=?no", "hvo.defect=none" }, NULL, "cannot optimise" },
		{ { "hvo.supported=?no", "struct_page.power_of_two=?yes" }, NULL, "cannot optimise" },
		{ { "hvo.supported=?no", "struct_page.power_of_two=?no" }, NULL, "not a power of two" },
		{ {}, NULL, "could not be found out" },
	};

	check("vm.hugetlb_optimize_vmemmap", cases, ARRAY_SIZE(cases));
	check("boot.hugetlb_free_vmemmap", cases, ARRAY_SIZE(cases));
}

#define COST(old, young) "access_flag.old_pte_first_touch_ns=" old, "access_flag.young_pte_first_touch_ns=" young

#define OLD_IS_CHEAP "access_flag.set_by=hardware", COST("36", "6")

static void old_ptes(void **state)
{
	static const struct auto_case cases[] = {
		{ { "access_flag.set_by=hardware", COST("36", "6") }, "1", "30 ns more" },
		/* At the limit, and one beyond it. */
		{ { "access_flag.set_by=hardware", COST("106", "6") }, "1", "100 ns more" },
		{ { "access_flag.set_by=hardware", COST("107", "6") }, "-1", "101 ns more" },
		{ { "access_flag.set_by=hardware", COST("330", "6") }, "-1", "324 ns more" },
		/* Noise can make the old one look cheaper. */
		{ { "access_flag.set_by=hardware", COST("5", "6") }, "1", "0 ns more" },
		{ { "access_flag.set_by=hardware" }, "-1", "not known" },
		{ { "access_flag.set_by=hardware", "access_flag.old_pte_first_touch_ns=9" }, "-1", "not known" },
		{ { "access_flag.set_by=software", COST("6", "6") }, "-1", "software" },
		{ { "access_flag.set_by=unknown", COST("6", "6") }, "-1", "not known" },
		{ {}, "-1", "not known" },
		/* What it is worth depends on who reclaims, and on the file systems; the choice does not. */
		{ { OLD_IS_CHEAP }, "1", "classic LRU" },
		{ { OLD_IS_CHEAP, "mglru.enabled=0x0000" }, "1", "classic LRU" },
		{ { OLD_IS_CHEAP, "mglru.enabled=0x0006" }, "1", "classic LRU" },
		{ { OLD_IS_CHEAP, "mglru.enabled=0x0001" }, "1", "MGLRU is on" },
		{ { OLD_IS_CHEAP, "mglru.enabled=0x0007" }, "1", "MGLRU is on" },
		{ { OLD_IS_CHEAP, "page_cache.large_folios=?yes", "kernel.release=6.12.117" }, "1", "large folios" },
		{ { OLD_IS_CHEAP, "page_cache.large_folios=?yes", "kernel.release=6.1.192" }, "1", "the same" },
		{ { OLD_IS_CHEAP, "page_cache.large_folios=?yes", "kernel.release=6.6", "mglru.enabled=0x0007" },
		  "1",
		  "matters less" },
	};
	struct tunable_ref ref;

	check("vm.want_old_faultaround_pte", cases, ARRAY_SIZE(cases));
	assert_int_equal(catalogue_find_id("vm.want_old_faultaround_pte", &ref), 0);
	assert_int_equal(ref.tunable->auto_groups & (FACTS_ACCESS_FLAG | FACTS_RECLAIM),
			 FACTS_ACCESS_FLAG | FACTS_RECLAIM);
	never_says(
		"vm.want_old_faultaround_pte",
		(const char *const[]){ OLD_IS_CHEAP, "page_cache.large_folios=?yes", "kernel.release=6.1.192", NULL },
		"large folios");
	never_says("vm.want_old_faultaround_pte",
		   (const char *const[]){ OLD_IS_CHEAP, "page_cache.large_folios=?no", "kernel.release=6.12", NULL },
		   "large folios");
}

static void page_cluster(void **state)
{
	static const struct auto_case cases[] = {
		{ { "swap.kind=zram" }, "0", "zram" },
		{ { "swap.kind=zram", "zswap.enabled=?yes" }, "0", "zram" },
		{ { "swap.kind=disk", "zswap.enabled=?yes" }, "0", "zswap" },
		{ { "swap.kind=mixed", "zswap.enabled=?yes" }, "0", "zswap" },
		{ { "swap.kind=disk", "zswap.enabled=?no" }, NULL, "swap is disk" },
		{ { "swap.kind=mixed" }, NULL, "swap is mixed" },
		{ { "swap.kind=none", "zswap.enabled=?yes" }, NULL, "no swap" },
		{ { "zswap.enabled=?yes" }, NULL, "could not be found out" },
	};

	check("vm.page-cluster", cases, ARRAY_SIZE(cases));
}

static void thp(void **state)
{
	static const struct auto_case cases[] = {
		{ { "thp.pmd_size_bytes=2097152", "thp.enabled=always" }, NULL, "2M" },
		{ { "thp.pmd_size_bytes=33554432", "thp.enabled=always" }, NULL, "32M" },
		{ { "thp.pmd_size_bytes=536870912", "thp.enabled=always" }, "madvise", "512M" },
		{ { "thp.pmd_size_bytes=536870912", "thp.enabled=madvise" }, NULL, "already" },
		{ { "thp.pmd_size_bytes=536870912", "thp.enabled=never" }, NULL, "already" },
		{ { "thp.enabled=always" }, NULL, "could not be found out" },
	};

	check("thp.enabled", cases, ARRAY_SIZE(cases));
}

static void zero_page(void **state)
{
	static const struct auto_case cases[] = {
		{ { "thp.enabled=madvise", "thp.pmd_size_bytes=2097152", "memory.total_bytes=1073741824" },
		  "yes",
		  "2M" },
		{ { "thp.enabled=always", "thp.pmd_size_bytes=2097152", "memory.total_bytes=1073741823" },
		  NULL,
		  "1/512" },
		{ { "thp.enabled=always", "thp.pmd_size_bytes=536870912", "memory.total_bytes=68719476736" },
		  NULL,
		  "512M" },
		{ { "thp.enabled=never", "thp.pmd_size_bytes=2097152", "memory.total_bytes=1073741824" }, NULL, "off" },
		{ { "thp.enabled=always", "thp.pmd_size_bytes=2097152", "memory.total_bytes=1073741824",
		    "thp.zero_page_persistent=?yes" },
		  NULL,
		  "by itself" },
		{ { "thp.enabled=always", "thp.pmd_size_bytes=2097152" }, NULL, "could not be found out" },
		{ {}, NULL, "no transparent huge pages" },
	};

	check("thp.persistent_zero_page", cases, ARRAY_SIZE(cases));
}

static void mglru(void **state)
{
	static const struct auto_case cases[] = {
		{ { "access_flag.set_by=hardware" }, "7", "hardware" },
		{ { "access_flag.set_by=hardware", "mglru.enabled=0x0000" }, "7", "hardware" },
		{ { "access_flag.set_by=hardware", "mglru.enabled=0x0001" }, "7", "hardware" },
		{ { "access_flag.set_by=hardware", "mglru.enabled=0x0003" }, NULL, "on already" },
		{ { "access_flag.set_by=hardware", "mglru.enabled=0x0007" }, NULL, "on already" },
		{ { "access_flag.set_by=software", "mglru.enabled=0x0003" }, NULL, "software" },
		{ { "access_flag.set_by=unknown" }, NULL, "not known" },
		{ {}, NULL, "not known" },
	};
	struct tunable_ref ref;

	check("mglru.enabled", cases, ARRAY_SIZE(cases));
	/* All bits are asked for only because fewer may come. */
	assert_int_equal(catalogue_find_id("mglru.enabled", &ref), 0);
	assert_int_equal(ref.tunable->compare, COMPARE_SUBSET);
}

static void numa(void **state)
{
	static const struct auto_case balancing[] = {
		{ { "numa.nodes=1" }, "0", "one node" },
		{ { "numa.nodes=2" }, NULL, "2 nodes" },
		{ {}, NULL, "could not be found out" },
	};
	static const struct auto_case demotion[] = {
		{ { "numa.tiered=?yes" }, "yes", "without CPUs" },
		{ { "numa.tiered=?no" }, NULL, "no slower memory" },
		{ {}, NULL, "could not be found out" },
	};

	check("numa.balancing", balancing, ARRAY_SIZE(balancing));
	check("numa.demotion_enabled", demotion, ARRAY_SIZE(demotion));
}

/* A rule without a test here would go unnoticed. */
static void every_rule_is_tested(void **state)
{
	static const char *const tested[] = {
		"boot.hugetlb_free_vmemmap",   "mglru.enabled",	  "numa.balancing",
		"numa.demotion_enabled",       "thp.enabled",	  "thp.persistent_zero_page",
		"vm.hugetlb_optimize_vmemmap", "vm.page-cluster", "vm.want_old_faultaround_pte",
	};
	size_t n, found = 0;
	const struct tunable *rows = catalogue_rows(&n);

	for (size_t i = 0; i < n; i++) {
		if (!rows[i].auto_rule)
			continue;
		assert_true(found < ARRAY_SIZE(tested));
		assert_string_equal(rows[i].id, tested[found++]);
	}
	assert_int_equal(found, ARRAY_SIZE(tested));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(hvo),		cmocka_unit_test(old_ptes),
		cmocka_unit_test(page_cluster), cmocka_unit_test(thp),
		cmocka_unit_test(zero_page),	cmocka_unit_test(mglru),
		cmocka_unit_test(numa),		cmocka_unit_test(every_rule_is_tested),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
