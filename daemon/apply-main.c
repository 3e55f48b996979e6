/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * mmopt-apply: what mmopt-apply.service runs early at boot, when there is no bus to talk to and nobody to show a report
 * to.  A program of its own, so that no library is loaded which only mmoptd needs: at that point it would take longer
 * than the work.
 */
#include <sys/stat.h>

#include "base/strutil.h"
#include "daemon/job-log.h"
#include "daemon/journal.h"

static int help(void)
{
	puts("mmopt-apply\n"
	     "\n"
	     "Applies this machine's memory management policy once; what mmopt-apply.service runs.\n"
	     "At the shell, mmoptctl apply does the same and shows what it did.\n"
	     "\n"
	     "  -h, --help      Show this help\n"
	     "      --version   Show the version\n"
	     "\n"
	     "See mmopt-apply.service(8), mmopt.policy(5).");
	return EXIT_SUCCESS;
}

static int version(void)
{
	puts("mmopt-apply " MMOPT_VERSION);
	return EXIT_SUCCESS;
}

/* The last transaction there is, or 0. */
static unsigned last_transaction(const struct engine *e)
{
	const struct transaction *t;
	size_t n = 0;

	t = undo_store_transactions(e->store, &n);
	return n > 0 ? t[n - 1].number : 0;
}

static int before_writing(void *userdata, struct engine *e)
{
	unsigned *before = userdata;

	*before = last_transaction(e);
	return 0;
}

static void run(struct engine *e, struct job_result *result)
{
	unsigned before = 0;
	struct engine_apply_options options = { .verb = "apply",
						.before_writing = before_writing,
						.userdata = &before };
	_cleanup_(report_freep) struct report *report = NULL;

	result->error = engine_open(e, NULL, &result->diags);
	if (result->error >= 0)
		result->error = engine_apply(e, &options, &result->apply_result, &report);
	if (result->error < 0 || !e->store)
		return;
	result->transaction = last_transaction(e);
	result->changed = result->transaction != before;
}

int main(int argc, char **argv)
{
	struct job_request request = { .kind = JOB_APPLY };
	struct job_result result = { .document_fd = -EBADF };
	_cleanup_(engine_clear) struct engine e = {};
	const struct restore none = {};
	bool done;

	if (argc == 2 && (streq(argv[1], "--help") || streq(argv[1], "-h")))
		return help();
	if (argc == 2 && streq(argv[1], "--version"))
		return version();
	if (argc > 1) {
		fprintf(stderr, "mmopt-apply: it takes no arguments: see mmopt-apply --help\n");
		return EXIT_FAILURE;
	}
	/* Everybody may read the record of what was done. */
	umask(0022);
	run(&e, &result);
	job_log(&request, &e, &none, &result);
	done = result.error >= 0 && (result.apply_result == APPLY_DONE || result.apply_result == APPLY_PARTLY);
	diag_list_clear(&result.diags);
	return done ? EXIT_SUCCESS : EXIT_FAILURE;
}
