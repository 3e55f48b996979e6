/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Has the service manager load the kernel module (core/module.h), by starting mmopt-load-module.service over a
 * connection to the system bus of its own, and waits for the end of that: mmoptd itself is confined, and may load
 * nothing.  *ret_reason: why it is not loaded, as far as known, or NULL; the caller frees it.  0 or -ENOMEM.
 */
int load_module_by_systemd(int root_fd, char **ret_reason);
