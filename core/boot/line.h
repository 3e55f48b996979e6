/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>

#include "core/plan.h"

/*
 * The parameters that the plan wants on the kernel command line, whether they are there already or not, in the order that the kernel wants: a
 * size of huge pages before its count, the default size before both.  Those that the plan refuses are not among
 * them.  "" where there are none.  The caller frees; NULL on lack of memory.
 */
char *boot_line_wanted(const struct plan *plan);

/*
 * The longest command line that the kernel of this architecture takes (COMMAND_LINE_SIZE without its NUL); what is behind it is cut off without
 * a word.  Architectures that are not known count as the shortest of the common ones.
 */
size_t boot_line_limit(const char *architecture);

/*
 * What the line of this boot will be once the wanted parameters that are not in effect are added: its length in bytes.
 * line: of this boot, with what the boot loader adds.
 */
size_t boot_line_length(const struct plan *plan, const char *line);
