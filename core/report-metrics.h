/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/live-state.h"
#include "core/plan.h"
#include "core/savings.h"
#include "core/undo.h"

/*
 * Metrics in Prometheus' text format, as node_exporter's textfile collector reads it: no times, each family's HELP and TYPE once, a family
 * without data is left out.  The names are an interface: alerts and dashboards are made of them.
 */
struct metrics_input {
	const struct plan *plan; /* after verify_plan() */
	const struct savings *savings;
	struct undo_store *store; /* or NULL */
	const struct live_state *live;
};

/* The whole file; the caller frees *ret. 0 or -ENOMEM. */
int metrics_render(const struct metrics_input *input, char **ret);
