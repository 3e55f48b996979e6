/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/plan.h"

/* One line on the terminal behind standard error that tells what a long wait is for; nothing elsewhere. */
struct progress {
	bool enabled;
	bool shown;
	uint64_t start_msec;
};

void progress_begin(struct progress *p, bool quiet);
/* For apply_options.progress, with a struct progress as userdata. */
void progress_step(void *userdata, const struct plan *plan, size_t step);
/* Shows text at once. */
void progress_text(struct progress *p, const char *text);
/* Wipes the line. */
void progress_end(struct progress *p);
