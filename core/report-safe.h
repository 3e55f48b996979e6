/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Text from anywhere, made fit for a JSON document or a terminal. */

bool text_valid_utf8(const char *s);

/* A copy with each byte that is not part of a valid character replaced by U+FFFD; NULL on lack of memory. */
char *text_clean_utf8(const char *s);

/*
 * A copy that is safe on a terminal: control characters and bytes that are no valid character become \xNN, and so does
 * everything that is not ASCII where ascii_only.  NULL on lack of memory.
 */
char *text_printable(const char *s, bool ascii_only);

/* Number of characters; each invalid byte counts as one. */
size_t text_length(const char *s);
