/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/bus-client.h"

#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>

#include "base/clock.h"
#include "base/fileio.h"
#include "base/strutil.h"
#include "cli/bus-client-internal.h"
#include "cli/terminal.h"

#define BUS_NAME "org.mmopt1"
#define BUS_PATH "/org/mmopt1"
#define BUS_INTERFACE "org.mmopt1.Manager"

/* Where nobody answers, the engine here looks itself; a job of mmoptd takes less than a second. */
#define READ_TIMEOUT_USEC (15 * USEC_PER_SEC)
/* What else may hold up a change: another one, and a password that is being typed. */
#define CHANGE_TIMEOUT_USEC (60 * USEC_PER_SEC)
#define DIALOG_TIMEOUT_USEC (5 * 60 * USEC_PER_SEC)
/* For how long pools grow unless it is said. */
#define POOL_TIMEOUT_USEC (30 * USEC_PER_SEC)

#define NO_TIMEOUT UINT64_MAX

struct message {
	struct bus_client *client;
	sd_bus_message *m;
};

static void message_unref(struct message *m)
{
	if (m->m)
		m->client->library.sd_bus_message_unref(m->m);
}

void bus_reply_clear(struct bus_reply *r)
{
	free(r->document);
	*r = (struct bus_reply){};
}

static void client_close(struct bus_client *c)
{
	if (c->bus)
		c->library.sd_bus_flush_close_unref(c->bus);
}

/* Where the other end is, for messages. */
static const char *place(const struct bus_client *c)
{
	return c->cli->line.host ?: c->cli->line.machine ?: "this machine";
}

static const char *format_name(const struct cli *cli)
{
	switch (cli->line.json) {
	case JSON_SHORT:
		return "json";
	case JSON_PRETTY:
		return "json-pretty";
	case JSON_OFF:
		break;
	}
	return "text";
}

static int append_option(struct message *m, const char *name, const char *type, const void *value)
{
	const struct bus_library *l = &m->client->library;
	int r;

	r = l->sd_bus_message_open_container(m->m, SD_BUS_TYPE_DICT_ENTRY, "sv");
	if (r >= 0)
		r = l->sd_bus_message_append_basic(m->m, SD_BUS_TYPE_STRING, name);
	if (r >= 0)
		r = l->sd_bus_message_open_container(m->m, SD_BUS_TYPE_VARIANT, type);
	if (r >= 0)
		r = l->sd_bus_message_append_basic(m->m, *type, value);
	if (r >= 0)
		r = l->sd_bus_message_close_container(m->m);
	return r < 0 ? r : l->sd_bus_message_close_container(m->m);
}

static int append_true(struct message *m, const char *name)
{
	static const int yes = 1;

	return append_option(m, name, "b", &yes);
}

/* How this terminal shows text; nothing of it matters to JSON. */
static int append_looks(struct message *m)
{
	struct terminal terminal;
	uint32_t width;
	int r = 0;

	if (m->client->cli->line.json != JSON_OFF)
		return 0;
	setlocale(LC_CTYPE, "");
	if (streq(nl_langinfo(CODESET), "UTF-8"))
		r = append_true(m, "utf8");
	terminal_look(STDOUT_FILENO, &terminal);
	width = terminal.width;
	if (r >= 0 && width > 0)
		r = append_option(m, "width", "u", &width);
	if (r >= 0 && terminal.colour)
		r = append_true(m, "colour");
	return r;
}

static int append_apply_options(struct message *m, const struct bus_request *q)
{
	const struct command_line *l = &m->client->cli->line;
	int r = 0;

	if (l->force)
		r = append_true(m, "force");
	if (r >= 0 && l->pool_timeout_usec > 0)
		r = append_option(m, "pool_timeout_usec", "t", &l->pool_timeout_usec);
	if (r >= 0 && q->confirm_within_sec > 0)
		r = append_option(m, "confirm_within_sec", "t", &q->confirm_within_sec);
	if (r >= 0 && q->bound)
		r = append_true(m, "bound");
	return r;
}

static int append_options(struct message *m, const struct bus_request *q)
{
	const struct bus_library *l = &m->client->library;
	const struct command_line *line = &m->client->cli->line;
	int r;

	r = l->sd_bus_message_open_container(m->m, SD_BUS_TYPE_ARRAY, "{sv}");
	if (r >= 0)
		r = append_looks(m);
	if (r >= 0 && !q->view)
		r = append_option(m, "format", "s", format_name(m->client->cli));
	if (r >= 0 && q->id)
		r = append_option(m, "id", "s", q->id);
	if (r >= 0 && q->view && line->what_if)
		r = append_true(m, "what_if");
	if (r >= 0 && streq(q->method, "Apply"))
		r = append_apply_options(m, q);
	if (r >= 0 && streq(q->method, "Rollback") && line->all)
		r = append_true(m, "all");
	if (r >= 0 && q->transaction > 0)
		r = append_option(m, "transaction", "u", &q->transaction);
	return r < 0 ? r : l->sd_bus_message_close_container(m->m);
}

static int make_message(struct bus_client *c, const struct bus_request *q, struct message *ret)
{
	struct message m = { .client = c };
	const struct bus_library *l = &c->library;
	int r;

	r = l->sd_bus_message_new_method_call(c->bus, &m.m, BUS_NAME, BUS_PATH, BUS_INTERFACE, q->method);
	if (r < 0)
		return r;
	*ret = m;
	/* Here the engine is at hand and quicker; there mmoptd is the only one to ask. */
	r = l->sd_bus_message_set_auto_start(m.m, c->remote);
	if (r >= 0 && q->changes)
		r = l->sd_bus_message_set_allow_interactive_authorization(m.m, isatty(STDIN_FILENO));
	if (r >= 0 && q->view)
		r = l->sd_bus_message_append(m.m, "ss", q->view, format_name(c->cli));
	return r < 0 ? r : append_options(&m, q);
}

static uint64_t timeout_of(const struct bus_client *c, const struct bus_request *q)
{
	uint64_t usec;

	/* ssh asks for passwords, and knows itself when a connection is dead. */
	if (c->remote)
		return NO_TIMEOUT;
	if (!q->changes)
		return READ_TIMEOUT_USEC;
	usec = CHANGE_TIMEOUT_USEC + (geteuid() == 0 ? 0 : DIALOG_TIMEOUT_USEC);
	if (streq(q->method, "Apply"))
		usec += c->cli->line.pool_timeout_usec ?: POOL_TIMEOUT_USEC;
	return usec;
}

static enum diag_severity severity_from_name(const char *name)
{
	if (streq(name, "error"))
		return DIAG_ERROR;
	return streq(name, "warning") ? DIAG_WARNING : DIAG_NOTICE;
}

static int read_diags(struct message *m)
{
	const struct bus_library *l = &m->client->library;
	const char *severity, *file, *key, *text;
	uint32_t line;
	int r;

	r = l->sd_bus_message_enter_container(m->m, SD_BUS_TYPE_ARRAY, "(ssuss)");
	while (r >= 0 && (r = l->sd_bus_message_read(m->m, "(ssuss)", &severity, &file, &line, &key, &text)) > 0)
		diag_add(&m->client->cli->diags, severity_from_name(severity), *file ? file : NULL, line,
			 *key ? key : NULL, "%s", text);
	return r < 0 ? r : l->sd_bus_message_exit_container(m->m);
}

static int read_document(struct message *m, bool is_file, struct bus_reply *reply)
{
	const struct bus_library *l = &m->client->library;
	const char *text;
	int fd, r;

	if (is_file) {
		r = l->sd_bus_message_read(m->m, "h", &fd);
		return r < 0 ? r : read_fd(fd, 0, &reply->document, &reply->size);
	}
	r = l->sd_bus_message_read(m->m, "s", &text);
	if (r < 0)
		return r;
	reply->document = strdup(text);
	reply->size = strlen(text);
	return reply->document ? 0 : -ENOMEM;
}

static int read_reply(struct message *m, const struct bus_request *q, struct bus_reply *ret)
{
	_cleanup_(bus_reply_clear) struct bus_reply reply = {};
	const struct bus_library *l = &m->client->library;
	int unconfirmed, r;

	r = read_document(m, streq(q->method, "Describe"), &reply);
	if (r >= 0)
		r = l->sd_bus_message_read(m->m, "i", &reply.exit_status);
	if (r >= 0)
		r = read_diags(m);
	if (r >= 0 && streq(q->method, "Apply")) {
		r = l->sd_bus_message_read(m->m, "ub", &reply.transaction, &unconfirmed);
		reply.unconfirmed = r >= 0 && unconfirmed;
	}
	if (r < 0)
		return r;
	*ret = reply;
	reply = (struct bus_reply){};
	return 0;
}

/* Errors of which it is certain that nothing was done. */
static bool is_not_done(const struct bus_client *c, const sd_bus_error *e)
{
	static const char *const names[] = {
		SD_BUS_ERROR_ACCESS_DENIED,   SD_BUS_ERROR_INTERACTIVE_AUTHORIZATION_REQUIRED,
		SD_BUS_ERROR_INVALID_ARGS,    SD_BUS_ERROR_NAME_HAS_NO_OWNER,
		SD_BUS_ERROR_SERVICE_UNKNOWN, SD_BUS_ERROR_UNKNOWN_INTERFACE,
		SD_BUS_ERROR_UNKNOWN_METHOD,  SD_BUS_ERROR_UNKNOWN_OBJECT,
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (c->library.sd_bus_error_has_name(e, names[i]))
			return true;
	return false;
}

static int fail_remote(struct bus_client *c, int error, const sd_bus_error *e)
{
	struct diag_list *diags = &c->cli->diags;
	const char *program = c->cli->line.host ? "ssh" : "the way into the container";

	if (c->library.sd_bus_error_has_name(e, SD_BUS_ERROR_SERVICE_UNKNOWN) ||
	    c->library.sd_bus_error_has_name(e, SD_BUS_ERROR_NAME_HAS_NO_OWNER))
		return diag_error(diags, error, "%s: there is no mmoptd: install and start it there", place(c));
	if (!c->connected && (error == -ECONNRESET || error == -ENOTCONN || error == -EPIPE))
		return diag_error(
			diags, error,
			"%s: no connection: %s failed, or there is no system bus or no systemd-stdio-bridge there",
			place(c), program);
	return diag_error(diags, error, "%s: %s", place(c), e->message ?: strerror(-error));
}

/* The call has ended with an error: 0 where the engine here may do it. */
static int fail(struct bus_client *c, const struct bus_request *q, int error, const sd_bus_error *e)
{
	bool not_done = !q->changes || is_not_done(c, e) || !c->connected;

	if (!not_done && c->library.sd_bus_error_has_name(e, SD_BUS_ERROR_LIMITS_EXCEEDED))
		return diag_error(&c->cli->diags, error, "mmoptd: %s", e->message ?: strerror(-error));
	if (!not_done)
		return diag_error(
			&c->cli->diags, error,
			"mmoptd on %s was asked and has not answered, what it has done is not known: see mmoptctl "
			"status and history: %s",
			place(c), e->message ?: strerror(-error));
	return c->remote ? fail_remote(c, error, e) : 0;
}

/* Hello and whatever a way to another machine takes, so that a failure after it is one of the call. */
int bus_client_connect(struct bus_client *c)
{
	int r;

	if (c->connected)
		return 0;
	r = c->library.sd_bus_can_send(c->bus, SD_BUS_TYPE_UNIX_FD);
	c->connected = r >= 0;
	return r;
}

int bus_client_call(struct bus_client *c, const struct bus_request *q, struct bus_reply *ret)
{
	_cleanup_(message_unref) struct message m = { .client = c }, answer = { .client = c };
	sd_bus_error error = SD_BUS_ERROR_NULL;
	int r;

	r = bus_client_connect(c);
	if (r < 0)
		return fail(c, q, r, &error);
	r = make_message(c, q, &m);
	if (r < 0)
		return diag_error(&c->cli->diags, r, "cannot ask mmoptd: %s", strerror(-r));
	r = c->library.sd_bus_call(c->bus, m.m, timeout_of(c, q), &error, &answer.m);
	if (r < 0) {
		r = fail(c, q, r, &error);
		c->library.sd_bus_error_free(&error);
		return r;
	}
	r = read_reply(&answer, q, ret);
	if (r < 0)
		return diag_error(&c->cli->diags, r, "mmoptd's answer cannot be read: %s", strerror(-r));
	return 1;
}

void bus_client_show(struct bus_client *c, struct bus_reply *reply)
{
	struct cli_answer *a = &c->cli->answer;

	free(a->document);
	*a = (struct cli_answer){
		.is_there = true,
		.document = TAKE_PTR(reply->document),
		.size = reply->size,
		.exit_status = reply->exit_status,
	};
}

static int describe(struct bus_client *c)
{
	_cleanup_(bus_reply_clear) struct bus_reply reply = {};
	const struct command_line *l = &c->cli->line;
	struct bus_request q = { .view = l->verb->id == VERB_APPLY ? "plan" : l->verb->name };
	int r;

	if (l->verb->id == VERB_EXPLAIN)
		q.id = l->arguments[0];
	r = bus_client_connect(c);
	/* By ssh no file descriptors come. */
	q.method =
		r >= 0 && c->library.sd_bus_can_send(c->bus, SD_BUS_TYPE_UNIX_FD) > 0 ? "Describe" : "DescribeInline";
	r = bus_client_call(c, &q, &reply);
	if (r > 0)
		bus_client_show(c, &reply);
	return r;
}

static int change(struct bus_client *c, const char *method)
{
	_cleanup_(bus_reply_clear) struct bus_reply reply = {};
	struct bus_request q = { .method = method, .changes = true };
	int r = bus_client_call(c, &q, &reply);

	if (r > 0)
		bus_client_show(c, &reply);
	return r;
}

static int run(struct bus_client *c, struct report **ret)
{
	switch (c->cli->line.verb->id) {
	case VERB_APPLY:
		return c->cli->line.dry_run ? describe(c) : bus_client_apply(c, ret);
	case VERB_CONFIRM:
		return change(c, "Confirm");
	case VERB_ROLLBACK:
		return change(c, "Rollback");
	case VERB_STATUS:
	case VERB_FACTS:
	case VERB_PLAN:
	case VERB_VERIFY:
	case VERB_SAVINGS:
	case VERB_LIST:
	case VERB_EXPLAIN:
	case VERB_CHECK:
	case VERB_HISTORY:
		return describe(c);
	case VERB_EXPORT:
	case VERB_BOOT:
		break;
	}
	return -EINVAL;
}

/* Does mmoptd here know this better than the engine, or as well?  "list" and "check" look at no machine, "export" at
 * a policy. */
static bool is_for_mmoptd(const struct command_line *l)
{
	if (l->root || l->policy || l->direct)
		return false;
	switch (l->verb->id) {
	case VERB_LIST:
	case VERB_CHECK:
	case VERB_EXPORT:
	case VERB_BOOT:
		return false;
	case VERB_APPLY:
		/* A plan against the memory guard is none that mmoptd makes for who asks. */
		return !(l->dry_run && l->force);
	case VERB_STATUS:
	case VERB_FACTS:
	case VERB_PLAN:
	case VERB_CONFIRM:
	case VERB_ROLLBACK:
	case VERB_VERIFY:
	case VERB_SAVINGS:
	case VERB_EXPLAIN:
	case VERB_HISTORY:
		return true;
	}
	return false;
}

/* The cheap test first: most machines that run mmoptctl at boot or in a container have no mmoptd. */
static bool mmoptd_runs(void)
{
	_cleanup_close_ int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct live_state live;
	bool running;

	if (root_fd < 0 || live_state_read(root_fd, &live) < 0)
		return false;
	running = live.running;
	live_state_clear(&live);
	return running;
}

static int open_bus(struct bus_client *c)
{
	const struct command_line *l = &c->cli->line;

	if (l->host)
		return c->library.sd_bus_open_system_remote(&c->bus, l->host);
	if (l->machine)
		return c->library.sd_bus_open_system_machine(&c->bus, l->machine);
	return c->library.sd_bus_open_system(&c->bus);
}

static int run_remote(struct bus_client *c, struct report **ret)
{
	static const sd_bus_error nothing = SD_BUS_ERROR_NULL;
	struct diag_list *diags = &c->cli->diags;
	int r;

	r = bus_library_load(&c->library);
	if (r < 0)
		return diag_error(diags, r, "--host and --machine need libsystemd.so.0, which is not installed");
	r = open_bus(c);
	if (r < 0)
		return fail_remote(c, r, &nothing);
	return run(c, ret);
}

static int run_local(struct bus_client *c, struct report **ret)
{
	if (!is_for_mmoptd(&c->cli->line) || !mmoptd_runs() || bus_library_load(&c->library) < 0 || open_bus(c) < 0)
		return 0;
	return run(c, ret);
}

int bus_client_run(struct cli *cli, struct report **ret)
{
	_cleanup_(client_close) struct bus_client c = {
		.cli = cli,
		.remote = cli->line.host || cli->line.machine,
	};
	int r;

	r = c.remote ? run_remote(&c, ret) : run_local(&c, ret);
	if (r == 0 && cli->line.no_wait)
		return diag_error(&cli->diags, -ESRCH,
				  "--no-wait needs a running mmoptd: nobody else would go back at the deadline");
	return r;
}
