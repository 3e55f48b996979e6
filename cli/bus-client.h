/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "cli/cli.h"

/*
 * mmoptctl asks a running mmoptd, org.mmopt1(5): on this machine where one runs, and always with --host and --machine.
 * What comes back is what the engine here would have given.
 */

/*
 * 1: answered; either *ret is a report, or cli->answer is what to show.  0: nobody to ask and nothing was done, the
 * engine here is to do it. A negative errno with a message: it failed, and the engine here must not do it again.
 */
int bus_client_run(struct cli *cli, struct report **ret);
