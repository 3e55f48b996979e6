/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/diag.h"
#include "core/plan.h"
#include "core/policy.h"

/*
 * The policy as a file of other programs, for image builds and for machines that mmopt is not installed on.  Each format takes the
 * part of the policy that it can say.
 */
enum export_format {
	EXPORT_ANSIBLE,	       /* a list of tasks: all of it */
	EXPORT_BOOTC_KARGS,    /* /usr/lib/bootc/kargs.d/NN-NAME.toml */
	EXPORT_GRUB,	       /* /etc/default/grub.d/NN-NAME.cfg of Debian and Ubuntu */
	EXPORT_KERNEL_CMDLINE, /* one line: /etc/kernel/cmdline.d, PXE, a boot entry */
	EXPORT_SYSCTL_D,       /* sysctl.d(5) */
	EXPORT_TMPFILES,       /* tmpfiles.d(5), lines that write at boot */
	_EXPORT_FORMAT_MAX,
};

/* NULL-terminated, in the order of the enum. */
extern const char *const export_format_names[];

/*
 * plan: of the same policy; "auto" and shares of memory are what they come to on the machine of the plan.  NULL: what
 * depends on the machine is left out.  What is left out of the part that the format could say is told in diags, with file and line.
 * 0 and *ret (the caller frees), or -ENOMEM.
 */
int export_policy(const struct policy *policy, const struct plan *plan, enum export_format format,
		  struct diag_list *diags, char **ret);
