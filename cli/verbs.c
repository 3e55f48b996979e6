/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/verbs.h"

#include <stdint.h>
#include <string.h>

#include "core/export.h"

#define ANY_NUMBER SIZE_MAX
#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))

static const char *const boot_words[] = { "status", NULL };

static const struct verb verbs[] = {
	{
		.id = VERB_STATUS,
		.name = "status",
		.summary = "What was asked, what is, what it saves, what waits for a reboot (default)",
	},
	{
		.id = VERB_FACTS,
		.name = "facts",
		.summary = "What the probe found, each with its source",
	},
	{
		.id = VERB_PLAN,
		.name = "plan",
		.summary = "What apply would do: now and wanted, by which line, cost and saving",
	},
	{
		.id = VERB_APPLY,
		.name = "apply",
		.summary = "Apply the policy, read everything back",
	},
	{
		.id = VERB_CONFIRM,
		.name = "confirm",
		.summary = "Keep what apply --confirm-within has set",
	},
	{
		.id = VERB_ROLLBACK,
		.name = "rollback",
		.summary = "Take the last transaction back, where the values are still ours",
	},
	{
		.id = VERB_VERIFY,
		.name = "verify",
		.summary = "Compare the machine with the policy, write nothing",
	},
	{
		.id = VERB_SAVINGS,
		.name = "savings",
		.summary = "Memory saved, by mechanism",
	},
	{
		.id = VERB_LIST,
		.name = "list",
		.summary = "Every tunable that mmopt knows",
	},
	{
		.id = VERB_EXPLAIN,
		.name = "explain",
		.arguments = "ID",
		.min_arguments = 1,
		.max_arguments = 1,
		.completion = COMPLETE_IDS,
		.summary = "One tunable: what it is, what it may be, which files set it and which wins",
	},
	{
		.id = VERB_CHECK,
		.name = "check",
		.arguments = "[FILE...]",
		.max_arguments = ANY_NUMBER,
		.completion = COMPLETE_FILES,
		.summary = "Look for mistakes in policy files, or in the installed policy",
	},
	{
		.id = VERB_HISTORY,
		.name = "history",
		.summary = "Transactions of this boot and what they saved",
	},
	{
		.id = VERB_EXPORT,
		.name = "export",
		.summary = "The policy as a file of other programs, for images and machines without mmopt",
	},
	{
		.id = VERB_BOOT,
		.name = "boot",
		.arguments = "status",
		.min_arguments = 1,
		.max_arguments = 1,
		.words = boot_words,
		.summary = "Kernel parameters: wanted, in effect, and where to put those that are not",
	},
};

static const char *const json_words[] = { "short", "pretty", "off", NULL };

static const struct option_row options[] = {
	{
		.id = OPTION_JSON,
		.name = "json",
		.argument = "short|pretty|off",
		.argument_optional = true,
		.global = true,
		.words = json_words,
		.summary = "One JSON document instead of text (short where no word is given)",
	},
	{
		.id = OPTION_ROOT,
		.name = "root",
		.argument = "DIR",
		.global = true,
		.completion = COMPLETE_DIRECTORIES,
		.summary = "Look at the captured or mounted system below DIR",
	},
	{
		.id = OPTION_POLICY,
		.name = "policy",
		.argument = "FILE",
		.global = true,
		.completion = COMPLETE_FILES,
		.summary = "Read this policy file alone",
	},
	{
		.id = OPTION_HOST,
		.name = "host",
		.argument = "[USER@]HOST",
		.global = true,
		.summary = "Ask the mmoptd of another machine, by ssh",
	},
	{
		.id = OPTION_MACHINE,
		.name = "machine",
		.argument = "NAME",
		.global = true,
		.summary = "Ask the mmoptd in a local container",
	},
	{
		.id = OPTION_NO_PAGER,
		.name = "no-pager",
		.global = true,
		.summary = "Do not pipe output into a pager",
	},
	{
		.id = OPTION_DIRECT,
		.name = "direct",
		.global = true,
		.summary = "Do not ask mmoptd, do it in this process",
	},
	{
		.id = OPTION_QUIET,
		.name = "quiet",
		.global = true,
		.summary = "Say nothing but errors; the exit status tells",
	},
	{
		.id = OPTION_HELP,
		.name = "help",
		.global = true,
		.summary = "Show this help",
	},
	{
		.id = OPTION_VERSION,
		.name = "version",
		.global = true,
		.summary = "Show the version",
	},
	{
		.id = OPTION_DRY_RUN,
		.name = "dry-run",
		.verb = VERB_APPLY,
		.summary = "Show the plan, do nothing",
	},
	{
		.id = OPTION_FORCE,
		.name = "force",
		.verb = VERB_APPLY,
		.summary = "Also in rescue and kdump systems, and against the memory guard",
	},
	{
		.id = OPTION_POOL_TIMEOUT,
		.name = "pool-timeout",
		.argument = "TIME",
		.verb = VERB_APPLY,
		.summary = "How long huge page pools may take to grow, all together (default 30s)",
	},
	{
		.id = OPTION_CONFIRM_WITHIN,
		.name = "confirm-within",
		.argument = "TIME",
		.verb = VERB_APPLY,
		.summary = "Go back by itself unless confirmed in this time (90s, 5min, 1h)",
	},
	{
		.id = OPTION_NO_WAIT,
		.name = "no-wait",
		.verb = VERB_APPLY,
		.summary = "With --confirm-within: leave the waiting to mmoptd",
	},
	{
		.id = OPTION_ALL,
		.name = "all",
		.verb = VERB_ROLLBACK,
		.summary = "To the values before mmopt's first write in this boot",
	},
	{
		.id = OPTION_WHAT_IF,
		.name = "what-if",
		.verb = VERB_SAVINGS,
		.summary = "Also what mechanisms would save that are not on",
	},
	{
		.id = OPTION_FORMAT,
		.name = "format",
		.argument = "FORMAT",
		.verb = VERB_EXPORT,
		.words = export_format_names,
		.summary = "ansible, bootc-kargs, grub, kernel-cmdline, sysctl.d or tmpfiles",
	},
	{
		.id = OPTION_RESOLVE,
		.name = "resolve",
		.verb = VERB_EXPORT,
		.summary = "auto and shares of memory as they come out on this machine, else they are left out",
	},
};

const struct verb *verbs_table(size_t *ret_n)
{
	*ret_n = N_ELEMENTS(verbs);
	return verbs;
}

const struct option_row *options_table(size_t *ret_n)
{
	*ret_n = N_ELEMENTS(options);
	return options;
}

const struct verb *verb_find(const char *name)
{
	for (size_t i = 0; i < N_ELEMENTS(verbs); i++)
		if (strcmp(verbs[i].name, name) == 0)
			return &verbs[i];
	return NULL;
}

const struct verb *verb_get(enum verb_id id)
{
	for (size_t i = 0; i < N_ELEMENTS(verbs); i++)
		if (verbs[i].id == id)
			return &verbs[i];
	return NULL;
}

const struct option_row *option_get(enum option_id id)
{
	for (size_t i = 0; i < N_ELEMENTS(options); i++)
		if (options[i].id == id)
			return &options[i];
	return NULL;
}
