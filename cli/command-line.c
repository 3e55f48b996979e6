/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/command-line.h"

#include <getopt.h>
#include <limits.h>

#include "base/strutil.h"
#include "base/time-span.h"

/* The letters of the options, for getopt_long(). ':' first: a missing argument is told from an unknown option. */
#define LETTERS ":hqH:M:"

struct parser {
	struct command_line line;
	uint64_t given; /* bits of options_table(), for those that go with one verb only */
	char *error;	/* the first mistake */
	bool no_memory;
};

/* Keeps the first mistake: those after it are often its consequences. */
static void mistake(struct parser *p, char *text)
{
	if (!text)
		p->no_memory = true;
	else if (!p->error)
		p->error = text;
	else
		free(text);
}

/* " (did you mean 'plan'?)", "" or NULL. */
static char *did_you_mean(const char *prefix, const char *nearest)
{
	return nearest ? xasprintf(" (did you mean '%s%s'?)", prefix, nearest) : strdup("");
}

static void unknown_verb(struct parser *p, const char *name)
{
	_cleanup_free_ char *hint = NULL;
	const char *nearest = NULL;
	unsigned distance = UINT_MAX;
	const struct verb *verbs;
	size_t n;

	verbs = verbs_table(&n);
	for (size_t i = 0; i < n; i++)
		if (nearer_name(name, verbs[i].name, &distance))
			nearest = verbs[i].name;
	hint = nearest ? did_you_mean("", nearest) : strdup(", see mmoptctl --help");
	mistake(p, hint ? xasprintf("unknown verb '%s'%s", name, hint) : NULL);
}

static void unknown_option(struct parser *p, const char *given)
{
	_cleanup_free_ char *hint = NULL, *name = NULL;
	const char *nearest = NULL, *dashes = startswith(given, "--");
	unsigned distance = UINT_MAX;
	const struct option_row *options;
	size_t n;

	if (optopt != 0) {
		mistake(p, xasprintf("unknown option '-%c'", optopt));
		return;
	}
	name = strndup(given, strcspn(given, "="));
	if (!name) {
		p->no_memory = true;
		return;
	}
	options = options_table(&n);
	for (size_t i = 0; dashes && i < n; i++)
		if (nearer_name(name + 2, options[i].name, &distance))
			nearest = options[i].name;
	hint = did_you_mean("--", nearest);
	mistake(p, hint ? xasprintf("unknown option '%s'%s", name, hint) : NULL);
}

/* getopt_long() says '?' for what it does not know and for an argument that an option does not take. */
static void wrong_option(struct parser *p, const char *given)
{
	const struct option_row *o = optopt != 0 ? option_get((enum option_id)optopt) : NULL;

	if (o && !o->argument)
		mistake(p, xasprintf("option '--%s' takes no argument", o->name));
	else
		unknown_option(p, given);
}

static void take_json(struct parser *p, const char *word)
{
	if (!word || streq(word, "short"))
		p->line.json = JSON_SHORT;
	else if (streq(word, "pretty"))
		p->line.json = JSON_PRETTY;
	else if (streq(word, "off"))
		p->line.json = JSON_OFF;
	else
		mistake(p, xasprintf("--json is short, pretty or off, not '%s'", word));
}

static void take_time(struct parser *p, const char *option, const char *text, uint64_t least_usec, uint64_t *ret_usec)
{
	uint64_t usec;
	int r = parse_time_span(text, &usec);

	if (r == -ERANGE)
		mistake(p, xasprintf("--%s: '%s' is too long a time", option, text));
	else if (r < 0)
		mistake(p, xasprintf("--%s: '%s' is no time, write 90s, 5min or 1h", option, text));
	else if (usec < least_usec)
		mistake(p, xasprintf("--%s: '%s' is too short a time", option, text));
	else
		*ret_usec = usec;
}

static void take_path(struct parser *p, const char *option, const char *path, const char **ret)
{
	if (*path)
		*ret = path;
	else
		mistake(p, xasprintf("--%s: the name is empty", option));
}

static void take_format(struct parser *p, const char *word)
{
	const char *nearest = NULL;
	unsigned distance = UINT_MAX;

	for (unsigned i = 0; i < _EXPORT_FORMAT_MAX; i++) {
		if (streq(word, export_format_names[i])) {
			p->line.format = (enum export_format)i;
			return;
		}
		if (nearer_name(word, export_format_names[i], &distance))
			nearest = export_format_names[i];
	}
	if (nearest)
		mistake(p, xasprintf("--format: '%s' is no format (did you mean '%s'?)", word, nearest));
	else
		mistake(p, xasprintf("--format: '%s' is no format, see mmoptctl --help", word));
}

static void take_option(struct parser *p, enum option_id id, const char *argument)
{
	struct command_line *l = &p->line;
	uint64_t usec = 0;

	switch (id) {
	case OPTION_HELP:
		l->help = true;
		return;
	case OPTION_VERSION:
		l->version = true;
		return;
	case OPTION_QUIET:
		l->quiet = true;
		return;
	case OPTION_JSON:
		take_json(p, argument);
		return;
	case OPTION_ROOT:
		take_path(p, "root", argument, &l->root);
		return;
	case OPTION_POLICY:
		take_path(p, "policy", argument, &l->policy);
		return;
	case OPTION_HOST:
		take_path(p, "host", argument, &l->host);
		return;
	case OPTION_MACHINE:
		take_path(p, "machine", argument, &l->machine);
		return;
	case OPTION_NO_PAGER:
		l->no_pager = true;
		return;
	case OPTION_DIRECT:
		l->direct = true;
		return;
	case OPTION_DRY_RUN:
		l->dry_run = true;
		return;
	case OPTION_FORCE:
		l->force = true;
		return;
	case OPTION_POOL_TIMEOUT:
		take_time(p, "pool-timeout", argument, 1, &l->pool_timeout_usec);
		return;
	case OPTION_CONFIRM_WITHIN:
		take_time(p, "confirm-within", argument, USEC_PER_SEC, &usec);
		l->confirm_within_sec = usec / USEC_PER_SEC;
		return;
	case OPTION_NO_WAIT:
		l->no_wait = true;
		return;
	case OPTION_ALL:
		l->all = true;
		return;
	case OPTION_WHAT_IF:
		l->what_if = true;
		return;
	case OPTION_FORMAT:
		take_format(p, argument);
		return;
	case OPTION_RESOLVE:
		l->resolve = true;
		return;
	}
}

/* The table in the form of getopt_long(); the caller frees; NULL on lack of memory. */
static struct option *long_options(void)
{
	const struct option_row *options;
	struct option *l;
	size_t n;

	options = options_table(&n);
	l = calloc(n + 1, sizeof(*l));
	for (size_t i = 0; l && i < n; i++) {
		l[i].name = options[i].name;
		l[i].val = options[i].id;
		l[i].has_arg = !options[i].argument	      ? no_argument
			       : options[i].argument_optional ? optional_argument
							      : required_argument;
	}
	return l;
}

static void remember_given(struct parser *p, enum option_id id)
{
	const struct option_row *options;
	size_t n;

	options = options_table(&n);
	for (size_t i = 0; i < n; i++)
		if (options[i].id == id)
			p->given |= 1ULL << i;
}

static int parse_options(struct parser *p, int argc, char **argv)
{
	_cleanup_free_ struct option *options = long_options();
	int c;

	if (!options)
		return -ENOMEM;
	opterr = 0;
	optind = 0; /* GNU: start anew, also where this runs more than once */
	while ((c = getopt_long(argc, argv, LETTERS, options, NULL)) != -1) {
		/* Of a long option; letters are told by optopt. */
		const char *given = argv[optind > 1 ? optind - 1 : 1];

		if (c == '?') {
			wrong_option(p, given);
		} else if (c == ':') {
			const struct option_row *o = option_get((enum option_id)optopt);

			mistake(p, xasprintf("option '--%s' needs %s", o ? o->name : "?",
					     o ? o->argument : "an argument"));
		} else {
			remember_given(p, (enum option_id)c);
			take_option(p, (enum option_id)c, optarg);
		}
	}
	return 0;
}

/* What mmoptd does: on another machine all of it, and with --no-wait the waiting. */
static void check_far(struct parser *p)
{
	const struct command_line *l = &p->line;
	const char *far = l->host ? "--host" : l->machine ? "--machine" : l->no_wait ? "--no-wait" : NULL;
	const char *here = l->root ? "--root" : l->policy ? "--policy" : l->direct ? "--direct" : NULL;

	if (l->host && l->machine)
		mistake(p, xasprintf("--host and --machine exclude each other"));
	if (far && here)
		mistake(p, xasprintf("%s and %s exclude each other", far, here));
	if (!l->host && !l->machine)
		return;
	if (l->verb->id == VERB_EXPORT || l->verb->id == VERB_BOOT)
		mistake(p, xasprintf("%s looks at this machine and does not go with %s", l->verb->name, far));
	if (l->verb->id == VERB_CHECK && l->n_arguments > 0)
		mistake(p, xasprintf("check looks for '%s' on this machine: without a file it goes with %s",
				     l->arguments[0], far));
	if (l->dry_run && l->force)
		mistake(p, xasprintf("--dry-run with --force does not go with %s", far));
}

static void check_options(struct parser *p)
{
	const struct option_row *options;
	size_t n;

	options = options_table(&n);
	for (size_t i = 0; i < n; i++) {
		if (!(p->given & 1ULL << i) || options[i].global || options[i].verb == p->line.verb->id)
			continue;
		mistake(p, xasprintf("option '--%s' goes with %s, not with %s", options[i].name,
				     verb_get(options[i].verb)->name, p->line.verb->name));
	}
	if (p->line.dry_run && p->line.confirm_within_sec > 0)
		mistake(p, xasprintf("--dry-run and --confirm-within exclude each other"));
	if (p->line.no_wait && p->line.confirm_within_sec == 0)
		mistake(p, xasprintf("--no-wait goes with --confirm-within"));
	if (p->line.verb->id == VERB_EXPORT && p->line.format == _EXPORT_FORMAT_MAX)
		mistake(p, xasprintf("export needs --format=FORMAT: %s", option_get(OPTION_FORMAT)->summary));
	check_far(p);
}

/* "apply db.conf": the file stands as an argument, as check takes it. */
static bool looks_like_policy(const char *argument)
{
	return endswith(argument, ".conf") || strchr(argument, '/');
}

/* "boot status": what comes behind the verb is one of its words. */
static void check_words(struct parser *p)
{
	const struct verb *v = p->line.verb;
	const char *nearest = NULL;
	unsigned distance = UINT_MAX;

	for (size_t i = 0; v->words && v->words[i]; i++) {
		if (streq(p->line.arguments[0], v->words[i]))
			return;
		if (nearer_name(p->line.arguments[0], v->words[i], &distance))
			nearest = v->words[i];
	}
	if (!v->words)
		return;
	if (nearest)
		mistake(p, xasprintf("%s: unknown '%s' (did you mean '%s'?)", v->name, p->line.arguments[0], nearest));
	else
		mistake(p, xasprintf("%s: unknown '%s', it takes %s", v->name, p->line.arguments[0], v->arguments));
}

static void check_arguments(struct parser *p)
{
	const struct verb *v = p->line.verb;
	const char *extra;

	if (p->line.n_arguments < v->min_arguments) {
		mistake(p, xasprintf("%s needs %s", v->name, v->arguments));
		return;
	}
	if (p->line.n_arguments <= v->max_arguments) {
		check_words(p);
		return;
	}
	extra = p->line.arguments[v->max_arguments];
	if (v->max_arguments > 0)
		mistake(p, xasprintf("%s takes %s only, '%s' is too much", v->name, v->arguments, extra));
	else if (looks_like_policy(extra) && !p->line.policy)
		mistake(p, xasprintf("%s takes no arguments, '%s' is too much (did you mean '--policy=%s'?)", v->name,
				     extra, extra));
	else
		mistake(p, xasprintf("%s takes no arguments, '%s' is too much", v->name, extra));
}

static void take_verb(struct parser *p, int argc, char **argv)
{
	if (optind >= argc) {
		p->line.verb = verb_get(VERB_STATUS);
	} else {
		p->line.verb = verb_find(argv[optind]);
		if (!p->line.verb) {
			unknown_verb(p, argv[optind]);
			return;
		}
		p->line.arguments = argv + optind + 1;
		p->line.n_arguments = argc - optind - 1;
	}
	if (p->line.help || p->line.version)
		return;
	check_options(p);
	check_arguments(p);
}

int command_line_parse(int argc, char **argv, struct command_line *ret, char **ret_error)
{
	struct parser p = { .line.format = _EXPORT_FORMAT_MAX };
	int r;

	if (argc < 1) {
		*ret = (struct command_line){ .verb = verb_get(VERB_STATUS) };
		return 0;
	}
	r = parse_options(&p, argc, argv);
	if (r < 0)
		return r;
	take_verb(&p, argc, argv);
	*ret = p.line;
	if (p.error) {
		*ret_error = p.error;
		return -EINVAL;
	}
	return p.no_memory ? -ENOMEM : 0;
}
