/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/number.h"
#include "base/strutil.h"
#include "core/facts-internal.h"
#include "core/mounts.h"

#define POOLS "/sys/kernel/mm/hugepages"
#define NODES "/sys/devices/system/node"
#define OPTIMIZED_FILE "vmemmap_optimized_hugepages"

static int compare_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

int list_page_sizes(struct kernel_io *io, const char *path, uint64_t **ret, size_t *ret_n)
{
	_cleanup_(strv_freep) char **names = NULL;
	_cleanup_free_ uint64_t *sizes = NULL;
	size_t n = 0;
	int r;

	r = kernel_io_list(io, path, &names);
	if (r < 0)
		return r;
	sizes = calloc(strv_length(names) + 1, sizeof(*sizes));
	if (!sizes)
		return -ENOMEM;
	for (size_t i = 0; names && names[i]; i++) {
		const char *size = startswith(names[i], "hugepages-");
		uint64_t bytes;

		/* "hugepages-2048kB" */
		if (size && endswith(size, "kB") && parse_size(size, &bytes, NULL) == 0 && bytes > 0)
			sizes[n++] = bytes;
	}
	qsort(sizes, n, sizeof(*sizes), compare_size);
	*ret = TAKE_PTR(sizes);
	*ret_n = n;
	return 0;
}

/* A counter of one pool; its name is made of prefix ("hugetlb.2M") and suffix. */
static void put_counter(struct prober *p, const char *prefix, const char *suffix, const char *directory,
			const char *file)
{
	_cleanup_free_ char *name = prober_format(p, "%s.%s", prefix, suffix);
	_cleanup_free_ char *path = prober_format(p, "%s/%s", directory, file);

	if (name && path)
		put_file_number(p, name, path);
}

static void put_node_pools(struct prober *p, const char *size, uint64_t kib)
{
	_cleanup_free_ char *list = NULL;
	const char *s;
	uint32_t first, last;

	/* A node without memory has the files too, and they are never other than 0. */
	list = prober_read_line(p, NODES "/has_memory", NULL);
	for (s = list; s && list_next(&s, &first, &last) > 0;)
		for (uint32_t node = first; node <= last && node - first < 4096; node++) {
			_cleanup_free_ char *prefix = prober_format(p, "hugetlb.%s.node%u", size, node);
			_cleanup_free_ char *directory = prober_format(p, NODES "/node%u/hugepages/hugepages-%llukB",
								       node, (unsigned long long)kib);

			if (!prefix || !directory || !kernel_io_exists(p->io, directory))
				continue;
			put_counter(p, prefix, "pages", directory, "nr_hugepages");
			put_counter(p, prefix, "free_pages", directory, "free_hugepages");
			put_counter(p, prefix, "surplus_pages", directory, "surplus_hugepages");
		}
}

static void put_pool(struct prober *p, uint64_t bytes)
{
	_cleanup_free_ char *prefix = NULL, *directory = NULL, *optimized = NULL;
	char size[24];

	format_size_exact(bytes, size);
	prefix = prober_format(p, "hugetlb.%s", size);
	directory = prober_format(p, POOLS "/hugepages-%llukB", (unsigned long long)(bytes / 1024));
	if (!prefix || !directory)
		return;
	put_counter(p, prefix, "pages", directory, "nr_hugepages");
	put_counter(p, prefix, "free_pages", directory, "free_hugepages");
	put_counter(p, prefix, "reserved_pages", directory, "resv_hugepages");
	put_counter(p, prefix, "surplus_pages", directory, "surplus_hugepages");
	put_counter(p, prefix, "overcommit_pages", directory, "nr_overcommit_hugepages");
	/* Most kernels do not count them: that is not worth a line for each size. */
	optimized = prober_format(p, "%s/" OPTIMIZED_FILE, directory);
	if (optimized && kernel_io_exists(p->io, optimized))
		put_counter(p, prefix, "optimized_pages", directory, OPTIMIZED_FILE);
	put_node_pools(p, size, bytes / 1024);
}

struct hugetlb_mounts {
	struct prober *p;
	char **list;
};

static int take_mount(void *userdata, const struct mount_line *line)
{
	struct hugetlb_mounts *m = userdata;
	const char *size;
	size_t n;
	char *item;

	if (!streq(line->type, "hugetlbfs"))
		return 0;
	size = mount_option(line->options, "pagesize", &n);
	item = size ? prober_format(m->p, "%s (%.*s)", line->target, (int)MIN(n, 64U), size)
		    : prober_format(m->p, "%s", line->target);
	return item ? strv_push(&m->list, item) : -ENOMEM;
}

static char *join(struct prober *p, char *const *list)
{
	size_t size = 1;
	char *joined, *o;

	for (size_t i = 0; list && list[i]; i++)
		size += strlen(list[i]) + 1;
	joined = o = malloc(size);
	if (!joined) {
		p->error = -ENOMEM;
		return NULL;
	}
	for (size_t i = 0; list && list[i]; i++) {
		if (i > 0)
			*o++ = ' ';
		o = stpcpy(o, list[i]);
	}
	*o = '\0';
	return joined;
}

static void put_mounts(struct prober *p)
{
	_cleanup_(strv_freep) char **list = NULL;
	_cleanup_free_ char *text = NULL, *word = NULL;
	struct hugetlb_mounts m = { .p = p };
	int r;

	text = prober_read(p, "/proc/mounts", &r);
	if (!text) {
		put_unreadable(p, "hugetlb.mounts", "/proc/mounts", r);
		return;
	}
	r = mounts_parse(text, take_mount, &m);
	list = m.list;
	if (r < 0)
		p->error = r;
	word = list ? join(p, list) : prober_format(p, "none");
	put_word(p, "hugetlb.mounts", word, CONFIDENCE_READ, "/proc/mounts");
}

static void put_default_size(struct prober *p)
{
	_cleanup_free_ char *text = NULL;
	uint64_t kib;
	int r;

	text = prober_read(p, "/proc/meminfo", &r);
	if (text)
		r = keyed_u64(text, "Hugepagesize", &kib);
	if (r == 0 && kib <= UINT64_MAX / 1024)
		put_number(p, FACT_HUGETLB_DEFAULT_SIZE, kib * 1024, CONFIDENCE_READ, "/proc/meminfo Hugepagesize");
	else
		put_unreadable(p, FACT_HUGETLB_DEFAULT_SIZE, "/proc/meminfo Hugepagesize", r ?: -ERANGE);
}

static void put_total(struct prober *p, const uint64_t *sizes, size_t n)
{
	uint64_t total = 0;

	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *name = NULL;
		char size[24];
		uint64_t pages;

		name = prober_format(p, FACT_HUGETLB_PAGES, format_size_exact(sizes[i], size));
		if (name && facts_number(p->facts, name, &pages) == 0)
			total += pages * sizes[i];
	}
	put_number(p, FACT_HUGETLB_BYTES, total, CONFIDENCE_COMPUTED, POOLS ": sum of nr_hugepages x size");
}

void facts_probe_hugetlb(struct prober *p)
{
	_cleanup_(strv_freep) char **names = NULL;
	_cleanup_free_ uint64_t *sizes = NULL;
	_cleanup_free_ char *word = NULL;
	size_t n = 0;
	int r;

	put_default_size(p);
	r = list_page_sizes(p->io, POOLS, &sizes, &n);
	if (r < 0) {
		put_unreadable(p, FACT_HUGETLB_SIZES, POOLS, r);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		char size[24], *copy = prober_format(p, "%s", format_size_exact(sizes[i], size));

		if (!copy || strv_push(&names, copy) < 0) {
			p->error = -ENOMEM;
			return;
		}
	}
	word = join(p, names);
	put_word(p, FACT_HUGETLB_SIZES, word, CONFIDENCE_READ, POOLS);
	for (size_t i = 0; i < n; i++)
		put_pool(p, sizes[i]);
	put_total(p, sizes, n);
	put_mounts(p);
}
