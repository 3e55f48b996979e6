/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/progress.h"

#include "base/clock.h"
#include "base/macros.h"
#include "base/strutil.h"

/* Most runs are over before anybody could read anything. */
#define QUIET_MSEC 300
#define WIPE "\r\033[K"

void progress_begin(struct progress *p, bool quiet)
{
	*p = (struct progress){
		.enabled = !quiet && isatty(STDERR_FILENO),
		.start_msec = clock_usec(CLOCK_MONOTONIC) / USEC_PER_MSEC,
	};
}

void progress_text(struct progress *p, const char *text)
{
	if (!p->enabled)
		return;
	fprintf(stderr, WIPE "%s", text);
	p->shown = true;
}

void progress_step(void *userdata, const struct plan *plan, size_t step)
{
	struct progress *p = userdata;
	_cleanup_free_ char *text = NULL;

	if (!p->enabled || clock_usec(CLOCK_MONOTONIC) / USEC_PER_MSEC - p->start_msec < QUIET_MSEC)
		return;
	text = xasprintf("[%zu/%zu] %s", step + 1, plan->n_steps, plan->steps[step].id);
	if (text)
		progress_text(p, text);
}

void progress_end(struct progress *p)
{
	if (p->shown)
		fputs(WIPE, stderr);
	p->shown = false;
}
