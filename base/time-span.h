/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

#include "base/clock.h"

/*
 * A time as people write it: "90s", "5min", "1h30min", "500ms"; a number alone is seconds.
 * 0 and *ret_usec, -EINVAL where it is none, -ERANGE where it does not fit.
 */
int parse_time_span(const char *s, uint64_t *ret_usec);

/* "4min 59s", "59s", "1h 0min 3s"; buf holds at least 32 bytes. Returns buf. */
const char *format_time_span(uint64_t sec, char *buf);

/* Seconds since the epoch as "2024-05-01T12:00:00Z"; buf holds at least 32 bytes. Returns buf. */
const char *format_time(int64_t time_sec, char *buf);
