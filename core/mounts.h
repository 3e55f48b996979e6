/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* One line of /proc/mounts, octal escapes undone.  Strings live during the call only. */
struct mount_line {
	const char *source;
	const char *target;
	const char *type;
	const char *options;
};

/*
 * Calls fn for each line of /proc/mounts text that has its fields; lines may be of any length, odd ones are passed over.
 * A non-zero return ends the reading and becomes the result.  0, -ENOMEM, or what fn returned.
 */
int mounts_parse(const char *text, int (*fn)(void *userdata, const struct mount_line *line), void *userdata);

/*
 * The value of an option in "rw,relatime,pagesize=2M": its start, *ret_length its length; NULL where it is not there.
 * An option without a value has length 0.
 */
const char *mount_option(const char *options, const char *name, size_t *ret_length);

/* Undoes \040 and the like in place. */
void mount_unescape(char *s);
