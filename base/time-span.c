/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/time-span.h"

#include <inttypes.h>

#include "base/macros.h"
#include "base/number.h"
#include "base/strutil.h"

static const struct {
	const char *name;
	uint64_t usec;
} units[] = {
	{ "us", 1 },
	{ "ms", 1000 },
	{ "s", USEC_PER_SEC },
	{ "sec", USEC_PER_SEC },
	{ "m", 60 * USEC_PER_SEC },
	{ "min", 60 * USEC_PER_SEC },
	{ "h", 3600 * USEC_PER_SEC },
	{ "d", 24 * 3600 * USEC_PER_SEC },
};

/* Takes one "5min" off the front of *s. */
static int next_part(const char **s, uint64_t *ret_usec)
{
	size_t n_digits = strspn(*s, "0123456789"), n_letters;
	char digits[21], letters[4];
	uint64_t n;
	int r;

	n_letters = strspn(*s + n_digits, "abcdefghijklmnopqrstuvwxyz");
	if (n_digits == 0 || n_letters >= sizeof(letters))
		return -EINVAL;
	if (n_digits >= sizeof(digits))
		return -ERANGE;
	*(char *)mempcpy(digits, *s, n_digits) = '\0';
	*(char *)mempcpy(letters, *s + n_digits, n_letters) = '\0';
	r = parse_u64(digits, &n);
	if (r < 0)
		return r == -EDOM ? -EINVAL : r;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (!streq(units[i].name, n_letters > 0 ? letters : "s"))
			continue;
		if (__builtin_mul_overflow(n, units[i].usec, ret_usec))
			return -ERANGE;
		*s += n_digits + n_letters;
		return 0;
	}
	return -EINVAL;
}

int parse_time_span(const char *s, uint64_t *ret_usec)
{
	uint64_t sum = 0;

	if (!*s)
		return -EINVAL;
	while (*s) {
		uint64_t usec;
		int r = next_part(&s, &usec);

		if (r < 0)
			return r;
		if (__builtin_add_overflow(sum, usec, &sum))
			return -ERANGE;
		while (*s == ' ')
			s++;
	}
	*ret_usec = sum;
	return 0;
}

const char *format_time_span(uint64_t sec, char *buf)
{
	if (sec >= 3600)
		snprintf(buf, 32, "%" PRIu64 "h %umin %us", sec / 3600, (unsigned)(sec / 60 % 60),
			 (unsigned)(sec % 60));
	else if (sec >= 60)
		snprintf(buf, 32, "%umin %us", (unsigned)(sec / 60), (unsigned)(sec % 60));
	else
		snprintf(buf, 32, "%us", (unsigned)sec);
	return buf;
}

const char *format_time(int64_t time_sec, char *buf)
{
	time_t t = time_sec;
	struct tm tm;

	if (!gmtime_r(&t, &tm))
		tm = (struct tm){ .tm_year = 70, .tm_mday = 1 };
	snprintf(buf, 32, "%04d-%02d-%02dT%02d:%02d:%02dZ", (tm.tm_year + 1900) % 10000, tm.tm_mon + 1, tm.tm_mday,
		 tm.tm_hour, tm.tm_min, tm.tm_sec);
	return buf;
}
