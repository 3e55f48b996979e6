/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/diag.h"

/* Settings of mmoptd: mmoptd.conf and mmoptd.conf.d, see mmoptd.conf(5). */

enum on_change {
	ON_CHANGE_REPORT, /* say so, write nothing */
	ON_CHANGE_APPLY,
};

struct manager_conf {
	enum on_change on_drift;	 /* OnDrift=report|reapply */
	enum on_change on_policy_change; /* OnPolicyChange=report|apply */
	enum on_change on_memory_change; /* OnMemoryChange=report|apply: items given as a share of memory */
	uint64_t drift_interval_usec;	 /* DriftInterval=: the slow timer; 0: off */
	uint64_t memory_settle_usec;	 /* MemorySettleTime= */
	unsigned guard_permyriad;	 /* GuardAfterApply=: share of time that tasks stall for memory; 0: off */
	uint64_t guard_usec;		 /* GuardTime=: for how long after an apply */
	char *textfile_directory;	 /* TextfileDirectory=: absolute, or NULL */
	bool reboot_required_file;	 /* RebootRequiredFile= */
};

/* What holds where nothing is said. */
void manager_conf_defaults(struct manager_conf *ret);
void manager_conf_clear(struct manager_conf *conf);

/*
 * Reads mmoptd.conf (/etc/mmopt, /run/mmopt, /usr/local/lib/mmopt, /usr/lib/mmopt: the first that has it) and *.conf in
 * the mmoptd.conf.d directories beside them (same name: the earlier directory wins; all others in bytewise order of
 * their names; the later value counts) below root_fd.
 * Every mistake of every file goes to diags as a warning with file and line, and that line does not count: a daemon
 * that does not start helps nobody.  Files and directories that others than root (or who runs this) can change do not
 * count either.
 * 0 or -ENOMEM.
 */
int manager_conf_load(int root_fd, struct diag_list *diags, struct manager_conf *ret);

/* Takes the settings of one text over into conf, in the same way. 0 or -ENOMEM. */
int manager_conf_parse(const char *file, const char *text, size_t size, struct diag_list *diags,
		       struct manager_conf *conf);
