/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/apply.h"
#include "core/facts.h"
#include "core/plan.h"
#include "core/policy.h"
#include "core/report.h"
#include "core/savings.h"
#include "core/undo.h"

/* One function per view: they only translate into a report.  All return NULL on lack of memory.  Each sets the verdict and exit status. */
struct report *report_facts(const struct facts *facts);
struct report *report_plan(const struct plan *plan);
struct report *report_apply(const struct plan *plan, enum apply_result result, const struct savings *before,
			    const struct savings *after);
/* What status shows beside the plan. */
struct status_context {
	uint64_t now_sec;	       /* CLOCK_BOOTTIME */
	const struct live_state *live; /* what a running mmoptd says of itself */
	bool zero_page_allocs_known;
	uint64_t zero_page_allocs; /* thp_zero_page_alloc in /proc/vmstat now */
	uint64_t memory_bytes;	   /* MemTotal now; 0: unknown */
};
struct report *report_status(const struct plan *plan, const struct savings *savings, struct undo_store *store,
			     const struct status_context *context);
struct report *report_verify(const struct plan *plan);
struct report *report_savings(const struct savings *savings);
struct report *report_restore(const char *view, const struct restore *restore);
/* A transaction was confirmed. */
struct report *report_confirm(unsigned number);
struct report *report_history(struct undo_store *store);
struct report *report_list(void);
/*
 * One tunable: its row, what it is now, every file that sets it and who wins, and who else writes it.  policy, plan and
 * current (canonical, for a tunable that no policy names) may be NULL.
 */
struct report *report_explain(const struct tunable_ref *ref, const struct policy *policy, const struct plan *plan,
			      const struct facts *facts, const char *current);
/* The files of one policy, or of one per file looked at. */
struct report *report_check(struct policy *const *policies, size_t n);
struct boot_view {
	const char *loader;  /* or NULL */
	const char *cmdline; /* of this boot, or NULL */
	const char *wanted;  /* boot_line_wanted() */
	const char *place;   /* boot_place() */
	size_t length_bytes; /* boot_line_length() */
	size_t limit_bytes;
};
struct report *report_boot_status(const struct plan *plan, const struct boot_view *view);
/* A file of another program, as it is to be written. */
struct report *report_export(const char *format, const char *text);
/* What a verb says that could not do its work; the messages tell why. verb may be NULL. Exit status 1. */
struct report *report_error(const char *verb);
