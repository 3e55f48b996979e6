/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/manager-conf.h"
#include "tests/unit/temp-dir.h"

#define ETC "etc/mmopt/"
#define RUN "run/mmopt/"
#define LOCAL "usr/local/lib/mmopt/"
#define USR "usr/lib/mmopt/"

#define _cleanup_temp_dir_ _cleanup_(temp_dir_donep)

struct loaded {
	struct manager_conf conf;
	struct diag_list diags;
};

static void loaded_done(struct loaded *l)
{
	manager_conf_clear(&l->conf);
	diag_list_clear(&l->diags);
}

#define _cleanup_loaded_ _cleanup_(loaded_done)

static struct loaded load(const struct temp_dir *d)
{
	struct loaded l = { 0 };

	assert_int_equal(manager_conf_load(d->fd, &l.diags, &l.conf), 0);
	return l;
}

static struct loaded parse(const char *text)
{
	struct loaded l = { 0 };

	manager_conf_defaults(&l.conf);
	assert_int_equal(manager_conf_parse("t", text, strlen(text), &l.diags, &l.conf), 0);
	return l;
}

/* All messages, one a line, and each of them a warning. */
static void messages_are(const struct loaded *l, const char *want)
{
	_cleanup_free_ char *all = strdup("");

	for (size_t i = 0; i < l->diags.n; i++) {
		_cleanup_free_ char *line = diag_format(&l->diags.items[i]);
		char *more = xasprintf("%s%s\n", all, line);

		assert_int_equal(l->diags.items[i].severity, DIAG_WARNING);
		assert_non_null(more);
		free(all);
		all = more;
	}
	assert_string_equal(all, want);
}

static void is_default(const struct manager_conf *c)
{
	assert_int_equal(c->on_drift, ON_CHANGE_REPORT);
	assert_int_equal(c->on_policy_change, ON_CHANGE_REPORT);
	assert_int_equal(c->on_memory_change, ON_CHANGE_APPLY);
	assert_int_equal(c->drift_interval_usec, 3600000000);
	assert_int_equal(c->memory_settle_usec, 5000000);
	assert_int_equal(c->guard_permyriad, 0);
	assert_int_equal(c->guard_usec, 60000000);
	assert_null(c->textfile_directory);
	assert_false(c->reboot_required_file);
}

static void nothing_said_is_the_default(void **state)
{
	_cleanup_temp_dir_ struct temp_dir d = temp_dir_make();
	_cleanup_loaded_ struct loaded l = load(&d);

	is_default(&l.conf);
	messages_are(&l, "");
}

static void each_key_counts(void **state)
{
	_cleanup_loaded_ struct loaded l = parse("[Manager]\n"
						 "OnDrift = reapply\n"
						 "OnPolicyChange = apply\n"
						 "OnMemoryChange = report\n"
						 "DriftInterval = 1h30min\n"
						 "MemorySettleTime = 500ms\n"
						 "GuardAfterApply = 12.5%\n"
						 "GuardTime = 90\n"
						 "TextfileDirectory = /var/lib/x..y\n"
						 "RebootRequiredFile = yes\n");

	messages_are(&l, "");
	assert_int_equal(l.conf.on_drift, ON_CHANGE_APPLY);
	assert_int_equal(l.conf.on_policy_change, ON_CHANGE_APPLY);
	assert_int_equal(l.conf.on_memory_change, ON_CHANGE_REPORT);
	assert_int_equal(l.conf.drift_interval_usec, 5400000000);
	assert_int_equal(l.conf.memory_settle_usec, 500000);
	assert_int_equal(l.conf.guard_permyriad, 1250);
	assert_int_equal(l.conf.guard_usec, 90000000);
	assert_string_equal(l.conf.textfile_directory, "/var/lib/x..y");
	assert_true(l.conf.reboot_required_file);
}

static void off_and_none_take_it_back(void **state)
{
	_cleanup_temp_dir_ struct temp_dir d = temp_dir_make();
	_cleanup_loaded_ struct loaded l = { 0 };

	temp_dir_write(&d, ETC "mmoptd.conf",
		       "[Manager]\nTextfileDirectory=/x\nGuardAfterApply=20%\nRebootRequiredFile=1\n");
	temp_dir_write(
		&d, ETC "mmoptd.conf.d/10.conf",
		"[Manager]\nTextfileDirectory=none\nGuardAfterApply=off\nRebootRequiredFile=off\nDriftInterval=off\n");
	l = load(&d);
	messages_are(&l, "");
	assert_null(l.conf.textfile_directory);
	assert_int_equal(l.conf.guard_permyriad, 0);
	assert_int_equal(l.conf.drift_interval_usec, 0);
	assert_false(l.conf.reboot_required_file);
}

static void a_mistake_costs_its_line_only(void **state)
{
	_cleanup_loaded_ struct loaded l = parse("OnDrift = reapply\n"
						 "[Manger]\n"
						 "OnDrift = reapply\n"
						 "[Manager]\n"
						 "OnDrfit = reapply\n"
						 "Colour = blue\n"
						 "OnDrift = apply\n"
						 "OnPolicyChange = reapply\n"
						 "DriftInterval = 1ms\n"
						 "MemorySettleTime = soon\n"
						 "GuardAfterApply = 20\n"
						 "GuardTime =\n"
						 "TextfileDirectory = metrics\n"
						 "TextfileDirectory = /a/../b\n"
						 "RebootRequiredFile = perhaps\n"
						 "OnMemoryChange = report\n");

	messages_are(
		&l,
		"t:1: OnDrift: stands before the section [Manager]; this line does not count\n"
		"t:2: there is no section [Manger] here, only [Manager]; what stands in it does not count\n"
		"t:5: OnDrfit: there is no such setting, did you mean \"OnDrift\"?; this line does not count\n"
		"t:6: Colour: there is no such setting; this line does not count\n"
		"t:7: OnDrift: \"apply\" is not report or reapply; this line does not count\n"
		"t:8: OnPolicyChange: \"reapply\" is not report or apply; this line does not count\n"
		"t:9: DriftInterval: \"1ms\" is not off or a time from 10s to 7d, such as 1h; this line does not count\n"
		"t:10: MemorySettleTime: \"soon\" is not a time from 100ms to 1h, such as 5s; this line does not count\n"
		"t:11: GuardAfterApply: \"20\" is not off or a share of time from 1% to 99%, such as 20%; this line does not count\n"
		"t:12: no value after the \"=\" of \"GuardTime\"; this line does not count\n"
		"t:13: TextfileDirectory: \"metrics\" is not none or an absolute path without \"..\"; this line does not count\n"
		"t:14: TextfileDirectory: stands in line 13 already; the later one counts\n"
		"t:14: TextfileDirectory: \"/a/../b\" is not none or an absolute path without \"..\"; this line does not count\n"
		"t:15: RebootRequiredFile: \"perhaps\" is not yes or no; this line does not count\n");
	assert_int_equal(l.conf.on_memory_change, ON_CHANGE_REPORT);
	l.conf.on_memory_change = ON_CHANGE_APPLY;
	is_default(&l.conf);
}

static void limits_of_times_and_shares(void **state)
{
	static const char *const good[] = {
		"DriftInterval=10s",   "DriftInterval=7d", "MemorySettleTime=100ms", "MemorySettleTime=1h",
		"GuardAfterApply=1%",  "GuardTime=2",	   "GuardAfterApply=99%",    "GuardTime=1d",
		"GuardAfterApply=off", "DriftInterval=0",
	};
	static const char *const bad[] = {
		"DriftInterval=9s",    "DriftInterval=8d",	"MemorySettleTime=99ms", "MemorySettleTime=61min",
		"GuardAfterApply=0%",  "GuardTime=1999ms",	"GuardAfterApply=100%",	 "GuardTime=25h",
		"MemorySettleTime=no", "GuardAfterApply=0.99%", "DriftInterval=1 %",
	};

	for (size_t i = 0; i < ARRAY_SIZE(good) + ARRAY_SIZE(bad); i++) {
		bool is_good = i < ARRAY_SIZE(good);
		_cleanup_free_ char *text = xasprintf("[Manager]\n%s\n", is_good ? good[i] : bad[i - ARRAY_SIZE(good)]);
		_cleanup_loaded_ struct loaded l = parse(text);

		if ((l.diags.n == 0) != is_good)
			fail_msg("%s: %zu messages", text, l.diags.n);
	}
}

static void main_file_is_the_first_that_is_there(void **state)
{
	_cleanup_temp_dir_ struct temp_dir d = temp_dir_make();
	_cleanup_loaded_ struct loaded vendor = { 0 }, local = { 0 }, run = { 0 }, etc = { 0 };

	temp_dir_write(&d, USR "mmoptd.conf", "[Manager]\nGuardTime=11\nDriftInterval=20\n");
	vendor = load(&d);
	assert_int_equal(vendor.conf.guard_usec, 11000000);
	temp_dir_write(&d, LOCAL "mmoptd.conf", "[Manager]\nGuardTime=12\n");
	local = load(&d);
	assert_int_equal(local.conf.guard_usec, 12000000);
	/* Not merged with the one it hides. */
	assert_int_equal(local.conf.drift_interval_usec, 3600000000);
	temp_dir_write(&d, RUN "mmoptd.conf", "[Manager]\nGuardTime=13\n");
	run = load(&d);
	assert_int_equal(run.conf.guard_usec, 13000000);
	temp_dir_write(&d, ETC "mmoptd.conf", "");
	etc = load(&d);
	is_default(&etc.conf);
	messages_are(&etc, "");
}

static void drop_ins_count_by_name(void **state)
{
	_cleanup_temp_dir_ struct temp_dir d = temp_dir_make();
	_cleanup_loaded_ struct loaded l = { 0 };

	temp_dir_write(&d, ETC "mmoptd.conf", "[Manager]\nGuardTime=11\nOnDrift=reapply\nOnPolicyChange=apply\n");
	/* The later name counts, wherever it is. */
	temp_dir_write(&d, USR "mmoptd.conf.d/90-vendor.conf", "[Manager]\nGuardTime=19\n");
	temp_dir_write(&d, ETC "mmoptd.conf.d/50-local.conf", "[Manager]\nGuardTime=15\nOnDrift=report\n");
	/* Of the same name only the first is read. */
	temp_dir_write(&d, RUN "mmoptd.conf.d/50-local.conf", "[Manager]\nOnPolicyChange=report\n");
	temp_dir_write(&d, LOCAL "mmoptd.conf.d/95-masked.conf", "[Manager]\nGuardTime=20\n");
	temp_dir_write(&d, RUN "mmoptd.conf.d/95-masked.conf", "");
	temp_dir_write(&d, ETC "mmoptd.conf.d/99-x.conf.bak", "[Manager]\nGuardTime=21\n");
	temp_dir_write(&d, ETC "mmoptd.conf.d/.99-x.conf", "[Manager]\nGuardTime=22\n");
	l = load(&d);
	messages_are(&l, "");
	assert_int_equal(l.conf.guard_usec, 19000000);
	assert_int_equal(l.conf.on_drift, ON_CHANGE_REPORT);
	assert_int_equal(l.conf.on_policy_change, ON_CHANGE_APPLY);
}

static void odd_files_do_not_count(void **state)
{
	_cleanup_temp_dir_ struct temp_dir d = temp_dir_make();
	_cleanup_free_ char *large = calloc(1, 1024 * 1024 + 2);
	_cleanup_loaded_ struct loaded l = { 0 };

	assert_non_null(large);
	memset(large, '#', 1024 * 1024 + 1);
	temp_dir_write(&d, ETC "mmoptd.conf.d/10-large.conf", large);
	assert_int_equal(mkdirat(d.fd, ETC "mmoptd.conf.d/20-directory.conf", 0755), 0);
	assert_int_equal(mkfifoat(d.fd, ETC "mmoptd.conf.d/30-fifo.conf", 0644), 0);
	assert_int_equal(symlinkat("gone", d.fd, ETC "mmoptd.conf.d/40-link.conf"), 0);
	temp_dir_write(&d, USR "mmoptd.conf.d/40-link.conf", "[Manager]\nOnDrift=reapply\n");
	assert_int_equal(symlinkat("60-real.conf", d.fd, ETC "mmoptd.conf.d/50-good.conf"), 0);
	temp_dir_write(&d, ETC "mmoptd.conf.d/60-real.conf", "[Manager]\nRebootRequiredFile=yes\n");
	l = load(&d);
	messages_are(
		&l,
		"/etc/mmopt/mmoptd.conf.d/10-large.conf: does not count, it cannot be read: File too large\n"
		"/etc/mmopt/mmoptd.conf.d/20-directory.conf: does not count, it cannot be read: Is a directory\n"
		"/etc/mmopt/mmoptd.conf.d/30-fifo.conf: does not count, it cannot be read: Invalid argument\n"
		"/etc/mmopt/mmoptd.conf.d/40-link.conf: does not count, it cannot be read: No such file or directory\n");
	assert_true(l.conf.reboot_required_file);
	l.conf.reboot_required_file = false;
	is_default(&l.conf);
}

static void what_others_can_change_does_not_count(void **state)
{
	_cleanup_temp_dir_ struct temp_dir d = temp_dir_make();
	_cleanup_free_ char *file_message = NULL;
	_cleanup_loaded_ struct loaded file = { 0 }, directory = { 0 }, above = { 0 };

	temp_dir_write(&d, ETC "mmoptd.conf", "[Manager]\nOnDrift=reapply\n");
	temp_dir_write(&d, ETC "mmoptd.conf.d/10.conf", "[Manager]\nOnDrift=reapply\n");
	assert_int_equal(fchmodat(d.fd, ETC "mmoptd.conf", 0666, 0), 0);
	assert_int_equal(fchmodat(d.fd, ETC "mmoptd.conf.d", 0777, 0), 0);
	file = load(&d);
	is_default(&file.conf);
	file_message =
		xasprintf("/etc/mmopt/mmoptd.conf.d: does not count: others than root can change it "
			  "(user %u, group %u, mode 0777); to trust it: chown root:root /etc/mmopt/mmoptd.conf.d && "
			  "chmod go-w /etc/mmopt/mmoptd.conf.d\n"
			  "/etc/mmopt/mmoptd.conf: does not count: others than root can change it "
			  "(user %u, group %u, mode 0666); to trust it: chown root:root /etc/mmopt/mmoptd.conf && "
			  "chmod go-w /etc/mmopt/mmoptd.conf\n",
			  geteuid(), getegid(), geteuid(), getegid());
	messages_are(&file, file_message);

	assert_int_equal(fchmodat(d.fd, ETC "mmoptd.conf", 0644, 0), 0);
	assert_int_equal(fchmodat(d.fd, ETC "mmoptd.conf.d", 0755, 0), 0);
	directory = load(&d);
	assert_int_equal(directory.conf.on_drift, ON_CHANGE_APPLY);
	/* Who can change the directory can put another file there. */
	assert_int_equal(fchmodat(d.fd, ETC, 0757, 0), 0);
	above = load(&d);
	is_default(&above.conf);
	assert_int_equal(above.diags.n, 1);
}

static void no_path_leads_out_of_the_root(void **state)
{
	_cleanup_temp_dir_ struct temp_dir d = temp_dir_make(), outside = temp_dir_make();
	_cleanup_free_ char *target = xasprintf("%s/mmoptd.conf", outside.path);
	_cleanup_loaded_ struct loaded l = { 0 };

	temp_dir_write(&outside, "mmoptd.conf", "[Manager]\nOnDrift=reapply\n");
	temp_dir_write(&d, ETC "x", "");
	assert_int_equal(symlinkat(target, d.fd, ETC "mmoptd.conf"), 0);
	l = load(&d);
	is_default(&l.conf);
	assert_int_equal(l.diags.n, 1);
}

/* The file that is installed shows every setting with its default, as comments; and each of them is one that is understood. */
static void shipped_file_shows_the_defaults(void **state)
{
	_cleanup_free_ char *path = xasprintf("%s/../../conf/mmoptd.conf", getenv("TEST_SOURCES")), *text = NULL;
	_cleanup_loaded_ struct loaded as_it_is = { 0 }, said = { 0 };
	size_t n = 0;

	assert_int_equal(read_file_at(AT_FDCWD, path, 0, &text, NULL), 0);
	as_it_is = parse(text);
	messages_are(&as_it_is, "");
	is_default(&as_it_is.conf);
	/* A setting stands behind a '#' alone, prose behind "# ". */
	for (char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (line[0] == '#' && line[1] >= 'A' && line[1] <= 'Z') {
			line[0] = ' ';
			n++;
		}
		if (!*line)
			break;
	}
	assert_int_equal(n, 9);
	said = parse(text);
	messages_are(&said, "");
	is_default(&said.conf);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_said_is_the_default),
		cmocka_unit_test(each_key_counts),
		cmocka_unit_test(off_and_none_take_it_back),
		cmocka_unit_test(a_mistake_costs_its_line_only),
		cmocka_unit_test(limits_of_times_and_shares),
		cmocka_unit_test(main_file_is_the_first_that_is_there),
		cmocka_unit_test(drop_ins_count_by_name),
		cmocka_unit_test(odd_files_do_not_count),
		cmocka_unit_test(what_others_can_change_does_not_count),
		cmocka_unit_test(no_path_leads_out_of_the_root),
		cmocka_unit_test(shipped_file_shows_the_defaults),
	};

	umask(022);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
