/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>

#include "base/fileio.h"
#include "policy-test.h"

/* The policies in conf/: the one that is installed for all, and the examples. */

static char *read_conf(const char *name)
{
	const char *sources = getenv("TEST_SOURCES");
	_cleanup_free_ char *path = xasprintf("%s/../../conf/%s", sources ? sources : ".", name);
	char *text = NULL;

	if (read_file_at(AT_FDCWD, path, 0, &text, NULL) < 0)
		fail_msg("%s cannot be read", path);
	return text;
}

/* Not an error and not a warning either: who copies an example should meet neither. */
static struct loaded load_clean(const char *name)
{
	_cleanup_free_ char *text = read_conf(name), *messages = NULL;
	struct loaded l = load_text(text, NULL);

	messages = all_messages(&l);
	if (l.diags.n > 0)
		fail_msg("%s:\n%s", name, messages);
	assert_true(l.policy->n_settings > 0);
	return l;
}

/* On any machine: every value is the machine's own, and what it lacks is no failure. */
static void default_policy_is_safe_anywhere(void **state)
{
	_cleanup_loaded_ struct loaded l = load_clean("10-default.conf");

	for (size_t i = 0; i < l.policy->n_settings; i++) {
		const struct setting *s = &l.policy->settings[i];

		if (s->form != SETTING_AUTO || !s->optional)
			fail_msg("%s: \"%s\" is not an optional auto", s->id, s->text);
		if (s->ref.tunable->scope != SCOPE_RUNTIME)
			fail_msg("%s would wait for a reboot or a daemon on every machine", s->id);
	}
	assert_null(l.policy->essential);
}

static void check_example(const char *name)
{
	_cleanup_loaded_ struct loaded l = load_clean(name);
	_cleanup_free_ char *text = NULL;

	for (size_t i = 0; i < l.policy->n_settings; i++) {
		const struct setting *s = &l.policy->settings[i];

		if (s->ref.tunable->scope == SCOPE_RAW)
			fail_msg("%s: %s is not of the catalogue", name, s->id);
		/* A kernel without a thing that only some have must not make the example fail. */
		if (startswith(s->id, "boot.") || startswith(s->id, "damon.") || startswith(s->id, "mglru.") ||
		    startswith(s->id, "zswap.") || startswith(s->id, "ksm."))
			if (!s->optional)
				fail_msg("%s: %s is not optional", name, s->id);
	}
	/* Each example says for which machines it is. */
	text = read_conf(name);
	assert_non_null(strstr(text, "\n[Match]\n"));
}

static void example_database(void **state)
{
	check_example("examples/database.conf");
}

static void example_kvm_host(void **state)
{
	check_example("examples/kvm-host.conf");
}

static void example_container_host(void **state)
{
	check_example("examples/container-host.conf");
}

static void example_desktop_zram(void **state)
{
	check_example("examples/desktop-zram.conf");
}

static void example_arm_mobile(void **state)
{
	check_example("examples/arm-mobile.conf");
}

/* A line that is commented out is meant to be used one day: with its '#' away it has to be good too. */
static void commented_lines_are_good(void **state)
{
	static const char *const names[] = { "examples/database.conf", "examples/kvm-host.conf" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_free_ char *text = read_conf(names[i]), *messages = NULL;
		_cleanup_loaded_ struct loaded l = { 0 };
		unsigned uncommented = 0;

		for (char *p = text; (p = strchr(p, '\n')); p++)
			if (p[1] == '#' && p[2] != ' ' && p[2] != '\n' && p[2] != '\t') {
				p[1] = ' ';
				uncommented++;
			}
		assert_true(uncommented > 0);
		l = load_text(text, NULL);
		messages = all_messages(&l);
		/* The alternatives repeat keys and set nodes beside the total: warnings, not errors. */
		if (l.diags.n_errors > 0)
			fail_msg("%s:\n%s", names[i], messages);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(default_policy_is_safe_anywhere),
		cmocka_unit_test(example_database),
		cmocka_unit_test(example_kvm_host),
		cmocka_unit_test(example_container_host),
		cmocka_unit_test(example_desktop_zram),
		cmocka_unit_test(example_arm_mobile),
		cmocka_unit_test(commented_lines_are_good),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
