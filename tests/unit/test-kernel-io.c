/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "temp-dir.h"

#include <signal.h>
#include <sys/resource.h>

#include "core/kernel-io.h"

static struct kernel_io *open_below(const struct temp_dir *dir)
{
	struct kernel_io *io;

	assert_int_equal(kernel_io_open(dir->path, &io), 0);
	assert_false(io->live);
	return io;
}

static void only_the_running_root_is_live(void **state)
{
	static const char *const names[] = { NULL, "/", "//", "/.", "/proc/.." };
	_cleanup_(temp_dir_donep) struct temp_dir dir = temp_dir_make();

	kernel_io_free(open_below(&dir));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_(kernel_io_freep) struct kernel_io *io = NULL;

		assert_int_equal(kernel_io_open(names[i], &io), 0);
		assert_true(io->live);
		assert_true(kernel_io_root_fd(io) >= 0);
	}
}

static void roots_that_cannot_be(void **state)
{
	_cleanup_(temp_dir_donep) struct temp_dir dir = temp_dir_make();
	_cleanup_free_ char *file = xasprintf("%s/file", dir.path);
	struct kernel_io *io = NULL;

	temp_dir_write(&dir, "file", "");
	assert_int_equal(kernel_io_open(file, &io), -ENOTDIR);
	assert_int_equal(kernel_io_open("/no/such/root", &io), -ENOENT);
	assert_null(io);
}

static void reads_the_live_kernel(void **state)
{
	_cleanup_(kernel_io_freep) struct kernel_io *io = NULL;
	_cleanup_free_ char *vmstat = NULL, *line = NULL, *none = NULL;
	uint64_t n;
	size_t size;

	assert_int_equal(kernel_io_open(NULL, &io), 0);
	assert_int_equal(kernel_io_read(io, "/proc/vmstat", &vmstat, &size), 0);
	assert_int_equal(strlen(vmstat), size);
	assert_int_equal(keyed_u64(vmstat, "nr_free_pages", &n), 0);
	assert_int_equal(kernel_io_read_line(io, "/proc/sys/kernel/ostype", &line), 0);
	assert_string_equal(line, "Linux");
	assert_int_equal(kernel_io_read_u64(io, "/proc/sys/vm/overcommit_ratio", &n), 0);
	assert_int_equal(kernel_io_read_u64(io, "/proc/sys/kernel/ostype", &n), -EINVAL);
	assert_int_equal(kernel_io_read(io, "/proc/sys/vm/no_such_thing", &none, NULL), -ENOENT);
	assert_int_equal(kernel_io_read(io, "proc/vmstat", &none, NULL), -EINVAL);
	assert_true(kernel_io_exists(io, "/proc/vmstat"));
	assert_false(kernel_io_exists(io, "/proc/sys/vm/no_such_thing"));
	/* Never read, but there. */
	assert_true(kernel_io_exists(io, "/proc/sys/vm/compact_memory"));
}

static void lists_in_order(void **state)
{
	_cleanup_(temp_dir_donep) struct temp_dir dir = temp_dir_make();
	_cleanup_(kernel_io_freep) struct kernel_io *io = open_below(&dir);
	_cleanup_(strv_freep) char **names = NULL, **empty = NULL, **none = NULL;
	char path[64];

	for (int i = 0; i < 100; i++) {
		snprintf(path, sizeof(path), "sys/list/n%02d", 99 - i);
		temp_dir_write(&dir, path, "");
	}
	assert_int_equal(mkdir_p_at(dir.fd, "sys/empty", 0755), 0);
	assert_int_equal(kernel_io_list(io, "/sys/list", &names), 0);
	assert_int_equal(strv_length(names), 100);
	assert_string_equal(names[0], "n00");
	assert_string_equal(names[99], "n99");
	assert_int_equal(kernel_io_list(io, "/sys/empty", &empty), 0);
	assert_int_equal(strv_length(empty), 0);
	assert_int_equal(kernel_io_list(io, "/sys/list/n00", &none), -ENOTDIR);
	assert_int_equal(kernel_io_list(io, "/sys/none", &none), -ENOENT);
}

static void follows_and_reads_links_inside(void **state)
{
	_cleanup_(temp_dir_donep) struct temp_dir dir = temp_dir_make();
	_cleanup_(kernel_io_freep) struct kernel_io *io = open_below(&dir);
	_cleanup_free_ char *target = NULL, *text = NULL, *none = NULL, *long_target = malloc(1001);

	temp_dir_write(&dir, "sys/real/value", "7\n");
	assert_int_equal(symlinkat("/sys/real", dir.fd, "sys/link"), 0);
	assert_int_equal(symlinkat("nowhere", dir.fd, "sys/dangling"), 0);
	assert_int_equal(kernel_io_read_line(io, "/sys/link/value", &text), 0);
	assert_string_equal(text, "7");
	assert_int_equal(kernel_io_readlink(io, "/sys/link", &target), 0);
	assert_string_equal(target, "/sys/real");
	assert_int_equal(kernel_io_readlink(io, "/sys/real/value", &none), -EINVAL);
	assert_int_equal(kernel_io_readlink(io, "/sys/none", &none), -ENOENT);
	assert_false(kernel_io_exists(io, "/sys/dangling"));
	memset(long_target, 'y', 1000);
	long_target[1000] = '\0';
	assert_int_equal(symlinkat(long_target, dir.fd, "sys/long"), 0);
	assert_int_equal(kernel_io_readlink(io, "/sys/long", &none), 0);
	assert_string_equal(none, long_target);
}

static void writes_value_and_newline(void **state)
{
	_cleanup_(temp_dir_donep) struct temp_dir dir = temp_dir_make();
	_cleanup_(kernel_io_freep) struct kernel_io *io = open_below(&dir);

	temp_dir_write(&dir, "proc/sys/vm/swappiness", "a longer value than the new one\n");
	assert_int_equal(kernel_io_write(io, "/proc/sys/vm/swappiness", "10"), 0);
	temp_dir_expect(&dir, "proc/sys/vm/swappiness", "10\n");
	assert_int_equal(kernel_io_write(io, "/proc/sys/vm/swappiness", "1\n2"), -EINVAL);
	temp_dir_expect(&dir, "proc/sys/vm/swappiness", "10\n");
}

static void makes_no_file_and_writes_nothing_outside(void **state)
{
	_cleanup_(temp_dir_donep) struct temp_dir dir = temp_dir_make();
	_cleanup_(kernel_io_freep) struct kernel_io *io = NULL;
	_cleanup_free_ char *root = xasprintf("%s/root", dir.path), *outside = xasprintf("%s/outside", dir.path);

	temp_dir_write(&dir, "outside", "kept");
	temp_dir_write(&dir, "root/proc/x", "1\n");
	assert_int_equal(symlinkat("../../outside", dir.fd, "root/proc/up"), 0);
	assert_int_equal(symlinkat(outside, dir.fd, "root/proc/absolute"), 0);
	assert_int_equal(kernel_io_open(root, &io), 0);
	assert_int_equal(kernel_io_write(io, "/proc/up", "lost"), -ENOENT);
	assert_int_equal(kernel_io_write(io, "/proc/absolute", "lost"), -ENOENT);
	assert_int_equal(kernel_io_write(io, "/../outside", "lost"), -ENOENT);
	assert_int_equal(kernel_io_write(io, "/proc/new", "1"), -ENOENT);
	temp_dir_expect(&dir, "outside", "kept");
	assert_false(kernel_io_exists(io, "/proc/new"));
}

/* A file size limit makes write(2) take a part, as a kernel file that takes only part of a value would. */
static void case_17_a_short_write_is_a_failure_and_not_continued(void **state)
{
	_cleanup_(temp_dir_donep) struct temp_dir dir = temp_dir_make();
	_cleanup_(kernel_io_freep) struct kernel_io *io = open_below(&dir);
	struct rlimit old, small;
	int r;

	temp_dir_write(&dir, "f", "");
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small = old;
	small.rlim_cur = 2;
	/* A second write would meet -EFBIG (the signal is ignored): -EIO shows that there was none. */
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	r = kernel_io_write(io, "/f", "1234");
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	signal(SIGXFSZ, SIG_DFL);
	assert_int_equal(r, -EIO);
	temp_dir_expect(&dir, "f", "12");
}

static void keys_in_text(void **state)
{
	static const char vmstat[] =
		"nr_memmap_pages_extra 1\nxnr_memmap_pages 2\nnr_memmap_pages 98304\nbad x\nempty\n"
		"huge 99999999999999999999\nlast 7";
	static const char meminfo[] = "MemTotal:       24605864 kB\nActive(anon):   5 kB\nHugePages_Total:       0\n";
	uint64_t n = 4711;

	assert_int_equal(keyed_u64(vmstat, "memmap_pages", &n), -ENOENT);
	assert_int_equal(keyed_u64(vmstat, "nr_memmap", &n), -ENOENT);
	assert_int_equal(keyed_u64(vmstat, "bad", &n), -EINVAL);
	assert_int_equal(keyed_u64(vmstat, "empty", &n), -ENOENT);
	assert_int_equal(keyed_u64(vmstat, "huge", &n), -EINVAL);
	assert_int_equal(keyed_u64("", "x", &n), -ENOENT);
	assert_int_equal(keyed_u64("x:\n5\n", "x", &n), -EINVAL);
	assert_int_equal(keyed_u64("x 5x\n", "x", &n), -EINVAL);
	assert_int_equal(keyed_u64("x -5\n", "x", &n), -EINVAL);
	assert_int_equal(n, 4711);
	assert_int_equal(keyed_u64(vmstat, "nr_memmap_pages", &n), 0);
	assert_int_equal(n, 98304);
	assert_int_equal(keyed_u64(vmstat, "last", &n), 0);
	assert_int_equal(n, 7);
	assert_int_equal(keyed_u64(meminfo, "MemTotal", &n), 0);
	assert_int_equal(n, 24605864);
	assert_int_equal(keyed_u64(meminfo, "Active(anon)", &n), 0);
	assert_int_equal(n, 5);
	assert_int_equal(keyed_u64(meminfo, "HugePages_Total", &n), 0);
	assert_int_equal(n, 0);
}

static void numbers_are_strict(void **state)
{
	static const struct {
		const char *text;
		int r;
		uint64_t n;
	} cases[] = {
		{ "60\n", 0, 60 },	{ "0x10\n", 0, 16 },	 { "\t5 \n", 0, 5 },   { "10 20\n", -EINVAL, 0 },
		{ "-1\n", -EINVAL, 0 }, { "010\n", -EINVAL, 0 }, { "\n", -EINVAL, 0 }, { "", -EINVAL, 0 },
	};
	_cleanup_(temp_dir_donep) struct temp_dir dir = temp_dir_make();
	_cleanup_(kernel_io_freep) struct kernel_io *io = open_below(&dir);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t n = 4711;

		temp_dir_write(&dir, "f", cases[i].text);
		assert_int_equal(kernel_io_read_u64(io, "/f", &n), cases[i].r);
		assert_int_equal(n, cases[i].r < 0 ? 4711 : cases[i].n);
	}
}

/* In a system that somebody else made. SIGALRM ends the test where it would wait for ever. */
static void a_pipe_below_a_root_is_no_kernel_file(void **state)
{
	_cleanup_(temp_dir_donep) struct temp_dir d = temp_dir_make();
	_cleanup_(kernel_io_freep) struct kernel_io *io = NULL;
	_cleanup_free_ char *text = NULL;

	temp_dir_write(&d, "proc/sys/vm/swappiness", "60\n");
	assert_int_equal(mkfifoat(d.fd, "proc/sys/vm/pipe", 0600), 0);
	assert_int_equal(kernel_io_open(d.path, &io), 0);
	alarm(10);
	assert_int_equal(kernel_io_read(io, "/proc/sys/vm/pipe", &text, NULL), -EINVAL);
	assert_int_equal(kernel_io_write(io, "/proc/sys/vm/pipe", "1"), -EINVAL);
	assert_int_equal(kernel_io_read(io, "/proc/sys/vm", &text, NULL), -EISDIR);
	assert_int_equal(kernel_io_write(io, "/proc/sys/vm/swappiness", "1"), 0);
	alarm(0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_the_running_root_is_live),
		cmocka_unit_test(roots_that_cannot_be),
		cmocka_unit_test(reads_the_live_kernel),
		cmocka_unit_test(lists_in_order),
		cmocka_unit_test(follows_and_reads_links_inside),
		cmocka_unit_test(writes_value_and_newline),
		cmocka_unit_test(makes_no_file_and_writes_nothing_outside),
		cmocka_unit_test(case_17_a_short_write_is_a_failure_and_not_continued),
		cmocka_unit_test(keys_in_text),
		cmocka_unit_test(numbers_are_strict),
		cmocka_unit_test(a_pipe_below_a_root_is_no_kernel_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
