/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include "base/strutil.h"
#include "cli/bus-client.h"
#include "cli/cli.h"
#include "core/report-views.h"

int cli_open_engine(struct cli *cli, struct engine *ret)
{
	int r = engine_open(ret, cli->line.root, &cli->diags);

	if (r < 0)
		return r;
	ret->policy_file = cli->line.policy;
	ret->force = cli->line.force;
	return 0;
}

static int run_verb(struct cli *cli, struct report **ret)
{
	switch (cli->line.verb->id) {
	case VERB_STATUS:
		return verb_status(cli, ret);
	case VERB_FACTS:
		return verb_facts(cli, ret);
	case VERB_PLAN:
		return verb_plan(cli, ret);
	case VERB_APPLY:
		return verb_apply(cli, ret);
	case VERB_CONFIRM:
		return verb_confirm(cli, ret);
	case VERB_ROLLBACK:
		return verb_rollback(cli, ret);
	case VERB_VERIFY:
		return verb_verify(cli, ret);
	case VERB_SAVINGS:
		return verb_savings(cli, ret);
	case VERB_LIST:
		return verb_list(cli, ret);
	case VERB_EXPLAIN:
		return verb_explain(cli, ret);
	case VERB_CHECK:
		return verb_check(cli, ret);
	case VERB_HISTORY:
		return verb_history(cli, ret);
	case VERB_EXPORT:
		return verb_export(cli, ret);
	case VERB_BOOT:
		return verb_boot(cli, ret);
	}
	return -EINVAL;
}

/* --help and --version: "text" in JSON, lines otherwise. */
static struct report *text_report(const char *view, char *text)
{
	struct report *r = report_new(view);

	if (!text)
		report_free(TAKE_PTR(r));
	report_text(r, "text", NULL, text);
	for (char *line = text, *next; r && *line; line = next) {
		next = line + strcspn(line, "\n");
		if (*next)
			*next++ = '\0';
		report_line(r, "%s", line);
	}
	report_verdict(r, 0, "known");
	return r;
}

static struct report *help_report(void)
{
	_cleanup_free_ char *text = command_line_help();

	return text_report("help", text);
}

static struct report *version_report(void)
{
	char text[] = "mmoptctl " MMOPT_VERSION;

	return text_report("version", text);
}

/*
 * A program that is started with a standard descriptor closed gets the next file it opens in that place, and would write its
 * report into it.  Returns whether standard output is there.
 */
static bool fill_standard_descriptors(void)
{
	bool has_stdout = fcntl(STDOUT_FILENO, F_GETFD) >= 0;
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd > STDERR_FILENO)
		close(fd);
	return has_stdout;
}

static struct report *run(struct cli *cli, bool has_stdout)
{
	struct report *r = NULL;
	int k;

	if (cli->line.help)
		return help_report();
	if (cli->line.version)
		return version_report();
	if (!has_stdout && !(cli->line.quiet && cli->line.json == JSON_OFF))
		k = diag_error(&cli->diags, -EBADF, "standard output is closed: nothing was done");
	else
		k = bus_client_run(cli, &r);
	if (k == 0)
		k = run_verb(cli, &r);
	if (k < 0) {
		/* Each failure has its message already; lack of memory may not have got that far. */
		if (cli->diags.n_errors == 0)
			diag_error(&cli->diags, k, "%s", strerror(-k));
		return report_error(cli->line.verb->name);
	}
	return r;
}

int main(int argc, char **argv)
{
	_cleanup_free_ char *mistake = NULL;
	bool has_stdout = fill_standard_descriptors();
	struct cli cli = {};
	struct report *r;
	int k, exit_status;

	/* A reader that leaves shows as EPIPE. */
	signal(SIGPIPE, SIG_IGN);
	k = command_line_parse(argc, argv, &cli.line, &mistake);
	if (k < 0) {
		diag_error(&cli.diags, k, "%s", mistake ?: strerror(-k));
		r = report_error(cli.line.verb ? cli.line.verb->name : NULL);
	} else {
		r = run(&cli, has_stdout);
	}
	exit_status = cli.answer.is_there ? cli_show_answer(&cli) : cli_show(&cli, r);
	free(cli.answer.document);
	diag_list_clear(&cli.diags);
	return exit_status;
}
