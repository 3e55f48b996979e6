/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/facts.h"
#include "core/kernel-io.h"

/*
 * The kernel module of this project: it gives a kernel that lacks vm.want_old_faultaround_pte this setting, and is
 * loaded only where the policy says [faultaround] module = yes.
 */
#define MODULE_NAME "mmopt_faultaround"
#define MODULE_OPTION "faultaround.module"
#define MODULE_TUNABLE "vm.want_old_faultaround_pte"
#define MODULE_SYSCTL "/proc/sys/vm/want_old_faultaround_pte"
#define MODULE_PACKAGE "mmopt-faultaround-dkms"

/*
 * What stands against loading it, as far as can be seen without trying: *ret is a reason for people that says what to
 * do, or NULL where nothing is known to.  *ret_hidden: whether it is built for this kernel cannot be seen from here (a
 * confined process: ProtectKernelModules=).  Probes into facts what it needs.  0 or -ENOMEM.
 */
int module_obstacle(struct kernel_io *io, struct facts *facts, bool *ret_hidden, char **ret);

/*
 * Loads it by modprobe(8), unless an obstacle is known, and waits for the end of that.  *ret_reason: why it is not
 * loaded, or NULL where modprobe says that it is.  What counts for the caller is whether MODULE_SYSCTL is there then.
 * kernel_log: /dev/kmsg, where the module says what it does not like; NULL: not looked at.
 * 0 or -ENOMEM.
 */
int module_load(struct kernel_io *io, struct facts *facts, const char *modprobe, const char *kernel_log,
		char **ret_reason);
#define MODULE_MODPROBE "/sbin/modprobe"
#define MODULE_KERNEL_LOG "/dev/kmsg"

/* What became of it in this boot, in /run/mmopt/module. */
enum module_state {
	MODULE_UNTRIED, /* or loaded, which the kernel itself tells */
	MODULE_LEFT,	/* an apply that could not load it has left it to mmoptd */
	MODULE_REFUSED, /* it could not be loaded: the reason says why */
};
struct module_note {
	enum module_state state;
	char *reason;
};
/* Always leaves *ret in order: where nothing (or nothing that can be trusted) is noted, it is untried. 0 or -ENOMEM. */
int module_note_read(int root_fd, struct module_note *ret);
/* MODULE_UNTRIED: takes the note away. 0 or a negative errno. */
int module_note_write(int root_fd, enum module_state state, const char *reason);
void module_note_clear(struct module_note *note);
