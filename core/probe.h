/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/kernel-io.h"

/*
 * Functional probes: they make page faults in this process and see what the running kernel does.  Unprivileged; a few
 * milliseconds at most.  io is asked for /proc/self/smaps and has to be live: -EOPNOTSUPP otherwise.
 */

enum access_flag {
	ACCESS_FLAG_UNKNOWN,
	ACCESS_FLAG_HARDWARE, /* the MMU sets it: an old pte costs no fault */
	ACCESS_FLAG_SOFTWARE, /* each first access through an old pte is a page fault */
};

struct access_flag_probe {
	enum access_flag set_by;
	unsigned pages;		 /* touched per round */
	unsigned rounds_usable;	 /* rounds in which faults were counted and ageing worked */
	unsigned faults_old;	 /* least of all usable rounds: faults of touching the aged pages */
	unsigned faults_control; /* likewise without ageing: noise */
	const char *reason;	 /* ACCESS_FLAG_UNKNOWN: why; a literal */
};

/*
 * Ages pages by MADV_COLD and counts the faults of touching them again.  0; or -EINVAL where MADV_COLD is not known
 * (before Linux 5.4) or memory is locked, or another negative errno.
 */
int probe_access_flag(struct kernel_io *io, struct access_flag_probe *ret);

/*
 * What the first access to a page costs through an old pte, and through a young one that is just not in the TLB: least of
 * several rounds, nanoseconds per page.  The difference is the price of old prefaulted ptes.
 */
int probe_access_cost(struct kernel_io *io, uint64_t *ret_old_ns, uint64_t *ret_young_ns);

/*
 * Touches one page of a resident shared mapping: *ret_window_bytes is what got mapped (one page: fault-around is off),
 * *ret_referenced_bytes what of it is young: all, or one page where prefaulted ptes are old.
 * -ENODATA where the kernel does not say (no CONFIG_PROC_PAGE_MONITOR).
 */
int probe_fault_around(struct kernel_io *io, uint64_t *ret_window_bytes, uint64_t *ret_referenced_bytes);

/*
 * Touches one byte of an aligned range of huge page size, after MADV_HUGEPAGE where advise is true: did a huge page come?
 * False also means that none was free: no proof that THP is off.  -EOPNOTSUPP where the kernel has no THP.
 */
int probe_thp_fault(struct kernel_io *io, bool advise, bool *ret_huge);

/*
 * Rss, Referenced and AnonHugePages in bytes of the mapping that covers addr in smaps text; -ENOENT where there
 * is none, -ENODATA where a line is missing.  For the probes and their tests.
 */
struct smaps_entry {
	uint64_t rss_bytes, referenced_bytes, anon_huge_bytes;
};
int smaps_find(const char *text, uintptr_t addr, struct smaps_entry *ret);
