/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/diag.h"

/*
 * Tells others that a reboot is due, as Debian's packages do: /run/reboot-required is there, and
 * /run/reboot-required.pkgs has a line "mmopt" (once, however often this is called), below root_fd.  What others wrote
 * there stays, and nothing is ever taken away: others may want the reboot too, and it comes with an empty /run.
 * 0, or a negative errno with a message in diags that says what to do.
 */
int reboot_required_note(int root_fd, struct diag_list *diags);
