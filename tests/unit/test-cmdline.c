/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/cmdline.h"

#include "test.h"

/* "name=value" of each parameter in order, "name" without value, with '|' between. */
static void expect(const char *text, const char *want, const char *init_args)
{
	_cleanup_(cmdline_clear) struct cmdline c = {};
	char have[1024] = "";

	assert_int_equal(cmdline_parse(text, &c), 0);
	for (size_t i = 0; i < c.n; i++) {
		size_t n = strlen(have);

		snprintf(have + n, sizeof(have) - n, "%s%s%s%s", i ? "|" : "", c.params[i].name,
			 c.params[i].value ? "=" : "", c.params[i].value ?: "");
		assert_true(c.params[i].offset + c.params[i].length <= strlen(text));
	}
	assert_string_equal(have, want);
	if (init_args)
		assert_string_equal(c.init_args, init_args);
	else
		assert_null(c.init_args);
}

static void words_and_quotes(void **state)
{
	expect("", "", NULL);
	expect(" \n", "", NULL);
	expect("ro quiet\n", "ro|quiet", NULL);
	expect("  a=1\t b= \n", "a=1|b=", NULL);
	expect("a=\"b c\" d", "a=b c|d", NULL);
	expect("\"a=b c\" d", "a=b c|d", NULL);
	expect("\"a b\" c", "a b|c", NULL);
	/* quotes inside a value keep it together and stay, as the kernel leaves them */
	expect("a=b\"c d\"e f", "a=b\"c d\"e|f", NULL);
	/* a quote that is never closed takes all the rest */
	expect("a=\"b c d", "a=b c d", NULL);
	expect("a=b=c", "a=b=c", NULL);
	expect("=x y", "=x|y", NULL);
	expect("\"", "", NULL);
	/* the kernel takes the no-break space of Latin-1 for white space */
	expect("a\xa0"
	       "b",
	       "a|b", NULL);
}

static void what_belongs_to_init(void **state)
{
	expect("a -- b=1 c", "a", "b=1 c");
	expect("a --  b \n", "a", "b");
	expect("a --", "a", "");
	/* only a lone "--" ends it */
	expect("a --b -- c", "a|--b", "c");
	expect("a=-- b", "a=--|b", NULL);
	expect("a --=1 b", "a|--=1|b", NULL);
	expect("\"a -- b\" c", "a -- b|c", NULL);
}

static void names(void **state)
{
	_cleanup_(cmdline_clear) struct cmdline c = {};

	assert_true(cmdline_name_equal("memory_hotplug.memmap_on_memory", "memory-hotplug.memmap_on-memory"));
	assert_false(cmdline_name_equal("psi", "psi_"));
	assert_false(cmdline_name_equal("psi_", "psi"));
	assert_false(cmdline_name_equal("PSI", "psi"));

	assert_int_equal(cmdline_parse("hugetlb-free-vmemmap=off hugetlb_free_vmemmap=on default_hugepagesz=1G "
				       "default_hugepagesz=2M",
				       &c),
			 0);
	assert_string_equal(cmdline_find(&c, "hugetlb_free_vmemmap")->value, "on");
	assert_string_equal(cmdline_find(&c, "default_hugepagesz")->value, "1G");
	assert_null(cmdline_find(&c, "free_vmemmap"));
	assert_int_equal(cmdline_repeat("memmap"), CMDLINE_ADD);
	assert_int_equal(cmdline_repeat("hugepages"), CMDLINE_PAIR);
	assert_int_equal(cmdline_repeat("transparent-hugepage"), CMDLINE_LAST);
}

static void sizes(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} table[] = {
		{ "2M", 2 << 20 },
		{ "2m", 2 << 20 },
		{ "1G", 1 << 30 },
		{ "1GB", 1 << 30 },
		{ "0x10k", 16384 },
		{ "4096", 4096 },
		{ "010", 8 },
		{ "", 0 },
		{ "M", 0 },
		{ "1X", 1 },
		{ "1T", 1ULL << 40 },
		{ "99999999999999999999", UINT64_MAX },
		{ "99999999999E", 0 },
		{ "0x", 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		assert_int_equal(cmdline_size(table[i].text), table[i].bytes);
}

/* "SIZE:PAGES" of each pool with blanks between, as in "2M:64". */
static void expect_pools(const char *text, uint64_t default_bytes, const char *want)
{
	_cleanup_(cmdline_clear) struct cmdline c = {};
	_cleanup_free_ struct cmdline_pool *pools = NULL;
	char have[256] = "";
	size_t n;

	assert_int_equal(cmdline_parse(text, &c), 0);
	assert_int_equal(
		cmdline_pools(&c, &(struct cmdline_hugetlb){ .default_size_bytes = default_bytes }, &pools, &n), 0);
	for (size_t i = 0; i < n; i++) {
		size_t used = strlen(have);

		if (!pools[i].is_counted)
			continue;
		assert_true(cmdline_name_equal(c.params[pools[i].counted_by].name, "hugepages"));
		snprintf(have + used, sizeof(have) - used, "%s%llu:%llu", used ? " " : "",
			 (unsigned long long)(pools[i].size_bytes >> 20), (unsigned long long)pools[i].pages);
	}
	assert_string_equal(have, want);
}

static void case_02_sizes_and_counts_in_their_order(void **state)
{
	const uint64_t m = 1 << 20;

	expect_pools("ro quiet", 2 * m, "");
	expect_pools("hugepages=8", 2 * m, "2:8");
	expect_pools("hugepages=8", 0, "0:8");
	/* a count before any size is of the default size */
	expect_pools("hugepages=8 hugepagesz=1G", 2 * m, "2:8");
	expect_pools("hugepagesz=1G hugepages=4 hugepagesz=2M hugepages=512", 2 * m, "1024:4 2:512");
	expect_pools("default_hugepagesz=1G hugepages=4", 2 * m, "1024:4");
	expect_pools("hugepages=4 default_hugepagesz=1G", 2 * m, "1024:4");
	/* of two counts for one size the second one is ignored, with or without the size again */
	expect_pools("hugepagesz=2M hugepages=64 hugepages=65", 2 * m, "2:64");
	expect_pools("hugepagesz=2M hugepages=64 hugepagesz=2M hugepages=65", 2 * m, "2:64");
	expect_pools("hugepagesz=2M hugepages=0:2,1:4", 2 * m, "2:6");
	/* the size that is none takes one count with it; the next one is of the default size again */
	expect_pools("hugepagesz=nonsense hugepages=3", 2 * m, "");
	expect_pools("hugepagesz=nonsense hugepages=3 hugepages=5", 2 * m, "2:5");
	expect_pools("hugepages=8 hugepagesz=2M hugepages=9", 2 * m, "2:8");
	expect_pools("hugepagesz=2M hugepages=x", 2 * m, "2:0");
	expect_pools("hugepagesz=2M hugepages=", 2 * m, "2:0");
	expect_pools("hugepagesz=2M hugepages", 2 * m, "");
	expect_pools("hugepagesz=2M hugepages=1,", 2 * m, "2:1");
	expect_pools("hugepagesz=2M hugepages=99999999999999999999", 2 * m, "2:0");
	expect_pools("hugepagesz=2M hugepages=0:2,4", 2 * m, "2:0");
}

/* Each was booted: tests/vm/t-cmdline.sh. */
static void what_kernels_make_of_repeats(void **state)
{
	const uint64_t m = 1 << 20;

	expect_pools("hugepagesz=2M hugepages=8 hugepagesz=1G hugepages=1", 2 * m, "2:8 1024:1");
	expect_pools("hugepagesz=2M hugepages=8 hugepagesz=2M hugepages=16", 2 * m, "2:8");
	expect_pools("hugepages=8 hugepages=16", 2 * m, "2:8");
	/* the count without a size goes over the one with it */
	expect_pools("hugepages=4 hugepagesz=2M hugepages=9", 2 * m, "2:4");
	expect_pools("hugepagesz=1G hugepagesz=2M hugepages=1 hugepages=64", 2 * m, "2:1");
	expect_pools("default_hugepagesz=2M default_hugepagesz=1G hugepages=1", 2 * m, "");
	expect_pools("hugepagesz=1G hugepages=1 default_hugepagesz=1G hugepages=2", 2 * m, "1024:1");
	expect_pools("hugepages=8 default_hugepagesz=2M hugepages=3", 2 * m, "2:3");
	expect_pools("default_hugepagesz=2M hugepagesz=2M hugepages=3", 2 * m, "2:3");
	expect_pools("hugepages=2M", 2 * m, "2:2");
	expect_pools("hugepagesz=3M hugepages=5 hugepages=7", 2 * m, "2:7");
	/* a size that is the default one already, in between: the count goes to the size added last */
	expect_pools("hugepagesz=2M hugepagesz=1G default_hugepagesz=2M hugepages=5", 2 * m, "1024:5");
}

static void case_22_repeats_quotes_and_init_arguments(void **state)
{
	static const char text[] = "ro dyndbg=\"file mm/* +p hugepages=9\" hugepagesz=2M hugepages=64 hugepages=64 -- "
				   "--hugepages=3";

	expect(text, "ro|dyndbg=file mm/* +p hugepages=9|hugepagesz=2M|hugepages=64|hugepages=64", "--hugepages=3");
	expect_pools(text, 1 << 30, "2:64");
}

/* Twice the input, about twice the time: a quadratic parser takes minutes here. */
static void long_lines(void **state)
{
	_cleanup_(cmdline_clear) struct cmdline c = {};
	_cleanup_free_ char *text = NULL;
	size_t n = 200000;
	char *o;

	text = malloc(n * 4 + 1);
	assert_non_null(text);
	o = text;
	for (size_t i = 0; i < n; i++)
		o = stpcpy(o, "a=b ");
	assert_int_equal(cmdline_parse(text, &c), 0);
	assert_int_equal(c.n, n);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_and_quotes),
		cmocka_unit_test(what_belongs_to_init),
		cmocka_unit_test(names),
		cmocka_unit_test(sizes),
		cmocka_unit_test(case_02_sizes_and_counts_in_their_order),
		cmocka_unit_test(what_kernels_make_of_repeats),
		cmocka_unit_test(case_22_repeats_quotes_and_init_arguments),
		cmocka_unit_test(long_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
