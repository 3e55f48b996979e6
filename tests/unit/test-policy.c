/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy-test.h"

/* What stands in one file: keys, values, mistakes. Files and directories are in test-policy-files.c. */

static void every_form_of_value(void **state)
{
	_cleanup_loaded_ struct loaded l = load_text("[vm]\n"
						     "swappiness = 0x0a\n"
						     "want_old_faultaround_pte = auto\n"
						     "min_free_kbytes = >= 1%\n"
						     "-watermark_scale_factor = 100\n"
						     "dirty_bytes = 256M\n"
						     "max_map_count = >=65530\n"
						     "vfs_cache_pressure = <= 200\n"
						     "lowmem_reserve_ratio = 256 256   32 0 0\n"
						     "stat_interval = keep\n"
						     "[thp]\n"
						     "enabled = \"madvise\"\n"
						     "use_zero_page = Yes\n"
						     "[hugetlb]\n"
						     "2M.pages = 25.5%\n"
						     "1G.pages = 8G\n"
						     "2048K.node1.pages = 256\n"
						     "shrink = no\n"
						     "[sysctl]\n"
						     "net.ipv4.conf.eth0/100.rp_filter = 2\n"
						     "[sysfs]\n"
						     "kernel/mm/page_idle/foo = 1\n",
						     NULL);
	const struct setting *s;

	assert_int_equal(l.diags.n_errors, 0);
	winner_is(&l, "vm.swappiness", "10");
	assert_int_equal(winner(&l, "vm.want_old_faultaround_pte")->form, SETTING_AUTO);
	s = winner(&l, "vm.min_free_kbytes");
	assert_int_equal(s->form, SETTING_PERCENT);
	assert_int_equal(s->relation, RELATION_AT_LEAST);
	assert_int_equal(s->permyriad, 100);
	assert_string_equal(s->text, ">= 1%");
	assert_int_equal(s->line, 4);
	assert_false(s->optional);
	assert_true(winner(&l, "vm.watermark_scale_factor")->optional);
	winner_is(&l, "vm.watermark_scale_factor", "100");
	winner_is(&l, "vm.dirty_bytes", "268435456");
	winner_is(&l, "vm.max_map_count", "65530");
	assert_int_equal(winner(&l, "vm.max_map_count")->relation, RELATION_AT_LEAST);
	assert_int_equal(winner(&l, "vm.vfs_cache_pressure")->relation, RELATION_AT_MOST);
	winner_is(&l, "vm.lowmem_reserve_ratio", "256 256 32 0 0");
	assert_int_equal(winner(&l, "vm.stat_interval")->form, SETTING_KEEP);
	winner_is(&l, "thp.enabled", "madvise");
	winner_is(&l, "thp.use_zero_page", "1");
	assert_int_equal(winner(&l, "hugetlb.2M.pages")->permyriad, 2550);
	s = winner(&l, "hugetlb.1G.pages");
	assert_int_equal(s->form, SETTING_BYTES);
	assert_int_equal(s->bytes, UINT64_C(8) << 30);
	s = winner(&l, "hugetlb.2M.node1.pages");
	assert_int_equal(s->ref.node, 1);
	assert_int_equal(s->ref.size_bytes, 2 << 20);
	winner_is(&l, "sysctl.net/ipv4/conf/eth0.100/rp_filter", "2");
	winner_is(&l, "sysfs.kernel/mm/page_idle/foo", "1");
	assert_null(policy_find(l.policy, "vm.overcommit_memory"));
}

static void the_needs_of_a_policy_are_those_of_its_winners(void **state)
{
	_cleanup_loaded_ struct loaded plain = load_text("[vm]\nswappiness = 10\n", NULL);
	_cleanup_loaded_ struct loaded share = load_text("[vm]\nmin_free_kbytes = 1%\n", NULL);
	_cleanup_loaded_ struct loaded kept = load_text("[vm]\nmin_free_kbytes = 1%\nmin_free_kbytes = keep\n", NULL);
	_cleanup_loaded_ struct loaded automatic = load_text("[vm]\nhugetlb_optimize_vmemmap = auto\n", NULL);

	assert_int_equal(policy_needs(plain.policy), 0);
	assert_int_equal(policy_needs(share.policy), FACTS_MEMORY);
	assert_int_equal(policy_needs(kept.policy), 0);
	assert_int_equal(policy_needs(automatic.policy),
			 winner(&automatic, "vm.hugetlb_optimize_vmemmap")->ref.tunable->auto_groups);
}

static void values_that_do_not_fit_their_tunable(void **state)
{
	text_says("[vm]\nswappiness = 300\n",
		  "error: t:2: vm.swappiness: \"300\" is out of range; it takes 0 to 200\n");
	text_says("[vm]\nswappiness = ten\n",
		  "error: t:2: vm.swappiness: \"ten\" is not a number; it takes 0 to 200\n");
	text_says(
		"[vm]\ndirty_bytes = 1 GB\n",
		"error: t:2: vm.dirty_bytes: \"1 GB\" is neither a number nor a size like 64M, whole and without blanks; it "
		"takes a number from 8192 (bytes)\n");
	text_says(
		"[vm]\nswappiness = 10k\n",
		"error: t:2: vm.swappiness: \"10k\" is a size, but this is not counted in memory; it takes 0 to 200\n");
	text_says(
		"[vm]\nswappiness = 10%\n",
		"error: t:2: vm.swappiness: \"10%\" is a share of memory, but this is not counted in memory; it takes 0 to 200\n");
	text_says("[vm]\ndirty_ratio = 10%\n",
		  "error: t:2: vm.dirty_ratio: \"10%\": this is a percentage already; write it without \"%\"\n");
	text_says(
		"[vm]\nmin_free_kbytes = 101%\n",
		"error: t:2: vm.min_free_kbytes: \"101%\" is not a percentage from 0% to 100% with at most two decimals\n");
	text_says(
		"[vm]\nmin_free_kbytes = 0.123%\n",
		"error: t:2: vm.min_free_kbytes: \"0.123%\" is not a percentage from 0% to 100% with at most two decimals\n");
	text_says("[vm]\nmin_free_kbytes = 16777216T\n",
		  "error: t:2: vm.min_free_kbytes: \"16777216T\" is out of range; it takes a number (KiB)\n");
	text_says("[vm]\nswappiness = auto\n",
		  "error: t:2: vm.swappiness: there is no \"auto\" for this tunable; it takes 0 to 200\n");
	text_says("[thp]\nenabled = madvice\n",
		  "error: t:2: thp.enabled: \"madvice\" is none of: always madvise never; did you mean \"madvise\"?\n");
	text_says("[thp]\nenabled = 17\n", "error: t:2: thp.enabled: \"17\" is none of: always madvise never\n");
	text_says(
		"[thp]\nenabled = always [madvise] never\n",
		"error: t:2: thp.enabled: \"always [madvise] never\" is not one word without brackets; it takes always madvise never\n");
	text_says("[thp]\nuse_zero_page = maybe\n", "error: t:2: thp.use_zero_page: \"maybe\" is neither yes nor no\n");
	text_says("[hugetlb]\n2M.pages = 3M\n",
		  "error: t:2: hugetlb.2M.pages: \"3M\" is not a whole number of 2M pages\n");
	text_says(
		"[hugetlb]\n3M.pages = 3\n",
		"error: t:2: \"3M.pages\" in [hugetlb]: sizes are powers of two with a suffix (2M, 1G), nodes are node0, node1 and so on\n");
	text_says("[vm]\nlowmem_reserve_ratio = 256 x\n",
		  "error: t:2: vm.lowmem_reserve_ratio: \"256 x\" is not a list of numbers; it takes numbers\n");
}

static void bounds_are_for_numbers(void **state)
{
	text_says("[thp]\nenabled = >= madvise\n",
		  "error: t:2: thp.enabled: \">=\" is for tunables that are a number\n");
	text_says("[vm]\nlowmem_reserve_ratio = <= 1 2\n",
		  "error: t:2: vm.lowmem_reserve_ratio: \"<=\" is for tunables that are a number\n");
	text_says("[vm]\nswappiness = >=\n", "error: t:2: vm.swappiness: no number after \">=\"\n");
	text_says(
		"[vm]\nwant_old_faultaround_pte = >= auto\n",
		"error: t:2: vm.want_old_faultaround_pte: \">=\" needs a number, a size or a percentage, not \"auto\"\n");
	text_says("[vm]\nswappiness == 10\n", "error: t:2: vm.swappiness: one \"=\" is enough\n");
	text_says("[vm]\nswappiness = => 10\n", "error: t:2: vm.swappiness: \"=>\" is written \">=\"\n");
	text_says("[vm]\nswappiness = > 10\n",
		  "error: t:2: vm.swappiness: \">\" alone is not known here; \">=\" sets a floor\n");
	text_says("[sysctl]\nfs.foo = >= 5\n", "error: t:2: sysctl.fs.foo: \">=\" is for tunables that are a number\n");
}

static void unknown_names(void **state)
{
	text_says("[vm]\nswapiness = 10\n",
		  "error: t:2: unknown tunable \"swapiness\" in [vm]; did you mean \"swappiness\"?\n");
	text_says("[vm]\nxyzzy_plugh = 10\n", "error: t:2: unknown tunable \"xyzzy_plugh\" in [vm]\n");
	text_says("[hugetlb]\n2M.node1.page = 1\n",
		  "error: t:2: unknown tunable \"2M.node1.page\" in [hugetlb]; did you mean \"2M.node1.pages\"?\n");
	text_says("[hugetlb]\n2M.nodes1.pages = 1\n",
		  "error: t:2: unknown tunable \"2M.nodes1.pages\" in [hugetlb]; did you mean \"2M.node1.pages\"?\n");
	text_says(
		"[vm]\nnr_hugepages = 1\n",
		"error: t:2: unknown tunable \"nr_hugepages\" in [vm]; write \"2M.pages\" in [hugetlb], with the size you "
		"mean\n");
	text_says("[vm]\ndrop_caches = 3\n",
		  "error: t:2: unknown tunable \"drop_caches\" in [vm]; it is a command, not a setting\n");
	text_says(
		"[Policy]\nEssential = hugetlb.1G.page\n",
		"error: t:2: Essential: there is no tunable \"hugetlb.1G.page\"; did you mean \"hugetlb.1G.pages\"?\n");
	text_says("[Match]\nHostname = db1\n",
		  "error: t:2: unknown condition \"Hostname\" in [Match]; see mmopt.policy(5), CONDITIONS\n");
	text_says("[Policy]\nx = y\n",
		  "error: t:2: unknown option \"x\" in [Policy]; it takes Essential and MemoryFloor\n");
	text_says("[vm]\nvm.swappiness = 10\n",
		  "error: t:2: unknown tunable \"vm.swappiness\" in [vm]; write \"swappiness = 10\" in [vm]\n");
	text_says("[memory]\nswappiness = 10\n",
		  "error: t:2: unknown tunable \"swappiness\" in [memory]; write \"swappiness = 10\" in [vm]\n");
	text_says("[vm]\nkernel.numa_balancing = 1\n",
		  "error: t:2: unknown tunable \"kernel.numa_balancing\" in [vm]; write \"balancing = 1\" in [numa]\n");
	text_says("[vm]\n/sys/kernel/mm/ksm/run = 1\n",
		  "error: t:2: unknown tunable \"/sys/kernel/mm/ksm/run\" in [vm]; write \"run = 1\" in [ksm]\n");
	text_says(
		"vm.swappiness = 10\n",
		"error: t:1: \"vm.swappiness\" stands before the first [section]; write \"swappiness = 10\" in [vm]\n");
	text_says("[hugepages]\n2M.pages = 1\n",
		  "error: t:1: unknown section [hugepages], and nothing in it counts; did you mean [hugetlb]?\n");
	text_says("[VM]\nfoo = 1\n",
		  "error: t:1: unknown section [VM], and nothing in it counts; did you mean [vm]?\n");
	text_says("[match]\nHost = a\n",
		  "error: t:1: unknown section [match], and nothing in it counts; did you mean [Match]?\n");
	text_says(
		"[boot]\ntransparent_hugepages = never\n",
		"error: t:2: unknown tunable \"transparent_hugepages\" in [boot]; did you mean \"transparent_hugepage\"?\n");
	text_says("[vm]\n- = 5\n", "error: t:2: no name after the \"-\"\n");
}

static void every_mistake_in_one_run(void **state)
{
	text_says(
		"[Match]\n"
		"Hots = db\n"
		"[Policy]\n"
		"Esential = vm.swappiness\n"
		"Essential = vm.swapiness foo thp.enabled\n"
		"MemoryFloor = 10\n"
		"[vm]\n"
		"swappiness = 300\n"
		"dirty_ratio = x\n"
		"this line is a forgotten comment\n"
		"[thp\n"
		"enabled = never\n"
		"[thp]\n"
		"enabled = neve\n",
		"error: t:2: unknown condition \"Hots\" in [Match]; did you mean \"Host\"?\n"
		"error: t:4: unknown option \"Esential\" in [Policy]; did you mean \"Essential\"?\n"
		"error: t:5: Essential: there is no tunable \"foo\"\n"
		"error: t:5: Essential: there is no tunable \"vm.swapiness\"; did you mean \"vm.swappiness\"?\n"
		"error: t:6: MemoryFloor: \"10\" is not a percentage, a size with a suffix, or one of each: \"10%\", \"512M\", "
		"\"10% 512M\"\n"
		"error: t:8: vm.swappiness: \"300\" is out of range; it takes 0 to 200\n"
		"error: t:9: vm.dirty_ratio: \"x\" is not a number; it takes 0 to 100 (%)\n"
		"error: t:10: \"this line is a forgotten comment\" is neither a comment, a [section] nor a line with \"=\"\n"
		"error: t:11: no \"]\" at the end of \"[thp\"\n"
		"error: t:14: thp.enabled: \"neve\" is none of: always madvise never; did you mean \"never\"?\n"
		"warning: thp.enabled: is essential by [Policy], but no file that counts here sets it\n");
}

static void options(void **state)
{
	_cleanup_loaded_ struct loaded l =
		load_text("[vm]\nswappiness = 1\n[thp]\nenabled = never\n[Policy]\n"
			  "Essential = vm.swappiness\nEssential = thp.enabled vm.swappiness\n"
			  "MemoryFloor = 12.5% 1G\n",
			  NULL);

	assert_int_equal(l.diags.n, 0);
	assert_int_equal(l.policy->n_essential, 2);
	assert_true(policy_is_essential(l.policy, "vm.swappiness"));
	assert_true(policy_is_essential(l.policy, "thp.enabled"));
	assert_false(policy_is_essential(l.policy, "vm.dirty_ratio"));
	assert_true(l.policy->memory_floor_set);
	assert_int_equal(l.policy->memory_floor_permyriad, 1250);
	assert_int_equal(l.policy->memory_floor_bytes, 1 << 30);
	assert_string_equal(l.policy->memory_floor_origin, "t:8");
}

static void case_12_key_grammar(void **state)
{
	_cleanup_loaded_ struct loaded l = load_text("[sysctl]\n"
						     "net.ipv4.conf.eth0/100.200.rp_filter = 2\n"
						     "net/ipv4/conf/eth1.100/rp_filter = 2\n"
						     "kernel.foo = 1\n"
						     "-kernel/bar = 1\n",
						     NULL);

	assert_int_equal(l.diags.n, 0);
	assert_string_equal(winner(&l, "sysctl.net/ipv4/conf/eth0.100/200/rp_filter")->ref.raw_path,
			    "/proc/sys/net/ipv4/conf/eth0.100/200/rp_filter");
	assert_string_equal(winner(&l, "sysctl.net/ipv4/conf/eth1.100/rp_filter")->ref.raw_path,
			    "/proc/sys/net/ipv4/conf/eth1.100/rp_filter");
	assert_false(winner(&l, "sysctl.kernel.foo")->optional);
	assert_true(winner(&l, "sysctl.kernel.bar")->optional);

	text_says(
		"[sysctl]\nvm.dirty_*ratio = 5\n",
		"error: t:2: \"vm.dirty_*ratio\" is a pattern, and patterns are not expanded; write one line per key\n");
	text_says(
		"[sysctl]\n-vm.dirty_background_ratio\n",
		"error: t:2: \"-vm.dirty_background_ratio\" is neither a comment, a [section] nor a line with \"=\"\n");
	text_says("[sysctl]\nvm/../../tmp/x = 1\n", "error: t:2: \"vm/../../tmp/x\" leads out of /proc/sys\n");
	text_says("[sysctl]\n/proc/sys/kernel/foo = 1\n",
		  "error: t:2: \"/proc/sys/kernel/foo\": keys of [sysctl] are written without \"/proc/sys/\"\n");
	text_says("[sysctl]\nkernel..foo = 1\n", "error: t:2: \"kernel..foo\" is not a key below /proc/sys\n");
	text_says("[sysfs]\nkernel/mm/../../power/state = mem\n",
		  "error: t:2: \"kernel/mm/../../power/state\" is neither below /sys/kernel/mm nor a parameter in "
		  "/sys/module/*/parameters\n");
	text_says(
		"[sysfs]\npower/state = mem\n",
		"error: t:2: \"power/state\" is neither below /sys/kernel/mm nor a parameter in /sys/module/*/parameters\n");
}

/* The catalogue's checks cannot be got round by writing the path. */
static void case_12_raw_keys_that_the_catalogue_knows(void **state)
{
	_cleanup_loaded_ struct loaded l = load_text("[sysctl]\nvm.swappiness = 10\nvm/dirty_bytes = 256M\n[sysfs]\n"
						     "kernel/mm/transparent_hugepage/enabled = madvise\n"
						     "kernel/mm/hugepages/hugepages-2048kB/nr_hugepages = 8\n",
						     NULL);

	assert_int_equal(l.diags.n, 0);
	winner_is(&l, "vm.swappiness", "10");
	winner_is(&l, "vm.dirty_bytes", "268435456");
	winner_is(&l, "thp.enabled", "madvise");
	winner_is(&l, "hugetlb.2M.pages", "8");
	text_says("[sysctl]\nvm.swappiness = 300\n",
		  "error: t:2: vm.swappiness: \"300\" is out of range; it takes 0 to 200\n");
	text_says("[sysctl]\nvm.drop_caches = 3\n",
		  "error: t:2: vm.drop_caches: drop_caches is a command, not a setting: it would run at each apply\n");
	text_says("[sysctl]\nvm.nr_hugepages_mempolicy = 64\n",
		  "error: t:2: vm.nr_hugepages_mempolicy: this is another door to a huge page pool, past its memory "
		  "guard; use \"2M.pages\" or \"2M.node0.pages\" in [hugetlb]\n");
	text_says("[sysfs]\nkernel/mm/hugepages/hugepages-2048kB/nr_hugepages_mempolicy = 64\n"
		  "kernel/mm/hugepages/hugepages-1048576kB/demote = 1\n",
		  "error: t:2: kernel/mm/hugepages/hugepages-2048kB/nr_hugepages_mempolicy: this is another door to a "
		  "huge page pool, past its memory guard; use \"2M.pages\" or \"2M.node0.pages\" in [hugetlb]\n"
		  "error: t:3: kernel/mm/hugepages/hugepages-1048576kB/demote: demote is a command, not a setting: it "
		  "would run at each apply\n");
	text_says(
		"[sysctl]\nvm.nr_hugepages = 64\n",
		"error: t:2: vm.nr_hugepages: this is for the default huge page size, whichever that is; name the size: "
		"\"2M.pages\" in [hugetlb]\n");
	text_says(
		"[sysctl]\nkernel.foo = auto\n",
		"error: t:2: sysctl.kernel.foo: nothing is known about this key, so there is no \"auto\" for it; give a value\n");
}

static void case_14_lists_are_canonical(void **state)
{
	_cleanup_loaded_ struct loaded l = load_text("[sysctl]\nvm.lowmem_reserve_ratio = 256 256   32 0 0\n"
						     "net.ipv4.tcp_rmem = 4096  131072 6291456\n",
						     NULL);

	assert_int_equal(l.diags.n, 0);
	winner_is(&l, "vm.lowmem_reserve_ratio", "256 256 32 0 0");
	winner_is(&l, "sysctl.net.ipv4.tcp_rmem", "4096 131072 6291456");
}

static void case_15_decorated_values(void **state)
{
	static const char *const good[] = {
		"[sysctl]\nvm.swappiness = 10 # small\n",
		"[sysctl]\nvm.swappiness = \"10\"\n",
		"[sysctl]\r\nvm.swappiness = 10 # small\r\n",
		"\xef\xbb\xbf[vm]\nswappiness=10",
	};

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		_cleanup_loaded_ struct loaded l = load_text(good[i], NULL);

		assert_int_equal(l.diags.n, 0);
		winner_is(&l, "vm.swappiness", "10");
	}
	text_says(
		"[sysctl]\nvm.swappiness = 010\n",
		"error: t:2: vm.swappiness: \"010\" has a leading zero: the kernel reads 8, most people 10; write the one you mean\n");
	text_says("[vm]\nswappiness = 089\n",
		  "error: t:2: vm.swappiness: \"089\" has a leading zero; write it without\n");
	text_says(
		"[sysctl]\nkernel.foo = 1 010\n",
		"error: t:2: sysctl.kernel.foo: \"010\" has a leading zero: the kernel reads 8, most people 10; write the one you "
		"mean\n");
	text_says("sysctl -w vm.swappiness=10\n",
		  "error: t:1: this is a shell command; write \"swappiness = 10\" in [vm]\n");
	text_says("[sysctl]\nsysctl -w vm.swappiness=10\n",
		  "error: t:2: this is a shell command; write \"swappiness = 10\" in [vm]\n");
	text_says("[vm]\nsysctl -q -w kernel.foo=1\n",
		  "error: t:2: this is a shell command; write \"kernel.foo = 1\" in [sysctl]\n");
	text_says("[vm]\nswappiness = 10 20\n",
		  "error: t:2: vm.swappiness: \"10 20\" is not a number; it takes 0 to 200\n");
}

static void case_16_contradictory_pairs(void **state)
{
	_cleanup_loaded_ struct loaded kept = load_text("[vm]\ndirty_bytes = keep\ndirty_ratio = 20\n", NULL);

	text_says(
		"[sysctl]\nvm.dirty_ratio = 20\nvm.dirty_bytes = 268435456\nvm.dirty_background_ratio = 10\n",
		"error: t:3: vm.dirty_bytes: this and vm.dirty_ratio (line 2) are one setting in two forms; a file can have "
		"only one\n");
	text_says(
		"[vm]\novercommit_kbytes = 1G\novercommit_ratio = 50\n",
		"error: t:3: vm.overcommit_ratio: this and vm.overcommit_kbytes (line 2) are one setting in two forms; a "
		"file can have only one\n");
	text_says(
		"[vm]\ndirty_ratio = 30\ndirty_background_ratio = 90\n",
		"warning: t:3: vm.dirty_background_ratio: vm.dirty_background_ratio (90, t:3) is not below vm.dirty_ratio "
		"(30, t:2); the kernel then uses half of the latter\n");
	text_says("[vm]\ndirty_ratio = 30\ndirty_background_ratio = 29\n", "");
	/* To drop what an earlier file says is no contradiction. */
	assert_int_equal(kept.diags.n, 0);
	winner_is(&kept, "vm.dirty_ratio", "20");
	assert_null(policy_find(kept.policy, "vm.dirty_bytes"));
}

static void pools_by_total_and_by_node(void **state)
{
	text_says(
		"[hugetlb]\n2M.pages = 10\n2M.node0.pages = 4\n2M.node1.pages = 6\n1G.node0.pages = 1\n",
		"warning: t:3: hugetlb.2M.node0.pages: hugetlb.2M.pages is set too (t:2): that total is spread over all nodes "
		"first, then the named nodes get their own counts, and the total changes with them; use one or the other\n");
	text_says("[hugetlb]\n2M.pages = keep\n2M.node0.pages = 4\n", "");
}

static void case_18_duplicates_and_a_bad_line(void **state)
{
	_cleanup_loaded_ struct loaded l = load_text("[sysctl]\n"
						     "vm.swappiness = 10\n"
						     "this line is a forgotten comment\n"
						     "[vm]\n"
						     "swappiness = 60\n",
						     NULL);

	messages_are(
		&l,
		"error: t:3: \"this line is a forgotten comment\" is neither a comment, a [section] nor a line with "
		"\"=\"\n"
		"warning: t:5: vm.swappiness: is in this file before, in line 2; this one counts\n");
	winner_is(&l, "vm.swappiness", "60");
	assert_int_equal(l.policy->n_settings, 2);
	assert_false(l.policy->settings[0].wins);
}

static void long_texts_are_shown_in_part(void **state)
{
	_cleanup_free_ char *text = malloc(2000), *all = NULL;
	_cleanup_loaded_ struct loaded l = { 0 };

	assert_non_null(text);
	memset(text, 'x', 2000);
	memcpy(text, "[vm]\nswappiness = ", 18);
	text[1999] = 0;
	l = load_text(text, NULL);
	all = all_messages(&l);
	assert_true(strlen(all) < 200);
	assert_non_null(strstr(all, "xxx...\" is not a number"));
}

/* A module that nothing is wanted of is not loaded, which whoever allowed it may not expect. */
static void module_for_nothing(void **state)
{
	text_says(
		"[faultaround]\nmodule = yes\n[vm]\nswappiness = 10\n",
		"notice: t:2: faultaround.module: no file that counts here sets vm.want_old_faultaround_pte, so nothing is "
		"loaded: set it to 0, 1 or auto, or take this line out\n");
	text_says(
		"[vm]\nwant_old_faultaround_pte = keep\n[faultaround]\nmodule = yes\n",
		"notice: t:4: faultaround.module: no file that counts here sets vm.want_old_faultaround_pte, so nothing is "
		"loaded: set it to 0, 1 or auto, or take this line out\n");
	text_says(
		"[faultaround]\nmodule = yes\n[vm]\nwant_old_faultaround_pte = -1\n",
		"notice: t:2: faultaround.module: vm.want_old_faultaround_pte is -1 (t:4), as kernels without the module "
		"have it, so nothing is loaded: set it to 0, 1 or auto, or take this line out\n");
	text_says("[faultaround]\nmodule = yes\n[vm]\nwant_old_faultaround_pte = 0\n", "");
	text_says("[faultaround]\nmodule = yes\n[vm]\n-want_old_faultaround_pte = auto\n", "");
	text_says("[faultaround]\nmodule = no\n[vm]\nwant_old_faultaround_pte = -1\n", "");
	text_says("[faultaround]\nmodule = keep\n", "");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_form_of_value),
		cmocka_unit_test(the_needs_of_a_policy_are_those_of_its_winners),
		cmocka_unit_test(values_that_do_not_fit_their_tunable),
		cmocka_unit_test(bounds_are_for_numbers),
		cmocka_unit_test(unknown_names),
		cmocka_unit_test(every_mistake_in_one_run),
		cmocka_unit_test(options),
		cmocka_unit_test(case_12_key_grammar),
		cmocka_unit_test(case_12_raw_keys_that_the_catalogue_knows),
		cmocka_unit_test(case_14_lists_are_canonical),
		cmocka_unit_test(case_15_decorated_values),
		cmocka_unit_test(case_16_contradictory_pairs),
		cmocka_unit_test(pools_by_total_and_by_node),
		cmocka_unit_test(case_18_duplicates_and_a_bad_line),
		cmocka_unit_test(long_texts_are_shown_in_part),
		cmocka_unit_test(module_for_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
