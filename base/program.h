/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * Runs another program to its end: no input, its output dropped, an environment of PATH and LC_ALL=C alone, no signal
 * blocked or ignored.  argv[0] is its path.  *ret_errors: the first of what it wrote to standard error, at most 4 KiB;
 * the caller frees.
 * Its exit status; -ETIMEDOUT where it had to be killed since the time was over; -EINTR where a signal killed it; or
 * the negative errno of starting it (-ENOENT: there is no such program).
 */
int run_program(char *const *argv, uint64_t timeout_usec, char **ret_errors);
