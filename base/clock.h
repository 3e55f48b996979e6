/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>
#include <time.h>

#define USEC_PER_SEC 1000000ULL
#define USEC_PER_MSEC 1000ULL

/* Microseconds by CLOCK_MONOTONIC, CLOCK_BOOTTIME ...: those that Linux always has, so there is no error. */
static inline uint64_t clock_usec(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * USEC_PER_SEC + (uint64_t)t.tv_nsec / 1000;
}
