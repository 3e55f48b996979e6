/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/strutil.h"
#include "cli/command-line.h"

/* Where the explanations start. */
#define HELP_COLUMN 31

static void write_entry(FILE *f, const char *left, const char *right)
{
	if (strlen(left) < HELP_COLUMN)
		fprintf(f, "%-*s%s\n", HELP_COLUMN, left, right);
	else
		fprintf(f, "%s\n%*s%s\n", left, HELP_COLUMN, "", right);
}

static int write_verbs(FILE *f)
{
	const struct verb *verbs;
	size_t n;

	fputs("\nVerbs:\n", f);
	verbs = verbs_table(&n);
	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *left = NULL;

		left = xasprintf("  %s%s%s", verbs[i].name, verbs[i].arguments ? " " : "", verbs[i].arguments ?: "");
		if (!left)
			return -ENOMEM;
		write_entry(f, left, verbs[i].summary);
	}
	return 0;
}

static char *option_left(const struct option_row *o)
{
	char letter[] = "  -x, ";
	const char *open = o->argument_optional ? "[=" : "=", *close = o->argument_optional ? "]" : "";

	letter[3] = option_letter(o);
	return xasprintf("%s--%s%s%s%s", letter[3] ? letter : "      ", o->name, o->argument ? open : "",
			 o->argument ?: "", o->argument ? close : "");
}

static int write_options(FILE *f)
{
	const struct verb *heading = NULL;
	const struct option_row *options;
	size_t n;

	fputs("\nOptions:\n", f);
	options = options_table(&n);
	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *left = option_left(&options[i]);

		if (!left)
			return -ENOMEM;
		if (!options[i].global && heading != verb_get(options[i].verb)) {
			heading = verb_get(options[i].verb);
			fprintf(f, "\nOptions of %s:\n", heading->name);
		}
		write_entry(f, left, options[i].summary);
	}
	return 0;
}

static int write_help(FILE *f)
{
	int r;

	fputs("mmoptctl [OPTIONS...] [VERB] [ARGUMENTS...]\n\n"
	      "Turn a policy into a tuned machine, and prove what that gave.\n",
	      f);
	r = write_verbs(f);
	if (r < 0)
		return r;
	r = write_options(f);
	if (r < 0)
		return r;
	fputs("\nExit status: 0 fine, 1 error, 2 plan or verify: differs, 3 apply: done, but not all of it.\n"
	      "See mmoptctl(1) and mmopt.policy(5).\n",
	      f);
	return 0;
}

char *command_line_help(void)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);
	int r;

	if (!f)
		return NULL;
	r = write_help(f);
	if (fclose(f) != 0 || r < 0)
		return NULL;
	return TAKE_PTR(text);
}
