/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdarg.h>
#include <sys/auxv.h>

#include "base/number.h"
#include "base/strutil.h"
#include "core/facts-internal.h"

static const struct subject {
	enum facts_group group;
	unsigned needs; /* groups that are looked at while this one is probed */
	void (*probe)(struct prober *p);
} subjects[] = {
	{ .group = FACTS_KERNEL, .probe = facts_probe_kernel },
	{ .group = FACTS_CONFIG, .probe = facts_probe_config },
	{ .group = FACTS_MEMORY, .needs = FACTS_KERNEL, .probe = facts_probe_memory },
	{ .group = FACTS_HUGETLB, .probe = facts_probe_hugetlb },
	{ .group = FACTS_STRUCT_PAGE, .needs = FACTS_KERNEL | FACTS_MEMORY, .probe = facts_probe_struct_page },
	{ .group = FACTS_COMMIT,
	  .needs = FACTS_KERNEL | FACTS_MEMORY | FACTS_STRUCT_PAGE,
	  .probe = facts_probe_commit },
	{ .group = FACTS_ACCESS_FLAG, .probe = facts_probe_access_flag },
	{ .group = FACTS_FAULT_AROUND, .probe = facts_probe_fault_around },
	{ .group = FACTS_THP, .needs = FACTS_CONFIG, .probe = facts_probe_thp },
	{ .group = FACTS_RECLAIM, .needs = FACTS_KERNEL, .probe = facts_probe_reclaim },
	{ .group = FACTS_NUMA, .probe = facts_probe_numa },
	{ .group = FACTS_VIRT, .probe = facts_probe_virt },
	{ .group = FACTS_CONFINEMENT, .probe = facts_probe_confinement },
	{ .group = FACTS_BOOT, .needs = FACTS_HUGETLB | FACTS_VIRT, .probe = facts_probe_boot },
	{ .group = FACTS_WRITERS, .probe = facts_probe_writers },
};

/* With what these groups look at. */
static unsigned with_needs(unsigned groups)
{
	/* A subject stands after those it needs, so that one pass from the end finds them all. */
	for (size_t i = ARRAY_SIZE(subjects); i-- > 0;)
		if (groups & subjects[i].group)
			groups |= subjects[i].needs;
	return groups;
}

int facts_probe(struct facts *facts, struct kernel_io *io, unsigned groups)
{
	_cleanup_(facts_clear) struct facts cache = {};
	int r;

	groups = with_needs(groups) & ~facts->groups;
	if (!groups)
		return 0;
	r = facts_cache_load(&cache, io, groups);
	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(subjects); i++) {
		struct prober p = { .facts = facts, .cache = &cache, .io = io, .group = subjects[i].group };

		if (!(groups & p.group))
			continue;
		subjects[i].probe(&p);
		if (p.error < 0)
			return p.error;
		facts->groups |= p.group;
	}
	return 0;
}

static void note(struct prober *p, int r)
{
	if (r < 0 && p->error == 0)
		p->error = r;
}

void put_number(struct prober *p, const char *name, uint64_t number, enum fact_confidence confidence,
		const char *source)
{
	if (name && source)
		note(p, facts_set_number(p->facts, p->group, name, number, confidence, source));
}

void put_boolean(struct prober *p, const char *name, bool b, enum fact_confidence confidence, const char *source)
{
	if (name && source)
		note(p, facts_set_boolean(p->facts, p->group, name, b, confidence, source));
}

void put_word(struct prober *p, const char *name, const char *word, enum fact_confidence confidence, const char *source)
{
	if (name && word && source)
		note(p, facts_set_word(p->facts, p->group, name, word, confidence, source));
}

void put_unknown(struct prober *p, const char *name, const char *reason)
{
	if (name && reason)
		note(p, facts_set_unknown(p->facts, p->group, name, reason));
}

const char *prober_error(int error)
{
	if (error < 0)
		error = -error;
	if (error == EBADMSG)
		return "it is damaged, cut short, or of a form that is not known";
	return strerrordesc_np(error) ?: "unknown error";
}

void put_unreadable(struct prober *p, const char *name, const char *path, int error)
{
	_cleanup_free_ char *reason = prober_format(p, "%s: %s", path, prober_error(error));

	put_unknown(p, name, reason);
}

bool put_cached(struct prober *p, const char *name)
{
	const struct fact *f = facts_get(p->cache, name);

	if (!f)
		return false;
	switch (f->type) {
	case FACT_UNKNOWN:
		put_unknown(p, name, f->source);
		break;
	case FACT_NUMBER:
		put_number(p, name, f->number, f->confidence, f->source);
		break;
	case FACT_BOOLEAN:
		put_boolean(p, name, f->number, f->confidence, f->source);
		break;
	case FACT_WORD:
		put_word(p, name, f->word, f->confidence, f->source);
		break;
	}
	return true;
}

char *prober_format(struct prober *p, const char *fmt, ...)
{
	char *s = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&s, fmt, ap) < 0) {
		s = NULL;
		note(p, -ENOMEM);
	}
	va_end(ap);
	return s;
}

static char *read_any(struct prober *p, const char *path, bool line, int *ret_error)
{
	char *text = NULL;
	int r;

	r = line ? kernel_io_read_line(p->io, path, &text) : kernel_io_read(p->io, path, &text, NULL);
	if (r == -ENOMEM)
		note(p, r);
	if (ret_error)
		*ret_error = r;
	return r < 0 ? NULL : text;
}

char *prober_read(struct prober *p, const char *path, int *ret_error)
{
	return read_any(p, path, false, ret_error);
}

char *prober_read_line(struct prober *p, const char *path, int *ret_error)
{
	return read_any(p, path, true, ret_error);
}

void put_file_number(struct prober *p, const char *name, const char *path)
{
	uint64_t n;
	int r;

	r = kernel_io_read_u64(p->io, path, &n);
	if (r < 0)
		put_unreadable(p, name, path, r);
	else
		put_number(p, name, n, CONFIDENCE_READ, path);
}

void put_file_word(struct prober *p, const char *name, const char *path)
{
	_cleanup_free_ char *text = NULL;
	int r;

	text = prober_read_line(p, path, &r);
	if (!text)
		put_unreadable(p, name, path, r);
	else
		put_word(p, name, text, CONFIDENCE_READ, path);
}

void put_file_choice(struct prober *p, const char *name, const char *path)
{
	_cleanup_free_ char *text = NULL;
	char *open, *close;
	int r;

	text = prober_read_line(p, path, &r);
	if (!text) {
		put_unreadable(p, name, path, r);
		return;
	}
	open = strchr(text, '[');
	close = open ? strchr(open, ']') : NULL;
	if (close)
		*close = '\0';
	put_word(p, name, close ? open + 1 : text, CONFIDENCE_READ, path);
}

void put_file_boolean(struct prober *p, const char *name, const char *path)
{
	_cleanup_free_ char *text = NULL;
	uint64_t n;
	bool b;
	int r;

	text = prober_read_line(p, path, &r);
	if (!text)
		put_unreadable(p, name, path, r);
	else if (parse_boolean(text, &b) == 0)
		put_boolean(p, name, b, CONFIDENCE_READ, path);
	else if (parse_u64(text, &n) == 0)
		put_boolean(p, name, n != 0, CONFIDENCE_READ, path);
	else
		put_unreadable(p, name, path, -EINVAL);
}

/* The auxiliary vector of a process of the machine looked at: pairs of longs, of that machine's width and order. */
static uint64_t page_size_of_auxv(const char *data, size_t size)
{
	for (size_t i = 0; i + 16 <= size; i += 16) {
		uint64_t type, value;

		memcpy(&type, data + i, sizeof(type));
		memcpy(&value, data + i + 8, sizeof(value));
		if (type == AT_NULL)
			break;
		if (type == AT_PAGESZ)
			return value;
	}
	return 0;
}

uint64_t prober_page_size(struct prober *p)
{
	_cleanup_free_ char *data = NULL;
	uint64_t bytes;
	size_t size;

	if (facts_number(p->facts, FACT_PAGE_SIZE, &bytes) == 0)
		return bytes;
	if (p->io->live)
		return sysconf(_SC_PAGESIZE);
	if (kernel_io_read(p->io, "/proc/self/auxv", &data, &size) < 0)
		return 0;
	bytes = page_size_of_auxv(data, size);
	return bytes >= 4096 && (bytes & (bytes - 1)) == 0 ? bytes : 0;
}

/* One number off the front. */
static int take_u32(const char **s, uint32_t *ret)
{
	uint64_t n = 0;

	if (**s < '0' || **s > '9')
		return -EINVAL;
	for (; **s >= '0' && **s <= '9'; (*s)++) {
		n = n * 10 + (unsigned)(**s - '0');
		if (n > UINT32_MAX)
			return -EINVAL;
	}
	*ret = n;
	return 0;
}

int list_next(const char **s, uint32_t *ret_first, uint32_t *ret_last)
{
	uint32_t first, last;

	if (!**s || is_blank(**s))
		return 0;
	if (take_u32(s, &first) < 0)
		return -EINVAL;
	last = first;
	if (**s == '-') {
		(*s)++;
		if (take_u32(s, &last) < 0 || last < first)
			return -EINVAL;
	}
	if (**s == ',')
		(*s)++;
	else if (**s && !is_blank(**s))
		return -EINVAL;
	*ret_first = first;
	*ret_last = last;
	return 1;
}

int list_count(const char *text, uint64_t *ret)
{
	uint32_t first, last;
	uint64_t total = 0;
	int r;

	while ((r = list_next(&text, &first, &last)) > 0)
		total += (uint64_t)last - first + 1;
	if (r == 0)
		*ret = total;
	return r;
}

bool list_contains(const char *text, uint32_t n)
{
	uint32_t first, last;

	while (list_next(&text, &first, &last) > 0)
		if (n >= first && n <= last)
			return true;
	return false;
}
