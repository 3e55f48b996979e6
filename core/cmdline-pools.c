/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Huge page pools on the command line: what mm/hugetlb.c makes of hugepagesz=, hugepages= and default_hugepagesz=, step by step. */
#include "base/macros.h"
#include "base/strutil.h"
#include "core/cmdline.h"

/* Where the next count goes. */
enum target {
	TARGET_DEFAULT, /* no size was named yet: to the default size, whichever that will be */
	TARGET_SIZE,	/* the size that was added last */
};

struct parser {
	const struct cmdline_hugetlb *machine;
	struct cmdline_pool *pools; /* the kernel's hstates: each size once, in the order in which they were named */
	size_t n;
	size_t current;	       /* parsed_hstate */
	bool usable;	       /* parsed_valid_hugepagesz: the next count is not dropped */
	bool default_is_named; /* parsed_default_hugepagesz */
	size_t default_index;
	struct cmdline_pool implicit;	 /* counted before any size was named */
	const struct cmdline_pool *last; /* which got the last count */
};

static struct cmdline_pool *find_pool(struct parser *p, uint64_t size_bytes)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->pools[i].size_bytes == size_bytes)
			return &p->pools[i];
	return NULL;
}

/* Known already: the size that counts go to stays what it was. */
static struct cmdline_pool *add_pool(struct parser *p, uint64_t size_bytes, size_t named_by)
{
	struct cmdline_pool *pool = find_pool(p, size_bytes);

	if (pool)
		return pool;
	p->current = p->n++;
	pool = &p->pools[p->current];
	*pool = (struct cmdline_pool){ .size_bytes = size_bytes, .named_by = named_by };
	return pool;
}

static void count_as_implicit(const struct parser *p, struct cmdline_pool *pool)
{
	pool->pages = p->implicit.pages;
	pool->is_counted = true;
	pool->counted_by = p->implicit.counted_by;
}

static bool size_is_supported(const struct parser *p, uint64_t size_bytes)
{
	if (size_bytes == 0 || (size_bytes & (size_bytes - 1)) != 0)
		return false;
	for (size_t i = 0; i < p->machine->n_sizes; i++)
		if (p->machine->sizes_bytes[i] == size_bytes)
			return true;
	return p->machine->n_sizes == 0;
}

static void take_size(struct parser *p, const char *value, size_t param)
{
	uint64_t size_bytes = cmdline_size(value);
	struct cmdline_pool *pool;

	p->usable = false;
	if (!size_is_supported(p, size_bytes))
		return;
	pool = find_pool(p, size_bytes);
	/* Twice is once too often, but for the default size as long as it has no count. */
	if (pool && (!p->default_is_named || pool != &p->pools[p->default_index] || pool->pages))
		return;
	pool = pool ?: add_pool(p, size_bytes, param);
	p->current = (size_t)(pool - p->pools);
	p->usable = true;
}

static void take_default_size(struct parser *p, const char *value, size_t param)
{
	uint64_t size_bytes = cmdline_size(value);
	struct cmdline_pool *pool;

	p->usable = false;
	if (p->default_is_named || !size_is_supported(p, size_bytes))
		return;
	pool = add_pool(p, size_bytes, param);
	p->usable = p->default_is_named = true;
	p->default_index = (size_t)(pool - p->pools);
	if (p->implicit.pages) {
		count_as_implicit(p, pool);
		p->implicit = (struct cmdline_pool){};
	}
}

static bool take_decimal(const char **s, uint64_t *ret)
{
	uint64_t n = 0;

	if (**s < '0' || **s > '9')
		return false;
	for (; **s >= '0' && **s <= '9'; (*s)++)
		if (__builtin_mul_overflow(n, (uint64_t)10, &n) || __builtin_add_overflow(n, (uint64_t)(**s - '0'), &n))
			return false;
	*ret = n;
	return true;
}

/*
 * "64", or "0:2,1:4" per node, added to *pages.  What follows a count is not looked at: "2M" is 2 pages.  False where the
 * kernel calls it invalid, which leaves no pages.
 */
static bool take_count(const char *s, uint64_t *pages)
{
	const char *start = s;
	uint64_t n;

	while (*s) {
		if (!take_decimal(&s, &n))
			return false;
		if (*s != ':') {
			/* A plain count stands alone. */
			if (s != start && memchr(start, ':', (size_t)(s - start)))
				return false;
			*pages = n;
			return true;
		}
		s++;
		if (!take_decimal(&s, &n) || __builtin_add_overflow(*pages, n, pages))
			return false;
		if (*s != ',')
			return true;
		s++;
	}
	return true;
}

static void take_pages(struct parser *p, const char *value, size_t param)
{
	struct cmdline_pool *pool = p->n ? &p->pools[p->current] : &p->implicit;

	if (!p->usable) {
		p->usable = true;
		return;
	}
	if (pool == p->last)
		return;
	pool->is_counted = true;
	pool->counted_by = param;
	if (take_count(value, &pool->pages))
		p->last = pool;
	else
		pool->pages = 0;
}

/* What hugetlb_init() does when all of the line is read. */
static void finish(struct parser *p)
{
	struct cmdline_pool *pool;

	if (p->default_is_named || !p->implicit.is_counted)
		return;
	pool = add_pool(p, p->machine->default_size_bytes, SIZE_MAX);
	/* Also over a count that names this size. */
	if (p->implicit.pages || !pool->is_counted)
		count_as_implicit(p, pool);
}

int cmdline_pools(const struct cmdline *c, const struct cmdline_hugetlb *machine, struct cmdline_pool **ret,
		  size_t *ret_n)
{
	_cleanup_free_ struct cmdline_pool *pools = NULL;
	struct parser p = { .machine = machine, .usable = true };

	/* One for each parameter, and the default size. */
	pools = calloc(c->n + 1, sizeof(*pools));
	if (!pools)
		return -ENOMEM;
	p.pools = pools;
	for (size_t i = 0; i < c->n; i++) {
		const char *name = c->params[i].name, *value = c->params[i].value;

		/* "hugepages" without "=" is no parameter of the kernel's. */
		if (!value)
			continue;
		if (cmdline_name_equal(name, "hugepagesz"))
			take_size(&p, value, i);
		else if (cmdline_name_equal(name, "default_hugepagesz"))
			take_default_size(&p, value, i);
		else if (cmdline_name_equal(name, "hugepages"))
			take_pages(&p, value, i);
	}
	finish(&p);
	*ret = TAKE_PTR(pools);
	*ret_n = p.n;
	return 0;
}
