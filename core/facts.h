/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/kernel-io.h"

/*
 * One snapshot of the machine: a flat list of named facts, each with its value, where it comes from and, where it is
 * inferred rather than read, how sure it is.  A fact that could not be had is not in the list, or is in it
 * as FACT_UNKNOWN with the reason as its source.
 */

enum fact_type {
	FACT_UNKNOWN, /* looked for, not to be had; source says why */
	FACT_NUMBER,
	FACT_BOOLEAN,
	FACT_WORD,
};

enum fact_confidence {
	CONFIDENCE_READ,     /* the kernel says so itself */
	CONFIDENCE_PROBED,   /* seen by behaviour, with controls */
	CONFIDENCE_COMPUTED, /* by the kernel's own formula from values read */
	CONFIDENCE_INFERRED, /* a conclusion that can be wrong */
};

/* Subjects, so that a caller pays only for what it needs. */
enum facts_group {
	FACTS_KERNEL = 1 << 0,	/* release, architecture, page size */
	FACTS_MEMORY = 1 << 1,	/* totals, nodes, blocks, watermarks, committed memory and its limit */
	FACTS_HUGETLB = 1 << 2, /* sizes and pools */
	FACTS_STRUCT_PAGE =
		1
		<< 3, /* sizeof(struct page), HVO support, state and defect, FACT_SECTION_MEMMAP_PAGES, FACT_COMMIT_EXACT */
	FACTS_ACCESS_FLAG = 1 << 4,  /* who sets it and what an old pte costs (functional probe) */
	FACTS_FAULT_AROUND = 1 << 5, /* window and age of its ptes (functional probe) */
	FACTS_THP = 1 << 6,	     /* THP, mTHP, khugepaged, huge zero page */
	FACTS_RECLAIM = 1 << 7,	     /* MGLRU, large folios, swap, zswap, zram, KSM, DAMON, PSI */
	FACTS_NUMA = 1 << 8,
	FACTS_VIRT = 1 << 9,	     /* virtualization, container, rescue, kdump */
	FACTS_BOOT = 1 << 10,	     /* command line, boot loader */
	FACTS_WRITERS = 1 << 11,     /* sysctl.d, tuned, saptune, kubelet and the keys they set */
	FACTS_CONFIG = 1 << 12,	     /* options the kernel was built with */
	FACTS_CONFINEMENT = 1 << 13, /* cgroup, lockdown, debugfs, what can be written from here */
	FACTS_COMMIT = 1 << 14,	     /* how exact commit accounting is */
	FACTS_ALL = (1 << 15) - 1,
};

struct fact {
	char *name; /* "memory.total_bytes"; the unit is part of the name */
	enum fact_type type;
	enum fact_confidence confidence;
	uint64_t number; /* also 0/1 of a boolean */
	char *word;	 /* FACT_WORD */
	char *source;	 /* a path, a formula or the name of a probe; FACT_UNKNOWN: the reason */
	enum facts_group group;
};

struct facts {
	struct fact *items; /* in the order found: that is the order shown */
	size_t n;
	size_t n_allocated;
	uint32_t *slots; /* hash table over the names: index + 1, 0 where free; facts.c only */
	size_t n_slots;
	unsigned groups;  /* what has been probed */
	bool dirty_cache; /* a probe ran that is worth keeping for this boot */
};

/*
 * Names that the rest of the engine asks for; others are for people.  %s is a huge page or folio size as
 * format_size_exact() writes it ("2M"), %u a node.
 */
#define FACT_ARCHITECTURE "kernel.architecture" /* word, as ARCH in the kernel's tree: x86_64 arm64 riscv64 ... */
#define FACT_RELEASE "kernel.release"		/* word, "6.12.117+deb12-cloud-amd64" */
#define FACT_PAGE_SIZE "kernel.page_size_bytes"
#define FACT_HOST "kernel.host"			       /* word, for [Match] Host */
#define FACT_MEMORY_TOTAL "memory.total_bytes"	       /* MemTotal */
#define FACT_MEMORY_ONLINE "memory.online_bytes"       /* online blocks x block size, else MemTotal */
#define FACT_MEMORY_AVAILABLE "memory.available_bytes" /* MemAvailable */
#define FACT_MEMORY_FREE "memory.free_bytes"
#define FACT_LOW_WATERMARK "memory.low_watermark_bytes"		 /* sum over the zones */
#define FACT_SECTION_MEMMAP_PAGES "memory.memmap_pages_expected" /* S0: pages of struct page with nothing optimised */
#define FACT_CPUS_PRESENT "kernel.cpus_present"
#define FACT_COMMITTED "commit.committed_bytes" /* Committed_AS */
#define FACT_COMMIT_LIMIT "commit.limit_bytes"	/* CommitLimit */
#define FACT_COMMIT_EXACT "commit.check_exact"	/* boolean: the check against the limit is exact near it */
#define FACT_COMMIT_BATCH "commit.batch_pages"
#define FACT_COMMIT_ERROR_BOUND \
	"commit.error_bound_bytes" /* by so much the check may be wrong; overcommit_memory 2 only */
#define FACT_COMMIT_BOUND_NEVER "commit.error_bound_never_bytes" /* likewise, were vm.overcommit_memory 2 */
#define FACT_HUGETLB_DEFAULT_SIZE "hugetlb.default_size_bytes"
#define FACT_HUGETLB_SIZES "hugetlb.sizes" /* word: "2M 1G", smallest first */
#define FACT_HUGETLB_PAGES "hugetlb.%s.pages"
#define FACT_HUGETLB_FREE "hugetlb.%s.free_pages"
#define FACT_HUGETLB_RESERVED "hugetlb.%s.reserved_pages"
#define FACT_HUGETLB_SURPLUS "hugetlb.%s.surplus_pages"
#define FACT_HUGETLB_OPTIMIZED "hugetlb.%s.optimized_pages" /* by HVO; only where the kernel counts them */
#define FACT_HUGETLB_BYTES "hugetlb.total_bytes"	    /* all pools together */
#define FACT_STRUCT_PAGE "struct_page.bytes"
#define FACT_STRUCT_PAGE_POW2 "struct_page.power_of_two" /* boolean */
#define FACT_HVO_SUPPORTED "hvo.supported"		 /* boolean */
#define FACT_HVO_ENABLED "hvo.enabled"			 /* boolean */
#define FACT_HVO_DEFECT "hvo.defect" /* word: "none", "restore" (see facts-struct-page.c), "unknown" */
#define FACT_HVO_DEFECT_SUSPECTED "hvo.defect_suspected" /* boolean, only beside an unknown defect: by the release */
#define FACT_MEMMAP_ON_MEMORY "hvo.memmap_on_memory"	 /* word: N Y force */
#define FACT_CONFIG_SOURCE "config.source"    /* word: the file; "config.NAME" are words too: y, m, n or the value */
#define FACT_ACCESS_FLAG "access_flag.set_by" /* word: hardware, software, unknown */
#define FACT_OLD_PTE_COST "access_flag.old_pte_first_touch_ns"
#define FACT_YOUNG_PTE_COST "access_flag.young_pte_first_touch_ns"
#define FACT_FAULT_AROUND_WINDOW "fault_around.window_bytes"
#define FACT_FAULT_AROUND_PTES "fault_around.ptes" /* word: old young off mixed */
#define FACT_THP_PMD_SIZE "thp.pmd_size_bytes"
#define FACT_THP_ENABLED "thp.enabled"			     /* word */
#define FACT_ZERO_PAGE_PERSISTENT "thp.zero_page_persistent" /* boolean: CONFIG_PERSISTENT_HUGE_ZERO_FOLIO */
#define FACT_MGLRU_ENABLED "mglru.enabled"		     /* word, the mask as the kernel shows it: "0x0007" */
#define FACT_LARGE_FOLIOS "page_cache.large_folios"	     /* boolean: mapped files can have them */
#define FACT_SWAP_TOTAL "swap.total_bytes"
#define FACT_SWAP_KIND "swap.kind" /* word: none zram disk mixed */
#define FACT_ZSWAP_ENABLED "zswap.enabled"
#define FACT_NODES "numa.nodes"			  /* number of nodes with memory */
#define FACT_NUMA_TIERED "numa.tiered"		  /* boolean: a node without CPUs */
#define FACT_CONTAINER "virt.container"		  /* word: none docker lxc ... */
#define FACT_VIRTUALIZATION "virt.virtualization" /* word: none kvm ... */
#define FACT_RESCUE "virt.rescue"		  /* word: none, kdump, rescue, emergency, initrd */
#define FACT_LOCKDOWN "virt.lockdown"

/*
 * Probes the groups that are not in *facts yet, through io.  Functional probes run only where io->live; otherwise, and
 * for the dear ones first of all, the cache of this boot (/run/mmopt/probes below the root) is read.  What cannot be
 * found is no error.  0 or -ENOMEM.
 */
int facts_probe(struct facts *facts, struct kernel_io *io, unsigned groups);

/* Keeps the dear facts for the rest of this boot. 0, or a negative errno (-EACCES unprivileged: no harm). */
int facts_cache_save(struct facts *facts, struct kernel_io *io);

void facts_clear(struct facts *facts);

/* NULL where the fact is not there. */
const struct fact *facts_get(const struct facts *facts, const char *name);
/* 0 and *ret, or -ENOENT where it is not there, unknown or of another type. */
int facts_number(const struct facts *facts, const char *name, uint64_t *ret);
int facts_boolean(const struct facts *facts, const char *name, bool *ret);
/* NULL where it is not there. */
const char *facts_word(const struct facts *facts, const char *name);
/* The fact's word equals w. */
bool facts_is(const struct facts *facts, const char *name, const char *w);
/* The fact is there and a true boolean. */
bool facts_true(const struct facts *facts, const char *name);

/* For probes and tests; a fact of the same name is replaced. 0 or -ENOMEM. source is copied. */
int facts_set_number(struct facts *facts, enum facts_group group, const char *name, uint64_t number,
		     enum fact_confidence confidence, const char *source);
int facts_set_boolean(struct facts *facts, enum facts_group group, const char *name, bool b,
		      enum fact_confidence confidence, const char *source);
int facts_set_word(struct facts *facts, enum facts_group group, const char *name, const char *word,
		   enum fact_confidence confidence, const char *source);
int facts_set_unknown(struct facts *facts, enum facts_group group, const char *name, const char *reason);

const char *fact_confidence_name(enum fact_confidence confidence); /* "read", "probed", "computed", "inferred" */

/* Compares kernel releases by their leading numbers: <0, 0, >0 as strverscmp would, "6.12.117+deb12" > "6.12". */
int kernel_release_compare(const char *a, const char *b);

/* Sizes of the directories hugepages-NkB below path in bytes, smallest first; the caller frees.  0 or a negative errno. */
int list_page_sizes(struct kernel_io *io, const char *path, uint64_t **ret, size_t *ret_n);
