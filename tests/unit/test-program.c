/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Running another program to its end. */
#include "base/clock.h"
#include "base/program.h"
#include "base/strutil.h"
#include "test.h"

static int run(const char *script, uint64_t timeout_usec, char **ret_errors)
{
	char *const argv[] = { (char *)"/bin/sh", (char *)"-c", (char *)script, NULL };

	return run_program(argv, timeout_usec, ret_errors);
}

static void ends(void **state)
{
	_cleanup_free_ char *none = NULL, *some = NULL;

	assert_int_equal(run("echo out; cat; exit 0", 20 * USEC_PER_SEC, &none), 0);
	assert_string_equal(none, "");
	assert_int_equal(run("echo one >&2; echo two >&2; exit 7", 20 * USEC_PER_SEC, &some), 7);
	assert_string_equal(some, "one\ntwo\n");
}

static void fails(void **state)
{
	char *const argv[] = { (char *)"/nonexistent", NULL };
	char *errors = NULL;

	assert_int_equal(run("kill -9 $$", 20 * USEC_PER_SEC, &errors), -EINTR);
	assert_int_equal(run("sleep 60", 100 * USEC_PER_MSEC, &errors), -ETIMEDOUT);
	assert_int_equal(run_program(argv, USEC_PER_SEC, &errors), -ENOENT);
	assert_null(errors);
}

/* More than a pipe holds, and more than is kept. */
static void talks_a_lot(void **state)
{
	_cleanup_free_ char *errors = NULL;

	assert_int_equal(run("head -c 300000 /dev/zero | tr '\\0' x >&2", 60 * USEC_PER_SEC, &errors), 0);
	assert_int_equal(strlen(errors), 4096);
}

/* What it leaves running has its standard error: nobody waits for that. */
static void leaves_another(void **state)
{
	uint64_t start = clock_usec(CLOCK_MONOTONIC);
	_cleanup_free_ char *errors = NULL;

	assert_int_equal(run("sleep 30 & echo gone >&2", 25 * USEC_PER_SEC, &errors), 0);
	assert_string_equal(errors, "gone\n");
	assert_true(clock_usec(CLOCK_MONOTONIC) - start < 20 * USEC_PER_SEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ends),
		cmocka_unit_test(fails),
		cmocka_unit_test(talks_a_lot),
		cmocka_unit_test(leaves_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
