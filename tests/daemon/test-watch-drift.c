/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "drift-world.h"

/* Which method tells what, and sets of files that follow each other. */

static void expect_told_once(struct world *w, const char *path, pid_t pid, const char *comm)
{
	assert_true(run_until(w, path, 1));
	run_for(w, 2 * DRIFT_SETTLE_USEC);
	assert_int_equal(told(w, path)->calls, 1);
	assert_int_equal(told(w, path)->writer.pid, pid);
	assert_string_equal(told(w, path)->writer.comm, comm);
}

static void one_write(unsigned use, enum drift_method method, char *path, bool pid, bool comm, bool comm_of_dead)
{
	char *paths[] = { path, page_cluster, NULL }, *written[] = { path, NULL };
	struct writer writer;
	struct world w;
	pid_t dead;

	world_open(&w, use, paths);
	assert_string_equal(drift_method_name(watch_drift_method(w.watch, path)), drift_method_name(method));
	assert_true(watch_drift_is_complete(w.watch));

	writer = start_writer(written, NULL);
	expect_told_once(&w, path, pid ? writer.pid : 0, comm ? WRITER : "");
	stop_writer(&writer);
	assert_int_equal(told(&w, page_cluster)->calls, 0);
	write_and_end((char *[]){ page_cluster, NULL });
	assert_true(run_until(&w, page_cluster, 1));
	run_for(&w, DRIFT_SETTLE_USEC);
	assert_int_equal(told(&w, path)->calls, 1);

	w.n_told = 0;
	dead = write_and_end(written);
	expect_told_once(&w, path, pid ? dead : 0, comm_of_dead ? WRITER : "");
	world_close(&w);
}

static void bpf_names_the_writer(void **state)
{
	one_write(DRIFT_USE_BPF, DRIFT_METHOD_BPF, swappiness, true, true, true);
}

static void fanotify_has_the_pid(void **state)
{
	one_write(DRIFT_USE_FANOTIFY, DRIFT_METHOD_FANOTIFY, swappiness, true, true, false);
	one_write(DRIFT_USE_FANOTIFY, DRIFT_METHOD_FANOTIFY, ksm_sleep, true, true, false);
}

static void inotify_knows_nobody(void **state)
{
	one_write(DRIFT_USE_INOTIFY, DRIFT_METHOD_INOTIFY, swappiness, false, false, false);
	one_write(DRIFT_USE_INOTIFY, DRIFT_METHOD_INOTIFY, ksm_sleep, false, false, false);
}

static void together_one_write_is_told_once(void **state)
{
	struct world w;
	bool bpf;

	world_open(&w, DRIFT_USE_ALL, NULL);
	bpf = !watch_drift_bpf_error(w.watch);
	world_close(&w);
	one_write(DRIFT_USE_ALL, bpf ? DRIFT_METHOD_BPF : DRIFT_METHOD_FANOTIFY, swappiness, true, true, bpf);
	one_write(DRIFT_USE_ALL, DRIFT_METHOD_FANOTIFY, ksm_sleep, true, true, false);
	one_write(DRIFT_USE_BPF | DRIFT_USE_INOTIFY, bpf ? DRIFT_METHOD_BPF : DRIFT_METHOD_INOTIFY, swappiness, bpf,
		  bpf, bpf);
}

static void last_of_several_writers(void **state)
{
	char *paths[] = { swappiness, NULL };
	struct writer last;
	struct world w;

	world_open(&w, DRIFT_USE_ALL, paths);
	write_and_end(paths);
	write_and_end(paths);
	last = start_writer(paths, NULL);
	expect_told_once(&w, swappiness, last.pid, WRITER);
	stop_writer(&last);
	world_close(&w);
}

static void nobody_may_do_it_without_privilege(void **state)
{
	char *paths[] = { swappiness, ksm_sleep, NULL };
	int status, ready[2];
	pid_t pid;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct world w = {};

		if (setresuid(65534, 65534, 65534) < 0 || sd_event_new(&w.event) < 0 ||
		    watch_drift_new(w.event, on_write, &w, &w.watch) < 0 || watch_drift_set(w.watch, paths) < 0)
			_exit(1);
		if (!watch_drift_bpf_error(w.watch) || strchr(watch_drift_bpf_error(w.watch), '\n') ||
		    watch_drift_method(w.watch, swappiness) != DRIFT_METHOD_INOTIFY ||
		    watch_drift_method(w.watch, ksm_sleep) != DRIFT_METHOD_INOTIFY)
			_exit(2);
		(void)!write(ready[1], "x", 1);
		if (!run_until(&w, swappiness, 1) || !run_until(&w, ksm_sleep, 1))
			_exit(3);
		_exit(0);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &(char){ 0 }, 1), 1);
	close(ready[0]);
	write_and_end(paths);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* --- sets of files */

static unsigned open_descriptors(void)
{
	_cleanup_closedir_ DIR *d = opendir("/proc/self/fd");
	unsigned n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	return n;
}

static void sets_follow_each_other(void **state)
{
	static const unsigned uses[] = { DRIFT_USE_INOTIFY, DRIFT_USE_FANOTIFY, DRIFT_USE_ALL };
	_cleanup_(strv_freep) char **all = tunable_files();
	char *one[] = { swappiness, NULL }, *other[] = { overcommit_ratio, swappiness, overcommit_ratio, NULL },
	     *none[] = { NULL };
	unsigned before = open_descriptors();

	for (size_t i = 0; i < ARRAY_SIZE(uses); i++) {
		unsigned descriptors;
		struct world w;

		world_open(&w, uses[i], one);
		descriptors = open_descriptors();
		for (unsigned k = 0; k < 20; k++) {
			assert_int_equal(watch_drift_set(w.watch, all), 0);
			assert_int_equal(watch_drift_set(w.watch, all), 0);
			assert_int_equal(watch_drift_set(w.watch, one), 0);
		}
		assert_int_equal(open_descriptors(), descriptors);
		write_and_end(other);
		assert_true(run_until(&w, swappiness, 1));
		assert_int_equal(told(&w, overcommit_ratio)->calls, 0);

		w.n_told = 0;
		assert_int_equal(watch_drift_set(w.watch, other), 0);
		write_and_end(other);
		assert_true(run_until(&w, swappiness, 1) && run_until(&w, overcommit_ratio, 1));

		w.n_told = 0;
		write_and_end(other); /* and is forgotten */
		assert_int_equal(watch_drift_set(w.watch, none), 0);
		assert_true(watch_drift_method(w.watch, swappiness) == DRIFT_METHOD_NONE);
		write_and_end(other);
		run_for(&w, 2 * DRIFT_SETTLE_USEC);
		assert_int_equal(w.n_told, 0);
		world_close(&w);
		assert_int_equal(open_descriptors(), before);
	}
}

/* One inode, one mark: it has to stay while one of the names is wanted. */
static void one_file_by_two_paths(void **state)
{
	static char second[] = "/proc/self/root/proc/sys/vm/swappiness";
	char *both[] = { swappiness, second, NULL }, *one[] = { second, NULL };

	for (unsigned use = DRIFT_USE_INOTIFY; use <= DRIFT_USE_FANOTIFY; use <<= 1) {
		struct world w;

		world_open(&w, use, both);
		write_and_end(one);
		assert_true(run_until(&w, swappiness, 1) && run_until(&w, second, 1));
		w.n_told = 0;
		assert_int_equal(watch_drift_set(w.watch, one), 0);
		write_and_end(both);
		assert_true(run_until(&w, second, 1));
		assert_int_equal(w.n_told, 1);
		world_close(&w);
	}
}

/* Of few entries the kernel lets go none, so there are many. */
static void drop_directory_entries(void)
{
	glob_t g = {};
	struct stat st;

	assert_int_equal(glob("/proc/sys/*/*", 0, NULL, &g), 0);
	glob("/proc/sys/net/*/*/*/*", GLOB_APPEND, NULL, &g);
	for (size_t i = 0; i < g.gl_pathc; i++)
		(void)lstat(g.gl_pathv[i], &st);
	globfree(&g);
	for (unsigned i = 0; i < 3; i++)
		knob_write("/proc/sys/vm/drop_caches", "2");
}

static void dropped_from_memory(void **state)
{
	char *paths[] = { swappiness, ksm_sleep, NULL };

	for (unsigned use = DRIFT_USE_INOTIFY; use <= DRIFT_USE_FANOTIFY; use <<= 1) {
		struct stat st, now;
		struct world w;

		world_open(&w, use, paths);
		/* Another file, as a proof that entries are dropped. */
		assert_int_equal(stat(overcommit_ratio, &st), 0);
		drop_directory_entries();
		assert_int_equal(stat(overcommit_ratio, &now), 0);
		assert_true(st.st_ino != now.st_ino);
		write_and_end(paths);
		for (char **p = paths; *p; p++)
			assert_true(run_until(&w, *p, 1));
		world_close(&w);
	}
}

static void file_that_vanishes(void **state)
{
	char dir[] = "/tmp/mmopt-drift-XXXXXX", path[64];
	char *paths[] = { path, swappiness, NULL }, *other[] = { swappiness, NULL }, *it[] = { path, NULL };

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/file", dir);
	for (unsigned use = DRIFT_USE_INOTIFY; use <= DRIFT_USE_FANOTIFY; use <<= 1) {
		struct world w;

		world_open(&w, use, paths);
		assert_false(watch_drift_is_complete(w.watch));
		assert_true(watch_drift_method(w.watch, path) == DRIFT_METHOD_NONE);
		for (unsigned i = 1; i <= 3; i++) {
			assert_int_equal(write_all(creat(path, 0644), "1", 1), 0);
			assert_int_equal(watch_drift_set(w.watch, paths), 0);
			assert_true(watch_drift_is_complete(w.watch));
			write_and_end(it);
			assert_true(run_until(&w, path, i));
			assert_int_equal(unlink(path), 0);
			write_and_end(other);
			assert_true(run_until(&w, swappiness, i));
			run_for(&w, 3 * DRIFT_SETTLE_USEC);
		}
		world_close(&w);
	}
	assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bpf_names_the_writer),	   cmocka_unit_test(fanotify_has_the_pid),
		cmocka_unit_test(inotify_knows_nobody),	   cmocka_unit_test(together_one_write_is_told_once),
		cmocka_unit_test(last_of_several_writers), cmocka_unit_test(nobody_may_do_it_without_privilege),
		cmocka_unit_test(sets_follow_each_other),  cmocka_unit_test(one_file_by_two_paths),
		cmocka_unit_test(dropped_from_memory),	   cmocka_unit_test(file_that_vanishes),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
