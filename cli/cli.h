/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "cli/command-line.h"
#include "core/diag.h"
#include "core/engine.h"
#include "core/report.h"

/* What mmoptd has answered, to be shown in place of a report. */
struct cli_answer {
	bool is_there;
	char *document; /* for standard output, as it is */
	size_t size;
	int exit_status;
};

/* One run of mmoptctl. Every failure becomes one message in diags: they are shown once, at the end. */
struct cli {
	struct command_line line;
	struct diag_list diags;
	struct cli_answer answer;
};

/* The engine as the command line wants it. 0 or a negative errno with a message. */
int cli_open_engine(struct cli *cli, struct engine *ret);

/* Below --root: says once, in the text or as a message in JSON, that this machine is as it was. */
void cli_tell_root(struct cli *cli, const struct engine *e, struct report *r);

/*
 * Shows a report (NULL: memory ran out) and the messages, and returns the exit status of the program.  A standard output that
 * cannot be written to is one more failure.
 */
int cli_show(struct cli *cli, struct report *r);

/* Text now, before the verb ends; nothing with --json or --quiet. */
void cli_show_early(struct cli *cli, const struct report *r);

/* The same for what came from mmoptd. */
int cli_show_answer(struct cli *cli);
void cli_show_answer_early(struct cli *cli, const char *document, size_t size);

/* The verbs: 0 and *ret, or a negative errno with a message in cli->diags. */
int verb_status(struct cli *cli, struct report **ret);
int verb_facts(struct cli *cli, struct report **ret);
int verb_plan(struct cli *cli, struct report **ret);
int verb_apply(struct cli *cli, struct report **ret);
int verb_confirm(struct cli *cli, struct report **ret);
int verb_rollback(struct cli *cli, struct report **ret);
int verb_verify(struct cli *cli, struct report **ret);
int verb_savings(struct cli *cli, struct report **ret);
int verb_list(struct cli *cli, struct report **ret);
int verb_explain(struct cli *cli, struct report **ret);
int verb_check(struct cli *cli, struct report **ret);
int verb_history(struct cli *cli, struct report **ret);
int verb_export(struct cli *cli, struct report **ret);
int verb_boot(struct cli *cli, struct report **ret);
