/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/catalogue.h"
#include "core/facts.h"

/*
 * The rules behind "auto".  Each looks at the facts alone, always gives a reason, and leaves the machine as it is
 * where the facts do not decide.
 */

/*
 * By how much the first touch of an old pte may be dearer than that of a young one for old ptes to be worth it, in ns.
 * Fault-around maps up to 15 pages beside the one asked for.  If all of them are used after all and memory is not short, old
 * ptes have cost 15 times this and brought nothing: 1.5 us, what one to three of the 15 minor faults cost that fault-around
 * has saved.  Where it was measured, the limit lies between those who gain and those who lose: 30 ns more on an emulated arm64
 * with hardware access flag, where mainline makes them old and lost nothing (46bdb4277f98); 324 ns in a nested x86 guest, and
 * on x86 mainline makes them young since 6 % of unixbench were lost (315d09bf30c2); 24 us and more where each is a fault.
 */
#define AUTO_OLD_PTE_COST_LIMIT_NS 100

/* Huge pages up to this size are taken as a reasonable unit for ordinary memory; a 64 KiB base page makes them 512 MiB. */
#define AUTO_THP_SIZE_LIMIT_BYTES (UINT64_C(32) << 20)

/* The huge zero page may take this share of memory at most: one in 512. */
#define AUTO_ZERO_PAGE_SHARE 512

void auto_hugetlb_optimize_vmemmap(const struct facts *facts, struct auto_choice *ret);
void auto_want_old_faultaround_pte(const struct facts *facts, struct auto_choice *ret);
void auto_page_cluster(const struct facts *facts, struct auto_choice *ret);
void auto_thp_enabled(const struct facts *facts, struct auto_choice *ret);
void auto_thp_persistent_zero_page(const struct facts *facts, struct auto_choice *ret);
void auto_mglru_enabled(const struct facts *facts, struct auto_choice *ret);
void auto_numa_balancing(const struct facts *facts, struct auto_choice *ret);
void auto_numa_demotion_enabled(const struct facts *facts, struct auto_choice *ret);
