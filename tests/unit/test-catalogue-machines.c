/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "test.h"

#include "core/catalogue.h"
#include "core/kernel-io.h"

/*
 * The rows against machines: the captured ones and the one this runs on.  What a file holds shows whether kind, style,
 * range and words of its row are right, and that it is there shows that the row's "since" is not too late.
 * That a write of each allowed value is taken is not shown here.
 */

struct machine {
	const char *name;
	struct kernel_io *io;
	char *release;
	unsigned checked;
};

static void check_choices(const struct machine *m, const struct tunable *t, const char *path, const char *text)
{
	_cleanup_(strv_freep) char **offered = NULL;

	assert_int_equal(value_choices(text, &offered), 0);
	for (size_t i = 0; offered && offered[i]; i++) {
		bool known = false;

		for (const char *const *c = t->choices; *c; c++)
			known = known || streq(*c, offered[i]);
		if (!known)
			fail_msg("%s: %s offers \"%s\", the row does not", m->name, path, offered[i]);
	}
}

/* What stands there until somebody sets it, and what nobody can set: the kernel's own word for "not set". */
static bool is_unset(const struct tunable *t, int64_t n)
{
	return (t->linked && n == 0) || (streq(t->id, "memory.page_reporting_order") && n == -1);
}

static void check_value(const struct machine *m, const struct tunable *t, const char *path, const char *text)
{
	struct value v = {};
	bool listed = !t->choices;

	if (value_from_kernel(t->kind, t->style, text, &v) < 0)
		fail_msg("%s: %s holds \"%s\", which is no %s", m->name, path, text, value_kind_name(t->kind));
	if (t->kind == VALUE_INTEGER && (t->min || t->max) && (v.number < t->min || v.number > t->max) &&
	    !is_unset(t, v.number))
		fail_msg("%s: %s holds %s, outside the row's range", m->name, path, v.text);
	for (const char *const *c = t->choices; c && *c; c++)
		listed = listed || streq(*c, v.text);
	if (!listed)
		fail_msg("%s: %s holds \"%s\", the row has no such word", m->name, path, v.text);
	if (t->kind == VALUE_CHOICE)
		check_choices(m, t, path, text);
	value_clear(&v);
}

static void check_ref(struct machine *m, const struct tunable_ref *ref)
{
	const struct tunable *t = ref->tunable;
	_cleanup_free_ char *path = tunable_ref_path(ref), *alias = tunable_ref_alias_path(ref), *text = NULL;

	assert_non_null(path);
	if (!kernel_io_exists(m->io, path)) {
		if (!alias || !kernel_io_exists(m->io, alias))
			return;
		free(path);
		path = TAKE_PTR(alias);
	}
	if (!streq(t->since, "patched") && kernel_release_compare(m->release, t->since) < 0)
		fail_msg("%s: Linux %s has %s, the row says since %s", m->name, m->release, path, t->since);
	/* Some are for root's eyes only. */
	if (kernel_io_read_line(m->io, path, &text) < 0)
		return;
	check_value(m, t, path, text);
	m->checked++;
}

/* A row without place holders once, else for every size and node that a machine may have. */
static void check_row(struct machine *m, const struct tunable *t)
{
	bool sizes = strstr(t->path, "{kib}"), nodes = strstr(t->path, "{node}");

	for (uint64_t size = sizes ? UINT64_C(8) << 10 : 0; size <= UINT64_C(16) << 30;
	     size = size ? size * 2 : UINT64_MAX)
		for (int node = nodes ? 0 : -1; node < (nodes ? 4 : 0); node++) {
			const struct tunable_ref ref = { .tunable = t, .size_bytes = size, .node = node };

			check_ref(m, &ref);
		}
}

static void check_machine(const char *name, const char *root, unsigned at_least)
{
	_cleanup_(kernel_io_freep) struct kernel_io *io = NULL;
	_cleanup_free_ char *release = NULL;
	struct machine m = { .name = name };
	size_t n;
	const struct tunable *rows = catalogue_rows(&n);

	assert_int_equal(kernel_io_open(root, &io), 0);
	assert_int_equal(kernel_io_read_line(io, "/proc/sys/kernel/osrelease", &release), 0);
	m.io = io;
	m.release = release;
	for (size_t i = 0; i < n; i++)
		if (rows[i].scope == SCOPE_RUNTIME)
			check_row(&m, &rows[i]);
	print_message("%s: %u files fit their rows\n", name, m.checked);
	if (m.checked < at_least)
		fail_msg("%s: only %u files were looked at", name, m.checked);
}

static void check_sysroot(const char *name)
{
	const char *sources = getenv("TEST_SOURCES");
	_cleanup_free_ char *root = xasprintf("%s/../sysroots/%s", sources ? sources : ".", name);

	check_machine(name, root, 60);
}

static void debian_6_1_x86_64(void **state)
{
	check_sysroot("debian-6.1-x86_64");
}

static void debian_6_1_arm64(void **state)
{
	check_sysroot("debian-6.1-cortex-a72");
}

static void debian_6_12_x86_64(void **state)
{
	check_sysroot("debian-6.12-x86_64");
}

static void debian_6_12_arm64(void **state)
{
	check_sysroot("debian-6.12-arm64");
}

static void microvm_6_18(void **state)
{
	check_sysroot("microvm-6.18-x86_64");
}

/* Whatever this runs on, down to a container in which /sys is nearly empty. */
static void this_machine(void **state)
{
	check_machine("this machine", NULL, 1);
}

/* Why a file of /proc/sys/vm is no row. */
static const struct {
	const char *name, *reason;
} left_out[] = {
	{ "compact_memory", "a command" },
	{ "drop_caches", "a command" },
	{ "stat_refresh", "a command" },
	{ "nr_hugepages", "hugetlb.*.pages, for the default size" },
	{ "nr_hugepages_mempolicy", "obeys the memory policy of the writer" },
	{ "nr_overcommit_hugepages", "hugetlb.*.overcommit, for the default size" },
	{ "hugepages_treat_as_movable", "without effect since 4.16" },
	{ "numa_zonelist_order", "without effect since 4.14" },
	{ "legacy_va_layout", "address space layout, not memory management" },
	{ "memfd_noexec", "security" },
	{ "mmap_min_addr", "security" },
	{ "mmap_rnd_bits", "security" },
	{ "mmap_rnd_compat_bits", "security" },
	{ "unprivileged_userfaultfd", "security" },
	{ "block_dump", "debugging, gone since 5.14" },
	{ "shrink_inodes_with_pagecache", "not of mainline" },
};

/* A new file in /proc/sys/vm is either a row or left out for a reason. */
static void nothing_is_forgotten(void **state)
{
	static const char *const roots[] = { "debian-6.1-x86_64", "debian-6.12-x86_64", "debian-6.12-arm64",
					     "microvm-6.18-x86_64" };
	const char *sources = getenv("TEST_SOURCES");

	for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
		_cleanup_free_ char *root = xasprintf("%s/../sysroots/%s", sources ? sources : ".", roots[i]);
		_cleanup_(kernel_io_freep) struct kernel_io *io = NULL;
		_cleanup_(strv_freep) char **names = NULL;

		assert_int_equal(kernel_io_open(root, &io), 0);
		assert_int_equal(kernel_io_list(io, "/proc/sys/vm", &names), 0);
		assert_true(strv_length(names) > 20);
		for (size_t k = 0; names[k]; k++) {
			struct tunable_ref ref;
			bool excused = catalogue_find("vm", names[k], &ref) == 0;

			for (size_t j = 0; j < ARRAY_SIZE(left_out); j++)
				excused = excused || streq(left_out[j].name, names[k]);
			if (!excused)
				fail_msg("%s: vm.%s is neither a row nor left out for a reason", roots[i], names[k]);
		}
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(debian_6_1_x86_64),	cmocka_unit_test(debian_6_1_arm64),
		cmocka_unit_test(debian_6_12_x86_64),	cmocka_unit_test(debian_6_12_arm64),
		cmocka_unit_test(microvm_6_18),		cmocka_unit_test(this_machine),
		cmocka_unit_test(nothing_is_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
