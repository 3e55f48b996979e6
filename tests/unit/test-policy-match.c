/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy-test.h"

static struct facts machine(void)
{
	struct facts f = { 0 };

	assert_int_equal(facts_set_word(&f, FACTS_KERNEL, FACT_ARCHITECTURE, "x86_64", CONFIDENCE_READ, "t"), 0);
	assert_int_equal(
		facts_set_word(&f, FACTS_KERNEL, FACT_RELEASE, "6.12.117+deb12-cloud-amd64", CONFIDENCE_READ, "t"), 0);
	assert_int_equal(facts_set_word(&f, FACTS_KERNEL, FACT_HOST, "db-07", CONFIDENCE_READ, "t"), 0);
	assert_int_equal(facts_set_number(&f, FACTS_KERNEL, FACT_PAGE_SIZE, 4096, CONFIDENCE_READ, "t"), 0);
	assert_int_equal(
		facts_set_number(&f, FACTS_MEMORY, FACT_MEMORY_TOTAL, UINT64_C(67000000000), CONFIDENCE_READ, "t"), 0);
	assert_int_equal(
		facts_set_number(&f, FACTS_MEMORY, FACT_MEMORY_ONLINE, UINT64_C(64) << 30, CONFIDENCE_READ, "t"), 0);
	assert_int_equal(facts_set_word(&f, FACTS_ACCESS_FLAG, FACT_ACCESS_FLAG, "hardware", CONFIDENCE_PROBED, "t"),
			 0);
	assert_int_equal(facts_set_word(&f, FACTS_VIRT, FACT_CONTAINER, "none", CONFIDENCE_READ, "t"), 0);
	assert_int_equal(facts_set_word(&f, FACTS_VIRT, FACT_VIRTUALIZATION, "kvm", CONFIDENCE_READ, "t"), 0);
	return f;
}

static void matches(const char *line, bool want)
{
	_cleanup_(facts_clear) struct facts f = machine();
	_cleanup_free_ char *text =
		xasprintf("[vm]\nswappiness = 10\n[Policy]\nEssential = vm.swappiness\n[Match]\n%s\n", line);
	_cleanup_loaded_ struct loaded l = load_text(text, &f);

	messages_are(&l, "");
	if (l.policy->files[0].matched != want)
		fail_msg("\"%s\" should be %s", line, want ? "true" : "false");
	/* [Match] stands last here, and what comes before it must not count either. */
	assert_int_equal(l.policy->n_settings, want);
	assert_int_equal(l.policy->n_essential, want);
	assert_int_equal(!!l.policy->files[0].match_reason, !want);
}

static void every_condition(void **state)
{
	matches("Architecture = x86_64", true);
	matches("Architecture = arm64 x86_64", true);
	matches("Architecture = amd64", true);
	matches("Architecture = aarch64", false);
	matches("Architecture = !aarch64", true);
	matches("Architecture = !x86_64 !arm64", false);
	matches("Architecture = riscv riscv64 s390x", false);
	matches("AccessFlag = hardware", true);
	matches("AccessFlag = software unknown", false);
	matches("Host = db-*", true);
	matches("Host = db-0[1-9]", true);
	matches("Host = db-* !*-07", false);
	matches("Host = web-*", false);
	matches("Virtualization = kvm", true);
	matches("Virtualization = yes", true);
	matches("Virtualization = no", false);
	matches("Container = no", true);
	matches("Container = yes", false);
	matches("Container = !docker", true);
	matches("PageSize = 4K", true);
	matches("PageSize = 64K", false);
}

static void kernel_versions(void **state)
{
	matches("KernelVersion = >=5.18", true);
	matches("KernelVersion = >= 5.18", true);
	matches("KernelVersion = >=6.13", false);
	matches("KernelVersion = <6.12.118", true);
	matches("KernelVersion = <6.12.117", false);
	matches("KernelVersion = >6.12.116", true);
	matches("KernelVersion = 6.12.117", true);
	matches("KernelVersion = =6.12.117", true);
	matches("KernelVersion = !=6.12.117", false);
	matches("KernelVersion = 6.1 6.12", true);
	matches("KernelVersion = 6.1", false);
	/* A series stands for all of its releases, whichever the relation. */
	matches("KernelVersion = 6.12", true);
	matches("KernelVersion = <=6.12", true);
	matches("KernelVersion = >6.12", false);
	matches("KernelVersion = >=6", true);
	matches("KernelVersion = !=6.12", false);
	/* Bounds in one line all hold: a range. */
	matches("KernelVersion = >=6.0 <6.13", true);
	matches("KernelVersion = >=6.0 <6.12", false);
	matches("KernelVersion = >=6.12.114 <=6.12.117 !6.12.117", false);
}

/* A machine with 64G has less of it as MemTotal, and is a machine with 64G. */
static void memory(void **state)
{
	matches("MemoryTotal = >=64G", true);
	matches("MemoryTotal = >64G", false);
	matches("MemoryTotal = <64G", false);
	matches("MemoryTotal = >=32G <=128G", true);
	matches("MemoryTotal = >=128G", false);
}

static void all_lines_have_to_hold(void **state)
{
	matches("Architecture = x86_64\nHost = db-*", true);
	matches("Architecture = x86_64\nHost = web-*", false);
	matches("Host = web-*\nArchitecture = x86_64", false);
	matches("Host = db-*\nHost = *-08", false);
}

static void what_is_not_known_is_not_true(void **state)
{
	matches("NumaNodes = 1", false);
	matches("NumaNodes = >=0", false);
	matches("NumaNodes = !1", false);
}

static void the_reason_is_kept(void **state)
{
	_cleanup_(facts_clear) struct facts f = machine();
	_cleanup_loaded_ struct loaded size = load_text("[Match]\nMemoryTotal = >=128G\n", &f);
	_cleanup_loaded_ struct loaded word = load_text("[Match]\nHost = web-* # not us\n", &f);
	_cleanup_loaded_ struct loaded unknown = load_text("[Match]\nNumaNodes = 2\n", &f);

	assert_string_equal(size.policy->files[0].match_reason, "MemoryTotal = >=128G: here it is 64G");
	assert_string_equal(word.policy->files[0].match_reason, "Host = web-*: here it is db-07");
	assert_string_equal(unknown.policy->files[0].match_reason, "NumaNodes = 2: this is not known here");
}

static void lint_takes_every_file_as_matching(void **state)
{
	_cleanup_loaded_ struct loaded l =
		load_text("[Match]\nHost = web-*\nKernelVersion = <2.6\n[vm]\nswappiness = 1\n", NULL);

	assert_int_equal(l.diags.n, 0);
	assert_true(l.policy->files[0].matched);
	winner_is(&l, "vm.swappiness", "1");
}

/* Mistakes are told whether the file matches or not. */
static void mistakes(void **state)
{
	_cleanup_(facts_clear) struct facts f = machine();
	_cleanup_loaded_ struct loaded l = load_text("[Match]\n"
						     "Host = web-*\n"
						     "KernelVersion = new >=5.x\n"
						     "MemoryTotal = 64\n"
						     "AccessFlag = hard\n"
						     "Architecture = >x86_64 x86_46\n"
						     "NumaNodes = >=two\n"
						     "KernelVersion = >=\n"
						     "Kernel = 5\n"
						     "[vm]\n"
						     "swappiness = 300\n",
						     &f);

	assert_false(l.policy->files[0].matched);
	messages_are(
		&l,
		"error: t:3: KernelVersion: \">=5.x\" is not understood; it takes versions like 6.12 or bounds like "
		">=5.18\n"
		"error: t:3: KernelVersion: \"new\" is not understood; it takes versions like 6.12 or bounds like >=5.18\n"
		"error: t:4: MemoryTotal: \"64\" is not understood; it takes bounds like >=64G\n"
		"error: t:5: AccessFlag: \"hard\" is not understood; it takes hardware, software or unknown\n"
		"error: t:6: Architecture: \">x86_64\" is not understood; it takes names like x86_64 or arm64\n"
		"error: t:6: Architecture: \"x86_46\" is not understood; it takes names like x86_64 or arm64\n"
		"error: t:7: NumaNodes: \">=two\" is not understood; it takes numbers or bounds like >=2\n"
		"error: t:8: KernelVersion: \">=\" is not understood; it takes versions like 6.12 or bounds like >=5.18\n"
		"error: t:9: unknown condition \"Kernel\" in [Match]; see mmopt.policy(5), CONDITIONS\n"
		"error: t:11: vm.swappiness: \"300\" is out of range; it takes 0 to 200\n");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_condition),
		cmocka_unit_test(kernel_versions),
		cmocka_unit_test(memory),
		cmocka_unit_test(all_lines_have_to_hold),
		cmocka_unit_test(what_is_not_known_is_not_true),
		cmocka_unit_test(the_reason_is_kept),
		cmocka_unit_test(lint_takes_every_file_as_matching),
		cmocka_unit_test(mistakes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
