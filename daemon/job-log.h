/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/job.h"

/* Tells the journal what a job did to the machine, or why it could not; nothing about jobs that only read. */
void job_log(const struct job_request *request, const struct engine *e, const struct restore *restore,
	     const struct job_result *result);
