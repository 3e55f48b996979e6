/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Lines of sysctl.d files as sysctl.d(5) has them: mmopt does not apply them, it tells who else sets a key.
 */
struct sysctl_line {
	char *path;	     /* below /proc/sys, slashes between: "vm/swappiness"; may hold a glob */
	const char *value;   /* in the line, trimmed; NULL: "-key", which takes keys out of globs */
	bool ignore_failure; /* leading '-' */
	bool is_glob;
};

enum sysctl_line_kind {
	SYSCTL_LINE_NOTHING,	/* blank or a comment */
	SYSCTL_LINE_ASSIGNMENT, /* *ret is filled in; the caller frees ret->path */
	SYSCTL_LINE_BAD,	/* no assignment, or a path that leads out of /proc/sys */
};

/* Takes one line apart, in place.  A kind, or -ENOMEM. */
int sysctl_line_parse(char *line, struct sysctl_line *ret);

/*
 * "vm.swappiness" to "vm/swappiness".  The first separator decides: after a '.', '.' and '/' change places all along;
 * after a '/', nothing does.  In place; what it returns is inside key.  NULL where the path is empty or has a "..".
 */
char *sysctl_key_to_path(char *key);
/* And back to dots, for people and for the names of tunables. */
void sysctl_path_to_key(char *path);
