/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/pin-zero-page.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "core/kernel-io.h"
#include "knobs.h"

#define THP "/sys/kernel/mm/transparent_hugepage/"
#define THP_2M THP "hugepages-2048kB/enabled"

static struct {
	int lock;
	char *enabled, *use_zero_page, *own;
} before;

/* What a child, whose address space is its own, has seen. */
struct seen {
	int r;
	struct zero_page page;
	char reason[256];
	uint64_t rss_before, rss_after, huge_before, huge_after;
};

static void setting(const char *path, char *text)
{
	char *start = strchr(text, '['), *end = strchr(text, ']');

	if (start && end) {
		*end = '\0';
		text = start + 1;
	}
	knob_write(path, strstrip(text));
}

static int setup(void **state)
{
	before.lock = -EBADF;
	if (access(THP "use_zero_page", W_OK) < 0)
		return 0;
	before.lock = knobs_lock();
	before.enabled = knob_read(THP "enabled");
	before.use_zero_page = knob_read(THP "use_zero_page");
	if (access(THP_2M, F_OK) == 0)
		before.own = knob_read(THP_2M);
	knob_write(THP "enabled", "madvise");
	knob_write(THP "use_zero_page", "1");
	if (before.own)
		knob_write(THP_2M, "inherit");
	return 0;
}

static int teardown(void **state)
{
	if (before.lock < 0)
		return 0;
	setting(THP "enabled", before.enabled);
	setting(THP "use_zero_page", before.use_zero_page);
	if (before.own)
		setting(THP_2M, before.own);
	free(before.enabled);
	free(before.use_zero_page);
	free(before.own);
	close(before.lock);
	return 0;
}

static void need_thp(void)
{
	if (before.lock < 0) {
		print_message("no transparent huge pages that this test may set\n");
		skip();
	}
}

static uint64_t of_file(const char *path, const char *key)
{
	_cleanup_free_ char *text = knob_read(path);
	uint64_t n = 0;

	assert_int_equal(keyed_u64(text, key, &n), 0);
	return n;
}

static uint64_t allocs(void)
{
	return of_file("/proc/vmstat", "thp_zero_page_alloc");
}

static void pin_and_look(struct seen *s)
{
	_cleanup_free_ char *reason = NULL;

	s->rss_before = of_file("/proc/self/smaps_rollup", "Rss");
	s->huge_before = of_file("/proc/self/smaps_rollup", "AnonHugePages");
	s->r = zero_page_pin(&s->page, &reason);
	s->rss_after = of_file("/proc/self/smaps_rollup", "Rss");
	s->huge_after = of_file("/proc/self/smaps_rollup", "AnonHugePages");
	if (reason)
		snprintf(s->reason, sizeof(s->reason), "%s", reason);
}

/* Pins in a child, which holds the page until *ret_hold is closed. */
static pid_t start_pinning(struct seen *ret, int *ret_hold, bool thp_disabled)
{
	int answer[2], hold[2];
	struct seen s = {};
	pid_t pid;

	assert_int_equal(pipe2(answer, O_CLOEXEC), 0);
	assert_int_equal(pipe2(hold, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		close(hold[1]);
		if (thp_disabled)
			prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
		pin_and_look(&s);
		if (write(answer[1], &s, sizeof(s)) != (ssize_t)sizeof(s) || read(hold[0], &s, 1) != 0)
			_exit(1);
		_exit(0);
	}
	close(answer[1]);
	close(hold[0]);
	assert_int_equal(read(answer[0], ret, sizeof(*ret)), sizeof(*ret));
	close(answer[0]);
	*ret_hold = hold[1];
	return pid;
}

static void stop_pinning(pid_t pid, int hold)
{
	int status;

	close(hold);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static struct seen pin_once(bool thp_disabled)
{
	struct seen s;
	int hold;
	pid_t pid = start_pinning(&s, &hold, thp_disabled);

	stop_pinning(pid, hold);
	return s;
}

/* A child reads memory it never wrote and ends.  True where it had a huge page of its own for that. */
static bool reader_has_own_page(void)
{
	const size_t size = 2 << 20;
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		char *room = mmap(NULL, 2 * size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		char *start = (char *)(((uintptr_t)room + size - 1) & ~(uintptr_t)(size - 1));

		if (room == MAP_FAILED || madvise(start, size, MADV_HUGEPAGE) < 0 || *(volatile char *)start != 0)
			_exit(2);
		_exit(of_file("/proc/self/smaps_rollup", "AnonHugePages") > 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
	return WEXITSTATUS(status) == 1;
}

/* There are kernels that map no zero pages, whatever use_zero_page says. */
static bool kernel_uses_it(void)
{
	return !reader_has_own_page();
}

static void need_zero_page(void)
{
	need_thp();
	if (!kernel_uses_it()) {
		print_message("this kernel maps no huge zero page\n");
		skip();
	}
}

/* Some program reads memory and ends; then memory runs short, and the kernel frees what nobody holds. */
static void use_and_drop(void)
{
	assert_false(reader_has_own_page());
	knob_write("/proc/sys/vm/drop_caches", "2");
}

static uint64_t rise_over_lives(unsigned lives)
{
	uint64_t n = allocs();

	for (unsigned i = 0; i < lives; i++)
		use_and_drop();
	return allocs() - n;
}

/* Another program on this machine may hold it for a while, and then nothing can be told apart. */
static void need_it_unheld(void)
{
	for (unsigned i = 0; i < 20; i++) {
		use_and_drop();
		if (rise_over_lives(2) == 2)
			return;
		nanosleep(&(struct timespec){ .tv_sec = 1 }, NULL);
	}
	print_message("another program holds the huge zero page all the time\n");
	skip();
}

static void stays_while_it_is_held(void **state)
{
	struct seen s;
	int hold;
	pid_t pid;

	need_zero_page();
	need_it_unheld();
	assert_int_equal(rise_over_lives(5), 5);

	pid = start_pinning(&s, &hold, false);
	assert_string_equal(s.reason, "");
	assert_int_equal(s.r, 0);
	assert_true(s.page.allocs_known);
	assert_int_equal(s.page.allocs, allocs());
	assert_int_equal(rise_over_lives(5), 0);
	stop_pinning(pid, hold);

	knob_write("/proc/sys/vm/drop_caches", "2");
	assert_int_equal(rise_over_lives(5), 5);
}

static void costs_the_process_nothing(void **state)
{
	struct seen s;

	need_zero_page();
	s = pin_once(false);
	assert_int_equal(s.r, 0);
	assert_true(s.page.bytes >= 2 << 20);
	assert_true(s.page.since_sec + 60 > (uint64_t)time(NULL));
	/* What it reads from /proc costs some, a huge page would be more than that. */
	assert_true(1024 * (s.rss_after - s.rss_before) < s.page.bytes);
	assert_int_equal(s.huge_after, s.huge_before);
}

static void a_child_does_not_have_it(void **state)
{
	struct zero_page z = {};
	_cleanup_free_ char *reason = NULL;
	unsigned char there;
	int status;
	pid_t pid;

	need_zero_page();
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (zero_page_pin(&z, &reason) < 0 || mincore(z.address, 4096, &there) < 0)
			_exit(1);
		pid = fork();
		if (pid == 0)
			_exit(mincore(z.address, 4096, &there) == 0 ? 2 : errno == ENOMEM ? 0 : 3);
		if (waitpid(pid, &status, 0) != pid || status)
			_exit(4);
		zero_page_unpin(&z);
		zero_page_unpin(&z);
		_exit(z.address ? 5 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void expect(struct seen s, int r, const char *words)
{
	assert_int_equal(s.r, r);
	if (!strstr(s.reason, words))
		print_error("\"%s\" does not say \"%s\"\n", s.reason, words);
	assert_non_null(strstr(s.reason, words));
}

static void expect_pinned(void)
{
	struct seen s = pin_once(false);

	if (kernel_uses_it())
		assert_int_equal(s.r, 0);
	else
		expect(s, -ENODATA, "gets a huge page of its own");
}

static void says_why_not(void **state)
{
	need_thp();
	knob_write(THP "use_zero_page", "0");
	expect(pin_once(false), -EINVAL, "thp.use_zero_page is 0");
	knob_write(THP "enabled", "never");
	expect(pin_once(false), -EOPNOTSUPP, "thp.enabled is never");
	knob_write(THP "use_zero_page", "1");
	expect(pin_once(false), -EOPNOTSUPP, "thp.enabled is never");
	knob_write(THP "enabled", "always");
	expect(pin_once(true), -EOPNOTSUPP, "PR_SET_THP_DISABLE");
	expect_pinned();
	knob_write(THP "enabled", "madvise");
	expect_pinned();
}

static void each_size_has_its_own_switch(void **state)
{
	need_thp();
	if (!before.own) {
		print_message("before Linux 6.8 there is one switch for all sizes\n");
		skip();
	}
	knob_write(THP_2M, "never");
	expect(pin_once(false), -EOPNOTSUPP, THP_2M " is never");
	knob_write(THP "enabled", "never");
	knob_write(THP_2M, "madvise");
	expect_pinned();
	knob_write(THP_2M, "inherit");
	expect(pin_once(false), -EOPNOTSUPP, "thp.enabled is never");
	knob_write(THP "enabled", "madvise");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stays_while_it_is_held),	cmocka_unit_test(costs_the_process_nothing),
		cmocka_unit_test(a_child_does_not_have_it),	cmocka_unit_test(says_why_not),
		cmocka_unit_test(each_size_has_its_own_switch),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
