/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A policy that lets mmopt load its kernel module, from the plan to the way back, with a loader made for the test. */
#include "base/strutil.h"
#include "core/engine.h"
#include "temp-dir.h"

#define RELEASE "6.12.0-test"
#define DEP "lib/modules/" RELEASE "/modules.dep"
#define SYSCTL "proc/sys/vm/want_old_faultaround_pte"
#define POLICY "etc/mmopt/policy.d/50-test.conf"
#define ID "vm.want_old_faultaround_pte"

static struct temp_dir make_machine(const char *policy)
{
	struct temp_dir d = temp_dir_make();

	assert_int_equal(mkdir_p_at(d.fd, "run", 0755), 0);
	temp_dir_write(&d, "proc/sys/kernel/arch", "x86_64\n");
	temp_dir_write(&d, "proc/sys/kernel/osrelease", RELEASE "\n");
	temp_dir_write(&d, "proc/sys/kernel/random/boot_id", "11111111-2222-3333-4444-555555555555\n");
	temp_dir_write(&d, "proc/sys/kernel/modules_disabled", "0\n");
	temp_dir_write(&d, "proc/sys/kernel/ftrace_enabled", "1\n");
	temp_dir_write(&d, "proc/sys/kernel/tainted", "12288\n");
	temp_dir_write(&d, "proc/sys/vm/swappiness", "60\n");
	temp_dir_write(&d, "proc/cmdline", "quiet\n");
	temp_dir_write(&d, DEP, "updates/dkms/mmopt_faultaround.ko:\n");
	temp_dir_write(&d, POLICY, policy);
	return d;
}

/* One program that runs the engine: what the loader does, how often it was called, what became of the item. */
struct run {
	struct temp_dir *dir;
	const char *gives;  /* what the new file holds; NULL: none comes */
	const char *reason; /* what the loader says */
	bool loader;
	const char *hidden; /* called_live.hidden */
	char *const *only;
	unsigned calls;
	struct diag_list diags;
	struct engine e;
	struct report *report;
	enum apply_result result;
};

static void run_clear(struct run *r)
{
	report_free(r->report);
	engine_clear(&r->e);
	diag_list_clear(&r->diags);
}

static int load(void *userdata, struct engine *e, char **ret_reason)
{
	struct run *r = userdata;

	r->calls++;
	if (r->gives)
		temp_dir_write(r->dir, SYSCTL, r->gives);
	*ret_reason = r->reason ? strdup(r->reason) : NULL;
	return 0;
}

/*
 * The files of the made machine, called the running kernel's: nothing is loaded for any others.  What lies behind is
 * still a root of its own.
 */
struct called_live {
	struct kernel_io io;
	struct kernel_io *files;
	const char *hidden; /* what nothing below can be read of, as under a confined unit */
};

static struct called_live *called_live(struct kernel_io *io)
{
	return (struct called_live *)((char *)io - offsetof(struct called_live, io));
}

static struct kernel_io *files_of(struct kernel_io *io)
{
	return called_live(io)->files;
}

static int live_read(struct kernel_io *io, const char *path, char **ret, size_t *ret_size)
{
	if (called_live(io)->hidden && startswith(path, called_live(io)->hidden))
		return -EACCES;
	return files_of(io)->ops->read(files_of(io), path, ret, ret_size);
}

static int live_write(struct kernel_io *io, const char *path, const char *data, size_t size)
{
	return files_of(io)->ops->write(files_of(io), path, data, size);
}

static int live_list(struct kernel_io *io, const char *path, char ***ret)
{
	return files_of(io)->ops->list(files_of(io), path, ret);
}

static bool live_exists(struct kernel_io *io, const char *path)
{
	return files_of(io)->ops->exists(files_of(io), path);
}

static int live_readlink(struct kernel_io *io, const char *path, char **ret)
{
	return files_of(io)->ops->readlink(files_of(io), path, ret);
}

static void live_free(struct kernel_io *io)
{
	kernel_io_free(files_of(io));
	free((char *)io - offsetof(struct called_live, io));
}

static const struct kernel_io_ops live_ops = {
	live_read, live_write, live_list, live_exists, live_readlink, live_free
};

static void start(struct run *r, bool live)
{
	struct called_live *called = calloc(1, sizeof(*called));

	assert_non_null(called);
	assert_int_equal(engine_open(&r->e, r->dir->path, &r->diags), 0);
	called->io = (struct kernel_io){ .ops = &live_ops, .live = live };
	called->files = r->e.io;
	called->hidden = r->hidden;
	r->e.io = &called->io;
}

static struct step *step_of(struct run *r)
{
	for (size_t i = 0; i < r->e.plan->n_steps; i++)
		if (streq(r->e.plan->steps[i].id, ID))
			return &r->e.plan->steps[i];
	fail_msg("no step");
	return NULL;
}

static void apply(struct run *r)
{
	struct engine_apply_options options = {
		.verb = "apply", .load_module = r->loader ? load : NULL, .only = r->only, .userdata = r
	};

	start(r, true);
	assert_int_equal(engine_apply(&r->e, &options, &r->result, &r->report), 0);
}

static void plan(struct run *r)
{
	start(r, true);
	assert_int_equal(engine_plan(&r->e, &r->report), 0);
}

static void verify(struct run *r)
{
	start(r, true);
	assert_int_equal(engine_verify(&r->e, &r->report), 0);
}

static void expect_step(struct run *r, enum outcome outcome, const char *part)
{
	const struct step *step = step_of(r);

	if (step->outcome != outcome || !step->reason || !strstr(step->reason, part))
		fail_msg("%s, \"%s\": not %s, \"%s\"", outcome_name(step->outcome), step->reason ?: "",
			 outcome_name(outcome), part);
}

#define ASKS "[faultaround]\nmodule = yes\n[vm]\nwant_old_faultaround_pte = 1\n"
#define RUN(d, ...)                                      \
	{                                                \
		.dir = &(d), .loader = true, __VA_ARGS__ \
	}

static void loaded_and_set(void **state)
{
	_cleanup_(temp_dir_donep) struct temp_dir d = make_machine(ASKS);
	_cleanup_(run_clear) struct run before = RUN(d), r = RUN(d, .gives = "-1\n"), again = RUN(d), back = RUN(d);

	plan(&before);
	assert_int_equal(before.calls, 0);
	expect_step(&before, OUTCOME_PENDING, "mmopt_faultaround is loaded first, and marks the kernel as tainted");
	assert_int_equal(report_exit_status(before.report), 2);
	apply(&r);
	assert_int_equal(r.calls, 1);
	assert_int_equal(r.result, APPLY_DONE);
	assert_int_equal(report_exit_status(r.report), 0);
	assert_true(step_of(&r)->loaded_module);
	assert_string_equal(step_of(&r)->current, "-1");
	temp_dir_expect(&d, SYSCTL, "1\n");
	engine_clear(&r.e);
	apply(&again);
	assert_int_equal(again.calls, 0);
	assert_int_equal(step_of(&again)->outcome, OUTCOME_ALREADY);
	engine_clear(&again.e);
	/* What is given back is what the module started with. */
	start(&back, true);
	assert_int_equal(engine_rollback(&back.e, false, NULL, &back.report), 0);
	assert_int_equal(report_exit_status(back.report), 0);
	temp_dir_expect(&d, SYSCTL, "-1\n");
}

static void taint_is_told(void **state)
{
	_cleanup_(temp_dir_donep) struct temp_dir d = make_machine(ASKS);
	_cleanup_(run_clear) struct run r = RUN(d, .gives = "1\n");

	apply(&r);
	expect_step(&r, OUTCOME_ALREADY, "was loaded for it (kernel.tainted is now 12288)");
}

static void refused(void **state)
{
	_cleanup_(temp_dir_donep) struct temp_dir d = make_machine(ASKS);
	_cleanup_(run_clear) struct run r = RUN(d, .reason = "it will not"), look = RUN(d),
					again = RUN(d, .gives = "-1\n");

	apply(&r);
	assert_int_equal(r.calls, 1);
	assert_int_equal(r.result, APPLY_PARTLY);
	assert_int_equal(report_exit_status(r.report), 3);
	expect_step(&r, OUTCOME_REFUSED, "could not be loaded: it will not");
	engine_clear(&r.e);
	/* Who looks is told so for the rest of the boot; who applies tries again. */
	verify(&look);
	assert_int_equal(look.calls, 0);
	expect_step(&look, OUTCOME_REFUSED, "was not loaded: it will not; mmoptctl apply tries again");
	engine_clear(&look.e);
	apply(&again);
	assert_int_equal(again.calls, 1);
	assert_int_equal(again.result, APPLY_DONE);
	assert_int_equal(faccessat(d.fd, "run/mmopt/module", F_OK, 0), -1);
}

/* Success is the file, not what is said. */
static void said_to_be_loaded(void **state)
{
	_cleanup_(temp_dir_donep) struct temp_dir d = make_machine(ASKS);
	_cleanup_(run_clear) struct run r = RUN(d), other = RUN(d, .gives = "-1\n", .reason = "it has failed");

	apply(&r);
	expect_step(&r, OUTCOME_REFUSED,
		    "it is said to be there, yet there is no /proc/sys/vm/want_old_faultaround_pte");
	engine_clear(&r.e);
	apply(&other);
	assert_int_equal(step_of(&other)->outcome, OUTCOME_APPLIED);
	temp_dir_expect(&d, SYSCTL, "1\n");
}

/* "auto" that does not fit is no failure. */
static void refused_auto(void **state)
{
	_cleanup_(temp_dir_donep) struct temp_dir d =
		make_machine("[faultaround]\nmodule = yes\n[vm]\nwant_old_faultaround_pte = auto\n");
	_cleanup_(run_clear) struct run r = RUN(d, .reason = "it will not");

	start(&r, true);
	assert_int_equal(
		facts_set_word(&r.e.facts, FACTS_ACCESS_FLAG, FACT_ACCESS_FLAG, "hardware", CONFIDENCE_PROBED, "x"), 0);
	assert_int_equal(facts_set_number(&r.e.facts, FACTS_ACCESS_FLAG, FACT_OLD_PTE_COST, 12, CONFIDENCE_PROBED, "x"),
			 0);
	assert_int_equal(
		facts_set_number(&r.e.facts, FACTS_ACCESS_FLAG, FACT_YOUNG_PTE_COST, 10, CONFIDENCE_PROBED, "x"), 0);
	r.e.facts.groups |= FACTS_ACCESS_FLAG | FACTS_RECLAIM | FACTS_THP;
	assert_int_equal(
		engine_apply(&r.e,
			     &(struct engine_apply_options){ .verb = "apply", .load_module = load, .userdata = &r },
			     &r.result, &r.report),
		0);
	assert_int_equal(r.calls, 1);
	expect_step(&r, OUTCOME_UNSUPPORTED, "could not be loaded: it will not");
	assert_int_equal(r.result, APPLY_DONE);
	assert_int_equal(report_exit_status(r.report), 0);
}

/* What stands against it is seen before, and said by who looks and by who applies. */
static void obstacle(void **state)
{
	_cleanup_(temp_dir_donep) struct temp_dir d = make_machine(ASKS);
	_cleanup_(run_clear) struct run look = RUN(d), r = RUN(d);

	temp_dir_write(&d, DEP, "");
	plan(&look);
	expect_step(&look, OUTCOME_UNSUPPORTED, "not built for this kernel");
	engine_clear(&look.e);
	apply(&r);
	assert_int_equal(r.calls, 0);
	expect_step(&r, OUTCOME_UNSUPPORTED, "not built for this kernel");
	assert_int_equal(r.result, APPLY_PARTLY);
}

/* Who cannot see whether it is built does not say that it is: mmoptd has it tried all the same, and hears the reason. */
static void hidden(void **state)
{
	_cleanup_(temp_dir_donep) struct temp_dir d = make_machine(ASKS);
	_cleanup_(run_clear) struct run look = RUN(d, .hidden = "/lib/modules"),
					r = RUN(d, .hidden = "/lib/modules", .reason = "it is not built");

	plan(&look);
	expect_step(
		&look, OUTCOME_PENDING,
		"mmopt_faultaround is loaded first, if it is built for this kernel (not to be seen from a confined mmoptd: "
		"mmoptctl plan --direct tells), and marks");
	engine_clear(&look.e);
	apply(&r);
	assert_int_equal(r.calls, 1);
	expect_step(&r, OUTCOME_REFUSED, "could not be loaded: it is not built");
}

static void not_asked(void **state)
{
	static const char *const policies[] = {
		"[vm]\nwant_old_faultaround_pte = 1\n",
		"[faultaround]\nmodule = no\n[vm]\nwant_old_faultaround_pte = 1\n",
		"[faultaround]\nmodule = keep\n[vm]\nwant_old_faultaround_pte = 1\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(policies); i++) {
		_cleanup_(temp_dir_donep) struct temp_dir d = make_machine(policies[i]);
		_cleanup_(run_clear) struct run r = RUN(d, .gives = "-1\n");

		apply(&r);
		assert_int_equal(r.calls, 0);
		expect_step(&r, OUTCOME_UNSUPPORTED, "this kernel does not have it");
	}
}

/* A module that nothing is wanted of taints no kernel. */
static void nothing_to_load_for(void **state)
{
	_cleanup_(temp_dir_donep) struct temp_dir d =
		make_machine("[faultaround]\nmodule = yes\n[vm]\nwant_old_faultaround_pte = -1\n");
	_cleanup_(temp_dir_donep) struct temp_dir none =
		make_machine("[faultaround]\nmodule = yes\n[vm]\nswappiness = 60\n");
	_cleanup_(run_clear) struct run r = RUN(d), alone = RUN(none);

	apply(&r);
	assert_int_equal(r.calls, 0);
	expect_step(&r, OUTCOME_ALREADY, "this kernel does so, without the module");
	apply(&alone);
	assert_int_equal(alone.calls, 0);
	assert_int_equal(alone.e.plan->n_steps, 1);
}

/* The kernel that has it itself needs no module, whatever the policy allows. */
static void built_in(void **state)
{
	_cleanup_(temp_dir_donep) struct temp_dir d = make_machine(ASKS);
	_cleanup_(run_clear) struct run r = RUN(d);

	temp_dir_write(&d, SYSCTL, "0\n");
	apply(&r);
	assert_int_equal(r.calls, 0);
	assert_int_equal(step_of(&r)->outcome, OUTCOME_APPLIED);
	assert_false(step_of(&r)->loaded_module);
}

/* Early at boot: left, noted, no failure; what is left alone by this run is not loaded for either. */
static void left(void **state)
{
	static char *const other[] = { (char *)"vm.swappiness", NULL };
	_cleanup_(temp_dir_donep) struct temp_dir d = make_machine(ASKS "swappiness = 10\n");
	_cleanup_(run_clear) struct run r = { .dir = &d }, look = RUN(d), part = RUN(d, .only = other);

	apply(&r);
	expect_step(&r, OUTCOME_PENDING, "mmoptd loads the module");
	assert_int_equal(r.result, APPLY_DONE);
	temp_dir_expect(&d, "proc/sys/vm/swappiness", "10\n");
	engine_clear(&r.e);
	verify(&look);
	assert_int_equal(look.e.module_note.state, MODULE_LEFT);
	expect_step(&look, OUTCOME_PENDING, "mmoptd loads the module");
	assert_int_equal(report_exit_status(look.report), 2);
	engine_clear(&look.e);
	apply(&part);
	assert_int_equal(part.calls, 0);
}

/* What has been taken back, by whom ever, is not set by mmoptd afterwards. */
static void left_and_taken_back(void **state)
{
	_cleanup_(temp_dir_donep) struct temp_dir d = make_machine(ASKS "swappiness = 10\n");
	_cleanup_(run_clear) struct run r = { .dir = &d }, back = RUN(d), look = RUN(d);

	apply(&r);
	engine_clear(&r.e);
	start(&back, true);
	assert_int_equal(engine_rollback(&back.e, false, NULL, &back.report), 0);
	temp_dir_expect(&d, "proc/sys/vm/swappiness", "60\n");
	engine_clear(&back.e);
	verify(&look);
	assert_int_equal(look.e.module_note.state, MODULE_UNTRIED);
}

static void left_and_undone(void **state)
{
	_cleanup_(temp_dir_donep) struct temp_dir d =
		make_machine(ASKS "swappiness = 10\nstat_interval = 2\n[Policy]\nEssential = vm.stat_interval\n");
	_cleanup_(run_clear) struct run r = { .dir = &d }, look = RUN(d);

	apply(&r);
	assert_int_equal(r.result, APPLY_UNDONE);
	temp_dir_expect(&d, "proc/sys/vm/swappiness", "60\n");
	engine_clear(&r.e);
	verify(&look);
	assert_int_equal(look.e.module_note.state, MODULE_UNTRIED);
}

/* Below another root nothing is loaded, and nothing is noted. */
static void not_live(void **state)
{
	_cleanup_(temp_dir_donep) struct temp_dir d = make_machine(ASKS);
	_cleanup_(run_clear) struct run r = RUN(d, .gives = "-1\n");
	struct engine_apply_options options = { .verb = "apply", .load_module = load, .userdata = &r };

	start(&r, false);
	assert_int_equal(engine_apply(&r.e, &options, &r.result, &r.report), 0);
	assert_int_equal(r.calls, 0);
	assert_int_equal(faccessat(d.fd, "run/mmopt/module", F_OK, 0), -1);
}

/* Somebody removes the module: that is drift, and what is taken back then is nothing that could fail. */
static void removed(void **state)
{
	_cleanup_(temp_dir_donep) struct temp_dir d = make_machine(ASKS);
	_cleanup_(run_clear) struct run r = RUN(d, .gives = "-1\n"), look = RUN(d), back = RUN(d), after = RUN(d);
	_cleanup_(restore_clear) struct restore restore = {};

	apply(&r);
	engine_clear(&r.e);
	assert_int_equal(unlinkat(d.fd, SYSCTL, 0), 0);
	verify(&look);
	expect_step(&look, OUTCOME_DRIFTED, "someone else removed the module");
	assert_int_equal(report_exit_status(look.report), 2);
	engine_clear(&look.e);
	start(&back, true);
	assert_int_equal(engine_rollback(&back.e, false, &restore, &back.report), 0);
	assert_int_equal(report_exit_status(back.report), 0);
	assert_int_equal(restore.items[0].outcome, RESTORE_ALREADY);
	engine_clear(&back.e);
	/* Taken back, so nobody's change any more. */
	verify(&after);
	expect_step(&after, OUTCOME_PENDING, "is loaded first");
}

static void removed_and_applied_again(void **state)
{
	_cleanup_(temp_dir_donep) struct temp_dir d = make_machine(ASKS);
	_cleanup_(run_clear) struct run r = RUN(d, .gives = "-1\n"), again = RUN(d, .gives = "-1\n");

	apply(&r);
	engine_clear(&r.e);
	assert_int_equal(unlinkat(d.fd, SYSCTL, 0), 0);
	apply(&again);
	assert_int_equal(again.calls, 1);
	assert_int_equal(step_of(&again)->outcome, OUTCOME_APPLIED);
	temp_dir_expect(&d, SYSCTL, "1\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loaded_and_set),
		cmocka_unit_test(taint_is_told),
		cmocka_unit_test(refused),
		cmocka_unit_test(said_to_be_loaded),
		cmocka_unit_test(refused_auto),
		cmocka_unit_test(obstacle),
		cmocka_unit_test(hidden),
		cmocka_unit_test(not_asked),
		cmocka_unit_test(nothing_to_load_for),
		cmocka_unit_test(built_in),
		cmocka_unit_test(left),
		cmocka_unit_test(left_and_taken_back),
		cmocka_unit_test(left_and_undone),
		cmocka_unit_test(not_live),
		cmocka_unit_test(removed),
		cmocka_unit_test(removed_and_applied_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
