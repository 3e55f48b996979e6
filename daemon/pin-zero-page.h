/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/macros.h"

/*
 * Keeps the kernel's huge zero page in existence: a read fault in a MADV_HUGEPAGE mapping takes a reference on it
 * that the address space keeps until it ends (mm_get_huge_zero_folio() in mm/huge_memory.c, MMF_HUGE_ZERO_PAGE, since
 * Linux 4.9), so that the shrinker cannot free it between users.  Costs the machine one huge page, and the process no
 * resident memory.
 */
struct zero_page {
	void *address;
	uint64_t bytes; /* of the huge page */
	bool allocs_known;
	uint64_t allocs;    /* thp_zero_page_alloc in /proc/vmstat just after */
	uint64_t since_sec; /* CLOCK_REALTIME */
};

/*
 * 0; -EOPNOTSUPP where THP is missing or off (thp.enabled, the switch of this size, PR_SET_THP_DISABLE), -EINVAL
 * where use_zero_page is off; -ENODATA where the read fault did not map it, which is lack of memory in one piece; or
 * another negative errno.  The effect is looked at: a row of small pages is read without a fault each, and
 * /proc/self/smaps shows no resident memory.  *ret_reason (the caller frees; NULL on lack of memory) says it for
 * people on failure.  Children do not have the mapping.
 */
int zero_page_pin(struct zero_page *ret, char **ret_reason);
/* Unmaps.  The kernel keeps the reference until the process ends, so that giving it up for good takes a new process. */
void zero_page_unpin(struct zero_page *z);
