/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/policy-parse.h"

#include <limits.h>

#include "base/ini-file.h"
#include "base/number.h"
#include "base/strutil.h"

void policy_parser_clear(struct policy_parser *p)
{
	for (size_t i = 0; i < p->n_essential; i++)
		free(p->essential[i]);
	free(p->essential);
	free(p->match_reason);
	p->essential = NULL;
	p->n_essential = p->n_essential_allocated = 0;
	p->match_reason = NULL;
}

/* Takes what s holds. 0 or -ENOMEM. */
static int add_setting(struct policy_parser *p, struct setting *s)
{
	struct policy *policy = p->policy;

	if (policy->n_settings == p->n_settings_allocated) {
		size_t n = p->n_settings_allocated ? 2 * p->n_settings_allocated : 64;
		struct setting *larger = reallocarray(policy->settings, n, sizeof(*larger));

		if (!larger)
			return -ENOMEM;
		policy->settings = larger;
		p->n_settings_allocated = n;
	}
	policy->settings[policy->n_settings++] = *s;
	*s = (struct setting){ .ref.node = -1 };
	return 0;
}

/* Files that do something when written and hold no setting: a policy would run them at each apply. */
static const char *command_file(const char *path)
{
	static const char *const paths[] = {
		"/proc/sys/vm/compact_memory",
		"/proc/sys/vm/drop_caches",
		"/proc/sys/vm/stat_refresh",
	};

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		if (streq(path, paths[i]))
			return strrchr(paths[i], '/') + 1;
	return startswith(path, "/sys/kernel/mm/hugepages/") && endswith(path, "/demote") ? "demote" : NULL;
}

static int report_raw_key(struct policy_parser *p, unsigned line, const char *section, const char *key,
			  const char *value, int r)
{
	bool sysctl = streq(section, "sysctl");
	char shown[POLICY_SHOWN_SIZE];

	if (r == -ENOMEM)
		return r;
	policy_shown(key, shown);
	if (strpbrk(key, "*?["))
		policy_error(p, line, NULL,
			     "\"%s\" is a pattern, and patterns are not expanded; write one line per key", shown);
	else if (strpbrk(key, " \t"))
		policy_report_unknown(p, line, section, key, value);
	else if (*key == '/')
		policy_error(p, line, NULL, "\"%s\": keys of [%s] are written without \"/%s/\"", shown, section,
			     sysctl ? "proc/sys" : "sys");
	else if (r == -EPERM && sysctl)
		policy_error(p, line, NULL, "\"%s\" leads out of /proc/sys", shown);
	else if (r == -EPERM)
		policy_error(p, line, NULL,
			     "\"%s\" is neither below /sys/kernel/mm nor a parameter in /sys/module/*/parameters",
			     shown);
	else
		policy_error(p, line, NULL, "\"%s\" is not a key below %s", shown, sysctl ? "/proc/sys" : "/sys");
	return 0;
}

/* A key of [sysctl] or [sysfs].  One that the catalogue knows by its path is that row.  As policy_parse_value(). */
static int find_raw(struct policy_parser *p, unsigned line, const char *section, const char *key, const char *value,
		    struct tunable_ref *ret)
{
	_cleanup_free_ char *path = NULL;
	const char *command;
	int r;

	r = catalogue_raw_path(section, key, &path);
	if (r < 0)
		return report_raw_key(p, line, section, key, value, r);
	command = command_file(path);
	if (command) {
		policy_error(p, line, key, "%s is a command, not a setting: it would run at each apply", command);
		return 0;
	}
	if (endswith(path, "/nr_hugepages_mempolicy")) {
		policy_error(p, line, key,
			     "this is another door to a huge page pool, past its memory guard; use \"2M.pages\" or "
			     "\"2M.node0.pages\" in [hugetlb]");
		return 0;
	}
	r = catalogue_find_path(path, ret);
	if (r == -ENOENT)
		r = catalogue_find(section, key, ret);
	if (r < 0)
		return report_raw_key(p, line, section, key, value, r);
	if (strchr(ret->tunable->id, '*') && ret->tunable->scope != SCOPE_RAW && !ret->size_bytes && ret->node < 0) {
		policy_error(
			p, line, key,
			"this is for the default huge page size, whichever that is; name the size: \"2M.%s\" in [hugetlb]",
			strchr(ret->tunable->id, '*') + 2);
		return 0;
	}
	return 1;
}

/* As policy_parse_value(). */
static int find_tunable(struct policy_parser *p, unsigned line, const char *section, const char *key, const char *value,
			struct tunable_ref *ret)
{
	char shown[POLICY_SHOWN_SIZE];
	int r;

	if (streq(section, "sysctl") || streq(section, "sysfs"))
		return find_raw(p, line, section, key, value, ret);
	r = catalogue_find(section, key, ret);
	if (r == -ENOMEM)
		return r;
	if (r == -EINVAL) {
		policy_error(
			p, line, NULL,
			"\"%s\" in [%s]: sizes are powers of two with a suffix (2M, 1G), nodes are node0, node1 and so on",
			policy_shown(key, shown), section);
		return 0;
	}
	if (r < 0) {
		policy_report_unknown(p, line, section, key, value);
		return 0;
	}
	return 1;
}

static int take_tunable(struct policy_parser *p, unsigned line, const char *section, const char *key, const char *value)
{
	_cleanup_(policy_setting_clear) struct setting s = { .ref.node = -1, .file = p->file, .line = line };
	int r;

	if (*key == '-') {
		s.optional = true;
		do
			key++;
		while (is_blank(*key));
		if (!*key) {
			policy_error(p, line, NULL, "no name after the \"-\"");
			return 0;
		}
	}
	r = find_tunable(p, line, section, key, value, &s.ref);
	if (r <= 0)
		return r;
	s.id = tunable_ref_id(&s.ref);
	s.text = strdup(value);
	if (!s.id || !s.text)
		return -ENOMEM;
	r = policy_parse_value(p, line, value, &s);
	if (r <= 0)
		return r;
	return add_setting(p, &s);
}

/* Takes ownership of id. 0 or -ENOMEM. */
static int add_essential(struct policy_parser *p, char *id)
{
	if (p->n_essential == p->n_essential_allocated) {
		size_t n = p->n_essential_allocated ? 2 * p->n_essential_allocated : 8;
		char **larger = reallocarray(p->essential, n, sizeof(*larger));

		if (!larger) {
			free(id);
			return -ENOMEM;
		}
		p->essential = larger;
		p->n_essential_allocated = n;
	}
	p->essential[p->n_essential++] = id;
	return 0;
}

static void report_unknown_id(struct policy_parser *p, unsigned line, const char *id)
{
	const char *dot = strchr(id, '.'), *nearest = NULL;
	_cleanup_free_ char *section = dot ? strndup(id, (size_t)(dot - id)) : NULL, *filled = NULL;
	char shown[POLICY_SHOWN_SIZE];

	if (section && p->suggestions_left > 0) {
		p->suggestions_left--;
		nearest = catalogue_nearest(section, dot + 1);
		filled = nearest ? policy_fill_in(nearest, dot + 1) : NULL;
	}
	policy_shown(id, shown);
	if (filled)
		policy_error(p, line, "Essential", "there is no tunable \"%s\"; did you mean \"%s.%s\"?", shown,
			     section, filled);
	else
		policy_error(p, line, "Essential", "there is no tunable \"%s\"", shown);
}

static int take_essential(struct policy_parser *p, unsigned line, const char *value)
{
	_cleanup_(strv_freep) char **words = NULL;
	int r = strv_split(value, &words);

	for (size_t i = 0; r == 0 && words && words[i]; i++) {
		_cleanup_(tunable_ref_clear) struct tunable_ref ref = { .node = -1 };
		char *id;

		r = catalogue_find_id(words[i], &ref);
		if (r == -ENOMEM)
			break;
		if (r < 0) {
			report_unknown_id(p, line, words[i]);
			r = 0;
			continue;
		}
		id = tunable_ref_id(&ref);
		r = id ? add_essential(p, id) : -ENOMEM;
	}
	return r;
}

/* A percentage, a size or both; of both the larger one counts. */
static int take_floor(struct policy_parser *p, unsigned line, const char *value)
{
	struct policy_options *o = &p->options;
	_cleanup_(strv_freep) char **words = NULL;
	bool have_share = false, have_bytes = false, bad = false;
	uint32_t permyriad = 0;
	uint64_t bytes = 0;
	int r = strv_split(value, &words);

	if (r < 0)
		return r;
	for (size_t i = 0; words && words[i]; i++) {
		bool suffixed = false;

		if (!have_share && parse_percent(words[i], &permyriad) == 0)
			have_share = true;
		else if (!have_bytes && parse_size(words[i], &bytes, &suffixed) == 0 && suffixed)
			have_bytes = true;
		else
			bad = true;
	}
	if (bad) {
		char shown[POLICY_SHOWN_SIZE];

		policy_error(
			p, line, "MemoryFloor",
			"\"%s\" is not a percentage, a size with a suffix, or one of each: \"10%%\", \"512M\", \"10%% 512M\"",
			policy_shown(value, shown));
		return 0;
	}
	if (permyriad == 0 && bytes == 0)
		policy_warning(p, line, "MemoryFloor", "nothing is left for anything but huge pages and reserves");
	o->floor_set = true;
	o->floor_permyriad = permyriad;
	o->floor_bytes = bytes;
	o->floor_line = line;
	return 0;
}

static int take_option(struct policy_parser *p, unsigned line, const char *key, const char *value)
{
	static const char *const names[] = { "Essential", "MemoryFloor" };
	unsigned best_distance = UINT_MAX;
	const char *best = NULL;
	char shown[POLICY_SHOWN_SIZE];

	if (streq(key, "Essential"))
		return take_essential(p, line, value);
	if (streq(key, "MemoryFloor"))
		return take_floor(p, line, value);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (nearer_name(key, names[i], &best_distance))
			best = names[i];
	policy_error(p, line, NULL, "unknown option \"%s\" in [Policy]; %s%s%s", policy_shown(key, shown),
		     best ? "did you mean \"" : "it takes Essential and MemoryFloor", best ?: "", best ? "\"?" : "");
	return 0;
}

static int on_section(void *userdata, unsigned line, const char *name)
{
	struct policy_parser *p = userdata;

	if (streq(name, "Match")) {
		p->section = SECTION_MATCH;
	} else if (streq(name, "Policy")) {
		p->section = SECTION_POLICY;
	} else if (catalogue_has_section(name)) {
		p->section = SECTION_TUNABLES;
	} else {
		p->section = SECTION_UNKNOWN;
		policy_report_unknown_section(p, line, name);
	}
	return 0;
}

static int on_pair(void *userdata, unsigned line, const char *section, const char *key, const char *value)
{
	struct policy_parser *p = userdata;

	switch (p->section) {
	case SECTION_NONE:
		policy_report_unknown(p, line, "", key, value);
		return 0;
	case SECTION_MATCH:
		return policy_match_line(p, line, key, value);
	case SECTION_POLICY:
		return take_option(p, line, key, value);
	case SECTION_TUNABLES:
		return take_tunable(p, line, section, key, value);
	case SECTION_UNKNOWN:
		return 0;
	}
	return 0;
}

static int on_fault(void *userdata, unsigned line, const char *text)
{
	struct policy_parser *p = userdata;

	policy_error(p, line, NULL, "%s", text);
	return 0;
}

/* What a file that matches adds to the policy besides its settings. */
static int merge_options(struct policy_parser *p)
{
	struct policy *policy = p->policy;
	struct policy_options *o = &p->options;

	if (o->floor_set) {
		char *origin = xasprintf("%s:%u", p->path, o->floor_line);

		if (!origin)
			return -ENOMEM;
		free(policy->memory_floor_origin);
		policy->memory_floor_origin = origin;
		policy->memory_floor_set = true;
		policy->memory_floor_permyriad = o->floor_permyriad;
		policy->memory_floor_bytes = o->floor_bytes;
	}
	return 0;
}

/* Takes out what a file said that does not match after all: [Match] may stand anywhere in it. */
static void drop_file(struct policy_parser *p)
{
	while (p->policy->n_settings > p->first_setting)
		policy_setting_clear(&p->policy->settings[--p->policy->n_settings]);
	while (p->n_essential > p->first_essential)
		free(p->essential[--p->n_essential]);
}

static int compare_diags(const void *a, const void *b)
{
	const struct diag *x = a, *y = b;

	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return strcmp(x->text, y->text);
}

void policy_report_too_large(struct policy_parser *p, const char *path)
{
	diag_add(p->diags, DIAG_ERROR, path, 0, NULL, "is larger than %d MiB, the most that a policy file may be",
		 INI_FILE_MAX_BYTES >> 20);
}

int policy_parse_text(struct policy_parser *p, unsigned file, const char *text, size_t size)
{
	static const struct ini_handler handler = { .section = on_section, .pair = on_pair, .fault = on_fault };
	struct policy_file *f = &p->policy->files[file];
	size_t first_diag = p->diags->n;
	int r;

	p->file = file;
	p->path = f->path;
	p->first_setting = p->policy->n_settings;
	p->section = SECTION_NONE;
	p->first_essential = p->n_essential;
	p->matched = true;
	p->options = (struct policy_options){ 0 };

	if (size > INI_FILE_MAX_BYTES) {
		policy_report_too_large(p, f->path);
		return 0;
	}
	r = ini_read(text, size, &handler, p);
	if (r == 0) {
		policy_check_file(p);
		/* What was found at the end of the file goes to its line among the rest. */
		if (p->diags->n > first_diag)
			qsort(p->diags->items + first_diag, p->diags->n - first_diag, sizeof(struct diag),
			      compare_diags);
		f->matched = p->matched;
		f->match_reason = TAKE_PTR(p->match_reason);
		if (p->matched)
			r = merge_options(p);
		else
			drop_file(p);
	}
	return r;
}
