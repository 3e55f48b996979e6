/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * mmopt-load-module: what mmopt-load-module.service runs for mmoptd, which is confined and may load nothing itself.
 * It takes no arguments, so that whoever may start the unit can load this one module and no other.  Why it could not
 * goes to standard output, one line; the exit status tells only whether it ran to its end.
 */
#include <stdio.h>

#include "base/strutil.h"
#include "core/module.h"

static int help(void)
{
	puts("mmopt-load-module\n"
	     "\n"
	     "Loads the kernel module " MODULE_NAME ", and says why where it cannot; what\n"
	     "mmopt-load-module.service runs for mmoptd.  At the shell, mmoptctl apply does it where the policy asks.\n"
	     "\n"
	     "  -h, --help      Show this help\n"
	     "      --version   Show the version\n"
	     "\n"
	     "See mmoptd(8), mmopt.policy(5).");
	return EXIT_SUCCESS;
}

static int version(void)
{
	puts("mmopt-load-module " MMOPT_VERSION);
	return EXIT_SUCCESS;
}

static int load(void)
{
	_cleanup_(kernel_io_freep) struct kernel_io *io = NULL;
	_cleanup_(facts_clear) struct facts facts = {};
	_cleanup_free_ char *reason = NULL;
	int r;

	r = kernel_io_open(NULL, &io);
	if (r >= 0)
		r = module_load(io, &facts, MODULE_MODPROBE, MODULE_KERNEL_LOG, &reason);
	if (r < 0) {
		fprintf(stderr, "mmopt-load-module: %s\n", strerror(-r));
		return EXIT_FAILURE;
	}
	if (reason)
		puts(reason);
	return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	if (argc == 2 && (streq(argv[1], "--help") || streq(argv[1], "-h")))
		return help();
	if (argc == 2 && streq(argv[1], "--version"))
		return version();
	if (argc > 1) {
		fprintf(stderr, "mmopt-load-module: it takes no arguments: see mmopt-load-module --help\n");
		return EXIT_FAILURE;
	}
	return load();
}
