/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The store of facts, and the cache of this boot. */
#include "temp-dir.h"

#include "core/facts-internal.h"

static void set_and_get(void **state)
{
	_cleanup_(facts_clear) struct facts facts = {};
	uint64_t n = 7;
	bool b = true;

	assert_null(facts_get(&facts, "a"));
	assert_int_equal(facts_set_number(&facts, FACTS_MEMORY, "a", UINT64_MAX, CONFIDENCE_READ, "/a"), 0);
	assert_int_equal(facts_set_boolean(&facts, FACTS_MEMORY, "b", false, CONFIDENCE_PROBED, "/b"), 0);
	assert_int_equal(facts_set_word(&facts, FACTS_KERNEL, "w", "x y", CONFIDENCE_INFERRED, "/w"), 0);
	assert_int_equal(facts_set_unknown(&facts, FACTS_KERNEL, "u", "nobody knows"), 0);

	assert_int_equal(facts_number(&facts, "a", &n), 0);
	assert_true(n == UINT64_MAX);
	assert_int_equal(facts_boolean(&facts, "b", &b), 0);
	assert_false(b);
	assert_string_equal(facts_word(&facts, "w"), "x y");
	assert_true(facts_is(&facts, "w", "x y"));
	assert_string_equal(facts_get(&facts, "w")->source, "/w");
	assert_int_equal(facts_get(&facts, "w")->group, FACTS_KERNEL);
	assert_int_equal(facts_get(&facts, "b")->confidence, CONFIDENCE_PROBED);

	/* another type, the unknown and the missing: -ENOENT, and nothing is written */
	n = 7;
	b = true;
	assert_int_equal(facts_number(&facts, "b", &n), -ENOENT);
	assert_int_equal(facts_number(&facts, "u", &n), -ENOENT);
	assert_int_equal(facts_boolean(&facts, "a", &b), -ENOENT);
	assert_int_equal(n, 7);
	assert_true(b);
	assert_null(facts_word(&facts, "a"));
	assert_false(facts_is(&facts, "none", ""));
	assert_false(facts_true(&facts, "b"));
	assert_false(facts_true(&facts, "a"));
}

static void a_fact_of_the_same_name_is_replaced_in_its_place(void **state)
{
	_cleanup_(facts_clear) struct facts facts = {};
	uint64_t n;

	assert_int_equal(facts_set_word(&facts, FACTS_KERNEL, "a", "x", CONFIDENCE_READ, "1"), 0);
	assert_int_equal(facts_set_word(&facts, FACTS_KERNEL, "b", "y", CONFIDENCE_READ, "1"), 0);
	assert_int_equal(facts_set_number(&facts, FACTS_KERNEL, "a", 3, CONFIDENCE_READ, "2"), 0);
	assert_int_equal(facts.n, 2);
	assert_string_equal(facts.items[0].name, "a");
	assert_null(facts_word(&facts, "a"));
	assert_int_equal(facts_number(&facts, "a", &n), 0);
	assert_string_equal(facts_get(&facts, "a")->source, "2");
}

static void many_facts(void **state)
{
	_cleanup_(facts_clear) struct facts facts = {};
	uint64_t n;
	char name[32];

	for (uint64_t i = 0; i < 100000; i++) {
		snprintf(name, sizeof(name), "fact.%llu", (unsigned long long)i);
		assert_int_equal(facts_set_number(&facts, FACTS_KERNEL, name, i, CONFIDENCE_READ, ""), 0);
	}
	for (uint64_t i = 0; i < 100000; i++) {
		snprintf(name, sizeof(name), "fact.%llu", (unsigned long long)i);
		assert_int_equal(facts_number(&facts, name, &n), 0);
		assert_int_equal(n, i);
	}
}

/* The form in which odd bytes come out. */
static void expect_word(const char *word, const char *want)
{
	_cleanup_(facts_clear) struct facts facts = {};

	assert_int_equal(facts_set_word(&facts, FACTS_KERNEL, "w", word, CONFIDENCE_READ, word), 0);
	assert_string_equal(facts_word(&facts, "w"), want);
	assert_string_equal(facts_get(&facts, "w")->source, want);
}

static void case_27_odd_bytes_become_utf8(void **state)
{
	expect_word("plain", "plain");
	expect_word("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x90\xa7",
		    "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x90\xa7");
	expect_word("a\tb\nc\x7f", "a\\x09b\\x0ac\\x7f");
	expect_word("\xff\xfe", "\\xff\\xfe");
	expect_word("\xc3", "\\xc3");				 /* cut short */
	expect_word("\xc0\xaf", "\\xc0\\xaf");			 /* overlong */
	expect_word("\xe0\x80\xaf", "\\xe0\\x80\\xaf");		 /* overlong */
	expect_word("\xed\xa0\x80", "\\xed\\xa0\\x80");		 /* surrogate */
	expect_word("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"); /* above U+10FFFF */
	expect_word("\xc2\x85", "\\xc2\\x85");			 /* a control character of two bytes */
}

static void releases(void **state)
{
	static const struct {
		const char *a, *b;
		int order;
	} table[] = {
		{ "6.12.117+deb12-cloud-amd64", "6.12", 1 },
		{ "6.12.117", "6.12.117-generic", 0 },
		{ "6.12", "6.12.0", 0 },
		{ "6.9", "6.12", -1 },
		{ "6.12-rc1", "6.12", 0 },
		{ "5.19.0", "6", -1 },
		{ "6.1.0-41", "6.1", 0 },
		{ "6.12.114", "6.12.113", 1 },
		{ "", "6", -1 },
		{ "99999999999999999999999.1", "6", 1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		assert_int_equal(kernel_release_compare(table[i].a, table[i].b), table[i].order);
		assert_int_equal(kernel_release_compare(table[i].b, table[i].a), -table[i].order);
	}
}

static void names_of_confidence(void **state)
{
	assert_string_equal(fact_confidence_name(CONFIDENCE_READ), "read");
	assert_string_equal(fact_confidence_name(CONFIDENCE_PROBED), "probed");
	assert_string_equal(fact_confidence_name(CONFIDENCE_COMPUTED), "computed");
	assert_string_equal(fact_confidence_name(CONFIDENCE_INFERRED), "inferred");
}

#define BOOT_ID "proc/sys/kernel/random/boot_id"
#define CACHE "run/mmopt/probes"

/* Probes the access flag of a machine whose cache says text. */
static struct facts probe_with_cache(const struct temp_dir *dir, const char *text)
{
	_cleanup_(kernel_io_freep) struct kernel_io *io = NULL;
	struct facts facts = {};

	temp_dir_write(dir, CACHE, text);
	assert_int_equal(kernel_io_open(dir->path, &io), 0);
	assert_int_equal(facts_probe(&facts, io, FACTS_ACCESS_FLAG), 0);
	return facts;
}

static void cache_of_this_boot_counts(void **state)
{
	_cleanup_(temp_dir_donep) struct temp_dir dir = temp_dir_make();
	_cleanup_(facts_clear) struct facts facts = {};
	uint64_t ns;

	temp_dir_write(&dir, BOOT_ID, "this-boot\n");
	facts = probe_with_cache(&dir, "mmopt-probes 1 this-boot\n"
				       "access_flag.set_by\tword\tsoftware\tprobed\tsome probe\n"
				       "access_flag.old_pte_first_touch_ns\tnumber\t500\tprobed\tsome probe\n"
				       "kernel.release\tword\tsmuggled\tread\tx\n"
				       "access_flag.x\tnumber\t-1\tprobed\tbad number\n"
				       "access_flag.y\tnumber\t1\tguessed\tbad confidence\n"
				       "access_flag.z\tnumber\t1\tread\n"
				       "access_flag.q\tnumber\t1\tread\tx\ttoo many\n"
				       "access_flag.young_pte_first_touch_ns\tnumber\t2\tprobed\ttorn");
	assert_true(facts_is(&facts, FACT_ACCESS_FLAG, "software"));
	assert_string_equal(facts_get(&facts, FACT_ACCESS_FLAG)->source, "some probe");
	assert_int_equal(facts_get(&facts, FACT_ACCESS_FLAG)->confidence, CONFIDENCE_PROBED);
	assert_int_equal(facts_number(&facts, FACT_OLD_PTE_COST, &ns), 0);
	assert_int_equal(ns, 500);
	/* bad lines, a line that is torn off and what does not belong there */
	assert_null(facts_get(&facts, "kernel.release"));
	assert_null(facts_get(&facts, "access_flag.x"));
	assert_null(facts_get(&facts, "access_flag.y"));
	assert_null(facts_get(&facts, "access_flag.z"));
	assert_null(facts_get(&facts, "access_flag.q"));
	assert_int_equal(facts_get(&facts, FACT_YOUNG_PTE_COST)->type, FACT_UNKNOWN);
	assert_false(facts.dirty_cache);
}

static void cache_of_another_boot_or_form_does_not(void **state)
{
	static const char *const headers[] = {
		"mmopt-probes 1 other-boot\n",
		"mmopt-probes 2 this-boot\n",
		"mmopt-probes 1 this-boot2\n",
		"mmopt-probes 1 this\n",
		"mmopt-probes 1 \n",
		"",
		"this-boot\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(headers); i++) {
		_cleanup_(temp_dir_donep) struct temp_dir dir = temp_dir_make();
		_cleanup_(facts_clear) struct facts facts = {};
		_cleanup_free_ char *text = xasprintf("%saccess_flag.set_by\tword\tsoftware\tprobed\tx\n", headers[i]);

		temp_dir_write(&dir, BOOT_ID, "this-boot\n");
		facts = probe_with_cache(&dir, text);
		assert_int_equal(facts_get(&facts, FACT_ACCESS_FLAG)->type, FACT_UNKNOWN);
	}
}

static void captured_machine_is_not_probed(void **state)
{
	_cleanup_(temp_dir_donep) struct temp_dir dir = temp_dir_make();
	_cleanup_(kernel_io_freep) struct kernel_io *io = NULL;
	_cleanup_(facts_clear) struct facts facts = {};

	assert_int_equal(kernel_io_open(dir.path, &io), 0);
	assert_int_equal(facts_probe(&facts, io, FACTS_ALL), 0);
	assert_int_equal(facts.groups, FACTS_ALL);
	/* Nothing of the machine that runs the test may come through. */
	for (size_t i = 0; i < facts.n; i++) {
		const struct fact *f = &facts.items[i];

		if (f->type == FACT_NUMBER && f->number != 0 && !streq(f->name, FACT_NODES))
			fail_msg("%s is known of an empty machine", f->name);
		if (f->confidence == CONFIDENCE_PROBED && f->type != FACT_UNKNOWN)
			fail_msg("%s was probed on an empty machine", f->name);
		assert_true(f->source[0] != '\0');
	}
	assert_int_equal(facts_get(&facts, FACT_FAULT_AROUND_PTES)->type, FACT_UNKNOWN);
	assert_int_equal(facts_get(&facts, FACT_ARCHITECTURE)->type, FACT_UNKNOWN);
	assert_int_equal(facts_cache_save(&facts, io), 0);
	facts.dirty_cache = true;
	assert_int_equal(facts_cache_save(&facts, io), -EOPNOTSUPP);
	assert_int_equal(faccessat(dir.fd, CACHE, F_OK, 0), -1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(set_and_get),
		cmocka_unit_test(a_fact_of_the_same_name_is_replaced_in_its_place),
		cmocka_unit_test(many_facts),
		cmocka_unit_test(case_27_odd_bytes_become_utf8),
		cmocka_unit_test(releases),
		cmocka_unit_test(names_of_confidence),
		cmocka_unit_test(cache_of_this_boot_counts),
		cmocka_unit_test(cache_of_another_boot_or_form_does_not),
		cmocka_unit_test(captured_machine_is_not_probed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
