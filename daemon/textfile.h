/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/diag.h"

#define TEXTFILE_NAME "mmopt.prom"

/*
 * Puts text, metrics in the classic text format, to DIRECTORY/mmopt.prom, where node_exporter's textfile collector
 * finds it: it sees the old or the new file, never half of one.  directory is absolute, and no part of it may be a
 * symbolic link: others may own a directory on the way and turn a link elsewhere.
 * 0, or a negative errno with a message in diags that says what to do.
 */
int textfile_write(const char *directory, const char *text, struct diag_list *diags);

/* Takes the file away, so that nobody takes old figures for new ones.  One that is not there is fine. */
int textfile_remove(const char *directory, struct diag_list *diags);
