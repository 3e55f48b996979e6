/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "test.h"

#include <json-c/json.h>
#include <locale.h>

#include "core/report-safe.h"
#include "core/report-step.h"
#include "core/report-views.h"
#include "core/report.h"

enum {
	COLUMN_NAME,
	COLUMN_SIZE,
	COLUMN_REMARK,
	COLUMN_SECRET,
	_COLUMN_MAX,
};

static const struct column columns[_COLUMN_MAX] = {
	[COLUMN_NAME] = { "name", "NAME", COLUMN_OUTCOME },
	[COLUMN_SIZE] = { "size_bytes", "SIZE", COLUMN_RIGHT },
	[COLUMN_REMARK] = { "remark", "REMARK", COLUMN_WRAP },
	[COLUMN_SECRET] = { "secret", "SECRET", COLUMN_JSON_ONLY },
};

static char *render_text(const struct report *r, bool colour, unsigned width)
{
	struct report_text_options options = { .colour = colour, .width = width };
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	assert_int_equal(report_render_text(r, &options, f), 0);
	assert_int_equal(fclose(f), 0);
	return text;
}

static char *render_json(const struct report *r, enum report_json style)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	assert_int_equal(report_render_json(r, style, f), 0);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(strlen(text), size);
	return text;
}

/* The only document there is in text. */
static struct json_object *parse(const char *text)
{
	struct json_tokener *tokener = json_tokener_new_ex(32);
	struct json_object *o;

	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	assert_true(endswith(text, "}\n"));
	o = json_tokener_parse_ex(tokener, text, (int)strlen(text));
	assert_int_equal(json_tokener_get_error(tokener), json_tokener_success);
	assert_int_equal(json_tokener_get_parse_end(tokener), strlen(text));
	json_tokener_free(tokener);
	assert_non_null(o);
	return o;
}

static struct json_object *member(struct json_object *o, const char *name)
{
	struct json_object *value = NULL;

	assert_true(json_object_object_get_ex(o, name, &value));
	return value;
}

static struct report *two_rows(void)
{
	struct report *r = report_new("sample");
	struct report_table *t = report_add_table(r, "things", "Things", columns, _COLUMN_MAX);

	report_row(t);
	report_cell_text(t, COLUMN_NAME, "applied");
	report_cell_bytes(t, COLUMN_SIZE, 14680064);
	report_cell_text(t, COLUMN_SECRET, "s");
	report_row(t);
	report_cell_text(t, COLUMN_NAME, "refused");
	report_cell_bytes(t, COLUMN_SIZE, -4096);
	report_cell_text(t, COLUMN_REMARK, "one two three four five six seven eight nine ten eleven twelve");
	return r;
}

static void json_has_head_and_diagnostics(void **state)
{
	_cleanup_(report_freep) struct report *r = report_new("sample");
	_cleanup_free_ char *text = NULL;
	struct json_object *o;

	report_verdict(r, 2, "differs");
	text = render_json(r, REPORT_JSON_SHORT);
	o = parse(text);
	assert_int_equal(json_object_get_int(member(o, "schema")), 1);
	assert_string_equal(json_object_get_string(member(o, "view")), "sample");
	assert_string_equal(json_object_get_string(member(o, "version")), MMOPT_VERSION);
	assert_int_equal(json_object_get_int(member(o, "exit_status")), 2);
	assert_string_equal(json_object_get_string(member(o, "verdict")), "differs");
	assert_int_equal(json_object_array_length(member(o, "diagnostics")), 0);
	json_object_put(o);
	/* Short is one line. */
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
}

static void json_numbers_are_exact(void **state)
{
	_cleanup_(report_freep) struct report *r = report_new("sample");
	_cleanup_free_ char *text = NULL;
	struct json_object *o;

	report_bytes(r, "most_bytes", "Most", INT64_MAX);
	report_bytes(r, "least_bytes", "Least", INT64_MIN);
	report_number(r, "odd", "Odd", 9007199254740993);
	report_text(r, "nothing", "Nothing", NULL);
	report_boolean(r, "yes", "Yes", true);
	report_time(r, "time", "Time", 1700000000);
	text = render_json(r, REPORT_JSON_PRETTY);
	assert_non_null(strstr(text, "9223372036854775807"));
	assert_non_null(strstr(text, "-9223372036854775808"));
	assert_non_null(strstr(text, "9007199254740993"));
	o = parse(text);
	assert_null(member(o, "nothing"));
	assert_true(json_object_is_type(member(o, "yes"), json_type_boolean));
	assert_string_equal(json_object_get_string(member(o, "time")), "2023-11-14T22:13:20Z");
	json_object_put(o);
}

static void json_tables_are_objects(void **state)
{
	_cleanup_(report_freep) struct report *r = two_rows();
	_cleanup_free_ char *text = render_json(r, REPORT_JSON_SHORT);
	struct json_object *o = parse(text), *rows = member(o, "things"), *row;

	assert_int_equal(json_object_array_length(rows), 2);
	row = json_object_array_get_idx(rows, 0);
	assert_int_equal(json_object_get_int64(member(row, "size_bytes")), 14680064);
	assert_null(member(row, "remark"));
	assert_string_equal(json_object_get_string(member(row, "secret")), "s");
	json_object_put(o);
}

static void json_is_utf8_whatever_comes_in(void **state)
{
	static const char *const bad[] = {
		"\xff",
		"a\xc3",
		"\xc0\xaf",
		"\xed\xa0\x80",
		"\xf4\x90\x80\x80",
		"ok \xe2\x82 more",
		"\xf8\x88\x80\x80\x80",
		"\x80",
	};
	_cleanup_(report_freep) struct report *r = report_new("sample");
	_cleanup_(diag_list_clear) struct diag_list diags = {};
	_cleanup_free_ char *text = NULL;
	struct json_object *o;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		char name[8];

		snprintf(name, sizeof(name), "t%zu", i);
		report_text(r, name, NULL, bad[i]);
	}
	report_text(r, "good", NULL, "\xc3\xa4 \xf0\x9f\x90\xa7 \"\\\n\x1b");
	diag_add(&diags, DIAG_WARNING, "/etc/\xfe.conf", 3, "vm.x", "odd %s", "\xfd");
	report_diags(r, &diags);
	text = render_json(r, REPORT_JSON_SHORT);
	o = parse(text);
	assert_string_equal(json_object_get_string(member(o, "t0")), "\xef\xbf\xbd");
	assert_string_equal(json_object_get_string(member(o, "t1")), "a\xef\xbf\xbd");
	assert_string_equal(json_object_get_string(member(o, "good")), "\xc3\xa4 \xf0\x9f\x90\xa7 \"\\\n\x1b");
	o = (json_object_put(o), parse(text));
	assert_string_equal(
		json_object_get_string(member(json_object_array_get_idx(member(o, "diagnostics"), 0), "file")),
		"/etc/\xef\xbf\xbd.conf");
	json_object_put(o);
}

static void json_diagnostics_keep_their_parts(void **state)
{
	_cleanup_(report_freep) struct report *r = report_new("sample");
	_cleanup_(diag_list_clear) struct diag_list diags = {};
	_cleanup_free_ char *text = NULL;
	struct json_object *o, *d;

	diag_add(&diags, DIAG_ERROR, "/etc/a.conf", 7, "vm.swapiness", "unknown");
	diag_add(&diags, DIAG_NOTICE, NULL, 0, NULL, "by the way");
	report_diags(r, &diags);
	text = render_json(r, REPORT_JSON_SHORT);
	o = parse(text);
	d = json_object_array_get_idx(member(o, "diagnostics"), 0);
	assert_string_equal(json_object_get_string(member(d, "severity")), "error");
	assert_int_equal(json_object_get_int(member(d, "line")), 7);
	assert_string_equal(json_object_get_string(member(d, "key")), "vm.swapiness");
	d = json_object_array_get_idx(member(o, "diagnostics"), 1);
	assert_null(member(d, "file"));
	assert_null(member(d, "line"));
	json_object_put(o);
}

static void text_is_a_compact_table(void **state)
{
	_cleanup_(report_freep) struct report *r = two_rows();
	_cleanup_free_ char *text = NULL;

	report_line(r, "%d in all", 2);
	text = render_text(r, false, 0);
	assert_string_equal(text, "Things\n"
				  "NAME        SIZE REMARK\n"
				  "applied 14.0 MiB -\n"
				  "refused -4.0 KiB one two three four five six seven eight nine ten eleven twelve\n"
				  "\n"
				  "2 in all\n");
}

static void text_fields_stand_below_each_other(void **state)
{
	_cleanup_(report_freep) struct report *r = report_new("sample");
	_cleanup_free_ char *text = NULL;

	report_text(r, "state", "State", "in-sync");
	report_bytes(r, "saved_bytes", "Memory saved", 512);
	report_number(r, "hidden", NULL, 3);
	report_text_only(r, "Extra", "x");
	report_text(r, "none", "None", NULL);
	text = render_text(r, false, 0);
	assert_string_equal(text, "       State: in-sync\n"
				  "Memory saved: 512 B\n"
				  "       Extra: x\n"
				  "        None: -\n");
}

static void text_wraps_at_words_on_a_terminal_only(void **state)
{
	_cleanup_(report_freep) struct report *r = two_rows();
	_cleanup_free_ char *text = render_text(r, false, 50);
	char *save, *line;
	size_t n = 0;

	assert_non_null(strstr(text, "one two three four five six"));
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save), n++) {
		assert_true(strlen(line) <= 50);
		/* No word is torn. */
		assert_true(!endswith(line, "twel") && !endswith(line, "elev"));
	}
	assert_int_equal(n, 6);
}

enum {
	WIDE_ID,
	WIDE_NOW,
	WIDE_WANTED,
	WIDE_FROM,
	WIDE_REASON,
	_WIDE_MAX,
};

static const struct column wide_columns[_WIDE_MAX] = {
	[WIDE_ID] = { "id", "TUNABLE", 0 },
	[WIDE_NOW] = { "now", "NOW", 0 },
	[WIDE_WANTED] = { "wanted", "WANTED", 0 },
	[WIDE_FROM] = { "from", "FROM", COLUMN_DROPPABLE },
	[WIDE_REASON] = { "reason", "REASON", COLUMN_WRAP },
};

static struct report *wide_rows(void)
{
	struct report *r = report_new("sample");
	struct report_table *t = report_add_table(r, "things", NULL, wide_columns, _WIDE_MAX);

	report_row(t);
	report_cell_text(t, WIDE_ID, "vm.hugetlb_optimize_vmemmap");
	report_cell_text(t, WIDE_NOW, "1");
	report_cell_text(t, WIDE_WANTED, "1234567890");
	report_cell_text(t, WIDE_FROM, "50-guest.conf:10");
	report_cell_text(t, WIDE_REASON, "a kernel that is older than 6.12, which brought it, and so it is not there");
	report_row(t);
	report_cell_text(t, WIDE_ID, "vm.swappiness");
	report_cell_text(t, WIDE_NOW, "60");
	report_cell_text(t, WIDE_WANTED, "10");
	report_cell_text(t, WIDE_FROM, "50-guest.conf:11");
	return r;
}

static void text_on_a_narrow_terminal_has_the_reason_below(void **state)
{
	_cleanup_(report_freep) struct report *r = wide_rows();
	_cleanup_free_ char *text = render_text(r, false, 60);

	/* Without REASON beside it there is room for FROM again: 27 + 3 + 10 + 16 and the blanks. */
	assert_string_equal(text, "TUNABLE                     NOW WANTED     FROM\n"
				  "vm.hugetlb_optimize_vmemmap 1   1234567890 50-guest.conf:10\n"
				  "    a kernel that is older than 6.12, which brought it, and\n"
				  "    so it is not there\n"
				  "vm.swappiness               60  10         50-guest.conf:11\n");
}

static void text_drops_the_least_important_first(void **state)
{
	_cleanup_(report_freep) struct report *r = wide_rows();
	_cleanup_free_ char *text = render_text(r, false, 78), *whole = render_text(r, false, 0);

	assert_null(strstr(text, "FROM"));
	assert_non_null(strstr(text, "REASON"));
	assert_non_null(strstr(whole, "FROM"));
	for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
		assert_true(strcspn(line, "\n") <= 78);
	free(TAKE_PTR(text));
	text = render_text(r, false, 80);
	assert_non_null(strstr(text, "FROM"));
	for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
		assert_true(strcspn(line, "\n") <= 80);
}

static void text_fields_wrap_with_a_hanging_indent(void **state)
{
	_cleanup_(report_freep) struct report *r = report_new("sample");
	_cleanup_free_ char *text = NULL, *whole = NULL;

	report_text(r, "a", "What for", "one two three four five six seven eight nine ten eleven twelve");
	text = render_text(r, false, 60);
	assert_string_equal(text, "What for: one two three four five six seven eight nine ten\n"
				  "          eleven twelve\n");
	whole = render_text(r, false, 0);
	assert_string_equal(whole, "What for: one two three four five six seven eight nine ten eleven twelve\n");
}

static void text_is_coloured_only_if_asked(void **state)
{
	_cleanup_(report_freep) struct report *r = two_rows();
	_cleanup_free_ char *plain = render_text(r, false, 80), *coloured = render_text(r, true, 80);

	assert_null(strchr(plain, '\033'));
	assert_non_null(strchr(coloured, '\033'));
}

static void text_hides_empty_columns_and_right_rows(void **state)
{
	_cleanup_(report_freep) struct report *r = report_new("sample");
	struct report_table *t = report_add_table(r, "things", NULL, columns, _COLUMN_MAX);
	_cleanup_free_ char *text = NULL, *json = NULL;
	struct json_object *o;

	report_row(t);
	report_cell_text(t, COLUMN_NAME, "shown");
	report_row(t);
	report_row_json_only(t);
	report_cell_text(t, COLUMN_NAME, "not shown");
	report_cell_bytes(t, COLUMN_SIZE, 1);
	text = render_text(r, false, 0);
	assert_string_equal(text, "NAME\nshown\n");
	json = render_json(r, REPORT_JSON_SHORT);
	o = parse(json);
	assert_int_equal(json_object_array_length(member(o, "things")), 2);
	json_object_put(o);
}

static void text_cannot_steer_the_terminal(void **state)
{
	_cleanup_(report_freep) struct report *r = report_new("sample");
	struct report_table *t = report_add_table(r, "things", NULL, columns, _COLUMN_MAX);
	_cleanup_free_ char *text = NULL;

	report_row(t);
	report_cell_text(t, COLUMN_NAME, "a\033[2Jb");
	report_cell_text(t, COLUMN_REMARK, "c\nd\xc2\x9b");
	report_line(r, "%s", "e\033f");
	report_text(r, "field", "Field", "g\rh");
	text = render_text(r, false, 40);
	for (const char *p = text; *p; p++)
		assert_true(*p == '\n' || (*p >= ' ' && *p < 0x7f));
	assert_non_null(strstr(text, "a\\x1b[2Jb"));
	assert_non_null(strstr(text, "g\\x0dh"));
}

/* Case 27: no locale that is installed changes a byte of JSON; this is about the renderers, tests/cli is about the program. */
static void case_27_locale_changes_nothing(void **state)
{
	static const char *const locales[] = { "de_DE.UTF-8", "tr_TR.UTF-8", "C.UTF-8", "C" };
	_cleanup_(report_freep) struct report *r = two_rows();
	_cleanup_free_ char *first = NULL;

	report_number(r, "many", "Many", 1234567);
	for (size_t i = 0; i < ARRAY_SIZE(locales); i++) {
		_cleanup_free_ char *text = NULL;

		if (!setlocale(LC_ALL, locales[i]))
			continue;
		text = render_json(r, REPORT_JSON_SHORT);
		if (!first)
			first = TAKE_PTR(text);
		else
			assert_string_equal(text, first);
	}
	setlocale(LC_ALL, "C");
	assert_non_null(first);
	assert_non_null(strstr(first, "1234567"));
}

static void adding_to_null_is_fine(void **state)
{
	struct report_table *t = report_add_table(NULL, "things", NULL, columns, _COLUMN_MAX);

	assert_null(t);
	report_row(t);
	report_cell_text(t, 0, "x");
	report_line(NULL, "x");
	report_text(NULL, "a", "b", "c");
	report_verdict(NULL, 0, "known");
	assert_true(report_failed(NULL));
	report_free(NULL);
}

/* What mmoptd said before the wait, made what the engine here says after it. */
static void json_is_amended_in_place(void **state)
{
	static const char *const broken[] = { "", "[]", "{", "{\"diagnostics\":1}", "no JSON" };
	struct diag_list diags = {};
	struct report_amendment a = { .exit_status = 1, .verdict = "not-confirmed", .diags = &diags };
	struct report *before = report_new("apply"), *after = report_new("apply");
	char *was, *wanted, *got;

	diag_error(&diags, -ECANCELED, "interrupted");
	report_text(before, "refused", NULL, "/a\xc3\xa4");
	report_text(after, "refused", NULL, "/a\xc3\xa4");
	report_boolean(before, "confirmed", NULL, true);
	report_boolean(after, "confirmed", NULL, false);
	report_verdict(before, 0, "done");
	report_verdict(after, 1, "not-confirmed");
	report_diags(after, &diags);
	for (int style = REPORT_JSON_SHORT; style <= REPORT_JSON_PRETTY; style++) {
		was = render_json(before, (enum report_json)style);
		wanted = render_json(after, (enum report_json)style);
		assert_int_equal(report_json_amend(was, (enum report_json)style, &a, &got), 0);
		assert_string_equal(got, wanted);
		free(was);
		free(wanted);
		free(got);
	}
	for (size_t i = 0; i < ARRAY_SIZE(broken); i++)
		assert_int_equal(report_json_amend(broken[i], REPORT_JSON_SHORT, &a, &got), -EBADMSG);
	report_free(before);
	report_free(after);
	diag_list_clear(&diags);
}

static void stream_errors_are_told(void **state)
{
	_cleanup_(report_freep) struct report *r = two_rows();
	struct report_text_options options = {};
	FILE *f = fopen("/dev/full", "w");

	assert_non_null(f);
	assert_int_equal(report_render_json(r, REPORT_JSON_SHORT, f), -ENOSPC);
	clearerr(f);
	assert_int_equal(report_render_text(r, &options, f), -ENOSPC);
	fclose(f);
}

static void printable_and_clean(void **state)
{
	_cleanup_free_ char *a = text_printable("\xc3\xa4\x07\xff", false), *b = text_printable("\xc3\xa4", true),
			    *c = text_clean_utf8("a\xe2\x82z"), *d = text_printable("x\xe2\x80\xaey", false);

	assert_string_equal(a, "\xc3\xa4\\x07\\xff");
	assert_string_equal(b, "\\xc3\\xa4");
	assert_string_equal(c, "a\xef\xbf\xbd\xef\xbf\xbdz");
	assert_string_equal(d, "x\\xe2\\x80\\xaey");
	assert_int_equal(text_length("\xc3\xa4\xff"
				     "b"),
			 3);
	assert_true(text_valid_utf8("\xf0\x9f\x90\xa7"));
	assert_false(text_valid_utf8("\xf0\x9f\x90"));
}

static struct tunable sample_row(enum value_unit unit)
{
	return (struct tunable){ .id = "vm.sample", .scope = SCOPE_RUNTIME, .kind = VALUE_INTEGER, .unit = unit };
}

static void plan_says_what_is_to_be_done(void **state)
{
	static char id[] = "vm.sample", current[] = "67584", wanted[] = "262144";
	struct tunable row = sample_row(UNIT_KIB);
	struct step steps[] = {
		{ .id = id,
		  .ref = { .tunable = &row, .node = -1 },
		  .current = current,
		  .wanted = wanted,
		  .differs = true,
		  .relation = RELATION_AT_LEAST,
		  .file = "/etc/mmopt/policy.d/50-x.conf",
		  .line = 7,
		  .cost_bytes = 1048576 },
		{ .id = id, .ref = { .tunable = &row, .node = -1 }, .action = STEP_KEEP, .outcome = OUTCOME_ALREADY },
		{ .id = id,
		  .ref = { .tunable = &row, .node = -1 },
		  .action = STEP_REFUSE,
		  .outcome = OUTCOME_UNSUPPORTED },
		{ .id = id,
		  .ref = { .tunable = &row, .node = -1 },
		  .action = STEP_KEEP,
		  .outcome = OUTCOME_PENDING_REBOOT },
		{ .id = id,
		  .ref = { .tunable = &row, .node = -1 },
		  .action = STEP_KEEP,
		  .outcome = OUTCOME_PENDING_REBOOT },
	};
	struct plan plan = { .steps = steps, .n_steps = ARRAY_SIZE(steps) };
	_cleanup_free_ char *summary = plan_summary(&plan), *text = NULL;
	_cleanup_(report_freep) struct report *r = report_plan(&plan);

	assert_string_equal(summary, "1 to change, 1 already right, 1 unsupported, 2 wait for a reboot");
	assert_int_equal(report_exit_status(r), 2);
	text = render_text(r, false, 0);
	assert_non_null(strstr(text, "67584 KiB"));
	assert_non_null(strstr(text, ">= 262144 KiB"));
	assert_non_null(strstr(text, "50-x.conf:7"));
	assert_non_null(strstr(text, "1.0 MiB"));
}

static void apply_has_its_exit_status(void **state)
{
	static const struct {
		enum apply_result result;
		int exit_status;
	} expected[] = { { APPLY_DONE, 0 }, { APPLY_PARTLY, 3 }, { APPLY_UNDONE, 1 }, { APPLY_STUCK, 1 } };
	struct plan plan = {};

	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		_cleanup_(report_freep) struct report *r = report_apply(&plan, expected[i].result, NULL, NULL);

		assert_int_equal(report_exit_status(r), expected[i].exit_status);
	}
}

static void restore_shows_what_others_set(void **state)
{
	static char id[] = "vm.swappiness", path[] = "/proc/sys/vm/swappiness", from[] = "30", to[] = "60",
		    reason[] = "now 30, set by someone else: left";
	struct restore_item item = {
		.id = id, .path = path, .from = from, .to = to, .outcome = RESTORE_FOREIGN, .reason = reason
	};
	struct restore restore = { .items = &item, .n_items = 1, .n_transactions = 1, .n_foreign = 1 };
	_cleanup_(report_freep) struct report *r = report_restore("rollback", &restore);
	_cleanup_free_ char *text = render_text(r, false, 0);

	assert_int_equal(report_exit_status(r), 0);
	assert_non_null(strstr(text, "now 30, set by someone else: left"));
	assert_non_null(strstr(text, "1 left to others"));
}

static void unknown_savings_are_null(void **state)
{
	static char off[] = "KSM is off";
	struct saving rows[] = {
		{ .mechanism = "ksm", .reason = off },
		{ .mechanism = "hvo", .known = true, .bytes = -4096, .in_total = true, .method = SAVING_MEASURED },
	};
	struct savings savings = { .rows = rows, .n_rows = 2, .total_known = true, .total_bytes = -4096 };
	_cleanup_(report_freep) struct report *r = report_savings(&savings);
	_cleanup_free_ char *json = render_json(r, REPORT_JSON_SHORT), *text = render_text(r, false, 0);
	struct json_object *o = parse(json), *list = member(o, "savings");

	assert_null(member(json_object_array_get_idx(list, 0), "saved_bytes"));
	assert_null(member(json_object_array_get_idx(list, 0), "method"));
	assert_int_equal(json_object_get_int64(member(json_object_array_get_idx(list, 1), "saved_bytes")), -4096);
	assert_int_equal(json_object_get_int64(member(o, "total_saved_bytes")), -4096);
	json_object_put(o);
	assert_non_null(strstr(text, "-4.0 KiB"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_has_head_and_diagnostics),
		cmocka_unit_test(json_numbers_are_exact),
		cmocka_unit_test(json_tables_are_objects),
		cmocka_unit_test(json_is_utf8_whatever_comes_in),
		cmocka_unit_test(json_diagnostics_keep_their_parts),
		cmocka_unit_test(text_is_a_compact_table),
		cmocka_unit_test(text_fields_stand_below_each_other),
		cmocka_unit_test(text_wraps_at_words_on_a_terminal_only),
		cmocka_unit_test(text_on_a_narrow_terminal_has_the_reason_below),
		cmocka_unit_test(text_drops_the_least_important_first),
		cmocka_unit_test(text_fields_wrap_with_a_hanging_indent),
		cmocka_unit_test(text_is_coloured_only_if_asked),
		cmocka_unit_test(text_hides_empty_columns_and_right_rows),
		cmocka_unit_test(text_cannot_steer_the_terminal),
		cmocka_unit_test(case_27_locale_changes_nothing),
		cmocka_unit_test(adding_to_null_is_fine),
		cmocka_unit_test(json_is_amended_in_place),
		cmocka_unit_test(stream_errors_are_told),
		cmocka_unit_test(printable_and_clean),
		cmocka_unit_test(plan_says_what_is_to_be_done),
		cmocka_unit_test(apply_has_its_exit_status),
		cmocka_unit_test(restore_shows_what_others_set),
		cmocka_unit_test(unknown_savings_are_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
