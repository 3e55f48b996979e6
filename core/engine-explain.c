/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <limits.h>

#include "base/strutil.h"
#include "core/engine-internal.h"
#include "core/report-views.h"

/* The path is in the catalogue, or is there and may be named in a raw section. */
static int find_path(const struct engine *e, const char *path, struct tunable_ref *ret)
{
	static const struct {
		const char *below, *section;
	} raw[] = {
		{ "/proc/sys/", "sysctl" },
		{ "/sys/", "sysfs" },
	};
	int r = catalogue_find_path(path, ret);

	if (r != -ENOENT || !kernel_io_exists(e->io, path))
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(raw); i++) {
		const char *rest = startswith(path, raw[i].below);

		if (rest)
			return catalogue_find(raw[i].section, rest, ret);
	}
	return -ENOENT;
}

/* "kernel.numa_balancing": a sysctl as sysctl(8) writes it. */
static int find_sysctl(const struct engine *e, const char *name, struct tunable_ref *ret)
{
	_cleanup_free_ char *path = NULL;
	int r = catalogue_raw_path("sysctl", name, &path);

	return r < 0 ? r : find_path(e, path, ret);
}

/* A row of the catalogue by its own id, "hugetlb.*.pages": described without a size or node. */
static int find_row(const char *id, struct tunable_ref *ret)
{
	const struct tunable *rows;
	size_t n;

	rows = catalogue_rows(&n);
	for (size_t i = 0; i < n; i++) {
		if (!streq(rows[i].id, id))
			continue;
		*ret = (struct tunable_ref){ .tunable = &rows[i], .node = -1 };
		return 0;
	}
	return -ENOENT;
}

static int find(const struct engine *e, const char *name, struct tunable_ref *ret)
{
	int r;

	if (name[0] == '/')
		return find_path(e, name, ret);
	r = find_row(name, ret);
	if (r == -ENOENT)
		r = catalogue_find_id(name, ret);
	if (r == -ENOENT)
		r = find_sysctl(e, name, ret);
	return r;
}

static bool names_row(const struct tunable *row, const char *name)
{
	const char *dot = strchr(row->id, '.'), *slash = row->path ? strrchr(row->path, '/') : NULL;

	return (dot && streq(dot + 1, name)) || (slash && streq(slash + 1, name));
}

/*
 * "swappiness", "nr_hugepages": the name of a setting without its section, or that of the kernel's file; or nearly so.
 */
static const char *row_by_bare_name(const char *name)
{
	unsigned distance = UINT_MAX;
	const struct tunable *rows;
	const char *best = NULL;
	size_t n;

	rows = catalogue_rows(&n);
	/* A pool before its shares by node. */
	for (size_t i = 0; i < n; i++)
		if (names_row(&rows[i], name) && (!best || strlen(rows[i].id) < strlen(best)))
			best = rows[i].id;
	if (best)
		return best;
	for (size_t i = 0; i < n; i++) {
		const char *dot = strchr(rows[i].id, '.');

		if (dot && nearer_name(name, dot + 1, &distance))
			best = rows[i].id;
	}
	return best;
}

static int unknown(struct engine *e, const char *name, int error)
{
	_cleanup_free_ char *section = strndup(name, strcspn(name, "."));
	const char *rest = strchr(name, '.'), *nearest;

	if (!section)
		return diag_error(e->diags, -ENOMEM, "out of memory");
	if (error == -ENOMEM)
		return diag_error(e->diags, error, "out of memory");
	if (name[0] == '/')
		return diag_error(e->diags, error, "unknown tunable '%s', see mmoptctl list", name);
	if (!rest) {
		nearest = row_by_bare_name(name);
		if (nearest)
			return diag_error(e->diags, error, "unknown tunable '%s' (did you mean '%s'?)", name, nearest);
		return diag_error(e->diags, error, "unknown tunable '%s', see mmoptctl list", name);
	}
	nearest = catalogue_nearest(section, rest + 1);
	if (catalogue_has_section(section) && nearest)
		return diag_error(e->diags, error, "unknown tunable '%s' (did you mean '%s.%s'?)", name, section,
				  nearest);
	nearest = catalogue_has_section(section) ? NULL : catalogue_nearest_section(section);
	if (nearest)
		return diag_error(e->diags, error, "unknown tunable '%s' (did you mean '%s%s'?)", name, nearest, rest);
	return diag_error(e->diags, error, "unknown tunable '%s', see mmoptctl list", name);
}

/* The huge page files in /proc/sys/vm are those of the default size. */
static void fill_default_size(struct engine *e, struct tunable_ref *ref)
{
	uint64_t size;

	if (!startswith(ref->tunable->id, "hugetlb.*.") || ref->size_bytes > 0)
		return;
	if (facts_probe(&e->facts, e->io, FACTS_HUGETLB) >= 0 &&
	    facts_number(&e->facts, FACT_HUGETLB_DEFAULT_SIZE, &size) >= 0)
		ref->size_bytes = size;
}

/* NULL where there is nothing to be read. */
static char *read_now(const struct engine *e, const struct tunable_ref *ref)
{
	_cleanup_free_ char *path = NULL, *alias = NULL;
	char *value;

	if (ref->tunable->scope == SCOPE_BOOT)
		return NULL;
	path = tunable_ref_path(ref);
	if (path && tunable_read(e->io, ref->tunable, path, &value) >= 0)
		return value;
	alias = tunable_ref_alias_path(ref);
	if (alias && tunable_read(e->io, ref->tunable, alias, &value) >= 0)
		return value;
	return NULL;
}

int engine_explain(struct engine *e, const char *id, struct report **ret)
{
	_cleanup_(tunable_ref_clear) struct tunable_ref ref = { .node = -1 };
	_cleanup_free_ char *now = NULL;
	int r;

	r = find(e, id, &ref);
	if (r < 0)
		return unknown(e, id, r);
	if (id[0] == '/' || !strchr(id, '*'))
		fill_default_size(e, &ref);
	/* A policy with errors is not applied, but who sets what in it can still be told. */
	r = engine_load_policy(e);
	if (r >= 0)
		r = engine_make_plan(e, NULL);
	if (r < 0 && r != -EBADMSG)
		return r;
	r = facts_probe(&e->facts, e->io, FACTS_WRITERS);
	if (r < 0)
		return diag_error(e->diags, r, "cannot probe the machine: %s", strerror(-r));
	now = read_now(e, &ref);
	*ret = report_explain(&ref, e->policy, e->plan, &e->facts, now);
	if (e->diags->n_errors > 0)
		report_verdict(*ret, 1, "error");
	return 0;
}
