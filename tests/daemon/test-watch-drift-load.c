/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <linux/bpf.h>
#include <linux/magic.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include "drift-world.h"

/* All files that mmopt knows, storms of writes, and what the watch costs and leaves behind. */

/* The table of docs/kernel-facts.md: not one file may be missing in it. */
static void each_file(unsigned use, const char *below)
{
	_cleanup_(strv_freep) char **paths = tunable_files();
	pid_t *pids = calloc(strv_length(paths), sizeof(*pids));
	unsigned tried = 0, missed = 0;
	struct world w;

	assert_non_null(pids);
	world_open(&w, use, paths);
	for (size_t i = 0; paths[i]; i++) {
		unsigned failed;
		struct writer writer;

		if (!startswith(paths[i], below))
			continue;
		writer = start_writer((char *[]){ paths[i], NULL }, &failed);
		stop_writer(&writer);
		/* One may not take what it shows: vm.dirty_bytes while the ratio counts. */
		pids[i] = failed > 0 ? 0 : writer.pid;
		tried += failed == 0;
	}
	run_for(&w, 2 * USEC_PER_SEC);
	for (size_t i = 0; paths[i]; i++) {
		const struct told *t = told(&w, paths[i]);

		if (pids[i] == 0 || (t->calls == 1 && t->writer.pid == (use == DRIFT_USE_INOTIFY ? 0 : pids[i])))
			continue;
		print_error("%s: written by %d, told %u times, by %d\n", paths[i], (int)pids[i], t->calls,
			    (int)t->writer.pid);
		missed++;
	}
	print_message("%u files below %s, %u missed\n", tried, below, missed);
	world_close(&w);
	free(pids);
	assert_true(tried > 10);
	assert_int_equal(missed, 0);
}

static void each_file_raises_fanotify_events(void **state)
{
	each_file(DRIFT_USE_FANOTIFY, "/");
}

static void each_file_raises_inotify_events(void **state)
{
	each_file(DRIFT_USE_INOTIFY, "/");
}

static void each_sysctl_is_seen_by_bpf(void **state)
{
	each_file(DRIFT_USE_BPF, "/proc/sys/");
}

/* --- storms */

static uint64_t own_cpu_usec(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * USEC_PER_SEC +
	       (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static pid_t start_storm(const char *path, uint64_t usec, useconds_t pause_usec)
{
	_cleanup_free_ char *value = equal_value(path);
	pid_t pid = fork();

	assert_true(pid >= 0 && value);
	if (pid == 0) {
		uint64_t end = clock_usec(CLOCK_MONOTONIC) + usec;

		prctl(PR_SET_NAME, WRITER);
		while (clock_usec(CLOCK_MONOTONIC) < end)
			if (knob_try_write(path, value) == 0 && pause_usec > 0)
				usleep(pause_usec);
		_exit(0);
	}
	return pid;
}

static void storm(unsigned use, const char *path, useconds_t pause_usec)
{
	char *paths[] = { (char *)path, NULL };
	uint64_t cpu, end;
	struct world w;
	pid_t a, b;

	world_open(&w, use, paths);
	a = start_storm(path, 3 * USEC_PER_SEC, pause_usec);
	b = start_storm(path, 3 * USEC_PER_SEC, pause_usec);
	cpu = own_cpu_usec();
	run_for(&w, 3 * USEC_PER_SEC + USEC_PER_SEC / 2);
	assert_int_equal(waitpid(a, NULL, 0), a);
	assert_int_equal(waitpid(b, NULL, 0), b);
	end = clock_usec(CLOCK_MONOTONIC);
	run_for(&w, DRIFT_SETTLE_MAX_USEC + USEC_PER_SEC / 2);
	cpu = own_cpu_usec() - cpu;
	print_message("%s: told %u times, %.1f ms of CPU\n", path, told(&w, path)->calls, (double)cpu / 1000);
	assert_in_range(told(&w, path)->calls, 2, 6);
	assert_true(told(&w, path)->usec + USEC_PER_SEC >= end); /* the last write was told */
	if (use == DRIFT_USE_BPF || use == DRIFT_USE_FANOTIFY)
		assert_true(told(&w, path)->writer.pid == a || told(&w, path)->writer.pid == b);
	assert_true(cpu < USEC_PER_SEC / 5);
	world_close(&w);
}

static void storm_of_bpf(void **state)
{
	storm(DRIFT_USE_BPF, swappiness, 0);
}

static void storm_of_fanotify(void **state)
{
	storm(DRIFT_USE_FANOTIFY, ksm_sleep, 0);
}

static void storm_of_inotify(void **state)
{
	storm(DRIFT_USE_INOTIFY, ksm_sleep, 0);
}

/* Too slow for the limit on wake-ups. */
static void steady_writes(void **state)
{
	storm(DRIFT_USE_ALL, swappiness, 150 * USEC_PER_MSEC);
}

static void overflow(unsigned use, const char *limit_path)
{
	_cleanup_free_ char *limit = knob_read(limit_path);
	char *paths[] = { swappiness, overcommit_ratio, page_cluster, ksm_sleep, ksm_pages, NULL },
	     *written[] = { swappiness, overcommit_ratio, page_cluster, ksm_sleep, NULL };
	struct writer writer;
	struct world w;

	knob_write(limit_path, "2");
	world_open(&w, use, NULL); /* the limit is taken now */
	knob_write(limit_path, strstrip(limit));
	assert_int_equal(watch_drift_set(w.watch, paths), 0);
	writer = start_writer(written, NULL);
	for (char **p = paths; *p; p++)
		assert_true(run_until(&w, *p, 1));
	run_for(&w, 2 * DRIFT_SETTLE_USEC);
	assert_int_equal(told(&w, ksm_pages)->calls, 1); /* though nobody wrote to it */
	assert_int_equal(told(&w, ksm_pages)->writer.pid, 0);
	assert_string_equal(told(&w, ksm_pages)->writer.comm, "");
	stop_writer(&writer);
	world_close(&w);
}

static void overflow_is_a_write_to_each(void **state)
{
	overflow(DRIFT_USE_INOTIFY, "/proc/sys/fs/inotify/max_queued_events");
	overflow(DRIFT_USE_FANOTIFY, "/proc/sys/fs/fanotify/max_queued_events");
}

/* --- a write that takes long */

static void run_on_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
}

/* The second CPU is busy for so long, and does nothing else. */
static pid_t start_hog(uint64_t usec)
{
	struct sched_param param = { .sched_priority = 10 };
	int ready[2];
	pid_t pid;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		uint64_t end = clock_usec(CLOCK_MONOTONIC) + usec;

		run_on_cpu(1);
		if (sched_setscheduler(0, SCHED_FIFO, &param) < 0)
			_exit(1);
		(void)!write(ready[1], "x", 1);
		while (clock_usec(CLOCK_MONOTONIC) < end)
			;
		_exit(0);
	}
	close(ready[1]);
	(void)!read(ready[0], &(char){ 0 }, 1);
	close(ready[0]);
	return pid;
}

/*
 * BPF is asked before a write.  A new kernel.watchdog_thresh waits for a piece of work on every CPU, so a busy one makes
 * it slow; that the write is over is told by the mark alone.
 */
static void told_again_when_a_long_write_ends(void **state)
{
	static char thresh[] = "/proc/sys/kernel/watchdog_thresh";
	_cleanup_free_ char *was = NULL;
	cpu_set_t before;
	pid_t hog, writer;
	struct world w;
	int status;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2 || access(thresh, F_OK) < 0)
		skip();
	world_open(&w, DRIFT_USE_BPF, NULL);
	world_close(&w);
	was = knob_read(thresh);
	world_open(&w, DRIFT_USE_ALL, (char *[]){ thresh, NULL });
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	run_on_cpu(0);
	hog = start_hog(4 * DRIFT_SETTLE_USEC);
	writer = fork();
	if (writer == 0) {
		uint64_t start = clock_usec(CLOCK_MONOTONIC);

		prctl(PR_SET_NAME, WRITER);
		if (knob_try_write(thresh, strtoul(was, NULL, 10) == 11 ? "12" : "11") < 0)
			_exit(1);
		_exit(clock_usec(CLOCK_MONOTONIC) - start > 2 * DRIFT_SETTLE_USEC ? 0 : 2);
	}
	run_for(&w, 10 * DRIFT_SETTLE_USEC);
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
	assert_int_equal(waitpid(hog, NULL, 0), hog);
	assert_int_equal(waitpid(writer, &status, 0), writer);
	knob_write(thresh, strstrip(was));
	assert_int_equal(status, 0);
	assert_int_equal(told(&w, thresh)->calls, 2);
	assert_int_equal(told(&w, thresh)->writer.pid, writer);
	assert_string_equal(told(&w, thresh)->writer.comm, WRITER);
	world_close(&w);
}

/* --- what it costs, and what it leaves */

static void no_wakeups_when_nothing_is_written(void **state)
{
	char *paths[] = { swappiness, ksm_sleep, NULL }, *foreign[] = { page_cluster, ksm_pages, NULL };
	char *all[] = { swappiness, ksm_sleep, page_cluster, ksm_pages, NULL };
	struct pollfd fd;
	struct world w;

	world_open(&w, DRIFT_USE_ALL, all);
	assert_int_equal(watch_drift_set(w.watch, paths), 0);
	write_and_end(paths);
	assert_true(run_until(&w, swappiness, 1) && run_until(&w, ksm_sleep, 1));
	run_for(&w, 2 * USEC_PER_SEC);
	fd = (struct pollfd){ .fd = sd_event_get_fd(w.event), .events = POLLIN };
	assert_int_equal(sd_event_prepare(w.event), 0);
	write_and_end(foreign);
	for (char **p = all; *p; p++)
		free(knob_read(*p));
	assert_int_equal(poll(&fd, 1, 2000), 0);
	world_close(&w);
}

/* Programs on the root cgroup, or a negative errno. */
static int attached_programs(void)
{
	static const char *const roots[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };
	union bpf_attr attr = {};
	struct statfs fs;

	for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
		_cleanup_close_ int fd = open(roots[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (fd < 0 || fstatfs(fd, &fs) < 0 || fs.f_type != CGROUP2_SUPER_MAGIC)
			continue;
		attr.query.target_fd = (__u32)fd;
		attr.query.attach_type = BPF_CGROUP_SYSCTL;
		return syscall(__NR_bpf, BPF_PROG_QUERY, &attr, sizeof(attr)) < 0 ? -errno : (int)attr.query.prog_cnt;
	}
	return -ENOENT;
}

static void killed_it_leaves_no_program(void **state)
{
	int before = attached_programs(), ready[2];
	struct world w;
	pid_t pid;

	world_open(&w, DRIFT_USE_BPF, NULL);
	assert_int_equal(attached_programs(), before + 1);
	world_close(&w);
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		world_open(&w, DRIFT_USE_BPF, (char *[]){ swappiness, NULL });
		(void)!write(ready[1], "x", 1);
		pause();
		_exit(0);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &(char){ 0 }, 1), 1);
	close(ready[0]);
	assert_int_equal(attached_programs(), before + 1);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	for (unsigned i = 0; i < 50 && attached_programs() != before; i++)
		usleep(100000);
	assert_int_equal(attached_programs(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_file_raises_fanotify_events),
		cmocka_unit_test(each_file_raises_inotify_events),
		cmocka_unit_test(each_sysctl_is_seen_by_bpf),
		cmocka_unit_test(storm_of_bpf),
		cmocka_unit_test(storm_of_fanotify),
		cmocka_unit_test(storm_of_inotify),
		cmocka_unit_test(steady_writes),
		cmocka_unit_test(overflow_is_a_write_to_each),
		cmocka_unit_test(told_again_when_a_long_write_ends),
		cmocka_unit_test(no_wakeups_when_nothing_is_written),
		cmocka_unit_test(killed_it_leaves_no_program),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
