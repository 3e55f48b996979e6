/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is wanted of a job: names, copies, and which may share an answer. */
#include "base/strutil.h"
#include "daemon/job.h"

static const char *const view_names[] = {
	[VIEW_STATUS] = "status",   [VIEW_FACTS] = "facts",	[VIEW_PLAN] = "plan",	    [VIEW_VERIFY] = "verify",
	[VIEW_SAVINGS] = "savings", [VIEW_LIST] = "list",	[VIEW_EXPLAIN] = "explain", [VIEW_HISTORY] = "history",
	[VIEW_CHECK] = "check",	    [VIEW_METRICS] = "metrics",
};

static const char *const format_names[] = {
	[FORMAT_TEXT] = "text",
	[FORMAT_JSON_SHORT] = "json",
	[FORMAT_JSON_PRETTY] = "json-pretty",
};

static const char *const kind_names[] = {
	[JOB_DESCRIBE] = "describe", [JOB_VERIFY] = "verify",	[JOB_APPLY] = "apply",
	[JOB_REAPPLY] = "reapply",   [JOB_MEMORY] = "memory",	[JOB_CONFIRM] = "confirm",
	[JOB_ROLLBACK] = "rollback", [JOB_RECOVER] = "recover", [JOB_GIVE_BACK_POOLS] = "give-back-pools",
	[JOB_DELAYS] = "delays",     [JOB_MODULE] = "module",
};

const char *job_kind_name(enum job_kind kind)
{
	return kind_names[kind];
}

bool job_kind_writes(enum job_kind kind)
{
	return kind != JOB_DESCRIBE && kind != JOB_VERIFY;
}

const char *job_view_name(enum job_view view)
{
	return view_names[view];
}

int job_view_from_name(const char *name, enum job_view *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(view_names); i++) {
		if (!streq(view_names[i], name))
			continue;
		*ret = (enum job_view)i;
		return 0;
	}
	return -EINVAL;
}

int job_format_from_name(const char *name, enum job_format *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(format_names); i++) {
		if (!streq(format_names[i], name))
			continue;
		*ret = (enum job_format)i;
		return 0;
	}
	return -EINVAL;
}

void job_request_clear(struct job_request *r)
{
	free(r->id);
	strv_free(r->only);
	*r = (struct job_request){};
}

static bool text_equal(const char *a, const char *b)
{
	return a && b ? streq(a, b) : a == b;
}

bool job_request_equal(const struct job_request *a, const struct job_request *b)
{
	/* What writes is never shared: each caller gets what came of its own call. */
	return !job_kind_writes(a->kind) && a->kind == b->kind && a->view == b->view && a->format == b->format &&
	       a->width == b->width && a->colour == b->colour && a->utf8 == b->utf8 && a->what_if == b->what_if &&
	       text_equal(a->id, b->id);
}

int job_request_copy(const struct job_request *r, struct job_request *ret)
{
	_cleanup_(job_request_clear) struct job_request copy = *r;

	copy.id = NULL;
	copy.only = NULL;
	if (r->id) {
		copy.id = strdup(r->id);
		if (!copy.id)
			return -ENOMEM;
	}
	for (size_t i = 0; r->only && r->only[i]; i++)
		if (strv_push(&copy.only, strdup(r->only[i])) < 0)
			return -ENOMEM;
	*ret = copy;
	copy = (struct job_request){};
	return 0;
}
