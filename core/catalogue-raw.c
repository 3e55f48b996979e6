/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/strutil.h"
#include "core/catalogue.h"

/*
 * Confines the keys of the raw sections.  The check is on the text alone, so that a policy can be linted anywhere; that
 * no link leads out either is held by kernel-io, which resolves every path below its root.
 */

/* What no kernel file has in its name, but what a glob, a shell word or a mistyped line would have. */
static bool plain_character(char c)
{
	return (unsigned char)c > ' ' && c != 0x7f && !strchr("*?[]\\\"'=", c);
}

/* 0; -EINVAL for an empty component or an odd character; -EPERM for a component that leads elsewhere. */
static int check_components(const char *path)
{
	for (const char *p = path;;) {
		size_t n = strcspn(p, "/");

		if (n == 0)
			return -EINVAL;
		if ((n == 1 && p[0] == '.') || (n == 2 && p[0] == '.' && p[1] == '.'))
			return -EPERM;
		for (size_t i = 0; i < n; i++)
			if (!plain_character(p[i]))
				return -EINVAL;
		if (!p[n])
			return 0;
		p += n + 1;
	}
}

/*
 * sysctl.d's rule: the first separator decides.  Is it '.', then '.' and '/' change places in the whole key
 * ("net.ipv4.conf.eth0/100.rp_filter"); is it '/', the key is a path already.
 */
static void sysctl_key_to_path(char *key)
{
	if (key[strcspn(key, "./")] != '.')
		return;
	for (char *p = key; *p; p++) {
		if (*p == '.')
			*p = '/';
		else if (*p == '/')
			*p = '.';
	}
}

static bool sysfs_path_allowed(const char *path)
{
	const char *rest = startswith(path, "kernel/mm/");

	if (rest)
		return true;
	rest = startswith(path, "module/");
	if (!rest)
		return false;
	rest += strcspn(rest, "/");
	rest = startswith(rest, "/parameters/");
	return rest && !strchr(rest, '/');
}

int catalogue_raw_path(const char *section, const char *key, char **ret)
{
	bool sysctl = streq(section, "sysctl");
	_cleanup_free_ char *path = NULL;
	char *full;
	int r;

	if (!sysctl && !streq(section, "sysfs"))
		return -EINVAL;
	path = strdup(key);
	if (!path)
		return -ENOMEM;
	if (sysctl)
		sysctl_key_to_path(path);
	r = check_components(path);
	if (r < 0)
		return r;
	if (!sysctl && !sysfs_path_allowed(path))
		return -EPERM;
	full = xasprintf("%s%s", sysctl ? "/proc/sys/" : "/sys/", path);
	if (!full)
		return -ENOMEM;
	*ret = full;
	return 0;
}
