/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <locale.h>

#include "base/fileio.h"
#include "base/strutil.h"
#include "cli/cli.h"
#include "cli/pager.h"
#include "cli/terminal.h"
#include "core/report-safe.h"
#include "core/report-views.h"

#define RED "\033[31m"
#define YELLOW "\033[33m"
#define RESET "\033[0m"

static const char *severity_prefix(enum diag_severity severity)
{
	switch (severity) {
	case DIAG_NOTICE:
		return "notice: ";
	case DIAG_WARNING:
		return "warning: ";
	case DIAG_ERROR:
		return "";
	}
	return "";
}

static const char *severity_colour(enum diag_severity severity)
{
	switch (severity) {
	case DIAG_NOTICE:
		return "";
	case DIAG_WARNING:
		return YELLOW;
	case DIAG_ERROR:
		return RED;
	}
	return "";
}

static void show_message(const struct diag *d, bool colour)
{
	_cleanup_free_ char *text = diag_format(d), *safe = text ? text_printable(text, false) : NULL;
	const char *start = colour ? severity_colour(d->severity) : "";

	fprintf(stderr, "mmoptctl: %s%s%s%s\n", start, severity_prefix(d->severity), safe ?: "out of memory",
		*start ? RESET : "");
}

static void show_messages(const struct cli *cli)
{
	struct terminal terminal;

	terminal_look(STDERR_FILENO, &terminal);
	for (size_t i = 0; i < cli->diags.n; i++) {
		const struct diag *d = &cli->diags.items[i];

		if (d->severity == DIAG_ERROR || !cli->line.quiet)
			show_message(d, terminal.colour);
	}
	if (cli->diags.n == 0 && cli->diags.n_errors > 0)
		fputs("mmoptctl: out of memory\n", stderr);
}

static int render(const struct cli *cli, const struct report *r, const struct terminal *terminal, FILE *f)
{
	struct report_text_options options = { .colour = terminal->colour, .width = terminal->width };

	switch (cli->line.json) {
	case JSON_SHORT:
		return report_render_json(r, REPORT_JSON_SHORT, f);
	case JSON_PRETTY:
		return report_render_json(r, REPORT_JSON_PRETTY, f);
	case JSON_OFF:
		break;
	}
	/* For the width and encoding of characters only: numbers and words stay what they are. */
	setlocale(LC_CTYPE, "");
	return report_render_text(r, &options, f);
}

/* All of it in memory first: a pager needs to know its length, and a half document helps nobody. */
static int render_to_memory(const struct cli *cli, const struct report *r, const struct terminal *terminal, char **ret,
			    size_t *ret_size)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);
	int k;

	if (!f)
		return -errno;
	k = render(cli, r, terminal, f);
	if (fclose(f) != 0 && k >= 0)
		k = -ENOMEM;
	if (k < 0)
		return k;
	*ret = TAKE_PTR(text);
	*ret_size = size;
	return 0;
}

static bool longer_than(const char *text, size_t size, unsigned lines)
{
	const char *end = text + size;

	for (; lines > 0; lines--) {
		text = memchr(text, '\n', end - text);
		if (!text)
			return false;
		text++;
	}
	return text < end;
}

static int write_out(const struct terminal *terminal, bool may_page, const char *text, size_t size)
{
	if (terminal->is_terminal && may_page && longer_than(text, size, terminal->height)) {
		int r = pager_show(text, size);

		if (r != 0)
			return r < 0 ? r : 0;
	}
	return write_all(STDOUT_FILENO, text, size);
}

static bool verb_changes(const struct cli *cli)
{
	enum verb_id id = cli->line.verb ? cli->line.verb->id : VERB_STATUS;

	return (id == VERB_APPLY && !cli->line.dry_run) || id == VERB_CONFIRM || id == VERB_ROLLBACK;
}

/* Says so on standard error where it fails. */
static int show_text(const struct cli *cli, const struct terminal *terminal, bool may_page, const char *text,
		     size_t size)
{
	int r = write_out(terminal, may_page, text, size);

	/* The reader has seen enough: no failure of ours. */
	if (r == -EPIPE)
		return 0;
	if (r < 0)
		fprintf(stderr, "mmoptctl: cannot write to standard output: %s%s\n", strerror(-r),
			verb_changes(cli) ? "; what was done is done, see mmoptctl history" : "");
	return r;
}

/* The report in the form asked for; says so on standard error where that fails. */
static int show_report(const struct cli *cli, const struct report *r, bool may_page)
{
	_cleanup_free_ char *text = NULL;
	struct terminal terminal;
	size_t size = 0;
	int k;

	terminal_look(STDOUT_FILENO, &terminal);
	k = render_to_memory(cli, r, &terminal, &text, &size);
	if (k < 0) {
		fprintf(stderr, "mmoptctl: cannot write the report: %s\n", strerror(-k));
		return k;
	}
	return show_text(cli, &terminal, may_page, text, size);
}

int cli_show(struct cli *cli, struct report *r)
{
	int exit_status;

	if (report_failed(r)) {
		diag_error(&cli->diags, -ENOMEM, "out of memory");
		report_free(r);
		r = report_error(cli->line.verb ? cli->line.verb->name : NULL);
	}
	if (r)
		report_diags(r, &cli->diags);
	show_messages(cli);
	if (!r)
		return EXIT_FAILURE;
	exit_status = report_exit_status(r);
	if ((cli->line.json != JSON_OFF || !cli->line.quiet) && show_report(cli, r, !cli->line.no_pager) < 0)
		exit_status = EXIT_FAILURE;
	report_free(r);
	return exit_status;
}

void cli_show_early(struct cli *cli, const struct report *r)
{
	if (cli->line.json == JSON_OFF && !cli->line.quiet && !report_failed(r))
		(void)!show_report(cli, r, false); /* a pager would hold the verb up */
}

int cli_show_answer(struct cli *cli)
{
	const struct cli_answer *a = &cli->answer;
	int exit_status = a->exit_status;
	struct terminal terminal;

	show_messages(cli);
	if (cli->line.json == JSON_OFF && cli->line.quiet)
		return exit_status;
	terminal_look(STDOUT_FILENO, &terminal);
	if (show_text(cli, &terminal, !cli->line.no_pager, a->document, a->size) < 0)
		exit_status = EXIT_FAILURE;
	return exit_status;
}

void cli_show_answer_early(struct cli *cli, const char *document, size_t size)
{
	struct terminal terminal;

	if (cli->line.json != JSON_OFF || cli->line.quiet)
		return;
	terminal_look(STDOUT_FILENO, &terminal);
	(void)!show_text(cli, &terminal, false, document, size);
}

void cli_tell_root(struct cli *cli, const struct engine *e, struct report *r)
{
	static const char format[] = "below %s only: nothing on this machine was changed";

	if (e->io->live)
		return;
	if (cli->line.json == JSON_OFF)
		report_line(r, format, cli->line.root);
	else
		diag_notice(&cli->diags, format, cli->line.root);
}
