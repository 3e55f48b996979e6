/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/btf.h"

#include <linux/btf.h>
#include <sys/mman.h>

#include "temp-dir.h"

/* BTF made by hand: a string table and types, each appended as it comes. */
struct image {
	char types[128 * 1024], strings[256 * 1024];
	size_t n_types, n_strings;
};

static struct image *image_new(void)
{
	struct image *i = calloc(1, sizeof(*i));

	assert_non_null(i);
	i->n_strings = 1; /* the empty name */
	return i;
}

static uint32_t add_string(struct image *i, const char *s)
{
	uint32_t offset = i->n_strings;

	memcpy(i->strings + offset, s, strlen(s) + 1);
	i->n_strings += strlen(s) + 1;
	return offset;
}

static void add_bytes(struct image *i, const void *data, size_t size)
{
	assert_true(i->n_types + size <= sizeof(i->types));
	memcpy(i->types + i->n_types, data, size);
	i->n_types += size;
}

static void add_type(struct image *i, uint32_t name, unsigned kind, unsigned vlen, uint32_t size)
{
	struct btf_type t = { .name_off = name, .info = kind << 24 | vlen, .size = size };

	add_bytes(i, &t, sizeof(t));
}

static void add_struct(struct image *i, const char *name, uint32_t size, const char *const *members)
{
	unsigned n = 0;

	while (members[n])
		n++;
	add_type(i, add_string(i, name), BTF_KIND_STRUCT, n, size);
	for (unsigned k = 0; k < n; k++) {
		struct btf_member m = { .name_off = add_string(i, members[k]), .type = 1 };

		add_bytes(i, &m, sizeof(m));
	}
}

#define MEMBERS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static int find(const struct image *i, size_t cut, struct btf_findings *ret)
{
	struct btf_header h = { .magic = BTF_MAGIC,
				.version = BTF_VERSION,
				.hdr_len = sizeof(h),
				.type_len = i->n_types,
				.str_off = i->n_types,
				.str_len = i->n_strings };
	_cleanup_close_ int fd = memfd_create("btf", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write_all(fd, &h, sizeof(h)), 0);
	assert_int_equal(write_all(fd, i->types, i->n_types), 0);
	assert_int_equal(write_all(fd, i->strings, i->n_strings), 0);
	if (cut)
		assert_int_equal(ftruncate(fd, (off_t)(sizeof(h) + i->n_types + i->n_strings - cut)), 0);
	return btf_find(fd, ret);
}

/* One type of every kind, so that each one's length is stepped over. */
static void add_all_kinds(struct image *i)
{
	static const struct {
		unsigned kind, behind;
	} kinds[] = {
		{ BTF_KIND_INT, 4 },
		{ BTF_KIND_PTR, 0 },
		{ BTF_KIND_ARRAY, 12 },
		{ BTF_KIND_UNION, 36 },
		{ BTF_KIND_ENUM, 24 },
		{ BTF_KIND_FWD, 0 },
		{ BTF_KIND_TYPEDEF, 0 },
		{ BTF_KIND_VOLATILE, 0 },
		{ BTF_KIND_CONST, 0 },
		{ BTF_KIND_RESTRICT, 0 },
		{ BTF_KIND_FUNC, 0 },
		{ BTF_KIND_FUNC_PROTO, 24 },
		{ BTF_KIND_VAR, 4 },
		{ BTF_KIND_DATASEC, 36 },
		{ BTF_KIND_FLOAT, 0 },
		{ 17, 4 },
		{ 18, 0 },
		{ 19, 36 },
	};
	char behind[36];

	/* Were one of them too short or too long, these bytes would be taken for types of an unknown kind. */
	memset(behind, 0xff, sizeof(behind));
	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		add_type(i, 0, kinds[k].kind, 3, 0);
		add_bytes(i, behind, kinds[k].behind);
	}
}

static void each_form_of_kernel(void **state)
{
	static const struct {
		const char *walk, *zone;
		bool has_tail, has_tails;
	} table[] = {
		{ "reuse_page", "pages", false, false },
		{ "vmemmap_tail", "pages", true, false },
		{ "vmemmap_tail", "vmemmap_tails", true, true },
	};

	for (size_t k = 0; k < ARRAY_SIZE(table); k++) {
		_cleanup_free_ struct image *i = image_new();
		struct btf_findings f = {};

		add_all_kinds(i);
		add_struct(i, "page_x", 1, MEMBERS("vmemmap_tail"));
		add_struct(i, "page", 64, MEMBERS("flags", "lru"));
		add_struct(i, "vmemmap_remap_walk", 8, MEMBERS("a", table[k].walk));
		add_all_kinds(i);
		add_struct(i, "zone", 8, MEMBERS(table[k].zone, "b"));
		assert_int_equal(find(i, 0, &f), 0);
		assert_int_equal(f.struct_page_bytes, 64);
		assert_true(f.has_remap_walk);
		assert_int_equal(f.walk_has_tail, table[k].has_tail);
		assert_int_equal(f.zone_has_tails, table[k].has_tails);
	}
}

static void no_hvo(void **state)
{
	_cleanup_free_ struct image *i = image_new();
	struct btf_findings f = {};

	add_struct(i, "page", 56, MEMBERS("flags"));
	/* a pointer and a typedef of the name are no struct */
	add_type(i, add_string(i, "vmemmap_remap_walk"), BTF_KIND_FWD, 0, 0);
	assert_int_equal(find(i, 0, &f), 0);
	assert_int_equal(f.struct_page_bytes, 56);
	assert_false(f.has_remap_walk);
}

/* A function of the name, not a variable nor a structure of it; ordinary kernels have none. */
static void a_function(void **state)
{
	_cleanup_free_ struct image *i = image_new();
	struct btf_findings f = {};
	uint32_t name;

	add_struct(i, "page", 64, MEMBERS("flags"));
	add_type(i, add_string(i, "vm_committed_as_below_x"), BTF_KIND_FUNC, 1, 1);
	assert_int_equal(find(i, 0, &f), 0);
	assert_false(f.has_exact_commit);
	name = add_string(i, "vm_committed_as_below");
	add_type(i, name, BTF_KIND_STRUCT, 0, 1);
	add_type(i, name, BTF_KIND_TYPEDEF, 0, 1);
	assert_int_equal(find(i, 0, &f), 0);
	assert_false(f.has_exact_commit);
	/* vlen is the linkage of a function: nothing is behind it */
	add_type(i, name, BTF_KIND_FUNC, 1, 1);
	add_all_kinds(i);
	add_struct(i, "zone", 8, MEMBERS("vmemmap_tails"));
	assert_int_equal(find(i, 0, &f), 0);
	assert_true(f.has_exact_commit);
	assert_true(f.zone_has_tails);
	assert_int_equal(f.struct_page_bytes, 64);
}

/* Names on both sides of every edge of the window, and one that is longer than it. */
static void names_across_the_window(void **state)
{
	for (size_t shift = 16384 - 24; shift < 16384 + 4; shift++) {
		_cleanup_free_ struct image *i = image_new();
		_cleanup_free_ char *filler = calloc(1, 40001);
		struct btf_findings f = {};

		memset(filler, 'x', shift);
		add_string(i, filler);
		add_struct(i, "vmemmap_remap_walk", 8, MEMBERS("vmemmap_tail"));
		memset(filler, 'y', 40000);
		add_string(i, filler);
		add_struct(i, "page", 64, MEMBERS("flags"));
		assert_int_equal(find(i, 0, &f), 0);
		assert_true(f.has_remap_walk);
		assert_true(f.walk_has_tail);
		assert_int_equal(f.struct_page_bytes, 64);
	}
}

static void types_across_the_window(void **state)
{
	_cleanup_free_ struct image *i = image_new();
	struct btf_findings f = {};

	while (i->n_types < 100000)
		add_all_kinds(i);
	add_struct(i, "page", 64, MEMBERS("flags"));
	assert_int_equal(find(i, 0, &f), 0);
	assert_int_equal(f.struct_page_bytes, 64);
}

static void what_is_no_btf(void **state)
{
	_cleanup_free_ struct image *i = image_new();
	struct btf_findings f = { .struct_page_bytes = 7 };
	_cleanup_close_ int fd = memfd_create("btf", MFD_CLOEXEC);

	assert_int_equal(btf_find(fd, &f), -ENODATA);
	assert_int_equal(write_all(fd, "\x9f\xeb", 2), 0);
	assert_int_equal(btf_find(fd, &f), -EBADMSG);
	assert_int_equal(write_all(fd, "ELF, and long enough to be a header", 35), 0);
	assert_int_equal(btf_find(fd, &f), -EBADMSG);
	assert_int_equal(btf_find(-1, &f), -EBADF);

	add_struct(i, "page", 64, MEMBERS("flags"));
	/* cut short anywhere: an error, never half an answer */
	for (size_t cut = 1; cut < i->n_types + i->n_strings; cut++)
		assert_int_equal(find(i, cut, &f), -EBADMSG);
	/* a name that has no type here, so that all types are looked at */
	add_string(i, "zone");
	/* more members than there are bytes */
	add_type(i, 1, BTF_KIND_STRUCT, 0xffff, 0);
	assert_int_equal(find(i, 0, &f), -EBADMSG);
	i->n_types -= sizeof(struct btf_type);
	add_type(i, 0, 31, 0, 0);
	assert_int_equal(find(i, 0, &f), -EBADMSG);
	assert_int_equal(f.struct_page_bytes, 7);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_form_of_kernel),
		cmocka_unit_test(no_hvo),
		cmocka_unit_test(a_function),
		cmocka_unit_test(names_across_the_window),
		cmocka_unit_test(types_across_the_window),
		cmocka_unit_test(what_is_no_btf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
