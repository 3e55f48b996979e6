/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <getopt.h>
#include <signal.h>

#include "daemon/journal.h"
#include "daemon/manager.h"

static int help(void)
{
	puts("mmoptd [OPTIONS]\n"
	     "\n"
	     "Watches over this machine's memory management policy; started by mmoptd.service.\n"
	     "\n"
	     "      --apply     Apply the policy once and end; what mmopt-apply.service does\n"
	     "  -h, --help      Show this help\n"
	     "      --version   Show the version\n"
	     "\n"
	     "See mmoptd(8), mmoptd.conf(5), mmopt.policy(5).");
	return EXIT_SUCCESS;
}

static int version(void)
{
	puts("mmoptd " MMOPT_VERSION);
	return EXIT_SUCCESS;
}

/* Without a child, a bus or a loop: early at boot there is nobody to talk to. */
static int apply(void)
{
	struct job_request request = { .kind = JOB_APPLY, .brief = true };
	struct job_result result = { .document_fd = -EBADF };
	int r, exit_status = EXIT_FAILURE;

	r = job_run(&request, NULL, &result);
	if (r < 0)
		journal(LOG_ERR, EVENT_APPLY_FAILED, NULL, "cannot apply: %s", strerror(-r));
	else if (result.error >= 0 && (result.apply_result == APPLY_DONE || result.apply_result == APPLY_PARTLY))
		exit_status = EXIT_SUCCESS;
	job_result_clear(&result);
	return exit_status;
}

static int run(void)
{
	_cleanup_(manager_freep) struct manager *m = NULL;
	int r = manager_new(&m);

	if (r < 0)
		journal(LOG_ERR, EVENT_NONE, NULL, "cannot start: %s", strerror(-r));
	else
		r = manager_run(m);
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "apply", no_argument, NULL, 'a' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{},
	};
	int option;
	bool only_apply = false;

	while ((option = getopt_long(argc, argv, "h", options, NULL)) >= 0) {
		switch (option) {
		case 'a':
			only_apply = true;
			break;
		case 'h':
			return help();
		case 'V':
			return version();
		default:
			return EXIT_FAILURE;
		}
	}
	if (optind < argc) {
		fprintf(stderr, "mmoptd: there are no arguments, only options: see mmoptd --help\n");
		return EXIT_FAILURE;
	}
	signal(SIGPIPE, SIG_IGN);
	return only_apply ? apply() : run();
}
