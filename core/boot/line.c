/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/boot/line.h"

#include "base/macros.h"
#include "base/strutil.h"

static bool is_wanted(const struct step *step)
{
	return step->ref.tunable->scope == SCOPE_BOOT && step->wanted && step->action != STEP_REFUSE;
}

char *boot_line_wanted(const struct plan *plan)
{
	_cleanup_free_ char *line = strdup("");

	for (size_t i = 0; line && i < plan->n_steps; i++) {
		const struct step *step = &plan->steps[i];
		_cleanup_free_ char *tokens = NULL;
		char *longer;

		if (!is_wanted(step))
			continue;
		tokens = tunable_boot_token(&step->ref, step->wanted);
		longer = tokens ? xasprintf("%s%s%s", line, *line ? " " : "", tokens) : NULL;
		if (!longer)
			return NULL;
		free(line);
		line = longer;
	}
	return TAKE_PTR(line);
}

/* COMMAND_LINE_SIZE in arch/ARCH/include/uapi/asm/setup.h and their likes, Linux 6.12. */
size_t boot_line_limit(const char *architecture)
{
	static const struct {
		const char *architecture;
		size_t bytes;
	} table[] = {
		{ "x86_64", 2048 },  { "i386", 2048 }, { "arm64", 2048 },
		{ "powerpc", 2048 }, { "mips", 4096 }, { "s390", 4096 /* CONFIG_COMMAND_LINE_SIZE */ },
	};

	for (size_t i = 0; architecture && i < ARRAY_SIZE(table); i++)
		if (streq(architecture, table[i].architecture))
			return table[i].bytes - 1;
	return 1024 - 1;
}

size_t boot_line_length(const struct plan *plan, const char *line)
{
	size_t n = strlen(line);

	for (size_t i = 0; i < plan->n_steps; i++) {
		const struct step *step = &plan->steps[i];
		_cleanup_free_ char *tokens = NULL;

		if (!is_wanted(step) || step->outcome != OUTCOME_PENDING_REBOOT || step->is_on_line)
			continue;
		tokens = tunable_boot_token(&step->ref, step->wanted);
		if (!tokens)
			continue;
		n += strlen(tokens);
		/* In the place of others, or behind a blank. */
		if (step->conflict)
			n -= MIN(n, strlen(step->conflict));
		else
			n += n > strlen(tokens);
	}
	return n;
}
