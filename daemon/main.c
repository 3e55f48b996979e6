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
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{},
	};
	int option;

	while ((option = getopt_long(argc, argv, "h", options, NULL)) >= 0) {
		switch (option) {
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
	return run();
}
