/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "temp-dir.h"

#include <sys/wait.h>

static void reads_any_length(void **state)
{
	static const size_t sizes[] = { 0, 1, 4094, 4095, 4096, 4097, 8191, 8192, 100000 };
	_cleanup_(temp_dir_donep) struct temp_dir dir = temp_dir_make();

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		_cleanup_free_ char *text = malloc(sizes[i] + 1), *have = NULL;
		size_t size;

		memset(text, 'x', sizes[i]);
		text[sizes[i]] = '\0';
		temp_dir_write(&dir, "f", text);
		assert_int_equal(read_file_at(dir.fd, "f", 0, &have, &size), 0);
		assert_int_equal(size, sizes[i]);
		assert_string_equal(have, text);
	}
}

/* What short reads look like: the writer hands out a few bytes at a time. */
static void a_short_read_is_not_the_end(void **state)
{
	_cleanup_free_ char *have = NULL;
	int pipe_fds[2];
	pid_t child;
	size_t size;

	assert_int_equal(pipe(pipe_fds), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		for (int i = 0; i < 20; i++) {
			if (write(pipe_fds[1], "abc", 3) != 3)
				_exit(1);
			usleep(500);
		}
		_exit(0);
	}
	close(pipe_fds[1]);
	assert_int_equal(read_fd(pipe_fds[0], 0, &have, &size), 0);
	assert_int_equal(size, 60);
	close(pipe_fds[0]);
	waitpid(child, NULL, 0);
}

static void proc_files_of_unknown_size(void **state)
{
	_cleanup_free_ char *have = NULL;
	size_t size;

	assert_int_equal(read_file_at(AT_FDCWD, "/proc/self/smaps", 0, &have, &size), 0);
	assert_true(size > 4096);
	assert_int_equal(strlen(have), size);
}

static void limits(void **state)
{
	_cleanup_(temp_dir_donep) struct temp_dir dir = temp_dir_make();
	_cleanup_free_ char *have = NULL;
	char *untouched = (char *)"untouched";
	size_t size = 4711;

	temp_dir_write(&dir, "f", "12345");
	assert_int_equal(read_file_at(dir.fd, "f", 4, &untouched, &size), -EFBIG);
	assert_string_equal(untouched, "untouched");
	assert_int_equal(size, 4711);
	assert_int_equal(read_file_at(dir.fd, "f", 5, &have, NULL), 0);
	assert_string_equal(have, "12345");
	assert_int_equal(read_file_at(dir.fd, "missing", 0, &untouched, NULL), -ENOENT);
	assert_int_equal(read_file_at(dir.fd, ".", 0, &untouched, NULL), -EISDIR);
}

static void makes_directories(void **state)
{
	_cleanup_(temp_dir_donep) struct temp_dir dir = temp_dir_make();
	struct stat st;

	assert_int_equal(mkdir_p_at(dir.fd, "a//b/c", 0750), 0);
	assert_int_equal(mkdir_p_at(dir.fd, "a/b/c", 0750), 0);
	assert_int_equal(mkdir_p_at(dir.fd, "a/b/d/", 0750), 0);
	assert_int_equal(fstatat(dir.fd, "a/b/d", &st, 0), 0);
	assert_int_equal(st.st_mode & 0777 & ~0750, 0);
	temp_dir_write(&dir, "a/file", "");
	assert_int_equal(mkdir_p_at(dir.fd, "a/file", 0750), -ENOTDIR);
	assert_int_equal(mkdir_p_at(dir.fd, "a/file/x", 0750), -ENOTDIR);
	assert_int_equal(mkdir_p_at(AT_FDCWD, "/proc/self", 0750), 0);
	assert_int_equal(mkdir_p_at(AT_FDCWD, "/proc/self/no/such", 0750), -ENOENT);
}

static void open_close(int root_fd, const char *path, int flags, int expected)
{
	int fd = open_in_root(root_fd, path, flags, 0);

	if (expected < 0) {
		assert_int_equal(fd, expected);
		return;
	}
	assert_true(fd >= 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
}

static void nothing_leads_out_of_a_root(void **state)
{
	_cleanup_(temp_dir_donep) struct temp_dir dir = temp_dir_make();
	_cleanup_close_ int root = -EBADF;

	temp_dir_write(&dir, "secret", "outside");
	temp_dir_write(&dir, "root/etc/inside", "inside");
	root = openat(dir.fd, "root", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(root >= 0);
	assert_int_equal(symlinkat("../secret", root, "up"), 0);
	assert_int_equal(symlinkat("/etc/inside", root, "absolute"), 0);
	assert_int_equal(symlinkat("/etc/hostname", root, "elsewhere"), 0);
	open_close(root, "/etc/inside", O_RDONLY, 0);
	open_close(root, "etc/inside", O_RDONLY, 0);
	open_close(root, "/../etc/inside", O_RDONLY, 0);
	open_close(root, "/absolute", O_RDONLY, 0);
	open_close(root, "/up", O_RDONLY, -ENOENT);
	open_close(root, "/../secret", O_RDONLY, -ENOENT);
	open_close(root, "/elsewhere", O_RDONLY, -ENOENT);
}

static void replaces_whole_files(void **state)
{
	_cleanup_(temp_dir_donep) struct temp_dir dir = temp_dir_make();
	_cleanup_closedir_ DIR *d = NULL;
	struct stat st;
	unsigned n = 0;
	mode_t mask = umask(0077);

	temp_dir_write(&dir, "sub/f", "a long old text");
	assert_int_equal(replace_file_at(dir.fd, "sub/f", "new", 3, 0644), 0);
	assert_int_equal(replace_file_at(dir.fd, "sub/g", "fresh", 5, 0600), 0);
	umask(mask);
	temp_dir_expect(&dir, "sub/f", "new");
	temp_dir_expect(&dir, "sub/g", "fresh");
	assert_int_equal(fstatat(dir.fd, "sub/f", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	assert_int_equal(replace_file_at(dir.fd, "no/such", "x", 1, 0644), -ENOENT);
	/* Failing at the rename: the temporary file goes too. */
	assert_int_equal(mkdir_p_at(dir.fd, "sub/dir/full", 0755), 0);
	assert_true(replace_file_at(dir.fd, "sub/dir", "x", 1, 0644) < 0);
	d = fdopendir(openat(dir.fd, "sub", O_RDONLY | O_DIRECTORY));
	assert_non_null(d);
	while (readdir(d))
		n++;
	assert_int_equal(n, 5); /* . .. f g dir */
}

static void write_errors_are_told(void **state)
{
	_cleanup_close_ int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	assert_true(full >= 0);
	assert_int_equal(write_all(full, "x", 1), -ENOSPC);
	assert_int_equal(write_all(full, "", 0), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_any_length),	      cmocka_unit_test(a_short_read_is_not_the_end),
		cmocka_unit_test(proc_files_of_unknown_size), cmocka_unit_test(limits),
		cmocka_unit_test(makes_directories),	      cmocka_unit_test(nothing_leads_out_of_a_root),
		cmocka_unit_test(replaces_whole_files),	      cmocka_unit_test(write_errors_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
