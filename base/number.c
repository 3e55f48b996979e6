/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/number.h"

#include "base/macros.h"
#include "base/strutil.h"

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/*
 * Takes the digits at the start of s.  At least one is needed.  Goes on to the end of the digits where the number
 * does not fit, so that "99999999999999999999x" is no number rather than one that is too large.
 */
static int take_digits(const char *s, unsigned base, uint64_t *ret, const char **ret_end)
{
	uint64_t v = 0;
	bool overflow = false;
	const char *p = s;

	for (;; p++) {
		int d = digit_value(*p);

		if (d < 0 || (unsigned)d >= base)
			break;
		if (__builtin_mul_overflow(v, (uint64_t)base, &v) || __builtin_add_overflow(v, (uint64_t)d, &v))
			overflow = true;
	}
	if (p == s)
		return -EINVAL;
	*ret_end = p;
	*ret = v;
	return overflow ? -ERANGE : 0;
}

/*
 * Takes an unsigned number, decimal or hexadecimal.  *ret_end is set with -ERANGE and -EDOM too: the caller looks at
 * what follows first, because a string that is no number at all has no range.
 */
static int take_number(const char *s, uint64_t *ret, const char **ret_end)
{
	int r;

	if (s[0] == '0' && (s[1] == 'x' || s[1] == 'X'))
		return take_digits(s + 2, 16, ret, ret_end);
	r = take_digits(s, 10, ret, ret_end);
	if (r == -EINVAL)
		return r;
	if (s[0] == '0' && *ret_end - s > 1)
		return -EDOM;
	return r;
}

static int take_whole(const char *s, uint64_t *ret)
{
	const char *end;
	uint64_t v;
	int r;

	r = take_number(s, &v, &end);
	if (r == -EINVAL || *end)
		return -EINVAL;
	if (r < 0)
		return r;
	*ret = v;
	return 0;
}

int parse_u64(const char *s, uint64_t *ret)
{
	bool negative = *s == '-';
	uint64_t v;
	int r;

	r = take_whole(s + negative, &v);
	if (r < 0)
		return r;
	if (negative && v)
		return -ERANGE;
	*ret = v;
	return 0;
}

int parse_i64(const char *s, int64_t *ret)
{
	bool negative = *s == '-';
	uint64_t v;
	int r;

	r = take_whole(s + negative, &v);
	if (r < 0)
		return r;
	if (v > (uint64_t)INT64_MAX + negative)
		return -ERANGE;
	/* Negation is done unsigned: INT64_MIN has no positive twin. */
	*ret = (int64_t)(negative ? 0 - v : v);
	return 0;
}

/* The power of two that a suffix stands for, 0 for none, -1 for a suffix that is not known. */
static int suffix_shift(const char *s)
{
	static const char letters[] = "kmgt";
	const char *at;

	if (!*s)
		return 0;
	at = memchr(letters, ascii_lower(*s), sizeof(letters) - 1);
	if (!at)
		return -1;
	if (s[1] && !ascii_streq_nocase(s + 1, "b") && !ascii_streq_nocase(s + 1, "ib"))
		return -1;
	return 10 * (int)(at - letters + 1);
}

int parse_size(const char *s, uint64_t *ret_bytes, bool *ret_suffixed)
{
	bool negative = *s == '-';
	const char *end;
	uint64_t v;
	int r, shift;

	r = take_number(s + negative, &v, &end);
	if (r == -EINVAL)
		return r;
	shift = suffix_shift(end);
	if (shift < 0)
		return -EINVAL;
	if (r < 0)
		return r;
	if ((negative && v) || v > UINT64_MAX >> shift)
		return -ERANGE;
	*ret_bytes = v << shift;
	if (ret_suffixed)
		*ret_suffixed = shift > 0;
	return 0;
}

/* What stands after the point of a percentage, in hundredths: "5%" is 50, "25%" is 25. */
static int take_hundredths(const char *s, uint32_t *ret, const char **ret_end)
{
	uint32_t v = 0;
	unsigned n = 0;

	for (; *s >= '0' && *s <= '9'; s++, n++) {
		if (n == 2)
			return -EINVAL;
		v = v * 10 + (uint32_t)(*s - '0');
	}
	if (n == 0)
		return -EINVAL;
	*ret = n == 1 ? v * 10 : v;
	*ret_end = s;
	return 0;
}

int parse_percent(const char *s, uint32_t *ret_permyriad)
{
	uint32_t hundredths = 0;
	const char *end;
	uint64_t whole;
	int r, q;

	r = take_digits(s, 10, &whole, &end);
	if (r == -EINVAL)
		return r;
	if (r == 0 && s[0] == '0' && end - s > 1)
		r = -EDOM;
	if (*end == '.') {
		q = take_hundredths(end + 1, &hundredths, &end);
		if (q < 0)
			return q;
	}
	if (!streq(end, "%"))
		return -EINVAL;
	if (r < 0)
		return r;
	if (whole > 100 || (whole == 100 && hundredths))
		return -ERANGE;
	*ret_permyriad = (uint32_t)whole * 100 + hundredths;
	return 0;
}

int parse_boolean(const char *s, bool *ret)
{
	static const char *const yes[] = { "yes", "on", "true", "y", "1" };
	static const char *const no[] = { "no", "off", "false", "n", "0" };

	for (size_t i = 0; i < ARRAY_SIZE(yes); i++) {
		if (ascii_streq_nocase(s, yes[i])) {
			*ret = true;
			return 0;
		}
		if (ascii_streq_nocase(s, no[i])) {
			*ret = false;
			return 0;
		}
	}
	return -EINVAL;
}

int parse_octal(const char *s, uint64_t *ret)
{
	const char *end;
	uint64_t v;
	int r;

	if (s[0] != '0' || !s[1])
		return -EINVAL;
	r = take_digits(s, 8, &v, &end);
	if (r == -EINVAL || *end)
		return -EINVAL;
	if (r < 0)
		return r;
	*ret = v;
	return 0;
}

const char *format_size_exact(uint64_t bytes, char *buf)
{
	static const char letters[] = "KMGT";
	char suffix[2] = "";

	for (size_t i = 0; i < sizeof(letters) - 1 && bytes && bytes % 1024 == 0; i++) {
		bytes /= 1024;
		suffix[0] = letters[i];
	}
	snprintf(buf, 24, "%llu%s", (unsigned long long)bytes, suffix);
	return buf;
}

const char *format_bytes(int64_t bytes, char *buf)
{
	static const char letters[] = "KMGTPE";
	const char *sign = bytes < 0 ? "-" : "";
	uint64_t b = bytes < 0 ? 0 - (uint64_t)bytes : (uint64_t)bytes;
	uint64_t unit = 1, tenths;
	size_t i = 0;

	if (b < 1024) {
		snprintf(buf, 24, "%s%u B", sign, (unsigned)b);
		return buf;
	}
	for (;; i++) {
		unit <<= 10;
		/* Whole and rest apart: times ten the whole would not fit at the upper end. */
		tenths = b / unit * 10 + (b % unit * 10 + unit / 2) / unit;
		/* After rounding: 1048575 bytes are "1.0 MiB", not "1024.0 KiB". */
		if (tenths < 10240 || i == sizeof(letters) - 2)
			break;
	}
	snprintf(buf, 24, "%s%u.%u %ciB", sign, (unsigned)(tenths / 10), (unsigned)(tenths % 10), letters[i]);
	return buf;
}
