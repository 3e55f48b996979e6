/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/strutil.h"
#include "base/time-span.h"
#include "cli/command-line.h"
#include "fuzz.h"

/* The arguments of mmoptctl, one per line. argv has to end with NULL and to be writable, as main() has it. */
static char **arguments_of(char *text, int *ret_n)
{
	size_t n = 1;
	char **argv;

	for (const char *p = text; *p; p++)
		n += *p == '\n';
	argv = calloc(n + 2, sizeof(*argv));
	HOLDS(argv);
	argv[0] = text + strlen(text); /* its own name matters to nobody */
	*ret_n = 1;
	for (char *line = text, *next; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		argv[(*ret_n)++] = line;
	}
	return argv;
}

static void check_line(const struct command_line *l, const char *error)
{
	HOLDS(!error && l->verb);
	if (l->help || l->version)
		return;
	HOLDS(l->n_arguments >= l->verb->min_arguments && l->n_arguments <= l->verb->max_arguments);
	HOLDS(l->verb->id == VERB_APPLY ||
	      (!l->dry_run && !l->force && !l->confirm_within_sec && !l->pool_timeout_usec));
	HOLDS(l->verb->id == VERB_ROLLBACK || !l->all);
	HOLDS(l->verb->id == VERB_SAVINGS || !l->what_if);
	HOLDS(!l->root || *l->root);
	HOLDS(!l->policy || *l->policy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = strndup((const char *)data, size), *error = NULL;
	_cleanup_free_ char **argv = NULL;
	struct command_line l;
	uint64_t usec;
	int argc, r;

	HOLDS(text);
	r = parse_time_span(text, &usec);
	HOLDS(r == 0 || r == -EINVAL || r == -ERANGE);
	argv = arguments_of(text, &argc);
	r = command_line_parse(argc, argv, &l, &error);
	if (r == 0) {
		check_line(&l, error);
	} else {
		HOLDS(r == -EINVAL);
		HOLDS(error && *error);
	}
	return 0;
}
