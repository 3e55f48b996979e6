/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/cmdline.h"

#include "base/macros.h"
#include "base/strutil.h"

/* As in the kernel's ctype table, which counts the no-break space of Latin-1 as white space. */
static bool is_space(char c)
{
	return is_blank(c) || (unsigned char)c == 0xa0;
}

static int push(struct cmdline *c, size_t *n_allocated, struct cmdline_param param)
{
	if (c->n == *n_allocated) {
		size_t n = *n_allocated ? *n_allocated * 2 : 32;
		struct cmdline_param *params = realloc(c->params, n * sizeof(*params));

		if (!params)
			return -ENOMEM;
		c->params = params;
		*n_allocated = n;
	}
	c->params[c->n++] = param;
	return 0;
}

/* Name and value of one token without their quotes. */
static int split_token(const char *token, size_t length, struct cmdline_param *ret)
{
	_cleanup_free_ char *name = NULL, *value = NULL;
	const char *s = token, *end = token + length, *equals;
	bool quoted = length > 0 && token[0] == '"';

	if (quoted)
		s++;
	/* A name has at least one character: "=x" is a name. */
	equals = end - s > 1 ? memchr(s + 1, '=', end - s - 1) : NULL;
	if (equals) {
		const char *v = equals + 1, *v_end = end;
		bool value_quoted = v < end && *v == '"';

		if (value_quoted)
			v++;
		if ((value_quoted || quoted) && v_end > v && v_end[-1] == '"')
			v_end--;
		value = strndup(v, v_end - v);
		if (!value)
			return -ENOMEM;
		end = equals;
	} else if (quoted && end > s && end[-1] == '"') {
		end--;
	}
	name = strndup(s, end - s);
	if (!name)
		return -ENOMEM;
	ret->name = TAKE_PTR(name);
	ret->value = TAKE_PTR(value);
	return 0;
}

static size_t token_length(const char *s)
{
	bool in_quote = false;
	size_t i;

	for (i = 0; s[i] && (in_quote || !is_space(s[i])); i++)
		if (s[i] == '"')
			in_quote = !in_quote;
	return i;
}

static char *copy_init_args(const char *s)
{
	size_t n;

	while (is_space(*s))
		s++;
	n = strlen(s);
	while (n > 0 && is_space(s[n - 1]))
		n--;
	return strndup(s, n);
}

int cmdline_parse(const char *text, struct cmdline *ret)
{
	struct cmdline c = {};
	size_t n_allocated = 0;

	for (const char *s = text;;) {
		struct cmdline_param param = {};

		while (is_space(*s))
			s++;
		if (!*s)
			break;
		param.offset = s - text;
		param.length = token_length(s);
		if (split_token(s, param.length, &param) < 0)
			goto fail;
		s += param.length;
		if (!param.value && streq(param.name, "--")) {
			free(param.name);
			c.init_args = copy_init_args(s);
			if (!c.init_args)
				goto fail;
			break;
		}
		if (push(&c, &n_allocated, param) < 0) {
			free(param.name);
			free(param.value);
			goto fail;
		}
	}
	*ret = c;
	return 0;
fail:
	cmdline_clear(&c);
	return -ENOMEM;
}

void cmdline_clear(struct cmdline *c)
{
	for (size_t i = 0; i < c->n; i++) {
		free(c->params[i].name);
		free(c->params[i].value);
	}
	free(c->params);
	free(c->init_args);
	*c = (struct cmdline){};
}

bool cmdline_name_equal(const char *a, const char *b)
{
	for (;; a++, b++) {
		char x = *a == '-' ? '_' : *a, y = *b == '-' ? '_' : *b;

		if (x != y)
			return false;
		if (!x)
			return true;
	}
}

enum cmdline_repeat cmdline_repeat(const char *name)
{
	static const struct {
		const char *name;
		enum cmdline_repeat repeat;
	} table[] = {
		{ .name = "cgroup_disable", .repeat = CMDLINE_ADD },
		{ .name = "cgroup_enable", .repeat = CMDLINE_ADD },
		{ .name = "console", .repeat = CMDLINE_ADD },
		{ .name = "default_hugepagesz", .repeat = CMDLINE_FIRST },
		{ .name = "dyndbg", .repeat = CMDLINE_ADD },
		{ .name = "earlycon", .repeat = CMDLINE_ADD },
		{ .name = "hugepages", .repeat = CMDLINE_PAIR },
		{ .name = "hugepagesz", .repeat = CMDLINE_PAIR },
		{ .name = "memmap", .repeat = CMDLINE_ADD },
		{ .name = "module_blacklist", .repeat = CMDLINE_LAST },
		{ .name = "thp_anon", .repeat = CMDLINE_ADD },
		{ .name = "thp_shmem", .repeat = CMDLINE_ADD },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (cmdline_name_equal(name, table[i].name))
			return table[i].repeat;
	return CMDLINE_LAST;
}

const struct cmdline_param *cmdline_find(const struct cmdline *c, const char *name)
{
	bool first = cmdline_repeat(name) == CMDLINE_FIRST;
	const struct cmdline_param *found = NULL;

	for (size_t i = 0; i < c->n && !(first && found); i++)
		if (cmdline_name_equal(c->params[i].name, name))
			found = &c->params[i];
	return found;
}

static unsigned digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = ascii_lower(c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 16;
}

/* The kernel's simple_strtoull() with base 0, except that too large a number is UINT64_MAX. */
static uint64_t kernel_number(const char *s, const char **ret_end)
{
	bool too_large = false;
	unsigned base = 10;
	uint64_t n = 0;

	if (s[0] == '0') {
		base = 8;
		if (ascii_lower(s[1]) == 'x' && digit_value(s[2]) < 16) {
			base = 16;
			s += 2;
		}
	}
	for (; digit_value(*s) < base; s++)
		too_large |= __builtin_mul_overflow(n, (uint64_t)base, &n) ||
			     __builtin_add_overflow(n, (uint64_t)digit_value(*s), &n);
	*ret_end = s;
	return too_large ? UINT64_MAX : n;
}

uint64_t cmdline_size(const char *s)
{
	static const char suffixes[] = "kmgtpe";
	const char *suffix;
	uint64_t n;

	n = kernel_number(s, &s);
	suffix = *s ? strchr(suffixes, ascii_lower(*s)) : NULL;
	for (ptrdiff_t i = suffix ? suffix - suffixes + 1 : 0; i > 0; i--)
		if (__builtin_mul_overflow(n, (uint64_t)1024, &n))
			return 0;
	return n;
}
