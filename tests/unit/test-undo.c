/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sys/stat.h>
#include <sys/wait.h>

#include "core/undo.h"
#include "temp-dir.h"

#define BOOT "11111111-2222-3333-4444-555555555555"

static struct undo_store *open_store(const struct temp_dir *d, const char *boot_id)
{
	struct undo_store *store = NULL;

	assert_int_equal(undo_store_open(d->fd, boot_id, true, &store, NULL), 0);
	return store;
}

static void record_two(struct undo_store *store)
{
	assert_int_equal(undo_begin(store, "apply"), 0);
	assert_int_equal(undo_before(store, "vm.swappiness", "/proc/sys/vm/swappiness", "60", "10"), 0);
	assert_int_equal(undo_after(store, "vm.swappiness", "/proc/sys/vm/swappiness", "10"), 0);
	assert_int_equal(undo_before(store, "sysctl.kernel.foo", "/proc/sys/kernel/foo", "a\tb\\c\nd", "e"), 0);
}

static void test_record_survives_a_restart(void **state)
{
	_cleanup_(temp_dir_donep) struct temp_dir d = temp_dir_make();
	_cleanup_(undo_store_freep) struct undo_store *again = NULL;
	struct undo_store *store = open_store(&d, BOOT);
	const struct transaction *t;
	size_t n;

	record_two(store);
	assert_int_equal(undo_end(store, TRANSACTION_COMMITTED, 0, NULL), 0);
	assert_int_equal(undo_saved(store, -4096), 0);
	assert_int_equal(undo_memory(store, 8ULL << 30), 0);
	assert_int_equal(undo_delays(store, 1, UNDO_DELAYS_BEFORE, 5, 6, 7), 0);
	assert_int_equal(undo_delays(store, 2, UNDO_DELAYS_AFTER, 5, 6, 7), -ENOENT);
	undo_store_free(store);

	again = open_store(&d, BOOT);
	t = undo_store_transactions(again, &n);
	assert_int_equal(n, 1);
	assert_int_equal(t->state, TRANSACTION_COMMITTED);
	assert_int_equal(t->n_entries, 2);
	assert_string_equal(t->entries[0].id, "vm.swappiness");
	assert_string_equal(t->entries[0].before, "60");
	assert_string_equal(t->entries[0].after, "10");
	assert_string_equal(t->entries[1].before, "a\tb\\c\nd");
	assert_null(t->entries[1].after);
	assert_true(t->saved_known);
	assert_int_equal(t->saved_bytes, -4096);
	assert_int_equal(t->memory_bytes, 8ULL << 30);
	assert_true(t->delays[UNDO_DELAYS_BEFORE].known);
	assert_int_equal(t->delays[UNDO_DELAYS_BEFORE].reclaim_nsec, 5);
	assert_int_equal(t->delays[UNDO_DELAYS_BEFORE].swapin_nsec, 6);
	assert_int_equal(t->delays[UNDO_DELAYS_BEFORE].thrashing_nsec, 7);
	assert_false(t->delays[UNDO_DELAYS_AFTER].known);
	assert_int_equal(undo_delays(again, 1, UNDO_DELAYS_AFTER, UINT64_MAX, 0, 0), 0);
	assert_int_equal(t->delays[UNDO_DELAYS_AFTER].reclaim_nsec, UINT64_MAX);
	assert_int_equal(undo_mark(again, t->number, TRANSACTION_UNDONE, "rollback"), 0);
	assert_int_equal(undo_mark(again, 77, TRANSACTION_UNDONE, NULL), -ENOENT);
	assert_int_equal(undo_delays(again, t->number, UNDO_DELAYS_AFTER, 1, 1, 1), -ENOENT);
}

static void test_other_boot_is_dropped(void **state)
{
	_cleanup_(temp_dir_donep) struct temp_dir d = temp_dir_make();
	_cleanup_(undo_store_freep) struct undo_store *again = NULL;
	struct undo_store *store = open_store(&d, BOOT);
	struct stat st;
	size_t n;

	record_two(store);
	undo_store_free(store);
	again = open_store(&d, "99999999-2222-3333-4444-555555555555");
	undo_store_transactions(again, &n);
	assert_int_equal(n, 0);
	assert_int_equal(fstatat(d.fd, "run/mmopt/transactions/0001", &st, 0), -1);
}

/* Who waits for a confirmation reads the record just when another process marks it, and gives it another name. */
static void test_a_record_that_is_renamed_while_it_is_read(void **state)
{
	_cleanup_(temp_dir_donep) struct temp_dir d = temp_dir_make();

	for (unsigned i = 0; i < 100; i++) {
		struct undo_store *store = open_store(&d, BOOT), *reader = NULL;
		unsigned number;
		int status;
		pid_t pid;

		record_two(store);
		number = undo_current(store)->number;
		assert_int_equal(undo_end(store, TRANSACTION_UNCONFIRMED, 0, NULL), 0);
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0)
			_exit(undo_mark(store, number, TRANSACTION_UNDONE, NULL) < 0);
		do {
			assert_int_equal(undo_store_open(d.fd, BOOT, false, &reader, NULL), 0);
			undo_store_free(TAKE_PTR(reader));
		} while (waitpid(pid, &status, WNOHANG) == 0);
		assert_int_equal(status, 0);
		undo_store_free(store);
	}
}

/* flock(2) asks for no write permission: a lock that all may open all may hold. */
static void test_locks_are_not_for_other_users(void **state)
{
	static const char *const locks[] = { "run/mmopt/lock", "run/mmopt/confirm.lock" };
	_cleanup_(temp_dir_donep) struct temp_dir d = temp_dir_make();
	_cleanup_(undo_store_freep) _unused_ struct undo_store *store = open_store(&d, BOOT);
	int fd = undo_confirm_hold(d.fd);
	struct stat st;

	assert_true(fd >= 0);
	close(fd);
	for (size_t i = 0; i < sizeof(locks) / sizeof(locks[0]); i++) {
		assert_int_equal(fstatat(d.fd, locks[i], &st, 0), 0);
		assert_int_equal(st.st_mode & 077, 0);
	}
}

static void test_one_transaction_at_a_time(void **state)
{
	_cleanup_(temp_dir_donep) struct temp_dir d = temp_dir_make();
	_cleanup_(undo_store_freep) struct undo_store *holder = NULL;
	struct undo_store *other = NULL;
	int pid = 0;

	holder = open_store(&d, BOOT);
	assert_int_equal(undo_store_open(d.fd, BOOT, true, &other, &pid), -EBUSY);
	assert_int_equal(pid, getpid());
	/* Looking needs no lock. */
	assert_int_equal(undo_store_open(d.fd, BOOT, false, &other, NULL), 0);
	undo_store_free(other);
}

static void test_nothing_there_yet(void **state)
{
	_cleanup_(temp_dir_donep) struct temp_dir d = temp_dir_make();
	_cleanup_(undo_store_freep) struct undo_store *store = NULL;
	struct stat st;
	size_t n;

	assert_int_equal(undo_store_open(d.fd, BOOT, false, &store, NULL), 0);
	undo_store_transactions(store, &n);
	assert_int_equal(n, 0);
	assert_int_equal(fstatat(d.fd, "run", &st, 0), -1);
}

static void test_torn_last_line(void **state)
{
	_cleanup_(temp_dir_donep) struct temp_dir d = temp_dir_make();
	_cleanup_(undo_store_freep) struct undo_store *store = NULL, *again = NULL;
	const struct transaction *t;
	size_t n;

	temp_dir_write(&d, "run/mmopt/transactions/0001",
		       "mmopt-undo 1\t" BOOT
		       "\tapply\t1\nbefore\tvm.swappiness\t/proc/sys/vm/swappiness\t60\t10\nafter\tvm.sw");
	store = open_store(&d, BOOT);
	t = undo_store_transactions(store, &n);
	assert_int_equal(n, 1);
	assert_int_equal(t->n_entries, 1);
	assert_null(t->entries[0].after);
	assert_int_equal(undo_mark(store, 1, TRANSACTION_UNDONE, "recovered"), 0);
	undo_store_free(TAKE_PTR(store));

	/* Who writes has no more to do with it, and takes the next number; history still has it. */
	store = open_store(&d, BOOT);
	undo_store_transactions(store, &n);
	assert_int_equal(n, 0);
	assert_int_equal(undo_begin(store, "apply"), 0);
	undo_store_free(TAKE_PTR(store));
	assert_int_equal(undo_store_open(d.fd, BOOT, false, &again, NULL), 0);
	t = undo_store_transactions(again, &n);
	assert_int_equal(n, 2);
	assert_int_equal(t[0].state, TRANSACTION_UNDONE);
	assert_int_equal(t[1].number, 2);
}

static void expect_bad(const char *text)
{
	struct transaction t;

	assert_int_equal(transaction_parse(text, strlen(text), &t), -EINVAL);
}

/* What a record makes root write is confined, whatever stands in it. */
static void test_foreign_paths_are_refused(void **state)
{
#define HEADER "mmopt-undo 1\t" BOOT "\tapply\t1\n"
	expect_bad("");
	expect_bad("mmopt-undo 2\t" BOOT "\tapply\t1\n");
	expect_bad(HEADER "before\tx\t/etc/passwd\ta\tb\n");
	expect_bad(HEADER "before\tx\t/proc/sys/../../etc/passwd\ta\tb\n");
	expect_bad(HEADER "before\tx\t/sys/kernel/..\ta\tb\n");
	expect_bad(HEADER "before\tx\t/proc/sys/vm/swappiness\ta\n");
	expect_bad(HEADER "after\tx\t/proc/sys/vm/swappiness\ta\n");
	expect_bad(HEADER "end\tsomehow\t0\t\n");
	expect_bad(HEADER "before\tx\t/proc/sys/vm/swappiness\ta\\x\tb\n");
}

static void test_others_may_not_write_the_record(void **state)
{
	_cleanup_(temp_dir_donep) struct temp_dir d = temp_dir_make();
	struct undo_store *store = open_store(&d, BOOT);

	undo_store_free(TAKE_PTR(store));
	assert_int_equal(fchmodat(d.fd, "run/mmopt", 0777, 0), 0);
	assert_int_equal(undo_store_open(d.fd, BOOT, true, &store, NULL), -EPERM);
	assert_int_equal(fchmodat(d.fd, "run/mmopt", 0755, 0), 0);
	assert_int_equal(fchmodat(d.fd, "run/mmopt/transactions", 0775, 0), 0);
	assert_int_equal(undo_store_open(d.fd, BOOT, true, &store, NULL), -EPERM);
}

static void test_the_waiter_is_known_to_live(void **state)
{
	_cleanup_(temp_dir_donep) struct temp_dir d = temp_dir_make();
	_cleanup_(undo_store_freep) struct undo_store *store = open_store(&d, BOOT);
	int fd, copy;

	assert_false(undo_confirm_waiting(store));
	fd = undo_confirm_hold(d.fd);
	assert_true(fd >= 0);
	assert_true(undo_confirm_waiting(store));
	assert_int_equal(undo_confirm_hold(d.fd), -EBUSY);
	/* Held by a child of the one that took it too: a daemon's work goes on in its children. */
	copy = dup(fd);
	close(fd);
	assert_true(undo_confirm_waiting(store));
	close(copy);
	assert_false(undo_confirm_waiting(store));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_record_survives_a_restart),
		cmocka_unit_test(test_other_boot_is_dropped),
		cmocka_unit_test(test_a_record_that_is_renamed_while_it_is_read),
		cmocka_unit_test(test_locks_are_not_for_other_users),
		cmocka_unit_test(test_one_transaction_at_a_time),
		cmocka_unit_test(test_nothing_there_yet),
		cmocka_unit_test(test_torn_last_line),
		cmocka_unit_test(test_foreign_paths_are_refused),
		cmocka_unit_test(test_others_may_not_write_the_record),
		cmocka_unit_test(test_the_waiter_is_known_to_live),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
