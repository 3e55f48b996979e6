/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What stands against loading the kernel module, what modprobe says, what is noted of it. */
#include "base/strutil.h"
#include "core/module.h"
#include "temp-dir.h"

#define RELEASE "6.12.0-test"
#define FOLDER "lib/modules/" RELEASE "/"
#define DEP FOLDER "modules.dep"
#define KO FOLDER "updates/dkms/mmopt_faultaround.ko"
#define LOCKDOWN "sys/kernel/security/lockdown"
#define SIG_ENFORCE "sys/module/module/parameters/sig_enforce"
#define SIGNED "ELF...~Module signature appended~\n"

/* A machine that nothing stands against on. */
static struct temp_dir make_machine(void)
{
	struct temp_dir d = temp_dir_make();

	temp_dir_write(&d, "proc/sys/kernel/arch", "x86_64\n");
	temp_dir_write(&d, "proc/sys/kernel/osrelease", RELEASE "\n");
	temp_dir_write(&d, "proc/sys/kernel/modules_disabled", "0\n");
	temp_dir_write(&d, "proc/sys/kernel/ftrace_enabled", "1\n");
	temp_dir_write(&d, LOCKDOWN, "[none] integrity confidentiality\n");
	temp_dir_write(&d, SIG_ENFORCE, "N\n");
	temp_dir_write(&d, DEP,
		       "kernel/fs/ext4/ext4.ko: kernel/lib/crc16.ko\n"
		       "updates/dkms/mmopt_faultaround.ko:\n");
	temp_dir_write(&d, KO, "ELF...");
	return d;
}

static char *obstacle(const struct temp_dir *d)
{
	_cleanup_(kernel_io_freep) struct kernel_io *io = NULL;
	_cleanup_(facts_clear) struct facts facts = {};
	char *reason = NULL;
	bool hidden;

	assert_int_equal(kernel_io_open(d->path, &io), 0);
	assert_int_equal(module_obstacle(io, &facts, &hidden, &reason), 0);
	assert_false(hidden);
	return reason;
}

static void expect_none(const struct temp_dir *d)
{
	_cleanup_free_ char *reason = obstacle(d);

	if (reason)
		fail_msg("something stands against it: %s", reason);
}

static void expect_obstacle(const struct temp_dir *d, const char *part)
{
	_cleanup_free_ char *reason = obstacle(d);

	if (!reason || !strstr(reason, part))
		fail_msg("\"%s\" does not say \"%s\"", reason ?: "nothing", part);
}

static void nothing(void **state)
{
	_cleanup_(temp_dir_donep) struct temp_dir d = make_machine();

	expect_none(&d);
	temp_dir_write(&d, "proc/sys/kernel/arch", "aarch64\n");
	expect_none(&d);
}

static void machines(void **state)
{
	_cleanup_(temp_dir_donep) struct temp_dir d = make_machine();

	temp_dir_write(&d, "proc/sys/kernel/arch", "riscv64\n");
	expect_obstacle(&d, "made for x86_64 and arm64, not for riscv64");
	temp_dir_write(&d, "proc/sys/kernel/arch", "x86_64\n");
	temp_dir_write(&d, "proc/sys/kernel/modules_disabled", "1\n");
	expect_obstacle(&d, "kernel.modules_disabled is 1");
	temp_dir_write(&d, "proc/sys/kernel/modules_disabled", "0\n");
	temp_dir_write(&d, "proc/sys/kernel/ftrace_enabled", "0\n");
	expect_obstacle(&d, "sysctl kernel.ftrace_enabled=1");
	unlinkat(d.fd, "proc/sys/kernel/ftrace_enabled", 0);
	expect_obstacle(&d, "CONFIG_DYNAMIC_FTRACE");
	unlinkat(d.fd, "proc/sys/kernel/modules_disabled", 0);
	expect_obstacle(&d, "CONFIG_MODULES");
}

static void containers(void **state)
{
	_cleanup_(temp_dir_donep) struct temp_dir d = make_machine();

	temp_dir_write(&d, "run/systemd/container", "lxc\n");
	expect_obstacle(&d, "from a container (lxc)");
}

static void loaded_without_effect(void **state)
{
	_cleanup_(temp_dir_donep) struct temp_dir d = make_machine();

	temp_dir_write(&d, "sys/module/mmopt_faultaround/refcnt", "0\n");
	expect_obstacle(&d, "modprobe -r mmopt_faultaround");
}

static void not_built(void **state)
{
	static const char *const others[] = {
		"",
		"kernel/fs/ext4/ext4.ko: updates/mmopt_faultaround.ko\n",
		"updates/mmopt_faultaround_other.ko:\nupdates/not_mmopt_faultaround.ko:\n",
		"updates/mmopt_faultaround.kox\n",
	};
	_cleanup_(temp_dir_donep) struct temp_dir d = make_machine();

	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		temp_dir_write(&d, DEP, others[i]);
		expect_obstacle(&d, "apt install mmopt-faultaround-dkms linux-headers-" RELEASE);
	}
	/* The first line, the last without its newline, and compressed. */
	temp_dir_write(&d, DEP, "mmopt_faultaround.ko:\n");
	expect_none(&d);
	temp_dir_write(&d, DEP, "a/b.ko:\nextra/mmopt_faultaround.ko.xz:");
	expect_none(&d);
	unlinkat(d.fd, DEP, 0);
	expect_obstacle(&d, "not built for this kernel");
}

static void signatures(void **state)
{
	_cleanup_(temp_dir_donep) struct temp_dir d = make_machine();

	temp_dir_write(&d, LOCKDOWN, "none [integrity] confidentiality\n");
	expect_obstacle(&d, "not signed, and kernel lockdown (integrity)");
	temp_dir_write(&d, KO, SIGNED);
	expect_none(&d);
	temp_dir_write(&d, LOCKDOWN, "[none] integrity confidentiality\n");
	temp_dir_write(&d, SIG_ENFORCE, "Y\n");
	expect_none(&d);
	temp_dir_write(&d, KO, "x");
	expect_obstacle(&d, "not signed, and module.sig_enforce");
	/* What is inside cannot be seen: the kernel has to say. */
	temp_dir_write(&d, DEP, "updates/dkms/mmopt_faultaround.ko.xz:\n");
	expect_none(&d);
}

/* ---- loading */

static void write_script(const struct temp_dir *d, const char *text)
{
	_cleanup_free_ char *script = xasprintf("#!/bin/sh\n%s\n", text);

	assert_non_null(script);
	temp_dir_write(d, "modprobe", script);
	assert_int_equal(fchmodat(d->fd, "modprobe", 0755, 0), 0);
}

/* Loads with a modprobe that does this; its $PLACE is the machine's folder. */
static char *load(const struct temp_dir *d, const char *script)
{
	_cleanup_free_ char *modprobe = xasprintf("%s/modprobe", d->path), *log = xasprintf("%s/kmsg", d->path);
	_cleanup_free_ char *text = xasprintf("PLACE=%s\n%s", d->path, script);
	_cleanup_(kernel_io_freep) struct kernel_io *io = NULL;
	_cleanup_(facts_clear) struct facts facts = {};
	char *reason = NULL;

	assert_non_null(text);
	temp_dir_write(d, "kmsg", "3,1,1,-;mmopt_faultaround: what was before\n");
	write_script(d, text);
	assert_int_equal(kernel_io_open(d->path, &io), 0);
	assert_int_equal(module_load(io, &facts, modprobe, log, &reason), 0);
	return reason;
}

static void expect_load(const struct temp_dir *d, const char *script, const char *part)
{
	_cleanup_free_ char *reason = load(d, script);

	if (!reason || !strstr(reason, part))
		fail_msg("\"%s\" does not say \"%s\"", reason ?: "loaded", part);
}

static void loads(void **state)
{
	_cleanup_(temp_dir_donep) struct temp_dir d = make_machine();
	_cleanup_free_ char *reason = load(&d, "echo \"$*,$PATH,$LC_ALL,$HOME\" >$PLACE/seen");

	assert_null(reason);
	temp_dir_expect(&d, "seen", "mmopt_faultaround,/usr/sbin:/usr/bin:/sbin:/bin,C,\n");
}

static void refusals(void **state)
{
	_cleanup_(temp_dir_donep) struct temp_dir d = make_machine();

	expect_load(&d, "exit 3", "failed with exit status 3");
	expect_load(&d, "kill -9 $$", "was killed");
	expect_load(
		&d,
		"echo \"modprobe: ERROR: could not insert 'mmopt_faultaround': Operation not permitted\" >&2; exit 1",
		"modprobe: could not insert 'mmopt_faultaround': Operation not permitted (kernel lockdown");
	expect_load(&d, "echo 'modprobe: ERROR: x: Key was rejected by service' >&2; exit 1", "mokutil --import");
	expect_load(&d, "echo 'modprobe: ERROR: x: Exec format error' >&2; exit 1", "dkms autoinstall");
	expect_load(&d,
		    "echo '3,2,2,-;mmopt_faultaround: filemap_map_pages() cannot be traced: -22' >>$PLACE/kmsg\n"
		    "echo '5,3,2,-;mmopt_faultaround: loading out-of-tree module taints kernel.' >>$PLACE/kmsg\n"
		    "echo 'modprobe: ERROR: x: Invalid argument' >&2; exit 1",
		    "the kernel's log says of it: filemap_map_pages() cannot be traced: -22");
}

/* What is known to be in vain is not tried. */
static void not_tried(void **state)
{
	_cleanup_(temp_dir_donep) struct temp_dir d = make_machine();

	temp_dir_write(&d, DEP, "");
	expect_load(&d, "echo tried >$PLACE/seen", "not built for this kernel");
	assert_int_equal(faccessat(d.fd, "seen", F_OK, 0), -1);
}

static void no_modprobe(void **state)
{
	_cleanup_(temp_dir_donep) struct temp_dir d = make_machine();
	_cleanup_(kernel_io_freep) struct kernel_io *io = NULL;
	_cleanup_(facts_clear) struct facts facts = {};
	_cleanup_free_ char *reason = NULL;

	assert_int_equal(kernel_io_open(d.path, &io), 0);
	assert_int_equal(module_load(io, &facts, "/nonexistent/modprobe", NULL, &reason), 0);
	assert_string_equal(reason, "/nonexistent/modprobe cannot be run: No such file or directory");
}

/* ---- the note */

static void expect_note(const struct temp_dir *d, enum module_state state, const char *reason)
{
	_cleanup_(module_note_clear) struct module_note note = {};

	assert_int_equal(module_note_read(d->fd, &note), 0);
	assert_int_equal(note.state, state);
	assert_string_equal(note.reason ?: "", reason);
}

static void notes(void **state)
{
	_cleanup_(temp_dir_donep) struct temp_dir d = temp_dir_make();

	expect_note(&d, MODULE_UNTRIED, "");
	assert_int_equal(module_note_write(d.fd, MODULE_LEFT, NULL), 0);
	expect_note(&d, MODULE_LEFT, "");
	assert_int_equal(module_note_write(d.fd, MODULE_REFUSED, "so\tand\nso \\"), 0);
	expect_note(&d, MODULE_REFUSED, "so\tand\nso \\");
	assert_int_equal(module_note_write(d.fd, MODULE_UNTRIED, NULL), 0);
	expect_note(&d, MODULE_UNTRIED, "");
	assert_int_equal(module_note_write(d.fd, MODULE_UNTRIED, NULL), 0);
}

static void odd_notes(void **state)
{
	static const char *const texts[] = { "", "mmopt-module 1\trefused\n", "mmopt-module 2\trefused\tx\n",
					     "mmopt-module 1\tother\tx\n", "mmopt-module 1\trefused\tx\ty\n" };
	_cleanup_(temp_dir_donep) struct temp_dir d = temp_dir_make();

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		temp_dir_write(&d, "run/mmopt/module", texts[i]);
		expect_note(&d, MODULE_UNTRIED, "");
	}
	/* What anybody may have written does not count. */
	assert_int_equal(module_note_write(d.fd, MODULE_REFUSED, "x"), 0);
	assert_int_equal(fchmodat(d.fd, "run/mmopt/module", 0666, 0), 0);
	expect_note(&d, MODULE_UNTRIED, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing),     cmocka_unit_test(machines),   cmocka_unit_test(containers),
		cmocka_unit_test(not_built),   cmocka_unit_test(signatures), cmocka_unit_test(loaded_without_effect),
		cmocka_unit_test(loads),       cmocka_unit_test(refusals),   cmocka_unit_test(not_tried),
		cmocka_unit_test(no_modprobe), cmocka_unit_test(notes),	     cmocka_unit_test(odd_notes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
