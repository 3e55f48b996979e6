/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <locale.h>
#include <sys/stat.h>
#include <time.h>

#include "base/ini-file.h"
#include "policy-test.h"
#include "temp-dir.h"

/* Real files in a directory that counts as "/". */

#define ETC "etc/mmopt/policy.d/"
#define RUN "run/mmopt/policy.d/"
#define LOCAL "usr/local/lib/mmopt/policy.d/"
#define USR "usr/lib/mmopt/policy.d/"

#define _cleanup_temp_dir_ _cleanup_(temp_dir_donep)

static struct loaded load(const struct temp_dir *d, bool check_owner)
{
	struct loaded l = { 0 };

	assert_int_equal(policy_load(d->fd, NULL, NULL, NULL, check_owner, &l.diags, &l.policy), 0);
	assert_non_null(l.policy);
	return l;
}

static void link_in(const struct temp_dir *d, const char *target, const char *path)
{
	assert_int_equal(symlinkat(target, d->fd, path), 0);
}

static const struct policy_file *file_named(const struct loaded *l, const char *path)
{
	for (size_t i = 0; i < l->policy->n_files; i++)
		if (streq(l->policy->files[i].path, path))
			return &l->policy->files[i];
	fail_msg("%s is not among the files", path);
	return NULL;
}

/* Who wins, as "file:line". */
static void won_by(const struct loaded *l, const char *id, const char *want)
{
	const struct setting *s = winner(l, id);
	_cleanup_free_ char *origin = xasprintf("%s:%u", l->policy->files[s->file].path, s->line);

	assert_string_equal(origin, want);
}

static void no_directory_is_an_empty_policy(void **state)
{
	_cleanup_temp_dir_ struct temp_dir d = temp_dir_make();
	_cleanup_loaded_ struct loaded l = load(&d, true);

	assert_int_equal(l.diags.n, 0);
	assert_int_equal(l.policy->n_files, 0);
	assert_null(policy_find(l.policy, "vm.swappiness"));
	assert_int_equal(policy_needs(l.policy), 0);
}

static void case_13_which_file_wins(void **state)
{
	_cleanup_temp_dir_ struct temp_dir d = temp_dir_make();
	_cleanup_loaded_ struct loaded before = { 0 }, l = { 0 };
	const struct policy_file *hidden;

	temp_dir_write(&d, USR "90-vendor.conf", "[vm]\nswappiness = 10\n");
	temp_dir_write(&d, ETC "50-local.conf", "[vm]\n# more than usual\nswappiness = 60\n");
	temp_dir_write(&d, ETC "60-x.conf.bak", "[vm]\nswappiness = 1\n");

	/* By name, not by directory: the vendor's file comes last. */
	before = load(&d, false);
	winner_is(&before, "vm.swappiness", "10");
	won_by(&before, "vm.swappiness", "/usr/lib/mmopt/policy.d/90-vendor.conf:2");
	/* The loser stays, to be shown. */
	assert_int_equal(before.policy->n_settings, 2);
	assert_false(before.policy->settings[0].wins);
	assert_string_equal(before.policy->settings[0].text, "60");

	link_in(&d, "/dev/null", ETC "90-vendor.conf");
	l = load(&d, false);
	winner_is(&l, "vm.swappiness", "60");
	won_by(&l, "vm.swappiness", "/etc/mmopt/policy.d/50-local.conf:3");
	messages_are(&l, "notice: /etc/mmopt/policy.d/60-x.conf.bak: not read: its name does not end in \".conf\"\n");
	assert_int_equal(l.policy->n_files, 3);
	assert_true(file_named(&l, "/etc/mmopt/policy.d/90-vendor.conf")->masked);
	hidden = file_named(&l, "/usr/lib/mmopt/policy.d/90-vendor.conf");
	assert_string_equal(hidden->masked_by, "/etc/mmopt/policy.d/90-vendor.conf");
	assert_false(hidden->masked);
}

static void case_13_same_name_in_every_directory(void **state)
{
	static const char *const dirs[] = { ETC, RUN, LOCAL, USR };
	_cleanup_temp_dir_ struct temp_dir d = temp_dir_make();

	for (size_t i = ARRAY_SIZE(dirs); i-- > 0;) {
		_cleanup_free_ char *path = xasprintf("%s50-x.conf", dirs[i]);
		_cleanup_free_ char *text = xasprintf("[vm]\nswappiness = %zu\n", i), *want = xasprintf("%zu", i);
		_cleanup_loaded_ struct loaded l = { 0 };

		temp_dir_write(&d, path, text);
		l = load(&d, false);
		winner_is(&l, "vm.swappiness", want);
		assert_int_equal(l.policy->n_settings, 1);
		assert_int_equal(l.policy->n_files, ARRAY_SIZE(dirs) - i);
	}
}

static void case_13_bytewise_order_whatever_the_locale(void **state)
{
	static const char *const names[] = { "10.conf", "9.conf",  "B.conf",	   "_.conf",
					     "a.conf",	"a0.conf", "\xc3\xa4.conf" };
	_cleanup_temp_dir_ struct temp_dir d = temp_dir_make();
	_cleanup_loaded_ struct loaded l = { 0 };

	/* Where it is not installed the order is bytewise by itself. */
	setlocale(LC_ALL, "C.UTF-8");
	for (size_t i = ARRAY_SIZE(names); i-- > 0;) {
		_cleanup_free_ char *path = xasprintf(ETC "%s", names[i]);

		temp_dir_write(&d, path, "[vm]\nswappiness = 1\n");
	}
	l = load(&d, false);
	assert_int_equal(l.policy->n_files, ARRAY_SIZE(names));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_string_equal(strrchr(l.policy->files[i].path, '/') + 1, names[i]);
	setlocale(LC_ALL, "C");
}

static void case_13_masks(void **state)
{
	_cleanup_temp_dir_ struct temp_dir d = temp_dir_make();
	_cleanup_loaded_ struct loaded l = { 0 };

	/* A mounted image need not have a /dev/null: what the link says counts. */
	temp_dir_write(&d, USR "a.conf", "[vm]\nswappiness = 1\n");
	temp_dir_write(&d, USR "b.conf", "[vm]\nswappiness = 2\n");
	temp_dir_write(&d, USR "c.conf", "[vm]\nswappiness = 3\n");
	temp_dir_write(&d, ETC "c.conf", "");
	link_in(&d, "/dev/null", ETC "a.conf");
	link_in(&d, "../../../dev/null", ETC "b.conf");
	l = load(&d, true);
	assert_int_equal(l.diags.n, 0);
	assert_int_equal(l.policy->n_settings, 0);
	assert_true(file_named(&l, "/etc/mmopt/policy.d/a.conf")->masked);
	assert_true(file_named(&l, "/etc/mmopt/policy.d/b.conf")->masked);
	assert_true(file_named(&l, "/etc/mmopt/policy.d/c.conf")->masked);
}

static void links_stay_within_the_root(void **state)
{
	_cleanup_temp_dir_ struct temp_dir d = temp_dir_make();
	_cleanup_loaded_ struct loaded l = { 0 };

	temp_dir_write(&d, "srv/x.conf", "[vm]\nswappiness = 7\n");
	temp_dir_write(&d, ETC "90-empty.conf", "# nothing\n");
	link_in(&d, "/srv/x.conf", ETC "10-absolute.conf");
	link_in(&d, "../../../../../../../srv/x.conf", ETC "20-relative.conf");
	/* Outside of the root there is such a file, inside there is none. */
	link_in(&d, "/proc/self/status", ETC "30-out.conf");
	l = load(&d, false);
	assert_int_equal(l.policy->n_settings, 2);
	winner_is(&l, "vm.swappiness", "7");
	messages_are(&l,
		     "error: /etc/mmopt/policy.d/30-out.conf: is a link to /proc/self/status, which does not exist\n");
}

static void what_is_no_file(void **state)
{
	_cleanup_temp_dir_ struct temp_dir d = temp_dir_make();
	_cleanup_loaded_ struct loaded l = { 0 };

	temp_dir_write(&d, ETC ".hidden.conf", "garbage");
	temp_dir_write(&d, ETC "README", "garbage");
	assert_int_equal(mkdirat(d.fd, ETC "dir.conf", 0755), 0);
	/* Opened without care it would hold everything up. */
	assert_int_equal(mkfifoat(d.fd, ETC "fifo.conf", 0644), 0);
	l = load(&d, false);
	messages_are(&l, "notice: /etc/mmopt/policy.d/README: not read: its name does not end in \".conf\"\n"
			 "error: /etc/mmopt/policy.d/dir.conf: is not a regular file\n"
			 "error: /etc/mmopt/policy.d/fifo.conf: is not a regular file\n");
}

static void a_directory_that_is_none(void **state)
{
	_cleanup_temp_dir_ struct temp_dir d = temp_dir_make();
	_cleanup_loaded_ struct loaded l = { 0 };

	temp_dir_write(&d, "etc/mmopt/policy.d", "a file");
	temp_dir_write(&d, USR "x.conf", "[vm]\nswappiness = 7\n");
	l = load(&d, false);
	messages_are(&l, "error: /etc/mmopt/policy.d: cannot open this policy directory: Not a directory\n");
	winner_is(&l, "vm.swappiness", "7");
}

static void keep_takes_an_earlier_item_out(void **state)
{
	_cleanup_temp_dir_ struct temp_dir d = temp_dir_make();
	_cleanup_loaded_ struct loaded l = { 0 };

	temp_dir_write(&d, USR "10-a.conf", "[vm]\nswappiness = 10\n");
	temp_dir_write(&d, ETC "20-b.conf", "[vm]\nswappiness = keep\n");
	l = load(&d, false);
	assert_int_equal(winner(&l, "vm.swappiness")->form, SETTING_KEEP);
}

static void case_16_pairs_across_files(void **state)
{
	_cleanup_temp_dir_ struct temp_dir d = temp_dir_make();
	_cleanup_loaded_ struct loaded l = { 0 };

	temp_dir_write(&d, USR "10-a.conf",
		       "[vm]\ndirty_ratio = 20\novercommit_ratio = 50\ndirty_background_bytes = 16M\n");
	temp_dir_write(&d, ETC "20-b.conf", "[vm]\ndirty_bytes = 8M\novercommit_kbytes = keep\n");
	l = load(&d, false);
	/* The later file's form takes the other's place. */
	assert_null(policy_find(l.policy, "vm.dirty_ratio"));
	winner_is(&l, "vm.dirty_bytes", "8388608");
	/* "keep" for one form leaves the setting alone, which the other form would not. */
	assert_null(policy_find(l.policy, "vm.overcommit_ratio"));
	messages_are(&l,
		     "warning: /etc/mmopt/policy.d/20-b.conf:2: vm.dirty_bytes: vm.dirty_background_bytes (16777216, "
		     "/usr/lib/mmopt/policy.d/10-a.conf:4) is not below vm.dirty_bytes (8388608, "
		     "/etc/mmopt/policy.d/20-b.conf:2); the kernel then uses half of the latter\n");
}

static void options_of_several_files(void **state)
{
	_cleanup_temp_dir_ struct temp_dir d = temp_dir_make();
	_cleanup_loaded_ struct loaded l = { 0 };

	temp_dir_write(
		&d, USR "10-a.conf",
		"[Policy]\nEssential = vm.swappiness\nMemoryFloor = 20%\n[vm]\nswappiness = 1\n[thp]\nenabled = never\n");
	temp_dir_write(&d, ETC "20-b.conf", "[Policy]\nEssential = thp.enabled\nMemoryFloor = 1G\n");
	l = load(&d, false);
	assert_int_equal(l.diags.n, 0);
	/* Essentials add up: what one file depends on, another does not take away. The floor is the last one. */
	assert_true(policy_is_essential(l.policy, "vm.swappiness"));
	assert_true(policy_is_essential(l.policy, "thp.enabled"));
	assert_int_equal(l.policy->memory_floor_permyriad, 0);
	assert_int_equal(l.policy->memory_floor_bytes, 1 << 30);
	assert_string_equal(l.policy->memory_floor_origin, "/etc/mmopt/policy.d/20-b.conf:3");
}

static void case_18_mistakes_of_all_files_and_no_file_is_written(void **state)
{
	static const char bad[] =
		"[sysctl]\n  vm.swappiness = 10\n\nthis line is a forgotten comment\nvm.swappiness = 60\n";
	_cleanup_temp_dir_ struct temp_dir d = temp_dir_make();
	_cleanup_loaded_ struct loaded l = { 0 };

	temp_dir_write(&d, ETC "10-a.conf", bad);
	temp_dir_write(&d, ETC "20-b.conf", "[vm]\nswapiness = 1\n");
	l = load(&d, false);
	messages_are(
		&l,
		"error: /etc/mmopt/policy.d/10-a.conf:4: \"this line is a forgotten comment\" is neither a comment, a "
		"[section] nor a line with \"=\"\n"
		"warning: /etc/mmopt/policy.d/10-a.conf:5: vm.swappiness: is in this file before, in line 2; this one "
		"counts\n"
		"error: /etc/mmopt/policy.d/20-b.conf:2: unknown tunable \"swapiness\" in [vm]; did you mean "
		"\"swappiness\"?\n");
	assert_int_equal(l.diags.n_errors, 2);
	temp_dir_expect(&d, ETC "10-a.conf", bad);
}

static void too_large_a_file(void **state)
{
	_cleanup_temp_dir_ struct temp_dir d = temp_dir_make();
	_cleanup_free_ char *text = malloc(INI_FILE_MAX_BYTES + 2);
	_cleanup_loaded_ struct loaded fits = { 0 }, l = { 0 };

	assert_non_null(text);
	memset(text, '#', INI_FILE_MAX_BYTES);
	text[INI_FILE_MAX_BYTES] = 0;
	temp_dir_write(&d, ETC "x.conf", text);
	fits = load(&d, false);
	assert_int_equal(fits.diags.n, 0);
	text[INI_FILE_MAX_BYTES] = '#';
	text[INI_FILE_MAX_BYTES + 1] = 0;
	temp_dir_write(&d, ETC "x.conf", text);
	l = load(&d, false);
	messages_are(&l,
		     "error: /etc/mmopt/policy.d/x.conf: is larger than 1 MiB, the most that a policy file may be\n");
}

/* The message of one path, made writable or owned as no policy may be. */
static void refused(const struct temp_dir *d, const char *want)
{
	_cleanup_loaded_ struct loaded l = load(d, true), unchecked = load(d, false);

	messages_are(&l, want);
	assert_int_equal(l.policy->n_settings, 0);
	assert_int_equal(unchecked.diags.n, 0);
	assert_int_equal(unchecked.policy->n_settings, 1);
}

static void a_policy_that_others_can_write(void **state)
{
	_cleanup_temp_dir_ struct temp_dir d = temp_dir_make();
	_cleanup_loaded_ struct loaded l = { 0 };

	if (geteuid() != 0)
		skip();
	temp_dir_write(&d, ETC "x.conf", "[vm]\nswappiness = 1\n");
	l = load(&d, true);
	assert_int_equal(l.diags.n, 0);

	assert_int_equal(fchmodat(d.fd, ETC "x.conf", 0646, 0), 0);
	refused(&d,
		"error: /etc/mmopt/policy.d/x.conf: can be written by others than root (mode 0646, group 0); to trust it: "
		"chmod go-w /etc/mmopt/policy.d/x.conf\n");
	/* A group of root's is root's business, another one is not. */
	assert_int_equal(fchmodat(d.fd, ETC "x.conf", 0664, 0), 0);
	assert_int_equal(fchownat(d.fd, ETC "x.conf", 0, 100, 0), 0);
	refused(&d,
		"error: /etc/mmopt/policy.d/x.conf: can be written by others than root (mode 0664, group 100); to trust it: "
		"chmod go-w /etc/mmopt/policy.d/x.conf\n");
	assert_int_equal(fchmodat(d.fd, ETC "x.conf", 0644, 0), 0);
	assert_int_equal(fchownat(d.fd, ETC "x.conf", 1000, 0, 0), 0);
	refused(&d,
		"error: /etc/mmopt/policy.d/x.conf: belongs to user 1000, who could change this machine through it; to "
		"trust it: chown root:root /etc/mmopt/policy.d/x.conf\n");
	assert_int_equal(fchownat(d.fd, ETC "x.conf", 0, 0, 0), 0);

	assert_int_equal(fchmodat(d.fd, "etc/mmopt/policy.d", 0777, 0), 0);
	refused(&d,
		"error: /etc/mmopt/policy.d: can be written by others than root (mode 0777, group 0); to trust it: chmod "
		"go-w /etc/mmopt/policy.d\n");
	assert_int_equal(fchmodat(d.fd, "etc/mmopt/policy.d", 0755, 0), 0);
	assert_int_equal(fchownat(d.fd, "etc/mmopt", 1000, 0, 0), 0);
	refused(&d,
		"error: /etc/mmopt: belongs to user 1000, who could change this machine through it; to trust it: chown "
		"root:root /etc/mmopt\n");
}

/* A link in a directory of root's, to a file of root's in a directory that is not. */
static void a_link_to_where_others_can_write(void **state)
{
	_cleanup_temp_dir_ struct temp_dir d = temp_dir_make();
	_cleanup_loaded_ struct loaded l = { 0 };

	if (geteuid() != 0)
		skip();
	temp_dir_write(&d, "home/joe/x.conf", "[vm]\nswappiness = 1\n");
	temp_dir_write(&d, ETC "90-empty.conf", "# nothing\n");
	link_in(&d, "/home/joe/x.conf", ETC "10-x.conf");
	l = load(&d, true);
	assert_int_equal(l.diags.n, 0);
	assert_int_equal(fchownat(d.fd, "home/joe", 1000, 0, 0), 0);
	refused(&d,
		"error: /home/joe: belongs to user 1000, who could change this machine through it; to trust it: chown "
		"root:root /home/joe\n");
}

static void an_unreadable_file(void **state)
{
	_cleanup_temp_dir_ struct temp_dir d = temp_dir_make();
	_cleanup_loaded_ struct loaded l = { 0 };
	uid_t uid = geteuid();

	temp_dir_write(&d, ETC "x.conf", "[vm]\nswappiness = 1\n");
	assert_int_equal(fchmodat(d.fd, ETC "x.conf", 0, 0), 0);
	assert_int_equal(fchmod(d.fd, 0755), 0);
	if (uid == 0)
		assert_int_equal(seteuid(65534), 0);
	l = load(&d, false);
	if (uid == 0)
		assert_int_equal(seteuid(0), 0);
	messages_are(&l, "error: /etc/mmopt/policy.d/x.conf: cannot open this policy file: Permission denied\n");
}

static void one_file_by_name(void **state)
{
	_cleanup_temp_dir_ struct temp_dir d = temp_dir_make();
	_cleanup_free_ char *path = xasprintf("%s/any.name", d.path), *missing = xasprintf("%s/none", d.path);
	_cleanup_free_ char *want = NULL;
	_cleanup_loaded_ struct loaded l = { 0 }, none = { 0 }, directory = { 0 };

	temp_dir_write(&d, "any.name", "[vm]\nswappiness = 5\n");
	temp_dir_write(&d, ETC "x.conf", "[vm]\ndirty_ratio = 5\n");
	assert_int_equal(policy_load(d.fd, path, NULL, NULL, true, &l.diags, &l.policy), 0);
	assert_int_equal(l.diags.n, 0);
	assert_int_equal(l.policy->n_settings, 1);
	winner_is(&l, "vm.swappiness", "5");

	assert_int_equal(policy_load(d.fd, missing, NULL, NULL, true, &none.diags, &none.policy), -ENOENT);
	assert_null(none.policy);
	want = xasprintf("error: %s: cannot open this policy file: No such file or directory\n", missing);
	messages_are(&none, want);
	assert_int_equal(policy_load(d.fd, d.path, NULL, NULL, true, &directory.diags, &directory.policy), -EISDIR);
}

static double seconds_since(const struct timespec *start)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)(now.tv_sec - start->tv_sec) + (double)(now.tv_nsec - start->tv_nsec) / 1e9;
}

/* Seconds to load n keys, each of its own name, from files as large as they may be. */
static double time_keys(unsigned n)
{
	_cleanup_temp_dir_ struct temp_dir d = temp_dir_make();
	_cleanup_loaded_ struct loaded l = { 0 };
	struct timespec start;
	double seconds;

	for (unsigned first = 0, file = 0; first < n; first += 25000, file++) {
		_cleanup_free_ char *path = xasprintf(ETC "%02u.conf", file), *text = NULL;
		size_t size;
		FILE *f = open_memstream(&text, &size);

		assert_non_null(f);
		fputs("[sysctl]\n", f);
		for (unsigned i = first; i < MIN(first + 25000, n); i++)
			fprintf(f, "net.ipv4.conf.eth%u.rp_filter = 2\n", i);
		fclose(f);
		temp_dir_write(&d, path, text);
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
	l = load(&d, true);
	seconds = seconds_since(&start);
	assert_int_equal(l.diags.n, 0);
	assert_int_equal(l.policy->n_settings, n);
	return seconds;
}

/*
 * Time grows with the input, not with its square: ten times the keys take about ten times as long and by no means a
 * hundred times.  The bound is wide, because a machine at work and a sanitizer blur what is measured.
 */
static void time_is_linear(void **state)
{
	double small = time_keys(10000), large = time_keys(100000);

	print_message("10000 keys %.3f s, 100000 keys %.3f s\n", small, large);
	if (large > 40 * MAX(small, 0.005))
		fail_msg("10000 keys take %.3f s, 100000 keys %.3f s", small, large);
}

static void five_thousand_drop_ins(void **state)
{
	_cleanup_temp_dir_ struct temp_dir d = temp_dir_make();
	_cleanup_loaded_ struct loaded l = { 0 };
	struct timespec start;

	for (unsigned i = 0; i < 5000; i++) {
		_cleanup_free_ char *path = xasprintf(ETC "%04u.conf", i), *text = NULL;
		size_t size;
		FILE *f = open_memstream(&text, &size);

		assert_non_null(f);
		fputs("[vm]\nswappiness = 10\n[sysctl]\n", f);
		for (unsigned k = 1; k < 20; k++)
			fprintf(f, "kernel.k%u = %u\n", k, i);
		fclose(f);
		temp_dir_write(&d, path, text);
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
	l = load(&d, true);
	print_message("5000 files with 20 keys %.3f s\n", seconds_since(&start));
	assert_int_equal(l.diags.n, 0);
	assert_int_equal(l.policy->n_settings, 100000);
	winner_is(&l, "sysctl.kernel.k19", "4999");
	won_by(&l, "vm.swappiness", "/etc/mmopt/policy.d/4999.conf:2");
}

/* A file of nothing but mistakes: each is told, and the search for near names does not eat the machine. */
static void many_mistakes(void **state)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_loaded_ struct loaded l = { 0 };
	struct timespec start;
	double seconds;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	fputs("[vm]\n", f);
	for (unsigned i = 0; i < 50000; i++)
		fprintf(f, "swapiness%u = 1\n", i);
	fclose(f);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
	l = load_text(text, NULL);
	seconds = seconds_since(&start);
	print_message("50000 mistakes %.3f s\n", seconds);
	assert_int_equal(l.diags.n_errors, 50000);
	assert_int_equal(l.diags.n, 50000);
	assert_true(seconds < 10);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_directory_is_an_empty_policy),
		cmocka_unit_test(case_13_which_file_wins),
		cmocka_unit_test(case_13_same_name_in_every_directory),
		cmocka_unit_test(case_13_bytewise_order_whatever_the_locale),
		cmocka_unit_test(case_13_masks),
		cmocka_unit_test(links_stay_within_the_root),
		cmocka_unit_test(what_is_no_file),
		cmocka_unit_test(a_directory_that_is_none),
		cmocka_unit_test(keep_takes_an_earlier_item_out),
		cmocka_unit_test(case_16_pairs_across_files),
		cmocka_unit_test(options_of_several_files),
		cmocka_unit_test(case_18_mistakes_of_all_files_and_no_file_is_written),
		cmocka_unit_test(too_large_a_file),
		cmocka_unit_test(a_policy_that_others_can_write),
		cmocka_unit_test(a_link_to_where_others_can_write),
		cmocka_unit_test(an_unreadable_file),
		cmocka_unit_test(one_file_by_name),
		cmocka_unit_test(time_is_linear),
		cmocka_unit_test(five_thousand_drop_ins),
		cmocka_unit_test(many_mistakes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
