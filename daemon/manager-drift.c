/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who changed what mmopt had set, and what is done about it. */
#include "base/clock.h"
#include "base/strutil.h"
#include "daemon/journal.h"
#include "daemon/manager-internal.h"

/* A value set again this often is left to whoever fights for it. */
#define MAX_FIGHTS 3
#define REAPPLY_INTERVAL_USEC (10 * USEC_PER_SEC)
/* A program that writes in a loop must not keep mmoptd busy. */
#define CHECK_INTERVAL_USEC USEC_PER_SEC

static void item_clear(struct watched_item *item)
{
	free(item->id);
	free(item->path);
	free(item->value);
	free(item->drifted_to);
}

static void items_free(struct watched_item *items, size_t n)
{
	for (size_t i = 0; i < n; i++)
		item_clear(&items[i]);
	free(items);
}

void watched_items_clear(struct manager *m)
{
	items_free(TAKE_PTR(m->items), m->n_items);
	m->n_items = 0;
}

static int compare_items(const void *a, const void *b)
{
	return strcmp(((const struct watched_item *)a)->id, ((const struct watched_item *)b)->id);
}

static struct watched_item *find_item(struct manager *m, const char *id)
{
	struct watched_item key = { .id = (char *)id };

	return m->n_items > 0 ? bsearch(&key, m->items, m->n_items, sizeof(key), compare_items) : NULL;
}

static int set_text(char **text, const char *value)
{
	char *copy = value ? strdup(value) : NULL;

	if (value && !copy)
		return -ENOMEM;
	free(*text);
	*text = copy;
	return 0;
}

static void describe_writer(const struct drift_writer *writer, char *buf, size_t size)
{
	if (writer->pid == 0)
		snprintf(buf, size, "an unknown process");
	else if (writer->comm[0])
		snprintf(buf, size, "%s (pid %d)", writer->comm, (int)writer->pid);
	else
		snprintf(buf, size, "pid %d", (int)writer->pid);
}

static int on_reapply(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct job_request request = { .kind = JOB_REAPPLY, .format = FORMAT_JSON_SHORT };
	struct manager *m = userdata;
	int r = 0;

	m->reapply_timer = sd_event_source_unref(m->reapply_timer);
	/* It would be refused.  The comparison after the trial's end leads here again. */
	if (m->unconfirmed > 0 || m->unconfirmed_seen)
		return 0;
	m->last_reapply_usec = clock_usec(CLOCK_MONOTONIC);
	for (size_t i = 0; r >= 0 && i < m->n_items; i++) {
		struct watched_item *item = &m->items[i];

		if (!item->drifted_to || item->given_up)
			continue;
		item->fights++;
		r = strv_push(&request.only, strdup(item->id));
	}
	if (r >= 0 && request.only)
		manager_submit_own(m, &request);
	strv_free(request.only);
	return 0;
}

static void reapply_soon(struct manager *m)
{
	uint64_t now = clock_usec(CLOCK_MONOTONIC), at = now;
	int r;

	if (m->reapply_timer)
		return;
	if (m->last_reapply_usec > 0)
		at = MAX(now, m->last_reapply_usec + REAPPLY_INTERVAL_USEC);
	r = sd_event_add_time(m->event, &m->reapply_timer, CLOCK_MONOTONIC, at, 0, on_reapply, m);
	if (r < 0)
		journal(LOG_ERR, EVENT_NONE, NULL, "cannot set values again: %s", strerror(-r));
}

static void give_up(struct watched_item *item, const struct journal_fields *fields)
{
	item->given_up = true;
	journal(LOG_WARNING, EVENT_GIVEN_UP, fields,
		"%s: set %u times by mmoptd and changed each time by others: left to them from now on, until mmoptctl apply "
		"or a changed policy",
		item->id, item->fights);
}

static struct journal_fields fields_of(const struct watched_item *item, const char *from)
{
	return (struct journal_fields){
		.tunable = item->id,
		.old_value = from,
		.new_value = item->drifted_to,
		.outcome = "drifted",
		.writer_pid = item->writer.pid,
		.writer_comm = item->writer.comm[0] ? item->writer.comm : NULL,
	};
}

/* At each comparison that finds it changed: an earlier try may have failed, or mmoptd.conf may be another now. */
static void set_right(struct manager *m, struct watched_item *item)
{
	struct journal_fields fields = fields_of(item, item->value);

	switch (m->conf.on_drift) {
	case ON_CHANGE_REPORT:
		return;
	case ON_CHANGE_APPLY:
		break;
	}
	if (item->given_up)
		return;
	if (item->fights >= MAX_FIGHTS)
		give_up(item, &fields);
	else
		reapply_soon(m);
}

static void report_drift(struct manager *m, struct watched_item *item, const char *from)
{
	struct journal_fields fields = fields_of(item, from);
	char who[64];

	item->times++;
	item->time_sec = clock_usec(CLOCK_REALTIME) / USEC_PER_SEC;
	describe_writer(&item->writer, who, sizeof(who));
	journal(LOG_WARNING, EVENT_DRIFT, &fields, "%s: changed from %s to %s by %s", item->id, from, item->drifted_to,
		who);
	manager_bus_emit_drifted(m->bus, item->id, from, item->drifted_to, item->writer.pid, item->writer.comm);
}

/* Moves what is known of an item over to its successor. */
static void inherit(struct watched_item *item, struct watched_item *old)
{
	item->value = TAKE_PTR(old->value);
	item->drifted_to = TAKE_PTR(old->drifted_to);
	item->writer = old->writer;
	item->time_sec = old->time_sec;
	item->times = old->times;
	item->fights = old->fights;
	item->given_up = old->given_up;
}

/* What it was before others changed it, or NULL where they did not. */
static const char *drifted_from(const struct watched_item *item, const struct job_item *found)
{
	if (!found->after)
		return NULL;
	if (found->outcome == OUTCOME_DRIFTED)
		return found->before ?: item->value;
	/* mmopt never had to write it, but it was as wanted before. */
	return found->differs && item->value && !streq(item->value, found->after) ? item->value : NULL;
}

static int compare_item(struct manager *m, struct watched_item *item, const struct job_item *found)
{
	_cleanup_free_ char *from = NULL;
	const char *drifted = drifted_from(item, found);
	int r;

	if (!drifted) {
		r = set_text(&item->drifted_to, NULL);
		item->writer = (struct drift_writer){};
		return r < 0 ? r : set_text(&item->value, found->after);
	}
	if (item->drifted_to && streq(item->drifted_to, found->after)) {
		set_right(m, item);
		return 0;
	}
	from = strdup(item->drifted_to ?: drifted);
	r = from ? set_text(&item->value, drifted) : -ENOMEM;
	if (r >= 0)
		r = set_text(&item->drifted_to, found->after);
	if (r < 0)
		return r;
	report_drift(m, item, from);
	set_right(m, item);
	return 0;
}

static int make_item(struct manager *m, const struct job_item *found, bool reset, struct watched_item *ret)
{
	struct watched_item *old = find_item(m, found->id);
	int r = set_text(&ret->id, found->id);

	if (r >= 0)
		r = set_text(&ret->path, found->path);
	if (r >= 0 && old)
		inherit(ret, old);
	return r >= 0 && reset ? set_text(&ret->value, NULL) : r;
}

int manager_compare_items(struct manager *m, const struct job_result *result, bool reset)
{
	struct watched_item *items = calloc(result->n_items ?: 1, sizeof(*items));
	size_t n = 0;
	int r = items ? 0 : -ENOMEM;

	for (size_t i = 0; r >= 0 && i < result->n_items; i++, n++)
		r = make_item(m, &result->items[i], reset, &items[i]);
	/* A report may set timers that look at all items: they stand before the first is compared. */
	watched_items_clear(m);
	if (r < 0) {
		items_free(items, n);
		return r;
	}
	qsort(items, n, sizeof(*items), compare_items);
	m->items = items;
	m->n_items = n;
	for (size_t i = 0; r >= 0 && i < result->n_items; i++)
		r = compare_item(m, find_item(m, result->items[i].id), &result->items[i]);
	return r;
}

static bool was_written(const struct job_item *found)
{
	return found->after && (found->outcome == OUTCOME_APPLIED || found->outcome == OUTCOME_ADJUSTED ||
				found->outcome == OUTCOME_PARTIAL);
}

int manager_note_written(struct manager *m, const struct job_result *result)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < result->n_items; i++) {
		struct watched_item *item = find_item(m, result->items[i].id);

		if (!item || !was_written(&result->items[i]))
			continue;
		r = set_text(&item->drifted_to, NULL);
		if (r >= 0)
			r = set_text(&item->value, result->items[i].after);
		item->writer = (struct drift_writer){};
	}
	return r;
}

void manager_forgive(struct manager *m)
{
	for (size_t i = 0; i < m->n_items; i++) {
		m->items[i].fights = 0;
		m->items[i].given_up = false;
	}
}

void manager_take_back_fights(struct manager *m, char *const *ids)
{
	for (; ids && *ids; ids++) {
		struct watched_item *item = find_item(m, *ids);

		if (item && item->fights > 0)
			item->fights--;
	}
}

static int on_check(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct manager *m = userdata;

	m->check_timer = sd_event_source_unref(m->check_timer);
	m->last_check_usec = clock_usec(CLOCK_MONOTONIC);
	manager_want_check(m, false);
	return 0;
}

void manager_on_write_seen(void *userdata, const char *path, const struct drift_writer *writer)
{
	struct manager *m = userdata;
	uint64_t at = m->last_check_usec > 0 ? m->last_check_usec + CHECK_INTERVAL_USEC : 0;
	int r;

	/* mmopt's own writes lead to a comparison like all others, and it finds nothing. */
	for (size_t i = 0; i < m->n_items && (writer->pid == 0 || writer->pid != m->writers.job.pid); i++)
		if (m->items[i].path && streq(m->items[i].path, path))
			m->items[i].writer = *writer;
	if (m->check_timer)
		return;
	r = sd_event_add_time(m->event, &m->check_timer, CLOCK_MONOTONIC, at, 0, on_check, m);
	if (r < 0) {
		journal(LOG_ERR, EVENT_NONE, NULL, "cannot wait for the next comparison: %s", strerror(-r));
		manager_want_check(m, false);
	}
}

static int on_drift_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct manager *m = userdata;

	manager_want_check(m, false);
	manager_arm_drift_timer(m);
	return 0;
}

void manager_arm_drift_timer(struct manager *m)
{
	int r;

	m->drift_timer = sd_event_source_unref(m->drift_timer);
	if (m->conf.drift_interval_usec == 0)
		return;
	r = sd_event_add_time(m->event, &m->drift_timer, CLOCK_MONOTONIC,
			      clock_usec(CLOCK_MONOTONIC) + m->conf.drift_interval_usec,
			      m->conf.drift_interval_usec / 10, on_drift_timer, m);
	if (r < 0)
		journal(LOG_ERR, EVENT_NONE, NULL, "cannot set the timer for comparisons: %s", strerror(-r));
}
