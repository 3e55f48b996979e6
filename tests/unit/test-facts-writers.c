/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who else sets the keys: sysctl.d, tuned, saptune, kubelet. */
#include "core/sysctl-conf.h"
#include "facts-root.h"

static void expect_path(const char *key, const char *want)
{
	_cleanup_free_ char *copy = strdup(key);
	char *path;

	assert_non_null(copy);
	path = sysctl_key_to_path(copy);
	if (want)
		assert_string_equal(path, want);
	else
		assert_null(path);
}

static void case_12_first_separator_decides(void **state)
{
	expect_path("net.ipv4.conf.eth0/100.200.rp_filter", "net/ipv4/conf/eth0.100/200/rp_filter");
	expect_path("net/ipv4/conf/eth0.100/rp_filter", "net/ipv4/conf/eth0.100/rp_filter");
	expect_path("vm.swappiness", "vm/swappiness");
	expect_path("/proc/sys/vm/swappiness", "vm/swappiness");
	expect_path("//vm//./swappiness/", "vm/swappiness");
	expect_path("vm/../../tmp/x", NULL);
	expect_path("..", NULL);
	expect_path("", NULL);
	expect_path("/", NULL);
	expect_path("single", "single");
}

static void case_12_lines(void **state)
{
	static const struct {
		const char *line;
		int kind;
		const char *path, *value;
		bool ignore_failure, is_glob;
	} table[] = {
		{ "", SYSCTL_LINE_NOTHING },
		{ "  # vm.x = 1", SYSCTL_LINE_NOTHING },
		{ " ; vm.x = 1", SYSCTL_LINE_NOTHING },
		{ " vm.x = 1 2 # 3 \r", SYSCTL_LINE_ASSIGNMENT, "vm/x", "1 2 # 3", false, false },
		{ "vm.x=a=b", SYSCTL_LINE_ASSIGNMENT, "vm/x", "a=b", false, false },
		{ "-vm.x = 1", SYSCTL_LINE_ASSIGNMENT, "vm/x", "1", true, false },
		{ "- vm.x", SYSCTL_LINE_ASSIGNMENT, "vm/x", NULL, true, false },
		{ "vm.dirty_*ratio = 5", SYSCTL_LINE_ASSIGNMENT, "vm/dirty_*ratio", "5", false, true },
		{ "vm.x", SYSCTL_LINE_BAD },
		{ "= 1", SYSCTL_LINE_BAD },
		{ "vm/../../tmp/x = 1", SYSCTL_LINE_BAD },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		_cleanup_free_ char *line = strdup(table[i].line);
		struct sysctl_line l = {};

		assert_non_null(line);
		assert_int_equal(sysctl_line_parse(line, &l), table[i].kind);
		if (table[i].kind != SYSCTL_LINE_ASSIGNMENT)
			continue;
		assert_string_equal(l.path, table[i].path);
		if (table[i].value)
			assert_string_equal(l.value, table[i].value);
		else
			assert_null(l.value);
		assert_int_equal(l.ignore_failure, table[i].ignore_failure);
		assert_int_equal(l.is_glob, table[i].is_glob);
		free(l.path);
	}
}

static void case_13_by_name_over_all_directories(void **state)
{
	_cleanup_root_ struct root r = root_make();

	root_file(&r, "/usr/lib/sysctl.d/90-vendor.conf", "vm.swappiness = 10\nvm.stat_interval = 7\n");
	root_file(&r, "/etc/sysctl.d/50-local.conf", "vm.swappiness = 60\n");
	root_file(&r, "/etc/sysctl.d/95-x.conf.bak", "vm.swappiness = 1\n");
	root_file(&r, "/usr/lib/sysctl.d/10-a.conf", "vm.max_map_count = 1\n");
	root_file(&r, "/run/sysctl.d/10-a.conf", "vm.max_map_count = 2\n");
	root_file(&r, "/etc/sysctl.conf", "\n vm.laptop_mode = 3 \nkernel.panic=5\nnet.core.x = 1\n");
	root_probe(&r, FACTS_WRITERS);
	assert_fact_word(&r, "writers.vm.swappiness", "/usr/lib/sysctl.d/90-vendor.conf:1 = 10");
	assert_fact_word(&r, "writers.vm.max_map_count", "/run/sysctl.d/10-a.conf:1 = 2");
	assert_fact_word(&r, "writers.vm.laptop_mode", "/etc/sysctl.conf:2 = 3");
	assert_fact_word(&r, "writers.kernel.panic", "/etc/sysctl.conf:3 = 5");
	assert_null(facts_get(&r.facts, "writers.net.core.x"));
	/* masked: the vendor's values are not set by anyone */
	root_directory(&r, "/etc/sysctl.d");
	root_file(&r, "/etc/sysctl.d/90-vendor.conf", "");
	root_probe(&r, FACTS_WRITERS);
	assert_fact_word(&r, "writers.vm.swappiness", "/etc/sysctl.d/50-local.conf:1 = 60");
	assert_null(facts_get(&r.facts, "writers.vm.stat_interval"));
}

static void case_12_exact_keys_win_over_globs(void **state)
{
	_cleanup_root_ struct root r = root_make();

	root_file(&r, "/proc/sys/vm/dirty_ratio", "20\n");
	root_file(&r, "/proc/sys/vm/dirty_background_ratio", "10\n");
	root_file(&r, "/proc/sys/vm/swap_ratio", "10\n");
	root_file(&r, "/proc/sys/vm/dirty_bytes", "0\n");
	root_file(&r, "/etc/sysctl.d/a.conf",
		  "vm.dirty_ratio = 7\nvm.*_ratio = 5\nvm.s*_ratio = 6\n-vm.dirty_background_ratio\nvm.no_such* = 1\n");
	root_probe(&r, FACTS_WRITERS);
	assert_fact_word(&r, "writers.vm.dirty_ratio", "/etc/sysctl.d/a.conf:1 = 7");
	assert_fact_word(&r, "writers.vm.swap_ratio", "/etc/sysctl.d/a.conf:3 = 6");
	assert_null(facts_get(&r.facts, "writers.vm.dirty_background_ratio"));
	assert_null(facts_get(&r.facts, "writers.vm.dirty_bytes"));
	assert_int_equal(r.facts.n, 2);
}

static void sysctl_conf_through_a_link_is_read_once(void **state)
{
	_cleanup_root_ struct root r = root_make();

	root_file(&r, "/etc/sysctl.conf", "vm.swappiness = 1\n");
	root_file(&r, "/etc/sysctl.d/99-z.conf", "vm.swappiness = 2\n");
	root_link(&r, "/etc/sysctl.d/99-sysctl.conf", "../sysctl.conf");
	root_probe(&r, FACTS_WRITERS);
	/* 99-sysctl.conf stands before 99-z.conf */
	assert_fact_word(&r, "writers.vm.swappiness", "/etc/sysctl.d/99-z.conf:1 = 2");
}

static void tuned_profiles(void **state)
{
	_cleanup_root_ struct root r = root_make();

	root_file(&r, "/etc/tuned/active_profile", "child\n");
	root_file(&r, "/etc/tuned/child/tuned.conf",
		  "[main]\ninclude=parent, -missing child\n[sysctl]\nvm.swappiness=5\n");
	root_file(&r, "/usr/lib/tuned/parent/tuned.conf",
		  "[vm]\ntransparent_hugepages=never\n[sysctl]\nvm/dirty_ratio=9\nnet.x=1\n[main]\ninclude=child\n"
		  "[sysfs]\n/sys/kernel/mm/ksm/run=1\n/sys/class/x=1\n");
	root_file(&r, "/etc/sysctl.d/a.conf", "vm.swappiness = 6\n");
	root_probe(&r, FACTS_WRITERS);
	assert_fact_word(&r, "writers.tuned_profile", "child");
	assert_fact_word(&r, "writers.vm.swappiness",
			 "/etc/sysctl.d/a.conf:1 = 6; /etc/tuned/child/tuned.conf:4 = 5 (tuned profile child)");
	assert_fact_word(&r, "writers.vm.dirty_ratio", "/usr/lib/tuned/parent/tuned.conf:4 = 9 (tuned profile parent)");
	assert_fact_word(&r, "writers.thp.enabled",
			 "/usr/lib/tuned/parent/tuned.conf:2 = never (tuned profile parent)");
	assert_fact_word(&r, "writers./sys/kernel/mm/ksm/run",
			 "/usr/lib/tuned/parent/tuned.conf:9 = 1 (tuned profile parent)");
	assert_null(facts_get(&r.facts, "writers.net.x"));
}

static void saptune_and_kubelet(void **state)
{
	_cleanup_root_ struct root r = root_make();

	root_file(&r, "/etc/sysconfig/saptune", "TUNE_FOR_NOTES=\"x\"\nNOTE_APPLY_ORDER=\"941735 ../evil\"\n");
	root_file(&r, "/var/lib/saptune/working/notes/941735",
		  "[vm]\nTHP=never\n[sysctl]\nvm.max_map_count=2147483647\n");
	root_file(&r, "/var/lib/kubelet/config.yaml", "kind: KubeletConfiguration\n");
	root_probe(&r, FACTS_WRITERS);
	assert_fact_word(&r, "writers.thp.enabled",
			 "/var/lib/saptune/working/notes/941735:2 = never (saptune note 941735)");
	assert_fact_word(&r, "writers.vm.overcommit_memory", "kubelet writes = 1");
	assert_fact_word(&r, "writers.kubelet", "writes");
	root_file(&r, "/var/lib/kubelet/config.yaml", "protectKernelDefaults: true\n");
	root_probe(&r, FACTS_WRITERS);
	assert_fact_word(&r, "writers.kubelet", "checks");
}

/* Twice the lines, about twice the time: what is quadratic takes minutes at this size. */
static void case_04_many_and_long_lines(void **state)
{
	_cleanup_root_ struct root r = root_make();
	size_t n = 100000, value = 1 << 20;
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	for (size_t i = 0; i < n; i++)
		fprintf(f, "vm.key%zu = %zu\n", i, i);
	fputs("vm.long = ", f);
	for (size_t i = 0; i < value; i++)
		fputc('x', f);
	fputs("\nvm.last = 1", f);
	assert_int_equal(fclose(f), 0);
	root_file(&r, "/etc/sysctl.d/a.conf", text);
	root_probe(&r, FACTS_WRITERS);
	assert_fact_word(&r, "writers.vm.key99999", "/etc/sysctl.d/a.conf:100000 = 99999");
	assert_fact_word(&r, "writers.vm.last", "/etc/sysctl.d/a.conf:100002 = 1");
	assert_true(strlen(facts_word(&r.facts, "writers.vm.long")) ==
		    value + strlen("/etc/sysctl.d/a.conf:100001 = "));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(case_12_first_separator_decides),
		cmocka_unit_test(case_12_lines),
		cmocka_unit_test(case_13_by_name_over_all_directories),
		cmocka_unit_test(case_12_exact_keys_win_over_globs),
		cmocka_unit_test(sysctl_conf_through_a_link_is_read_once),
		cmocka_unit_test(tuned_profiles),
		cmocka_unit_test(saptune_and_kubelet),
		cmocka_unit_test(case_04_many_and_long_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
