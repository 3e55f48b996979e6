/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/sysctl-conf.h"

#include "base/macros.h"
#include "base/strutil.h"

static void swap_separators(char *s)
{
	for (; *s; s++)
		*s = *s == '.' ? '/' : *s == '/' ? '.' : *s;
}

/* Takes out empty and "." parts.  False where a part is "..", or nothing is left. */
static bool simplify(char *path)
{
	char *o = path, *next = path;

	while (next) {
		char *part = strsep(&next, "/");
		size_t n = strlen(part);

		if (streq(part, ".."))
			return false;
		if (n == 0 || streq(part, "."))
			continue;
		if (o != path)
			*o++ = '/';
		memmove(o, part, n);
		o += n;
	}
	*o = '\0';
	return o != path;
}

char *sysctl_key_to_path(char *key)
{
	char *first = strpbrk(key, "/.");
	const char *rest;

	if (first && *first == '.')
		swap_separators(key);
	if (!simplify(key))
		return NULL;
	rest = startswith(key, "proc/sys/");
	return rest ? key + (rest - key) : key;
}

void sysctl_path_to_key(char *path)
{
	swap_separators(path);
}

int sysctl_line_parse(char *line, struct sysctl_line *ret)
{
	struct sysctl_line l = {};
	char *key, *equals;

	key = strstrip(line);
	if (!*key || *key == '#' || *key == ';')
		return SYSCTL_LINE_NOTHING;
	equals = strchr(key, '=');
	if (equals) {
		*equals = '\0';
		l.value = strstrip(equals + 1);
		key = strstrip(key);
	}
	if (*key == '-') {
		l.ignore_failure = true;
		key = strstrip(key + 1);
	} else if (!equals) {
		return SYSCTL_LINE_BAD;
	}
	key = sysctl_key_to_path(key);
	if (!key)
		return SYSCTL_LINE_BAD;
	l.is_glob = strpbrk(key, "*?[") != NULL;
	l.path = strdup(key);
	if (!l.path)
		return -ENOMEM;
	*ret = l;
	return SYSCTL_LINE_ASSIGNMENT;
}
