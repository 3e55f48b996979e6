/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/facts.h"

/*
 * Where kernel parameters go to on this machine: for people, a clause to be put behind "Add them ", as in "to U_BOOT_PARAMETERS in
 * /etc/default/u-boot, then run u-boot-update".  By the facts of FACTS_BOOT.  Never NULL.
 */
const char *boot_place(const struct facts *facts);
