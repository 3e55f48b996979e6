/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * Decodes the UTF-8 character at s, which is NUL-terminated: its length in bytes and *ret, or 0 where none starts there (a
 * stray or missing continuation byte, an overlong form, a surrogate, a value beyond U+10FFFF).  A NUL has length 1.
 */
size_t utf8_next(const char *s, uint32_t *ret);

/* How many bytes of s to show where at most max are wanted: no character is torn. strlen(s) where all of it fits. */
size_t utf8_cut(const char *s, size_t max);
