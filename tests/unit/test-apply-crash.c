/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Killed with SIGKILL before and after every kernel write and at every line of the undo record: the next start mends it. */
#include <signal.h>
#include <sys/wait.h>

#include "engine.h"
#include "machine.h"

/* Files below a directory serve as the kernel, because they outlive the process that is killed. */
static void make_root(const struct temp_dir *d)
{
	for (size_t i = 0; i < ARRAY_SIZE(machine_files); i++) {
		_cleanup_free_ char *text = xasprintf("%s\n", machine_files[i].value);

		/* Brackets and the linked pairs take a kernel that behaves: plain values do here. */
		temp_dir_write(d, machine_files[i].path + 1, text);
	}
}

static const char policy_text[] =
	"[vm]\nswappiness = 10\nvfs_cache_pressure = 50\nwatermark_scale_factor = 125\n"
	"max_map_count = 262144\nstat_interval = 10\npage-cluster = 0\n[ksm]\nsleep_millisecs = 100\n";
#define N_ITEMS 7

enum moment { BEFORE_WRITE, AFTER_WRITE };

struct killer {
	struct kernel_io io; /* first: the ops below get it */
	struct kernel_io *real;
	unsigned at, n;
	enum moment moment;
};

static struct kernel_io *real(struct kernel_io *io)
{
	return ((struct killer *)io)->real;
}

static int killer_read(struct kernel_io *io, const char *path, char **ret, size_t *ret_size)
{
	return kernel_io_read(real(io), path, ret, ret_size);
}

static int killer_write(struct kernel_io *io, const char *path, const char *data, size_t size)
{
	struct killer *k = (struct killer *)io;
	bool now = k->n++ == k->at;
	int r;

	if (now && k->moment == BEFORE_WRITE)
		raise(SIGKILL);
	r = k->real->ops->write(k->real, path, data, size);
	if (now)
		raise(SIGKILL);
	return r;
}

static int killer_list(struct kernel_io *io, const char *path, char ***ret)
{
	return kernel_io_list(real(io), path, ret);
}

static bool killer_exists(struct kernel_io *io, const char *path)
{
	return kernel_io_exists(real(io), path);
}

static int killer_readlink(struct kernel_io *io, const char *path, char **ret)
{
	return kernel_io_readlink(real(io), path, ret);
}

static const struct kernel_io_ops killer_ops = {
	.read = killer_read,
	.write = killer_write,
	.list = killer_list,
	.exists = killer_exists,
	.readlink = killer_readlink,
};

static void apply_in(const struct temp_dir *d, struct kernel_io *io)
{
	struct undo_store *store;
	struct policy *policy;
	struct plan *plan;
	struct facts facts = {};
	struct diag_list diags = {};
	enum apply_result result;

	if (undo_store_open(d->fd, BOOT_ID, true, &store, NULL) < 0 ||
	    policy_load_text("x.conf", policy_text, strlen(policy_text), NULL, NULL, &diags, &policy) < 0 ||
	    plan_make(policy, &facts, io, &(struct plan_options){}, &diags, &plan) < 0 ||
	    apply_plan(plan, &facts, io, store, &(struct apply_options){}, &diags, &result) < 0 || result != APPLY_DONE)
		_exit(1);
	_exit(0);
}

/* Kills at the at-th kernel write; true where it was reached. */
static bool run_killed(const struct temp_dir *d, unsigned at, enum moment moment)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		struct killer k = { .io.ops = &killer_ops, .at = at, .moment = moment };

		if (kernel_io_open(d->path, &k.real) < 0)
			_exit(1);
		apply_in(d, &k.io);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status))
		assert_int_equal(WEXITSTATUS(status), 0);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

static void expect_start_state(const struct temp_dir *d)
{
	for (size_t i = 0; i < ARRAY_SIZE(machine_files); i++) {
		_cleanup_free_ char *have = NULL;

		assert_int_equal(read_file_at(d->fd, machine_files[i].path + 1, 0, &have, NULL), 0);
		assert_string_equal(strstrip(have), machine_files[i].value);
	}
}

static void recover(const struct temp_dir *d, size_t *ret_transactions)
{
	_cleanup_(undo_store_freep) struct undo_store *store = NULL;
	_cleanup_(kernel_io_freep) struct kernel_io *io = NULL;
	_cleanup_(restore_clear) struct restore restore = {};

	assert_int_equal(kernel_io_open(d->path, &io), 0);
	assert_int_equal(undo_store_open(d->fd, BOOT_ID, true, &store, NULL), 0);
	assert_int_equal(apply_recover(io, store, 0, &restore), 0);
	assert_int_equal(restore.n_failed + restore.n_foreign, 0);
	*ret_transactions = restore.n_transactions;
}

static void killed_at_each(enum moment moment)
{
	unsigned k = 0;

	for (;; k++) {
		_cleanup_(temp_dir_donep) struct temp_dir d = temp_dir_make();
		size_t n;

		make_root(&d);
		if (!run_killed(&d, k, moment))
			break;
		recover(&d, &n);
		assert_int_equal(n, 1);
		expect_start_state(&d);
		/* Mended once: nothing is left to do. */
		recover(&d, &n);
		assert_int_equal(n, 0);
	}
	assert_int_equal(k, N_ITEMS);
}

static void test_killed_before_each_write(void **state)
{
	killed_at_each(BEFORE_WRITE);
}

static void test_killed_after_each_write(void **state)
{
	killed_at_each(AFTER_WRITE);
}

/* The record as a crash would leave it, cut after each of its bytes. */
static void test_record_cut_anywhere(void **state)
{
	_cleanup_(temp_dir_donep) struct temp_dir d = temp_dir_make();
	_cleanup_free_ char *record = NULL;
	size_t size;

	make_root(&d);
	assert_false(run_killed(&d, 1000, BEFORE_WRITE));
	assert_int_equal(read_file_at(d.fd, "run/mmopt/transactions/0001", 0, &record, &size), 0);
	for (size_t cut = 0; cut <= size; cut++) {
		struct transaction t = {};
		int r = transaction_parse(record, cut, &t);

		if (r == 0)
			transaction_clear(&t);
		else
			assert_null(memchr(record, '\n', cut));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_killed_before_each_write),
		cmocka_unit_test(test_killed_after_each_write),
		cmocka_unit_test(test_record_cut_anywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
