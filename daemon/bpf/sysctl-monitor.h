/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the BPF program and watch-drift-bpf.c both know.  Included by both, so it includes nothing itself. */

/* A name below /proc/sys, filled up with zero bytes; longer ones are not watched. A multiple of 8: it is a map's key. */
#define SYSCTL_NAME_MAX 96

/* How many names can be watched at a time. */
#define SYSCTL_NAMES 1024

/* The latest write to a name.  lock comes first: the kernel copies the rest under it where asked to (BPF_F_LOCK). */
struct sysctl_write {
	struct bpf_spin_lock lock;
	__u32 pid;    /* of the thread group, as the first pid namespace counts */
	__u64 writes; /* so many so far */
	char comm[16] __attribute__((aligned(8)));
};
