/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/catalogue.h"

#include <inttypes.h>
#include <limits.h>

#include "base/number.h"
#include "base/strutil.h"

/* Of an order-0 page upwards nothing smaller than two pages is a huge page or a folio of its own. */
#define SIZE_MIN_BYTES (UINT64_C(8) << 10)
#define SIZE_MAX_BYTES (UINT64_C(1) << 40)
/* CONFIG_NODES_SHIFT is at most 10. */
#define NODE_MAX 1023

static const char *const section_names[] = {
	"vm",	 "thp",	  "khugepaged", "mthp", "hugetlb",     "mglru",	 "ksm",
	"zswap", "damon", "numa",	"swap", "faultaround", "memory", "boot",
};

static const struct tunable raw_sysctl = {
	.id = "sysctl.*",
	.scope = SCOPE_RAW,
	.kind = VALUE_WORD,
	.order = 1000,
	.since = "2.6",
	.hazard = "Nothing is known about the key: no range, no guard and no \"auto\".",
	.why = "Sets a key below /proc/sys that the catalogue does not know.",
	.doc = "admin-guide/sysctl/index.rst",
};

static const struct tunable raw_sysfs = {
	.id = "sysfs.*",
	.scope = SCOPE_RAW,
	.kind = VALUE_WORD,
	.order = 1000,
	.since = "2.6",
	.hazard = "Nothing is known about the file: no range, no guard and no \"auto\".",
	.why = "Sets a file below /sys/kernel/mm or a module parameter that the catalogue does not know.",
	.doc = "filesystems/sysfs.rst",
};

static const struct tunable *raw_row(const char *section)
{
	if (streq(section, "sysctl"))
		return &raw_sysctl;
	if (streq(section, "sysfs"))
		return &raw_sysfs;
	return NULL;
}

bool catalogue_has_section(const char *section)
{
	for (size_t i = 0; i < ARRAY_SIZE(section_names); i++)
		if (streq(section, section_names[i]))
			return true;
	return raw_row(section);
}

/* A name taken apart: "2M.node1.pages" is the pattern "*.node*.pages" with a size and a node. */
struct parsed_name {
	char *pattern;
	uint64_t size_bytes;
	int node;
	bool bad; /* a component in the place of a size or a node is not one */
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* A suffix is asked for: a bare 2048 would be KiB to some people and bytes to others. */
static bool parse_instance_size(const char *s, uint64_t *ret)
{
	uint64_t bytes;
	bool suffixed;

	if (parse_size(s, &bytes, &suffixed) < 0 || !suffixed)
		return false;
	if (bytes < SIZE_MIN_BYTES || bytes > SIZE_MAX_BYTES || (bytes & (bytes - 1)))
		return false;
	*ret = bytes;
	return true;
}

static bool parse_instance_node(const char *s, int *ret)
{
	uint64_t node;

	/* "0x1" is a number, but not how the kernel names a node. */
	for (const char *p = s; *p; p++)
		if (!is_digit(*p))
			return false;
	if (parse_u64(s, &node) < 0 || node > NODE_MAX)
		return false;
	*ret = (int)node;
	return true;
}

/* Looks at one component, NUL-terminated, and returns what stands in the pattern for it. */
static const char *parse_component(const char *component, struct parsed_name *parsed)
{
	const char *node = startswith(component, "node");

	if (is_digit(*component) || streq(component, "*")) {
		if (parsed->size_bytes || !parse_instance_size(component, &parsed->size_bytes))
			parsed->bad = true;
		return "*";
	}
	if (node && (is_digit(*node) || streq(node, "*"))) {
		if (parsed->node >= 0 || !parse_instance_node(node, &parsed->node))
			parsed->bad = true;
		return "node*";
	}
	return component;
}

static int parse_name(const char *section, const char *name, struct parsed_name *ret)
{
	struct parsed_name parsed = { .node = -1 };
	_cleanup_free_ char *copy = strdup(name);
	/* "node1" becomes "node*", "2M" becomes "*": the pattern is never longer. */
	_cleanup_free_ char *pattern = malloc(strlen(name) + 1);
	char *out = pattern, *component = copy;

	if (!copy || !pattern)
		return -ENOMEM;

	/* To the kernel '-' and '_' are the same in the name of a parameter. */
	if (streq(section, "boot"))
		for (char *p = copy; *p; p++)
			if (*p == '-')
				*p = '_';

	for (;;) {
		char *dot = strchr(component, '.');
		const char *text;

		if (dot)
			*dot = '\0';
		text = parse_component(component, &parsed);
		out = stpcpy(out, text);
		if (!dot)
			break;
		*out++ = '.';
		*out = '\0';
		component = dot + 1;
	}
	parsed.pattern = TAKE_PTR(pattern);
	*ret = parsed;
	return 0;
}

/* Compares "section.name" with id as strcmp() would. */
static int compare_id(const char *section, size_t section_length, const char *name, const char *id)
{
	int c = strncmp(section, id, section_length);

	if (c != 0)
		return c;
	if (id[section_length] != '.')
		return '.' - (int)(unsigned char)id[section_length];
	return strcmp(name, id + section_length + 1);
}

static const struct tunable *find_row(const char *section, const char *pattern)
{
	size_t section_length = strlen(section), low = 0, high;
	const struct tunable *rows = catalogue_rows(&high);

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int c = compare_id(section, section_length, pattern, rows[middle].id);

		if (c == 0)
			return &rows[middle];
		if (c < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

static int find_raw(const struct tunable *row, const char *section, const char *key, struct tunable_ref *ret)
{
	char *path;
	int r = catalogue_raw_path(section, key, &path);

	if (r < 0)
		return r;
	*ret = (struct tunable_ref){ .tunable = row, .node = -1, .raw_path = path };
	return 0;
}

int catalogue_find(const char *section, const char *name, struct tunable_ref *ret)
{
	const struct tunable *row = raw_row(section);
	struct parsed_name parsed;
	int r;

	if (row)
		return find_raw(row, section, name, ret);
	if (!catalogue_has_section(section))
		return -ENOENT;

	r = parse_name(section, name, &parsed);
	if (r < 0)
		return r;
	row = find_row(section, parsed.pattern);
	free(parsed.pattern);
	if (!row)
		return -ENOENT;
	if (parsed.bad)
		return -EINVAL;
	*ret = (struct tunable_ref){ .tunable = row, .size_bytes = parsed.size_bytes, .node = parsed.node };
	return 0;
}

int catalogue_find_id(const char *id, struct tunable_ref *ret)
{
	const char *dot = strchr(id, '.');
	_cleanup_free_ char *section = NULL;

	if (!dot)
		return -ENOENT;
	section = strndup(id, (size_t)(dot - id));
	if (!section)
		return -ENOMEM;
	return catalogue_find(section, dot + 1, ret);
}

/* Takes a decimal number off the front of *s; without leading zeros, as the kernel prints it. */
static bool take_number(const char **s, uint64_t max, uint64_t *ret)
{
	const char *p = *s;
	uint64_t n = 0;

	if (!is_digit(*p) || (p[0] == '0' && is_digit(p[1])))
		return false;
	for (; is_digit(*p); p++) {
		n = n * 10 + (uint64_t)(*p - '0');
		if (n > max)
			return false;
	}
	*s = p;
	*ret = n;
	return true;
}

/* Does path fit a row's path, in which {kib} and {node} stand for numbers? */
static bool match_path(const char *pattern, const char *path, uint64_t *ret_size, int *ret_node)
{
	uint64_t size = 0, node = 0;
	bool has_node = false;

	while (*pattern) {
		const char *rest;

		if (*pattern != '{') {
			if (*pattern++ != *path++)
				return false;
			continue;
		}
		if ((rest = startswith(pattern, "{kib}"))) {
			if (!take_number(&path, SIZE_MAX_BYTES >> 10, &size))
				return false;
			size <<= 10;
			if (size < SIZE_MIN_BYTES || (size & (size - 1)))
				return false;
		} else if ((rest = startswith(pattern, "{node}"))) {
			if (!take_number(&path, NODE_MAX, &node))
				return false;
			has_node = true;
		} else {
			return false;
		}
		pattern = rest;
	}
	if (*path)
		return false;
	*ret_size = size;
	*ret_node = has_node ? (int)node : -1;
	return true;
}

/*
 * "/proc/sys/v", "/sys/kernel", "/sys/module": tells most paths apart at once, so that 100000 raw keys stay cheap.  No row's
 * path is shorter or has a placeholder in there: held by a test.
 */
#define PATH_HEAD 11

static bool pattern_matches(const char *pattern, const char *path, struct tunable_ref *ref)
{
	return pattern && memcmp(pattern, path, PATH_HEAD) == 0 &&
	       match_path(pattern, path, &ref->size_bytes, &ref->node);
}

int catalogue_find_path(const char *path, struct tunable_ref *ret)
{
	size_t n;
	const struct tunable *rows = catalogue_rows(&n);

	if (*path != '/' || strlen(path) < PATH_HEAD)
		return -ENOENT;
	for (size_t i = 0; i < n; i++) {
		struct tunable_ref ref = { .tunable = &rows[i], .node = -1 };

		/* The "path" of a boot parameter is its name. */
		if (rows[i].scope == SCOPE_BOOT)
			continue;
		if (pattern_matches(rows[i].path, path, &ref) || pattern_matches(rows[i].alias_path, path, &ref)) {
			*ret = ref;
			return 0;
		}
	}
	return -ENOENT;
}

/* Another case of the letters is the nearest there is, however many they are. */
static bool nearer(const char *s, const char *candidate, unsigned *best_distance)
{
	if (*best_distance > 0 && ascii_streq_nocase(s, candidate)) {
		*best_distance = 0;
		return true;
	}
	return nearer_name(s, candidate, best_distance);
}

const char *catalogue_nearest_section(const char *section)
{
	unsigned best_distance = UINT_MAX;
	const char *best = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(section_names); i++)
		if (nearer(section, section_names[i], &best_distance))
			best = section_names[i];
	if (nearer(section, "sysctl", &best_distance))
		best = "sysctl";
	if (nearer(section, "sysfs", &best_distance))
		best = "sysfs";
	return best;
}

const char *catalogue_nearest(const char *section, const char *name)
{
	size_t n, section_length = strlen(section);
	const struct tunable *rows = catalogue_rows(&n);
	unsigned best_distance = UINT_MAX;
	struct parsed_name parsed;
	const char *best = NULL;

	if (parse_name(section, name, &parsed) < 0)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		const char *rest = startswith(rows[i].id, section);

		if (rest && *rest == '.' && nearer(parsed.pattern, rest + 1, &best_distance))
			best = rows[i].id + section_length + 1;
	}
	free(parsed.pattern);
	return best;
}

void tunable_ref_clear(struct tunable_ref *ref)
{
	free(ref->raw_path);
	*ref = (struct tunable_ref){ .node = -1 };
}

int tunable_ref_copy(const struct tunable_ref *ref, struct tunable_ref *ret)
{
	struct tunable_ref copy = *ref;

	if (ref->raw_path) {
		copy.raw_path = strdup(ref->raw_path);
		if (!copy.raw_path)
			return -ENOMEM;
	}
	*ret = copy;
	return 0;
}

/* One text that takes the place of another. */
struct replacement {
	const char *mark, *text;
};

/* Copies pattern with every mark replaced; NULL on lack of memory, or where a mark has no text. */
static char *expand(const char *pattern, const struct replacement *replacements, size_t n)
{
	size_t size = strlen(pattern) + 1;
	char *result, *out;

	for (size_t i = 0; i < n; i++)
		for (const char *p = pattern; (p = strstr(p, replacements[i].mark)); p++) {
			if (!replacements[i].text)
				return NULL;
			size += strlen(replacements[i].text);
		}
	result = out = malloc(size);
	if (!result)
		return NULL;
	while (*pattern) {
		const char *rest = NULL;

		for (size_t i = 0; i < n && !rest; i++) {
			rest = startswith(pattern, replacements[i].mark);
			if (rest)
				out = stpcpy(out, replacements[i].text);
		}
		if (rest)
			pattern = rest;
		else
			*out++ = *pattern++;
	}
	*out = '\0';
	return result;
}

/*
 * The canonical id of a path of a raw section.  In "sysctl" the dots are the usual writing; where a component holds
 * a dot itself ("eth0.100") only slashes are unambiguous.
 */
static char *raw_id(const struct tunable_ref *ref)
{
	const char *key;
	char *id;

	if (ref->tunable == &raw_sysfs)
		return xasprintf("sysfs.%s", ref->raw_path + strlen("/sys/"));

	key = ref->raw_path + strlen("/proc/sys/");
	id = xasprintf("sysctl.%s", key);
	if (id && !strchr(key, '.'))
		for (char *p = id; *p; p++)
			if (*p == '/')
				*p = '.';
	return id;
}

char *tunable_ref_id(const struct tunable_ref *ref)
{
	char size[24], node[16];
	struct replacement replacements[2];
	size_t n = 0;

	if (ref->raw_path)
		return raw_id(ref);
	/* The longer mark first: "node*" holds the shorter one. */
	if (ref->node >= 0) {
		snprintf(node, sizeof(node), "node%d", ref->node);
		replacements[n++] = (struct replacement){ "node*", node };
	}
	if (ref->size_bytes)
		replacements[n++] = (struct replacement){ "*", format_size_exact(ref->size_bytes, size) };
	return expand(ref->tunable->id, replacements, n);
}

static char *ref_expand(const struct tunable_ref *ref, const char *pattern)
{
	char kib[24], node[16];
	const struct replacement replacements[] = {
		{ "{kib}", ref->size_bytes ? kib : NULL },
		{ "{node}", ref->node >= 0 ? node : NULL },
	};

	snprintf(kib, sizeof(kib), "%" PRIu64, ref->size_bytes >> 10);
	snprintf(node, sizeof(node), "%d", ref->node);
	return expand(pattern, replacements, ARRAY_SIZE(replacements));
}

char *tunable_ref_path(const struct tunable_ref *ref)
{
	if (ref->raw_path)
		return strdup(ref->raw_path);
	if (!ref->tunable->path)
		return NULL;
	return ref_expand(ref, ref->tunable->path);
}

char *tunable_ref_alias_path(const struct tunable_ref *ref)
{
	const char *alias = ref->tunable->alias_path;

	if (!alias)
		return NULL;
	/* vm.nr_hugepages is the pool of the default size, whichever that is: it cannot stand in for a given one. */
	if (ref->size_bytes && !strstr(alias, "{kib}"))
		return NULL;
	return ref_expand(ref, alias);
}

char *tunable_boot_token(const struct tunable_ref *ref, const char *value)
{
	const struct tunable *t = ref->tunable;
	char size[24];

	/* A count belongs to the size before it: the two are one token to everybody but the kernel. */
	if (ref->size_bytes)
		return xasprintf("hugepagesz=%s %s=%s", format_size_exact(ref->size_bytes, size), t->path, value);
	if (t->kind == VALUE_BOOLEAN) {
		bool on;

		if (parse_boolean(value, &on) >= 0)
			value = on ? "on" : "off";
	}
	return xasprintf("%s=%s", t->path, value);
}

/* From "enable:1,disable:0" what stands for value; value itself where nothing does. */
static char *translate_word(const char *words, const char *value)
{
	size_t n = strlen(value);

	while (words) {
		if (strncmp(words, value, n) == 0 && words[n] == ':') {
			words += n + 1;
			return strndup(words, strcspn(words, ","));
		}
		words = strchr(words, ',');
		if (words)
			words++;
	}
	return strdup(value);
}

int tunable_boot_effect(const struct tunable_ref *ref, const char *value, char **ret_path, char **ret_expected)
{
	const char *pattern = ref->tunable->boot_effect_path, *equals;
	_cleanup_free_ char *file = NULL, *path = NULL, *expected = NULL;

	if (!pattern)
		return -ENOENT;
	equals = strchr(pattern, '=');
	file = equals ? strndup(pattern, (size_t)(equals - pattern)) : strdup(pattern);
	if (!file)
		return -ENOMEM;
	path = ref_expand(ref, file);
	expected = translate_word(equals ? equals + 1 : NULL, value);
	if (!path || !expected)
		return -ENOMEM;
	*ret_path = TAKE_PTR(path);
	*ret_expected = TAKE_PTR(expected);
	return 0;
}
