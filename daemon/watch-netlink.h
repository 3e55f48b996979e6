/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-event.h>

#include "base/macros.h"

/*
 * Memory that comes or goes: kobject uevents of the kernel about memory blocks (going online, offline, being added or
 * removed) by libnl; a socket filter drops those about anything else, so that they do not wake us up.  Told once,
 * when no further event has come for settle_usec; also where events got lost.  Needs no privilege.  It hears nothing
 * where the network namespace belongs to another user namespace than the first (uevent_net_init() in
 * lib/kobject_uevent.c); a balloon takes and gives memory without an event.
 */
struct watch_memory;

int watch_memory_new(sd_event *event, uint64_t settle_usec, void (*changed)(void *userdata), void *userdata,
		     struct watch_memory **ret);
void watch_memory_free(struct watch_memory *w);
DEFINE_CLEANUP(struct watch_memory *, watch_memory_free);

/*
 * What waiting for memory has cost all processes that live now, since each began
 * (Documentation/accounting/delay-accounting.rst): the sum over their thread groups of taskstats' freepages, swapin
 * and thrashing delays, by generic netlink.  A process that began before accounting was switched on counts as 0.
 * Differences between two calls are a lower bound: a process that ended in between took its share along.
 */
struct delays {
	uint64_t reclaim_nsec;	 /* freepages_delay_total: direct reclaim */
	uint64_t swapin_nsec;	 /* swapin_delay_total */
	uint64_t thrashing_nsec; /* thrashing_delay_total */
	size_t n_processes;
};

/*
 * 0 and *ret; -ENODATA where delay accounting is off (kernel.task_delayacct, boot parameter delayacct; before Linux
 * 5.14 boot parameter nodelayacct), -EOPNOTSUPP where the kernel has no taskstats, -EPERM without CAP_NET_ADMIN, or
 * another negative errno.  About 7 us for each process.
 */
int delays_read(struct delays *ret);
