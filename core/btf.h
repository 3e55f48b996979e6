/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* What mmopt wants to know from the kernel's own type information (BTF). */
struct btf_findings {
	uint32_t struct_page_bytes; /* 0: not there */
	bool has_remap_walk;	    /* struct vmemmap_remap_walk: HVO is built in */
	bool walk_has_tail;	    /* it has a member vmemmap_tail */
	bool zone_has_tails;	    /* struct zone has a member vmemmap_tails */
	bool has_exact_commit;	    /* function vm_committed_as_below(): see facts-commit.c */
};

/*
 * Looks into BTF, such as /sys/kernel/btf/vmlinux, through a window of a few pages: some milliseconds.  (libbpf takes the whole of
 * it into memory twice, and many times as long.)  0; -ENODATA where the file is empty, as in a captured system;
 * -EBADMSG where it is no BTF of this machine's byte order, is cut short or has a kind of type that is not known; -ENOMEM
 * or the error of reading.
 */
int btf_find(int fd, struct btf_findings *ret);
