/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tests/unit/test.h"

#include "base/strutil.h"
#include "daemon/job-result.h"

static void make_full(struct job_result *r)
{
	*r = (struct job_result){
		.error = -EBADMSG,
		.exit_status = 3,
		.apply_result = APPLY_STUCK,
		.transaction = 7,
		.record = INT64_MAX,
		.changed = true,
		.unconfirmed = true,
		.deadline_sec = UINT32_MAX + 5ULL,
		.pools_grown = true,
		.reboot_required = true,
		.saved_known = true,
		.saved_bytes = -4096,
		.memory_bytes = 1ULL << 40,
		.document_fd = -EBADF,
		.n_transactions_undone = 1,
		.n_values_undone = 2,
		.n_values_foreign = 3,
		.n_values_failed = 4,
	};
	r->items = calloc(2, sizeof(*r->items));
	assert_non_null(r->items);
	r->items[0] = (struct job_item){
		.id = strdup("vm.lowmem_reserve_ratio"),
		.path = strdup("/proc/sys/vm/lowmem_reserve_ratio"),
		.outcome = OUTCOME_DRIFTED,
		.before = strdup("256\t256\t32"),
		.after = strdup("a\\b\nc"),
		.differs = true,
	};
	r->items[1] = (struct job_item){
		.id = strdup("thp.persistent_zero_page"),
		.outcome = OUTCOME_ALREADY,
		.is_share = true,
		.wants_zero_page = true,
	};
	r->n_items = 2;
	diag_add(&r->diags, DIAG_ERROR, "/etc/mmopt/policy.d/a.conf", 12, "vm.x", "a text with \\t, a\ttab and \\0");
	diag_add(&r->diags, DIAG_NOTICE, NULL, 0, NULL, "%s", "");
}

static void assert_text(const char *a, const char *b)
{
	if (a && b)
		assert_string_equal(a, b);
	else
		assert_ptr_equal(a, b);
}

static void round_trip(void **state)
{
	_cleanup_(job_result_clear) struct job_result in = {}, out = {};
	_cleanup_free_ char *text = NULL, *again = NULL;
	size_t size, size_again;

	make_full(&in);
	assert_int_equal(job_result_format(&in, &text, &size), 0);
	assert_int_equal(job_result_parse(text, size, &out), 0);
	assert_int_equal(out.error, in.error);
	assert_int_equal(out.exit_status, 3);
	assert_int_equal(out.apply_result, APPLY_STUCK);
	assert_int_equal(out.transaction, 7);
	assert_true(out.record == INT64_MAX);
	assert_true(out.changed && out.unconfirmed && out.pools_grown && out.reboot_required && out.saved_known);
	assert_true(out.deadline_sec == in.deadline_sec && out.memory_bytes == in.memory_bytes);
	assert_true(out.saved_bytes == -4096);
	assert_int_equal(out.document_fd, -EBADF);
	assert_int_equal(out.n_transactions_undone + 10 * out.n_values_undone + 100 * out.n_values_foreign +
				 1000 * out.n_values_failed,
			 4321);
	assert_int_equal(out.n_items, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_text(out.items[i].id, in.items[i].id);
		assert_text(out.items[i].path, in.items[i].path);
		assert_text(out.items[i].before, in.items[i].before);
		assert_text(out.items[i].after, in.items[i].after);
		assert_int_equal(out.items[i].outcome, in.items[i].outcome);
		assert_int_equal(out.items[i].differs, in.items[i].differs);
		assert_int_equal(out.items[i].is_share, in.items[i].is_share);
		assert_int_equal(out.items[i].wants_zero_page, in.items[i].wants_zero_page);
	}
	assert_int_equal(out.diags.n, 2);
	assert_int_equal(out.diags.n_errors, 1);
	assert_text(out.diags.items[0].file, in.diags.items[0].file);
	assert_int_equal(out.diags.items[0].line, 12);
	assert_text(out.diags.items[0].key, "vm.x");
	assert_text(out.diags.items[0].text, in.diags.items[0].text);
	assert_null(out.diags.items[1].file);
	/* Every member is there: the text of the copy is the same. */
	assert_int_equal(job_result_format(&out, &again, &size_again), 0);
	assert_int_equal(size_again, size);
	assert_memory_equal(again, text, size);
}

/* A child that was killed while it wrote has left a beginning. */
static void each_beginning_is_refused(void **state)
{
	_cleanup_(job_result_clear) struct job_result in = {};
	_cleanup_free_ char *text = NULL;
	size_t size;

	make_full(&in);
	assert_int_equal(job_result_format(&in, &text, &size), 0);
	for (size_t i = 0; i < size; i++) {
		_cleanup_(job_result_clear) struct job_result out = {};

		assert_int_equal(job_result_parse(text, i, &out), -EBADMSG);
		assert_int_equal(out.n_items, 0);
	}
}

static void nonsense_is_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"whole",
		"what\nwhole\n",
		"end\t0\t0\nwhole\n",
		"end\t0\tx\t0\nwhole\n",
		"end\t0\t0\t0\t0\nwhole\n",
		"item\t0\t0\t0\t0\t\\0\t\\0\t\\0\t\\0\nwhole\n",
		"item\t0\t0\t0\t0\ta\\x\t\\0\t\\0\t\\0\nwhole\n",
		"item\t0\t0\t0\t0\ta\\",
		"diag\t0\t0\ta\tb\nwhole\n",
		"1\t2\t3\t4\t5\t6\t7\t8\t9\t10\t11\t12\nwhole\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		_cleanup_(job_result_clear) struct job_result out = {};

		assert_int_equal(job_result_parse(texts[i], strlen(texts[i]), &out), -EBADMSG);
	}
}

static void requests_that_may_share_an_answer(void **state)
{
	struct job_request status = { .kind = JOB_DESCRIBE, .view = VIEW_STATUS, .width = 80 };
	struct job_request explain = { .kind = JOB_DESCRIBE, .view = VIEW_EXPLAIN, .id = (char *)"vm.swappiness" };
	struct job_request apply = { .kind = JOB_APPLY };
	struct job_request other;

	assert_true(job_request_equal(&status, &status));
	other = status;
	other.width = 81;
	assert_false(job_request_equal(&status, &other));
	other = status;
	other.colour = true;
	assert_false(job_request_equal(&status, &other));
	other = explain;
	other.id = (char *)"vm.laptop_mode";
	assert_false(job_request_equal(&explain, &other));
	other.id = NULL;
	assert_false(job_request_equal(&explain, &other));
	/* Who asks twice to apply gets two applications. */
	assert_false(job_request_equal(&apply, &apply));
}

static void a_copy_is_its_own(void **state)
{
	char *only[] = { (char *)"a", (char *)"b", NULL };
	struct job_request request = { .kind = JOB_REAPPLY, .id = (char *)"x", .only = only, .confirm_within_sec = 5 };
	_cleanup_(job_request_clear) struct job_request copy = {};

	assert_int_equal(job_request_copy(&request, &copy), 0);
	assert_ptr_not_equal(copy.id, request.id);
	assert_string_equal(copy.id, "x");
	assert_int_equal(strv_length(copy.only), 2);
	assert_string_equal(copy.only[1], "b");
	assert_int_equal(copy.confirm_within_sec, 5);
}

static void names(void **state)
{
	enum job_view view;
	enum job_format format;

	for (int i = VIEW_STATUS; i <= VIEW_METRICS; i++) {
		assert_int_equal(job_view_from_name(job_view_name((enum job_view)i), &view), 0);
		assert_int_equal(view, i);
	}
	assert_int_equal(job_view_from_name("Status", &view), -EINVAL);
	assert_int_equal(job_format_from_name("json-pretty", &format), 0);
	assert_int_equal(format, FORMAT_JSON_PRETTY);
	assert_int_equal(job_format_from_name("", &format), -EINVAL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trip),	       cmocka_unit_test(each_beginning_is_refused),
		cmocka_unit_test(nonsense_is_refused), cmocka_unit_test(requests_that_may_share_an_answer),
		cmocka_unit_test(a_copy_is_its_own),   cmocka_unit_test(names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
