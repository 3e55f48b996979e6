/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/reboot-required.h"
#include "tests/unit/temp-dir.h"

#define _cleanup_temp_dir_ _cleanup_(temp_dir_donep)
#define FLAG "run/reboot-required"
#define PACKAGES "run/reboot-required.pkgs"
#define TEXT "*** System restart required ***\n"

static void note(const struct temp_dir *d)
{
	struct diag_list diags = { 0 };

	assert_int_equal(reboot_required_note(d->fd, &diags), 0);
	assert_int_equal(diags.n, 0);
}

static void said_once(void **state)
{
	_cleanup_temp_dir_ struct temp_dir d = temp_dir_make();

	assert_int_equal(mkdirat(d.fd, "run", 0755), 0);
	note(&d);
	temp_dir_expect(&d, FLAG, TEXT);
	temp_dir_expect(&d, PACKAGES, "mmopt\n");
	note(&d);
	temp_dir_expect(&d, FLAG, TEXT);
	temp_dir_expect(&d, PACKAGES, "mmopt\n");
}

static void what_others_said_stays(void **state)
{
	static const struct {
		const char *before, *after;
	} cases[] = {
		{ "linux-image-amd64\nlibc6\n", "linux-image-amd64\nlibc6\nmmopt\n" },
		/* Parts of a line are other packages. */
		{ "mmopt-extra\nxmmopt\nmmop\n", "mmopt-extra\nxmmopt\nmmop\nmmopt\n" },
		{ "linux-image\nmmopt\nlibc6\n", "linux-image\nmmopt\nlibc6\n" },
		{ "no-newline", "no-newline\nmmopt\n" },
		{ "libc6\nmmopt", "libc6\nmmopt" },
		{ "", "mmopt\n" },
		{ "\n", "\nmmopt\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_temp_dir_ struct temp_dir d = temp_dir_make();

		temp_dir_write(&d, FLAG, "*** Neustart ***\n");
		temp_dir_write(&d, PACKAGES, cases[i].before);
		note(&d);
		temp_dir_expect(&d, FLAG, "*** Neustart ***\n");
		temp_dir_expect(&d, PACKAGES, cases[i].after);
	}
}

static void failure_says_what_to_do(void **state)
{
	_cleanup_temp_dir_ struct temp_dir d = temp_dir_make();
	struct diag_list diags = { 0 };

	/* No /run; a link; a directory. */
	assert_int_equal(reboot_required_note(d.fd, &diags), -ENOENT);
	assert_string_equal(diags.items[0].text, "cannot write /run/reboot-required: No such file or directory; "
						 "RebootRequiredFile=no in mmoptd.conf turns it off");
	temp_dir_write(&d, "run/x", "");
	assert_int_equal(symlinkat("x", d.fd, FLAG), 0);
	assert_int_equal(reboot_required_note(d.fd, &diags), -ELOOP);
	temp_dir_expect(&d, "run/x", "");
	assert_int_equal(unlinkat(d.fd, FLAG, 0), 0);
	assert_int_equal(mkfifoat(d.fd, PACKAGES, 0644), 0);
	assert_int_equal(reboot_required_note(d.fd, &diags), -EINVAL);
	assert_int_equal(diags.n, 3);
	diag_list_clear(&diags);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(said_once),
		cmocka_unit_test(what_others_said_stays),
		cmocka_unit_test(failure_says_what_to_do),
	};

	umask(022);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
