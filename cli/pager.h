/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>

/*
 * Shows text through a pager: SYSTEMD_PAGER, else PAGER, else less, else more, each run without a shell.  An empty value or
 * "cat" means none.  Returns 1 where the text was shown, 0 where there is no pager to be had (nothing was written), or a
 * negative errno.
 */
int pager_show(const char *text, size_t size);
