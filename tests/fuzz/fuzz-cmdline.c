/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/strutil.h"
#include "core/cmdline.h"
#include "fuzz.h"

/* A token by itself says the same as in its place. */
static void check_token(const char *text, const struct cmdline_param *param)
{
	_cleanup_(cmdline_clear) struct cmdline alone = { 0 };
	_cleanup_free_ char *token = strndup(text + param->offset, param->length);

	HOLDS(token && cmdline_parse(token, &alone) == 0);
	HOLDS(alone.n == 1 && !alone.init_args);
	HOLDS(streq(alone.params[0].name, param->name));
	HOLDS(!alone.params[0].value == !param->value);
	HOLDS(!param->value || streq(alone.params[0].value, param->value));
}

static void check_pools(const struct cmdline *c, uint64_t default_bytes)
{
	struct cmdline_hugetlb machine = { .default_size_bytes = default_bytes };
	_cleanup_free_ struct cmdline_pool *pools = NULL;
	size_t n;

	HOLDS(cmdline_pools(c, &machine, &pools, &n) == 0);
	HOLDS(n <= c->n);
	for (size_t i = 0; i < n; i++) {
		HOLDS(pools[i].size_bytes || default_bytes == 0);
		for (size_t k = 0; k < i; k++)
			HOLDS(pools[k].size_bytes != pools[i].size_bytes);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(cmdline_clear) struct cmdline c = { 0 };
	_cleanup_free_ char *text = strndup((const char *)data, size);
	size_t end = 0, length;

	HOLDS(text);
	length = strlen(text);
	HOLDS(cmdline_parse(text, &c) == 0);
	for (size_t i = 0; i < c.n; i++) {
		const struct cmdline_param *param = &c.params[i];

		HOLDS(param->length > 0 && param->offset >= end && param->offset + param->length <= length);
		end = param->offset + param->length;
		HOLDS(!streq(param->name, "--") || param->value);
		HOLDS(cmdline_find(&c, param->name));
		check_token(text, param);
	}
	if (c.init_args)
		HOLDS(strlen(c.init_args) <= length - end);
	check_pools(&c, 0);
	check_pools(&c, 2 << 20);
	return 0;
}
