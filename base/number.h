/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Strict numbers.  The whole string has to be the number: no white space, no '+', no trailing text;
 * independent of the locale.  All return 0 and set *ret, or leave it alone and return
 *   -EINVAL  not a number of this form
 *   -EDOM    a decimal number with a leading zero ("010" is 8 to the kernel and 10 to most people)
 *   -ERANGE  does not fit
 */

/* Decimal or 0x hexadecimal, with an optional leading '-'. */
int parse_i64(const char *s, int64_t *ret);
int parse_u64(const char *s, uint64_t *ret);

/*
 * A size: a number with an optional binary suffix K M G T (upper or lower case; "KiB", "kB" and "KB" mean
 * the same).  Result in bytes; *ret_suffixed (may be NULL) tells whether there was a suffix.
 */
int parse_size(const char *s, uint64_t *ret_bytes, bool *ret_suffixed);

/* A percentage "12%" or "12.5%" (at most two decimals) in permyriad: 100% = 10000. At most 100%. */
int parse_percent(const char *s, uint32_t *ret_permyriad);

/* yes no on off true false y n 1 0, in any case (ASCII only). */
int parse_boolean(const char *s, bool *ret);

/* The octal reading of a number with a leading zero, for messages; -EINVAL where it has none. */
int parse_octal(const char *s, uint64_t *ret);

/*
 * Writes a size the way people write it, exactly: "2M", "1G", "64K", "1536M", "100" (bytes without suffix).
 * buf holds at least 24 bytes.  Returns buf.
 */
const char *format_size_exact(uint64_t bytes, char *buf);

/* For people, rounded to one decimal: "14.0 MiB", "512 B", "-3.5 GiB". buf holds at least 24 bytes. */
const char *format_bytes(int64_t bytes, char *buf);
