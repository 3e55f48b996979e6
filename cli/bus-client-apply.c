/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * "apply" by way of mmoptd.  With --confirm-within the deadline is mmoptd's: this process only waits with the user,
 * and mmoptd goes back by itself when the connection is gone.
 */
#include "base/clock.h"
#include "base/strutil.h"
#include "base/time-span.h"
#include "cli/bus-client-internal.h"
#include "cli/confirm-wait.h"
#include "core/report-views.h"

#define APPLIED                                                                                \
	"type='signal',sender='org.mmopt1',path='/org/mmopt1',interface='org.mmopt1.Manager'," \
	"member='Applied'"
#define OWNER_CHANGED                                                                                                \
	"type='signal',sender='org.freedesktop.DBus',path='/org/freedesktop/DBus',interface='org.freedesktop.DBus'," \
	"member='NameOwnerChanged',arg0='org.mmopt1'"

/* A transaction that waits, and what became of it. */
struct trial {
	struct bus_client *client;
	sigset_t signals;
	uint64_t deadline_sec;
	struct bus_reply applied;
	/* What mmoptd has told meanwhile; a number that is not the transaction's is of no interest. */
	unsigned kept, undone;
	bool mmoptd_gone;
};

static void trial_clear(struct trial *t)
{
	bus_reply_clear(&t->applied);
}

static int on_applied(sd_bus_message *m, void *userdata, sd_bus_error *ret_error)
{
	struct trial *t = userdata;
	const char *verb, *result;
	uint32_t transaction;
	int64_t saved;

	if (t->client->library.sd_bus_message_read(m, "ussx", &transaction, &verb, &result, &saved) < 0)
		return 0;
	if (streq(verb, "confirm"))
		t->kept = transaction;
	else if (streq(verb, "rollback") || streq(verb, "recover"))
		t->undone = transaction;
	return 0;
}

static int on_owner_changed(sd_bus_message *m, void *userdata, sd_bus_error *ret_error)
{
	struct trial *t = userdata;
	const char *name, *before, *now;

	if (t->client->library.sd_bus_message_read(m, "sss", &name, &before, &now) >= 0 && !*now)
		t->mmoptd_gone = true;
	return 0;
}

static bool is_kept(const struct trial *t)
{
	return t->kept == t->applied.transaction;
}

static bool is_undone(const struct trial *t)
{
	return t->undone == t->applied.transaction;
}

static int is_decided(void *userdata)
{
	struct trial *t = userdata;
	int r;

	do
		r = t->client->library.sd_bus_process(t->client->bus, NULL);
	while (r > 0);
	if (is_kept(t) || is_undone(t))
		return 1;
	if (t->mmoptd_gone)
		return -ESRCH;
	return r;
}

static int subscribe(struct bus_client *c, struct trial *t)
{
	int r = c->library.sd_bus_add_match(c->bus, NULL, APPLIED, on_applied, t);

	return r < 0 ? r : c->library.sd_bus_add_match(c->bus, NULL, OWNER_CHANGED, on_owner_changed, t);
}

/* The document of apply with what became of it; text goes on in another one, as the first was shown before the wait. */
static int show_json(struct trial *t, bool kept, const struct diag_list *more)
{
	struct cli *cli = t->client->cli;
	struct report_amendment amendment = {
		.confirmed = kept,
		.exit_status = kept ? t->applied.exit_status : EXIT_FAILURE,
		.verdict = kept ? NULL : "not-confirmed",
		.diags = more,
	};
	char *document;
	int r;

	r = report_json_amend(t->applied.document,
			      cli->line.json == JSON_PRETTY ? REPORT_JSON_PRETTY : REPORT_JSON_SHORT, &amendment,
			      &document);
	if (r < 0)
		return diag_error(&cli->diags, r, "mmoptd's answer cannot be read: %s", strerror(-r));
	free(t->applied.document);
	t->applied.document = document;
	t->applied.size = strlen(document);
	t->applied.exit_status = amendment.exit_status;
	bus_client_show(t->client, &t->applied);
	return 1;
}

static int end_kept(struct trial *t, struct report **ret)
{
	static const struct diag_list nothing;

	if (t->client->cli->line.json != JSON_OFF)
		return show_json(t, true, &nothing);
	*ret = report_confirm(t->applied.transaction);
	report_verdict(*ret, t->applied.exit_status, "confirmed");
	return 1;
}

/* restored: what was taken back, as text, or NULL where others did it. */
static int end_not_kept(struct trial *t, struct bus_reply *restored, const char *text, struct report **ret)
{
	_cleanup_(diag_list_clear) struct diag_list message = {};
	struct cli *cli = t->client->cli;

	diag_error(&cli->diags, -ECANCELED, "%s", text);
	if (cli->line.json != JSON_OFF) {
		diag_error(&message, -ECANCELED, "%s", text);
		return show_json(t, false, &message);
	}
	if (restored) {
		restored->exit_status = EXIT_FAILURE;
		bus_client_show(t->client, restored);
	} else {
		*ret = report_error("apply");
	}
	return 1;
}

/* mmoptd is gone, or the way to it: whoever starts next takes it back.  Here that can be tried at once. */
static int end_lost(struct trial *t, struct report **ret)
{
	_cleanup_(diag_list_clear) struct diag_list ignored = {};
	_cleanup_(restore_clear) struct restore restore = {};
	_cleanup_(engine_clear) struct engine e = {};

	if (!t->client->remote && engine_open(&e, NULL, &ignored) >= 0)
		(void)!engine_recover(&e, &restore);
	return end_not_kept(t, NULL, "the connection to mmoptd is lost, so everything is taken back", ret);
}

/*
 * Confirm or Rollback of this transaction and no other.  1 where mmoptd did it, 0 where it was decided before, or a
 * negative errno; messages are dropped, as what they would say is told in other words.
 */
static int decide(struct trial *t, const char *method, struct bus_reply *ret)
{
	struct bus_request q = { .method = method, .transaction = t->applied.transaction, .changes = true };
	struct diag_list kept = t->client->cli->diags;
	bool refused;
	int r;

	t->client->cli->diags = (struct diag_list){};
	r = bus_client_call(t->client, &q, ret);
	refused = t->client->cli->diags.n_errors > 0;
	diag_list_clear(&t->client->cli->diags);
	t->client->cli->diags = kept;
	if (r <= 0)
		return r < 0 ? r : -ECONNRESET;
	return refused ? 0 : 1;
}

/* Decided, but not by this process. */
static int end_elsewhere(struct trial *t, const char *why, struct report **ret)
{
	_cleanup_free_ char *text = NULL;
	int r = is_decided(t);

	if (r >= 0 && is_kept(t))
		return end_kept(t, ret);
	if (r < 0)
		return end_lost(t, ret);
	text = why ? xasprintf("%s: everything was taken back", why) : strdup("taken back from elsewhere");
	return text ? end_not_kept(t, NULL, text, ret) : -ENOMEM;
}

static int keep(struct trial *t, struct report **ret)
{
	_cleanup_(bus_reply_clear) struct bus_reply confirmed = {};
	int r = decide(t, "Confirm", &confirmed);

	if (r < 0)
		return end_lost(t, ret);
	return r > 0 ? end_kept(t, ret) : end_elsewhere(t, NULL, ret);
}

static int go_back(struct trial *t, const char *why, struct report **ret)
{
	_cleanup_(bus_reply_clear) struct bus_reply restored = {};
	_cleanup_free_ char *text = NULL;
	int r = decide(t, "Rollback", &restored);

	if (r < 0)
		return end_lost(t, ret);
	if (r == 0)
		return end_elsewhere(t, why, ret);
	text = xasprintf("%s: %s", why,
			 restored.exit_status == 0 ? "everything was taken back"
						   : "not everything could be taken back");
	return text ? end_not_kept(t, &restored, text, ret) : -ENOMEM;
}

static int wait_and_decide(struct trial *t, struct report **ret)
{
	struct cli *cli = t->client->cli;
	struct confirm_wait wait = {
		.deadline_sec = t->deadline_sec,
		.decision_fd = t->client->library.sd_bus_get_fd(t->client->bus),
		.quiet = cli->line.quiet,
		.is_decided = is_decided,
		.userdata = t,
	};
	enum confirm_answer answer;

	cli_show_answer_early(cli, t->applied.document, t->applied.size);
	if (confirm_wait(&wait, &t->signals, &answer) < 0)
		return end_lost(t, ret);
	switch (answer) {
	case CONFIRM_ENTER:
		return keep(t, ret);
	case CONFIRM_RECORD:
		return end_elsewhere(t, NULL, ret);
	case CONFIRM_DEADLINE:
	case CONFIRM_SIGNAL:
	case CONFIRM_HANGUP:
		return go_back(t, confirm_answer_text(answer), ret);
	}
	return -EINVAL;
}

static int apply(struct bus_client *c, bool bound, struct bus_reply *ret)
{
	struct bus_request q = {
		.method = "Apply",
		.confirm_within_sec = c->cli->line.confirm_within_sec,
		.bound = bound,
		.changes = true,
	};

	return bus_client_call(c, &q, ret);
}

static int apply_on_trial(struct bus_client *c, struct report **ret)
{
	_cleanup_(trial_clear) struct trial t = { .client = c };
	int r;

	r = bus_client_connect(c);
	if (r >= 0)
		r = subscribe(c, &t);
	if (r < 0 && !c->remote)
		return 0;
	if (r < 0)
		return diag_error(&c->cli->diags, r, "cannot wait for the confirmation: %s", strerror(-r));
	/* From here on a signal is an answer. */
	r = confirm_block_signals(&t.signals);
	if (r < 0)
		return diag_error(&c->cli->diags, r, "cannot block signals: %s", strerror(-r));
	/* Not after that of mmoptd, which reckons from when it has applied. */
	t.deadline_sec = clock_usec(CLOCK_BOOTTIME) / USEC_PER_SEC + c->cli->line.confirm_within_sec;
	r = apply(c, true, &t.applied);
	if (r > 0 && t.applied.unconfirmed)
		return wait_and_decide(&t, ret);
	sigprocmask(SIG_UNBLOCK, &t.signals, NULL);
	if (r > 0)
		bus_client_show(c, &t.applied);
	return r;
}

/* The deadline stays with mmoptd. */
static void tell_deadline(struct bus_client *c, unsigned transaction)
{
	char span[32];

	diag_notice(&c->cli->diags, "transaction %u goes back in %s unless mmoptctl confirm keeps it", transaction,
		    format_time_span(c->cli->line.confirm_within_sec, span));
}

int bus_client_apply(struct bus_client *c, struct report **ret)
{
	_cleanup_(bus_reply_clear) struct bus_reply reply = {};
	int r;

	if (c->cli->line.confirm_within_sec > 0 && !c->cli->line.no_wait)
		return apply_on_trial(c, ret);
	r = apply(c, false, &reply);
	if (r <= 0)
		return r;
	if (reply.unconfirmed && c->cli->line.confirm_within_sec > 0)
		tell_deadline(c, reply.transaction);
	bus_client_show(c, &reply);
	return 1;
}
