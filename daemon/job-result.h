/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/job.h"

/*
 * A result as text, to get it from the child to mmoptd: a line per thing, fields separated by tabs. document_fd is not
 * part of it.
 */

/* The caller frees. 0 or -ENOMEM. */
int job_result_format(const struct job_result *r, char **ret, size_t *ret_size);
/* 0, -EBADMSG where it is not whole, or -ENOMEM. */
int job_result_parse(const char *text, size_t size, struct job_result *ret);
