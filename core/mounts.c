/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/mounts.h"

#include "base/macros.h"

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

void mount_unescape(char *s)
{
	char *o = s;

	while (*s) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && is_octal(s[2]) && is_octal(s[3])) {
			char c = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));

			/* The kernel never writes \000, and a NUL would cut the string short. */
			if (c) {
				*o++ = c;
				s += 4;
				continue;
			}
		}
		*o++ = *s++;
	}
	*o = '\0';
}

int mounts_parse(const char *text, int (*fn)(void *userdata, const struct mount_line *line), void *userdata)
{
	_cleanup_free_ char *copy = strdup(text);
	char *next = copy;

	if (!copy)
		return -ENOMEM;
	while (next) {
		char *line = strsep(&next, "\n"), *field[4];
		size_t n = 0;
		int r;

		while (n < ARRAY_SIZE(field) && line) {
			field[n] = strsep(&line, " ");
			mount_unescape(field[n]);
			n++;
		}
		if (n < ARRAY_SIZE(field))
			continue;
		r = fn(userdata,
		       &(struct mount_line){
			       .source = field[0], .target = field[1], .type = field[2], .options = field[3] });
		if (r)
			return r;
	}
	return 0;
}

const char *mount_option(const char *options, const char *name, size_t *ret_length)
{
	size_t n = strlen(name);

	for (const char *s = options;;) {
		size_t length = strcspn(s, ",");

		if (length >= n && strncmp(s, name, n) == 0 && (length == n || s[n] == '=')) {
			*ret_length = length == n ? 0 : length - n - 1;
			return length == n ? s + n : s + n + 1;
		}
		if (!s[length])
			return NULL;
		s += length + 1;
	}
}
