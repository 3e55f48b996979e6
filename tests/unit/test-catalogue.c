/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "test.h"

#include <time.h>

#include "base/number.h"
#include "core/catalogue.h"

static const struct tunable *row_of(const char *id)
{
	size_t n;
	const struct tunable *rows = catalogue_rows(&n);

	for (size_t i = 0; i < n; i++)
		if (streq(rows[i].id, id))
			return &rows[i];
	return NULL;
}

#define for_each_row(t) for (size_t _n, _i = 0; (t) = &catalogue_rows(&_n)[_i], _i < _n; _i++)

static bool in_section(const struct tunable *t, const char *section)
{
	const char *rest = startswith(t->id, section);

	return rest && *rest == '.';
}

static unsigned count(const char *s, const char *part)
{
	unsigned n = 0;

	for (; (s = strstr(s, part)); s += strlen(part))
		n++;
	return n;
}

/* Invariants of the table. */

/* The lookup is a binary search: the order by strcmp() is what it stands on, and it makes ids unique too. */
static void rows_are_sorted(void **state)
{
	size_t n;
	const struct tunable *rows = catalogue_rows(&n);

	for (size_t i = 1; i < n; i++)
		if (strcmp(rows[i - 1].id, rows[i].id) >= 0)
			fail_msg("%s stands before %s", rows[i - 1].id, rows[i].id);
}

static void rows_are_complete(void **state)
{
	const struct tunable *t;

	for_each_row(t)
	{
		_cleanup_free_ char *section = strndup(t->id, strcspn(t->id, "."));

		if (!catalogue_has_section(section))
			fail_msg("%s: no such section", t->id);
		if (!t->why || !t->doc || !t->since)
			fail_msg("%s: why, doc or since is missing", t->id);
		if (!endswith(t->why, ".") || (t->hazard && !endswith(t->hazard, ".")))
			fail_msg("%s: why and hazard are sentences", t->id);
		if (strchr(t->why, '\n') || (t->hazard && strchr(t->hazard, '\n')))
			fail_msg("%s: one line each", t->id);
		if (!streq(t->since, "patched") && !(t->since[0] >= '2' && t->since[0] <= '9'))
			fail_msg("%s: \"%s\" is no kernel version", t->id, t->since);
		if (!t->order)
			fail_msg("%s: no order", t->id);
	}
}

static void paths_fit_the_scope(void **state)
{
	const struct tunable *t;

	for_each_row(t)
	{
		switch (t->scope) {
		case SCOPE_RUNTIME:
			if (!t->path || !(startswith(t->path, "/proc/sys/") || startswith(t->path, "/sys/")))
				fail_msg("%s: no kernel file", t->id);
			break;
		case SCOPE_BOOT:
			if (!t->path || strpbrk(t->path, "/ ={}-"))
				fail_msg("%s: no name of a kernel parameter", t->id);
			break;
		case SCOPE_DAEMON:
		case SCOPE_OPTION:
			if (t->path || t->alias_path)
				fail_msg("%s: has a file", t->id);
			break;
		case SCOPE_RAW:
			fail_msg("%s: raw rows are not part of the table", t->id);
		}
		if (t->alias_path && t->alias_path[0] != '/')
			fail_msg("%s: its alias is no path", t->id);
		/* catalogue_find_path() compares this much of a path at once. */
		if (t->path && t->scope == SCOPE_RUNTIME && (strlen(t->path) < 11 || strcspn(t->path, "{") < 11))
			fail_msg("%s: %s is too short, or has a placeholder too early", t->id, t->path);
		if (t->alias_path && (strlen(t->alias_path) < 11 || strcspn(t->alias_path, "{") < 11))
			fail_msg("%s: %s is too short, or has a placeholder too early", t->id, t->alias_path);
		if (!!t->boot_effect_path != (t->boot_effect_path && t->boot_effect_path[0] == '/'))
			fail_msg("%s: its effect is no path", t->id);
		if (t->boot_effect_path && t->scope != SCOPE_BOOT)
			fail_msg("%s: boot_effect_path is for boot parameters", t->id);
	}
}

/* Every "*" of an id is some {kib} or {node} of the path, and nothing else is. */
static void placeholders_match(void **state)
{
	const struct tunable *t;

	for_each_row(t)
	{
		const char *where = t->scope == SCOPE_BOOT ? t->boot_effect_path : t->path;
		unsigned nodes = count(t->id, "node*"), sizes = count(t->id, "*") - nodes;

		if (!where)
			where = "";
		if (count(where, "{kib}") != sizes || count(where, "{node}") != nodes ||
		    count(where, "{") != sizes + nodes)
			fail_msg("%s: %s", t->id, where);
	}
}

static void paths_are_unique(void **state)
{
	size_t n;
	const struct tunable *rows = catalogue_rows(&n);

	for (size_t i = 0; i < n; i++)
		for (size_t j = i + 1; j < n; j++)
			if (rows[i].path && rows[j].path && streq(rows[i].path, rows[j].path))
				fail_msg("%s and %s have the same path", rows[i].id, rows[j].id);
}

static void ranges_are_sane(void **state)
{
	const struct tunable *t;

	for_each_row(t)
	{
		bool number = t->kind == VALUE_INTEGER || t->kind == VALUE_LIST;

		if (t->min > t->max || (!number && (t->min || t->max)))
			fail_msg("%s: %lld to %lld", t->id, (long long)t->min, (long long)t->max);
		if (number && t->min == t->max)
			fail_msg("%s: a number without a range", t->id);
		if (t->kind == VALUE_CHOICE && !t->choices)
			fail_msg("%s: a choice without words", t->id);
		if (t->choices && t->kind != VALUE_CHOICE && t->kind != VALUE_WORD)
			fail_msg("%s: words for a %s", t->id, value_kind_name(t->kind));
		if (t->unit == UNIT_PERCENT && t->max > 100 && t->max < 1000)
			fail_msg("%s: more than 100 percent", t->id);
		if (t->style != BOOLEAN_01 && t->kind != VALUE_BOOLEAN)
			fail_msg("%s: a style is for booleans", t->id);
	}
}

/* Walking the words ends at NULL, and none would be cut apart in a message or a file. */
static void choices_are_words(void **state)
{
	const struct tunable *t;

	for_each_row(t)
	{
		size_t n = 0;

		for (const char *const *c = t->choices; c && *c; c++, n++)
			if (!**c || strpbrk(*c, " \t[]"))
				fail_msg("%s: \"%s\"", t->id, *c);
		if (t->choices && (n < 2 || n > 16))
			fail_msg("%s: %zu words", t->id, n);
	}
}

static void links_are_mutual(void **state)
{
	const struct tunable *t;
	size_t n = 0;

	for_each_row(t)
	{
		const struct tunable *other = t->linked ? row_of(t->linked) : NULL;

		if (!t->linked)
			continue;
		if (!other || !other->linked || !streq(other->linked, t->id) || other == t)
			fail_msg("%s is linked to %s, but not the other way", t->id, t->linked);
		n++;
	}
	assert_int_equal(n, 6);
}

static void assert_before(const char *first, const char *second)
{
	const struct tunable *a = row_of(first), *b = row_of(second);

	if (!a || !b || a->order >= b->order)
		fail_msg("%s is not before %s", first, second);
}

static void order_holds(void **state)
{
	const struct tunable *t;

	assert_before("vm.hugetlb_optimize_vmemmap", "hugetlb.*.pages");
	assert_before("hugetlb.*.pages", "hugetlb.*.node*.pages");
	assert_before("thp.enabled", "vm.min_free_kbytes");
	assert_before("mthp.*.enabled", "vm.min_free_kbytes");
	assert_before("khugepaged.pages_to_scan", "vm.min_free_kbytes");
	assert_before("vm.overcommit_ratio", "vm.overcommit_memory");
	assert_before("vm.overcommit_kbytes", "vm.overcommit_memory");
	assert_before("vm.dirty_bytes", "vm.dirty_background_bytes");
	assert_before("vm.dirty_ratio", "vm.dirty_background_ratio");
	assert_before("memory.online_policy", "memory.auto_online_blocks");
	assert_before("numa.weighted_interleave.auto", "numa.weighted_interleave.node*");
	assert_before("ksm.pages_to_scan", "ksm.advisor_mode");
	assert_before("ksm.advisor_mode", "ksm.run");
	for_each_row(t)
	{
		if (in_section(t, "ksm") && !streq(t->id, "ksm.run"))
			assert_before(t->id, "ksm.run");
		if (in_section(t, "zswap") && !streq(t->id, "zswap.enabled"))
			assert_before(t->id, "zswap.enabled");
		if (startswith(t->id, "damon.reclaim.") && !streq(t->id, "damon.reclaim.enabled"))
			assert_before(t->id, "damon.reclaim.enabled");
		if (startswith(t->id, "damon.lru_sort.") && !streq(t->id, "damon.lru_sort.enabled"))
			assert_before(t->id, "damon.lru_sort.enabled");
	}
}

/* What the kernel moves when another thing is written has to come after that. */
static void disturbed_rows_come_later(void **state)
{
	const struct tunable *t;
	size_t n = 0;

	for_each_row(t) if (t->disturbs)
	{
		assert_before(t->id, t->disturbs);
		n++;
	}
	assert_true(n > 0);
}

static void every_section_has_rows(void **state)
{
	static const char *const sections[] = {
		"vm",	 "thp",	  "khugepaged", "mthp", "hugetlb",     "mglru",	 "ksm",
		"zswap", "damon", "numa",	"swap", "faultaround", "memory", "boot"
	};
	const struct tunable *t;
	size_t n = 0, runtime = 0;

	for (size_t i = 0; i < ARRAY_SIZE(sections); i++) {
		bool found = false;

		for_each_row(t) found = found || in_section(t, sections[i]);
		if (!found)
			fail_msg("nothing in [%s]", sections[i]);
		assert_true(catalogue_has_section(sections[i]));
	}
	for_each_row(t)
	{
		n++;
		runtime += t->scope == SCOPE_RUNTIME;
	}
	assert_true(runtime >= 70);
	assert_true(n > runtime);
	assert_true(catalogue_has_section("sysctl"));
	assert_true(catalogue_has_section("sysfs"));
	assert_false(catalogue_has_section("Policy"));
	assert_false(catalogue_has_section("v"));
	assert_false(catalogue_has_section(""));
}

/* Files that do something each time they are written are commands, not settings. */
static void no_commands(void **state)
{
	static const char *const forbidden[] = { "drop_caches",	   "compact_memory", "demote",	     "debug/lru_gen",
						 "memory.reclaim", "stat_refresh",   "commit_inputs" };
	const struct tunable *t;

	for_each_row(t)
	{
		for (size_t i = 0; i < ARRAY_SIZE(forbidden); i++) {
			size_t path_length = t->path ? strlen(t->path) : 0, n = strlen(forbidden[i]);

			if (path_length >= n && streq(t->path + path_length - n, forbidden[i]))
				fail_msg("%s is a command", t->id);
		}
	}
	assert_null(row_of("vm.drop_caches"));
	assert_null(row_of("vm.compact_memory"));
}

static void auto_rules_name_their_facts(void **state)
{
	const struct tunable *t;

	for_each_row(t)
	{
		struct facts nothing = {};
		struct auto_choice choice = {};

		if (!!t->auto_rule != !!t->auto_groups)
			fail_msg("%s: a rule and the groups of its facts go together", t->id);
		if (!t->auto_rule)
			continue;
		/* Where nothing is known nothing is switched on. */
		t->auto_rule(&nothing, &choice);
		if (!choice.reason[0] || (!choice.keep && !streq(choice.value, "-1")))
			fail_msg("%s: chooses \"%s\" without facts", t->id, choice.value);
	}
}

static void names_of_the_enums(void **state)
{
	assert_string_equal(tunable_scope_name(SCOPE_RUNTIME), "runtime");
	assert_string_equal(tunable_scope_name(SCOPE_BOOT), "boot");
	assert_string_equal(comparison_name(COMPARE_MAY_RAISE), "may-raise");
	assert_string_equal(effect_check_name(EFFECT_FAULT_AROUND), "fault-around");
}

static void range_texts(void **state)
{
	static const struct {
		const char *id, *text;
	} cases[] = {
		{ "vm.swappiness", "0 to 200" },
		{ "vm.want_old_faultaround_pte", "-1 to 1" },
		{ "vm.min_free_kbytes", "a number (KiB)" },
		{ "vm.lowmem_reserve_ratio", "numbers" },
		{ "vm.dirty_bytes", "a number from 8192 (bytes)" },
		{ "thp.enabled", "always madvise never" },
		{ "zswap.enabled", "yes or no" },
		{ "zswap.compressor", "a word" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char buf[256];

		assert_string_equal(tunable_range_text(row_of(cases[i].id), buf), cases[i].text);
	}
}

/* Lookups. */

static void every_row_is_found_by_id_and_path(void **state)
{
	const struct tunable *t;

	for_each_row(t)
	{
		struct tunable_ref want = { .tunable = t, .node = count(t->id, "node*") ? 3 : -1 };
		_cleanup_(tunable_ref_clear) struct tunable_ref by_id = { .node = -1 }, by_path = { .node = -1 };
		_cleanup_free_ char *id = NULL, *path = NULL, *again = NULL;

		want.size_bytes = count(t->id, "*") > count(t->id, "node*") ? UINT64_C(2) << 20 : 0;
		id = tunable_ref_id(&want);
		assert_null(strchr(id, '*'));
		if (catalogue_find_id(id, &by_id) < 0 || by_id.tunable != t)
			fail_msg("%s is not found", id);
		assert_int_equal(by_id.size_bytes, want.size_bytes);
		assert_int_equal(by_id.node, want.node);
		again = tunable_ref_id(&by_id);
		assert_string_equal(again, id);

		path = tunable_ref_path(&by_id);
		assert_int_equal(path != NULL, t->path != NULL);
		if (!path || t->scope == SCOPE_BOOT)
			continue;
		assert_null(strchr(path, '{'));
		if (catalogue_find_path(path, &by_path) < 0 || by_path.tunable != t)
			fail_msg("%s is not found", path);
		assert_int_equal(by_path.size_bytes, want.size_bytes);
		assert_int_equal(by_path.node, want.node);
	}
}

static void sizes_and_nodes(void **state)
{
	static const struct {
		const char *id;
		int r;
		const char *canonical, *path;
	} cases[] = {
		{ "hugetlb.2M.pages", 0, "hugetlb.2M.pages", "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages" },
		{ "hugetlb.2MB.pages", 0, "hugetlb.2M.pages",
		  "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages" },
		{ "hugetlb.2m.pages", 0, "hugetlb.2M.pages", "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages" },
		{ "hugetlb.2048K.pages", 0, "hugetlb.2M.pages",
		  "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages" },
		{ "hugetlb.1GB.overcommit", 0, "hugetlb.1G.overcommit",
		  "/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_overcommit_hugepages" },
		{ "hugetlb.16G.node12.pages", 0, "hugetlb.16G.node12.pages",
		  "/sys/devices/system/node/node12/hugepages/hugepages-16777216kB/nr_hugepages" },
		{ "mthp.64K.enabled", 0, "mthp.64K.enabled",
		  "/sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled" },
		{ "numa.weighted_interleave.node0", 0, "numa.weighted_interleave.node0",
		  "/sys/kernel/mm/mempolicy/weighted_interleave/node0" },
		{ "vm.page-cluster", 0, "vm.page-cluster", "/proc/sys/vm/page-cluster" },
		{ "boot.transparent-hugepage", 0, "boot.transparent_hugepage", "transparent_hugepage" },
		{ "boot.zswap.max-pool-percent", 0, "boot.zswap.max_pool_percent", "zswap.max_pool_percent" },
		/* Sizes and nodes that are not. */
		{ "hugetlb.3M.pages", -EINVAL },
		{ "hugetlb.2X.pages", -EINVAL },
		{ "hugetlb.2048.pages", -EINVAL },
		{ "hugetlb.0M.pages", -EINVAL },
		{ "hugetlb.4K.pages", -EINVAL },
		{ "hugetlb.02M.pages", -EINVAL },
		{ "hugetlb.99999999999999999999G.pages", -EINVAL },
		{ "hugetlb.*.pages", -EINVAL },
		{ "hugetlb.2M.node01.pages", -EINVAL },
		{ "hugetlb.2M.node0x1.pages", -EINVAL },
		{ "hugetlb.2M.node1024.pages", -EINVAL },
		{ "hugetlb.2M.node*.pages", -EINVAL },
		{ "hugetlb.*.node1.pages", -EINVAL },
		/* Names that are not. */
		{ "hugetlb.2M.page", -ENOENT },
		{ "hugetlb.2M", -ENOENT },
		{ "hugetlb.pages", -ENOENT },
		{ "hugetlb.2M.1G.pages", -ENOENT },
		{ "hugetlb.node1.2M.pages", -ENOENT },
		{ "hugetlb.2M.node.pages", -ENOENT },
		{ "hugetlb.2M.pages.", -ENOENT },
		{ "hugetlb..pages", -ENOENT },
		{ "vm.", -ENOENT },
		{ "vm", -ENOENT },
		{ ".swappiness", -ENOENT },
		{ "", -ENOENT },
		{ "vm.Swappiness", -ENOENT },
		{ "vm.page_cluster", -ENOENT },
		{ "vmx.swappiness", -ENOENT },
		{ "khugepage.defrag", -ENOENT },
		{ "hugetlb.2M.free", -ENOENT },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct tunable_ref ref = { .size_bytes = 77, .node = 77 };
		int r = catalogue_find_id(cases[i].id, &ref);
		_cleanup_free_ char *id = NULL, *path = NULL;

		if (r != cases[i].r)
			fail_msg("%s: %d instead of %d", cases[i].id, r, cases[i].r);
		if (r < 0) {
			/* Results are written on success alone. */
			assert_null(ref.tunable);
			assert_int_equal(ref.node, 77);
			continue;
		}
		id = tunable_ref_id(&ref);
		path = tunable_ref_path(&ref);
		assert_string_equal(id, cases[i].canonical);
		assert_string_equal(path, cases[i].path);
		tunable_ref_clear(&ref);
	}
}

static void paths_that_are_none(void **state)
{
	static const char *const paths[] = {
		"",
		"vm/swappiness",
		"/proc/sys/vm/swappines",
		"/proc/sys/vm/swappiness/",
		"/proc/sys/vm/drop_caches",
		"transparent_hugepage",
		"/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages",
		"/sys/kernel/mm/hugepages/hugepages-kB/nr_hugepages",
		"/sys/kernel/mm/hugepages/hugepages-3000kB/nr_hugepages",
		"/sys/kernel/mm/hugepages/hugepages-02048kB/nr_hugepages",
		"/sys/kernel/mm/hugepages/hugepages-99999999999999999999kB/nr_hugepages",
		"/sys/kernel/mm/hugepages/hugepages-{kib}kB/nr_hugepages",
		"/sys/kernel/mm/mempolicy/weighted_interleave/node",
		"/sys/kernel/mm/mempolicy/weighted_interleave/node1024",
	};

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		struct tunable_ref ref;

		if (catalogue_find_path(paths[i], &ref) != -ENOENT)
			fail_msg("%s is found", paths[i]);
	}
}

static void alias_paths(void **state)
{
	struct tunable_ref ref;
	_cleanup_free_ char *id = NULL, *alias = NULL;

	/* The default size is a fact: by this file alone the size is not known. */
	assert_int_equal(catalogue_find_path("/proc/sys/vm/nr_hugepages", &ref), 0);
	assert_int_equal(ref.size_bytes, 0);
	id = tunable_ref_id(&ref);
	assert_string_equal(id, "hugetlb.*.pages");

	/* And so it never stands in for a size that was asked for. */
	assert_int_equal(catalogue_find_id("hugetlb.2M.pages", &ref), 0);
	assert_null(tunable_ref_alias_path(&ref));

	assert_int_equal(catalogue_find_id("numa.weighted_interleave.auto", &ref), 0);
	alias = tunable_ref_alias_path(&ref);
	assert_string_equal(alias, "/sys/kernel/mm/mempolicy/weighted_interleave/__auto_type");
	assert_int_equal(catalogue_find_path(alias, &ref), 0);
	assert_string_equal(ref.tunable->id, "numa.weighted_interleave.auto");
}

static void copies(void **state)
{
	_cleanup_(tunable_ref_clear) struct tunable_ref a = { .node = -1 }, b = { .node = -1 };

	assert_int_equal(catalogue_find_id("sysctl.kernel.panic", &a), 0);
	assert_int_equal(a.tunable->scope, SCOPE_RAW);
	assert_int_equal(tunable_ref_copy(&a, &b), 0);
	assert_ptr_equal(a.tunable, b.tunable);
	assert_string_equal(a.raw_path, b.raw_path);
	assert_ptr_not_equal(a.raw_path, b.raw_path);
}

static void nearest_names(void **state)
{
	assert_string_equal(catalogue_nearest("vm", "swapiness"), "swappiness");
	assert_string_equal(catalogue_nearest("vm", "page_cluster"), "page-cluster");
	assert_string_equal(catalogue_nearest("thp", "enable"), "enabled");
	assert_string_equal(catalogue_nearest("hugetlb", "2M.page"), "*.pages");
	assert_string_equal(catalogue_nearest("hugetlb", "1G.node0.page"), "*.node*.pages");
	assert_null(catalogue_nearest("vm", "entirely_else"));
	/* What is near in another section does not help. */
	assert_null(catalogue_nearest("zswap", "swappiness"));
	assert_string_equal(catalogue_nearest_section("hugetlbs"), "hugetlb");
	assert_string_equal(catalogue_nearest_section("sysctls"), "sysctl");
	assert_string_equal(catalogue_nearest_section("zwsap"), "zswap");
	assert_null(catalogue_nearest_section("Install"));
	/* Letters of another case are no slips. */
	assert_string_equal(catalogue_nearest_section("VM"), "vm");
	assert_string_equal(catalogue_nearest_section("Sysctl"), "sysctl");
	assert_string_equal(catalogue_nearest("vm", "SWAPPINESS"), "swappiness");
}

/* transparent_hugepages, in the plural, is no parameter: the kernel would ignore it without a word. */
static void case_09_plural_boot_parameter(void **state)
{
	struct tunable_ref ref;

	assert_int_equal(catalogue_find("boot", "transparent_hugepages", &ref), -ENOENT);
	assert_string_equal(catalogue_nearest("boot", "transparent_hugepages"), "transparent_hugepage");
	assert_int_equal(catalogue_find("boot", "transparent_hugepage", &ref), 0);
}

static void boot_tokens_and_effects(void **state)
{
	static const struct {
		const char *id, *value, *token, *path, *expected;
	} cases[] = {
		{ "boot.transparent_hugepage", "madvise", "transparent_hugepage=madvise",
		  "/sys/kernel/mm/transparent_hugepage/enabled", "madvise" },
		{ "boot.hugetlb_free_vmemmap", "1", "hugetlb_free_vmemmap=on", "/proc/sys/vm/hugetlb_optimize_vmemmap",
		  "1" },
		{ "boot.zswap.enabled", "N", "zswap.enabled=off", "/sys/module/zswap/parameters/enabled", "N" },
		{ "boot.numa_balancing", "enable", "numa_balancing=enable", "/proc/sys/kernel/numa_balancing", "1" },
		{ "boot.numa_balancing", "disable", "numa_balancing=disable", "/proc/sys/kernel/numa_balancing", "0" },
		{ "hugetlb.1G.boot_pages", "4", "hugepagesz=1G hugepages=4",
		  "/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages", "4" },
		{ "boot.movablecore", "4G", "movablecore=4G" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *token = NULL, *path = NULL, *expected = NULL;
		struct tunable_ref ref;

		assert_int_equal(catalogue_find_id(cases[i].id, &ref), 0);
		token = tunable_boot_token(&ref, cases[i].value);
		assert_string_equal(token, cases[i].token);
		assert_int_equal(tunable_boot_effect(&ref, cases[i].value, &path, &expected),
				 cases[i].path ? 0 : -ENOENT);
		if (!cases[i].path)
			continue;
		assert_string_equal(path, cases[i].path);
		assert_string_equal(expected, cases[i].expected);
	}
}

/* Raw sections. */

static void case_12_first_separator_decides(void **state)
{
	static const struct {
		const char *section, *key, *path;
	} cases[] = {
		{ "sysctl", "kernel.numa_balancing", "/proc/sys/kernel/numa_balancing" },
		{ "sysctl", "net.ipv4.conf.eth0/100.rp_filter", "/proc/sys/net/ipv4/conf/eth0.100/rp_filter" },
		{ "sysctl", "net/ipv4/conf/eth0.100/rp_filter", "/proc/sys/net/ipv4/conf/eth0.100/rp_filter" },
		{ "sysctl", "vm/user.x", "/proc/sys/vm/user.x" },
		{ "sysctl", "vm.lowmem_reserve_ratio", "/proc/sys/vm/lowmem_reserve_ratio" },
		{ "sysctl", "vm.page-cluster", "/proc/sys/vm/page-cluster" },
		{ "sysfs", "kernel/mm/page_idle/foo", "/sys/kernel/mm/page_idle/foo" },
		{ "sysfs", "kernel/mm/lru_gen/min_ttl_ms", "/sys/kernel/mm/lru_gen/min_ttl_ms" },
		{ "sysfs", "module/zswap/parameters/enabled", "/sys/module/zswap/parameters/enabled" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *path = NULL;

		assert_int_equal(catalogue_raw_path(cases[i].section, cases[i].key, &path), 0);
		assert_string_equal(path, cases[i].path);
	}
}

static void case_12_nothing_leads_out(void **state)
{
	static const struct {
		const char *section, *key;
		int r;
	} cases[] = {
		{ "sysctl", "vm/../../tmp/x", -EPERM },
		{ "sysctl", "vm/../vm/swappiness", -EPERM },
		{ "sysctl", "../sys/vm/swappiness", -EINVAL },
		{ "sysctl", "vm.//.//.tmp.x", -EPERM },
		{ "sysctl", "vm/..", -EPERM },
		{ "sysctl", "vm/./swappiness", -EPERM },
		{ "sysctl", "/proc/sys/vm/swappiness", -EINVAL },
		{ "sysctl", "", -EINVAL },
		{ "sysctl", ".", -EINVAL },
		{ "sysctl", "/", -EINVAL },
		{ "sysctl", "vm.", -EINVAL },
		{ "sysctl", "vm..swappiness", -EINVAL },
		{ "sysctl", "vm//swappiness", -EINVAL },
		{ "sysctl", "vm.dirty_*ratio", -EINVAL },
		{ "sysctl", "vm.swappiness vm.x", -EINVAL },
		{ "sysctl", "vm.swap\npiness", -EINVAL },
		{ "sysctl", "vm.swappiness\x7f", -EINVAL },
		{ "sysfs", "kernel/mm/../../module/x/parameters/y", -EPERM },
		{ "sysfs", "kernel/mm/..", -EPERM },
		{ "sysfs", "kernel/mm", -EPERM },
		{ "sysfs", "kernel/mm/", -EINVAL },
		{ "sysfs", "kernel/mmx/y", -EPERM },
		{ "sysfs", "kernel/slab/x/cpu_partial", -EPERM },
		{ "sysfs", "block/sda/queue/scheduler", -EPERM },
		{ "sysfs", "power/state", -EPERM },
		{ "sysfs", "module/zswap/parameters", -EPERM },
		{ "sysfs", "module/zswap/parameters/", -EINVAL },
		{ "sysfs", "module/zswap/parameters/a/b", -EPERM },
		{ "sysfs", "module/zswap/sections/parameters/a", -EPERM },
		{ "sysfs", "module/zswap/uevent", -EPERM },
		{ "sysfs", "module//parameters/x", -EINVAL },
		{ "sysfs", "/sys/kernel/mm/ksm/run", -EINVAL },
		{ "sysfs", "", -EINVAL },
		{ "vm", "swappiness", -EINVAL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *path = NULL;
		int r = catalogue_raw_path(cases[i].section, cases[i].key, &path);

		if (r != cases[i].r || path)
			fail_msg("[%s] %s: %d (%s) instead of %d", cases[i].section, cases[i].key, r,
				 path ? path : "no path", cases[i].r);
	}
}

/* However a key was written, one path has one id, and that id leads to the same path again. */
static void case_12_one_path_one_id(void **state)
{
	static const struct {
		const char *section, *key, *id;
	} cases[] = {
		{ "sysctl", "kernel/panic", "sysctl.kernel.panic" },
		{ "sysctl", "kernel.panic", "sysctl.kernel.panic" },
		{ "sysctl", "net.ipv4.conf.eth0/100.rp_filter", "sysctl.net/ipv4/conf/eth0.100/rp_filter" },
		{ "sysctl", "net/ipv4/conf/eth0.100/rp_filter", "sysctl.net/ipv4/conf/eth0.100/rp_filter" },
		{ "sysfs", "kernel/mm/page_idle/a.b", "sysfs.kernel/mm/page_idle/a.b" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(tunable_ref_clear) struct tunable_ref ref = { .node = -1 }, again = { .node = -1 };
		_cleanup_free_ char *id = NULL, *path = NULL;

		assert_int_equal(catalogue_find(cases[i].section, cases[i].key, &ref), 0);
		id = tunable_ref_id(&ref);
		assert_string_equal(id, cases[i].id);
		assert_int_equal(catalogue_find_id(id, &again), 0);
		path = tunable_ref_path(&ref);
		assert_string_equal(again.raw_path, path);
	}
}

/* Far above what the machine needs, so that a slow search shows and a busy machine does not. */
static void lookups_are_quick(void **state)
{
	struct timespec a, b;
	double seconds;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
	for (unsigned i = 0; i < 100000; i++) {
		struct tunable_ref ref;

		assert_int_equal(catalogue_find("hugetlb", "2M.node1.pages", &ref), 0);
		assert_int_equal(catalogue_find_path("/proc/sys/vm/zone_reclaim_mode", &ref), 0);
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
	seconds = (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9;
	print_message("100000 lookups by id and by path: %.3f s\n", seconds);
	assert_true(seconds < 5);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_sorted),
		cmocka_unit_test(rows_are_complete),
		cmocka_unit_test(paths_fit_the_scope),
		cmocka_unit_test(placeholders_match),
		cmocka_unit_test(paths_are_unique),
		cmocka_unit_test(ranges_are_sane),
		cmocka_unit_test(choices_are_words),
		cmocka_unit_test(links_are_mutual),
		cmocka_unit_test(order_holds),
		cmocka_unit_test(disturbed_rows_come_later),
		cmocka_unit_test(every_section_has_rows),
		cmocka_unit_test(no_commands),
		cmocka_unit_test(auto_rules_name_their_facts),
		cmocka_unit_test(names_of_the_enums),
		cmocka_unit_test(range_texts),
		cmocka_unit_test(every_row_is_found_by_id_and_path),
		cmocka_unit_test(sizes_and_nodes),
		cmocka_unit_test(paths_that_are_none),
		cmocka_unit_test(alias_paths),
		cmocka_unit_test(copies),
		cmocka_unit_test(nearest_names),
		cmocka_unit_test(case_09_plural_boot_parameter),
		cmocka_unit_test(boot_tokens_and_effects),
		cmocka_unit_test(case_12_first_separator_decides),
		cmocka_unit_test(case_12_nothing_leads_out),
		cmocka_unit_test(case_12_one_path_one_id),
		cmocka_unit_test(lookups_are_quick),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
