/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/ini-file.h"
#include "base/strutil.h"
#include "fuzz.h"

struct seen {
	unsigned line;
	unsigned n_lines;
	size_t n_calls, stop_after;
};

/* No line says two things, and none is behind the end. */
static int see(struct seen *seen, unsigned line)
{
	HOLDS(line > seen->line && line <= seen->n_lines);
	seen->line = line;
	return ++seen->n_calls == seen->stop_after ? -ECANCELED : 0;
}

static void check_text(const char *s)
{
	for (const char *p = s; *p; p++)
		HOLDS((unsigned char)*p >= ' ' || *p == '\t');
}

static void check_stripped(const char *s)
{
	HOLDS(*s);
	check_text(s);
	HOLDS(!is_blank(*s) && !is_blank(s[strlen(s) - 1]));
}

static int on_section(void *userdata, unsigned line, const char *name)
{
	check_stripped(name);
	HOLDS(!strchr(name, ']'));
	return see(userdata, line);
}

static int on_pair(void *userdata, unsigned line, const char *section, const char *key, const char *value)
{
	check_stripped(key);
	HOLDS(!strchr(key, '='));
	HOLDS(*key != '[' && *key != '#' && *key != ';');
	/* In quotes a value keeps its white space. */
	HOLDS(*value);
	check_text(value);
	check_text(section);
	return see(userdata, line);
}

static int on_fault(void *userdata, unsigned line, const char *text)
{
	HOLDS(*text);
	check_text(text);
	return see(userdata, line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct ini_handler handler = { .section = on_section, .pair = on_pair, .fault = on_fault };
	struct seen seen = { .n_lines = 1 }, again;

	for (size_t i = 0; i < size; i++)
		seen.n_lines += data[i] == '\n';
	again = seen;
	HOLDS(ini_read((const char *)data, size, &handler, &seen) == 0);

	/* A handler that gives up is not called again. */
	if (seen.n_calls == 0)
		return 0;
	again.stop_after = (seen.n_calls + 1) / 2;
	HOLDS(ini_read((const char *)data, size, &handler, &again) == -ECANCELED);
	HOLDS(again.n_calls == again.stop_after);
	return 0;
}
