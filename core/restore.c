/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/number.h"
#include "base/strutil.h"
#include "core/apply-internal.h"
#include "core/plan-internal.h"

static const char *const restore_names[] = {
	[RESTORE_DONE] = "restored",
	[RESTORE_ALREADY] = "already",
	[RESTORE_FOREIGN] = "foreign",
	[RESTORE_FAILED] = "failed",
};

const char *restore_outcome_name(enum restore_outcome outcome)
{
	return restore_names[outcome];
}

void restore_clear(struct restore *r)
{
	for (size_t i = 0; i < r->n_items; i++) {
		free(r->items[i].id);
		free(r->items[i].path);
		free(r->items[i].from);
		free(r->items[i].to);
		free(r->items[i].reason);
	}
	free(r->items);
	*r = (struct restore){};
}

/* A record may be older than the catalogue that reads it: an id it does not know is compared as plain text. */
static const struct tunable *row_of(const struct undo_entry *e, struct tunable_ref *ref)
{
	static const struct tunable unknown = { .id = "unknown", .kind = VALUE_WORD };

	return catalogue_find_id(e->id, ref) < 0 ? &unknown : ref->tunable;
}

static bool between(const char *a, const char *b, const char *value)
{
	int64_t x, y, v;

	if (parse_i64(a, &x) < 0 || parse_i64(b, &y) < 0 || parse_i64(value, &v) < 0)
		return false;
	return v >= MIN(x, y) && v <= MAX(x, y);
}

/*
 * Is the present value the one that mmopt left?  Where the record ends before the value was read back (a crash), whatever
 * the kernel makes of the intended value counts, and for a pool any count on the way to it.
 */
static bool is_ours(const struct transaction *transaction, const struct tunable *t, const struct undo_entry *e,
		    const char *present)
{
	/* A pool grows by parts: the end may have come between a part and the note of what it gave. */
	if (e->after && t->effect == EFFECT_POOL && transaction->state == TRANSACTION_OPEN)
		return between(e->after, e->intended, present);
	if (e->after)
		return streq(present, e->after);
	if (t->effect == EFFECT_POOL)
		return between(e->before, e->intended, present);
	return tunable_compare(t, RELATION_EQUAL, e->intended, present) != OUTCOME_REFUSED;
}

/*
 * vm.dirty_bytes and vm.dirty_ratio zero each other, so both stand in the record; if another program has set one of them since,
 * putting the other back would wipe that out.
 */
static bool partner_is_foreign(struct kernel_io *io, const struct transaction *t, const struct tunable *row)
{
	for (size_t i = 0; row->linked && i < t->n_entries; i++) {
		_cleanup_(tunable_ref_clear) struct tunable_ref ref = { .node = -1 };
		const struct undo_entry *e = &t->entries[i];
		_cleanup_free_ char *present = NULL;
		const struct tunable *partner;

		if (!streq(e->id, row->linked))
			continue;
		partner = row_of(e, &ref);
		if (tunable_read(io, partner, e->path, &present) < 0)
			continue;
		if (!streq(present, e->before) && !is_ours(t, partner, e, present))
			return true;
	}
	return false;
}

static int say(struct restore_item *item, char *reason)
{
	item->reason = reason;
	return reason ? 0 : -ENOMEM;
}

static int write_back(struct kernel_io *io, struct undo_store *store, const struct transaction *t,
		      const struct tunable *row, const struct undo_entry *e, struct restore_item *item)
{
	_cleanup_free_ char *now = NULL;
	int r = kernel_io_write(io, e->path, e->before), read_error;

	/* Whatever the write said, what counts is what is there now. */
	read_error = tunable_read(io, row, e->path, &now);
	if (read_error == -ENOMEM)
		return -ENOMEM;
	if (read_error >= 0 && streq(now, e->before)) {
		item->outcome = RESTORE_DONE;
		return 0;
	}
	/* Half of it (pages in use, a short write).  Where that cannot be noted the next try leaves it as someone else's. */
	if (read_error >= 0 && !streq(now, item->from))
		(void)!undo_left(store, t->number, e->path, now);
	item->outcome = RESTORE_FAILED;
	item->error = r < 0 ? r : read_error;
	if (r < 0)
		return say(item, xasprintf("writing %s to %s: %s", e->before, e->path, strerror(-r)));
	if (read_error < 0)
		return say(item, xasprintf("%s was written to %s, which cannot be read back: %s", e->before, e->path,
					   strerror(-read_error)));
	if (row->effect == EFFECT_POOL)
		return say(item, xasprintf("%s pages asked, %s left: the rest is in use", e->before, now));
	return say(item, xasprintf("%s was written to %s, which holds %s", e->before, e->path, now));
}

/* A tunable that the kernel moves along when another one is put back. */
struct moved {
	char *path;
	char *to; /* NULL: nothing was moved */
};

static void moved_clear(struct moved *m)
{
	free(m->path);
	free(m->to);
	*m = (struct moved){};
}

/* Notes how the tunable that e's row disturbs stands, where that is how mmopt left it. */
static int look_at_disturbed(struct kernel_io *io, const struct transaction *t, size_t i, const struct tunable *row,
			     char **ret_before, struct moved *ret)
{
	_cleanup_(tunable_ref_clear) struct tunable_ref ref = { .node = -1 };
	_cleanup_free_ char *present = NULL;
	const struct undo_entry *d;
	const struct tunable *disturbed;
	int r;

	while (i-- > 0)
		if (streq(t->entries[i].id, row->disturbs))
			break;
	if (i == SIZE_MAX)
		return 0;
	d = &t->entries[i];
	disturbed = row_of(d, &ref);
	r = tunable_read(io, disturbed, d->path, &present);
	if (r < 0 || (!streq(present, d->before) && !is_ours(t, disturbed, d, present)))
		return r == -ENOMEM ? r : 0;
	ret->path = strdup(d->path);
	if (!ret->path)
		return -ENOMEM;
	*ret_before = TAKE_PTR(present);
	return 0;
}

/* Writes e back, and sees whether the kernel moved the tunable that e's row disturbs. */
static int write_back_and_look(struct kernel_io *io, struct undo_store *store, const struct transaction *t, size_t i,
			       const struct tunable *row, struct restore_item *item, struct moved *moved)
{
	_cleanup_(tunable_ref_clear) struct tunable_ref ref = { .node = -1 };
	_cleanup_free_ char *before = NULL;
	int r = 0;

	if (!row->disturbs)
		return write_back(io, store, t, row, &t->entries[i], item);
	moved_clear(moved);
	r = look_at_disturbed(io, t, i, row, &before, moved);
	if (r >= 0)
		r = write_back(io, store, t, row, &t->entries[i], item);
	if (r < 0 || !before || catalogue_find_id(row->disturbs, &ref) < 0)
		return r;
	r = tunable_read(io, ref.tunable, moved->path, &moved->to);
	return r == -ENOMEM ? r : 0;
}

/* Could a later change of the same value, or of its other form, not be taken back just now? */
static bool waits_for_another(const struct restore *restore, const struct tunable *row, const struct undo_entry *e)
{
	for (size_t i = 0; restore->n_failed > 0 && i < restore->n_items; i++) {
		const struct restore_item *item = &restore->items[i];

		if (item->outcome == RESTORE_FAILED &&
		    (streq(item->id, e->id) || (row->linked && streq(item->id, row->linked))))
			return true;
	}
	return false;
}

/* Pages that HVO has optimised stay where this kernel would ruin them on the way out. */
static bool must_stay(struct kernel_io *io, const struct tunable *row, const struct undo_entry *e, const char *present)
{
	_cleanup_(facts_clear) struct facts facts = {};
	int64_t before, now;

	if (row->effect != EFFECT_POOL || parse_i64(e->before, &before) < 0 || parse_i64(present, &now) < 0 ||
	    now <= before)
		return false;
	return facts_probe(&facts, io, FACTS_KERNEL | FACTS_STRUCT_PAGE) >= 0 && pool_shrink_corrupts(&facts, io);
}

/*
 * The module that gave the file was removed since: the kernel does again as its architecture has it, which is what -1
 * means.  A failure would keep the transaction open for ever.
 */
static int restore_vanished(const struct undo_entry *e, struct restore_item *item)
{
	item->outcome = streq(e->before, "-1") ? RESTORE_ALREADY : RESTORE_FOREIGN;
	return say(item, strdup("the module " MODULE_NAME " was removed, and with it the setting"));
}

static int restore_entry(struct kernel_io *io, struct undo_store *store, const struct transaction *t, size_t i,
			 const struct restore *earlier, struct restore_item *item, struct moved *moved)
{
	const struct undo_entry *e = &t->entries[i];
	_cleanup_(tunable_ref_clear) struct tunable_ref ref = { .node = -1 };
	const struct tunable *row = row_of(e, &ref);
	int r = tunable_read(io, row, e->path, &item->from);

	if (r == -ENOMEM)
		return r;
	if (r == -ENOENT && streq(e->path, MODULE_SYSCTL))
		return restore_vanished(e, item);
	if (r < 0) {
		item->outcome = RESTORE_FAILED;
		item->error = r;
		return say(item, xasprintf("%s cannot be read: %s", e->path, strerror(-r)));
	}
	if (streq(item->from, e->before)) {
		item->outcome = RESTORE_ALREADY;
		return 0;
	}
	if (moved->to && streq(moved->path, e->path) && streq(moved->to, item->from))
		return write_back_and_look(io, store, t, i, row, item, moved);
	if (!is_ours(t, row, e, item->from) || partner_is_foreign(io, t, row)) {
		if (waits_for_another(earlier, row, e)) {
			item->outcome = RESTORE_FAILED;
			return say(item, xasprintf("now %s: a later change has to be taken back first", item->from));
		}
		item->outcome = RESTORE_FOREIGN;
		return say(item, xasprintf("now %s, set by someone else: left", item->from));
	}
	if (must_stay(io, row, e, item->from)) {
		item->outcome = RESTORE_FAILED;
		item->error = -EOPNOTSUPP;
		return say(item, xasprintf("now %s: taking optimised huge pages out of a pool corrupts memory on this "
					   "kernel: left, until the next boot",
					   item->from));
	}
	return write_back_and_look(io, store, t, i, row, item, moved);
}

static struct restore_item *new_item(struct restore *ret, const struct undo_entry *e)
{
	struct restore_item *grown = reallocarray(ret->items, ret->n_items + 1, sizeof(*grown));

	if (!grown)
		return NULL;
	ret->items = grown;
	grown += ret->n_items;
	*grown = (struct restore_item){ .id = strdup(e->id), .path = strdup(e->path), .to = strdup(e->before) };
	ret->n_items++;
	return grown->id && grown->path && grown->to ? grown : NULL;
}

int restore_transaction(struct kernel_io *io, struct undo_store *store, const struct transaction *t,
			struct restore *ret)
{
	_cleanup_(moved_clear) struct moved moved = {};
	bool out_of_memory = false;

	/* One value that cannot be put back is no reason to leave the others as they are. */
	for (size_t i = t->n_entries; i-- > 0;) {
		struct restore_item *item = new_item(ret, &t->entries[i]);

		if (!item || restore_entry(io, store, t, i, ret, item, &moved) < 0) {
			out_of_memory = true;
			continue;
		}
		ret->n_foreign += item->outcome == RESTORE_FOREIGN;
		ret->n_failed += item->outcome == RESTORE_FAILED;
	}
	ret->n_transactions++;
	return out_of_memory ? -ENOMEM : 0;
}

static int take_back(struct kernel_io *io, struct undo_store *store, const struct transaction *t, const char *note,
		     struct restore *ret)
{
	size_t failed_before = ret->n_failed;
	int r = restore_transaction(io, store, t, ret);

	/* A value that could not be put back: the transaction stays, so that the next try takes it up again. */
	if (r >= 0 && ret->n_failed > failed_before && t->state == TRANSACTION_UNCONFIRMED)
		return undo_mark(store, t->number, TRANSACTION_OPEN, note); /* half of it is gone: nothing to confirm */
	if (r < 0 || ret->n_failed > failed_before)
		return r;
	return undo_mark(store, t->number, TRANSACTION_UNDONE, note);
}

int apply_rollback(struct kernel_io *io, struct undo_store *store, bool all, struct restore *ret)
{
	_cleanup_(restore_clear) struct restore restore = {};
	size_t n;

	undo_store_transactions(store, &n);
	while (n-- > 0) {
		const struct transaction *t = &undo_store_transactions(store, &(size_t){ 0 })[n];
		int r;

		if (t->state == TRANSACTION_UNDONE)
			continue;
		r = take_back(io, store, t, all ? "rollback --all" : "rollback", &restore);
		if (r < 0)
			return r;
		if (!all)
			break;
	}
	*ret = restore;
	restore = (struct restore){};
	return 0;
}

int apply_recover(struct kernel_io *io, struct undo_store *store, uint64_t now_sec, struct restore *ret)
{
	_cleanup_(restore_clear) struct restore restore = {};
	bool waiting = undo_confirm_waiting(store);
	size_t n;

	undo_store_transactions(store, &n);
	while (n-- > 0) {
		const struct transaction *t = &undo_store_transactions(store, &(size_t){ 0 })[n];
		const char *note = "mmopt was ended while it applied";
		int r;

		if (t->state == TRANSACTION_UNCONFIRMED) {
			if (waiting && now_sec < t->deadline_sec)
				continue;
			note = now_sec < t->deadline_sec ? "the process that waited for confirmation is gone"
							 : "not confirmed in time";
		} else if (t->state != TRANSACTION_OPEN) {
			continue;
		}
		r = take_back(io, store, t, note, &restore);
		if (r < 0)
			return r;
	}
	*ret = restore;
	restore = (struct restore){};
	return 0;
}

static bool grew_pool(const struct undo_entry *e)
{
	_cleanup_(tunable_ref_clear) struct tunable_ref ref = { .node = -1 };
	int64_t before, after;

	return row_of(e, &ref)->effect == EFFECT_POOL && parse_i64(e->before, &before) >= 0 &&
	       parse_i64(e->after ?: e->intended, &after) >= 0 && after > before;
}

static bool grew_some_pool(const struct transaction *t)
{
	for (size_t i = 0; t->state != TRANSACTION_UNDONE && i < t->n_entries; i++)
		if (grew_pool(&t->entries[i]))
			return true;
	return false;
}

static int give_back_entry(struct kernel_io *io, struct undo_store *store, const struct transaction *t, size_t i,
			   struct restore *ret)
{
	_cleanup_(moved_clear) struct moved moved = {};
	const struct undo_entry *e = &t->entries[i];
	struct restore_item *item = new_item(ret, e);
	int r;

	if (!item)
		return -ENOMEM;
	r = restore_entry(io, store, t, i, ret, item, &moved);
	if (r < 0)
		return r;
	ret->n_foreign += item->outcome == RESTORE_FOREIGN;
	ret->n_failed += item->outcome == RESTORE_FAILED;
	/* The rest of the transaction stands: what the pool holds now is what mmopt left there. */
	return item->outcome == RESTORE_DONE ? undo_left(store, t->number, e->path, e->before) : 0;
}

int apply_give_back_pools(struct kernel_io *io, struct undo_store *store, struct restore *ret)
{
	_cleanup_(restore_clear) struct restore restore = {};
	const struct transaction *t;
	size_t n;
	int r = 0;

	t = undo_store_transactions(store, &n);
	while (n > 0 && !grew_some_pool(&t[n - 1]))
		n--;
	if (n == 0)
		return -ENOENT;
	t += n - 1;
	for (size_t i = t->n_entries; r >= 0 && i-- > 0;)
		if (grew_pool(&t->entries[i]))
			r = give_back_entry(io, store, t, i, &restore);
	if (r >= 0)
		r = undo_mark(store, t->number, t->state, "huge page pools given back");
	if (r < 0)
		return r;
	restore.n_transactions = 1;
	*ret = restore;
	restore = (struct restore){};
	return 0;
}

int apply_confirm(struct undo_store *store, unsigned *ret_number)
{
	size_t n;
	const struct transaction *t = undo_store_transactions(store, &n);

	while (n-- > 0) {
		unsigned number = t[n].number;
		int r;

		if (t[n].state != TRANSACTION_UNCONFIRMED)
			continue;
		r = undo_mark(store, number, TRANSACTION_COMMITTED, "confirmed");
		if (r >= 0)
			*ret_number = number;
		return r;
	}
	return -ENOENT;
}
