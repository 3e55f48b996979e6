/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sys/wait.h>

#include "base/number.h"
#include "core/report-metrics.h"
#include "engine.h"
#include "machine.h"

/* A strict reader of Prometheus' text format, as far as the textfile collector takes it. Each returns NULL or what is wrong. */
struct reader {
	char family[128];
	bool has_type, has_sample;
	char **seen_families, **seen_series;
};

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
#define DIGITS "0123456789"

static const char *read_name(const char **s, char *ret, size_t size, bool label)
{
	size_t n = strspn(*s, label ? LETTERS DIGITS : LETTERS DIGITS ":");

	if (n == 0 || n >= size || strspn(*s, DIGITS) > 0)
		return "a name";
	*(char *)mempcpy(ret, *s, n) = '\0';
	*s += n;
	return NULL;
}

static const char *read_quoted(const char **s)
{
	if (*(*s)++ != '"')
		return "no quote";
	for (; **s != '"'; (*s)++) {
		if ((unsigned char)**s < ' ')
			return "a control character in a label";
		if (**s == '\\' && !strchr("\\\"n", *++*s))
			return "an escape";
	}
	(*s)++;
	return NULL;
}

static const char *read_labels(const char **s)
{
	const char *wrong = NULL;
	char name[64];

	do {
		(*s)++;
		wrong = read_name(s, name, sizeof(name), true);
		if (!wrong && *(*s)++ != '=')
			wrong = "no =";
		if (!wrong)
			wrong = read_quoted(s);
	} while (!wrong && **s == ',');
	if (!wrong && *(*s)++ != '}')
		wrong = "no }";
	return wrong;
}

static const char *once(char ***seen, const char *text, size_t size)
{
	char *copy = strndup(text, size);

	assert_non_null(copy);
	if (*seen && strv_contains(*seen, copy)) {
		free(copy);
		return "twice";
	}
	assert_int_equal(strv_push(seen, copy), 0);
	return NULL;
}

static const char *read_sample(struct reader *r, const char *line)
{
	const char *s = line, *wrong, *number;
	char name[128];
	int64_t value;

	wrong = read_name(&s, name, sizeof(name), false);
	if (!wrong && (!r->has_type || !streq(name, r->family)))
		wrong = "a sample outside of its family";
	if (!wrong && *s == '{')
		wrong = read_labels(&s);
	if (!wrong)
		wrong = once(&r->seen_series, line, s - line);
	number = s + 1;
	if (!wrong && (*s != ' ' || strchr(number, ' ') || parse_i64(number, &value) < 0))
		wrong = "a value, or a time after it";
	r->has_sample = true;
	return wrong;
}

static const char *read_head(struct reader *r, const char *line)
{
	const char *s = startswith(line, "# HELP "), *wrong;
	char name[128];

	if (s) {
		if (*r->family && !r->has_sample)
			return "a family without a sample";
		wrong = read_name(&s, r->family, sizeof(r->family), false);
		if (!wrong)
			wrong = once(&r->seen_families, r->family, strlen(r->family));
		r->has_type = r->has_sample = false;
		return wrong ?: (*s == ' ' && s[1] && !strchr(s, '\\') ? NULL : "the help");
	}
	s = startswith(line, "# TYPE ");
	wrong = s ? read_name(&s, name, sizeof(name), false) : "a comment";
	if (!wrong && (r->has_type || r->has_sample || !streq(name, r->family) || !streq(s, " gauge")))
		wrong = "the type";
	r->has_type = true;
	return wrong;
}

static const char *read_metrics(const char *text)
{
	struct reader r = {};
	const char *wrong = endswith(text, "\n") ? NULL : "no newline at the end";
	_cleanup_free_ char *copy = strdup(text);

	for (char *line = copy, *nl; !wrong && (nl = strchr(line, '\n')); line = nl + 1) {
		*nl = '\0';
		wrong = *line == '#' ? read_head(&r, line) : read_sample(&r, line);
	}
	if (!wrong && !r.has_sample)
		wrong = "a family without a sample";
	strv_free(r.seen_families);
	strv_free(r.seen_series);
	return wrong;
}

static void the_reader_is_strict(void **state)
{
#define HEAD "# HELP a b c\n# TYPE a gauge\n"
	static const char *const bad[] = {
		"",
		"a 1\n",
		HEAD,
		HEAD "a 1",
		HEAD "a 1\n\n",
		HEAD "a 1 1700000000\n",
		HEAD "a 1.5x\n",
		HEAD "b 1\n",
		HEAD "a 1\na 2\n",
		HEAD "a{x=\"1\"} 1\na{x=\"1\"} 2\n",
		HEAD "a{x=\"1} 1\n",
		HEAD "a{x=\"\\t\"} 1\n",
		HEAD "a{1x=\"1\"} 1\n",
		HEAD "a 1\n" HEAD "a 2\n",
		"# HELP a b\na 1\n",
		"# TYPE a gauge\na 1\n",
		"# HELP a b\n# TYPE a counter\na 1\n",
		HEAD "a 1\n# EOF\n",
	};

	assert_null(read_metrics(HEAD "a{x=\"1\",y=\"\\\\\\\"\\n\"} -1\na 2\n"));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (!read_metrics(bad[i]))
			fail_msg("taken: %s", bad[i]);
}

/* Prometheus' own, where it is installed: it also knows the conventions for names. */
static void expect_promtool(const char *text)
{
	_cleanup_(temp_dir_donep) struct temp_dir d = temp_dir_make();
	_cleanup_close_ int fd = -EBADF;
	int status;
	pid_t pid;

	if (access("/usr/bin/promtool", X_OK) < 0)
		return;
	temp_dir_write(&d, "mmopt.prom", text);
	fd = openat(d.fd, "mmopt.prom", O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (dup2(fd, STDIN_FILENO) >= 0)
			execl("/usr/bin/promtool", "promtool", "check", "metrics", NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void expect_line(const char *text, const char *line)
{
	_cleanup_free_ char *whole = xasprintf("\n%s\n", line);

	if (!strstr(text, whole))
		fail_msg("no line \"%s\" in:\n%s", line, text);
}

static char *render(struct engine *e, const struct savings *savings, const struct live_state *live)
{
	struct metrics_input in = { e->plan, savings, e->store, live };
	const char *wrong;
	char *text;

	assert_int_equal(metrics_render(&in, &text), 0);
	wrong = read_metrics(text);
	if (wrong)
		fail_msg("%s is wrong in:\n%s", wrong, text);
	expect_promtool(text);
	return text;
}

static void a_machine_after_an_apply(void **state)
{
	static const char policy[] = "[vm]\nswappiness = 10\nvfs_cache_pressure = 50\n"
				     "[hugetlb]\n2M.pages = 512\n2M.node0.pages = 100\n1G.pages = 2\n"
				     "[boot]\ntransparent_hugepage = never\n";
	static struct saving rows[] = {
		{ .mechanism = "hvo", .known = true, .bytes = 7 << 20, .method = SAVING_MEASURED, .in_total = true },
		{ .mechanism = "zram", .known = true, .bytes = 100, .method = SAVING_MEASURED, .in_total = true },
		{ .mechanism = "ksm", .known = false, .in_total = true },
		{ .mechanism = "zram", .known = true, .bytes = -30, .method = SAVING_MEASURED, .in_total = true },
		{ .mechanism = "zram", .known = true, .bytes = 5, .method = SAVING_ESTIMATED, .in_total = true },
		{ .mechanism = "min-free", .known = true, .bytes = 9, .method = SAVING_COMPUTED, .in_total = false },
	};
	struct savings savings = { .rows = rows, .n_rows = ARRAY_SIZE(rows) };
	struct live_state live = { .running = true, .pid = 1, .zero_page_held = true };
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());
	_cleanup_free_ char *text = NULL;

	engine_apply(&e, policy);
	engine_restart(&e);
	fake_kernel_set(e.kernel, VM "swappiness", "77");
	engine_plan(&e, policy);
	assert_int_equal(verify_plan(e.plan, &e.facts, e.io, e.store), 0);
	text = render(&e, &savings, &live);
	expect_line(text, "mmopt_build_info{version=\"" MMOPT_VERSION "\"} 1");
	expect_line(text, "mmopt_config_in_sync 0");
	expect_line(text, "mmopt_policy_valid 1");
	expect_line(text, "mmopt_setting_drift{setting=\"vm.swappiness\"} 1");
	expect_line(text, "mmopt_setting_drift{setting=\"vm.vfs_cache_pressure\"} 0");
	expect_line(text, "mmopt_items{outcome=\"drifted\"} 1");
	expect_line(text, "mmopt_items{outcome=\"skipped\"} 0");
	expect_line(text, "mmopt_hugepages_wanted{size_bytes=\"2097152\"} 512");
	expect_line(text, "mmopt_hugepages_actual{size_bytes=\"2097152\"} 512");
	expect_line(text, "mmopt_saved_bytes{mechanism=\"zram\",method=\"measured\"} 70");
	expect_line(text, "mmopt_saved_bytes{mechanism=\"zram\",method=\"estimated\"} 5");
	expect_line(text, "mmopt_hugetlb_vmemmap_saved_bytes 7340032");
	expect_line(text, "mmopt_huge_zero_page_held 1");
	expect_line(text, "mmopt_unconfirmed 0");
	assert_non_null(strstr(text, "\nmmopt_last_apply_timestamp_seconds 1"));
	assert_null(strstr(text, "ksm"));
	assert_null(strstr(text, "min-free"));
}

static void a_machine_that_nothing_was_done_to(void **state)
{
	struct live_state live = {};
	struct savings savings = {};
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());
	_cleanup_free_ char *text = NULL;

	engine_plan(&e, "");
	text = render(&e, &savings, &live);
	expect_line(text, "mmopt_config_in_sync 1");
	expect_line(text, "mmopt_reboot_required 0");
	assert_null(strstr(text, "last_apply"));
	assert_null(strstr(text, "zero_page"));
	assert_null(strstr(text, "policy_valid"));
}

/* The name of a raw setting comes from a file. */
static void names_from_elsewhere(void **state)
{
	struct live_state live = { .running = true, .pid = 1, .policy_error = (char *)"x" };
	struct savings savings = {};
	_cleanup_(engine_donep) struct engine e = engine_make(machine_new());
	_cleanup_free_ char *text = NULL;

	engine_plan(&e, "[vm]\nswappiness = 10\n");
	free(e.plan->steps[0].id);
	e.plan->steps[0].id = strdup("sysctl.net/a\"b\\c\td\xff\n");
	text = render(&e, &savings, &live);
	assert_non_null(strstr(text, "sysctl.net/a\\\"b\\\\c"));
	expect_line(text, "mmopt_policy_valid 0");
	expect_line(text, "mmopt_huge_zero_page_held 0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_reader_is_strict),
		cmocka_unit_test(a_machine_after_an_apply),
		cmocka_unit_test(a_machine_that_nothing_was_done_to),
		cmocka_unit_test(names_from_elsewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
