/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/savings.h"

#include <stdarg.h>

#include "base/strutil.h"
#include "core/savings-internal.h"

/* Everything the rows ask the facts for; the counters themselves are read afresh. */
#define SAVINGS_FACTS (FACTS_KERNEL | FACTS_MEMORY | FACTS_HUGETLB | FACTS_STRUCT_PAGE | FACTS_THP)

static void saving_clear(struct saving *row)
{
	free(row->detail);
	free(row->formula);
	free(row->sources);
	free(row->reason);
	*row = (struct saving){ 0 };
}

struct saving *measurement_row(struct measurement *m, const char *mechanism, const char *detail)
{
	struct savings *s = m->savings;
	struct saving *row;

	if (s->n_rows == m->n_allocated) {
		size_t n = m->n_allocated ? m->n_allocated * 2 : 16;
		struct saving *grown = reallocarray(s->rows, n, sizeof(*grown));

		if (!grown) {
			m->failed = true;
			saving_clear(&m->spare);
			return &m->spare;
		}
		s->rows = grown;
		m->n_allocated = n;
	}
	row = &s->rows[s->n_rows++];
	*row = (struct saving){ .mechanism = mechanism };
	if (detail)
		measurement_text(m, &row->detail, "%s", detail);
	return row;
}

static void replace_text(struct measurement *m, char **field, char *text)
{
	if (!text)
		m->failed = true;
	free(*field);
	*field = text;
}

void measurement_text(struct measurement *m, char **field, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	replace_text(m, field, text);
}

void measurement_remark(struct measurement *m, struct saving *row, const char *fmt, ...)
{
	_cleanup_free_ char *remark = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&remark, fmt, ap) < 0)
		remark = NULL;
	va_end(ap);
	if (remark && row->reason)
		replace_text(m, &row->reason, xasprintf("%s; %s", row->reason, remark));
	else
		replace_text(m, &row->reason, TAKE_PTR(remark));
}

void saving_set(struct saving *row, int64_t bytes, enum saving_method method, bool in_total)
{
	row->known = true;
	row->bytes = bytes;
	row->method = method;
	row->in_total = in_total;
}

int64_t bytes_of(uint64_t count, uint64_t unit)
{
	uint64_t bytes;

	if (__builtin_mul_overflow(count, unit, &bytes) || bytes > INT64_MAX)
		return INT64_MAX;
	return (int64_t)bytes;
}

int64_t bytes_less(int64_t a, int64_t b)
{
	int64_t n;

	if (__builtin_sub_overflow(a, b, &n))
		return b > 0 ? INT64_MIN : INT64_MAX;
	return n;
}

static void add_up(struct savings *s)
{
	for (size_t i = 0; i < s->n_rows; i++) {
		const struct saving *row = &s->rows[i];

		if (!row->known || !row->in_total || row->what_if)
			continue;
		s->total_known = true;
		if (__builtin_add_overflow(s->total_bytes, row->bytes, &s->total_bytes))
			s->total_bytes = row->bytes < 0 ? INT64_MIN : INT64_MAX;
	}
}

/* A file that is not there reads as empty: each row then says what it lacks. */
static int read_or_empty(struct kernel_io *io, const char *path, char **ret)
{
	int r;

	r = kernel_io_read(io, path, ret, NULL);
	if (r >= 0 || r == -ENOMEM)
		return r;
	*ret = strdup("");
	return *ret ? 0 : -ENOMEM;
}

int savings_measure(struct facts *facts, struct kernel_io *io, bool what_if, struct savings *ret)
{
	struct savings s = { 0 };
	_cleanup_free_ char *vmstat = NULL, *meminfo = NULL;
	struct measurement m = { .facts = facts, .io = io, .savings = &s, .what_if = what_if };

	if (facts_probe(facts, io, SAVINGS_FACTS) < 0 || read_or_empty(io, "/proc/vmstat", &vmstat) < 0 ||
	    read_or_empty(io, "/proc/meminfo", &meminfo) < 0)
		return -ENOMEM;
	m.vmstat = vmstat;
	m.meminfo = meminfo;
	facts_number(facts, FACT_PAGE_SIZE, &m.page_bytes);

	savings_add_hvo(&m);
	savings_add_ksm(&m);
	savings_add_zswap(&m);
	savings_add_zram(&m);
	savings_add_huge_zero_page(&m);
	savings_add_struct_page(&m);
	savings_add_hugetlb_unused(&m);
	savings_add_min_free(&m);
	saving_clear(&m.spare);
	if (m.failed) {
		savings_clear(&s);
		return -ENOMEM;
	}
	add_up(&s);
	*ret = s;
	return 0;
}

void savings_clear(struct savings *s)
{
	for (size_t i = 0; i < s->n_rows; i++)
		saving_clear(&s->rows[i]);
	free(s->rows);
	*s = (struct savings){ 0 };
}

const char *saving_method_name(enum saving_method method)
{
	switch (method) {
	case SAVING_MEASURED:
		return "measured";
	case SAVING_COMPUTED:
		return "computed";
	case SAVING_ESTIMATED:
		return "estimated";
	}
	return NULL;
}
