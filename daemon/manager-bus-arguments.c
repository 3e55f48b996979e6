/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What callers send, into a request: everything is checked here, and nothing that is not known passes. */
#include "base/clock.h"
#include "base/strutil.h"
#include "base/utf8.h"
#include "core/report-safe.h"
#include "daemon/manager-bus-internal.h"

/* Ids may be paths of kernel files; nothing longer is one. */
#define ID_MAX 4096
#define WIDTH_MAX 10000
/* Far beyond any sense, and far below where sums of times overflow. */
#define SECONDS_MAX INT32_MAX

enum bus_option {
	OPTION_FORMAT,
	OPTION_WIDTH,
	OPTION_COLOUR,
	OPTION_UTF8,
	OPTION_WHAT_IF,
	OPTION_ID,
	OPTION_FORCE,
	OPTION_POOL_TIMEOUT,
	OPTION_CONFIRM_WITHIN,
	OPTION_BOUND,
	OPTION_ALL,
	OPTION_TRANSACTION,
};

#define DESCRIBES (1U << METHOD_DESCRIBE | 1U << METHOD_DESCRIBE_INLINE)
#define CHANGES_OR_VERIFIES (1U << METHOD_APPLY | 1U << METHOD_CONFIRM | 1U << METHOD_ROLLBACK | 1U << METHOD_VERIFY)

static const struct option_row {
	const char *name;
	const char *type;
	unsigned methods;
} options[] = {
	[OPTION_FORMAT] = { "format", "s", CHANGES_OR_VERIFIES },
	[OPTION_WIDTH] = { "width", "u", DESCRIBES | CHANGES_OR_VERIFIES },
	[OPTION_COLOUR] = { "colour", "b", DESCRIBES | CHANGES_OR_VERIFIES },
	[OPTION_UTF8] = { "utf8", "b", DESCRIBES | CHANGES_OR_VERIFIES },
	[OPTION_WHAT_IF] = { "what_if", "b", DESCRIBES },
	[OPTION_ID] = { "id", "s", DESCRIBES },
	[OPTION_FORCE] = { "force", "b", 1U << METHOD_APPLY },
	[OPTION_POOL_TIMEOUT] = { "pool_timeout_usec", "t", 1U << METHOD_APPLY },
	[OPTION_CONFIRM_WITHIN] = { "confirm_within_sec", "t", 1U << METHOD_APPLY },
	[OPTION_BOUND] = { "bound", "b", 1U << METHOD_APPLY },
	[OPTION_ALL] = { "all", "b", 1U << METHOD_ROLLBACK },
	[OPTION_TRANSACTION] = { "transaction", "u", 1U << METHOD_CONFIRM | 1U << METHOD_ROLLBACK },
};

struct reader {
	sd_bus_message *m;
	enum bus_method method;
	struct job_request *request;
	bool bound;
	unsigned given; /* bits of the options */
	sd_bus_error *error;
};

static const enum job_kind kinds[] = {
	[METHOD_DESCRIBE] = JOB_DESCRIBE, [METHOD_DESCRIBE_INLINE] = JOB_DESCRIBE, [METHOD_APPLY] = JOB_APPLY,
	[METHOD_CONFIRM] = JOB_CONFIRM,	  [METHOD_ROLLBACK] = JOB_ROLLBACK,	   [METHOD_VERIFY] = JOB_VERIFY,
};

static int invalid(struct reader *r, const char *fmt, ...) _printf_(2, 3);

static int invalid(struct reader *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	sd_bus_error_setfv(r->error, SD_BUS_ERROR_INVALID_ARGS, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* A word of the caller's for a message: as much of it as a word has. */
static char *quoted(const char *word)
{
	_cleanup_free_ char *printable = text_printable(word, false);

	return printable ? xasprintf("'%.*s'%s", (int)utf8_cut(printable, 60), printable,
				     strlen(printable) > 60 ? "..." : "")
			 : NULL;
}

static int unknown_option(struct reader *r, const char *name)
{
	_cleanup_free_ char *word = quoted(name), *known = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&known, &size);

	if (!f)
		return -ENOMEM;
	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		if (options[i].methods & 1U << r->method)
			fprintf(f, " %s", options[i].name);
	if (fclose(f) != 0 || !word)
		return -ENOMEM;
	return invalid(r, "unknown option %s, there are:%s", word, known);
}

static int read_format(struct reader *r, const char *name)
{
	_cleanup_free_ char *word = NULL;

	if (job_format_from_name(name, &r->request->format) >= 0)
		return 0;
	word = quoted(name);
	return word ? invalid(r, "unknown format %s, there are: text json json-pretty", word) : -ENOMEM;
}

static int read_view(struct reader *r, const char *name)
{
	_cleanup_free_ char *word = NULL;

	if (job_view_from_name(name, &r->request->view) >= 0)
		return 0;
	word = quoted(name);
	return word ? invalid(r,
			      "unknown view %s, there are: status facts plan verify savings list explain history check "
			      "metrics",
			      word)
		    : -ENOMEM;
}

static int read_id(struct reader *r, const char *id)
{
	if (!*id || strlen(id) > ID_MAX)
		return invalid(r, "option 'id' has to have 1 to %d bytes", ID_MAX);
	r->request->id = strdup(id);
	return r->request->id ? 0 : -ENOMEM;
}

static int take_text(struct reader *r, enum bus_option option, const char *text)
{
	switch (option) {
	case OPTION_FORMAT:
		return read_format(r, text);
	case OPTION_ID:
		return read_id(r, text);
	case OPTION_WIDTH:
	case OPTION_COLOUR:
	case OPTION_UTF8:
	case OPTION_WHAT_IF:
	case OPTION_FORCE:
	case OPTION_POOL_TIMEOUT:
	case OPTION_CONFIRM_WITHIN:
	case OPTION_BOUND:
	case OPTION_ALL:
	case OPTION_TRANSACTION:
		break;
	}
	return -EINVAL;
}

static int take_number(struct reader *r, enum bus_option option, uint64_t n)
{
	struct job_request *q = r->request;

	switch (option) {
	case OPTION_WIDTH:
		if (n > WIDTH_MAX)
			return invalid(r, "option 'width' is at most %d", WIDTH_MAX);
		q->width = (unsigned)n;
		return 0;
	case OPTION_COLOUR:
		q->colour = n;
		return 0;
	case OPTION_UTF8:
		q->utf8 = n;
		return 0;
	case OPTION_WHAT_IF:
		q->what_if = n;
		return 0;
	case OPTION_FORCE:
		q->force = n;
		return 0;
	case OPTION_POOL_TIMEOUT:
		if (n == 0 || n / USEC_PER_SEC > SECONDS_MAX)
			return invalid(r, "option 'pool_timeout_usec' has to be from 1 to %llu",
				       SECONDS_MAX * USEC_PER_SEC);
		q->pool_timeout_usec = n;
		return 0;
	case OPTION_CONFIRM_WITHIN:
		if (n == 0 || n > SECONDS_MAX)
			return invalid(r, "option 'confirm_within_sec' has to be from 1 to %d", SECONDS_MAX);
		q->confirm_within_sec = n;
		return 0;
	case OPTION_BOUND:
		r->bound = n;
		return 0;
	case OPTION_ALL:
		q->all = n;
		return 0;
	case OPTION_TRANSACTION:
		if (n == 0)
			return invalid(r, "option 'transaction' has to be at least 1");
		q->transaction = (unsigned)n;
		return 0;
	case OPTION_FORMAT:
	case OPTION_ID:
		break;
	}
	return -EINVAL;
}

/* The value of an option, whose type is right already. */
static int read_value(struct reader *r, enum bus_option option)
{
	union {
		const char *s;
		uint32_t u;
		int b;
		uint64_t t;
	} value = {};
	char type = *options[option].type;
	int k;

	k = sd_bus_message_read_basic(r->m, type, &value);
	if (k < 0)
		return k;
	if (type == SD_BUS_TYPE_STRING)
		return take_text(r, option, value.s);
	if (type == SD_BUS_TYPE_UINT64)
		return take_number(r, option, value.t);
	return take_number(r, option, type == SD_BUS_TYPE_BOOLEAN ? (uint64_t)value.b : value.u);
}

static int read_option(struct reader *r)
{
	const char *name, *type;
	size_t i;
	int k;

	k = sd_bus_message_read(r->m, "s", &name);
	if (k < 0)
		return k;
	for (i = 0; i < ARRAY_SIZE(options); i++)
		if (options[i].methods & 1U << r->method && streq(options[i].name, name))
			break;
	if (i == ARRAY_SIZE(options))
		return unknown_option(r, name);
	if (r->given & 1U << i)
		return invalid(r, "option '%s' is given twice", name);
	r->given |= 1U << i;
	k = sd_bus_message_peek_type(r->m, NULL, &type);
	if (k < 0)
		return k;
	if (!streq(type, options[i].type))
		return invalid(r, "option '%s' has to be of type %s", name, options[i].type);
	k = sd_bus_message_enter_container(r->m, SD_BUS_TYPE_VARIANT, type);
	if (k >= 0)
		k = read_value(r, (enum bus_option)i);
	return k < 0 ? k : sd_bus_message_exit_container(r->m);
}

static int read_options(struct reader *r)
{
	int k;

	k = sd_bus_message_enter_container(r->m, SD_BUS_TYPE_ARRAY, "{sv}");
	if (k < 0)
		return k;
	while ((k = sd_bus_message_enter_container(r->m, SD_BUS_TYPE_DICT_ENTRY, "sv")) > 0) {
		k = read_option(r);
		if (k >= 0)
			k = sd_bus_message_exit_container(r->m);
		if (k < 0)
			return k;
	}
	return k;
}

/* Options that are of no use here are mistakes: they would be passed over in silence. */
static int check_together(struct reader *r)
{
	const struct job_request *q = r->request;

	if (q->kind == JOB_DESCRIBE) {
		if (q->view == VIEW_EXPLAIN && !q->id)
			return invalid(r, "view 'explain' needs option 'id'");
		if (q->view != VIEW_EXPLAIN && q->id)
			return invalid(r, "option 'id' goes with view 'explain' only");
		if (q->view != VIEW_SAVINGS && q->what_if)
			return invalid(r, "option 'what_if' goes with view 'savings' only");
		if (q->view == VIEW_METRICS && q->format != FORMAT_TEXT)
			return invalid(r, "view 'metrics' has format 'text' only");
	}
	if (q->all && q->transaction > 0)
		return invalid(r, "options 'all' and 'transaction' exclude each other");
	if (r->bound && q->confirm_within_sec == 0)
		return invalid(r, "option 'bound' goes with 'confirm_within_sec' only");
	return 0;
}

static int read_arguments(struct reader *r)
{
	const char *view, *format;
	int k = 0;

	if (DESCRIBES & 1U << r->method) {
		k = sd_bus_message_read(r->m, "ss", &view, &format);
		if (k >= 0)
			k = read_view(r, view);
		if (k >= 0)
			k = read_format(r, format);
	}
	if (k >= 0)
		k = read_options(r);
	return k < 0 ? k : check_together(r);
}

int bus_read_arguments(sd_bus_message *m, enum bus_method method, struct job_request *request, bool *ret_bound,
		       sd_bus_error *ret_error)
{
	struct reader r = { .m = m, .method = method, .request = request, .error = ret_error };
	int k;

	*request = (struct job_request){ .kind = kinds[method] };
	k = read_arguments(&r);
	if (k < 0)
		return sd_bus_error_is_set(ret_error) ? k : sd_bus_error_set_errno(ret_error, k);
	*ret_bound = r.bound;
	return 0;
}
