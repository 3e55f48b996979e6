/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <limits.h>

#include "base/strutil.h"
#include "core/policy-parse.h"

/* What a key that the catalogue does not have may have been meant to be. */

static bool take_suggestion(struct policy_parser *p)
{
	if (p->suggestions_left == 0)
		return false;
	p->suggestions_left--;
	return true;
}

/* The node that "node1", "nodes1" and "node-1" mean, as the catalogue writes it; NULL where there is no number. */
static char *node_name(const char *word, size_t n)
{
	size_t letters = 0, digits;

	while (letters < n && !(word[letters] >= '0' && word[letters] <= '9'))
		letters++;
	digits = MIN(strspn(word + letters, "0123456789"), (size_t)12);
	return letters < n && letters + digits == n ? xasprintf("node%.*s", (int)digits, word + letters) : NULL;
}

/*
 * A name of the catalogue with what the user wrote in the places of size and node: for "2M.page" and "*.pages" that is
 * "2M.pages".  NULL on lack of memory.
 */
char *policy_fill_in(const char *name, const char *key)
{
	_cleanup_free_ char *size = NULL, *node = NULL;
	char *out = NULL;
	size_t n_out = 0;
	FILE *f;

	for (const char *c = key; c; c = strchr(c, '.') ? strchr(c, '.') + 1 : NULL) {
		size_t n = strcspn(c, ".");

		if (!size && *c >= '0' && *c <= '9')
			size = strndup(c, MIN(n, (size_t)16));
		else if (!node && startswith(c, "node"))
			node = node_name(c, n);
	}
	f = open_memstream(&out, &n_out);
	if (!f)
		return NULL;
	for (const char *c = name; *c;) {
		size_t n = strcspn(c, ".");

		if (n == 1 && *c == '*')
			fputs(size ?: "2M", f);
		else if (n == 5 && startswith(c, "node*"))
			fputs(node ?: "node0", f);
		else
			fprintf(f, "%.*s", (int)n, c);
		c += n;
		if (*c)
			fputc(*c++, f);
	}
	if (fclose(f) != 0) {
		free(out);
		return NULL;
	}
	return out;
}

/* The id of what a key means by another way of writing: a whole id, a sysctl name, a path.  NULL where it is none. */
static char *id_of_other_writing(const char *key)
{
	_cleanup_(tunable_ref_clear) struct tunable_ref ref = { .node = -1 };
	_cleanup_free_ char *path = NULL;

	if (catalogue_find_id(key, &ref) == 0 && ref.tunable->scope != SCOPE_RAW)
		return tunable_ref_id(&ref);
	tunable_ref_clear(&ref);
	if (catalogue_find_path(key, &ref) < 0 &&
	    (catalogue_raw_path("sysctl", key, &path) < 0 || catalogue_find_path(path, &ref) < 0))
		return NULL;
	return tunable_ref_id(&ref);
}

/* The section in which the catalogue has this very name, as an id; NULL where none has it. */
static const char *id_in_other_section(const char *key)
{
	size_t n;
	const struct tunable *rows = catalogue_rows(&n);

	for (size_t i = 0; i < n; i++) {
		const char *dot = strchr(rows[i].id, '.');

		if (dot && streq(dot + 1, key))
			return rows[i].id;
	}
	return NULL;
}

/* "write "swappiness = 10" in [vm]" for the id vm.swappiness. */
static char *advise_id(const char *id, const char *value)
{
	const char *dot = strchr(id, '.');
	char shown[POLICY_SHOWN_SIZE];

	if (!dot)
		return NULL;
	return xasprintf("write \"%s = %s\" in [%.*s]", dot + 1, policy_shown(value, shown), (int)(dot - id), id);
}

/* The names of the kernel's own files and parameters that go by another name here, or by none. */
static const char *advice_by_kernel_name(const char *key)
{
	static const struct {
		const char *name, *advice;
	} table[] = {
		{ "nr_hugepages", "write \"2M.pages\" in [hugetlb], with the size you mean" },
		{ "nr_overcommit_hugepages", "write \"2M.overcommit\" in [hugetlb], with the size you mean" },
		{ "hugepages", "write \"2M.boot_pages\" in [hugetlb], with the size you mean" },
		{ "drop_caches", "it is a command, not a setting" },
		{ "compact_memory", "it is a command, not a setting" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (streq(key, table[i].name))
			return table[i].advice;
	return NULL;
}

/* A finished half sentence, or NULL where nothing comes to mind. */
static char *advise(const char *section, const char *key, const char *value)
{
	_cleanup_free_ char *id = id_of_other_writing(key), *filled = NULL;
	const char *name = advice_by_kernel_name(key);

	if (name)
		return strdup(name);
	if (id)
		return advise_id(id, value);
	name = id_in_other_section(key);
	if (name)
		return advise_id(name, value);
	name = catalogue_nearest(section, key);
	if (!name)
		return NULL;
	filled = policy_fill_in(name, key);
	return filled ? xasprintf("did you mean \"%s\"?", filled) : NULL;
}

/* "sysctl -w vm.swappiness=10" comes as the key "sysctl -w vm.swappiness". */
static bool report_shell_command(struct policy_parser *p, unsigned line, const char *key, const char *value)
{
	_cleanup_free_ char *id = NULL, *advice = NULL;
	char shown[POLICY_SHOWN_SIZE], shown_value[POLICY_SHOWN_SIZE];
	const char *name;

	if (!startswith(key, "sysctl ") && !startswith(key, "sysctl\t"))
		return false;
	name = key + strlen("sysctl");
	for (;;) {
		while (is_blank(*name))
			name++;
		if (*name != '-')
			break;
		name += strcspn(name, " \t");
	}
	id = id_of_other_writing(name);
	advice = id ? advise_id(id, value) : NULL;
	if (!advice)
		advice = xasprintf("write \"%s = %s\" in [sysctl]", policy_shown(name, shown),
				   policy_shown(value, shown_value));
	policy_error(p, line, NULL, "this is a shell command; %s", advice ?: "write only the key and its value");
	return true;
}

void policy_report_unknown(struct policy_parser *p, unsigned line, const char *section, const char *key,
			   const char *value)
{
	_cleanup_free_ char *advice = NULL;
	char shown[POLICY_SHOWN_SIZE];

	if (report_shell_command(p, line, key, value))
		return;
	if (take_suggestion(p))
		advice = advise(section, key, value);
	policy_shown(key, shown);
	if (*section)
		policy_error(p, line, NULL, "unknown tunable \"%s\" in [%s]%s%s", shown, section, advice ? "; " : "",
			     advice ?: "");
	else
		policy_error(p, line, NULL, "\"%s\" stands before the first [section]%s%s", shown, advice ? "; " : "",
			     advice ?: "");
}

/* What the kernel's files call a subject is not always what its section is called. */
static const char *section_by_kernel_name(const char *section)
{
	static const struct {
		const char *name, *section;
	} table[] = {
		{ "hugepages", "hugetlb" },
		{ "hugepage", "hugetlb" },
		{ "nr_hugepages", "hugetlb" },
		{ "transparent_hugepage", "thp" },
		{ "lru_gen", "mglru" },
		{ "kernel", "sysctl" },
		{ "net", "sysctl" },
		{ "fs", "sysctl" },
		{ "cmdline", "boot" },
		{ "fault_around", "faultaround" },
		{ "memory_hotplug", "memory" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (streq(section, table[i].name))
			return table[i].section;
	return NULL;
}

/* Names that differ in case alone count as near, however short: [VM]. */
static const char *nearest_section(const char *section)
{
	_cleanup_free_ char *lower = strdup(section);
	unsigned best_distance = UINT_MAX;
	const char *best;

	if (!lower)
		return NULL;
	for (char *c = lower; *c; c++)
		*c = ascii_lower(*c);
	best = catalogue_nearest_section(lower);
	if (best)
		(void)nearer_name(lower, best, &best_distance);
	if (nearer_name(lower, "Match", &best_distance))
		best = "Match";
	if (nearer_name(lower, "Policy", &best_distance))
		best = "Policy";
	return best;
}

void policy_report_unknown_section(struct policy_parser *p, unsigned line, const char *section)
{
	const char *best = section_by_kernel_name(section);
	char shown[POLICY_SHOWN_SIZE];

	if (!best && take_suggestion(p))
		best = nearest_section(section);
	policy_error(p, line, NULL, "unknown section [%s], and nothing in it counts%s%s%s",
		     policy_shown(section, shown), best ? "; did you mean [" : "", best ?: "", best ? "]?" : "");
}
