/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/strutil.h"
#include "core/report-views.h"

enum {
	RESTORE_COLUMN_ID,
	RESTORE_COLUMN_PATH,
	RESTORE_COLUMN_FROM,
	RESTORE_COLUMN_TO,
	RESTORE_COLUMN_OUTCOME,
	RESTORE_COLUMN_ERROR,
	RESTORE_COLUMN_REASON,
	_RESTORE_COLUMN_MAX,
};

static const struct column restore_columns[_RESTORE_COLUMN_MAX] = {
	[RESTORE_COLUMN_ID] = { "id", "TUNABLE", 0 },
	[RESTORE_COLUMN_PATH] = { "path", "", COLUMN_JSON_ONLY },
	[RESTORE_COLUMN_FROM] = { "from", "FOUND", 0 },
	[RESTORE_COLUMN_TO] = { "to", "BEFORE", 0 },
	[RESTORE_COLUMN_OUTCOME] = { "outcome", "OUTCOME", COLUMN_OUTCOME },
	[RESTORE_COLUMN_ERROR] = { "error", "", COLUMN_JSON_ONLY },
	[RESTORE_COLUMN_REASON] = { "reason", "REASON", COLUMN_WRAP },
};

static void add_restore_items(struct report *r, const struct restore *restore)
{
	struct report_table *t = report_add_table(r, "items", NULL, restore_columns, _RESTORE_COLUMN_MAX);

	for (size_t i = 0; i < restore->n_items; i++) {
		const struct restore_item *item = &restore->items[i];

		report_row(t);
		report_cell_text(t, RESTORE_COLUMN_ID, item->id);
		report_cell_text(t, RESTORE_COLUMN_PATH, item->path);
		report_cell_text(t, RESTORE_COLUMN_FROM, item->from);
		report_cell_text(t, RESTORE_COLUMN_TO, item->to);
		report_cell_text(t, RESTORE_COLUMN_OUTCOME, restore_outcome_name(item->outcome));
		if (item->error != 0)
			report_cell_text(t, RESTORE_COLUMN_ERROR, strerrorname_np(abs(item->error)) ?: "unknown");
		report_cell_text(t, RESTORE_COLUMN_REASON, item->reason);
	}
}

static void add_restore_line(struct report *r, const struct restore *restore)
{
	size_t n_right = restore->n_items - restore->n_foreign - restore->n_failed;

	if (restore->n_transactions == 0) {
		report_line(r, "nothing to take back");
		return;
	}
	report_line(r, "%zu %s back to what %s, %zu left to others, %zu failed", n_right,
		    n_right == 1 ? "value" : "values", n_right == 1 ? "it was" : "they were", restore->n_foreign,
		    restore->n_failed);
}

struct report *report_restore(const char *view, const struct restore *restore)
{
	struct report *r = report_new(view);

	report_number(r, "transactions_count", NULL, restore->n_transactions);
	report_number(r, "foreign_count", NULL, restore->n_foreign);
	report_number(r, "failed_count", NULL, restore->n_failed);
	add_restore_items(r, restore);
	add_restore_line(r, restore);
	if (restore->n_failed > 0)
		report_verdict(r, 1, "failed");
	else if (restore->n_transactions == 0)
		report_verdict(r, 0, "nothing");
	else
		report_verdict(r, 0, "restored");
	return r;
}

struct report *report_confirm(unsigned number)
{
	struct report *r = report_new("confirm");

	report_number(r, "transaction", NULL, number);
	report_line(r, "transaction %u is confirmed and stays", number);
	report_verdict(r, 0, "confirmed");
	return r;
}

enum {
	HISTORY_COLUMN_NUMBER,
	HISTORY_COLUMN_TIME,
	HISTORY_COLUMN_VERB,
	HISTORY_COLUMN_STATE,
	HISTORY_COLUMN_VALUES,
	HISTORY_COLUMN_SAVED,
	HISTORY_COLUMN_RECLAIM_TEXT,
	HISTORY_COLUMN_SWAPIN_TEXT,
	HISTORY_COLUMN_RECLAIM,
	HISTORY_COLUMN_SWAPIN,
	HISTORY_COLUMN_NOTE,
	_HISTORY_COLUMN_MAX,
};

static const struct column history_columns[_HISTORY_COLUMN_MAX] = {
	[HISTORY_COLUMN_NUMBER] = { "number", "NO", COLUMN_RIGHT },
	[HISTORY_COLUMN_TIME] = { "time", "TIME", 0 },
	[HISTORY_COLUMN_VERB] = { "verb", "VERB", 0 },
	[HISTORY_COLUMN_STATE] = { "state", "STATE", COLUMN_OUTCOME },
	[HISTORY_COLUMN_VALUES] = { "values_count", "VALUES", COLUMN_RIGHT | COLUMN_DROPPABLE },
	[HISTORY_COLUMN_SAVED] = { "saved_bytes", "SAVED", COLUMN_RIGHT },
	[HISTORY_COLUMN_RECLAIM_TEXT] = { "reclaim_text", "RECLAIM", COLUMN_TEXT_ONLY | COLUMN_RIGHT },
	[HISTORY_COLUMN_SWAPIN_TEXT] = { "swapin_text", "SWAP-IN", COLUMN_TEXT_ONLY | COLUMN_RIGHT },
	[HISTORY_COLUMN_RECLAIM] = { "reclaim_delay_nsec", "", COLUMN_JSON_ONLY },
	[HISTORY_COLUMN_SWAPIN] = { "swapin_delay_nsec", "", COLUMN_JSON_ONLY },
	[HISTORY_COLUMN_NOTE] = { "note", "NOTE", COLUMN_WRAP },
};

enum {
	CHANGE_COLUMN_TRANSACTION,
	CHANGE_COLUMN_ID,
	CHANGE_COLUMN_PATH,
	CHANGE_COLUMN_BEFORE,
	CHANGE_COLUMN_INTENDED,
	CHANGE_COLUMN_AFTER,
	_CHANGE_COLUMN_MAX,
};

static const struct column change_columns[_CHANGE_COLUMN_MAX] = {
	[CHANGE_COLUMN_TRANSACTION] = { "transaction", "NO", COLUMN_RIGHT },
	[CHANGE_COLUMN_ID] = { "id", "TUNABLE", 0 },
	[CHANGE_COLUMN_PATH] = { "path", "", COLUMN_JSON_ONLY },
	[CHANGE_COLUMN_BEFORE] = { "before", "BEFORE", 0 },
	[CHANGE_COLUMN_INTENDED] = { "intended", "ASKED", 0 },
	[CHANGE_COLUMN_AFTER] = { "after", "AFTER", 0 },
};

static void add_delay(struct report_table *t, size_t text_column, size_t column, uint64_t before, uint64_t after)
{
	/* What ended in between took its share along: the sum can even fall, and that says nothing. */
	uint64_t nsec = after > before ? after - before : 0;
	_cleanup_free_ char *text = NULL;

	if (nsec >= 1000000000)
		text = xasprintf("%.1f s", (double)nsec / 1e9);
	else
		text = xasprintf("%.1f ms", (double)nsec / 1e6);
	report_cell_text(t, text_column, text);
	report_cell_number(t, column, (int64_t)MIN(nsec, (uint64_t)INT64_MAX));
}

/* What the change has cost: how much longer all processes waited for memory. */
static void add_delays(struct report_table *t, const struct transaction *tr)
{
	const struct undo_delays *before = &tr->delays[UNDO_DELAYS_BEFORE], *after = &tr->delays[UNDO_DELAYS_AFTER];

	if (!before->known || !after->known)
		return;
	add_delay(t, HISTORY_COLUMN_RECLAIM_TEXT, HISTORY_COLUMN_RECLAIM, before->reclaim_nsec, after->reclaim_nsec);
	add_delay(t, HISTORY_COLUMN_SWAPIN_TEXT, HISTORY_COLUMN_SWAPIN, before->swapin_nsec, after->swapin_nsec);
}

static void add_transaction(struct report_table *t, const struct transaction *tr)
{
	report_row(t);
	report_cell_number(t, HISTORY_COLUMN_NUMBER, tr->number);
	report_cell_time(t, HISTORY_COLUMN_TIME, tr->time_sec);
	report_cell_text(t, HISTORY_COLUMN_VERB, tr->verb);
	report_cell_text(t, HISTORY_COLUMN_STATE, transaction_state_name(tr->state));
	report_cell_number(t, HISTORY_COLUMN_VALUES, tr->n_entries);
	if (tr->saved_known)
		report_cell_bytes(t, HISTORY_COLUMN_SAVED, tr->saved_bytes);
	add_delays(t, tr);
	report_cell_text(t, HISTORY_COLUMN_NOTE, tr->note);
}

static void add_changes(struct report_table *t, const struct transaction *tr)
{
	for (size_t i = 0; i < tr->n_entries; i++) {
		const struct undo_entry *e = &tr->entries[i];

		report_row(t);
		/* What was taken back again is for programs and the record. */
		if (tr->state == TRANSACTION_UNDONE)
			report_row_json_only(t);
		report_cell_number(t, CHANGE_COLUMN_TRANSACTION, tr->number);
		report_cell_text(t, CHANGE_COLUMN_ID, e->id);
		report_cell_text(t, CHANGE_COLUMN_PATH, e->path);
		report_cell_text(t, CHANGE_COLUMN_BEFORE, e->before);
		report_cell_text(t, CHANGE_COLUMN_INTENDED, e->intended);
		report_cell_text(t, CHANGE_COLUMN_AFTER, e->after);
	}
}

struct report *report_history(struct undo_store *store)
{
	struct report *r = report_new("history");
	const struct transaction *all = NULL;
	struct report_table *t;
	size_t n = 0;

	if (store)
		all = undo_store_transactions(store, &n);
	t = report_add_table(r, "transactions", NULL, history_columns, _HISTORY_COLUMN_MAX);
	for (size_t i = 0; i < n; i++)
		add_transaction(t, &all[i]);
	t = report_add_table(r, "changes", "Values written and not taken back", change_columns, _CHANGE_COLUMN_MAX);
	for (size_t i = 0; i < n; i++)
		add_changes(t, &all[i]);
	if (n == 0)
		report_line(r, "mmopt has written nothing in this boot");
	report_verdict(r, 0, n > 0 ? "changed" : "unchanged");
	return r;
}
