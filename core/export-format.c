/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* By itself: the program that makes the completions has no engine. */
#include "core/export.h"

const char *const export_format_names[] = {
	[EXPORT_ANSIBLE] = "ansible",	[EXPORT_BOOTC_KARGS] = "bootc-kargs",
	[EXPORT_GRUB] = "grub",		[EXPORT_KERNEL_CMDLINE] = "kernel-cmdline",
	[EXPORT_SYSCTL_D] = "sysctl.d", [EXPORT_TMPFILES] = "tmpfiles",
	[_EXPORT_FORMAT_MAX] = NULL,
};
