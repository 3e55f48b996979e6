/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/facts.h"
#include "core/value.h"

/*
 * Every tunable mmopt knows, one static row each.  A row's id is "section.name"; a name may hold "*" for a size
 * ("hugetlb.*.pages": 2M, 1G) and "node*" for a node ("hugetlb.*.node*.pages").
 */

enum tunable_scope {
	SCOPE_RUNTIME, /* a kernel file, written now */
	SCOPE_BOOT,    /* a kernel command line parameter */
	SCOPE_DAEMON,  /* held by mmoptd while it runs */
	SCOPE_OPTION,  /* steers mmopt itself, no kernel file */
	SCOPE_RAW,     /* [sysctl] and [sysfs]: a path the catalogue does not know; one row each */
};

/* When a value read back counts as what was asked. */
enum comparison {
	COMPARE_EQUAL,	    /* the same canonical form */
	COMPARE_MAY_RAISE,  /* the kernel may hold more (vm.min_free_kbytes: THP and hotplug raise it) */
	COMPARE_POWER_OF_2, /* rounded down to a power of two by the kernel */
	COMPARE_SUBSET,	    /* a bit mask: bits the hardware lacks are cleared */
	COMPARE_AT_LEAST,   /* a pool: as many or more */
	COMPARE_LIST_ZEROES /* a list in which the kernel shows 0 for entries that are off (vm.lowmem_reserve_ratio) */
};

/* What is looked at beyond the file itself, once the value has been read back. */
enum effect_check {
	EFFECT_READBACK,	 /* the file is all there is to see */
	EFFECT_FAULT_AROUND,	 /* one touch of a mapping: Rss and Referenced in smaps */
	EFFECT_HVO,		 /* vmemmap_optimized_hugepages, else nr_memmap_*pages, against the pool */
	EFFECT_THP,		 /* the bracketed word, then one fault in an aligned range */
	EFFECT_POOL,		 /* per node counts */
	EFFECT_ZSWAP_COMPRESSOR, /* the name is known to the kernel's crypto list */
};

enum saving_model {
	SAVING_NONE,
	SAVING_HVO,
	SAVING_KSM,
	SAVING_ZSWAP,
	SAVING_ZERO_PAGE,
	SAVING_POOL,	 /* memory taken out of the general pool: a cost */
	SAVING_MIN_FREE, /* likewise */
};

/* What an auto rule decided. */
struct auto_choice {
	bool keep;	  /* leave the machine as it is */
	char value[64];	  /* canonical or policy form of the row's kind; not looked at where keep */
	char reason[480]; /* for people, one sentence: always filled */
};

struct tunable {
	const char *id;
	enum tunable_scope scope;
	/*
	 * Absolute path.  {kib} is the instance's size in KiB, {node} its node.  SCOPE_BOOT: the parameter's name on
	 * the command line ("hugetlb_free_vmemmap"), see tunable_boot_token().  NULL for options and the daemon's own.
	 */
	const char *path;
	const char *alias_path; /* another file for the same thing (vm.nr_hugepages), or an older name; or NULL */
	enum value_kind kind;
	enum value_unit unit;
	enum boolean_style style;
	int64_t min, max;	    /* integers and each list entry; both 0: no limit known */
	const char *const *choices; /* the only words for a choice or a word, NULL-terminated; or NULL */
	unsigned order;		    /* lower is applied first */
	const char *linked;	    /* id of the other form of the same setting, or NULL; the two zero each other */
	bool floor;	      /* lowering it is likely a mistake: less than the machine has by itself hurts others */
	const char *disturbs; /* id of a tunable that the kernel may move when this one is written, or NULL */
	enum comparison compare;
	enum effect_check effect;
	enum saving_model saving;
	/* NULL: "auto" is not for this row.  Looks at the facts alone and is deterministic. */
	void (*auto_rule)(const struct facts *facts, struct auto_choice *ret);
	unsigned auto_groups; /* the facts that auto_rule looks at */
	const char *since;    /* first mainline kernel that has it: "5.19"; "patched" where none has */
	const char *needs;    /* what else it takes, for people: "CONFIG_ZSWAP, swap"; or NULL */
	const char *hazard;   /* what can go wrong, one sentence; or NULL */
	const char *why;      /* what it is for, one sentence */
	const char *doc;      /* kernel documentation: "admin-guide/sysctl/vm.rst"; or a commit */
	/*
	 * For boot parameters: the file in which the effect is seen, or NULL.  Where the file has other words than the
	 * command line they follow: "/proc/sys/kernel/numa_balancing=enable:1,disable:0".  See tunable_boot_effect().
	 */
	const char *boot_effect_path;
};

/* A row, made definite. */
struct tunable_ref {
	const struct tunable *tunable;
	uint64_t size_bytes; /* the "*" of the id; 0 where it has none */
	int node;	     /* -1 where it has none */
	char *raw_path;	     /* SCOPE_RAW: the path; else NULL. Owned. */
};

const struct tunable *catalogue_rows(size_t *ret_n);

/*
 * Finds "name" in "section" ("2M.pages" in "hugetlb").  0 and *ret (to be cleared with tunable_ref_clear()), -ENOENT
 * where there is no such section or name, -EINVAL for a size or node that is not one.
 */
int catalogue_find(const char *section, const char *name, struct tunable_ref *ret);
/* The same for a whole id, "hugetlb.2M.pages", "sysctl.kernel.numa_balancing". */
int catalogue_find_id(const char *id, struct tunable_ref *ret);
/*
 * The row whose path or alias path this is, or -ENOENT.  The huge page files below /proc/sys/vm are those of the default
 * size, which is a fact: the row comes without a size then, and its id is "hugetlb.*.pages".
 */
int catalogue_find_path(const char *path, struct tunable_ref *ret);

/* True for the sections of the catalogue, "sysctl" and "sysfs". */
bool catalogue_has_section(const char *section);
/*
 * The nearest section, or the nearest name in a section (an id's part after the dot, with "*" and "node*" for sizes and
 * nodes); NULL where nothing is near.
 */
const char *catalogue_nearest_section(const char *section);
const char *catalogue_nearest(const char *section, const char *name);

/*
 * A raw section's key as a path: [sysctl] "kernel.numa_balancing" or "net/ipv4/conf/eth0.100/rp_filter" (the first
 * separator decides) below /proc/sys; [sysfs] below /sys, confined to /sys/kernel/mm and /sys/module/X/parameters.
 * -EPERM where it leads out of there, -EINVAL for an empty or malformed key.  The caller frees.
 */
int catalogue_raw_path(const char *section, const char *key, char **ret);

void tunable_ref_clear(struct tunable_ref *ref);
int tunable_ref_copy(const struct tunable_ref *ref, struct tunable_ref *ret);
/* "hugetlb.2M.node1.pages"; the caller frees; NULL on lack of memory. */
char *tunable_ref_id(const struct tunable_ref *ref);
/* Its file; NULL for options or on lack of memory; the caller frees. */
char *tunable_ref_path(const struct tunable_ref *ref);
char *tunable_ref_alias_path(const struct tunable_ref *ref);

/*
 * For boot parameters and a canonical value:
 * what goes on the command line, "transparent_hugepage=madvise", "hugepagesz=2M hugepages=512" (booleans as on and off,
 * which every such parameter takes); the caller frees, NULL on lack of memory.
 */
char *tunable_boot_token(const struct tunable_ref *ref, const char *value);
/*
 * The file in which its effect is seen and what value_from_kernel() of that file gives then; the caller frees both.
 * 0, -ENOENT where the effect is not seen in any file, -ENOMEM.
 */
int tunable_boot_effect(const struct tunable_ref *ref, const char *value, char **ret_path, char **ret_expected);

/* What a value has to be like, for messages: "0 to 200", "always madvise never", "yes or no". buf holds 256 bytes. */
const char *tunable_range_text(const struct tunable *t, char *buf);

const char *tunable_scope_name(enum tunable_scope scope); /* "runtime", "boot", "daemon", "option", "raw" */
const char *comparison_name(enum comparison c);		  /* "equal", "may-raise", ... */
const char *effect_check_name(enum effect_check e);	  /* "readback", "fault-around", ... */
