/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "cli/command-line.h"
#include "core/diag.h"
#include "core/report.h"

/* One run of mmoptctl. Every failure becomes one message in diags: they are shown once, at the end. */
struct cli {
	struct command_line line;
	struct diag_list diags;
};

/* An error about no file in particular; returns error, for "return cli_error(...)". */
int cli_error(struct cli *cli, int error, const char *fmt, ...) _printf_(3, 4);
void cli_warning(struct cli *cli, const char *fmt, ...) _printf_(2, 3);
void cli_notice(struct cli *cli, const char *fmt, ...) _printf_(2, 3);

/*
 * Shows a report (NULL: memory ran out) and the messages, and returns the exit status of the program.  A standard output that
 * cannot be written to is one more failure.
 */
int cli_show(struct cli *cli, struct report *r);

/* Text now, before the verb ends; nothing with --json or --quiet. */
void cli_show_early(struct cli *cli, const struct report *r);

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
