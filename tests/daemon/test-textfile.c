/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/textfile.h"
#include "tests/unit/temp-dir.h"

#define _cleanup_temp_dir_ _cleanup_(temp_dir_donep)

/* Both calls fail alike, with one message. */
static void fails(const char *directory, int error, const char *want)
{
	struct diag_list diags = { 0 };

	assert_int_equal(textfile_write(directory, "x 1\n", &diags), error);
	assert_int_equal(diags.n, 1);
	assert_string_equal(diags.items[0].text, want);
	diag_list_clear(&diags);
}

static size_t n_files(const char *directory)
{
	_cleanup_closedir_ DIR *dir = opendir(directory);
	size_t n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	return n - 2;
}

static void file_is_replaced_whole(void **state)
{
	_cleanup_temp_dir_ struct temp_dir d = temp_dir_make();
	struct diag_list diags = { 0 };
	struct stat before, after;

	assert_int_equal(textfile_write(d.path, "a 1\nb 2\n", &diags), 0);
	temp_dir_expect(&d, "mmopt.prom", "a 1\nb 2\n");
	assert_int_equal(fstatat(d.fd, "mmopt.prom", &before, 0), 0);
	/* Whatever the umask: the collector is another user. */
	assert_int_equal(before.st_mode, S_IFREG | 0644);
	assert_int_equal(textfile_write(d.path, "a 3\n", &diags), 0);
	temp_dir_expect(&d, "mmopt.prom", "a 3\n");
	assert_int_equal(fstatat(d.fd, "mmopt.prom", &after, 0), 0);
	assert_int_not_equal(after.st_ino, before.st_ino);
	assert_int_equal(n_files(d.path), 1);

	assert_int_equal(textfile_remove(d.path, &diags), 0);
	assert_int_equal(n_files(d.path), 0);
	assert_int_equal(textfile_remove(d.path, &diags), 0);
	assert_int_equal(diags.n, 0);
}

static void links_lead_nowhere(void **state)
{
	_cleanup_temp_dir_ struct temp_dir d = temp_dir_make();
	_cleanup_free_ char *link = xasprintf("%s/link", d.path), *below = xasprintf("%s/link/", d.path);
	_cleanup_free_ char *sub = xasprintf("%s/link/sub", d.path), *want = NULL;
	struct diag_list diags = { 0 };

	temp_dir_write(&d, "real/sub/precious", "precious\n");
	assert_int_equal(symlinkat("real", d.fd, "link"), 0);
	want = xasprintf(
		"cannot write the metrics file %s/mmopt.prom: Not a directory; a part of it is a symbolic link or no "
		"directory: give the real path in TextfileDirectory=",
		link);
	fails(link, -ENOTDIR, want);
	assert_int_equal(textfile_write(below, "x 1\n", &diags), -ENOTDIR);
	assert_int_equal(textfile_write(sub, "x 1\n", &diags), -ENOTDIR);
	assert_int_equal(textfile_remove(sub, &diags), -ENOTDIR);
	diag_list_clear(&diags);

	/* A link in the place of the file goes, what it leads to stays. */
	assert_int_equal(symlinkat("real/sub/precious", d.fd, "mmopt.prom"), 0);
	assert_int_equal(textfile_write(d.path, "x 1\n", &diags), 0);
	temp_dir_expect(&d, "real/sub/precious", "precious\n");
	temp_dir_expect(&d, "mmopt.prom", "x 1\n");
}

static void failure_says_what_to_do(void **state)
{
	_cleanup_temp_dir_ struct temp_dir d = temp_dir_make();
	_cleanup_free_ char *gone = xasprintf("%s/gone", d.path), *want = NULL;

	want = xasprintf(
		"cannot write the metrics file %s/mmopt.prom: No such file or directory; make the directory, or set "
		"TextfileDirectory=none in mmoptd.conf",
		gone);
	fails(gone, -ENOENT, want);
	fails("relative", -EINVAL, "cannot write the metrics file relative/mmopt.prom: Invalid argument");
	fails("/tmp/../etc", -EINVAL, "cannot write the metrics file /tmp/../etc/mmopt.prom: Invalid argument");
	assert_int_equal(access("/etc/mmopt.prom", F_OK), -1);
	/* Nobody makes files there, as nobody does where the unit's sandbox is in the way. */
	if (access("/sys/kernel/mm", F_OK) == 0)
		fails("/sys/kernel/mm", -EACCES,
		      "cannot write the metrics file /sys/kernel/mm/mmopt.prom: Permission denied; a drop-in (systemctl edit "
		      "mmoptd) has to allow it: [Service] ReadWritePaths=/sys/kernel/mm");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(file_is_replaced_whole),
		cmocka_unit_test(links_lead_nowhere),
		cmocka_unit_test(failure_says_what_to_do),
	};

	umask(077);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
