/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "test.h"

#include "core/diag.h"

static void assert_formatted(const struct diag *d, const char *text)
{
	_cleanup_free_ char *s = diag_format(d);

	assert_string_equal(s, text);
}

static void parts_that_there_are(void **state)
{
	struct diag_list list = { 0 };

	diag_add(&list, DIAG_ERROR, "a.conf", 12, "vm.swappiness", "%d is above %d", 300, 200);
	diag_add(&list, DIAG_WARNING, "a.conf", 0, NULL, "empty");
	diag_add(&list, DIAG_NOTICE, NULL, 7, "thp.enabled", "as it was");
	diag_add(&list, DIAG_NOTICE, NULL, 0, NULL, "nothing to do");
	assert_int_equal(list.n, 4);
	assert_int_equal(list.n_errors, 1);
	assert_int_equal(list.n_warnings, 1);
	assert_formatted(&list.items[0], "a.conf:12: vm.swappiness: 300 is above 200");
	assert_formatted(&list.items[1], "a.conf: empty");
	assert_formatted(&list.items[2], "thp.enabled: as it was");
	assert_formatted(&list.items[3], "nothing to do");
	diag_list_clear(&list);
	assert_int_equal(list.n, 0);
	assert_int_equal(list.n_errors, 0);
	diag_list_clear(&list);
}

static void many_keep_their_order_and_own_their_text(void **state)
{
	struct diag_list list = { 0 };
	char file[32];

	for (unsigned i = 0; i < 1000; i++) {
		snprintf(file, sizeof(file), "%u.conf", i);
		diag_add(&list, DIAG_ERROR, file, i, NULL, "line %u", i);
	}
	assert_int_equal(list.n, 1000);
	assert_int_equal(list.n_errors, 1000);
	assert_string_equal(list.items[0].file, "0.conf");
	assert_string_equal(list.items[999].text, "line 999");
	diag_list_clear(&list);
}

static void severities(void **state)
{
	assert_string_equal(diag_severity_name(DIAG_NOTICE), "notice");
	assert_string_equal(diag_severity_name(DIAG_WARNING), "warning");
	assert_string_equal(diag_severity_name(DIAG_ERROR), "error");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_that_there_are),
		cmocka_unit_test(many_keep_their_order_and_own_their_text),
		cmocka_unit_test(severities),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
