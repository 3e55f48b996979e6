/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <getopt.h>
#include <stdarg.h>

#include "base/number.h"
#include "base/strutil.h"
#include "tests/bench/bench.h"

#define MAX_OPTIONS 32

static const char *program = "bench";

static void complain(const char *fmt, va_list args)
{
	fflush(stdout);
	fprintf(stderr, "%s: ", program);
	vfprintf(stderr, fmt, args);
	fputc('\n', stderr);
}

void bench_fail(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	complain(fmt, args);
	va_end(args);
	exit(1);
}

void bench_skip(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	complain(fmt, args);
	va_end(args);
	exit(BENCH_SKIPPED);
}

void bench_need_root(void)
{
	if (geteuid() != 0)
		bench_skip("needs root");
}

/* The wrong argument may hold anything: it is the user's own, on the user's own terminal. */
static void usage_error(const char *option, const char *text, const char *why)
{
	fprintf(stderr, "%s: --%s: '%s' %s; see --help\n", program, option, text, why);
	exit(2);
}

static uint64_t number_of(const struct bench_option *o, const char *text)
{
	uint64_t v = 0;

	if (parse_u64(text, &v) < 0)
		usage_error(o->name, text, "is not a number");
	if (v < o->min || v > o->max) {
		fprintf(stderr, "%s: --%s: %s is not between %llu and %llu\n", program, o->name, text,
			(unsigned long long)o->min, (unsigned long long)o->max);
		exit(2);
	}
	return v;
}

static void take_list(const struct bench_option *o, const char *text)
{
	_cleanup_free_ char *copy = strdup(text);
	struct bench_list *list = o->target;
	char *rest = copy, *item;

	if (!copy)
		bench_fail("out of memory");
	list->n = 0;
	while ((item = strsep(&rest, ","))) {
		if (list->n == BENCH_MAX_LIST)
			usage_error(o->name, text, "has too many numbers");
		list->v[list->n++] = number_of(o, item);
	}
}

static void take(const struct bench_option *o, const char *text)
{
	switch (o->kind) {
	case BENCH_FLAG:
		*(bool *)o->target = true;
		break;
	case BENCH_NUMBER:
		*(uint64_t *)o->target = number_of(o, text);
		break;
	case BENCH_LIST:
		take_list(o, text);
		break;
	case BENCH_WORD:
		*(const char **)o->target = text;
		break;
	}
}

static void show_default(const struct bench_option *o)
{
	const struct bench_list *list = o->target;

	if (o->kind == BENCH_NUMBER)
		printf(" (%llu)", (unsigned long long)*(uint64_t *)o->target);
	if (o->kind == BENCH_WORD && *(const char **)o->target)
		printf(" (%s)", *(const char **)o->target);
	for (size_t i = 0; o->kind == BENCH_LIST && i < list->n; i++)
		printf("%s%llu%s", i ? "," : " (", (unsigned long long)list->v[i], i + 1 == list->n ? ")" : "");
	putchar('\n');
}

static void help(const char *about, const struct bench_option *options)
{
	printf("usage: %s [OPTION...]\n\n%s\n\n", program, about);
	for (const struct bench_option *o = options; o->name; o++) {
		_cleanup_free_ char *left =
			xasprintf("--%s%s%s", o->name, o->value ? " " : "", o->value ? o->value : "");

		printf("  %-22s %s", left ? left : o->name, o->help);
		show_default(o);
	}
	printf("  %-22s %s\n", "--help", "this text");
	printf("\nExit status: 0 it ran, 1 it failed, 2 the arguments are wrong, %d it cannot run here.\n",
	       BENCH_SKIPPED);
}

/* Figures that nobody got are a failure. */
static void check_output(void)
{
	if (fflush(stdout) != 0 || ferror(stdout))
		_exit(1);
}

void bench_options(int argc, char **argv, const char *name, const char *about, const struct bench_option *options)
{
	struct option longs[MAX_OPTIONS + 2] = { 0 };
	int n = 0, c;

	program = name;
	if (atexit(check_output) != 0)
		bench_fail("out of memory");
	for (; options[n].name && n < MAX_OPTIONS; n++)
		longs[n] = (struct option){ .name = options[n].name,
					    .has_arg = options[n].kind == BENCH_FLAG ? no_argument : required_argument,
					    .val = 256 + n };
	longs[n] = (struct option){ .name = "help", .val = 'h' };
	while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		if (c == 'h') {
			help(about, options);
			exit(0);
		}
		if (c < 256 || c >= 256 + n)
			exit(2); /* getopt has said why */
		take(&options[c - 256], optarg);
	}
	if (optind < argc) {
		fprintf(stderr, "%s: '%s' is not an option; see --help\n", program, argv[optind]);
		exit(2);
	}
}
