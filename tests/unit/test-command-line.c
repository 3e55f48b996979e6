/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "test.h"

#include "base/time-span.h"
#include "cli/command-line.h"

#define N_WORDS 8

/* argv as main() has it, of the words up to the first NULL. */
struct words {
	char *argv[N_WORDS + 2];
	int argc;
};

static struct words words_of(const char *const *words)
{
	static char name[] = "mmoptctl";
	struct words w = { .argv = { name }, .argc = 1 };

	for (size_t i = 0; i < N_WORDS && words[i]; i++) {
		w.argv[w.argc] = strdup(words[i]);
		assert_non_null(w.argv[w.argc++]);
	}
	return w;
}

static void words_free(struct words *w)
{
	for (int i = 1; i < w->argc; i++)
		free(w->argv[i]);
}

#define LINE(...) ((const char *const[N_WORDS]){ __VA_ARGS__ })

static void is_taken(const char *const *words, void (*look)(const struct command_line *l))
{
	struct words w = words_of(words);
	char *kept[N_WORDS + 2];
	struct command_line l;
	char *error = NULL;

	memcpy(kept, w.argv, sizeof(kept));
	assert_int_equal(command_line_parse(w.argc, w.argv, &l, &error), 0);
	assert_null(error);
	look(&l);
	memcpy(w.argv, kept, sizeof(kept));
	words_free(&w);
}

static void is_refused(const char *const *words, const char *expected)
{
	struct words w = words_of(words);
	char *kept[N_WORDS + 2];
	struct command_line l;
	char *error = NULL;

	memcpy(kept, w.argv, sizeof(kept));
	assert_int_equal(command_line_parse(w.argc, w.argv, &l, &error), -EINVAL);
	assert_string_equal(error, expected);
	free(error);
	memcpy(w.argv, kept, sizeof(kept));
	words_free(&w);
}

static void look_status(const struct command_line *l)
{
	assert_int_equal(l->verb->id, VERB_STATUS);
	assert_int_equal(l->json, JSON_OFF);
}

static void look_apply(const struct command_line *l)
{
	assert_int_equal(l->verb->id, VERB_APPLY);
	assert_int_equal(l->json, JSON_PRETTY);
	assert_int_equal(l->confirm_within_sec, 300);
	assert_int_equal(l->pool_timeout_usec, 1500000);
	assert_true(l->force);
	assert_string_equal(l->policy, "p.conf");
}

static void look_check(const struct command_line *l)
{
	assert_int_equal(l->verb->id, VERB_CHECK);
	assert_int_equal(l->n_arguments, 2);
	assert_string_equal(l->arguments[0], "a");
	assert_string_equal(l->arguments[1], "--quiet");
}

static void look_host(const struct command_line *l)
{
	assert_string_equal(l->host, "joe@there");
	assert_null(l->machine);
	assert_true(l->no_wait);
}

static void look_machine(const struct command_line *l)
{
	assert_string_equal(l->machine, "container");
	assert_null(l->host);
	assert_int_equal(l->verb->id, VERB_PLAN);
}

static void look_json(const struct command_line *l)
{
	assert_int_equal(l->json, JSON_SHORT);
	assert_true(l->quiet && l->direct);
}

static void takes_what_is_right(void **state)
{
	is_taken(LINE(NULL), look_status);
	is_taken(LINE("apply", "--json=pretty", "--confirm-within=5min", "--pool-timeout", "1s500ms", "--force",
		      "--policy", "p.conf"),
		 look_apply);
	is_taken(LINE("check", "a", "--", "--quiet"), look_check);
	is_taken(LINE("-H", "joe@there", "apply", "--confirm-within=90", "--no-wait"), look_host);
	is_taken(LINE("plan", "-Mcontainer"), look_machine);
	is_taken(LINE("-q", "--json", "--direct", "plan"), look_json);
}

static void refuses_what_is_wrong(void **state)
{
	is_refused(LINE("paln"), "unknown verb 'paln' (did you mean 'plan'?)");
	is_refused(LINE("zzzzzzzz"), "unknown verb 'zzzzzzzz', see mmoptctl --help");
	is_refused(LINE("boot"), "boot needs status");
	is_refused(LINE("--polcy=x"), "unknown option '--polcy' (did you mean '--policy'?)");
	is_refused(LINE("plan", "-x"), "unknown option '-x'");
	is_refused(LINE("-H"), "option '--host' needs [USER@]HOST");
	is_refused(LINE("--host=", "plan"), "--host: the name is empty");
	is_refused(LINE("-H", "a", "-M", "b"), "--host and --machine exclude each other");
	is_refused(LINE("-H", "a", "--root=/b"), "--host and --root exclude each other");
	is_refused(LINE("-M", "a", "--policy=b"), "--machine and --policy exclude each other");
	is_refused(LINE("-Ha", "--direct"), "--host and --direct exclude each other");
	is_refused(LINE("-Ha", "check", "b.conf"),
		   "check looks for 'b.conf' on this machine: without a file it goes with --host");
	is_refused(LINE("-Ma", "apply", "--dry-run", "--force"), "--dry-run with --force does not go with --machine");
	is_refused(LINE("apply", "--no-wait"), "--no-wait goes with --confirm-within");
	is_refused(LINE("confirm", "--no-wait"), "option '--no-wait' goes with apply, not with confirm");
	is_refused(LINE("apply", "--no-wait", "--confirm-within=9", "--direct"),
		   "--no-wait and --direct exclude each other");
	is_refused(LINE("--json", "-x", "plan"), "unknown option '-x'");
	is_refused(LINE("--quiet=yes"), "option '--quiet' takes no argument");
	is_refused(LINE("--root"), "option '--root' needs DIR");
	is_refused(LINE("--root="), "--root: the name is empty");
	is_refused(LINE("--json=loud"), "--json is short, pretty or off, not 'loud'");
	is_refused(LINE("plan", "--force"), "option '--force' goes with apply, not with plan");
	is_refused(LINE("--all"), "option '--all' goes with rollback, not with status");
	is_refused(LINE("plan", "x"), "plan takes no arguments, 'x' is too much");
	is_refused(LINE("apply", "db.conf"),
		   "apply takes no arguments, 'db.conf' is too much (did you mean '--policy=db.conf'?)");
	is_refused(LINE("plan", "./db"), "plan takes no arguments, './db' is too much (did you mean '--policy=./db'?)");
	is_refused(LINE("plan", "--policy=a", "b.conf"), "plan takes no arguments, 'b.conf' is too much");
	is_refused(LINE("explain"), "explain needs ID");
	is_refused(LINE("explain", "a", "b"), "explain takes ID only, 'b' is too much");
	is_refused(LINE("apply", "--confirm-within=5x"), "--confirm-within: '5x' is no time, write 90s, 5min or 1h");
	is_refused(LINE("apply", "--confirm-within=0"), "--confirm-within: '0' is too short a time");
	is_refused(LINE("apply", "--dry-run", "--confirm-within=1h"),
		   "--dry-run and --confirm-within exclude each other");
}

/* The mistake is told in the form that was asked for, wherever that stands. */
static void json_is_seen_after_a_mistake(void **state)
{
	struct words w = words_of(LINE("--nosuch", "plan", "--json=short"));
	_cleanup_free_ char *error = NULL;
	struct command_line l;

	assert_int_equal(command_line_parse(w.argc, w.argv, &l, &error), -EINVAL);
	assert_int_equal(l.json, JSON_SHORT);
	words_free(&w);
}

static void help_wins_over_missing_arguments(void **state)
{
	struct words w = words_of(LINE("explain", "--help"));
	struct command_line l;
	char *error = NULL;

	assert_int_equal(command_line_parse(w.argc, w.argv, &l, &error), 0);
	assert_true(l.help);
	words_free(&w);
}

static void help_names_everything(void **state)
{
	_cleanup_free_ char *help = command_line_help();
	const struct option_row *options;
	const struct verb *verbs;
	size_t n;

	verbs = verbs_table(&n);
	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *text = xasprintf("\n  %s ", verbs[i].name);

		assert_non_null(strstr(help, text));
	}
	options = options_table(&n);
	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *text = xasprintf("--%s", options[i].name);

		assert_non_null(strstr(help, text));
	}
}

static void tables_are_sound(void **state)
{
	const struct option_row *options;
	const struct verb *verbs;
	size_t n;

	verbs = verbs_table(&n);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(verbs[i].id, i);
		assert_true(verbs[i].min_arguments <= verbs[i].max_arguments);
		assert_ptr_equal(verb_find(verbs[i].name), &verbs[i]);
	}
	options = options_table(&n);
	assert_true(n <= 64);
	for (size_t i = 0; i < n; i++)
		assert_ptr_equal(option_get(options[i].id), &options[i]);
}

static void time_spans(void **state)
{
	static const struct {
		const char *text;
		int result;
		uint64_t usec;
	} cases[] = {
		{ "90s", 0, 90 * USEC_PER_SEC },
		{ "5min", 0, 300 * USEC_PER_SEC },
		{ "5m", 0, 300 * USEC_PER_SEC },
		{ "1h", 0, 3600 * USEC_PER_SEC },
		{ "1h 30min", 0, 5400 * USEC_PER_SEC },
		{ "1h30min", 0, 5400 * USEC_PER_SEC },
		{ "2d", 0, 172800 * USEC_PER_SEC },
		{ "250ms", 0, 250000 },
		{ "7", 0, 7 * USEC_PER_SEC },
		{ "0", 0, 0 },
		{ "", -EINVAL, 0 },
		{ " 5s", -EINVAL, 0 },
		{ "5x", -EINVAL, 0 },
		{ "5 s", -EINVAL, 0 },
		{ "s", -EINVAL, 0 },
		{ "-5s", -EINVAL, 0 },
		{ "1.5h", -EINVAL, 0 },
		{ "010s", -EINVAL, 0 },
		{ "5minutes", -EINVAL, 0 },
		{ "18446744073709551615s", -ERANGE, 0 },
		{ "99999999999999999999999", -ERANGE, 0 },
		{ "213503982d 213503982d", -ERANGE, 0 },
	};
	char buf[32];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t usec = 0;

		assert_int_equal(parse_time_span(cases[i].text, &usec), cases[i].result);
		assert_int_equal(usec, cases[i].usec);
	}
	assert_string_equal(format_time_span(59, buf), "59s");
	assert_string_equal(format_time_span(299, buf), "4min 59s");
	assert_string_equal(format_time_span(3603, buf), "1h 0min 3s");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_what_is_right),
		cmocka_unit_test(refuses_what_is_wrong),
		cmocka_unit_test(json_is_seen_after_a_mistake),
		cmocka_unit_test(help_wins_over_missing_arguments),
		cmocka_unit_test(help_names_everything),
		cmocka_unit_test(tables_are_sound),
		cmocka_unit_test(time_spans),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
